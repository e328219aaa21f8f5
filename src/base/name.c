#include "src/base/name.h"

#include <string.h>

bool name_ok(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	static const char inner[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strlen(name);
	return n >= 1 && n <= NAME_LEN_MAX && strspn(name, letters) >= 1 && strspn(name, inner) == n;
}
