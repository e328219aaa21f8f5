/* UTF-8 (RFC 3629) from people we do not know. */
#pragma once
#include <stddef.h>

/* The bytes of the UTF-8 character at p, 0 where there is no whole one. */
size_t utf8_len(const unsigned char *p, size_t left);
/* Puts a question mark in place of each byte that is no UTF-8 and of each control character. */
void utf8_scrub(char *text);
