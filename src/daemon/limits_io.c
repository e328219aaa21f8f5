#include "src/daemon/limits_io.h"

#include <stdio.h>

#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

const char *limits_action_name(enum limits_action a)
{
	static const char *const names[] = {[LIMITS_RESTART] = "restart", [LIMITS_WARN] = "warn", [LIMITS_STOP] = "stop"};
	return names[a];
}

void limits_clear(struct limits *l)
{
	l->near = l->above = l->stopped = false;
}

static bool is_near(uint64_t n, uint32_t limit)
{
	return n * 5 >= (uint64_t)limit * 4;
}

/* Once on the way up and once on the way down. */
static void say_crossings(struct peer *p, uint32_t n, bool near, bool above)
{
	struct limits *l = &p->limits;
	if (above && !l->above)
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "%u prefixes, more than max-prefixes: %u", n, l->received);
	else if (near && !l->near)
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "%u prefixes, four fifths and more of max-prefixes: %u", n,
			   l->received);
	else if (!near && l->near)
		log_remote(&p->limit, LOG_LEVEL_INFO, p->subject, "%u prefixes, less than four fifths of max-prefixes: %u again", n,
			   l->received);
	else if (!above && l->above)
		log_remote(&p->limit, LOG_LEVEL_INFO, p->subject, "%u prefixes, within max-prefixes: %u again", n, l->received);
	l->near = near;
	l->above = above;
}

static void stop_for(struct peer *p, const char *what, uint32_t limit)
{
	snprintf(p->stopped, sizeof p->stopped, "stopped: more prefixes than %s: %u allows (mend it, then underlayc peer %.64s start)",
		 what, limit, p->name);
	p->limits.stopped = true;
}

bool limits_received(struct peer *p)
{
	struct limits *l = &p->limits;
	struct bgp_fault f = {0};
	if (!l->received || !p->source || p->daemon->refilter_at) /* what is refused now is still to go */
		return true;
	uint32_t n = p->source->paths;
	bool above = n > l->received;
	say_crossings(p, n, is_near(n, l->received), above);
	if (!above || l->action == LIMITS_WARN)
		return true;
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_MAX_PREFIXES, "more prefixes than max-prefixes allows", NULL, 0);
	peer_end_session(p, &f, l->action == LIMITS_STOP ? BGP_AFTER_STOP : BGP_AFTER_REST);
	if (l->action == LIMITS_STOP)
		stop_for(p, "max-prefixes", l->received);
	return false;
}

/* The other side did nothing wrong, so it is told in words. */
static void end_told_too_much(struct peer *p)
{
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_SHUTDOWN, "more prefixes to tell than max-advertised allows", NULL, 0);
	bgp_fault_set_shutdown_text(&f, f.text);
	peer_end_session(p, &f, BGP_AFTER_STOP);
	stop_for(p, "max-advertised", p->limits.advertised);
}

void limits_advertised(struct daemon *d)
{
	if (!d->told_too_much)
		return;
	d->told_too_much = false;
	export_count_own(d);
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (p->limits.advertised && p->group && export_advertised(p) > p->limits.advertised)
			end_told_too_much(p);
	}
}

const char *limits_note(const struct peer *p)
{
	return p->limits.above ? "more prefixes than max-prefixes" : p->limits.near ? "near max-prefixes" : "";
}
