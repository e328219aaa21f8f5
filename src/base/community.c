#include "src/base/community.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/addr.h"

/* Of an extended community's first word, beside type and subtype: the other two words are administrator and number. */
enum { SPLIT = 1 << 16 };
enum { EXTENDED_SIZE = 8 };
enum { TYPE_AS2 = 0, TYPE_IPV4 = 1, TYPE_AS4 = 2, TYPE_NON_TRANSITIVE = 0x40 };

size_t community_size(enum community_kind kind)
{
	static const uint8_t sizes[COMMUNITY_KINDS] = {4, EXTENDED_SIZE, 12};
	return sizes[kind];
}

/* AS and number, address and number, 4-byte AS and number: RFC 4360 section 3, RFC 5668. */
static bool is_split(uint8_t type)
{
	return (type & ~TYPE_NON_TRANSITIVE) <= TYPE_AS4;
}

/* The last six bytes in two words; a 2-byte AS leaves four for the number, everything else two. */
static void read_words(uint8_t type, struct cursor *c, uint32_t w[3])
{
	bool narrow = (type & ~TYPE_NON_TRANSITIVE) == TYPE_AS2;
	w[1] = narrow ? cursor_u16(c) : cursor_u32(c);
	w[2] = narrow ? cursor_u32(c) : cursor_u16(c);
}

static void read_extended(struct cursor *c, uint32_t w[3])
{
	uint16_t head = cursor_u16(c);
	uint8_t type = (uint8_t)(head >> 8);
	w[0] = head | (is_split(type) ? (uint32_t)SPLIT : 0);
	read_words(type, c, w);
}

static void write_extended(const uint32_t w[3], struct writer *out)
{
	bool narrow = (w[0] >> 8 & 0xff & ~(unsigned)TYPE_NON_TRANSITIVE) == TYPE_AS2;
	writer_u16(out, (uint16_t)w[0]);
	if (narrow) {
		writer_u16(out, (uint16_t)w[1]);
		writer_u32(out, w[2]);
	} else {
		writer_u32(out, w[1]);
		writer_u16(out, (uint16_t)w[2]);
	}
}

struct community community_read(enum community_kind kind, struct cursor *c)
{
	struct community out = {kind, {0}};
	if (kind == COMMUNITY_EXTENDED)
		read_extended(c, out.w);
	for (size_t i = 0; kind != COMMUNITY_EXTENDED && i < community_size(kind) / 4; i++)
		out.w[i] = cursor_u32(c);
	return out;
}

void community_write(const struct community *c, struct writer *w)
{
	if (c->kind == COMMUNITY_EXTENDED)
		write_extended(c->w, w);
	for (size_t i = 0; c->kind != COMMUNITY_EXTENDED && i < community_size(c->kind) / 4; i++)
		writer_u32(w, c->w[i]);
}

int community_cmp(const struct community *a, const struct community *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	for (size_t i = 0; i < 3; i++)
		if (a->w[i] != b->w[i])
			return a->w[i] < b->w[i] ? -1 : 1;
	return 0;
}

bool community_matches(const struct community_match *m, const struct community *c)
{
	return m->value.kind == c->kind && (c->w[0] & m->mask[0]) == m->value.w[0] &&
	       (c->w[1] & m->mask[1]) == m->value.w[1] && (c->w[2] & m->mask[2]) == m->value.w[2];
}

bool community_is_exact(const struct community_match *m)
{
	return (m->mask[0] & m->mask[1] & m->mask[2]) == UINT32_MAX;
}

/* --- names */

static const struct {
	const char *name;
	uint32_t value;
} well_known[] = {
	{"graceful-shutdown", 0xffff0000},
	{"accept-own", 0xffff0001},
	{"llgr-stale", 0xffff0006},
	{"no-llgr", 0xffff0007},
	{"blackhole", 0xffff029a},
	{"no-export", 0xffffff01},
	{"no-advertise", 0xffffff02},
	{"no-export-subconfed", 0xffffff03},
	{"no-peer", 0xffffff04},
};
enum { WELL_KNOWN = sizeof well_known / sizeof *well_known };

/* Extended ones that have a name; the first row of a value is how it is shown. Link bandwidth is a float, in bytes a
 * second, and is never of another form than AS2. */
static const struct form {
	const char *name;
	uint8_t type, subtype;
	bool bandwidth;
} forms[] = {{"rt", 0, 2, false}, {"ro", 0, 3, false}, {"soo", 0, 3, false}, {"lb", TYPE_NON_TRANSITIVE, 4, true}};
enum { FORMS = sizeof forms / sizeof *forms };

/* --- to text */

/* Whole numbers only: what is shown must parse to the same bits. */
static bool bandwidth_of(uint32_t bits, uint64_t *out)
{
	float f, back;
	memcpy(&f, &bits, sizeof f);
	if (!(f >= 0 && f < 1e18F))
		return false;
	*out = (uint64_t)f;
	back = (float)*out;
	return memcmp(&back, &bits, sizeof back) == 0;
}

static const struct form *form_of(const uint32_t w[3])
{
	for (size_t i = 0; i < FORMS; i++) {
		uint8_t type = (uint8_t)(w[0] >> 8), known = forms[i].type;
		bool same = forms[i].bandwidth ? type == known : type <= TYPE_AS4;
		if (same && (uint8_t)w[0] == forms[i].subtype)
			return &forms[i];
	}
	return NULL;
}

static void format_hex(const struct community *c, char *buf)
{
	uint8_t bytes[EXTENDED_SIZE];
	struct writer w = writer_of(bytes, sizeof bytes);
	community_write(c, &w);
	buf += sprintf(buf, "0x");
	for (size_t i = 0; i < sizeof bytes; i++)
		buf += sprintf(buf, "%02x", bytes[i]);
}

/* A 4-byte AS whose number is small has a dot, so that it is not taken for one of 2 bytes. */
static void format_administrator(const uint32_t w[3], char buf[24])
{
	uint8_t type = (uint8_t)(w[0] >> 8 & ~(unsigned)TYPE_NON_TRANSITIVE);
	uint32_t a = w[1];
	if (type == TYPE_IPV4)
		snprintf(buf, 24, "%u.%u.%u.%u", a >> 24, a >> 16 & 0xff, a >> 8 & 0xff, a & 0xff);
	else
		snprintf(buf, 24, "%s%" PRIu32, type == TYPE_AS4 && a <= 0xffff ? "0." : "", a);
}

static void format_extended(const struct community *c, char *buf)
{
	const struct form *form = form_of(c->w);
	char administrator[24];
	uint64_t number = c->w[2];
	if (!form || (form->bandwidth && !bandwidth_of(c->w[2], &number))) {
		format_hex(c, buf);
		return;
	}
	format_administrator(c->w, administrator);
	snprintf(buf, COMMUNITY_TEXT_MAX, "%s:%s:%" PRIu64, form->name, administrator, number);
}

static void format_standard(uint32_t value, char *buf)
{
	snprintf(buf, COMMUNITY_TEXT_MAX, "%" PRIu32 ":%" PRIu32, value >> 16, value & 0xffff);
	for (size_t i = 0; i < WELL_KNOWN; i++)
		if (well_known[i].value == value)
			snprintf(buf, COMMUNITY_TEXT_MAX, "%s", well_known[i].name);
}

const char *community_format(const struct community *c, char buf[COMMUNITY_TEXT_MAX])
{
	switch (c->kind) {
	case COMMUNITY_STANDARD:
		format_standard(c->w[0], buf);
		break;
	case COMMUNITY_EXTENDED:
		format_extended(c, buf);
		break;
	case COMMUNITY_LARGE:
	case COMMUNITY_KINDS:
		snprintf(buf, COMMUNITY_TEXT_MAX, "%" PRIu32 ":%" PRIu32 ":%" PRIu32, c->w[0], c->w[1], c->w[2]);
	}
	return buf;
}

/* --- from text */

enum { PARTS = 3, PART_MAX = 20 };

/* What stands between the colons. 0: too many, or too long. */
static unsigned split(const char *text, char parts[PARTS][PART_MAX])
{
	unsigned n = 0;
	for (;;) {
		size_t len = strcspn(text, ":");
		if (n == PARTS || len >= PART_MAX)
			return 0;
		memcpy(parts[n], text, len);
		parts[n++][len] = '\0';
		if (!text[len])
			return n;
		text += len + 1;
	}
}

/* Decimal, without sign or leading zero. */
static bool number(const char *text, uint64_t max, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 18 || text[digits] || (*text == '0' && digits > 1))
		return false;
	*out = strtoull(text, NULL, 10);
	return *out <= max;
}

static bool is_any(const char *text)
{
	return strcmp(text, "*") == 0;
}

/* A number or * at the place that shift says. */
static bool read_field(const char *text, uint32_t max, unsigned shift, uint32_t *value, uint32_t *mask)
{
	uint64_t n = 0;
	if (is_any(text)) {
		*mask &= ~(max << shift);
		return true;
	}
	if (!number(text, max, &n))
		return false;
	*value |= (uint32_t)n << shift;
	return true;
}

static bool parse_standard(char parts[PARTS][PART_MAX], struct community_match *m)
{
	return read_field(parts[0], 0xffff, 16, &m->value.w[0], &m->mask[0]) &&
	       read_field(parts[1], 0xffff, 0, &m->value.w[0], &m->mask[0]);
}

static bool parse_large(char parts[PARTS][PART_MAX], struct community_match *m)
{
	m->value.kind = COMMUNITY_LARGE;
	for (unsigned i = 0; i < PARTS; i++)
		if (!read_field(parts[i], UINT32_MAX, 0, &m->value.w[i], &m->mask[i]))
			return false;
	return true;
}

/* "0.64512": the 4-byte form whatever the number is. */
static bool dotted_as(const char *text, uint32_t *out)
{
	char high[PART_MAX];
	uint64_t h, l;
	const char *dot = strchr(text, '.');
	if (!dot)
		return false;
	snprintf(high, sizeof high, "%.*s", (int)(dot - text), text);
	if (!number(high, 0xffff, &h) || !number(dot + 1, 0xffff, &l))
		return false;
	*out = (uint32_t)(h << 16 | l);
	return true;
}

/* The first field, and by it the form. */
static bool read_administrator(const char *text, struct community_match *m)
{
	struct addr a;
	uint64_t n = 0;
	uint8_t type = TYPE_AS2;
	if (is_any(text)) {
		m->mask[0] = SPLIT | 0xfcff; /* all three forms; the fourth such number is not split */
		m->mask[1] = 0;
		return true;
	}
	if (number(text, UINT32_MAX, &n)) {
		type = n > 0xffff ? TYPE_AS4 : TYPE_AS2;
		m->value.w[1] = (uint32_t)n;
	} else if (dotted_as(text, &m->value.w[1])) {
		type = TYPE_AS4;
	} else if (addr_parse(text, &a) && addr_is_v4(&a) && !strchr(text, ':')) {
		struct cursor c = cursor_of(a.b + 12, 4);
		type = TYPE_IPV4;
		m->value.w[1] = cursor_u32(&c);
	} else {
		return false;
	}
	m->value.w[0] |= (uint32_t)type << 8;
	return true;
}

static bool read_bandwidth(const char *text, struct community_match *m)
{
	uint64_t n;
	if (is_any(text)) {
		m->mask[2] = 0;
		return true;
	}
	if (!number(text, UINT64_MAX, &n))
		return false;
	float f = (float)n;
	memcpy(&m->value.w[2], &f, sizeof f);
	return true;
}

static bool parse_bandwidth(char parts[PARTS][PART_MAX], struct community_match *m)
{
	return read_field(parts[1], 0xffff, 0, &m->value.w[1], &m->mask[1]) && read_bandwidth(parts[2], m);
}

static bool parse_named(const struct form *form, char parts[PARTS][PART_MAX], struct community_match *m)
{
	m->value.kind = COMMUNITY_EXTENDED;
	m->value.w[0] = SPLIT | (uint32_t)form->type << 8 | form->subtype;
	if (form->bandwidth) {
		bool good = parse_bandwidth(parts, m);
		m->mask[1] = is_any(parts[1]) ? 0 : UINT32_MAX;
		return good;
	}
	if (!read_administrator(parts[1], m))
		return false;
	bool wide = is_any(parts[1]) || (m->value.w[0] >> 8 & 0xff) == TYPE_AS2;
	bool good = read_field(parts[2], wide ? UINT32_MAX : 0xffff, 0, &m->value.w[2], &m->mask[2]);
	m->mask[2] = is_any(parts[2]) ? 0 : UINT32_MAX;
	return good;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Whole bytes, and a * where they are not all. */
static bool parse_hex(const char *digits, struct community_match *m)
{
	uint8_t bytes[EXTENDED_SIZE] = {0}, given[EXTENDED_SIZE] = {0};
	size_t n = 0;
	for (; n < EXTENDED_SIZE && hex_digit(digits[0]) >= 0 && hex_digit(digits[1]) >= 0; digits += 2) {
		bytes[n] = (uint8_t)(hex_digit(digits[0]) << 4 | hex_digit(digits[1]));
		given[n++] = 0xff;
	}
	if (strcmp(digits, n < EXTENDED_SIZE ? "*" : "") != 0)
		return false;
	struct cursor value = cursor_of(bytes, sizeof bytes), mask = cursor_of(given, sizeof given);
	m->value = community_read(COMMUNITY_EXTENDED, &value);
	m->mask[0] = cursor_u16(&mask) | (n ? ~UINT32_C(0xffff) : 0);
	read_words(bytes[0], &mask, m->mask);
	for (size_t i = 1; n == EXTENDED_SIZE && i < 3; i++)
		m->mask[i] = UINT32_MAX;
	for (size_t i = 0; i < 3; i++)
		m->value.w[i] &= m->mask[i];
	return true;
}

static bool parse_name(const char *text, struct community_match *m)
{
	for (size_t i = 0; i < WELL_KNOWN; i++) {
		if (strcmp(text, well_known[i].name) == 0) {
			m->value.w[0] = well_known[i].value;
			return true;
		}
	}
	return strncmp(text, "0x", 2) == 0 && parse_hex(text + 2, m);
}

static const struct form *form_named(const char *name)
{
	for (size_t i = 0; i < FORMS; i++)
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	return NULL;
}

bool community_parse(const char *text, struct community_match *out)
{
	char parts[PARTS][PART_MAX];
	unsigned n = split(text, parts);
	*out = (struct community_match){.mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
	if (n == 3 && form_named(parts[0]))
		return parse_named(form_named(parts[0]), parts, out);
	return n == 1 ? parse_name(text, out) : n == 2 ? parse_standard(parts, out) : n == 3 && parse_large(parts, out);
}
