/* A batch of changes that were read in the journal, on its way to one update group or to one peer: grouped by what is said
 * in the same words, encoded once, written to everyone. What a member is the source of it does not hear.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rib/policy.h"
#include "rib/rank.h"
#include "rib/table.h"
#include "src/daemon/outq.h"

struct daemon;
struct group;
struct peer;

struct item {
	struct bgp_attrs *attrs;  /* NULL: withdrawn */
	struct bgp_attrs *made;   /* attrs where the policy made them: a reference, until they are encoded */
	struct peer *from;        /* it is not told of its own route */
	struct prefix prefix;
	uint16_t next;            /* of the same words, while the batch is encoded */
	uint32_t path_id;         /* where the group is told several paths to a prefix */
	bool med_set, next_hop_set; /* by the policy */
	uint32_t originator;      /* reflected: the router ID of who told us; 0: it is not */
	bool from_had_other;      /* but what it was told before, by others, is withdrawn from it */
};

/* A batch is full with BATCH items; the entry that fills it may become so many. */
enum { BATCH = 1024, BATCH_PATHS = 16, BATCH_ITEMS = BATCH + BATCH_PATHS, BATCH_SKIPS = 256 };

/* What of a block a member does not get, since the routes are from it. */
struct batch_skip {
	struct peer *peer;
	uint32_t from, to, updates;
};

/* Where messages go: a block that is being filled, and for whom. */
struct outlet {
	struct group *group;
	struct peer *only;        /* NULL: all members */
	struct block *block;
	uint32_t updates;         /* in it */
	unsigned skip_count;
	struct batch_skip skips[BATCH_SKIPS]; /* a member's place is peer.skip - 1 */
};

struct batch {
	struct daemon *daemon;
	struct group *group;
	struct peer *only;        /* NULL: all members */
	uint32_t at;              /* position of the RIB's entry at hand */
	struct item items[BATCH_ITEMS];
	size_t count, attr_bytes; /* as if each item had an UPDATE of its own */
	struct outlet out;
	struct rib_policy_cache cache;
	struct rib_ranking ranking;
};

/* Encodes and sends all items; the batch is empty then. */
void batch_encode(struct batch *b);
