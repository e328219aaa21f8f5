/* Routes of others: from configuration to what the watch on the kernel and the owners at the socket are asked. */
#include <stdlib.h>
#include <string.h>

#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"
#include "src/daemon/external_io.h"

enum { TABLE_MAIN = 254 };

/* One rule: these prefixes are accepted, with these communities. */
static struct rib_policy *policy_of(const struct conf_external *c)
{
	struct conf_rule rule = {.match.prefixes = c->prefixes, .set.add = c->community, .action = CONF_ACTION_ACCEPT};
	const struct conf_rules rules = {.name = c->name, .rules = &rule, .rule_count = 1};
	return policy_compile(&rules, 0);
}

static struct external_rules rules_of(const struct conf_external *c)
{
	return (struct external_rules){.name = strdup(c->name),
				       .socket = c->socket,
				       .table = c->table ? c->table : TABLE_MAIN,
				       .protocol = c->protocol,
				       .policy = policy_of(c)};
}

static bool has_same(const struct conf *c, const struct conf_external *e)
{
	for (size_t i = 0; c && i < c->external_count; i++)
		if (conf_external_same(&c->external[i], e))
			return true;
	return false;
}

/* How many entries only a has. */
static unsigned count_others(const struct conf *a, const struct conf *b)
{
	unsigned n = 0;
	for (size_t i = 0; a && i < a->external_count; i++)
		n += !has_same(b, &a->external[i]);
	return n;
}

unsigned apply_external(struct daemon *d, const struct conf *next)
{
	struct external_rules *rules = calloc(next->external_count + 1, sizeof *rules);
	unsigned added = count_others(next, d->conf), gone = count_others(d->conf, next);
	if (!rules)
		abort();
	for (size_t i = 0; i < next->external_count; i++) {
		rules[i] = rules_of(&next->external[i]);
		if (!rules[i].name)
			abort();
	}
	external_apply(d->external, rules, next->external_count);
	return added > gone ? added : gone; /* an entry that is different is in both */
}
