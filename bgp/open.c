#include "bgp/open.h"

#include <stdio.h>
#include <string.h>

#include "bgp/message.h"
#include "src/base/cursor.h"

enum {
	PARAM_CAPABILITIES = 2,
	PARAM_EXTENDED = 255,
	CAP_MULTIPROTOCOL = 1,
	CAP_REFRESH = 2,
	CAP_NEXT_HOP = 5,
	CAP_EXTENDED = 6,
	CAP_ROLE = 9,
	CAP_RESTART = 64,
	CAP_AS4 = 65,
	CAP_ENHANCED = 70,
	CAP_ADD_PATH = 69,
	AFI_IPV6 = 2,
	RESTART_RESTARTING = 0x8000,
	RESTART_TIME_MASK = 0x0fff,
	RESTART_KEPT = 0x80,
	VERSION = 4,
};

static const struct {
	uint16_t afi;
	uint8_t safi;
	const char *name;
} families[BGP_FAMILIES] = {
	[BGP_IPV4_UNICAST] = {1, 1, "IPv4 unicast"},
	[BGP_IPV6_UNICAST] = {2, 1, "IPv6 unicast"},
};

bool bgp_family_of(uint16_t afi, uint8_t safi, enum bgp_family *out)
{
	for (unsigned i = 0; i < BGP_FAMILIES; i++) {
		if (families[i].afi != afi || families[i].safi != safi)
			continue;
		*out = (enum bgp_family)i;
		return true;
	}
	return false;
}

uint16_t bgp_family_afi(enum bgp_family f)
{
	return families[f].afi;
}

const char *bgp_family_name(enum bgp_family f)
{
	return families[f].name;
}

/* A capability of a wrong length is passed over, as if the peer had not sent it (RFC 5492 section 3
 * lets us; a reset would keep the session down for good). */
static void read_multiprotocol(struct cursor *c, struct bgp_open *o)
{
	enum bgp_family f;
	uint16_t afi = cursor_u16(c);
	cursor_u8(c);
	uint8_t safi = cursor_u8(c);
	if (!cursor_ok(c) || cursor_left(c))
		return;
	o->multiprotocol = true;
	if (bgp_family_of(afi, safi, &f))
		o->families[f] = true;
}

static void read_as4(struct cursor *c, struct bgp_open *o)
{
	uint32_t asn = cursor_u32(c);
	if (!cursor_ok(c) || cursor_left(c))
		return;
	o->as4 = true;
	o->asn = asn;
}

static void read_refresh(struct cursor *c, struct bgp_open *o)
{
	o->refresh |= cursor_left(c) == 0;
}

/* Families, each with the address family that its next hop may be of. Only our pair counts. */
static void read_next_hop(struct cursor *c, struct bgp_open *o)
{
	enum bgp_family f;
	if (cursor_left(c) % 6)
		return;
	while (cursor_left(c)) {
		uint16_t afi = cursor_u16(c), safi = cursor_u16(c), next_hop = cursor_u16(c);
		bool ours = safi <= UINT8_MAX && bgp_family_of(afi, (uint8_t)safi, &f) && f == BGP_IPV4_UNICAST;
		o->v6_next_hop |= ours && next_hop == AFI_IPV6;
	}
}

static void read_enhanced(struct cursor *c, struct bgp_open *o)
{
	o->enhanced |= cursor_left(c) == 0;
}

static void read_extended(struct cursor *c, struct bgp_open *o)
{
	o->extended |= cursor_left(c) == 0;
}

static void read_restart(struct cursor *c, struct bgp_open *o)
{
	uint16_t head = cursor_u16(c);
	if (!cursor_ok(c) || cursor_left(c) % 4)
		return;
	o->restart.present = true;
	o->restart.restarting = head & RESTART_RESTARTING;
	o->restart.time_s = head & RESTART_TIME_MASK;
	while (cursor_left(c)) {
		enum bgp_family f;
		uint16_t afi = cursor_u16(c);
		uint8_t safi = cursor_u8(c), flags = cursor_u8(c);
		if (!bgp_family_of(afi, safi, &f))
			continue;
		o->restart.families[f] = true;
		o->restart.kept[f] = flags & RESTART_KEPT;
	}
}

static void read_role(struct cursor *c, struct bgp_open *o)
{
	enum bgp_role role = bgp_role_of_wire(cursor_u8(c));
	if (!cursor_ok(c) || cursor_left(c))
		return;
	o->roles_differ |= o->role != BGP_ROLE_NONE && o->role != role;
	o->role = role;
}

/* A value that is none of the three which mean something counts as not said (RFC 7911 section 4). */
static void read_add_path(struct cursor *c, struct bgp_open *o)
{
	if (cursor_left(c) % 4)
		return;
	while (cursor_left(c)) {
		enum bgp_family f;
		uint16_t afi = cursor_u16(c);
		uint8_t safi = cursor_u8(c), bits = cursor_u8(c);
		if (bgp_family_of(afi, safi, &f))
			o->add_path[f] = bits <= (BGP_ADD_PATH_RECEIVE | BGP_ADD_PATH_SEND) ? bits : 0;
	}
}

static const struct {
	const char *name;
	void (*read)(struct cursor *, struct bgp_open *);
} capabilities[BGP_CAPABILITY_CODES] = {
	[CAP_MULTIPROTOCOL] = {"multiprotocol", read_multiprotocol},
	[CAP_REFRESH] = {"route refresh", read_refresh},
	[CAP_NEXT_HOP] = {"extended next hop", read_next_hop},
	[CAP_EXTENDED] = {"extended message", read_extended},
	[CAP_ROLE] = {"role", read_role},
	[CAP_RESTART] = {"graceful restart", read_restart},
	[CAP_AS4] = {"4-byte AS", read_as4},
	[67] = {"dynamic capability", NULL},
	[CAP_ADD_PATH] = {"add-path", read_add_path},
	[CAP_ENHANCED] = {"enhanced route refresh", read_enhanced},
	[71] = {"long-lived graceful restart", NULL},
	[73] = {"host name", NULL},
	[75] = {"software version", NULL},
	[128] = {"route refresh (before RFC 2918)", NULL},
};

static void malformed(struct bgp_fault *fault, const char *text)
{
	bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_MALFORMED, text, NULL, 0);
}

static void read_capabilities(struct cursor *c, struct bgp_open *o, struct bgp_fault *fault)
{
	while (cursor_left(c) && cursor_ok(c)) {
		uint8_t code = cursor_u8(c), len = cursor_u8(c);
		struct cursor value = cursor_sub(c, len);
		if (!cursor_ok(c)) {
			malformed(fault, "a capability runs past its parameter");
			return;
		}
		o->seen[code / 8] |= (uint8_t)(1u << code % 8);
		if (capabilities[code].read)
			capabilities[code].read(&value, o);
	}
}

static void read_parameters(struct cursor *c, bool extended, struct bgp_open *o, struct bgp_fault *fault)
{
	while (cursor_left(c) && cursor_ok(c) && fault->reaction != BGP_RESET) {
		uint8_t type = cursor_u8(c);
		size_t len = extended ? cursor_u16(c) : cursor_u8(c);
		struct cursor value = cursor_sub(c, len);
		if (!cursor_ok(c))
			malformed(fault, "an optional parameter runs past the message");
		else if (type != PARAM_CAPABILITIES)
			bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_PARAMETER,
					"an optional parameter other than capabilities", &type, 1);
		else
			read_capabilities(&value, o, fault);
	}
}

static void check_fixed(const struct bgp_open *o, struct bgp_fault *fault)
{
	static const uint8_t supported[2] = {0, VERSION};
	if (o->version != VERSION)
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_VERSION, "version is not 4", supported, 2);
	else if (o->hold_time_s == 1 || o->hold_time_s == 2)
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_HOLD_TIME, "hold time is neither 0 nor at least 3 s",
				NULL, 0);
	else if (o->router_id == 0)
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_IDENTIFIER, "BGP identifier is 0", NULL, 0);
}

void bgp_open_decode(const uint8_t *body, size_t len, struct bgp_open *out, struct bgp_fault *fault)
{
	struct cursor c = cursor_of(body, len);
	memset(out, 0, sizeof *out);
	out->version = cursor_u8(&c);
	out->asn = cursor_u16(&c);
	out->hold_time_s = cursor_u16(&c);
	out->router_id = cursor_u32(&c);
	size_t params_len = cursor_u8(&c);
	bool extended = false;
	if (cursor_ok(&c))
		check_fixed(out, fault);
	if (params_len && cursor_left(&c) && *c.p == PARAM_EXTENDED) {
		extended = true; /* whatever the short length says: RFC 9072 section 2 */
		cursor_u8(&c);
		params_len = cursor_u16(&c);
	}
	struct cursor params = cursor_sub(&c, params_len);
	if (!cursor_ok(&c) || cursor_left(&c))
		malformed(fault, "the optional parameters' length does not fit the message");
	else
		read_parameters(&params, extended, out, fault);
	if (!out->multiprotocol) /* RFC 4760 section 8: without the capability it is IPv4 unicast */
		out->families[BGP_IPV4_UNICAST] = true;
	if (out->asn == 0)
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_PEER_AS, "AS number is 0 (RFC 7607)", NULL, 0);
}

static void put_restart(struct writer *w, const struct bgp_open *o)
{
	unsigned n = 0;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		n += o->restart.families[f];
	writer_u8(w, CAP_RESTART);
	writer_u8(w, (uint8_t)(2 + 4 * n));
	writer_u16(w, (uint16_t)((o->restart.restarting ? RESTART_RESTARTING : 0) | (o->restart.time_s & RESTART_TIME_MASK)));
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		if (!o->restart.families[f])
			continue;
		writer_u16(w, families[f].afi);
		writer_u8(w, families[f].safi);
		writer_u8(w, o->restart.kept[f] ? RESTART_KEPT : 0);
	}
}

static void put_add_path(struct writer *w, const struct bgp_open *o)
{
	unsigned n = 0;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		n += o->add_path[f] != 0;
	if (!n)
		return;
	writer_u8(w, CAP_ADD_PATH);
	writer_u8(w, (uint8_t)(4 * n));
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		if (!o->add_path[f])
			continue;
		writer_u16(w, families[f].afi);
		writer_u8(w, families[f].safi);
		writer_u8(w, o->add_path[f]);
	}
}

static void put_capabilities(struct writer *w, const struct bgp_open *o)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		if (!o->families[f] || !o->multiprotocol)
			continue;
		writer_u8(w, CAP_MULTIPROTOCOL);
		writer_u8(w, 4);
		writer_u16(w, families[f].afi);
		writer_u8(w, 0);
		writer_u8(w, families[f].safi);
	}
	if (o->refresh) {
		writer_u8(w, CAP_REFRESH);
		writer_u8(w, 0);
	}
	if (o->v6_next_hop) {
		writer_u8(w, CAP_NEXT_HOP);
		writer_u8(w, 6);
		writer_u16(w, families[BGP_IPV4_UNICAST].afi);
		writer_u16(w, families[BGP_IPV4_UNICAST].safi);
		writer_u16(w, AFI_IPV6);
	}
	if (o->extended) {
		writer_u8(w, CAP_EXTENDED);
		writer_u8(w, 0);
	}
	if (o->role != BGP_ROLE_NONE) {
		writer_u8(w, CAP_ROLE);
		writer_u8(w, 1);
		writer_u8(w, bgp_role_wire(o->role));
	}
	if (o->restart.present)
		put_restart(w, o);
	if (o->as4) {
		writer_u8(w, CAP_AS4);
		writer_u8(w, 4);
		writer_u32(w, o->asn);
	}
	if (o->enhanced) {
		writer_u8(w, CAP_ENHANCED);
		writer_u8(w, 0);
	}
	put_add_path(w, o);
}

size_t bgp_open_encode(uint8_t *out, size_t cap, const struct bgp_open *o)
{
	uint8_t caps[200];
	struct writer c = writer_of(caps, sizeof caps), w = writer_of(out, cap);
	put_capabilities(&c, o);
	size_t caps_len = writer_len(&c);
	bgp_message_begin(&w, BGP_OPEN);
	writer_u8(&w, o->version);
	writer_u16(&w, o->asn > 0xffff ? BGP_AS_TRANS : (uint16_t)o->asn);
	writer_u16(&w, o->hold_time_s);
	writer_u32(&w, o->router_id);
	writer_u8(&w, (uint8_t)(caps_len ? caps_len + 2 : 0));
	if (caps_len) {
		writer_u8(&w, PARAM_CAPABILITIES);
		writer_u8(&w, (uint8_t)caps_len);
		writer_bytes(&w, caps, caps_len);
	}
	return writer_ok(&c) ? bgp_message_end(&w) : 0;
}

static void append(char *buf, size_t cap, const char *text)
{
	size_t n = strlen(buf);
	snprintf(buf + n, cap - n, "%s%s", n ? ", " : "", text);
}

const char *bgp_open_capabilities_text(const struct bgp_open *o, char *buf, size_t cap)
{
	char number[8];
	buf[0] = '\0';
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (o->multiprotocol && o->families[f])
			append(buf, cap, families[f].name);
	for (unsigned code = 0; code < BGP_CAPABILITY_CODES; code++) {
		if (!(o->seen[code / 8] & 1u << code % 8) || code == CAP_MULTIPROTOCOL)
			continue;
		snprintf(number, sizeof number, "%u", code);
		append(buf, cap, capabilities[code].name ? capabilities[code].name : number);
	}
	return buf;
}
