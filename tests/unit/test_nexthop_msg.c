/* netlink/nexthop_msg.h: what is encoded decodes to the same, what the kernel does not take is not said, and hostile bytes are
 * told apart. Routes that refer to objects too.
 */
#include <check.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "netlink/message.h"
#include "netlink/nexthop_msg.h"
#include "netlink/route_msg.h"
#include "src/base/err.h"
#include "tests/unit/run_suite.h"

static union {
	struct nlmsghdr h;
	char bytes[NETLINK_ROUTE_MESSAGE_MAX];
} m;

static struct nexthop_object hop(const char *gateway, uint32_t ifindex)
{
	struct nexthop_object o = {.id = 0x40000001, .protocol = 171, .hop = {.ifindex = ifindex, .weight = 1}};
	ck_assert(addr_parse(gateway, &o.hop.gateway));
	return o;
}

static struct nexthop_object group(unsigned members)
{
	struct nexthop_object o = {.id = 0x40000777, .protocol = 171, .kind = NEXTHOP_OBJECT_GROUP, .member_count = members};
	for (unsigned i = 0; i < members; i++) {
		o.members[i].id = 0x40000001 + i;
		o.members[i].weight = (uint16_t)(1 + i * 37 % ROUTE_WEIGHT_MAX);
	}
	return o;
}

static void check_round(const struct nexthop_object *o)
{
	struct nexthop_object back;
	bool deleted = true;
	size_t len = netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_ADD, 7, o);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_le(len, NETLINK_NEXTHOP_MESSAGE_MAX);
	ck_assert_uint_eq(len, m.h.nlmsg_len);
	ck_assert_uint_eq(m.h.nlmsg_seq, 7);
	ck_assert_int_eq(netlink_nexthop_decode(&m.h, &back, &deleted), 0);
	ck_assert(!deleted && back.id == o->id && back.protocol == o->protocol && back.kind == o->kind);
	ck_assert_uint_eq(back.member_count, o->member_count);
	for (unsigned i = 0; i < o->member_count; i++) {
		ck_assert_uint_eq(back.members[i].id, o->members[i].id);
		ck_assert_uint_eq(back.members[i].weight, o->members[i].weight);
	}
	if (o->kind == NEXTHOP_OBJECT_GROUP)
		ck_assert_uint_eq(((const struct nhmsg *)(m.bytes + sizeof m.h))->nh_family, AF_UNSPEC);
	else
		ck_assert(addr_eq(&back.hop.gateway, &o->hop.gateway) && back.hop.ifindex == o->hop.ifindex &&
			  back.hop.onlink == o->hop.onlink && !back.hop.down);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(netlink_nexthop_encode(&m, cap, NETLINK_NEXTHOP_ADD, 7, o), 0);
}

START_TEST(objects_go_round)
{
	static const char *const gateways[] = {"10.0.7.254", "fe80::1", "fd00::1", "0.0.0.0", "::"};
	for (size_t i = 0; i < sizeof gateways / sizeof *gateways; i++) {
		struct nexthop_object o = hop(gateways[i], 3);
		check_round(&o);
		o.hop.onlink = true;
		check_round(&o);
		o.kind = NEXTHOP_OBJECT_BLACKHOLE;
		o.hop = (struct route_nexthop){.gateway = addr_is_v4(&o.hop.gateway) ? addr_from_v4(0) : (struct addr){{0}}};
		check_round(&o);
	}
	for (unsigned n = 1; n <= ROUTE_NEXTHOPS_MAX; n++) {
		struct nexthop_object o = group(n);
		check_round(&o);
	}
}
END_TEST

START_TEST(what_no_kernel_takes_is_not_said)
{
	struct nexthop_object bad[] = {hop("10.0.0.1", 0), group(1), group(1), hop("10.0.0.1", 1)};
	bad[1].member_count = 0;
	bad[2].member_count = ROUTE_NEXTHOPS_MAX + 1;
	bad[3].id = 0;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_uint_eq(netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_ADD, 1, &bad[i]), 0);
	/* deleting takes the id alone */
	ck_assert_uint_gt(netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_DELETE, 1, &bad[0]), 0);
	ck_assert_uint_eq(netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_DELETE, 1, &bad[3]), 0);
}
END_TEST

START_TEST(weights_stay_within_what_the_kernel_has)
{
	struct nexthop_object o = group(2), back;
	bool deleted;
	o.members[0].weight = 0;
	o.members[1].weight = 5000;
	netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_REPLACE, 1, &o);
	ck_assert_int_eq(netlink_nexthop_decode(&m.h, &back, &deleted), 0);
	ck_assert_uint_eq(back.members[0].weight, 1);
	ck_assert_uint_eq(back.members[1].weight, ROUTE_WEIGHT_MAX);
}
END_TEST

START_TEST(flags_say_what_is_meant)
{
	struct nexthop_object o = hop("10.0.0.1", 3);
	netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_ADD, 0, &o);
	ck_assert_uint_eq(m.h.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_REPLACE, 0, &o);
	ck_assert_uint_eq(m.h.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE);
	netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_DELETE, 0, &o);
	ck_assert_uint_eq(m.h.nlmsg_type, RTM_DELNEXTHOP);
	netlink_nexthop_dump_request(&m, sizeof m, 0);
	ck_assert_uint_eq(m.h.nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	ck_assert_uint_eq(netlink_nexthop_dump_request(&m, sizeof m.h, 0), 0);
}
END_TEST

/* Also what is not understood takes up its number. */
START_TEST(what_is_not_understood_keeps_its_id)
{
	struct nexthop_object back;
	bool deleted;
	void *body;
	struct netlink_builder b = netlink_message_start(&m, sizeof m, RTM_NEWNEXTHOP, 0, 1, sizeof(struct nhmsg), &body);
	netlink_put_u32(&b, NHA_ID, 77);
	netlink_put(&b, NHA_FDB, NULL, 0);
	netlink_message_end(&b);
	ck_assert_int_eq(netlink_nexthop_decode(&m.h, &back, &deleted), ERR_UNSUPPORTED);
	ck_assert_uint_eq(back.id, 77);
	struct nexthop_object o = group(3);
	netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_ADD, 1, &o);
	((uint8_t *)m.bytes)[m.h.nlmsg_len - 3] = 1; /* a weight above 256 */
	ck_assert_int_eq(netlink_nexthop_decode(&m.h, &back, &deleted), ERR_UNSUPPORTED);
	m.h.nlmsg_type = RTM_NEWROUTE;
	ck_assert_int_eq(netlink_nexthop_decode(&m.h, &back, &deleted), ERR_CORRUPT);
}
END_TEST

START_TEST(torn_messages_are_corrupt)
{
	struct nexthop_object o = group(3), back;
	bool deleted;
	size_t len = netlink_nexthop_encode(&m, sizeof m, NETLINK_NEXTHOP_ADD, 1, &o);
	for (size_t n = sizeof m.h; n < len; n++) {
		m.h.nlmsg_len = (uint32_t)n;
		ck_assert_int_ne(netlink_nexthop_decode(&m.h, &back, &deleted), 0);
	}
}
END_TEST

START_TEST(a_route_refers_to_an_object)
{
	struct route r = {.mark = {.table = 254, .metric = 32, .protocol = 171}, .nexthop_id = 0x40000777}, back;
	bool deleted;
	ck_assert_int_eq(prefix_parse("10.244.8.0/24", &r.prefix), PREFIX_OK);
	for (r.nexthop_count = 0; r.nexthop_count < 2; r.nexthop_count++) { /* beside the id next hops are not said */
		r.nexthops[0] = (struct route_nexthop){.gateway = addr_from_v4(0x0a000001), .ifindex = 3, .weight = 1};
		ck_assert_uint_gt(netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_REPLACE, 1, &r), 0);
		ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), 0);
		ck_assert_uint_eq(back.nexthop_id, r.nexthop_id);
		ck_assert_uint_eq(back.nexthop_count, 0);
		ck_assert_uint_eq(((const struct rtmsg *)(m.bytes + sizeof m.h))->rtm_scope, RT_SCOPE_UNIVERSE);
	}
}
END_TEST

START_TEST(on_link_gateways_are_said_and_read)
{
	struct route r = {.mark = {.table = 254, .metric = 32, .protocol = 171}}, back;
	bool deleted;
	ck_assert_int_eq(prefix_parse("10.244.8.0/24", &r.prefix), PREFIX_OK);
	for (r.nexthop_count = 1; r.nexthop_count < 3; r.nexthop_count++) {
		for (unsigned i = 0; i < r.nexthop_count; i++)
			r.nexthops[i] = (struct route_nexthop){
				.gateway = addr_from_v4(0x0a000001 + i), .ifindex = 3, .weight = 1, .onlink = i == 0};
		netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_REPLACE, 1, &r);
		ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), 0);
		ck_assert_uint_eq(back.nexthop_count, r.nexthop_count);
		ck_assert(back.nexthops[0].onlink && !back.nexthops[1].onlink);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nexthop_msg");
	TCase *t = tcase_create("nexthop_msg");
	tcase_add_test(t, objects_go_round);
	tcase_add_test(t, what_no_kernel_takes_is_not_said);
	tcase_add_test(t, weights_stay_within_what_the_kernel_has);
	tcase_add_test(t, flags_say_what_is_meant);
	tcase_add_test(t, what_is_not_understood_keeps_its_id);
	tcase_add_test(t, torn_messages_are_corrupt);
	tcase_add_test(t, a_route_refers_to_an_object);
	tcase_add_test(t, on_link_gateways_are_said_and_read);
	suite_add_tcase(s, t);
	return run_suite(s);
}
