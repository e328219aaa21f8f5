/* What the tests of UPDATEs and attributes share: bytes as hex text, sessions of four kinds, and a row for a message that
 * should get a certain reaction.
 *
 * In hex text O, P and N stand for a good ORIGIN, AS_PATH (64496, in the session's width) and NEXT_HOP (10.0.0.1).
 */
#pragma once
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/attr_private.h"
#include "bgp/message.h"
#include "bgp/update.h"
#include "src/base/live.h"

enum { PEER_AS = 64496, LOCAL_AS = 64500 };
enum context {
	E4 = 1, E2 = 2, I4 = 4, I2 = 8, V6 = 16,
	EBGP = E4 | E2, IBGP = I4 | I2, AS4 = E4 | I4, AS2 = E2 | I2, ALL = EBGP | IBGP,
};

static struct bgp_attr_table table;

static inline struct bgp_update_context context_of(unsigned c)
{
	return (struct bgp_update_context){.attrs = &table, .ibgp = c & IBGP, .as4 = c & AS4, .peer_asn = PEER_AS,
					   .families = {[BGP_IPV4_UNICAST] = true, [BGP_IPV6_UNICAST] = c & V6}};
}

static inline void put_hex(struct writer *w, const char *text, unsigned c)
{
	for (; *text; text++) {
		unsigned byte;
		if (*text == ' ')
			continue;
		if (*text == 'O') {
			put_hex(w, "40 01 01 00", c);
		} else if (*text == 'P') {
			put_hex(w, c & AS4 ? "40 02 06 02 01 0000fbf0" : "40 02 04 02 01 fbf0", c);
		} else if (*text == 'N') {
			put_hex(w, "40 03 04 0a000001", c);
		} else {
			ck_assert_msg(sscanf(text++, "%2x", &byte) == 1, "bad hex: %s", text);
			writer_u8(w, (uint8_t)byte);
		}
	}
	ck_assert(writer_ok(w));
}

static inline size_t put_body(uint8_t *out, size_t cap, unsigned c, const char *withdrawn, const char *attrs, const char *nlri)
{
	struct writer w = writer_of(out, cap);
	writer_u16(&w, 0);
	put_hex(&w, withdrawn, c);
	writer_patch_u16(&w, 0, (uint16_t)(writer_len(&w) - 2));
	size_t at = writer_len(&w);
	writer_u16(&w, 0);
	put_hex(&w, attrs, c);
	writer_patch_u16(&w, at, (uint16_t)(writer_len(&w) - at - 2));
	put_hex(&w, nlri, c);
	return writer_len(&w);
}

/* Bodies are decoded from a copy without a byte to spare, which u's NLRI then point into: free it last. */
static inline uint8_t *decode_bytes(unsigned c, const uint8_t *body, size_t len, struct bgp_update *u)
{
	struct bgp_update_context ctx = context_of(c);
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, body, len);
	bgp_update_decode(&ctx, exact, len, u);
	return exact;
}

static inline uint8_t *decode(unsigned c, const char *withdrawn, const char *attrs, const char *nlri, struct bgp_update *u)
{
	uint8_t body[BGP_MESSAGE_MAX];
	size_t len = put_body(body, sizeof body, c, withdrawn, attrs, nlri);
	return decode_bytes(c, body, len, u);
}

static inline void list_prefixes(struct bgp_nlri n, char *out, size_t cap)
{
	char text[PREFIX_TEXT_MAX];
	struct prefix p;
	while (bgp_nlri_next(&n, &p, NULL)) {
		size_t at = strlen(out);
		snprintf(out + at, cap - at, "%s%s", at ? " " : "", prefix_format(&p, text));
	}
}

/* Attribute code in a's own wire form; false: not there. */
static inline bool find(const struct bgp_attrs *a, uint8_t code, struct bgp_attr_item *out)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	while (bgp_attr_next(&block, out))
		if (out->code == code)
			return true;
	ck_assert(cursor_ok(&block));
	return false;
}

/* "ORIGIN [path] next hop med local preference, then code/flags=value of the others by code" */
static const char *describe(const struct bgp_attrs *a, char *out, size_t cap)
{
	char path[512], nh[ADDR_TEXT_MAX], med[16] = "-";
	struct bgp_attr_item item;
	if (a->has_med)
		snprintf(med, sizeof med, "%u", a->med);
	snprintf(out, cap, "%u [%s] %s %s %u", a->origin, bgp_attrs_path_text(a, path, sizeof path),
		 addr_format((struct addr[]){bgp_attrs_next_hop(a)}, nh), med, a->local_pref);
	for (unsigned code = BGP_ATTR_ATOMIC_AGGREGATE; code < 256; code++) {
		if (!find(a, (uint8_t)code, &item))
			continue;
		size_t n = strlen(out);
		snprintf(out + n, cap - n, " %u/%02x=", code, item.flags & ~BGP_FLAG_EXTENDED);
		while (cursor_left(&item.value)) {
			n = strlen(out);
			snprintf(out + n, cap - n, "%02x", cursor_u8(&item.value));
		}
	}
	return out;
}

static inline void setup(void)
{
	bgp_attr_table_init(&table);
}

static inline void teardown(void)
{
	ck_assert_uint_eq(table.sets.count, 0);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 0);
	bgp_attr_table_fini(&table);
}

#define FINE .reaction = BGP_FINE
#define D(sub) .reaction = BGP_DISCARD, .subcode = sub
#define W(sub) .reaction = BGP_WITHDRAW, .subcode = sub
#define R(sub) .reaction = BGP_RESET, .subcode = sub

#define NET "18 0af408" /* 10.244.8.0/24 */
#define NET_TEXT "10.244.8.0/24"
#define MP_V4 "80 0e 0d 0001 01 04 0a000001 00 18 0af408"
#define NH6 "fd000000000000000000000000000001"
#define LL6 "fe800000000000000000000000000001"
#define ZERO6 "00000000000000000000000000000000"
#define NET6 "30 fd1002440008"
#define NET6_TEXT "fd10:244:8::/48"
#define V6_SESSION .contexts = ALL | V6, .nlri = "", .announced = NET6_TEXT
#define TWENTY "0001020304050607 08090a0b0c0d0e0f 10111213"

struct malformed {
	const char *row, *what;
	unsigned contexts;
	const char *attrs;
	enum bgp_reaction reaction;
	uint8_t subcode;
	uint8_t gone;          /* an attribute that the set must not have */
	uint8_t kept, flags;   /* one that it must have, with these flags */
	const char *nlri;      /* NULL: NET */
	const char *announced; /* NULL: NET_TEXT */
	const char *withdrawn; /* hex */
};

static inline void check_set(const struct malformed *m, const struct bgp_attrs *a)
{
	struct bgp_attr_item item;
	ck_assert_msg(a != NULL, "row %s, %s: no attributes", m->row, m->what);
	if (m->gone)
		ck_assert_msg(!find(a, m->gone, &item), "row %s, %s: still there", m->row, m->what);
	if (m->kept) {
		ck_assert_msg(find(a, m->kept, &item), "row %s, %s: lost", m->row, m->what);
		ck_assert_uint_eq(item.flags, m->flags);
	}
}

static inline void check_row(const struct malformed *m, unsigned c)
{
	struct bgp_update u;
	char announced[256] = "", again[256] = "";
	uint8_t *bytes = decode(c, m->withdrawn ? m->withdrawn : "", m->attrs, m->nlri ? m->nlri : NET, &u);
	ck_assert_msg(u.fault.reaction == m->reaction, "row %s, %s: reaction %d (%s), session %x", m->row, m->what,
		      (int)u.fault.reaction, u.fault.text ? u.fault.text : "", c);
	if (m->reaction != BGP_FINE) {
		ck_assert_uint_eq(u.fault.code, BGP_ERR_UPDATE);
		ck_assert_msg(u.fault.subcode == m->subcode, "row %s, %s: 3/%u", m->row, m->what, u.fault.subcode);
		ck_assert_ptr_nonnull(u.fault.text);
	}
	if (m->reaction != BGP_RESET) {
		list_prefixes(u.part[0].announced, announced, sizeof announced);
		list_prefixes(u.part[1].announced, announced, sizeof announced);
		ck_assert_str_eq(announced, m->announced ? m->announced : NET_TEXT);
		list_prefixes(u.part[0].withdrawn, again, sizeof again);
		ck_assert_str_eq(again, m->withdrawn ? NET_TEXT : "");
	}
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		if (m->reaction < BGP_WITHDRAW && cursor_left(&u.part[i].announced.bytes))
			check_set(m, u.part[i].attrs);
		else
			ck_assert_msg(!u.part[i].attrs, "row %s, %s: attributes of nothing", m->row, m->what);
	}
	ck_assert(!u.end_of_rib);
	ck_assert_int_eq(u.foreign_family, strcmp(m->row, "76") == 0 || strcmp(m->row, "76 90") == 0);
	bgp_update_fini(&u);
	free(bytes);
}

static inline struct bgp_attrs *set_of(unsigned c, const char *attrs)
{
	struct bgp_update u;
	uint8_t *bytes = decode(c, "", attrs, NET, &u);
	ck_assert_msg(u.fault.reaction == BGP_FINE, "%s", u.fault.text);
	struct bgp_attrs *a = bgp_attrs_ref(u.part[0].attrs);
	bgp_update_fini(&u);
	free(bytes);
	return a;
}

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])
