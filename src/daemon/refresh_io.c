#include "src/daemon/refresh_io.h"

#include "bgp/message.h"
#include "rib/refresh.h"
#include "src/base/clock_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

enum { SWEEP_BUDGET = 20000 };

void refresh_begin(struct peer *p, enum bgp_family f)
{
	const struct bgp_open *o = &p->session.conn[bgp_session_slot(&p->session)].open;
	/* section 4.2: one that restarts gracefully has not told everything once before its End-of-RIB */
	if (!p->source || !p->families[f] || (o->restart.present && !p->end_of_rib_received[f]))
		return;
	rib_refresh_begin(p->source, f);
	p->refresh.until[f] = tick_after(clock_now(), REFRESH_WAIT_MS);
}

void refresh_end(struct peer *p, enum bgp_family f)
{
	if (!p->source || !tick_is_set(p->refresh.until[f])) /* no first mark: it says nothing */
		return;
	p->refresh.until[f] = (struct tick){0};
	rib_refresh_end(p->source, f);
	p->daemon->sweeping = true;
}

void refresh_check(struct peer *p, struct tick now)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		if (!p->source || !tick_due(p->refresh.until[f], now))
			continue;
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "did not end its refresh of %s in %d s: what it has not said again "
			   "is dropped", bgp_family_name((enum bgp_family)f), REFRESH_WAIT_MS / 1000);
		refresh_end(p, (enum bgp_family)f);
	}
}

bool refresh_work(struct daemon *d)
{
	bool more = false;
	if (!d->sweeping)
		return false;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		struct rib_source *s = p->source ? p->source : p->helper.kept;
		if (s)
			more |= !rib_refresh_sweep(d->rib, s, SWEEP_BUDGET);
	}
	d->sweeping = more;
	return more;
}

static void send_mark(struct peer *p, enum bgp_family f, enum bgp_refresh_subtype mark)
{
	struct block *b = block_new(64);
	b->len = (uint32_t)bgp_refresh_encode(b->data, b->cap, bgp_family_afi(f), mark, 1);
	p->count.messages_out++;
	peer_send(p, b, 0, b->len);
	block_unref(b);
}

void refresh_answer(struct peer *p, enum bgp_family f)
{
	/* what is under way tells everything anyway, and no mark may come before the End-of-RIB. One first mark is enough, however
	 * often a peer asks that does not read */
	if (p->session.enhanced && p->end_of_rib_sent && !p->refresh.answering[f]) {
		send_mark(p, f, BGP_REFRESH_BEGIN);
		p->refresh.answering[f] = true;
	}
	export_again(p);
}

void refresh_answered(struct peer *p)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		if (p->refresh.answering[f])
			send_mark(p, (enum bgp_family)f, BGP_REFRESH_END);
		p->refresh.answering[f] = false;
	}
}
