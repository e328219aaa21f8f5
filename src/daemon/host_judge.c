#include "src/daemon/host_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MAX_HERE = 96 };

struct judge {
	const struct host_facts *facts;
	host_read_fn *read;
	void *read_arg;
	void (*emit)(void *arg, const struct host_row *row);
	void *emit_arg;
};

/* A row of the table. judge gets what stands in the file of the row's path and fills in the verdict; where the file is not
 * there, absent does, or the row is left out. */
struct check {
	const char *name, *path;             /* %s: a link's name */
	enum host_family family;
	bool (*concerns)(const struct host_facts *f, const struct host_link *l, enum host_family family);
	bool of_links;                       /* a row for each link, else l is NULL */
	const char *wanted;
	void (*judge)(const struct judge *j, const struct check *c, const struct host_link *l, long value, struct host_row *row);
	enum host_verdict absent;            /* HOST_FINE: no row */
	const char *absent_text;
};

static const char *const family_names[HOST_FAMILIES] = {"IPv4", "IPv6"};
static const char *const family_dirs[HOST_FAMILIES] = {"ipv4", "ipv6"};

/* sysctl(8) separates by dots, and writes a dot of a name (eth0.100) as a slash. */
static const char *setting_name(const char *path, char out[HOST_SETTING_MAX])
{
	size_t i = 0;
	for (; path[i] && i + 1 < HOST_SETTING_MAX; i++)
		out[i] = path[i] == '/' ? '.' : path[i] == '.' ? '/' : path[i];
	out[i] = '\0';
	return out;
}

static void path_of(const struct check *c, const struct host_link *l, char out[PATH_MAX_HERE])
{
	const char *at = strstr(c->path, "%s");
	if (at)
		snprintf(out, PATH_MAX_HERE, "%.*s%s%s", (int)(at - c->path), c->path, l ? l->name : "all", at + 2);
	else
		snprintf(out, PATH_MAX_HERE, "%s", c->path);
}

static void say(struct host_row *row, enum host_verdict verdict, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(struct host_row *row, enum host_verdict verdict, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(row->what, sizeof row->what, fmt, ap);
	va_end(ap);
	row->verdict = verdict;
}

static long read_or(const struct judge *j, const char *path, long otherwise)
{
	long value;
	return j->read(j->read_arg, path, &value) ? value : otherwise;
}

static size_t uplinks(const struct host_facts *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->link_count; i++)
		n += f->links[i].uplink;
	return n;
}

/* --- which nodes a check is for */

static bool has_pods(const struct host_facts *f, const struct host_link *l, enum host_family family)
{
	return f->pods[family] && (!l || l->uplink);
}

static bool is_unnumbered(const struct host_facts *f, const struct host_link *l, enum host_family family)
{
	(void)f;
	(void)family;
	return l->unnumbered;
}

static bool has_router(const struct host_facts *f, const struct host_link *l, enum host_family family)
{
	return f->pods[family] && l->ra_default;
}

static bool has_several_uplinks(const struct host_facts *f, const struct host_link *l, enum host_family family)
{
	return f->pods[family] && uplinks(f) > 1 && (!l || l->uplink);
}

static bool always(const struct host_facts *f, const struct host_link *l, enum host_family family)
{
	(void)l;
	return f->pods[family] || f->peers;
}

/* --- the verdicts */

/* The lines that must come before IPv6 forwarding is switched on, or the default route is gone that moment. */
static void accept_ra_first(const struct judge *j, char *out, size_t cap)
{
	char path[PATH_MAX_HERE], name[HOST_SETTING_MAX];
	size_t len = 0;
	out[0] = '\0';
	for (size_t i = 0; i < j->facts->link_count; i++) {
		const struct host_link *l = &j->facts->links[i];
		snprintf(path, sizeof path, "net/ipv6/conf/%s/accept_ra", l->name);
		if (l->ra_default && read_or(j, path, 0) == 1 && len < cap)
			len += (size_t)snprintf(out + len, cap - len, "%s=2 ", setting_name(path, name));
	}
}

static void judge_forwarding(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			     struct host_row *row)
{
	char first[HOST_WHAT_MAX / 2] = "";
	(void)l;
	if (value)
		return;
	if (c->family == HOST_IPV6)
		accept_ra_first(j, first, sizeof first);
	say(row, HOST_WRONG, "this host does not forward %s, so pods reach nobody%s: sysctl -w %s%s=1", family_names[c->family],
	    *first ? " (in this order, or the default route from router advertisements goes)" : "", first, row->setting);
}

static void judge_link_forwarding(const struct judge *j, const struct check *c, const struct host_link *l, long value,
				  struct host_row *row)
{
	if (!value && read_or(j, "net/ipv4/ip_forward", 0))
		say(row, HOST_WRONG, "what comes in over %s is not forwarded, so pods are not reached over it: sysctl -w %s=1",
		    l->name, row->setting);
	else if (!value) /* the row above says what to do */
		say(row, HOST_FINE, "becomes 1 with net.ipv4.ip_forward");
	(void)c;
}

/* 0 with a route from advertisements: a program such as systemd-networkd reads them itself. */
static void judge_accept_ra(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			    struct host_row *row)
{
	(void)j;
	(void)c;
	if (value == 1)
		say(row, HOST_WRONG, "the default route over %s comes from router advertisements, and goes with IPv6 forwarding: "
		    "sysctl -w %s=2", l->name, row->setting);
}

static void judge_ipv6_off(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			   struct host_row *row)
{
	(void)j;
	(void)c;
	if (value)
		say(row, HOST_WRONG, "IPv6 is off on %s, over which a peer is found by router advertisements: sysctl -w %s=0",
		    l->name, row->setting);
}

/* The kernel takes the stricter of both, where loose (2) counts as more than strict (1). */
static void judge_rp_filter(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			    struct host_row *row)
{
	long all = read_or(j, "net/ipv4/conf/all/rp_filter", 0), effective = value > all ? value : all;
	(void)c;
	snprintf(row->value, sizeof row->value, "%ld (its own %ld, all %ld)", effective, value, all);
	if (effective == 1)
		say(row, HOST_WRONG, "packets for pods that come over %s while the way back is another uplink are dropped: "
		    "sysctl -w %s=2", l->name, row->setting);
}

static void judge_linkdown(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			   struct host_row *row)
{
	(void)j;
	(void)c;
	if (!value)
		say(row, HOST_NOTE, "with 1 the kernel itself takes no route over %s from the moment that it has no carrier: "
		    "sysctl -w %s=1", l->name, row->setting);
}

static void judge_hash(const struct judge *j, const struct check *c, const struct host_link *l, long value, struct host_row *row)
{
	(void)j;
	(void)c;
	(void)l;
	if (value == 0)
		say(row, HOST_NOTE, "all that one pod says to another takes one of the equal paths; with 1 its connections are spread, "
		    "which a firewall on the way that sees only some of them may not like: sysctl -w %s=1", row->setting);
}

static long power_of_two_above(uint64_t n)
{
	long p = 4096;
	while (p < (long)n)
		p *= 2;
	return p;
}

/* The kernel begins to throw out at gc_thresh2 and takes no more at gc_thresh3. */
static void judge_neighbours(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			     struct host_row *row)
{
	char path[PATH_MAX_HERE];
	const struct host_neighbours *n = &j->facts->neighbours[c->family];
	uint64_t need = n->entries > j->facts->peers ? n->entries : j->facts->peers;
	const char *dir = family_dirs[c->family];
	(void)l;
	snprintf(path, sizeof path, "net/%s/neigh/default/gc_thresh2", dir);
	long soft = read_or(j, path, value), hard = power_of_two_above(need * 4);
	snprintf(row->value, sizeof row->value, "%ld (%llu in use)", value, (unsigned long long)n->entries);
	bool near = need > (uint64_t)soft || need * 5 > (uint64_t)value * 4;
	if (near || (n->refused && value < hard)) /* else it was mended meanwhile */
		say(row, HOST_WRONG, "the neighbour table %s, and then neighbours cannot be reached by turns: "
		    "sysctl -w net.%s.neigh.default.gc_thresh3=%ld net.%s.neigh.default.gc_thresh2=%ld "
		    "net.%s.neigh.default.gc_thresh1=%ld", n->refused ? "is full" : "is nearly full", dir, hard, dir, hard / 2, dir, hard / 4);
}

static void judge_conntrack(const struct judge *j, const struct check *c, const struct host_link *l, long value,
			    struct host_row *row)
{
	long count = read_or(j, "net/netfilter/nf_conntrack_count", 0);
	(void)c;
	(void)l;
	snprintf(row->value, sizeof row->value, "%ld (%ld in use)", value, count);
	if (value && count > value / 10 * 9)
		say(row, HOST_WRONG, "the table of connections is nearly full, and then new ones are dropped: sysctl -w %s=%ld",
		    row->setting, value * 2);
}

#define NO_FAMILY(name) HOST_WRONG, "there are pods with " name " addresses, and this host has no " name
#define NOT_HERE HOST_UNKNOWN, "only to be seen in the host's own network namespace"
#define NOTHING HOST_FINE, NULL

static const struct check checks[] = {
	{"IPv4 forwarding", "net/ipv4/ip_forward", HOST_IPV4, has_pods, false, "1", judge_forwarding, NO_FAMILY("IPv4")},
	{"IPv4 forwarding", "net/ipv4/conf/%s/forwarding", HOST_IPV4, has_pods, true, "1", judge_link_forwarding, NOTHING},
	{"router advertisements", "net/ipv6/conf/%s/accept_ra", HOST_IPV6, has_router, true, "2", judge_accept_ra, NOTHING},
	{"IPv6 forwarding", "net/ipv6/conf/all/forwarding", HOST_IPV6, has_pods, false, "1", judge_forwarding, NO_FAMILY("IPv6")},
	{"IPv6 on the link", "net/ipv6/conf/%s/disable_ipv6", HOST_IPV6, is_unnumbered, true, "0", judge_ipv6_off, NOTHING},
	{"reverse path filter", "net/ipv4/conf/%s/rp_filter", HOST_IPV4, has_several_uplinks, true, "0 or 2", judge_rp_filter,
	 NOTHING},
	{"routes over dead links", "net/ipv4/conf/%s/ignore_routes_with_linkdown", HOST_IPV4, has_several_uplinks, true, "1",
	 judge_linkdown, NOTHING},
	{"routes over dead links", "net/ipv6/conf/%s/ignore_routes_with_linkdown", HOST_IPV6, has_several_uplinks, true, "1",
	 judge_linkdown, NOTHING},
	{"spreading over paths", "net/ipv4/fib_multipath_hash_policy", HOST_IPV4, has_several_uplinks, false, "yours to choose",
	 judge_hash, NOTHING},
	{"spreading over paths", "net/ipv6/fib_multipath_hash_policy", HOST_IPV6, has_several_uplinks, false, "yours to choose",
	 judge_hash, NOTHING},
	{"neighbours", "net/ipv4/neigh/default/gc_thresh3", HOST_IPV4, always, false, "room for all", judge_neighbours, NOT_HERE},
	{"neighbours", "net/ipv6/neigh/default/gc_thresh3", HOST_IPV6, always, false, "room for all", judge_neighbours, NOT_HERE},
	{"connections", "net/netfilter/nf_conntrack_max", HOST_IPV4, always, false, "room for all", judge_conntrack, NOTHING},
};

static void run(const struct judge *j, const struct check *c, const struct host_link *l)
{
	char path[PATH_MAX_HERE];
	struct host_row row = {.check = c->name, .wanted = c->wanted};
	long value;
	if (!c->concerns(j->facts, l, c->family))
		return;
	path_of(c, l, path);
	setting_name(path, row.setting);
	if (j->read(j->read_arg, path, &value)) {
		snprintf(row.value, sizeof row.value, "%ld", value);
		c->judge(j, c, l, value, &row);
	} else if (c->absent == HOST_FINE) {
		return;
	} else {
		say(&row, c->absent, "%s", c->absent_text);
	}
	j->emit(j->emit_arg, &row);
}

void host_judge(const struct host_facts *f, host_read_fn *read, void *read_arg,
		void (*emit)(void *arg, const struct host_row *row), void *arg)
{
	const struct judge j = {.facts = f, .read = read, .read_arg = read_arg, .emit = emit, .emit_arg = arg};
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		for (size_t n = 0; n < (checks[i].of_links ? f->link_count : 1); n++)
			run(&j, &checks[i], checks[i].of_links ? &f->links[n] : NULL);
}

const char *host_verdict_name(enum host_verdict v)
{
	static const char *const names[HOST_VERDICTS] = {"fine", "note", "wrong", "not known"};
	return names[v];
}
