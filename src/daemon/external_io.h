/* Routes of other programs on this host that our peers are told as our own: handed over through the control socket
 * (external.h) or read in the kernel (external_kernel_io.h). This is what joins the two with the configuration, the RIB
 * and the disk.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rib/rules.h"
#include "src/daemon/external.h"

struct daemon;
struct external;

/* An entry of the configuration: which routes, and the one rule that says what becomes of them. */
struct external_rules {
	char *name;              /* owned, as the policy */
	bool socket;             /* an owner's; otherwise the kernel's of */
	uint32_t table;
	uint8_t protocol;        /* 0: any but ours */
	struct rib_policy *policy;
};
void external_rules_free(struct external_rules *at, size_t count);

/* Reads what has been handed over in a former life from the directory. protocol: of our own kernel routes. */
struct external *external_new(struct daemon *d, const char *state_dir, uint8_t protocol);
/* Tells nobody anything; the RIB must be gone. NULL is fine. */
void external_free(struct external *x);
/* From now on these entries hold (taken over), and the own CIDRs that d->imports has now. */
void external_apply(struct external *x, struct external_rules *rules, size_t count);
/* The entry of this name, or NULL. */
const struct external_rules *external_rules_find(const struct external *x, const char *name, bool socket);

/* Some of the work; true: more is left that could be done now. */
bool external_work(struct external *x);
/* What the kernel had at the start is in the RIB: End-of-RIB may be said. */
bool external_settled(const struct external *x);

enum { EXTERNAL_OWNERS_MAX = 256, EXTERNAL_ROUTES_MAX = 10000, EXTERNAL_HOLDERS_MAX = 32 };

/* Who hands over what. connection: the routes go when it ends; 0: they stay. */
struct external_hand {
	const char *owner, *who;  /* who: asks, for the log */
	uint64_t connection;
	const struct external_change *change;
};
/* All of the prefixes or none. False: error and hint (static or in the text's room) say why. */
struct external_error {
	char text[256];
	const char *hint;
};
bool external_hand_over(struct external *x, const struct external_hand *h, struct external_error *e);
bool external_take_back(struct external *x, const struct external_hand *h, struct external_error *e);

/* Does anyone hold routes by this connection? */
bool external_is_held(const struct external *x, uint64_t connection);
void external_connection_closed(struct external *x, uint64_t connection);

/* For commands. */
struct external_counts {
	size_t owners, routes; /* that were handed over */
	size_t kept_back;      /* of these: not told, as the rules are now */
	size_t kernel;         /* read there */
};
struct external_counts external_count(const struct external *x);
const struct list *external_owners(const struct external *x);
struct external_kernel *external_kernel_of(const struct external *x);
/* Why the owner's route is not told, in a few words; NULL: it is. */
const char *external_why_not(const struct external *x, const struct external_owner *o, const struct external_route *r);
