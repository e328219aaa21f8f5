#include "src/daemon/host_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ipam/lease.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/base/sysctl_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"

enum {
	EVERY_S = 180,
	SAID_MAX = 32,
	REFUSED_MS = 600000, /* a full neighbour table is told of for so long */
};

struct said {
	char setting[HOST_SETTING_MAX];
	bool still; /* wrong in this look as well */
};

struct host_watch {
	struct daemon *daemon;
	ev_timer every;
	struct host_link links[HOST_LINKS_MAX];
	size_t link_count;
	struct {
		bool read;
		uint64_t refused;
		struct tick refused_at;
	} neighbours[HOST_FAMILIES];
	struct said said[SAID_MAX]; /* what is wrong, and logged */
	size_t said_count;
};

/* --- the facts */

static struct host_link *link_named(struct host_watch *w, const char *name)
{
	for (size_t i = 0; i < w->link_count; i++)
		if (strcmp(w->links[i].name, name) == 0)
			return &w->links[i];
	if (w->link_count == HOST_LINKS_MAX)
		return NULL;
	struct host_link *l = &w->links[w->link_count++];
	*l = (struct host_link){.uplink = false};
	snprintf(l->name, sizeof l->name, "%s", name);
	return l;
}

static struct host_link *link_numbered(struct host_watch *w, uint32_t ifindex)
{
	char name[IF_NAMESIZE];
	return ifindex && if_indextoname(ifindex, name) ? link_named(w, name) : NULL;
}

static void add_uplink(struct host_watch *w, struct netlink_socket *s, const struct peer *p)
{
	uint32_t vrf = next_hops_vrf(w->daemon->next_hops, p->transport.device);
	struct host_link *l = p->link.interface ? if_nametoindex(p->link.interface) ? link_named(w, p->link.interface) : NULL
			      : link_numbered(w, p->ifindex ? p->ifindex : kernel_ask_link_towards(s, &p->address, vrf));
	if (!l)
		return;
	l->uplink = true;
	l->unnumbered |= p->link.unnumbered;
}

static void on_default_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct route r;
	bool deleted;
	(void)text;
	if (error || netlink_route_decode(h, &r, &deleted) != 0 || r.prefix.len != 0)
		return;
	for (unsigned i = 0; i < r.nexthop_count; i++) {
		struct host_link *l = link_numbered(arg, r.nexthops[i].ifindex);
		if (l)
			l->ra_default = true;
	}
}

static void learn_links(struct host_watch *w)
{
	struct netlink_socket *s;
	uint64_t buf[64];
	w->link_count = 0;
	if (netlink_socket_open(&s, 0))
		return;
	list_each(n, tmp, &w->daemon->peers)
		add_uplink(w, s, container_of(n, struct peer, node));
	if (netlink_route_dump_request(buf, sizeof buf, 1, AF_INET6, RT_TABLE_MAIN, RTPROT_RA))
		netlink_dump(s, buf, on_default_route, w);
	netlink_socket_close(s);
}

/* A line of hexadecimal numbers a processor; "entries" is the first and the same in each, "table_fulls" the last. */
static void learn_neighbours(struct host_watch *w, enum host_family family, size_t pods, struct host_neighbours *out)
{
	static const char *const paths[HOST_FAMILIES] = {"/proc/net/stat/arp_cache", "/proc/net/stat/ndisc_cache"};
	char line[512];
	uint64_t entries = 0, refused = 0;
	FILE *f = fopen(paths[family], "re");
	if (!f)
		return;
	if (fgets(line, sizeof line, f)) /* the names */
		while (fgets(line, sizeof line, f)) {
			const char *last = strrchr(line, ' ');
			entries = strtoull(line, NULL, 16);
			refused += last ? strtoull(last, NULL, 16) : 0;
		}
	fclose(f);
	if (w->neighbours[family].read && refused > w->neighbours[family].refused)
		w->neighbours[family].refused_at = clock_now();
	w->neighbours[family].read = true;
	w->neighbours[family].refused = refused;
	struct tick at = w->neighbours[family].refused_at;
	out->entries = entries > pods ? entries - pods : 0; /* those of pods are permanent and take nobody's place */
	out->refused = tick_is_set(at) && tick_since_ms(at, clock_now()) < REFUSED_MS;
}

/* --- what is ours */

struct pod_links {
	unsigned count, changed;
	int error;
};

static int settle_pod(void *arg, const struct ipam_lease *l)
{
	struct pod_links *p = arg;
	int done = sysctl_settle_pod_link(l->host_ifname);
	p->count++;
	if (done < 0)
		p->error = done;
	else
		p->changed += (unsigned)done;
	return 0;
}

static void emit_pods(const struct pod_links *p, void (*emit)(void *arg, const struct host_row *row), void *arg)
{
	struct host_row row = {.check = "pods' links",
			       .setting = "net.ipv4.conf.ul*.forwarding, net.ipv6.conf.ul*.accept_ra",
			       .wanted = "1, 0"};
	if (p->error) {
		row.verdict = HOST_WRONG;
		snprintf(row.what, sizeof row.what, "they cannot be set: %s%s", err_text(p->error),
			 p->error == -EROFS || p->error == -EACCES ? " (/proc/sys is read-only in this container: it needs the "
								     "host's, or these lines in the host's sysctl.d, with "
								     "net.ipv4.conf.default and net.ipv6.conf.default)" : "");
	}
	snprintf(row.value, sizeof row.value, "%u links, set by us", p->count);
	emit(arg, &row);
}

/* --- looking */

static bool read_setting(void *arg, const char *path, long *out)
{
	(void)arg;
	return sysctl_read(path, out);
}

void host_watch_each(struct host_watch *w, void (*emit)(void *arg, const struct host_row *row), void *arg)
{
	struct pod_links pods = {.count = 0};
	struct host_facts facts = {.peers = 0};
	const struct rib_import_context *c = &w->daemon->imports;
	for (size_t i = 0; i < c->own_count; i++)
		facts.pods[prefix_is_v4(&c->own[i]) ? HOST_IPV4 : HOST_IPV6] = true;
	list_each(n, tmp, &w->daemon->peers)
		facts.peers++;
	learn_links(w);
	facts.links = w->links;
	facts.link_count = w->link_count;
	pods_each(w->daemon, settle_pod, &pods);
	learn_neighbours(w, HOST_IPV4, pods.count, &facts.neighbours[HOST_IPV4]);
	learn_neighbours(w, HOST_IPV6, pods.count, &facts.neighbours[HOST_IPV6]);
	host_judge(&facts, read_setting, NULL, emit, arg);
	if (pods.count)
		emit_pods(&pods, emit, arg);
	if (pods.changed)
		log_info("host", "%u settings of pods' links were put right", pods.changed);
}

static struct said *find_said(struct host_watch *w, const char *setting)
{
	for (size_t i = 0; i < w->said_count; i++)
		if (strcmp(w->said[i].setting, setting) == 0)
			return &w->said[i];
	return NULL;
}

static void log_row(void *arg, const struct host_row *row)
{
	struct host_watch *w = arg;
	struct said *s = find_said(w, row->setting);
	if (row->verdict != HOST_WRONG)
		return;
	if (s) {
		s->still = true;
		return;
	}
	if (w->said_count == SAID_MAX)
		return; /* underlayc show host has them all */
	s = &w->said[w->said_count++];
	snprintf(s->setting, sizeof s->setting, "%s", row->setting);
	s->still = true;
	log_warn("host", "%s", row->what);
}

void host_watch_look(struct host_watch *w)
{
	for (size_t i = 0; i < w->said_count; i++)
		w->said[i].still = false;
	host_watch_each(w, log_row, w);
	for (size_t i = 0; i < w->said_count; i++) {
		if (w->said[i].still)
			continue;
		log_info("host", "%s is no longer wrong", w->said[i].setting);
		w->said[i--] = w->said[--w->said_count];
	}
}

static void on_every(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	host_watch_look(t->data);
}

struct host_watch *host_watch_new(struct daemon *d)
{
	struct host_watch *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	ev_timer_init(&w->every, on_every, EVERY_S, EVERY_S);
	w->every.data = w;
	ev_timer_start(d->loop, &w->every);
	return w;
}

void host_watch_free(struct host_watch *w)
{
	if (!w)
		return;
	ev_timer_stop(w->daemon->loop, &w->every);
	free(w);
}
