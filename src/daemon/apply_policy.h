/* The written policies that run. daemon.policies owns them; peers and update groups borrow. One whose text did not
 * change stays the same object over a reload, so "changed" is a comparison of pointers.
 */
#pragma once
#include <stddef.h>

#include "rib/rules.h"

struct conf;
struct conf_rules;
struct daemon;

struct policies {
	struct rib_policy **at;
	size_t count;
};

struct rib_policy *policy_compile(const struct conf_rules *c, uint32_t own_asn);
/* Those of next; the ones that d runs already are taken over, so d->policies and the new set share them. */
struct policies policies_make(const struct daemon *d, const struct conf *next);
/* Frees what is not in kept (NULL: everything). Nothing may use it any more. */
void policies_free(struct policies *old, const struct policies *kept);
/* NULL where none is called name (NULL is fine). */
struct rib_policy *policies_find(const struct policies *p, const char *name);
