/* Regular expressions over AS paths, whose letters are whole AS numbers:
 *
 *   64512  [64512-65534 7]  [^7]  .     one number; any of these; none of these; any
 *   a b   a|b   ( )   ?  *  +           one after the other; either; groups; repeating what stands right before
 *   ^  $                                where the path begins and where it ends
 *
 * Blanks and _ separate. What is not tied by ^ or $ may be anywhere in the path. An expression is compiled to the set
 * of places that may follow each place (Glushkov), and all places that a path may have reached are one word of bits:
 * a path costs its length times the expression's size at worst, whatever was written.
 *
 * It stands in src/base because the configuration judges what the policy runs. Ownership: as_regex_compile() to
 * as_regex_free(). Pure.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { AS_REGEX_PLACES_MAX = 64, AS_REGEX_RANGES_MAX = 128, AS_REGEX_DEPTH_MAX = 32 };

struct as_regex;

struct as_regex_error {
	unsigned column;  /* 1-based */
	const char *text; /* static */
};

/* NULL: *error says where and why. */
struct as_regex *as_regex_compile(const char *text, struct as_regex_error *error);
void as_regex_free(struct as_regex *r); /* NULL is fine */

/* One path on its way: begin, each AS number from the left, end. */
struct as_regex_run {
	const struct as_regex *regex;
	uint64_t at;
	bool found;
};
void as_regex_begin(struct as_regex_run *run, const struct as_regex *r);
void as_regex_next(struct as_regex_run *run, uint32_t asn);
bool as_regex_end(struct as_regex_run *run);
