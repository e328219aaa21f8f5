/* Extended communities, as far as we look into them. RFC 4360; link bandwidth: RFC 10005. */
#include <string.h>

#include "bgp/attr_private.h"

enum { NOT_TRANSITIVE = 0x40, LINK_BANDWIDTH = 4 };
static const float bandwidth_max = 1e15F; /* 8 Pbit/s: whatever is more, sums of 64-bit numbers still hold */

/* The low bit of a community's first byte apart, it is the same community, transitive or not. The AS number in it says who
 * attached it and does not matter; it may be AS_TRANS. */
static bool is_link_bandwidth(const uint8_t *c)
{
	return (c[0] & ~NOT_TRANSITIVE) == 0 && c[1] == LINK_BANDWIDTH;
}

/* 0 for what is no bandwidth: negative, zero, not a number. */
static uint64_t bandwidth_of(const uint8_t *c)
{
	uint32_t bits = (uint32_t)c[4] << 24 | (uint32_t)c[5] << 16 | (uint32_t)c[6] << 8 | c[7];
	float f;
	memcpy(&f, &bits, sizeof f);
	if (!(f > 0))
		return 0;
	if (f >= bandwidth_max)
		return (uint64_t)bandwidth_max;
	return f < 1 ? 1 : (uint64_t)f;
}

uint64_t bgp_link_bandwidth(struct cursor communities)
{
	const uint8_t *c;
	uint64_t found = 0;
	while (!found && (c = cursor_bytes(&communities, BGP_EXT_COMMUNITY_SIZE)) != NULL)
		found = is_link_bandwidth(c) ? bandwidth_of(c) : 0;
	return found;
}

void bgp_put_transitive_ext(struct writer *w, const struct bgp_attr_item *item)
{
	uint8_t kept[BGP_EXTENDED_MAX];
	struct writer k = writer_of(kept, sizeof kept);
	struct cursor all = item->value;
	const uint8_t *c;
	while ((c = cursor_bytes(&all, BGP_EXT_COMMUNITY_SIZE)) != NULL)
		if (!(c[0] & NOT_TRANSITIVE))
			writer_bytes(&k, c, BGP_EXT_COMMUNITY_SIZE);
	if (writer_len(&k))
		bgp_attr_put(w, item->flags, item->code, kept, writer_len(&k));
}
