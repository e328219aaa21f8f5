/* Path attributes: sets of them, interned. A set is decoded once, kept in a canonical wire form
 * (4-byte AS numbers, without MP_REACH_NLRI, MP_UNREACH_NLRI and what RFC 7606 says to discard) and
 * shared by every path that carries it; comparing two sets is comparing two pointers. The table is
 * keyed by that wire form, so an UPDATE whose attributes are known costs one hash look-up.
 *
 * Ownership: bgp_attrs are shared, with ref/unref; the table holds no reference of its own, a set
 * leaves the table with its last user. RFC 4271 section 5, RFC 6793, RFC 7606, RFC 9774.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/fault.h"
#include "bgp/open.h"
#include "src/base/addr.h"
#include "src/base/as_regex.h"
#include "src/base/community.h"
#include "src/base/cursor.h"
#include "src/base/hash_index.h"
#include "src/base/pool.h"

enum bgp_origin { BGP_ORIGIN_IGP, BGP_ORIGIN_EGP, BGP_ORIGIN_INCOMPLETE };
enum { BGP_DEFAULT_LOCAL_PREF = 100 };

/* 44 bytes and the wire form: there are hundreds of thousands. What the decision asks for is a field, the rest is read in the
 * wire form by the functions below. The sets of all tables live in one store of the process, where each has a position. */
struct bgp_attrs {
	uint32_t at;                      /* its position, for who remembers many: bgp_attrs_at() */
	uint32_t hash_next, hash;         /* kept, since a look at wire would be one more at memory that is in no cache */
	uint32_t refs;
	uint32_t med, local_pref;
	uint32_t first_as;                /* leftmost AS; 0: empty path */
	uint16_t wire_len;
	uint16_t as_path_at, as_path_len; /* the segments, within wire */
	uint16_t as_count;                /* for the decision: an AS_SET counts 1 */
	uint16_t next_hop_at;             /* the value of NEXT_HOP within wire; 0: it has none */
	uint16_t weight;                  /* for this node alone, never sent; a policy put it there. Part of the key */
	uint8_t context;                  /* enum bgp_attr_context bits; part of the key */
	uint8_t table;                    /* which one it is in */
	uint8_t origin : 2;
	bool has_med : 1, has_originator : 1, no_export : 1, no_advertise : 1, graceful_shutdown : 1;
	bool has_otc : 1, has_clusters : 1, has_link_bandwidth : 1;
	uint8_t wire[]; /* behind it the next hop of MP_REACH_NLRI, where context says that there is one */
};

struct bgp_attr_table {
	struct hash_index sets;
	uint8_t number;
};

enum { BGP_ATTR_TABLES_MAX = 8 }; /* at the same time */
void bgp_attr_table_init(struct bgp_attr_table *t);
void bgp_attr_table_fini(struct bgp_attr_table *t); /* no set may be left */

extern struct pool bgp_attr_store; /* for bgp_attrs_at() */
static inline struct bgp_attrs *bgp_attrs_at(uint32_t at)
{
	return pool_at(&bgp_attr_store, at);
}

/* What a block of attributes means depends on the session that it came over. BGP_ATTR_EDITED: it holds a LOCAL_PREF
 * that no such session brings, a policy put it there. */
enum bgp_attr_context { BGP_ATTR_IBGP = 1, BGP_ATTR_AS2 = 2, BGP_ATTR_EDITED = 4 };
/* Two more bits for decoding, which are no part of the key: IPv4 may have an IPv6 next hop (RFC 8950); of a global and a
 * link-local next hop the second counts, since the session runs over link-local addresses. */
enum { BGP_ATTR_V6_NEXT_HOP = 8, BGP_ATTR_ON_LINK = 16 };

struct bgp_mp_reach {
	bool present;
	bool known; /* family is one of ours */
	enum bgp_family family;
	struct addr next_hop;
	struct cursor nlri;
};

struct bgp_mp_unreach {
	bool present;
	bool known;
	enum bgp_family family;
	struct cursor nlri;
};

struct bgp_attr_block {
	struct bgp_fault fault;          /* the worst found */
	bool complete;                   /* the framing held to the end */
	bool empty;                      /* no attribute but the MP pair */
	struct bgp_mp_reach reach;
	struct bgp_mp_unreach unreach;
};

/* Reads the attributes of one UPDATE. classic: it has NLRI in the classic field, so NEXT_HOP is
 * mandatory. *classic_out and *mp_out get a reference to the set for the classic NLRI
 * and for MP_REACH_NLRI's, or NULL where there is nothing to announce or fault says withdraw. */
void bgp_attrs_decode(struct bgp_attr_table *t, unsigned context, struct cursor block, bool classic,
		      struct bgp_attr_block *out, struct bgp_attrs **classic_out, struct bgp_attrs **mp_out);

/* The set of a route that we originate: ORIGIN IGP, empty path, next hop ours. Owned reference. */
struct bgp_attrs *bgp_attrs_local(struct bgp_attr_table *t);

struct bgp_attrs *bgp_attrs_ref(struct bgp_attrs *a);
void bgp_attrs_unref(struct bgp_attrs *a); /* NULL is fine */

/* What is asked for seldom is read in the wire form. */
struct addr bgp_attrs_next_hop(const struct bgp_attrs *a); /* of NEXT_HOP or MP_REACH_NLRI; zero: ours, or none where it is discarded */
bool bgp_attrs_has_next_hop(const struct bgp_attrs *a);      /* it is not zero */
uint32_t bgp_attrs_otc(const struct bgp_attrs *a);         /* ONLY_TO_CUSTOMER, RFC 9234; 0: not there */
uint32_t bgp_attrs_originator_id(const struct bgp_attrs *a); /* 0: not there */
unsigned bgp_attrs_cluster_count(const struct bgp_attrs *a);
uint64_t bgp_attrs_link_bandwidth(const struct bgp_attrs *a); /* bytes a second, as its extended community says; 0: it has none */

/* How often asn stands in the path (loop check, RFC 4271 section 9.1.2). */
unsigned bgp_attrs_count_as(const struct bgp_attrs *a, uint32_t asn);
/* Has the route been reflected by this cluster (RFC 4456 section 8)? */
bool bgp_attrs_in_cluster(const struct bgp_attrs *a, uint32_t cluster_id);
/* "64512 64513 {1 2}" into buf; cut with "..." where it does not fit. */
const char *bgp_attrs_path_text(const struct bgp_attrs *a, char *buf, size_t cap);
/* "64512:100 no-export rt:64512:7 64512:1:2", all kinds, into buf; cut with "..." where it does not fit. */
const char *bgp_attrs_communities_text(const struct bgp_attrs *a, char *buf, size_t cap);
/* The AS that the route comes from, the last of the path; 0: the path is empty (it is our own AS's). */
uint32_t bgp_attrs_origin_as(const struct bgp_attrs *a);

/* Has it a community that one of these matches? */
bool bgp_attrs_has_community(const struct bgp_attrs *a, const struct community_match *any, size_t n);
/* The path's numbers in the order in which they stand, whatever segments they are in. */
bool bgp_attrs_path_matches(const struct bgp_attrs *a, const struct as_regex *r);

/* What a policy changes in a set; everything is borrowed. */
struct bgp_attr_edit {
	bool has_local_pref, has_med, has_next_hop, has_weight;
	uint8_t replace;                             /* bits 1 << kind: add is all that stays of such communities */
	uint16_t weight;
	uint32_t local_pref, med;
	uint32_t otc;                                /* for a set that has none; 0: not */
	struct addr next_hop;                        /* zero: ours */
	const uint32_t *prepend;                     /* the first is leftmost then */
	const struct community *add;
	const struct community_match *remove;
	size_t prepend_count, add_count, remove_count;
};
/* The set that a becomes by e, as an owned reference: a itself where nothing is different. Communities that were
 * changed are in order and each there once. NULL: out of memory, or too long to keep. attr_edit.c */
struct bgp_attrs *bgp_attrs_edit(struct bgp_attrs *a, const struct bgp_attr_edit *e);

/* The same for a set that nobody else sees yet, as several edits one after the other make them: it is in no table and
 * allocates nothing. bgp_draft_set() is NULL where the edit could not be made; otherwise it lives as long as the draft. */
enum { BGP_DRAFT_WIRE_MAX = 16384 };
struct bgp_draft {
	bool good;
	_Alignas(struct bgp_attrs) uint8_t room[sizeof(struct bgp_attrs) + BGP_DRAFT_WIRE_MAX + sizeof(struct addr)];
};
void bgp_draft_edit(struct bgp_draft *d, const struct bgp_attrs *a, const struct bgp_attr_edit *e);
const struct bgp_attrs *bgp_draft_set(const struct bgp_draft *d);
/* The interned set that it is, as an owned reference. NULL: out of memory. */
struct bgp_attrs *bgp_draft_intern(const struct bgp_draft *d);

/* How a session wants its attributes. */
struct bgp_export {
	bool ibgp, as4;
	bool v6_next_hop;                         /* understands IPv6 next hops of IPv4 routes (RFC 8950) */
	bool own_next_hop;                        /* internal: ours, not the learned one */
	bool as_override, remove_private;         /* external, see attr_path.c; both look at peer_asn */
	bool draining;                            /* GRACEFUL_SHUTDOWN is added, inside with LOCAL_PREF 0 (RFC 8326) */
	uint32_t local_asn, peer_asn;
	uint32_t originator, cluster_id;          /* internal: reflected, of this router, by this cluster (RFC 4456); 0: not */
	struct addr next_hop_self[BGP_FAMILIES];  /* zero: we have none to offer for this family */
	struct addr link_local_self;              /* goes along with an IPv6 next hop of ours (RFC 2545); zero: not */
	uint32_t otc;                             /* ONLY_TO_CUSTOMER for sets without; 0: not */
	bool keep_med, keep_next_hop;             /* the set's own go to external peers too: a policy put them there */
};
/* What an UPDATE of one family carries for a set: the block, and the next hop. */
struct bgp_words {
	const uint8_t *block;
	size_t len;
	struct addr next_hop, link_local; /* for MP_REACH_NLRI; an IPv4 NEXT_HOP is in the block */
};
/* Writes the attribute block that goes with a to such a session (RFC 4271 section 5.1: AS_PATH, next
 * hop, LOCAL_PREF, MED; unknown transitive ones with Partial) into out, which *words then borrows. False where cap
 * is too small. */
bool bgp_attrs_export(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family, uint8_t *out,
		      size_t cap, struct bgp_words *words);
