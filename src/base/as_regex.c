#include "src/base/as_regex.h"

#include <stdlib.h>
#include <string.h>

/* The path's two ends are read like letters of their own, so that ^ and $ are places like the others. */
enum letter { LETTER_AS, LETTER_BEGIN, LETTER_END };

struct range {
	uint32_t from, to;
};

/* A place in the expression takes one letter: of this kind, and of the numbers one in the ranges (or none of them). */
struct place {
	enum letter letter;
	bool negated;
	uint8_t first, count; /* of the ranges; negated and none: any number */
};

struct as_regex {
	uint64_t first, last;   /* where a match may begin and end */
	bool nullable;          /* nothing at all is a match too */
	unsigned place_count, range_count;
	uint64_t follow[AS_REGEX_PLACES_MAX];
	struct place places[AS_REGEX_PLACES_MAX];
	struct range ranges[AS_REGEX_RANGES_MAX];
};

/* --- compiling */

struct parser {
	struct as_regex *r;
	const char *text, *at;
	unsigned depth;
	struct as_regex_error *error; /* text is NULL until something is wrong */
};

/* What a part of the expression can begin and end with. */
struct part {
	uint64_t first, last;
	bool nullable;
};

static struct part parse_either(struct parser *p);

static void fail_at(struct parser *p, const char *at, const char *text)
{
	if (!p->error->text)
		*p->error = (struct as_regex_error){(unsigned)(at - p->text) + 1, text};
}

static bool failed(const struct parser *p)
{
	return p->error->text;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t_");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint32_t parse_number(struct parser *p)
{
	const char *begin = p->at;
	uint64_t n = 0;
	for (; is_digit(*p->at); p->at++)
		if (n <= UINT32_MAX)
			n = n * 10 + (uint64_t)(*p->at - '0');
	if (p->at == begin)
		fail_at(p, begin, "an AS number is expected here");
	else if (n == 0)
		fail_at(p, begin, "there is no AS 0; these are whole AS numbers, no digits: . is any number");
	else if (n > UINT32_MAX)
		fail_at(p, begin, "an AS number is at most 4294967295");
	return (uint32_t)n;
}

/* 6451[0-9] and 6451. are about digits elsewhere; here they would be two AS numbers. */
static void check_alone(struct parser *p, const char *begin)
{
	if ((begin > p->text && strchr(".])", begin[-1])) || (*p->at && strchr(".[(", *p->at)))
		fail_at(p, begin, "a whole AS number stands here, put a blank between it and what is beside it");
}

static struct part one_place(struct parser *p, struct place place)
{
	struct as_regex *r = p->r;
	if (r->place_count == AS_REGEX_PLACES_MAX) {
		fail_at(p, p->at, "too long, at most 64 numbers, dots, brackets, ^ and $; [1 2 3] is only one of them");
		return (struct part){0, 0, false};
	}
	uint64_t bit = UINT64_C(1) << r->place_count;
	r->places[r->place_count++] = place;
	return (struct part){bit, bit, false};
}

static void add_range(struct parser *p, uint32_t from, uint32_t to)
{
	if (p->r->range_count == AS_REGEX_RANGES_MAX)
		fail_at(p, p->at, "too many AS numbers and ranges, at most 128");
	else
		p->r->ranges[p->r->range_count++] = (struct range){from, to};
}

static struct part parse_as(struct parser *p)
{
	const char *begin = p->at;
	struct place place = {LETTER_AS, false, (uint8_t)p->r->range_count, 1};
	uint32_t n = parse_number(p);
	check_alone(p, begin);
	add_range(p, n, n);
	return one_place(p, place);
}

static void parse_class_item(struct parser *p)
{
	const char *begin = p->at;
	uint32_t from = parse_number(p), to = from;
	if (*p->at == '-') {
		p->at++;
		to = parse_number(p);
	}
	if (to < from)
		fail_at(p, begin, "the range ends before it begins");
	add_range(p, from, to);
}

static struct part parse_class(struct parser *p)
{
	const char *begin = p->at++;
	struct place place = {LETTER_AS, *p->at == '^', (uint8_t)p->r->range_count, 0};
	p->at += place.negated;
	for (;;) {
		p->at += strspn(p->at, " \t_,");
		if (failed(p) || !*p->at || *p->at == ']')
			break;
		parse_class_item(p);
	}
	if (*p->at != ']')
		fail_at(p, begin, "this [ has no ]");
	else
		p->at++;
	place.count = (uint8_t)(p->r->range_count - place.first);
	if (!place.count)
		fail_at(p, begin, "nothing is in the brackets");
	return one_place(p, place);
}

static struct part parse_group(struct parser *p)
{
	const char *begin = p->at++;
	struct part inner = {0, 0, false};
	if (++p->depth > AS_REGEX_DEPTH_MAX)
		fail_at(p, begin, "too many groups in groups, at most 32");
	else
		inner = parse_either(p);
	p->depth--;
	if (*p->at != ')')
		fail_at(p, begin, "this ( has no )");
	else
		p->at++;
	return inner;
}

static struct part parse_one(struct parser *p)
{
	switch (*p->at) {
	case '(':
		return parse_group(p);
	case '[':
		return parse_class(p);
	case '.':
		p->at++;
		return one_place(p, (struct place){LETTER_AS, true, 0, 0});
	case '^':
		p->at++;
		return one_place(p, (struct place){LETTER_BEGIN, false, 0, 0});
	case '$':
		p->at++;
		return one_place(p, (struct place){LETTER_END, false, 0, 0});
	default:
		if (is_digit(*p->at))
			return parse_as(p);
		fail_at(p, p->at, strchr("?*+", *p->at) && *p->at ? "nothing to repeat stands right before this; .* is any number of ASes"
								  : "this is no part of an AS path expression");
		return (struct part){0, 0, false};
	}
}

static void join(struct as_regex *r, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < r->place_count; i++)
		if (from >> i & 1)
			r->follow[i] |= to;
}

static struct part parse_repeated(struct parser *p)
{
	struct part one = parse_one(p);
	for (; !failed(p) && *p->at && strchr("?*+", *p->at); p->at++) {
		if (*p->at != '?')
			join(p->r, one.last, one.first);
		one.nullable |= *p->at != '+';
	}
	return one;
}

static bool ends_sequence(char c)
{
	return c == '\0' || c == '|' || c == ')';
}

static struct part parse_sequence(struct parser *p)
{
	struct part all = {0, 0, true};
	skip_blanks(p);
	if (ends_sequence(*p->at))
		fail_at(p, p->at, "something is missing here; ? after a group makes it optional");
	while (!failed(p) && !ends_sequence(*p->at)) {
		struct part next = parse_repeated(p);
		join(p->r, all.last, next.first);
		all.first |= all.nullable ? next.first : 0;
		all.last = next.last | (next.nullable ? all.last : 0);
		all.nullable &= next.nullable;
		skip_blanks(p);
	}
	return all;
}

static struct part parse_either(struct parser *p)
{
	struct part all = parse_sequence(p);
	while (!failed(p) && *p->at == '|') {
		p->at++;
		struct part other = parse_sequence(p);
		all.first |= other.first;
		all.last |= other.last;
		all.nullable |= other.nullable;
	}
	return all;
}

struct as_regex *as_regex_compile(const char *text, struct as_regex_error *error)
{
	struct as_regex *r = calloc(1, sizeof *r);
	struct parser p = {r, text, text, 0, error};
	*error = (struct as_regex_error){0, NULL};
	if (!r) {
		fail_at(&p, text, "out of memory");
		return NULL;
	}
	struct part all = parse_either(&p);
	if (*p.at)
		fail_at(&p, p.at, "this ) has no (");
	r->first = all.first;
	r->last = all.last;
	r->nullable = all.nullable;
	if (!failed(&p))
		return r;
	as_regex_free(r);
	return NULL;
}

void as_regex_free(struct as_regex *r)
{
	free(r);
}

/* --- running */

static bool takes(const struct as_regex *r, const struct place *at, enum letter letter, uint32_t asn)
{
	if (at->letter != letter)
		return false;
	for (unsigned i = 0; i < at->count; i++) {
		const struct range *range = &r->ranges[at->first + i];
		if (asn >= range->from && asn <= range->to)
			return !at->negated;
	}
	return at->negated || letter != LETTER_AS;
}

static void step(struct as_regex_run *run, enum letter letter, uint32_t asn)
{
	const struct as_regex *r = run->regex;
	uint64_t may = r->first, reached = 0;
	for (uint64_t left = run->at; left; left &= left - 1)
		may |= r->follow[__builtin_ctzll(left)];
	for (uint64_t left = may; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (takes(r, &r->places[i], letter, asn))
			reached |= UINT64_C(1) << i;
	}
	run->at = reached;
	run->found |= (reached & r->last) != 0;
}

void as_regex_begin(struct as_regex_run *run, const struct as_regex *r)
{
	*run = (struct as_regex_run){r, 0, r->nullable};
	step(run, LETTER_BEGIN, 0);
}

void as_regex_next(struct as_regex_run *run, uint32_t asn)
{
	if (!run->found)
		step(run, LETTER_AS, asn);
}

bool as_regex_end(struct as_regex_run *run)
{
	if (!run->found)
		step(run, LETTER_END, 0);
	return run->found;
}
