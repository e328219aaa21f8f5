#include "src/daemon/refilter_io.h"

#include "rib/policy.h"
#include "rib/table.h"
#include "src/daemon/daemon.h"
#include "src/daemon/limits_io.h"
#include "src/daemon/peer_io.h"

static bool keeps(const struct daemon *d, const struct peer *peer, const struct prefix *prefix, const struct rib_path *p)
{
	bool discarded = !bgp_attrs_has_next_hop(rib_path_attrs(p));
	return rib_import_keeps(peer->import, peer->import_rules, &d->imports, prefix) &&
	       (!discarded || rib_import_may_discard(&d->imports, prefix));
}

/* The first of its paths that is refused now; NULL: none. */
static struct rib_path *find_refused(const struct daemon *d, struct rib_entry *e, const struct prefix *prefix)
{
	struct rib_path *p = rib_path_first(e);
	while (p && (!rib_path_source(p)->owner || keeps(d, rib_path_source(p)->owner, prefix, p)))
		p = rib_path_next(d->rib, p);
	return p;
}

/* What it costs, in units of the budget. */
static unsigned refilter_entry(struct daemon *d, struct rib_entry *e)
{
	enum { LOOK_COST = 1, WITHDRAW_COST = 10 };
	unsigned cost = LOOK_COST;
	uint32_t at = d->refilter_at;
	for (struct rib_path *p; e; e = rib_entry_at(d->rib, at), cost += WITHDRAW_COST) {
		const struct prefix prefix = rib_entry_prefix(e);
		p = find_refused(d, e, &prefix);
		if (!p)
			break;
		rib_withdraw_all(d->rib, rib_path_source(p), &prefix);
	}
	return cost;
}

static void end(struct daemon *d)
{
	d->refilter_at = 0;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		limits_received(p); /* the limit may be lower now */
		if (p->ask_refresh)
			peer_ask_refresh(p);
		p->ask_refresh = false;
	}
}

void refilter_begin(struct daemon *d)
{
	d->refilter_at = 1;
}

bool refilter_work(struct daemon *d)
{
	enum { BUDGET = 4000 };
	for (unsigned spent = 0; d->refilter_at && spent < BUDGET; d->refilter_at++) {
		if (d->refilter_at > rib_entry_limit(d->rib)) {
			end(d);
			return false;
		}
		spent += refilter_entry(d, rib_entry_at(d->rib, d->refilter_at));
	}
	return d->refilter_at != 0;
}
