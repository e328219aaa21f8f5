/* Update groups: peers that are told the same in the same words share one cursor on the RIB's journal, and what is
 * encoded for one is written to all. A member that does not take its bytes is set aside as a laggard with a cursor
 * of its own, so it costs the others nothing and itself no memory; when it has caught up it joins again. A new
 * member begins as a laggard at the head of the journal, which is the whole table.
 *
 * Adj-RIB-Out is a set of RIB entries per group, a bit for each: "some member was told". RFC 4271 section 9.2.
 *
 * A peer that gets several paths to a prefix (RFC 7911) is a group of its own, since which they are depends on what it
 * brought itself. The identifiers are places: 1 is the best path, 2 the next one. So the bit is enough: what a
 * place holds now replaces what it held, and places that are empty now are withdrawn.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/marks.h"
#include "rib/policy.h"
#include "rib/table.h"
#include "src/base/list.h"

struct daemon;
struct peer;

struct group {
	struct list node;
	struct list members, laggards; /* struct peer.member */
	struct bgp_export words;       /* with audience, policy and families what makes a group */
	enum rib_audience to;
	bool families[BGP_FAMILIES], extended; /* extended: messages above 4096 bytes are understood */
	uint32_t max_advertised;       /* 0: any number */
	bool keeps_back;               /* routes that are for customers only (RFC 9234) */
	enum rib_export policy;
	const struct rib_policy *rules; /* where policy is written; borrowed from daemon.policies */
	const struct peer *alone;      /* the only one in it; NULL: whoever gets the same words */
	uint8_t paths[BGP_FAMILIES];   /* how many to a prefix, with identifiers; 0: one, without */
	struct rib_cursor cursor;      /* open while there are members */
	size_t peers;                  /* members and laggards */
	struct tick ready_at;          /* its pause ends: see export.c */
	struct rib_marks told;         /* Adj-RIB-Out: the entries that some member was told of */
};

void export_join(struct peer *p);  /* it is Established */
void export_leave(struct peer *p);
/* Tells the peer everything again (RFC 2918). */
void export_again(struct peer *p);
/* Its export policy is another one now: tells what that lets out and takes back what it does not. */
void export_policy_changed(struct peer *p);
/* Some of the work; true: more is left that could be done now. Sets daemon.export_at. */
bool export_work(struct daemon *d, struct tick now);
/* Was the peer told of e, and not because it is from there? */
bool export_told(const struct peer *p, const struct rib_entry *e);
/* How many prefixes the peer was told and still has. Where policies are written, how many of them are its own, which it is not
 * told, is known since export_count_own() only: one look at the whole table for all peers. */
void export_count_own(struct daemon *d);
size_t export_advertised(const struct peer *p);
