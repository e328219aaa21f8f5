/* Shared by the attr_*.c files only: attr.c has the sets, attr_decode.c wire to set, attr_encode.c set to wire, attr_edit.c
 * set to set, attr_path.c and attr_ext.c what they need of AS paths and extended communities. */
#pragma once
#include "bgp/attr.h"
#include "bgp/message.h"

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
	BGP_ATTR_TUNNEL_ENCAP = 23,
	BGP_ATTR_IPV6_EXT_COMMUNITIES = 25,
	BGP_ATTR_AIGP = 26,
	BGP_ATTR_LINK_STATE = 29,
	BGP_ATTR_LARGE_COMMUNITIES = 32,
	BGP_ATTR_OTC = 35,
	BGP_ATTR_PREFIX_SID = 40,
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
/* Where the communities of a kind are. */
uint8_t bgp_attr_of_community(enum community_kind kind);
/* Header with the shortest length form, and the value. */
void bgp_attr_put(struct writer *w, uint8_t flags, uint8_t code, const void *value, size_t len);

/* Finds or makes the set with this key; the fields of *like other than the key are taken over when it is made. mp_next_hop
 * goes with BGP_ATTR_MP_NEXT_HOP and is NULL without. Owned reference. NULL: out of memory. */
struct bgp_attrs *bgp_attrs_intern(struct bgp_attr_table *t, const struct bgp_attrs *like, const struct addr *mp_next_hop,
				   const uint8_t *wire, size_t len);
/* The table that the set, or what the draft was made of, is in. */
struct bgp_attr_table *bgp_attrs_table(const struct bgp_attrs *a);
/* The set with this key, without a weight, if it is there, as an owned reference. */
struct bgp_attrs *bgp_attrs_lookup(struct bgp_attr_table *t, uint8_t context, const struct addr *mp_next_hop,
				   const uint8_t *wire, size_t len);

/* One segment of a path whose numbers have width bytes. False at the end and where it is cut (path->failed). */
struct bgp_segment {
	uint8_t type;
	unsigned count;
	struct cursor numbers;
};
bool bgp_segment_next(struct cursor *path, unsigned width, struct bgp_segment *out);
bool bgp_segment_is_confed(const struct bgp_segment *s);
/* As the decision counts. */
unsigned bgp_path_count(struct cursor path, unsigned width);
/* The first that is not within a confederation; 0: none. */
uint32_t bgp_path_first_as(struct cursor path);
void bgp_put_as_number(struct writer *w, uint32_t asn, bool as4);
/* The segments that such a session gets, our number in front where it is external; *wide: one of them does not fit two
 * bytes. BGP_PATH_AS4: the form of AS4_PATH, which has nothing of a confederation. */
enum bgp_path_form { BGP_PATH_PLAIN, BGP_PATH_AS4 };
void bgp_path_put(struct writer *w, struct cursor path, const struct bgp_export *e, enum bgp_path_form form, bool *wide);

enum { BGP_EXT_COMMUNITY_SIZE = 8 };
/* Bytes a second of the first link bandwidth that is one; 0: there is none. */
uint64_t bgp_link_bandwidth(struct cursor communities);
/* Those of an EXTENDED_COMMUNITIES that may leave the AS; no attribute where none may. */
void bgp_put_transitive_ext(struct writer *w, const struct bgp_attr_item *item);
