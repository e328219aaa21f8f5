#include "src/daemon/helper_io.h"

#include <string.h>

#include "rib/refresh.h"
#include "src/base/clock_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"

/* All paths of f go, or those of before the current round. */
static void drop_family(struct peer *p, struct rib_source *s, enum bgp_family f, bool all)
{
	if (all)
		rib_refresh_begin(s, f);
	rib_refresh_end(s, f);
	p->daemon->sweeping = true;
}

static bool same_speaker(const struct rib_source *a, const struct rib_source *b)
{
	return a->router_id == b->router_id && a->ibgp == b->ibgp && a->client == b->client && a->single_hop == b->single_hop &&
	       a->ifindex == b->ifindex && a->vrf == b->vrf && addr_eq(&a->addr, &b->addr);
}

/* The peer is back. Where it says that it did not forward meanwhile, nothing of before is worth keeping (section 4.2). */
static void resume(struct peer *p, const struct bgp_open *o)
{
	struct helper *h = &p->helper;
	p->source = h->kept;
	h->kept = NULL;
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		h->listening[f] = p->families[f] && o->restart.families[f] && o->restart.kept[f];
		if (!h->listening[f]) {
			drop_family(p, p->source, (enum bgp_family)f, true);
			continue;
		}
		rib_refresh_begin(p->source, (enum bgp_family)f);
		p->refresh.until[f] = tick_after(clock_now(), REFRESH_WAIT_MS);
	}
}

void helper_up(struct peer *p, const struct bgp_open *o, const struct rib_source *like)
{
	struct helper *h = &p->helper;
	memset(h->listening, 0, sizeof h->listening);
	if (h->kept && o->restart.present && same_speaker(h->kept, like))
		resume(p, o);
	else
		p->source = rib_source_new(p->daemon->rib, like);
	helper_give_up(p);
	h->time_s = o->restart.present ? o->restart.time_s : 0;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		h->families[f] = p->families[f] && o->restart.families[f];
}

void helper_end_of_rib(struct peer *p, enum bgp_family f)
{
	if (p->helper.listening[f])
		refresh_end(p, f);
	p->helper.listening[f] = false;
}

static bool may_help(const struct peer *p)
{
	const struct helper *h = &p->helper;
	bool any = false;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		any |= h->families[f];
	/* whoever says or is told why the session ends is not restarting */
	return h->wanted && h->time_s && any && !h->link_lost && p->session.last_error.kind == BGP_LAST_TCP;
}

bool helper_keep(struct peer *p)
{
	struct helper *h = &p->helper;
	if (!p->source || !may_help(p))
		return false;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (!h->families[f] || h->listening[f]) /* what is from the session before the last one waits no longer */
			drop_family(p, p->source, (enum bgp_family)f, !h->families[f]);
	unsigned wait_s = h->time_s < HELPER_WAIT_MAX_S ? h->time_s : HELPER_WAIT_MAX_S;
	h->kept = p->source;
	h->until = tick_after(clock_now(), wait_s * 1000);
	p->source = NULL;
	log_remote(&p->limit, LOG_LEVEL_INFO, p->subject, "it may be restarting: its routes stay for %u s", wait_s);
	return true;
}

void helper_give_up(struct peer *p)
{
	struct helper *h = &p->helper;
	if (!h->kept)
		return;
	h->kept->owner = NULL;
	daemon_bury_source(p->daemon, h->kept);
	h->kept = NULL;
}

void helper_set(struct peer *p, bool wanted)
{
	p->helper.wanted = wanted;
	if (!wanted)
		helper_give_up(p);
}

void helper_check(struct peer *p, struct tick now)
{
	if (!p->helper.kept || !tick_due(p->helper.until, now))
		return;
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "did not come back in time: its routes go");
	helper_give_up(p);
}
