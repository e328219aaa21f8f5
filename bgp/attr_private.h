/* Shared by attr.c (the sets), attr_decode.c (wire to set) and attr_encode.c (set to wire) only. */
#pragma once
#include "bgp/attr.h"

enum bgp_attr_code {
	BGP_ATTR_ORIGIN = 1,
	BGP_ATTR_AS_PATH = 2,
	BGP_ATTR_NEXT_HOP = 3,
	BGP_ATTR_MED = 4,
	BGP_ATTR_LOCAL_PREF = 5,
	BGP_ATTR_ATOMIC_AGGREGATE = 6,
	BGP_ATTR_AGGREGATOR = 7,
	BGP_ATTR_COMMUNITIES = 8,
	BGP_ATTR_ORIGINATOR_ID = 9,
	BGP_ATTR_CLUSTER_LIST = 10,
	BGP_ATTR_MP_REACH = 14,
	BGP_ATTR_MP_UNREACH = 15,
	BGP_ATTR_EXT_COMMUNITIES = 16,
	BGP_ATTR_AS4_PATH = 17,
	BGP_ATTR_AS4_AGGREGATOR = 18,
	BGP_ATTR_IPV6_EXT_COMMUNITIES = 25,
	BGP_ATTR_LARGE_COMMUNITIES = 32,
	BGP_ATTR_OTC = 35,
};

enum { BGP_FLAG_OPTIONAL = 0x80, BGP_FLAG_TRANSITIVE = 0x40, BGP_FLAG_PARTIAL = 0x20, BGP_FLAG_EXTENDED = 0x10 };
enum { BGP_ATTR_MP_NEXT_HOP = 0x80 }; /* context bit: the next hop came from MP_REACH_NLRI */
enum { BGP_SEG_SET = 1, BGP_SEG_SEQUENCE = 2, BGP_SEG_CONFED_SEQUENCE = 3, BGP_SEG_CONFED_SET = 4 };

/* One attribute as it stands in a block. */
struct bgp_attr_item {
	uint8_t flags, code;
	struct cursor value;
};

/* The next attribute of block. False at the end and where the framing is broken; block->failed tells
 * which. */
bool bgp_attr_next(struct cursor *block, struct bgp_attr_item *out);
/* The value of the first attribute with this code; empty where there is none. */
struct cursor bgp_attrs_value(const struct bgp_attrs *a, uint8_t code);
/* Header with the shortest length form, and the value. */
void bgp_attr_put(struct writer *w, uint8_t flags, uint8_t code, const void *value, size_t len);

/* Finds or makes the set with this key; the fields of *like other than the key are taken over when it
 * is made. Owned reference. NULL: out of memory. */
struct bgp_attrs *bgp_attrs_intern(struct bgp_attr_table *t, const struct bgp_attrs *like, const uint8_t *wire,
				   size_t len);
/* The set with this key if it is there, as an owned reference. */
struct bgp_attrs *bgp_attrs_lookup(struct bgp_attr_table *t, uint8_t context, const struct addr *mp_next_hop,
				   const uint8_t *wire, size_t len);
