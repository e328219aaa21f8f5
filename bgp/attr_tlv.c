#include "bgp/attr_tlv.h"

#include <stddef.h>
#include <stdint.h>

/* One element; how wide its type and length are depends on the attribute. */
struct tlv {
	uint16_t type;
	struct cursor value;
};

static unsigned read_uint(struct cursor *c, unsigned width)
{
	return width == 1 ? cursor_u8(c) : cursor_u16(c);
}

/* False at the end and where an element runs past it; c->failed tells which. */
static bool next_tlv(struct cursor *c, unsigned type_width, unsigned length_width, struct tlv *out)
{
	if (!cursor_left(c) || !cursor_ok(c))
		return false;
	out->type = (uint16_t)read_uint(c, type_width);
	out->value = cursor_sub(c, read_uint(c, length_width));
	return cursor_ok(c);
}

/* --- AIGP. Its lengths count the element's own three bytes as well. */

enum { AIGP_METRIC = 1, AIGP_HEADER = 3, AIGP_METRIC_LENGTH = 11 };

static bool is_highest(struct cursor metric)
{
	uint32_t high = cursor_u32(&metric);
	return high == UINT32_MAX && cursor_u32(&metric) == UINT32_MAX;
}

/* Elements of types that we do not know, and second ones, are no fault (RFC 7311 section 3.2), but without a metric the
 * attribute says nothing. */
bool bgp_tlv_aigp_is_good(struct cursor v)
{
	bool found = false;
	while (cursor_left(&v)) {
		uint8_t type = cursor_u8(&v);
		uint16_t length = cursor_u16(&v);
		if (length < AIGP_HEADER)
			return false;
		struct cursor metric = cursor_sub(&v, length - AIGP_HEADER);
		if (!cursor_ok(&v) || (type == AIGP_METRIC && length != AIGP_METRIC_LENGTH))
			return false;
		if (type == AIGP_METRIC && !found && is_highest(metric))
			return false;
		found |= type == AIGP_METRIC;
	}
	return found;
}

/* --- PREFIX_SID */

enum { SID_LABEL_INDEX = 1, SID_SRGB = 3, SID_SRV6_L3 = 5, SID_SRV6_L2 = 6 };
enum { SRV6_SID_INFORMATION = 1, SRV6_INFORMATION_MIN = 21, SRV6_STRUCTURE = 1, SRV6_STRUCTURE_LENGTH = 6 };
enum { LABEL_INDEX_LENGTH = 7, SRGB_FLAGS = 2, SRGB_RANGE = 6 };

static bool sid_information_is_good(struct cursor v)
{
	struct tlv t;
	cursor_sub(&v, SRV6_INFORMATION_MIN);
	if (!cursor_ok(&v))
		return false;
	while (next_tlv(&v, 1, 2, &t))
		if (t.type == SRV6_STRUCTURE && cursor_left(&t.value) != SRV6_STRUCTURE_LENGTH)
			return false;
	return cursor_ok(&v);
}

static bool srv6_service_is_good(struct cursor v)
{
	struct tlv t;
	cursor_u8(&v); /* reserved */
	while (next_tlv(&v, 1, 2, &t))
		if (t.type == SRV6_SID_INFORMATION && !sid_information_is_good(t.value))
			return false;
	return cursor_ok(&v);
}

static bool srgb_is_good(struct cursor v)
{
	size_t n = cursor_left(&v);
	return n > SRGB_FLAGS && (n - SRGB_FLAGS) % SRGB_RANGE == 0;
}

static enum bgp_reaction judge_sid(const struct tlv *t)
{
	switch (t->type) {
	case SID_LABEL_INDEX:
		return cursor_left(&t->value) == LABEL_INDEX_LENGTH ? BGP_FINE : BGP_DISCARD;
	case SID_SRGB:
		return srgb_is_good(t->value) ? BGP_FINE : BGP_DISCARD;
	case SID_SRV6_L3:
	case SID_SRV6_L2:
		return srv6_service_is_good(t->value) ? BGP_FINE : BGP_WITHDRAW;
	default:
		return BGP_FINE;
	}
}

enum bgp_reaction bgp_tlv_judge_prefix_sid(struct cursor v)
{
	enum bgp_reaction worst = cursor_left(&v) ? BGP_FINE : BGP_DISCARD;
	struct tlv t;
	while (next_tlv(&v, 1, 2, &t)) {
		enum bgp_reaction r = judge_sid(&t);
		worst = r > worst ? r : worst;
	}
	return !cursor_ok(&v) && worst < BGP_DISCARD ? BGP_DISCARD : worst;
}

/* --- TUNNEL_ENCAP: tunnels, and in each what is told of it, where types from 128 on have a length of two bytes */

static bool tunnel_is_good(struct cursor v)
{
	struct cursor peek = v;
	struct tlv t;
	while (next_tlv(&v, 1, cursor_u8(&peek) < 128 ? 1 : 2, &t))
		peek = v;
	return cursor_ok(&v);
}

bool bgp_tlv_tunnels_are_good(struct cursor v)
{
	struct tlv t;
	bool any = false;
	while (next_tlv(&v, 2, 2, &t)) {
		if (!tunnel_is_good(t.value))
			return false;
		any = true;
	}
	return any && cursor_ok(&v);
}

/* --- BGP-LS */

bool bgp_tlv_link_state_is_good(struct cursor v)
{
	struct tlv t;
	while (next_tlv(&v, 2, 2, &t))
		continue;
	return cursor_ok(&v);
}
