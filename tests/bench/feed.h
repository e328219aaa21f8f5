/* What feeders of the benchmarks say: whole UPDATE messages, made before anything is measured. The same parameters
 * give the same bytes. Two mixes:
 *
 *   full  an internet table: 5 prefixes a set of attributes, paths of 2 to 6 AS numbers, MED, communities
 *   pods  what nodes announce through their switch: a set a node with its two CIDRs, short paths
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/open.h"
#include "src/base/addr.h"

struct feed_mix {
	const char *name;
	unsigned prefixes_a_set, path_max, communities_max;
	bool med;
};
enum { FEED_MIXES = 2, FEED_PREFIXES_A_SET_MAX = 5 };
extern const struct feed_mix feed_mixes[FEED_MIXES];
const struct feed_mix *feed_mix_find(const char *name); /* NULL for another one */

struct feed_params {
	const struct feed_mix *mix;
	enum bgp_family family;
	size_t prefixes;
	uint32_t asn;          /* the feeder's: the first of each path */
	struct addr next_hop;
	uint64_t seed;
};

struct feed {
	uint8_t *bytes; /* owned: free(); whole messages, one behind the other; NULL: out of memory */
	size_t len, prefixes, updates;
};

struct feed feed_make(const struct feed_params *p);
struct feed feed_make_withdrawals(const struct feed_params *p);
/* One UPDATE with one prefix, whose path tells version apart. Its length. */
size_t feed_make_one(const struct feed_params *p, uint32_t number, uint32_t version, uint8_t *out, size_t cap);

/* The number-th prefix: a /24 or a /48, no two alike; and back. */
struct prefix feed_prefix(enum bgp_family family, uint32_t number);
uint32_t feed_number(const struct prefix *p);
