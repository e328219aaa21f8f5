/* conf/: what may be asked of the routes to and from a peer: other AS numbers, route reflectors, next hops. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "tests/unit/run_suite.h"

#define HEAD "node: {name: n1, asn: 64701, cluster-id: 10.9.9.9}\npods: {cluster-cidrs: [10.244.0.0/16]}\npeers:\n"

static struct conf *load(const char *peers)
{
	char text[2048];
	struct conf_errors errors = {0};
	snprintf(text, sizeof text, HEAD "%s", peers);
	struct conf *c = conf_load_text(text, strlen(text), "host", &errors);
	ck_assert_msg(c != NULL, "%s: %s", peers, errors.count ? errors.at[0].text : "");
	conf_errors_fini(&errors);
	return c;
}

START_TEST(values_arrive)
{
	struct conf *c = load("  - {address: 10.0.0.1, asn: 6}\n"
			      "  - {address: 10.0.0.2, asn: 6, local-as: 4200000000, allow-own-as: 10, as-override: true, remove-private-as: true}\n"
			      "  - {address: 10.0.0.3, asn: internal, next-hop-self: true, route-reflector-client: true}\n"
			      "  - {address: 10.0.0.4, asn: 6, local-as: 6, route-reflector-client: true}\n"
			      "  - {address: 10.0.0.5, asn: 64701, local-as: 6, as-override: true}\n");
	const struct conf_peer *p = c->peers;
	ck_assert_uint_eq(c->node.cluster_id, 0x0a090909);
	ck_assert(!p[0].local_as && !p[0].allow_own_as && !p[0].as_override && !p[0].remove_private_as);
	ck_assert(!p[0].next_hop_self && !p[0].route_reflector_client);
	ck_assert_uint_eq(p[1].local_as, 4200000000);
	ck_assert_uint_eq(p[1].allow_own_as, 10);
	ck_assert(p[1].as_override && p[1].remove_private_as);
	ck_assert(p[2].next_hop_self && p[2].route_reflector_client);
	conf_free(c);
}
END_TEST

static const struct {
	const char *keys, *path, *text;
} bad[] = {
	{"asn: 6, local-as: 0", "peers[0].local-as", "an AS number from 1"},
	{"asn: 6, allow-own-as: 11", "peers[0].allow-own-as", "a number from 0 to 10"},
	{"asn: 6, allow-own-as: true", "peers[0].allow-own-as", "a number from 0 to 10"},
	{"asn: 6, as-override: 1", "peers[0].as-override", "true or false"},
	{"asn: 6, route-reflector-client: true", "peers[0].route-reflector-client", "only for an internal peer"},
	{"asn: external, route-reflector-client: true", "peers[0].route-reflector-client", "only for an internal peer"},
	{"asn: 64701, local-as: 6, route-reflector-client: true", "peers[0].route-reflector-client", "only for an internal peer"},
	{"asn: 64701, as-override: true", "peers[0].as-override", "only for an external peer"},
	{"asn: internal, remove-private-as: true", "peers[0].remove-private-as", "only for an external peer"},
	{"asn: 6, local-as: 6, remove-private-as: true", "peers[0].remove-private-as", "only for an external peer"},
	{"asn: 6, blackhole: maybe", "peers[0].blackhole", "true or false"},
	{"asn: 6, allowas-in: 1", "peers[0].allowas-in", "did you mean peers[].allow-own-as?"},
	{"asn: 6, rr-client: true", "peers[0].rr-client", "did you mean peers[].route-reflector-client?"},
};

START_TEST(mistakes_are_named)
{
	char text[512];
	struct conf_errors errors = {0};
	snprintf(text, sizeof text, HEAD "  - {address: 10.0.0.1, %s}\n", bad[_i].keys);
	struct conf *c = conf_load_text(text, strlen(text), "host", &errors);
	ck_assert_ptr_null(c);
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(errors.at[0].path, bad[_i].path);
	ck_assert_msg(strstr(errors.at[0].text, bad[_i].text) != NULL, "%s", errors.at[0].text);
	conf_errors_fini(&errors);
}
END_TEST

/* Where nothing says what the cluster is. */
static void check_without_cluster(const char *keys, const char *path, const char *error)
{
	char text[256];
	struct conf_errors errors = {0};
	snprintf(text, sizeof text, "node: {name: n1, asn: 64701}\npeers:\n  - {address: 10.0.0.1, %s}\n", keys);
	ck_assert_ptr_null(conf_load_text(text, strlen(text), "host", &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(errors.at[0].path, path);
	ck_assert_msg(strstr(errors.at[0].text, error) != NULL, "%s", errors.at[0].text);
	conf_errors_fini(&errors);
}

START_TEST(some_need_the_cluster)
{
	check_without_cluster("asn: 6, import: all, blackhole: true", "peers[0].blackhole", "needs pods.cluster-cidrs");
	check_without_cluster("asn: internal, route-reflector-client: true", "peers[0].import", "which routes this client may send");
}
END_TEST

/* What needs a new session, and what can change under one. */
START_TEST(some_settings_make_another_session)
{
	static const struct {
		const char *keys;
		bool same;
	} changes[] = {
		{"local-as: 5", false}, {"allow-own-as: 1", true}, {"as-override: true", true},
		{"remove-private-as: true", true}, {"next-hop-self: true", true},
		{"graceful-shutdown: true", true}, {"blackhole: true", true},
	};
	struct conf *a = load("  - {address: 10.0.0.1, asn: 6}\n");
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		char peer[128];
		snprintf(peer, sizeof peer, "  - {address: 10.0.0.1, asn: 6, %s}\n", changes[i].keys);
		struct conf *b = load(peer);
		ck_assert_msg(conf_peer_same(&a->peers[0], &b->peers[0]) == changes[i].same, "%s", changes[i].keys);
		conf_free(b);
	}
	conf_free(a);
	a = load("  - {address: 10.0.0.1, asn: internal}\n");
	struct conf *b = load("  - {address: 10.0.0.1, asn: internal, route-reflector-client: true}\n");
	ck_assert(!conf_peer_same(&a->peers[0], &b->peers[0]));
	conf_free(a);
	conf_free(b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conf_ways");
	TCase *t = tcase_create("conf_ways");
	suite_add_tcase(suite, t);
	tcase_add_test(t, values_arrive);
	tcase_add_loop_test(t, mistakes_are_named, 0, (int)(sizeof bad / sizeof *bad));
	tcase_add_test(t, some_need_the_cluster);
	tcase_add_test(t, some_settings_make_another_session);
	return run_suite(suite);
}
