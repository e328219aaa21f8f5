#include "src/daemon/dynamic_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"

struct range *range_new(struct daemon *d, const char *name, const struct prefix *prefix, unsigned limit,
			const struct transport_options *way)
{
	struct range *r = calloc(1, sizeof *r);
	if (!r || asprintf(&r->subject, "range %s", name) < 0)
		abort();
	r->daemon = d;
	r->name = r->subject + strlen("range ");
	r->prefix = *prefix;
	r->limit = limit;
	transport_set(&r->transport, way);
	list_append(&d->ranges, &r->node);
	return r;
}

void range_free(struct range *r)
{
	list_remove(&r->node);
	transport_clear(&r->transport);
	free(r->subject);
	free(r);
}

struct range *range_find(struct daemon *d, const struct addr *a, const char *device)
{
	struct range *longest = NULL;
	if (addr_is_link_local(a) && !addr_is_v4(a)) /* on each link it is somebody else */
		return NULL;
	list_each(n, tmp, &d->ranges) {
		struct range *r = container_of(n, struct range, node);
		if (strcmp(r->transport.device, device) == 0 && prefix_has_addr(&r->prefix, a) &&
		    (!longest || r->prefix.len > longest->prefix.len))
			longest = r;
	}
	return longest;
}

struct peer *range_admit(struct range *r, const struct addr *from)
{
	char text[ADDR_TEXT_MAX];
	addr_format(from, text);
	if (r->transport.listener_failed) /* half protected is not protected */
		log_remote(&r->log_limit, LOG_LEVEL_WARN, r->subject, "connection from %s turned away: %s", text, r->transport.fault);
	else if (r->count >= r->limit)
		log_remote(&r->log_limit, LOG_LEVEL_WARN, r->subject, "connection from %s turned away: %u peers are there already "
			   "(range-limit)", text, r->count);
	else
		return apply_range_peer(r->daemon, r, from);
	return NULL;
}

static bool is_over(const struct peer *p, struct tick now)
{
	const struct bgp_session *s = &p->session;
	int64_t keep = s->established_count ? DYNAMIC_KEEP_MS : DYNAMIC_KEEP_NEW_MS;
	bool connected = s->conn[BGP_IN].state != BGP_IDLE || s->conn[BGP_OUT].state != BGP_IDLE;
	bool expected = p->helper.kept != NULL; /* it restarts, and its routes are kept for it */
	bool kept_out = *p->stopped || (tick_is_set(s->rest_until) && !tick_due(s->rest_until, now));
	return !connected && !kept_out && !expected && tick_since_ms(s->changed_at, now) >= keep;
}

void ranges_expire(struct daemon *d, struct tick now)
{
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (!p->range || !is_over(p, now))
			continue;
		log_remote(&p->range->log_limit, LOG_LEVEL_INFO, p->subject, "gone");
		peer_free(p, 0);
	}
}
