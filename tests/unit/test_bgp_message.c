/* bgp/: frames, the OPEN message with its capabilities, NOTIFICATIONs. Bytes are written as hex text with blanks
 * where they help reading. Numbers in the tables are rows of the list of malformed messages that the project keeps
 * (docs/testing.md); "m" before one means a common mistake of that list.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/open.h"
#include "src/base/cursor.h"
#include "tests/unit/run_suite.h"

#define MARKER "ffffffffffffffffffffffffffffffff"

static size_t unhex(const char *text, uint8_t *out, size_t cap)
{
	size_t n = 0;
	for (; *text; text++) {
		unsigned byte;
		if (*text == ' ')
			continue;
		ck_assert_msg(n < cap && sscanf(text, "%2x", &byte) == 1, "bad hex: %s", text);
		out[n++] = (uint8_t)byte;
		text++;
	}
	return n;
}

/* Frame a copy without a byte to spare, so that ASan sees every byte too far. */
static int frame(const uint8_t *bytes, size_t len, struct bgp_frame *f, struct bgp_fault *fault)
{
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, bytes, len);
	memset(fault, 0, sizeof *fault);
	int got = bgp_frame_next(exact, len, BGP_MESSAGE_MAX, f, fault);
	if (got == 1) {
		ck_assert_ptr_eq(f->body, exact + BGP_HEADER_LEN);
		f->body = bytes + BGP_HEADER_LEN;
	}
	free(exact);
	return got;
}

static const struct {
	const char *row, *bytes;
	uint8_t subcode;
	const char *data;
} bad_frames[] = {
	{"m16 80", "ffffffffffffffffffffffffffffff00 0013 04", BGP_HEADER_SYNC, ""},
	{"80", "00", BGP_HEADER_SYNC, ""},
	{"80 HTTP", "474554202f20485454502f312e310d0a", BGP_HEADER_SYNC, ""},
	{"81 below the header", MARKER "0012 04", BGP_HEADER_LENGTH, "0012"},
	{"81 zero", MARKER "0000 02", BGP_HEADER_LENGTH, "0000"},
	{"81 too long", MARKER "1001 02", BGP_HEADER_LENGTH, "1001"},
	{"81 all ones", MARKER "ffff 02", BGP_HEADER_LENGTH, "ffff"},
	{"81 OPEN", MARKER "001c 01", BGP_HEADER_LENGTH, "001c"},
	{"81 KEEPALIVE", MARKER "0014 04", BGP_HEADER_LENGTH, "0014"},
	{"81 UPDATE", MARKER "0016 02", BGP_HEADER_LENGTH, "0016"},
	{"81 NOTIFICATION", MARKER "0014 03", BGP_HEADER_LENGTH, "0014"},
	{"82", MARKER "0013 00", BGP_HEADER_TYPE, "00"},
	{"82", MARKER "0013 06", BGP_HEADER_TYPE, "06"},
	{"82", MARKER "0013 ff", BGP_HEADER_TYPE, "ff"},
};

START_TEST(bad_frames_reset)
{
	uint8_t bytes[64], data[8];
	struct bgp_frame f;
	struct bgp_fault fault;
	size_t len = unhex(bad_frames[_i].bytes, bytes, sizeof bytes);
	ck_assert_msg(frame(bytes, len, &f, &fault) == -1, "row %s", bad_frames[_i].row);
	ck_assert_int_eq(fault.reaction, BGP_RESET);
	ck_assert_uint_eq(fault.code, BGP_ERR_HEADER);
	ck_assert_uint_eq(fault.subcode, bad_frames[_i].subcode);
	ck_assert_uint_eq(fault.data_len, unhex(bad_frames[_i].data, data, sizeof data));
	ck_assert_mem_eq(fault.data, data, fault.data_len);
	ck_assert_ptr_nonnull(fault.text);
}
END_TEST

static const struct {
	const char *header;
	enum bgp_type type;
	size_t len;
} good_frames[] = {
	{MARKER "001d 01", BGP_OPEN, 29},         {MARKER "1000 01", BGP_OPEN, 4096},
	{MARKER "0017 02", BGP_UPDATE, 23},       {MARKER "1000 02", BGP_UPDATE, 4096},
	{MARKER "0015 03", BGP_NOTIFICATION, 21}, {MARKER "1000 03", BGP_NOTIFICATION, 4096},
	{MARKER "0013 04", BGP_KEEPALIVE, 19},    {MARKER "0017 05", BGP_ROUTE_REFRESH, 23},
	{MARKER "0014 05", BGP_ROUTE_REFRESH, 20}, /* 88: a wrong length is for whoever offered the capability */
};

/* Every shorter piece asks for more, without a fault; what follows the message does not matter. */
START_TEST(a_frame_comes_whole_or_not_at_all)
{
	uint8_t bytes[4200] = {0};
	struct bgp_frame f;
	struct bgp_fault fault;
	size_t len = good_frames[_i].len;
	unhex(good_frames[_i].header, bytes, sizeof bytes);
	for (size_t have = 1; have < len; have += have < 64 ? 1 : 61) {
		ck_assert_int_eq(frame(bytes, have, &f, &fault), 0);
		ck_assert_int_eq(fault.reaction, BGP_FINE);
	}
	for (size_t more = 0; more < 60; more += 20) {
		ck_assert_int_eq(frame(bytes, len + more, &f, &fault), 1);
		ck_assert_int_eq(f.type, good_frames[_i].type);
		ck_assert_uint_eq(f.len, len);
		ck_assert_uint_eq(f.body_len, len - BGP_HEADER_LEN);
	}
}
END_TEST

/* m15: where both sides can do RFC 8654; OPEN and KEEPALIVE never. */
START_TEST(extended_messages_are_for_those_who_agreed)
{
	static uint8_t bytes[BGP_EXTENDED_MAX];
	static const char *const headers[] = {MARKER "ffff 02", MARKER "ffff 03", MARKER "ffff 05", MARKER "1001 01", MARKER "1001 04"};
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		struct bgp_frame f;
		struct bgp_fault fault = {0};
		unhex(headers[i], bytes, sizeof bytes);
		ck_assert_int_eq(bgp_frame_next(bytes, sizeof bytes, BGP_EXTENDED_MAX, &f, &fault), i < 3 ? 1 : -1);
		ck_assert(i >= 3 || f.len == BGP_EXTENDED_MAX);
		ck_assert_int_eq(bgp_frame_next(bytes, BGP_HEADER_LEN, BGP_EXTENDED_MAX, &f, &fault), i < 3 ? 0 : -1);
		ck_assert_int_eq(bgp_frame_next(bytes, sizeof bytes, BGP_MESSAGE_MAX, &f, &fault), -1);
		ck_assert_uint_eq(fault.subcode, BGP_HEADER_LENGTH);
	}
}
END_TEST

/* 88 */
START_TEST(refreshes_go_round)
{
	uint8_t bytes[32];
	struct bgp_frame f;
	struct bgp_refresh r;
	struct bgp_fault fault;
	size_t len = bgp_refresh_encode(bytes, sizeof bytes, 2, BGP_REFRESH_ASK, 1);
	ck_assert_int_eq(frame(bytes, len, &f, &fault), 1);
	ck_assert_int_eq(f.type, BGP_ROUTE_REFRESH);
	bgp_refresh_decode(f.body, f.body_len, &r, &fault);
	ck_assert_int_eq(fault.reaction, BGP_FINE);
	ck_assert(r.afi == 2 && r.safi == 1 && r.subtype == 0);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(bgp_refresh_encode(bytes, cap, 2, BGP_REFRESH_ASK, 1), 0);
	for (size_t n = 0; n < 12; n++) {
		memset(&fault, 0, sizeof fault);
		bgp_refresh_decode(bytes, n, &r, &fault);
		ck_assert_int_eq(fault.reaction, n == 4 ? BGP_FINE : BGP_RESET);
		if (n == 4)
			continue;
		ck_assert(fault.code == BGP_ERR_REFRESH && fault.subcode == 1);
		ck_assert_uint_eq(fault.data_len, BGP_HEADER_LEN + n); /* the whole message, RFC 7313 section 5 */
		ck_assert_uint_eq(fault.data[17], BGP_HEADER_LEN + n);
		ck_assert_mem_eq(fault.data + BGP_HEADER_LEN, bytes, n);
	}
}
END_TEST

START_TEST(a_keepalive_is_a_header)
{
	uint8_t bytes[32], expected[32];
	size_t len = unhex(MARKER "0013 04", expected, sizeof expected);
	ck_assert_uint_eq(bgp_keepalive_encode(bytes, sizeof bytes), len);
	ck_assert_mem_eq(bytes, expected, len);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(bgp_keepalive_encode(bytes, cap), 0);
}
END_TEST

START_TEST(notifications_go_round)
{
	uint8_t bytes[128];
	struct bgp_fault sent = {0}, fault;
	struct bgp_frame f;
	bgp_fault_raise(&sent, BGP_RESET, BGP_ERR_UPDATE, BGP_UPDATE_ORIGIN, "x", "\x40\x01\x01\x09", 4);
	size_t len = bgp_notification_encode(bytes, sizeof bytes, &sent);
	ck_assert_uint_eq(len, 25);
	ck_assert_int_eq(frame(bytes, len, &f, &fault), 1);
	ck_assert_int_eq(f.type, BGP_NOTIFICATION);
	struct bgp_fault got = bgp_notification_decode(f.body, f.body_len);
	ck_assert_int_eq(got.reaction, BGP_RESET);
	ck_assert_uint_eq(got.code, BGP_ERR_UPDATE);
	ck_assert_uint_eq(got.subcode, BGP_UPDATE_ORIGIN);
	ck_assert_uint_eq(got.data_len, 4);
	ck_assert_mem_eq(got.data, "\x40\x01\x01\x09", 4);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(bgp_notification_encode(bytes, cap, &sent), 0);
}
END_TEST

/* m15: long data is cut, and what remains is a message that a peer takes. */
START_TEST(long_notification_data_is_cut)
{
	uint8_t bytes[4096], body[4077];
	struct bgp_fault sent = {0}, fault;
	struct bgp_frame f;
	memset(body, 0x61, sizeof body);
	body[0] = BGP_ERR_CEASE;
	body[1] = BGP_CEASE_SHUTDOWN;
	struct bgp_fault got = bgp_notification_decode(body, sizeof body);
	ck_assert_uint_eq(got.data_len, BGP_FAULT_DATA_MAX);
	ck_assert_uint_eq(got.subcode, BGP_CEASE_SHUTDOWN);
	bgp_fault_raise(&sent, BGP_RESET, BGP_ERR_UPDATE, 1, "x", body, sizeof body);
	size_t len = bgp_notification_encode(bytes, sizeof bytes, &sent);
	ck_assert_uint_eq(len, 21 + BGP_FAULT_DATA_MAX);
	ck_assert_int_eq(frame(bytes, len, &f, &fault), 1);
	got = bgp_notification_decode(body, 0); /* no frame lets this through, but it reads nothing either */
	ck_assert_int_eq(got.reaction, BGP_RESET);
}
END_TEST

START_TEST(the_worst_fault_stays)
{
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_DISCARD, 3, 5, "small", "ab", 2);
	f.attr = 6;
	bgp_fault_raise(&f, BGP_DISCARD, 3, 9, "later", NULL, 0);
	ck_assert_str_eq(f.text, "small");
	bgp_fault_raise(&f, BGP_WITHDRAW, 3, 11, "big", NULL, 0);
	ck_assert_str_eq(f.text, "big");
	ck_assert_uint_eq(f.subcode, 11);
	ck_assert_uint_eq(f.data_len, 0);
	ck_assert_uint_eq(f.attr, 0); /* the attribute was the smaller one's */
	bgp_fault_raise(&f, BGP_DISCARD, 3, 5, "small", NULL, 0);
	ck_assert_int_eq(f.reaction, BGP_WITHDRAW);
	ck_assert_str_eq(f.text, "big");
}
END_TEST

START_TEST(faults_have_names)
{
	char buf[BGP_FAULT_NAME_MAX];
	ck_assert_str_eq(bgp_fault_name(3, 11, buf), "UPDATE Message Error/Malformed AS_PATH");
	ck_assert_str_eq(bgp_fault_name(6, 2, buf), "Cease/Administrative Shutdown");
	ck_assert_str_eq(bgp_fault_name(4, 0, buf), "Hold Timer Expired");
	ck_assert_str_eq(bgp_fault_name(4, 9, buf), "Hold Timer Expired/9");
	ck_assert_str_eq(bgp_fault_name(6, 200, buf), "Cease/200");
	static const char *const cease[] = {"Maximum Number of Prefixes Reached", "Administrative Shutdown", "Peer De-configured",
					    "Administrative Reset", "Connection Rejected", "Other Configuration Change",
					    "Connection Collision Resolution", "Out of Resources", "Hard Reset", "BFD Down"};
	static const char *const fsm[] = {"OpenSent", "OpenConfirm", "Established"};
	for (uint8_t i = 0; i < sizeof cease / sizeof *cease; i++) /* RFC 4486, 8538, 9384 */
		ck_assert_str_eq(bgp_fault_name(6, (uint8_t)(i + 1), buf) + strlen("Cease/"), cease[i]);
	for (uint8_t i = 0; i < sizeof fsm / sizeof *fsm; i++) /* RFC 6608 */
		ck_assert_ptr_nonnull(strstr(bgp_fault_name(5, (uint8_t)(i + 1), buf), fsm[i]));
	ck_assert_str_eq(bgp_fault_name(2, 11, buf), "OPEN Message Error/Role Mismatch");
	ck_assert_str_eq(bgp_fault_name(2, 5, buf), "OPEN Message Error/5");
	ck_assert_str_eq(bgp_fault_name(0, 0, buf), "error 0/0");
	ck_assert_str_eq(bgp_fault_name(255, 255, buf), "error 255/255");
	for (unsigned code = 0; code < 256; code++)
		for (unsigned sub = 0; sub < 256; sub++)
			ck_assert_uint_gt(strlen(bgp_fault_name((uint8_t)code, (uint8_t)sub, buf)), 0);
}
END_TEST

/* --- OPEN */

static void open_of(const char *hex, struct bgp_open *o, struct bgp_fault *fault)
{
	uint8_t bytes[1024];
	size_t len = unhex(hex, bytes, sizeof bytes);
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, bytes, len);
	memset(fault, 0, sizeof *fault);
	bgp_open_decode(exact, len, o, fault);
	free(exact);
}

/* AS 64512, hold time 9 s, 10.0.7.1 */
#define FIXED "04 fc00 0009 0a000701 "

static const struct {
	const char *row, *bytes;
	uint8_t subcode;
	const char *data;
} bad_opens[] = {
	{"m14 version 3", "03 fc00 0009 0a000701 00", BGP_OPEN_VERSION, "0004"},
	{"m14 version 5, garbage follows", "05 0000 0001 00000000 09 01", BGP_OPEN_VERSION, "0004"},
	{"m14 hold time 1", "04 fc00 0001 0a000701 00", BGP_OPEN_HOLD_TIME, ""},
	{"m14 hold time 2", "04 fc00 0002 0a000701 00", BGP_OPEN_HOLD_TIME, ""},
	{"m14 identifier 0", "04 fc00 0009 00000000 00", BGP_OPEN_IDENTIFIER, ""},
	{"AS 0 (RFC 7607)", "04 0000 0009 0a000701 00", BGP_OPEN_PEER_AS, ""},
	{"AS 0 in the capability", "04 fc00 0009 0a000701 08 02 06 41 04 00000000", BGP_OPEN_PEER_AS, ""},
	{"83 cut after the type", FIXED "01 02", BGP_OPEN_MALFORMED, ""},
	{"83 cut after the length", FIXED "02 02 06", BGP_OPEN_MALFORMED, ""},
	{"83 cut in the capability's head", FIXED "03 02 01 41", BGP_OPEN_MALFORMED, ""},
	{"85 capability past its parameter", FIXED "07 02 05 41 04 0000fc", BGP_OPEN_MALFORMED, ""},
	{"85 capability reaches into the next parameter", FIXED "0c 02 04 41 04 0000 02 04 fc00 0000",
	 BGP_OPEN_MALFORMED, ""},
	{"parameters past the message", FIXED "08 02 05", BGP_OPEN_MALFORMED, ""},
	{"message past the parameters", FIXED "00 02 00", BGP_OPEN_MALFORMED, ""},
	{"authentication parameter", FIXED "03 01 01 00", BGP_OPEN_PARAMETER, "01"},
	{"unknown parameter", FIXED "02 07 00", BGP_OPEN_PARAMETER, "07"},
	{"extended, cut in its length", FIXED "ff ff 00", BGP_OPEN_MALFORMED, ""},
	{"extended, past the message", FIXED "ff ff 0010 02 0000", BGP_OPEN_MALFORMED, ""},
	{"extended, parameter length of one byte", FIXED "ff ff 0002 02 00", BGP_OPEN_MALFORMED, ""},
	{"nothing", "", BGP_OPEN_MALFORMED, ""},
	{"half of the fixed part", "04 fc00 0009", BGP_OPEN_MALFORMED, ""},
};

START_TEST(bad_opens_reset)
{
	struct bgp_open o;
	struct bgp_fault fault;
	uint8_t data[8];
	open_of(bad_opens[_i].bytes, &o, &fault);
	ck_assert_msg(fault.reaction == BGP_RESET, "%s", bad_opens[_i].row);
	ck_assert_uint_eq(fault.code, BGP_ERR_OPEN);
	ck_assert_msg(fault.subcode == bad_opens[_i].subcode, "%s: 2/%u", bad_opens[_i].row, fault.subcode);
	ck_assert_uint_eq(fault.data_len, unhex(bad_opens[_i].data, data, sizeof data));
	ck_assert_mem_eq(fault.data, data, fault.data_len);
	ck_assert_ptr_nonnull(fault.text);
}
END_TEST

enum { V4 = 1, V6 = 2 };

static const struct {
	const char *what, *bytes;
	uint32_t asn;
	bool as4;
	unsigned families; /* V4, V6 */
	bool restart;
	const char *capabilities;
} good_opens[] = {
	{"nothing offered", FIXED "00", 64512, false, V4, false, ""},
	{"empty parameter", FIXED "02 02 00", 64512, false, V4, false, ""},
	{"hold time 0", "04 fc00 0000 0a000701 00", 64512, false, V4, false, ""},
	{"4-byte AS", "04 5ba0 0009 0a000701 08 02 06 41 04 00010000", 65536, true, V4, false, "4-byte AS"},
	{"both families, one parameter each", FIXED "10 02 06 01 04 0001 00 01 02 06 01 04 0002 00 01", 64512, false, V4 | V6,
	 false, "IPv4 unicast, IPv6 unicast"},
	{"IPv6 only", FIXED "08 02 06 01 04 0002 00 01", 64512, false, V6, false, "IPv6 unicast"},
	{"a family we do not know", FIXED "08 02 06 01 04 0019 00 46", 64512, false, 0, false, ""},
	{"the reserved octet says nothing", FIXED "08 02 06 01 04 0001 ff 01", 64512, false, V4, false, "IPv4 unicast"},
	{"85 4-byte AS of length 3", FIXED "07 02 05 41 03 000100", 64512, false, V4, false, "4-byte AS"},
	{"85 4-byte AS of length 5", FIXED "09 02 07 41 05 0001000000", 64512, false, V4, false, "4-byte AS"},
	{"85 multiprotocol of length 3", FIXED "07 02 05 01 03 000200", 64512, false, V4, false, ""},
	{"85 multiprotocol of length 5", FIXED "09 02 07 01 05 0002000100", 64512, false, V4, false, ""},
	{"85 restart of length 1", FIXED "05 02 03 40 01 00", 64512, false, V4, false, "graceful restart"},
	{"85 restart of length 7", FIXED "0b 02 09 40 07 0078 0001 01 80 00", 64512, false, V4, false, "graceful restart"},
	{"restart without families", FIXED "06 02 04 40 02 0078", 64512, false, V4, true, "graceful restart"},
	{"85 role of length 0 and 2", FIXED "08 02 06 09 00 09 02 0000", 64512, false, V4, false, "role"},
	{"IPv6 next hops for IPv4", FIXED "0a 02 08 05 06 0001 0001 0002", 64512, false, V4, false, "extended next hop"},
	{"85 IPv6 next hops of length 5 and 7", FIXED "12 02 10 05 05 0001 0001 00 05 07 0001 0001 0002 00", 64512, false, V4, false,
	 "extended next hop"},
	{"85 LLGR of length 5", FIXED "09 02 07 47 05 0001018000", 64512, false, V4, false, "long-lived graceful restart"},
	{"86 host name with its own length too long", FIXED "06 02 04 49 02 ff61", 64512, false, V4, false, "host name"},
	{"86 software version with its own length too long", FIXED "06 02 04 4b 02 ff61", 64512, false, V4, false,
	 "software version"},
	{"unknown ones", FIXED "08 02 06 c8 02 abcd ff 00", 64512, false, V4, false, "200, 255"},
	{"the same twice", FIXED "0e 02 0c 41 04 0000fc00 41 04 0000fc00", 64512, true, V4, false, "4-byte AS"},
	{"long parameters (RFC 9072)", FIXED "ff ff 0009 02 0006 41 04 00010000", 65536, true, V4, false, "4-byte AS"},
	{"long parameters, first length not 255", FIXED "09 ff 0009 02 0006 41 04 00010000", 65536, true, V4, false,
	 "4-byte AS"},
	{"long parameters, none in them", FIXED "ff ff 0000", 64512, false, V4, false, ""},
};

START_TEST(good_opens_decode)
{
	struct bgp_open o;
	struct bgp_fault fault;
	char text[128];
	open_of(good_opens[_i].bytes, &o, &fault);
	ck_assert_msg(fault.reaction == BGP_FINE, "%s: %s", good_opens[_i].what, fault.text);
	ck_assert_uint_eq(o.asn, good_opens[_i].asn);
	ck_assert_uint_eq(o.router_id, 0x0a000701);
	ck_assert_int_eq(o.as4, good_opens[_i].as4);
	ck_assert_int_eq(o.families[BGP_IPV4_UNICAST], !!(good_opens[_i].families & V4));
	ck_assert_int_eq(o.families[BGP_IPV6_UNICAST], !!(good_opens[_i].families & V6));
	ck_assert_int_eq(o.restart.present, good_opens[_i].restart);
	ck_assert_int_eq(o.v6_next_hop, strstr(good_opens[_i].what, "IPv6 next hops for") != NULL);
	ck_assert_str_eq(bgp_open_capabilities_text(&o, text, sizeof text), good_opens[_i].capabilities);
}
END_TEST

START_TEST(restart_flags_are_read)
{
	struct bgp_open o;
	struct bgp_fault fault;
	open_of(FIXED "0e 02 0c 40 0a 8fff 0001 01 80 0002 01 00", &o, &fault);
	ck_assert_int_eq(fault.reaction, BGP_FINE);
	ck_assert(o.restart.present && o.restart.restarting);
	ck_assert_uint_eq(o.restart.time_s, 4095);
	ck_assert(o.restart.families[BGP_IPV4_UNICAST] && o.restart.kept[BGP_IPV4_UNICAST]);
	ck_assert(o.restart.families[BGP_IPV6_UNICAST] && !o.restart.kept[BGP_IPV6_UNICAST]);
	open_of(FIXED "06 02 04 40 02 4078", &o, &fault); /* the N bit of RFC 8538 is none of ours */
	ck_assert(o.restart.present && !o.restart.restarting);
	ck_assert_uint_eq(o.restart.time_s, 120);
}
END_TEST

/* Of the list in the capability only IPv4 unicast with an IPv6 next hop says something to us (RFC 8950 section 4). */
static const struct {
	const char *triples;
	bool understood;
} next_hop_lists[] = {
	{"06 0001 0001 0002", true},  {"0c 0001 0080 0002 0001 0001 0002", true}, {"06 0001 0080 0002", false},
	{"06 0001 0001 0001", false}, {"06 0002 0001 0002", false},               {"06 0001 0101 0002", false},
	{"00", false},
};

START_TEST(next_hop_families_are_read)
{
	struct bgp_open o;
	struct bgp_fault fault;
	char hex[128];
	unsigned len = 0;
	sscanf(next_hop_lists[_i].triples, "%2x", &len);
	snprintf(hex, sizeof hex, FIXED "%02x 02 %02x 05 %s", len + 4, len + 2, next_hop_lists[_i].triples);
	open_of(hex, &o, &fault);
	ck_assert_int_eq(fault.reaction, BGP_FINE);
	ck_assert_int_eq(o.v6_next_hop, next_hop_lists[_i].understood);
}
END_TEST

static void go_round(const struct bgp_open *o)
{
	uint8_t bytes[256];
	struct bgp_frame f;
	struct bgp_fault fault;
	struct bgp_open back;
	size_t len = bgp_open_encode(bytes, sizeof bytes, o);
	ck_assert_int_eq(frame(bytes, len, &f, &fault), 1);
	ck_assert_int_eq(f.type, BGP_OPEN);
	ck_assert_uint_eq(f.len, len);
	bgp_open_decode(f.body, f.body_len, &back, &fault);
	ck_assert_int_eq(fault.reaction, BGP_FINE);
	ck_assert_uint_eq(back.version, 4);
	ck_assert_uint_eq(back.asn, o->as4 || o->asn < 65536 ? o->asn : BGP_AS_TRANS);
	ck_assert_uint_eq(back.hold_time_s, o->hold_time_s);
	ck_assert_uint_eq(back.router_id, o->router_id);
	ck_assert_int_eq(back.as4, o->as4);
	ck_assert_int_eq(back.multiprotocol, o->multiprotocol);
	ck_assert_int_eq(back.v6_next_hop, o->v6_next_hop);
	ck_assert_mem_eq(back.families, o->families, sizeof o->families);
	ck_assert_int_eq(back.restart.present, o->restart.present);
	ck_assert_int_eq(back.restart.restarting, o->restart.restarting);
	ck_assert_uint_eq(back.restart.time_s, o->restart.time_s);
	ck_assert_mem_eq(back.restart.families, o->restart.families, sizeof o->restart.families);
	ck_assert_mem_eq(back.restart.kept, o->restart.kept, sizeof o->restart.kept);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(bgp_open_encode(bytes, cap, o), 0);
}

START_TEST(opens_go_round)
{
	static const uint32_t numbers[] = {1, 65535, 65536, 4200000000};
	for (unsigned bits = 0; bits < 256; bits++) {
		struct bgp_open o = {.version = 4, .hold_time_s = bits & 1 ? 9 : 0, .router_id = 0xfffffffe};
		o.asn = numbers[bits >> 1 & 3];
		o.as4 = bits & 8;
		o.multiprotocol = bits & 16;
		o.families[BGP_IPV4_UNICAST] = true; /* without the capability it is what the peer assumes */
		o.families[BGP_IPV6_UNICAST] = o.multiprotocol;
		o.restart.present = bits & 32;
		o.v6_next_hop = bits & 128;
		o.restart.restarting = o.restart.present && bits & 64;
		o.restart.time_s = o.restart.present ? 300 : 0;
		o.restart.families[BGP_IPV4_UNICAST] = o.restart.present;
		o.restart.kept[BGP_IPV4_UNICAST] = o.restart.restarting;
		go_round(&o);
	}
}
END_TEST

START_TEST(capability_text_fits)
{
	struct bgp_open o = {.multiprotocol = true, .families = {true, true}};
	char text[400];
	memset(o.seen, 0xff, sizeof o.seen);
	for (size_t cap = 1; cap < sizeof text; cap++) {
		memset(text, 'x', sizeof text);
		bgp_open_capabilities_text(&o, text, cap);
		ck_assert_uint_lt(strnlen(text, sizeof text), cap);
	}
}
END_TEST

START_TEST(families_have_numbers)
{
	enum bgp_family f = BGP_FAMILIES;
	ck_assert(bgp_family_of(1, 1, &f) && f == BGP_IPV4_UNICAST);
	ck_assert(bgp_family_of(2, 1, &f) && f == BGP_IPV6_UNICAST);
	ck_assert(!bgp_family_of(1, 2, &f) && !bgp_family_of(0, 0, &f) && !bgp_family_of(25, 70, &f));
	ck_assert_uint_eq(bgp_family_afi(BGP_IPV6_UNICAST), 2);
	ck_assert_str_eq(bgp_family_name(BGP_IPV4_UNICAST), "IPv4 unicast");
}
END_TEST

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
	Suite *suite = suite_create("bgp_message");
	TCase *t = tcase_create("bgp_message");
	suite_add_tcase(suite, t);
	tcase_add_loop_test(t, bad_frames_reset, 0, ROW_COUNT(bad_frames));
	tcase_add_loop_test(t, a_frame_comes_whole_or_not_at_all, 0, ROW_COUNT(good_frames));
	tcase_add_test(t, extended_messages_are_for_those_who_agreed);
	tcase_add_test(t, refreshes_go_round);
	tcase_add_test(t, a_keepalive_is_a_header);
	tcase_add_test(t, notifications_go_round);
	tcase_add_test(t, long_notification_data_is_cut);
	tcase_add_test(t, the_worst_fault_stays);
	tcase_add_test(t, faults_have_names);
	tcase_add_loop_test(t, bad_opens_reset, 0, ROW_COUNT(bad_opens));
	tcase_add_loop_test(t, good_opens_decode, 0, ROW_COUNT(good_opens));
	tcase_add_test(t, restart_flags_are_read);
	tcase_add_loop_test(t, next_hop_families_are_read, 0, ROW_COUNT(next_hop_lists));
	tcase_add_test(t, opens_go_round);
	tcase_add_test(t, capability_text_fits);
	tcase_add_test(t, families_have_numbers);
	return run_suite(suite);
}
