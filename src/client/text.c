#include "src/client/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"

void text_fini(struct text *t)
{
	free(t->at);
	*t = (struct text){0};
}

void text_bytes(struct text *t, const char *bytes, size_t len)
{
	if (t->cap - t->len < len + 1) {
		t->cap = (t->cap + len + 64) * 2;
		t->at = realloc(t->at, t->cap);
		if (!t->at)
			abort();
	}
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_bytes(t, s, strlen(s));
}

void text_pad(struct text *t, size_t spaces)
{
	for (; spaces; spaces--)
		text_bytes(t, " ", 1);
}

void text_trim(struct text *t)
{
	while (t->len && t->at[t->len - 1] == ' ')
		t->at[--t->len] = '\0';
}

/* C0, DEL, and C1, which is C2 80 to C2 9F. */
static bool is_control(const unsigned char *p)
{
	return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

void text_printable(struct text *t, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	for (size_t i = 0; i < len;) {
		char escaped[8];
		size_t n = utf8_len(p + i, len - i);
		if (n && !is_control(p + i)) {
			text_bytes(t, bytes + i, n);
		} else {
			n = n ? n : 1;
			snprintf(escaped, sizeof escaped, "\\x%02x", p[i + n - 1]);
			text_add(t, escaped);
		}
		i += n;
	}
}

size_t text_width(const char *bytes, size_t len)
{
	size_t width = 0;
	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)bytes[i] & 0xc0) != 0x80;
	return width;
}
