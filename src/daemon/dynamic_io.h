/* Dynamic neighbours: whoever calls from a prefix that the operator named becomes a peer, up to a limit, with the settings of
 * the range; a while after his last connection ended he is forgotten. We never call anybody ourselves. An address
 * that is configured, and a longer range, go before. The range's password is on the listening socket for the whole
 * prefix, before anybody can connect, and stays there whoever comes and goes.
 */
#pragma once
#include <stdbool.h>

#include "src/base/addr.h"
#include "src/base/list.h"
#include "src/base/log_io.h"
#include "src/base/tick.h"
#include "src/daemon/transport_io.h"

struct daemon;
struct peer;

/* How long a peer is kept without a connection, so that one can see why it has none: one that had a session, and one that
 * never got so far. */
enum { DYNAMIC_KEEP_MS = 60000, DYNAMIC_KEEP_NEW_MS = 10000 };

struct range {
	struct list node;            /* daemon.ranges */
	struct daemon *daemon;
	char *name, *subject;        /* subject: "range NAME", for the log */
	struct prefix prefix;
	unsigned count, limit;       /* peers it has, and may have */
	struct transport transport;  /* what its peers get */
	struct log_limit log_limit;
};

struct range *range_new(struct daemon *d, const char *name, const struct prefix *prefix, unsigned limit,
			const struct transport_options *way);
/* Its peers must have gone. */
void range_free(struct range *r);

/* The longest range on device that holds a, or NULL. */
struct range *range_find(struct daemon *d, const struct addr *a, const char *device);
/* A new peer for who calls from there, or NULL: the range takes no more; the log says so. */
struct peer *range_admit(struct range *r, const struct addr *from);
/* Forgets the peers that have been without a connection for long. To be called every second or so. */
void ranges_expire(struct daemon *d, struct tick now);
