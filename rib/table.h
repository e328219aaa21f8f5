/* The RIB: prefixes, the paths to each (Adj-RIB-In and Loc-RIB are one table: a path is in the entry of
 * its prefix, marked when the decision chose it), and a journal of what changed.
 *
 * The journal is a list through all entries in the order of their last change. Each consumer (an update
 * group, a peer that lags behind, the FIB) is a cursor on it: from the head it reads the whole table, at the
 * tail it has seen everything, and however slow it is, a prefix that changed ten times waits for it once.
 * An entry whose last path went stays as a tombstone until every cursor has passed it: rib_sweep() is the last reader.
 *
 * A source may have several paths to a prefix, told apart by path identifiers (RFC 7911); without them the identifier
 * is 0. Paths beyond the one inside the entry come from a pool of the table, linked by their position there. Entries, paths,
 * sources and attribute sets point at each other with such positions (src/base/pool.h), which are half of pointers.
 *
 * Ownership: the table owns entries and paths; a path holds a reference to its attribute set; sources
 * are made and freed through it. Pure. RFC 4271 section 9.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/nexthop.h"
#include "src/base/addr.h"
#include "src/base/list.h"
#include "src/base/pool.h"
#include "src/base/tick.h"

struct rib;

/* EXTERNAL: what other programs of this host have us tell; such a path is never installed, since the host handles it. */
enum rib_source_kind { RIB_SOURCE_LOCAL, RIB_SOURCE_EXTERNAL, RIB_SOURCE_BGP };

/* What belongs to which refresh of one family, rib/refresh.h. */
struct rib_refresh {
	uint8_t round;  /* of what is announced now */
	uint8_t older;  /* how many earlier ones may still have paths */
	uint8_t keep;   /* and how many of these stay in the sweep that is under way */
	uint32_t at;    /* its progress; 0: none is under way */
};

/* A switch announces itself, a reflector hundreds of others: whose loss says nothing of these. */
enum { RIB_SOURCE_NEXT_HOPS = 4 };

/* Where paths come from: our own CIDRs, one program or kernel table beside us, or one life of a session (a session that
 * comes back is a new source, so that the old one's paths can go in their own time). */
struct rib_source {
	enum rib_source_kind kind;
	bool ibgp, client;     /* client: of ours as a route reflector, RFC 4456 */
	bool single_hop;       /* external over a link of ours: its next hops must be on such a link (RFC 4271 section 5.1.3) */
	uint32_t router_id;
	struct addr addr;      /* the peer's address */
	uint32_t ifindex;      /* the link to the peer, for next hops that are link-local; 0: not known */
	uint32_t vrf;          /* the VRF's device, where the session runs in one: its next hops are looked for there; 0: none */
	void *owner;           /* the user's; not touched */
	const char *name;      /* of an external one, for people; the user's */
	uint32_t at;           /* its position among all sources */
	uint32_t id;           /* unique in the table's life */
	uint32_t paths;        /* how many are in the table */
	uint32_t best;         /* and how many of them are the best of their prefix */
	uint32_t flush_at;     /* progress of rib_source_flush() */
	bool leaves;           /* rib_source_leaves() was called */
	struct {
		struct nexthop *nh; /* NULL: free */
		uint32_t paths;
	} next_hops[RIB_SOURCE_NEXT_HOPS]; /* of its paths; of a further one nothing is known */
	struct rib_refresh refresh[BGP_FAMILIES];
};

enum rib_path_flag {
	RIB_PATH_BEST = 1,
	RIB_PATH_USED = 2, /* best, or as good for forwarding (multipath) */
	RIB_PATH_ROUND = 12, /* the refresh that it was last said in, rib/refresh.h */
};

enum { RIB_PATH_ROUND_SHIFT = 2, RIB_SOURCE_BITS = 20 };

/* 20 bytes: there are millions. */
struct rib_path {
	uint32_t attrs_at;       /* rib_path_attrs(); 0: this slot is empty (only in an entry without paths) */
	uint32_t next;           /* position in the pool, 0: the last one; rib_path_next() follows it */
	uint32_t path_id;        /* the peer's identifier where it sends several paths (RFC 7911), else 0 */
	uint32_t since_s;        /* tick in seconds */
	uint32_t source_at : RIB_SOURCE_BITS; /* rib_path_source() */
	uint32_t flags : 4;
	uint32_t lost_by : 5;    /* index of the decision rule that ruled it out, see rib/decision.h */
	uint32_t metric : 3;     /* of its next hop when the decision was made, see nexthop_metric() */
};

extern struct pool rib_source_store; /* for rib_path_source() */

/* Of a path that is in an entry. */
static inline struct bgp_attrs *rib_path_attrs(const struct rib_path *p)
{
	return bgp_attrs_at(p->attrs_at);
}
static inline struct rib_source *rib_path_source(const struct rib_path *p)
{
	return pool_at(&rib_source_store, p->source_at);
}

enum rib_entry_flag {
	RIB_ENTRY_BEST_CHANGED = 1, /* since the slowest cursor passed */
	RIB_ENTRY_SOURCE_CHANGED = 2,
	RIB_ENTRY_LISTED = 4, /* it is in the journal */
	RIB_ENTRY_UNREAD = 8, /* rib_sweep() has not passed its last change, so someone may still have to read it */
	RIB_ENTRY_CURSOR = 16, /* a cursor may stand here */
	RIB_ENTRY_STOP = 32,   /* inside rib_sweep(): a cursor stands here */
	RIB_ENTRY_V4 = 64,
};

/* 40 bytes for IPv4, 44 or 52 for IPv6. */
struct rib_entry {
	struct rib_path path; /* the best one where there is one: rib_best() */
	uint32_t older, newer;
	uint32_t hash_next;   /* from here on is what a look-up asks for: mostly it is in one line of the cache */
	uint16_t path_count;
	uint8_t flags;
	uint8_t len;          /* of the prefix */
	uint8_t key[];        /* what of the prefix's address is not known from its family and len */
};

struct prefix rib_entry_prefix(const struct rib_entry *e);

/* multipath: how many equally good paths to a prefix are used, 1 and more. */
struct rib *rib_new(unsigned multipath);
void rib_free(struct rib *r);
/* From now on a path is eligible only while its next hop can be reached. The table is borrowed, and there must be no
 * path yet. Without it every next hop counts as reachable. */
void rib_track(struct rib *r, struct nexthop_table *nexthops);
/* Decides anew where an answer about a next hop changed, a few budget units at a time; true: there is more. */
bool rib_review(struct rib *r, unsigned budget);
/* The path's next hop; NULL where it is ours or nothing is tracked. */
const struct nexthop *rib_next_hop(const struct rib *r, const struct rib_path *p);

struct rib_source *rib_source_new(struct rib *r, const struct rib_source *like);
/* Withdraws some of the source's paths, a few budget units each; true when none is left. The source must
 * announce nothing any more. */
bool rib_source_flush(struct rib *r, struct rib_source *s, unsigned budget);
/* From now on the source's paths only go: what is reached through it alone is dead at once (nexthop_is_alive()), long before its
 * last path has gone. */
void rib_source_leaves(struct rib *r, struct rib_source *s);
void rib_source_free(struct rib_source *s); /* it must have no path */

/* These prefixes are about to be announced or withdrawn: where they are in a large table is fetched from memory at the same
 * time, which otherwise takes longer than everything that is done with them. It changes nothing. At most RIB_EXPECT_MAX. */
enum { RIB_EXPECT_MAX = 16 };
void rib_expect(const struct rib *r, const struct prefix *at, size_t n);

/* How many paths one source may have to one prefix: what a peer can make the decision cost stays bounded. */
enum { RIB_PATHS_PER_SOURCE = 64 };

/* The source's path path_id to prefix is now attrs (borrowed; a reference is taken) instead of what it was. False: it
 * has too many already, and nothing changed. */
bool rib_announce_path(struct rib *r, struct rib_source *s, const struct prefix *p, uint32_t path_id, struct bgp_attrs *attrs,
		       struct tick now);
/* The source has no such path any more. False: it had none. */
bool rib_withdraw_path(struct rib *r, struct rib_source *s, const struct prefix *p, uint32_t path_id);
/* The same for a source that has one path to a prefix at most. */
static inline void rib_announce(struct rib *r, struct rib_source *s, const struct prefix *p, struct bgp_attrs *attrs,
				struct tick now)
{
	rib_announce_path(r, s, p, 0, attrs, now);
}
static inline bool rib_withdraw(struct rib *r, struct rib_source *s, const struct prefix *p)
{
	return rib_withdraw_path(r, s, p, 0);
}
/* The source has no path to prefix at all any more. False: it had none. */
bool rib_withdraw_all(struct rib *r, struct rib_source *s, const struct prefix *p);

/* Someone reads (or reads no more) further paths than those that are best or used: then the journal tells of changes
 * to any path. Begin it before opening the cursor. */
void rib_read_further(struct rib *r, bool more);

/* NULL where the prefix has no path. */
struct rib_entry *rib_find(const struct rib *r, const struct prefix *p);
/* usable: only where a path is the best, which none is where no next hop can be reached. */
struct rib_entry *rib_find_longest(const struct rib *r, const struct addr *a, bool usable);
/* All entries by position 1..rib_entry_limit(); NULL where nothing (or a tombstone) is there. Positions
 * stay while the table changes, so a walk may pause. rib_entry_after() leaves many out where nothing is. */
struct rib_entry *rib_entry_at(const struct rib *r, uint32_t at);
uint32_t rib_entry_after(const struct rib *r, uint32_t at);
uint32_t rib_entry_limit(const struct rib *r);
size_t rib_prefix_count(const struct rib *r);
size_t rib_path_count(const struct rib *r);
/* The chosen path; NULL: there is none, or none that can be used. */
const struct rib_path *rib_best(const struct rib_entry *e);
/* A walk over the paths of e, the best one first: rib_path_first(), then rib_path_next() of each; NULL at the end. */
struct rib_path *rib_path_first(struct rib_entry *e);
struct rib_path *rib_path_next(const struct rib *r, const struct rib_path *p);
/* Of an entry that a cursor gave, for rib_entry_at() and rib/marks.h. */
uint32_t rib_entry_position(const struct rib *r, const struct rib_entry *e);

struct rib_cursor {
	struct list node;
	struct rib *rib;  /* NULL: not open */
	uint32_t at;      /* the entry to be read next; 0: all read */
};
/* Starts before the oldest change: the first read sees the whole table. */
void rib_cursor_open(struct rib *r, struct rib_cursor *c);
/* Starts behind the newest change. */
void rib_cursor_open_at_end(struct rib *r, struct rib_cursor *c);
/* Starts where other stands. */
void rib_cursor_open_at(struct rib_cursor *c, const struct rib_cursor *other);
void rib_cursor_close(struct rib_cursor *c);
/* The next changed entry (a tombstone has path_count 0), or NULL when all is read. */
struct rib_entry *rib_cursor_next(struct rib_cursor *c);
bool rib_cursor_at_end(const struct rib_cursor *c);
bool rib_cursor_same(const struct rib_cursor *a, const struct rib_cursor *b);
/* Follows the slowest cursor through the journal and frees the tombstones there. Call it after cursors moved; true: there is
 * more that every cursor has passed. */
bool rib_sweep(struct rib *r);
