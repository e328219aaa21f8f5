/* The FIB against the running kernel, in a network namespace of the test's own: what it wants is what the kernel has, and
 * reading the kernel finds no difference. IPv4 through IPv6 gateways (RFC 8950), links, weights. It needs root or user
 * namespaces; without either it is counted as skipped.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/nexthop_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "rib/fib.h"

enum { SKIPPED = 77, LINKS = 2 };

static const struct route_mark mark = {.table = 254, .metric = 32, .protocol = 171};
static struct netlink_socket *kernel;
static struct nhset_table nhsets;
static struct fib fib;
static uint32_t links[LINKS];
static uint64_t message[NETLINK_ROUTE_MESSAGE_MAX / 8];

static struct addr ip(const char *text)
{
	struct addr a;
	ck_assert_msg(addr_parse(text, &a), "%s", text);
	return a;
}

static struct prefix cidr(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), PREFIX_OK);
	return p;
}

static void must(const char *what)
{
	char text[NETLINK_TEXT_MAX];
	int error = netlink_request(kernel, message, text, sizeof text);
	ck_assert_msg(error == 0, "%s: %s %s", what, strerror(-error), text);
}

static void note_link(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct netlink_link l;
	bool deleted;
	(void)error;
	(void)text;
	if (netlink_link_decode(h, &l, &deleted) == 0)
		*(uint32_t *)arg = l.ifindex;
}

static uint32_t index_of(const char *name)
{
	uint32_t found = 0;
	netlink_link_get_by_name(message, sizeof message, 0, name);
	ck_assert_int_eq(netlink_query(kernel, message, note_link, &found), 0);
	return found;
}

/* Two links with both ends here, up, each with an address. */
static void make_links(void)
{
	static const char *const names[LINKS][2] = {{"a0", "a1"}, {"b0", "b1"}}, *const addresses[LINKS] = {"10.0.0.1", "10.0.1.1"};
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(here, 0);
	for (unsigned i = 0; i < LINKS; i++) {
		struct netlink_veth v = {.name = names[i][0], .peer_name = names[i][1], .mac = {2, 0, 0, 0, 1, (uint8_t)i},
					 .peer_mac = {2, 0, 0, 0, 2, (uint8_t)i}, .peer_netns = here};
		struct addr a = ip(addresses[i]);
		netlink_link_add_veth(message, sizeof message, 0, &v);
		must("veth");
		links[i] = index_of(names[i][0]);
		for (unsigned end = 0; end < 2; end++) {
			netlink_link_up(message, sizeof message, 0, index_of(names[i][end]), NULL);
			must("link up");
		}
		netlink_addr_add(message, sizeof message, 0, links[i], &a);
		must("address");
		/* the switch's IPv4 address is on the link, without a gateway */
		a = addr_add(&a, 1);
		struct route r = {.prefix = prefix_make(&a, 128), .mark = {.table = 254, .protocol = 4},
				  .nexthops = {{.ifindex = links[i], .weight = 1}}, .nexthop_count = 1};
		netlink_route_encode(message, sizeof message, NETLINK_ROUTE_ADD, 0, &r);
		must("the way to the switch");
	}
	close(here);
}

static void setup(void)
{
	ck_assert_int_eq(unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET), 0);
	ck_assert_int_eq(netlink_socket_open(&kernel, 0), 0);
	nhset_table_init(&nhsets);
	fib_init(&fib, &nhsets, &mark, false);
	make_links();
}

static void teardown(void)
{
	fib_fini(&fib);
	nhset_table_fini(&nhsets);
	netlink_socket_close(kernel);
}

static bool say_objects(void)
{
	static const enum netlink_nexthop_op ops[] = {[OBJECTS_ADD] = NETLINK_NEXTHOP_ADD, [OBJECTS_REPLACE] = NETLINK_NEXTHOP_REPLACE,
						      [OBJECTS_DELETE] = NETLINK_NEXTHOP_DELETE};
	struct objects_intent in;
	bool any = false;
	for (; objects_next(&fib.objects, &in); any = true) {
		ck_assert_uint_gt(netlink_nexthop_encode(message, sizeof message, ops[in.op], 0, &in.object), 0);
		must("the object");
		objects_done(&fib.objects, &in, 0);
	}
	return any;
}

/* Some may be refused now. */
static void say_objects_refused(void)
{
	struct objects_intent in;
	while (objects_next(&fib.objects, &in)) {
		netlink_nexthop_encode(message, sizeof message, in.op == OBJECTS_ADD ? NETLINK_NEXTHOP_ADD : NETLINK_NEXTHOP_REPLACE, 0,
				       &in.object);
		objects_done(&fib.objects, &in, netlink_request(kernel, message, NULL, 0));
	}
}

static void set_link(const char *name, bool up)
{
	netlink_link_up(message, sizeof message, 0, index_of(name), NULL);
	if (!up)
		((struct ifinfomsg *)(void *)((char *)message + sizeof(struct nlmsghdr)))->ifi_flags = 0;
	must("link");
}

static void note_flags(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct netlink_link l;
	bool deleted;
	(void)error;
	(void)text;
	if (netlink_link_decode(h, &l, &deleted) == 0)
		*(uint32_t *)arg = l.flags;
}

static bool carries(uint32_t ifindex)
{
	uint32_t flags = 0;
	netlink_link_get_by_index(message, sizeof message, 0, ifindex);
	ck_assert_int_eq(netlink_query(kernel, message, note_flags, &flags), 0);
	return flags & IFF_LOWER_UP;
}

static void note_object(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct nexthop_object o;
	bool deleted;
	(void)error;
	(void)text;
	int bad = netlink_nexthop_decode(h, &o, &deleted);
	objects_dump_found(&fib.objects, &o, bad == 0);
	*(unsigned *)arg += bad == 0 && o.protocol == mark.protocol;
}

/* Reads the objects: how many there are of ours; *differ: how many are not as they should be. */
static unsigned read_objects(size_t *differ)
{
	unsigned n = 0;
	objects_dump_begin(&fib.objects);
	netlink_nexthop_dump_request(message, sizeof message, 0);
	ck_assert_int_eq(netlink_dump(kernel, message, note_object, &n), 0);
	*differ = objects_dump_end(&fib.objects);
	return n;
}

static void carry_out(void)
{
	static const enum netlink_route_op ops[] = {[FIB_ADD] = NETLINK_ROUTE_ADD, [FIB_REPLACE] = NETLINK_ROUTE_REPLACE,
						    [FIB_DELETE] = NETLINK_ROUTE_DELETE};
	struct fib_intent in;
	while (fib_next(&fib, &in) || (say_objects(), fib_next(&fib, &in))) {
		ck_assert_uint_gt(netlink_route_encode(message, sizeof message, ops[in.op], 0, &in.route), 0);
		must("the route");
		fib_done(&fib, in.entry, 0, "", (struct tick){1});
	}
}

static void note_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct route r;
	bool deleted;
	(void)error;
	(void)text;
	if (netlink_route_decode(h, &r, &deleted) || r.mark.protocol != mark.protocol)
		return;
	++*(unsigned *)arg;
	fib_compare_found(&fib, &r);
}

/* Reads the kernel; routes gets how many of ours there are, and the answer is how many are not as wanted. */
static size_t differ(unsigned *routes)
{
	static const int families[] = {AF_INET, AF_INET6};
	*routes = 0;
	fib_compare_begin(&fib, (struct tick){1});
	for (unsigned i = 0; i < 2; i++) {
		netlink_route_dump_request(message, sizeof message, 0, families[i], mark.table, mark.protocol);
		ck_assert_int_eq(netlink_dump(kernel, message, note_route, routes), 0);
	}
	ck_assert(fib_compare_judge(&fib, UINT32_MAX));
	return fib_differ(&fib.findings);
}

struct hop {
	const char *gateway;
	unsigned link; /* 1 and more; 0: the kernel finds it */
	uint16_t weight;
};

static void want(const struct prefix *p, const struct hop *hops)
{
	struct route_nexthop at[4];
	unsigned n = 0;
	for (; n < 4 && hops[n].gateway; n++)
		at[n] = (struct route_nexthop){.gateway = ip(hops[n].gateway), .ifindex = hops[n].link ? links[hops[n].link - 1] : 0,
					       .weight = hops[n].weight};
	struct nhset *s = nhset_of(&nhsets, at, n);
	fib_want(&fib, p, s);
	nhset_unref(s);
}

/* Each is put over the one before it, so the replacing is tested as well. */
static const struct {
	const char *what, *prefix;
	struct hop hops[4];
} steps[] = {
	{"IPv4", "10.244.2.0/24", {{"10.0.0.2", 0, 1}}},
	{"IPv4 by an IPv6 gateway", "10.244.2.0/24", {{"fe80::1", 1, 1}}},
	{"the same address on the other link", "10.244.2.0/24", {{"fe80::1", 2, 1}}},
	{"on both links", "10.244.2.0/24", {{"fe80::1", 1, 1}, {"fe80::1", 2, 1}}},
	{"weighted", "10.244.2.0/24", {{"fe80::1", 1, 1}, {"fe80::1", 2, 4}}},
	{"weighted as far as it goes", "10.244.2.0/24", {{"fe80::1", 1, 1}, {"fe80::1", 2, ROUTE_WEIGHT_MAX}}},
	{"gateways of both families", "10.244.2.0/24", {{"10.0.0.2", 0, 3}, {"fe80::1", 2, 2}, {"fe80::2", 2, 1}}},
	{"IPv4, two gateways with weights", "10.244.2.0/24", {{"10.0.0.2", 0, 25}, {"10.0.1.2", 0, 100}}},
	{"back to one", "10.244.2.0/24", {{"10.0.1.2", 0, 100}}},
	{"a blackhole", "10.244.2.0/24", {{.gateway = NULL}}},
	{"IPv6", "fd10:244:2::/64", {{"fe80::1", 1, 1}}},
	{"IPv6 on both links", "fd10:244:2::/64", {{"fe80::1", 1, 1}, {"fe80::1", 2, 1}}},
	{"IPv6 weighted", "fd10:244:2::/64", {{"fe80::1", 1, 7}, {"fe80::1", 2, 2}}},
	{"IPv6 weighted as far as it goes", "fd10:244:2::/64", {{"fe80::1", 1, ROUTE_WEIGHT_MAX}, {"fe80::2", 2, 255}}},
};

START_TEST(the_kernel_has_what_is_wanted)
{
	unsigned routes;
	size_t wrong;
	fib.objects.off = _i == 1;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct prefix p = cidr(steps[i].prefix);
		bool fresh = i == 0 || strcmp(steps[i].prefix, steps[i - 1].prefix) != 0;
		want(&p, steps[i].hops);
		if (!fresh) /* the kernel has the last one, and that is not this one */
			ck_assert_msg(!fib_entry_right(&fib, fib_find(&fib, &p)), "%s", steps[i].what);
		carry_out();
		ck_assert_msg(differ(&routes) == 0, "%s: the kernel's route reads otherwise", steps[i].what);
		ck_assert_msg(fib_entry_right(&fib, fib_find(&fib, &p)), "%s: not there", steps[i].what);
		say_objects(); /* those of before go */
		unsigned n = read_objects(&wrong);
		bool by_object = !fib.objects.off && steps[i].hops[0].link;
		ck_assert_msg(wrong == 0 && (n > 0) == by_object, "%s: %u objects", steps[i].what, n);
		ck_assert_uint_eq(routes, prefix_is_v4(&p) ? 1 : 2);
	}
}
END_TEST

/* What somebody else did to the shares is seen, and mended. */
START_TEST(foreign_weights_are_a_difference)
{
	struct prefix p = cidr("10.244.3.0/24");
	unsigned routes;
	want(&p, (struct hop[4]){{"fe80::1", 1, 1}, {"fe80::1", 2, 4}});
	carry_out();
	struct route r = {.prefix = p, .mark = mark, .nexthop_count = 2,
			  .nexthops = {{.gateway = ip("fe80::1"), .ifindex = links[0], .weight = 4},
				       {.gateway = ip("fe80::1"), .ifindex = links[1], .weight = 1}}};
	netlink_route_encode(message, sizeof message, NETLINK_ROUTE_REPLACE, 0, &r);
	must("another's route");
	ck_assert_uint_eq(differ(&routes), 1);
	carry_out();
	ck_assert_uint_eq(differ(&routes), 0);
	fib_want(&fib, &p, NULL);
	carry_out();
	ck_assert_uint_eq(differ(&routes), 0);
	ck_assert_uint_eq(routes, 0);
}
END_TEST

/* A link that goes takes its objects along without a word, and routes that have nothing else. A group goes on with the rest, and
 * is whole again afterwards. */
START_TEST(links_take_their_objects_along)
{
	struct prefix p = cidr("10.244.4.0/24"), q = cidr("fd10:244:4::/64"), only = cidr("10.244.5.0/24");
	struct hop both[4] = {{"10.0.0.2", 1, 1}, {"10.0.1.2", 2, 1}}, both6[4] = {{"fe80::1", 1, 3}, {"fe80::1", 2, 1}};
	unsigned routes;
	size_t wrong;
	want(&p, both);
	want(&q, both6);
	want(&only, both + 1);
	carry_out();
	uint32_t group = fib_find(&fib, &p)->have->id;
	ck_assert_uint_eq(read_objects(&wrong), 4 + 2);
	ck_assert_uint_eq(wrong, 0);
	set_link("b1", false); /* the other end: the carrier goes */
	for (unsigned n = 0; read_objects(&wrong) == 6; n++) {
		ck_assert_msg(n < 1000, "the objects stay");
		usleep(10000); /* the kernel tells its links in its own time */
	}
	ck_assert_uint_gt(wrong, 0);
	/* as it is: but answered when the kernel has taken the other link's routes, too, which it does after the objects */
	set_link("a1", true);
	say_objects_refused();
	ck_assert(fib_find(&fib, &only)->have->gone);
	ck_assert_uint_eq(differ(&routes), 1);
	ck_assert_uint_eq(routes, 2);
	set_link("b1", true);
	for (unsigned n = 0; !carries(links[1]); n++) {
		ck_assert_msg(n < 1000, "the carrier does not come back");
		usleep(10000);
	}
	read_objects(&wrong);
	carry_out();
	say_objects();
	ck_assert_uint_eq(read_objects(&wrong), 4 + 2);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(fib_find(&fib, &p)->have->id, group);
	ck_assert_uint_eq(differ(&routes), 0);
	ck_assert_uint_eq(routes, 3);
}
END_TEST

/* In a child, since there is no way back. */
static bool namespaces_can_be_made(void)
{
	pid_t child = fork();
	int status = 1;
	if (child == 0)
		_exit(unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) ? 1 : 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
	if (!namespaces_can_be_made()) {
		puts("no right to make a network namespace: skipped");
		return SKIPPED;
	}
	Suite *s = suite_create("kernel routes");
	TCase *t = tcase_create("kernel routes");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_kernel_has_what_is_wanted, 0, 2);
	tcase_add_test(t, foreign_weights_are_a_difference);
	tcase_add_test(t, links_take_their_objects_along);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_set_fork_status(r, CK_FORK); /* each test has a namespace of its own */
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
