/* src/daemon/host_judge.[ch]: what of a host's settings is wrong, for which node. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "src/daemon/host_judge.h"
#include "tests/unit/run_suite.h"

struct setting {
	const char *path;
	long value;
};

/* A host on which everything is as it should be for the largest of nodes; a case changes some of it. */
static const struct setting good[] = {
	{"net/ipv4/ip_forward", 1},
	{"net/ipv4/conf/eth0/forwarding", 1},
	{"net/ipv4/conf/eth1.7/forwarding", 1},
	{"net/ipv6/conf/all/forwarding", 1},
	{"net/ipv6/conf/eth0/accept_ra", 2},
	{"net/ipv6/conf/mgmt/accept_ra", 0},
	{"net/ipv6/conf/eth1.7/disable_ipv6", 0},
	{"net/ipv4/conf/all/rp_filter", 0},
	{"net/ipv4/conf/eth0/rp_filter", 0},
	{"net/ipv4/conf/eth1.7/rp_filter", 2},
	{"net/ipv4/conf/eth0/ignore_routes_with_linkdown", 1},
	{"net/ipv4/conf/eth1.7/ignore_routes_with_linkdown", 1},
	{"net/ipv6/conf/eth0/ignore_routes_with_linkdown", 1},
	{"net/ipv6/conf/eth1.7/ignore_routes_with_linkdown", 1},
	{"net/ipv4/fib_multipath_hash_policy", 1},
	{"net/ipv6/fib_multipath_hash_policy", 2},
	{"net/ipv4/neigh/default/gc_thresh2", 512},
	{"net/ipv4/neigh/default/gc_thresh3", 1024},
	{"net/ipv6/neigh/default/gc_thresh2", 512},
	{"net/ipv6/neigh/default/gc_thresh3", 1024},
	{"net/netfilter/nf_conntrack_max", 65536},
	{"net/netfilter/nf_conntrack_count", 100},
};

static const struct host_link links[] = {
	{.name = "eth0", .uplink = true, .ra_default = true},
	{.name = "eth1.7", .uplink = true, .unnumbered = true},
	{.name = "mgmt", .ra_default = true},
};

enum { GONE = -1, CHANGES = 3 };

struct host {
	struct setting changed[CHANGES]; /* value GONE: there is no such file */
};

static bool read_setting(void *arg, const char *path, long *out)
{
	const struct host *h = arg;
	for (size_t i = 0; i < CHANGES; i++)
		if (h->changed[i].path && strcmp(h->changed[i].path, path) == 0) {
			*out = h->changed[i].value;
			return *out != GONE;
		}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (strcmp(good[i].path, path) == 0) {
			*out = good[i].value;
			return true;
		}
	return false;
}

struct seen {
	unsigned rows, of[HOST_VERDICTS];
	struct host_row last; /* that is not fine */
};

static void on_row(void *arg, const struct host_row *row)
{
	struct seen *s = arg;
	s->rows++;
	s->of[row->verdict]++;
	if (row->verdict != HOST_FINE)
		s->last = *row;
	ck_assert_msg(row->verdict == HOST_FINE || row->what[0], "%s", row->setting);
}

static struct host_facts large(void)
{
	return (struct host_facts){.pods = {true, true},
				   .peers = 3,
				   .neighbours = {{.entries = 100}, {.entries = 100}},
				   .links = links,
				   .link_count = sizeof links / sizeof *links};
}

static struct seen judge(const struct host_facts *f, const struct host *h)
{
	struct seen s = {.rows = 0};
	struct host copy = *h;
	host_judge(f, read_setting, &copy, on_row, &s);
	return s;
}

START_TEST(a_good_host_is_fine)
{
	struct host h = {.changed = {{NULL, 0}}};
	struct host_facts f = large();
	struct seen s = judge(&f, &h);
	ck_assert_uint_eq(s.rows, 18);
	ck_assert_uint_eq(s.of[HOST_FINE], s.rows);
}
END_TEST

static const struct {
	const char *what;
	struct host host;
	enum host_verdict verdict;
	const char *setting, *says; /* of the row that is not fine, and the only one */
} cases[] = {
	{"no IPv4 forwarding", {{{"net/ipv4/ip_forward", 0}, {"net/ipv4/conf/eth0/forwarding", 0}}}, HOST_WRONG, "net.ipv4.ip_forward",
	 ": sysctl -w net.ipv4.ip_forward=1"},
	{"no forwarding on a link", {{{"net/ipv4/conf/eth1.7/forwarding", 0}}}, HOST_WRONG, "net.ipv4.conf.eth1/7.forwarding",
	 ": sysctl -w net.ipv4.conf.eth1/7.forwarding=1"},
	{"no IPv6 forwarding", {{{"net/ipv6/conf/all/forwarding", 0}}}, HOST_WRONG, "net.ipv6.conf.all.forwarding",
	 ": sysctl -w net.ipv6.conf.all.forwarding=1"},
	{"no IPv6", {{{"net/ipv6/conf/all/forwarding", GONE}}}, HOST_WRONG, "net.ipv6.conf.all.forwarding", "this host has no IPv6"},
	{"forwarding will take the default route", {{{"net/ipv6/conf/eth0/accept_ra", 1}}}, HOST_WRONG, "net.ipv6.conf.eth0.accept_ra",
	 ": sysctl -w net.ipv6.conf.eth0.accept_ra=2"},
	{"networkd reads the advertisements", {{{"net/ipv6/conf/eth0/accept_ra", 0}}}, HOST_FINE, NULL, NULL},
	{"no IPv6 where the peer is looked for", {{{"net/ipv6/conf/eth1.7/disable_ipv6", 1}}}, HOST_WRONG,
	 "net.ipv6.conf.eth1/7.disable_ipv6", ": sysctl -w net.ipv6.conf.eth1/7.disable_ipv6=0"},
	{"strict filter", {{{"net/ipv4/conf/eth0/rp_filter", 1}}}, HOST_WRONG, "net.ipv4.conf.eth0.rp_filter",
	 ": sysctl -w net.ipv4.conf.eth0.rp_filter=2"},
	{"strict filter for all, loose on one", {{{"net/ipv4/conf/all/rp_filter", 1}}}, HOST_WRONG, "net.ipv4.conf.eth0.rp_filter",
	 ": sysctl -w net.ipv4.conf.eth0.rp_filter=2"},
	{"loose for all, strict on one", {{{"net/ipv4/conf/all/rp_filter", 2}, {"net/ipv4/conf/eth0/rp_filter", 1}}}, HOST_FINE, NULL, NULL},
	{"dead links", {{{"net/ipv6/conf/eth0/ignore_routes_with_linkdown", 0}}}, HOST_NOTE,
	 "net.ipv6.conf.eth0.ignore_routes_with_linkdown", "sysctl -w net.ipv6.conf.eth0.ignore_routes_with_linkdown=1"},
	{"dead links, an old kernel", {{{"net/ipv6/conf/eth0/ignore_routes_with_linkdown", GONE}}}, HOST_FINE, NULL, NULL},
	{"one path for two pods", {{{"net/ipv4/fib_multipath_hash_policy", 0}}}, HOST_NOTE, "net.ipv4.fib_multipath_hash_policy",
	 "sysctl -w net.ipv4.fib_multipath_hash_policy=1"},
	{"few neighbours", {{{"net/ipv4/neigh/default/gc_thresh3", 124}, {"net/ipv4/neigh/default/gc_thresh2", 124}}}, HOST_WRONG,
	 "net.ipv4.neigh.default.gc_thresh3", "gc_thresh3=4096 net.ipv4.neigh.default.gc_thresh2=2048 net.ipv4.neigh.default.gc_thresh1=1024"},
	{"neighbours are thrown out early", {{{"net/ipv6/neigh/default/gc_thresh2", 99}}}, HOST_WRONG,
	 "net.ipv6.neigh.default.gc_thresh3", "nearly full"},
	{"neighbours from inside a container", {{{"net/ipv4/neigh/default/gc_thresh3", GONE}}}, HOST_UNKNOWN,
	 "net.ipv4.neigh.default.gc_thresh3", "host's own network namespace"},
	{"many connections", {{{"net/netfilter/nf_conntrack_count", 60000}}}, HOST_WRONG, "net.netfilter.nf_conntrack_max",
	 ": sysctl -w net.netfilter.nf_conntrack_max=131072"},
	{"connections are not tracked", {{{"net/netfilter/nf_conntrack_max", GONE}}}, HOST_FINE, NULL, NULL},
};

START_TEST(what_is_not_as_it_should_be)
{
	struct host_facts f = large();
	struct seen s = judge(&f, &cases[_i].host);
	ck_assert_msg(s.of[cases[_i].verdict] == (cases[_i].verdict == HOST_FINE ? s.rows : 1), "%s: %s: %s", cases[_i].what,
		      s.last.setting, s.last.what);
	ck_assert_uint_eq(s.of[HOST_FINE] + (cases[_i].verdict != HOST_FINE), s.rows);
	if (!cases[_i].setting)
		return;
	ck_assert_str_eq(s.last.setting, cases[_i].setting);
	ck_assert_msg(strstr(s.last.what, cases[_i].says) != NULL, "%s: %s", cases[_i].what, s.last.what);
}
END_TEST

/* Whoever types the line for forwarding alone would lose the way to his machine. */
START_TEST(the_line_for_forwarding_saves_the_default_route_first)
{
	struct host h = {{{"net/ipv6/conf/all/forwarding", 0}, {"net/ipv6/conf/eth0/accept_ra", 1}, {"net/ipv6/conf/mgmt/accept_ra", 1}}};
	struct host_facts f = large();
	struct seen s = judge(&f, &h);
	ck_assert_uint_eq(s.of[HOST_WRONG], 3);
	ck_assert_ptr_nonnull(strstr(s.last.what, ": sysctl -w net.ipv6.conf.eth0.accept_ra=2 net.ipv6.conf.mgmt.accept_ra=2 "
						  "net.ipv6.conf.all.forwarding=1"));
}
END_TEST

START_TEST(a_full_neighbour_table_is_wrong_however_large)
{
	struct host h = {.changed = {{NULL, 0}}};
	struct host_facts f = large();
	f.neighbours[HOST_IPV6] = (struct host_neighbours){.entries = 2000, .refused = 1};
	struct seen s = judge(&f, &h);
	ck_assert_uint_eq(s.of[HOST_WRONG], 1);
	ck_assert_ptr_nonnull(strstr(s.last.what, "is full"));
	ck_assert_ptr_nonnull(strstr(s.last.what, "gc_thresh3=8192"));
}
END_TEST

static void on_link_row(void *arg, const struct host_row *row)
{
	if (strcmp(row->setting, "net.ipv4.conf.eth0.forwarding") == 0)
		*(struct host_row *)arg = *row;
}

/* 0 beside "1 is wanted", and fine: that wants a word. */
START_TEST(a_link_that_waits_for_the_host_to_forward_says_so)
{
	struct host h = {{{"net/ipv4/ip_forward", 0}, {"net/ipv4/conf/eth0/forwarding", 0}}};
	struct host_facts f = large();
	struct host_row link = {.verdict = HOST_UNKNOWN};
	host_judge(&f, read_setting, &h, on_link_row, &link);
	ck_assert_int_eq(link.verdict, HOST_FINE);
	ck_assert_str_eq(link.what, "becomes 1 with net.ipv4.ip_forward");
	h.changed[0].value = h.changed[1].value = 1;
	host_judge(&f, read_setting, &h, on_link_row, &link);
	ck_assert_str_eq(link.what, "");
}
END_TEST

START_TEST(what_does_not_concern_a_node_is_not_looked_at)
{
	struct host h = {{{"net/ipv4/ip_forward", 0}, {"net/ipv6/conf/all/forwarding", 0}, {"net/ipv4/conf/eth0/rp_filter", 1}}};
	struct host_facts f = {.peers = 1, .links = links, .link_count = 1}; /* no pods: a plain speaker */
	ck_assert_uint_eq(judge(&f, &h).of[HOST_WRONG], 0);
	f.pods[HOST_IPV6] = true;
	ck_assert_uint_eq(judge(&f, &h).of[HOST_WRONG], 1); /* one uplink: the filter may be strict */
	f.pods[HOST_IPV4] = true;
	ck_assert_uint_eq(judge(&f, &h).of[HOST_WRONG], 2);
	f.link_count = 2;
	ck_assert_uint_eq(judge(&f, &h).of[HOST_WRONG], 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("host");
	TCase *t = tcase_create("judging");
	tcase_add_test(t, a_good_host_is_fine);
	tcase_add_loop_test(t, what_is_not_as_it_should_be, 0, sizeof cases / sizeof *cases);
	tcase_add_test(t, the_line_for_forwarding_saves_the_default_route_first);
	tcase_add_test(t, a_full_neighbour_table_is_wrong_however_large);
	tcase_add_test(t, a_link_that_waits_for_the_host_to_forward_says_so);
	tcase_add_test(t, what_does_not_concern_a_node_is_not_looked_at);
	suite_add_tcase(s, t);
	return run_suite(s);
}
