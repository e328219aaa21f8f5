/* A text that grows. text_fini() frees it; out of memory aborts, as there is nothing left to print. */
#pragma once
#include <stddef.h>

struct text {
	char *at; /* NUL-terminated, or NULL while empty */
	size_t len, cap;
};

void text_fini(struct text *t);
void text_bytes(struct text *t, const char *bytes, size_t len);
void text_add(struct text *t, const char *s);
void text_pad(struct text *t, size_t spaces);
/* Takes spaces at the end away. */
void text_trim(struct text *t);
/* What a remote sent, with control characters, which a terminal may obey, and what is not UTF-8 written as \x1b. */
void text_printable(struct text *t, const char *bytes, size_t len);
/* The characters (not bytes) of a UTF-8 text. */
size_t text_width(const char *bytes, size_t len);
