/* Sessions that the benchmarks' loads play over real TCP: nodes of a network whose daemon is measured. The daemon waits
 * for them (passive sessions). All of them live in one epoll loop; what comes is handed over message by message.
 *
 * A fault of any kind ends the program with a sentence: a load that went on would measure something else.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/message.h"
#include "bgp/open.h"
#include "src/base/addr.h"
#include "src/base/cursor.h"

struct player {
	int fd;               /* -1: it is away */
	unsigned number;      /* its address is the daemon's and so many more */
	uint32_t asn;
	bool connected, established;
	bool slow;            /* once established it reads PLAYER_SLOW_BYTES a second */
	uint8_t *partial;     /* of the next message */
	size_t partial_len;
	const uint8_t *out;   /* what is to be written; borrowed */
	size_t out_len;
	uint64_t again_at_ns; /* it calls again then; 0: it does not wait for that */
};

enum { PLAYER_SLOW_BYTES = 1024 };

struct players {
	struct addr daemon;
	uint16_t port;
	enum bgp_family family;
	size_t count;
	struct player *at;    /* owned */
	void (*on_established)(struct player *p);
	void (*on_update)(struct player *p, const struct bgp_frame *f, uint64_t now_ns);
	int epoll;
	uint64_t keepalive_at_ns, slow_at_ns;
	size_t established, waiting;
	size_t calls;         /* how many may wait for the daemon's OPEN at a time; 0: all */
	size_t called, to_call, answered;
	bool slow_ones;
};

void players_init(struct players *all, size_t count);
/* Calls the daemon, again and again until it answers. */
void player_start(struct players *all, struct player *p);
/* All of them, in order. */
void players_start(struct players *all);
void player_stop(struct players *all, struct player *p);
/* From now on, for one that is established. */
void player_slow_down(struct players *all, struct player *p);
/* One turn over all sockets. */
void players_turn(struct players *all, int wait_ms);
/* Writes all of it now. */
void player_write(struct player *p, const uint8_t *bytes, size_t len);
/* Writes while the loop turns; the bytes must stay. */
void player_feed(struct players *all, struct player *p, const uint8_t *bytes, size_t len);
struct addr player_address(const struct players *all, unsigned number);

/* The prefixes of an UPDATE, by what is said of them; attributes (may be NULL) gets the others' bytes. */
void player_walk(enum bgp_family family, const struct bgp_frame *f,
		 void (*say)(void *arg, const struct prefix *p, bool announced), void *arg, struct cursor *attributes);

uint64_t now_ns(void);
double seconds(uint64_t from, uint64_t to);
_Noreturn void fail(const char *what);
void *made(size_t count, size_t size); /* zeroed */
/* A line on standard output: the event's name and what belongs to it. */
void event(const char *name, double value);
void event_percentiles(const char *name, float *ms, size_t n); /* p50, p99, the greatest, how many; sorts them */
/* Seconds of processor that this program took, as an event: to tell when the load is the limit. */
void event_load(void);
