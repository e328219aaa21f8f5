#include "src/base/utf8.h"

#include <string.h>

size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = *p < 0x80		     ? 1
		   : *p >= 0xc2 && *p < 0xe0 ? 2
		   : (*p & 0xf0) == 0xe0     ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4
					     : 0;
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

void utf8_scrub(char *text)
{
	unsigned char *p = (unsigned char *)text;
	for (size_t left = strlen(text), n; left; p += n, left -= n) {
		n = utf8_len(p, left);
		/* the C1 controls are two bytes, C2 80 to C2 9F */
		if (n == 0 || *p < 0x20 || *p == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)) {
			memset(p, '?', n ? n : 1);
			n = n ? n : 1;
		}
	}
}
