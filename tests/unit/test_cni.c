/* src/cni, the parts that need no kernel: what is asked, what is answered, what things are called. */
#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cni/attachments.h"
#include "src/cni/names.h"
#include "src/cni/request.h"
#include "src/cni/result.h"
#include "src/cni/settings.h"
#include "src/cni/wishes.h"
#include "tests/unit/run_suite.h"

static const struct cni_environment good = {
	.command = "ADD", .container = "c1", .netns = "/run/netns/x", .ifname = "eth0",
};
static const char config[] = "{\"cniVersion\":\"1.0.0\",\"name\":\"underlay\",\"type\":\"underlay\"}";

static int parse(const struct cni_environment *env, const char *text, struct cni_request *r, struct cni_error *e)
{
	*e = (struct cni_error){0};
	int err = cni_request_parse(env, text, strlen(text), r, e);
	ck_assert_int_eq(err, e->code * (err != 0));
	return err;
}

/* Parses and forgets: the code only; what the message must contain where it is not NULL. */
static int code_of(const struct cni_environment *env, const char *text, const char *words)
{
	struct cni_request r;
	struct cni_error e;
	int err = parse(env, text, &r, &e);
	cni_request_fini(&r);
	if (words)
		ck_assert_msg(strstr(e.msg, words) || strstr(e.details, words), "%s (%s) lacks \"%s\"", e.msg, e.details,
			      words);
	return err;
}

START_TEST(a_good_request_is_understood)
{
	struct cni_environment env = good;
	struct cni_request r;
	struct cni_error e;
	env.args = "IgnoreUnknown=1;K8S_POD_NAME=web-0;K8S_POD_UID=1;K8S_POD_NAMESPACE=shop;";
	ck_assert_int_eq(parse(&env, config, &r, &e), 0);
	ck_assert_int_eq(r.verb, CNI_ADD);
	ck_assert_str_eq(r.version, "1.0.0");
	ck_assert_str_eq(r.network, "underlay");
	ck_assert_str_eq(r.container, "c1");
	ck_assert_str_eq(r.pod, "shop/web-0");
	ck_assert_str_eq(r.run_dir, "/run/underlay");
	cni_request_fini(&r);
	env.args = "no pairs here;;=;K8S_POD_NAME";
	ck_assert_int_eq(parse(&env, config, &r, &e), 0);
	ck_assert_str_eq(r.pod, "");
	cni_request_fini(&r);
}
END_TEST

START_TEST(every_missing_variable_is_named)
{
	struct cni_environment env = {.command = "ADD"};
	ck_assert_int_eq(code_of(&env, config, "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"), 4);
	env = good;
	env.netns = "";
	ck_assert_int_eq(code_of(&env, config, "missing: CNI_NETNS"), 4);
	env.command = "CHECK";
	ck_assert_int_eq(code_of(&env, config, "missing: CNI_NETNS"), 4);
	env.command = "DEL";
	ck_assert_int_eq(code_of(&env, config, NULL), 0);
	env.ifname = NULL;
	ck_assert_int_eq(code_of(&env, config, "missing: CNI_IFNAME"), 4);
	env.command = NULL;
	ck_assert_int_eq(code_of(&env, config, "CNI_COMMAND"), 4);
	env.command = "RUN";
	ck_assert_int_eq(code_of(&env, config, "unknown CNI_COMMAND"), 4);
	env = (struct cni_environment){.command = "VERSION"};
	ck_assert_int_eq(code_of(&env, config, NULL), 0);
	ck_assert_int_eq(code_of(&env, "rubbish", NULL), 0);
}
END_TEST

START_TEST(bad_names_are_refused_with_their_value)
{
	static const char *const containers[] = {"-c", ".", "a/b", "a b", "a;b", "\xc3\xa4"};
	static const char *const ifnames[] = {".", "..", "a/b", "a:b", "a b", "a\tb", "sixteen-letters-"};
	char long_id[129];
	struct cni_environment env = good;
	for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
		env.container = containers[i];
		ck_assert_int_eq(code_of(&env, config, containers[i]), 4);
	}
	memset(long_id, 'a', sizeof long_id);
	long_id[128] = '\0';
	env.container = long_id;
	ck_assert_int_eq(code_of(&env, config, "126"), 4);
	env.container = long_id + 1;
	ck_assert_int_eq(code_of(&env, config, NULL), 0);
	env = good;
	for (size_t i = 0; i < sizeof ifnames / sizeof ifnames[0]; i++) {
		env.ifname = ifnames[i];
		ck_assert_int_eq(code_of(&env, config, ifnames[i]), 4);
		env.command = "DEL";
		ck_assert_int_eq(code_of(&env, config, ifnames[i]), 4);
		env.command = "ADD";
	}
	env.ifname = "fifteen-letters";
	ck_assert_int_eq(code_of(&env, config, NULL), 0);
}
END_TEST

START_TEST(bad_configurations_have_their_codes)
{
	static const struct {
		int code;
		const char *text, *words;
	} rows[] = {
		{6, "", "empty"},
		{6, "{\"cniVersion\":", "ends too early"},
		{6, "{\"a\":1}}", "standard input"},
		{6, "[]", "not one JSON object"},
		{6, "{'cniVersion':'1.0.0'}", "byte"},
		{1, "{\"cniVersion\":\"9.9.9\",\"name\":\"n\"}", "9.9.9"},
		{1, "{\"cniVersion\":\"1.0\",\"name\":\"n\"}", "supported"},
		{7, "{\"cniVersion\":1,\"name\":\"n\"}", "cniVersion"},
		{7, "{\"cniVersion\":\"1.0.0\"}", "\"name\""},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"a/b\"}", "a/b"},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"a\\u0000b\"}", "name"},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"type\":\"../x\"}", "type"},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"runDir\":\"relative\"}", "runDir"},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"runDir\":null}", "runDir"},
		{7, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"prevResult\":{}}", "prevResult"},
		{0, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"prevResult\":null,\"what\":[1]}", NULL},
		{0, "\xef\xbb\xbf{\"name\":\"n\"}\n\n", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		ck_assert_msg(code_of(&good, rows[i].text, rows[i].words) == rows[i].code, "%s", rows[i].text);
	char deep[201];
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	deep[200] = '\0';
	ck_assert_int_eq(code_of(&good, deep, "standard input"), 6);
}
END_TEST

START_TEST(del_takes_what_it_can_read)
{
	struct cni_environment env = good;
	struct cni_request r;
	struct cni_error e;
	env.command = "DEL";
	env.netns = NULL;
	ck_assert_int_eq(parse(&env, "not json", &r, &e), 0);
	ck_assert_str_eq(r.container, "c1");
	ck_assert_str_eq(r.run_dir, "/run/underlay");
	cni_request_fini(&r);
	ck_assert_int_eq(parse(&env, "{\"cniVersion\":\"9\",\"runDir\":\"/tmp/r\"}", &r, &e), 0);
	ck_assert_str_eq(r.run_dir, "/tmp/r");
	ck_assert_str_eq(r.version, "1.0.0");
	cni_request_fini(&r);
}
END_TEST

START_TEST(versions_and_check)
{
	struct cni_environment env = good;
	struct cni_request r;
	struct cni_error e;
	ck_assert_int_eq(parse(&env, "{\"name\":\"n\"}", &r, &e), 0);
	ck_assert_str_eq(r.version, "0.1.0");
	cni_request_fini(&r);
	env.command = "CHECK";
	ck_assert_int_eq(code_of(&env, "{\"name\":\"n\",\"cniVersion\":\"0.3.1\",\"prevResult\":{}}", "0.4.0"), 1);
	ck_assert_int_eq(code_of(&env, "{\"name\":\"n\",\"cniVersion\":\"0.4.0\"}", "prevResult"), 7);
	ck_assert_int_eq(code_of(&env, "{\"name\":\"n\",\"cniVersion\":\"0.4.0\",\"prevResult\":{}}", NULL), 0);
	/* an error is answered in the version of the question */
	ck_assert_int_eq(parse(&good, "{\"cniVersion\":\"0.3.1\"}", &r, &e), 7);
	ck_assert_str_eq(r.version, "0.3.1");
	cni_request_fini(&r);
}
END_TEST

START_TEST(status_and_gc_are_about_the_network)
{
	static const char *const commands[] = {"STATUS", "GC"};
	static const char network[] = "{\"name\":\"n\",\"cniVersion\":\"1.1.0\"}";
	struct cni_environment env = {.container = "", .netns = "", .ifname = ""};
	struct cni_request r;
	struct cni_error e;
	for (int i = 0; i < 2; i++) {
		env.command = commands[i];
		ck_assert_int_eq(parse(&env, network, &r, &e), 0);
		ck_assert_str_eq(r.network, "n");
		ck_assert_str_eq(r.container, "");
		cni_request_fini(&r);
		ck_assert_int_eq(code_of(&env, "{\"name\":\"n\",\"cniVersion\":\"1.0.0\"}", commands[i]), 1);
		ck_assert_int_eq(code_of(&env, "{\"name\":\"n\",\"cniVersion\":\"1.0.0\"}", "1.1.0 or later"), 1);
		ck_assert_int_eq(code_of(&env, "{\"cniVersion\":\"1.1.0\"}", "\"name\""), 7);
	}
}
END_TEST

static int attachments_code(const char *list, struct cni_request *r, struct cni_error *e)
{
	char text[300];
	struct cni_environment env = {.command = "GC"};
	snprintf(text, sizeof text, "{\"name\":\"n\",\"cniVersion\":\"1.1.0\"%s}", list);
	ck_assert_int_eq(parse(&env, text, r, e), 0);
	return cni_attachments_check(r, e);
}

START_TEST(what_gc_keeps)
{
#define VALID ",\"cni.dev/valid-attachments\":"
	static const char *const wrong[] = {"", VALID "{}", VALID "3", VALID "[1]", VALID "[null]", VALID "[{}]",
					    VALID "[{\"containerID\":\"a\"}]",
					    VALID "[{\"containerID\":\"a\",\"ifname\":7}]"};
	static const char *const nothing[] = {VALID "null", VALID "[]", ",\"cni.dev/attachments\":null"};
	struct cni_request r;
	struct cni_error e;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ck_assert_msg(attachments_code(wrong[i], &r, &e) == 7, "%s", wrong[i]);
		cni_request_fini(&r);
	}
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		ck_assert_msg(attachments_code(nothing[i], &r, &e) == 0, "%s", nothing[i]);
		ck_assert(!cni_attachments_have(&r, "a", "eth0"));
		cni_request_fini(&r);
	}
	ck_assert_int_eq(attachments_code(VALID "[{\"containerID\":\"a\",\"ifname\":\"eth0\"},"
					  "{\"containerID\":\"b\",\"ifname\":\"eth1\",\"more\":1}]", &r, &e), 0);
	ck_assert(cni_attachments_have(&r, "a", "eth0") && cni_attachments_have(&r, "b", "eth1"));
	ck_assert(!cni_attachments_have(&r, "a", "eth1") && !cni_attachments_have(&r, "c", "eth0"));
	cni_request_fini(&r);
}
END_TEST

/* --- what is asked for */

static int wishes_of(const char *config_part, const char *args, struct cni_wishes *out, struct cni_error *e)
{
	struct cni_environment env = good;
	struct cni_request r;
	char text[512];
	env.args = args;
	snprintf(text, sizeof text, "{\"cniVersion\":\"1.0.0\",\"name\":\"n\"%s}", config_part);
	ck_assert_int_eq(parse(&env, text, &r, e), 0);
	int err = cni_wishes_parse(&r, out, e);
	cni_request_fini(&r);
	return err;
}

START_TEST(addresses_and_macs_are_asked_for_in_three_places)
{
#define RUNTIME ",\"runtimeConfig\":{\"ips\":[\"10.0.0.1\",\"fd00::1/64\"],\"mac\":\"02:00:00:00:00:01\"}"
#define CAPITAL ",\"runtimeConfig\":{\"Ips\":[\"10.0.0.1/24\",\"fd00::1\"],\"MAC\":\"02:00:00:00:00:01\"}"
#define ARGS ",\"args\":{\"cni\":{\"ips\":[\"10.0.0.2\"],\"mac\":\"02:00:00:00:00:02\"}}"
	static const struct {
		const char *config, *env, *first;
		unsigned count;
		uint8_t mac; /* its last byte; 0: none */
	} rows[] = {
		{"", NULL, "", 0, 0},
		{"", "IgnoreUnknown=1;K8S_POD_NAME=x", "", 0, 0},
		{RUNTIME, NULL, "10.0.0.1", 2, 1},
		{CAPITAL, NULL, "10.0.0.1", 2, 1},
		{ARGS, NULL, "10.0.0.2", 1, 2},
		{"", "IP=10.0.0.3;MAC=02:00:00:00:00:03", "10.0.0.3", 1, 3},
		{"", "IP=fd00::3/128", "fd00::3", 1, 0},
		{RUNTIME ARGS, "IP=10.0.0.3;MAC=02:00:00:00:00:03", "10.0.0.1", 2, 1},
		{ARGS, "IP=10.0.0.3;MAC=02:00:00:00:00:03", "10.0.0.2", 1, 2},
		{",\"runtimeConfig\":{\"ips\":[],\"mac\":\"\"}", "IP=10.0.0.3", "10.0.0.3", 1, 0},
		{",\"runtimeConfig\":null,\"args\":3", NULL, "", 0, 0},
	};
	struct cni_wishes w;
	struct cni_error e;
	char text[ADDR_TEXT_MAX];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert_msg(wishes_of(rows[i].config, rows[i].env, &w, &e) == 0, "row %zu: %s", i, e.msg);
		ck_assert_uint_eq(w.addr_count, rows[i].count);
		ck_assert_str_eq(w.addr_count ? addr_format(&w.addrs[0], text) : "", rows[i].first);
		ck_assert_int_eq(w.has_mac ? w.mac[5] : 0, rows[i].mac);
	}
}
END_TEST

START_TEST(a_wish_that_is_none_is_named)
{
	static const struct {
		const char *config, *env, *words;
		int code;
	} rows[] = {
		{",\"runtimeConfig\":{\"ips\":\"10.0.0.1\"}", NULL, "runtimeConfig.ips: expected a list", 7},
		{",\"runtimeConfig\":{\"ips\":[7]}", NULL, "runtimeConfig.ips", 7},
		{",\"runtimeConfig\":{\"ips\":[\"10.0.0\"]}", NULL, "\"10.0.0\"", 7},
		{",\"runtimeConfig\":{\"ips\":[\"224.0.0.1\"]}", NULL, "unicast", 7},
		{",\"runtimeConfig\":{\"ips\":[\"10.0.0.1/33\"]}", NULL, "10.0.0.1/33", 7},
		{",\"runtimeConfig\":{\"ips\":[\"10.0.0.1\",\"10.0.0.2\"]}", NULL, "second address", 7},
		{",\"args\":{\"cni\":{\"mac\":\"03:00:00:00:00:01\"}}", NULL, "args.cni.mac", 7},
		{",\"args\":{\"cni\":{\"mac\":\"00:00:00:00:00:00\"}}", NULL, "unicast MAC", 7},
		{",\"args\":{\"cni\":{\"mac\":\"02:00:00:00:00\"}}", NULL, "args.cni.mac", 7},
		{"", "IP=ten", "IP in CNI_ARGS: \"ten\"", 4},
		{"", "MAC=x", "MAC in CNI_ARGS: \"x\"", 4},
	};
	struct cni_wishes w;
	struct cni_error e;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert_msg(wishes_of(rows[i].config, rows[i].env, &w, &e) == rows[i].code, "row %zu", i);
		ck_assert_msg(strstr(e.msg, rows[i].words) != NULL, "row %zu: %s", i, e.msg);
	}
}
END_TEST

/* --- the daemon's settings */

START_TEST(settings_are_read_or_explained)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"", "empty"},
		{"{\"version\":1}", "cidrs"},
		{"{\"version\":1,\"cidrs\":[]}", "no pod CIDR yet"},
		{"{\"version\":2,\"cidrs\":[\"10.0.0.0/24\"]}", "version 2"},
		{"{\"cidrs\":[\"10.0.0.0/24\"]}", "version 0"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\",\"10.0.0.1/24\"]}", "cidrs[1]"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0\"]}", "cidrs[0]"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\"],\"mtu\":70000}", "mtu"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\"],\"table\":\"main\"}", "table"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\"],\"reuse_delay_s\":-1}", "reuse_delay_s"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\"],\"vrf\":7}", "vrf"},
		{"{\"version\":1,\"cidrs\":[\"10.0.0.0/24\"],\"vrf\":\"sixteen-letters-\"}", "vrf"},
	};
	struct cni_settings s;
	struct cni_error e;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		ck_assert_int_eq(cni_settings_parse("F", bad[i].text, strlen(bad[i].text), &s, &e), 11);
		ck_assert_msg(strstr(e.msg, bad[i].words) && e.msg[0] == 'F', "%s", e.msg);
	}
	const char *text = "{\"version\":1,\"cidrs\":[\"10.244.7.0/24\",\"fd00::/64\"],\"mtu\":1450,\"reuse_delay_s\":5,"
			   "\"table\":100000,\"protocol\":200,\"vrf\":\"red\",\"later\":{}}";
	ck_assert_int_eq(cni_settings_parse("F", text, strlen(text), &s, &e), 0);
	ck_assert_uint_eq(s.cidr_count, 2);
	ck_assert_uint_eq(s.mtu, 1450);
	ck_assert_uint_eq(s.table, 100000);
	ck_assert_uint_eq(s.protocol, 200);
	ck_assert_int_eq(s.reuse_delay_ms, 5000);
	ck_assert_str_eq(s.vrf, "red");
	text = "{\"version\":1,\"cidrs\":[\"10.244.7.0/24\"]}";
	ck_assert_int_eq(cni_settings_parse("F", text, strlen(text), &s, &e), 0);
	ck_assert(s.mtu == 0 && s.table == 254 && !s.vrf[0] && s.protocol == 171 && s.reuse_delay_ms == 60000);
}
END_TEST

/* --- names */

START_TEST(names_follow_from_the_container)
{
	char a[CNI_NAME_MAX], b[CNI_NAME_MAX], alias[CNI_ALIAS_MAX];
	uint8_t host[CNI_MAC_LEN], pod[CNI_MAC_LEN];
	/* fixed for ever: devices of an older release must be found. */
	cni_host_ifname("c1", "eth0", 0, a);
	ck_assert_str_eq(a, "ulf812e5b5217");
	ck_assert_uint_eq(strlen(a), 13);
	cni_host_ifname("c1", "eth0", 1, b);
	ck_assert_str_ne(a, b);
	cni_host_ifname("c1", "eth1", 0, b);
	ck_assert_str_ne(a, b);
	cni_host_ifname("c1e", "th0", 0, b);
	ck_assert_str_ne(a, b);
	cni_host_ifname("0123456789ab-one", "eth0", 0, a);
	cni_host_ifname("0123456789ab-two", "eth0", 0, b);
	ck_assert_str_ne(a, b);
	cni_mac("c1", "eth0", CNI_HOST_END, host);
	cni_mac("c1", "eth0", CNI_POD_END, pod);
	ck_assert_mem_ne(host, pod, CNI_MAC_LEN);
	ck_assert_uint_eq(host[0] & 3, 2);
	ck_assert_uint_eq(pod[0] & 3, 2);
	cni_alias("net", "c1", "eth0", alias);
	ck_assert_str_eq(alias, "underlay net/c1/eth0");
	ck_assert(cni_alias_matches(alias, "c1", "eth0"));
	ck_assert(cni_alias_matches("underlay other/c1/eth0", "c1", "eth0"));
	ck_assert(!cni_alias_matches(alias, "c1", "eth"));
	ck_assert(!cni_alias_matches(alias, "c", "eth0"));
	ck_assert(!cni_alias_matches(alias, "c11", "eth0"));
	ck_assert(!cni_alias_matches("underlay c1/eth0", "c1", "eth0"));
	char network[64], container[128], ifname[CNI_NAME_MAX];
	static const char *const foreign[] = {"", "underlay", "underlay ", "underlay a/b", "underlay a//eth0", "underlay a/b/",
					      "underlay a/b/c/d", "other a/b/eth0", "underlay a/b/longer-than-fifteen"};
	ck_assert(cni_alias_parse(alias, network, container, ifname));
	ck_assert_str_eq(network, "net");
	ck_assert_str_eq(container, "c1");
	ck_assert_str_eq(ifname, "eth0");
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		ck_assert_msg(!cni_alias_parse(foreign[i], network, container, ifname), "%s", foreign[i]);
	ck_assert(!cni_alias_matches("", "c1", "eth0"));
}
END_TEST

/* --- answers */

static struct ipam_lease two_addresses(void)
{
	struct ipam_lease l = {.addr_count = 2};
	ck_assert(addr_parse("10.244.7.9", &l.addrs[0]));
	ck_assert(addr_parse("fd00::9", &l.addrs[1]));
	return l;
}

static char *result_of(const char *version)
{
	static const uint8_t host[6] = {2, 0, 0, 0, 0, 1}, pod[6] = {2, 0, 0, 0, 0, 2};
	struct ipam_lease l = two_addresses();
	struct cni_result r = {.version = version, .host_ifname = "ul1", .ifname = "eth0", .netns = "/run/netns/x",
			       .host_mac = host, .mac = pod, .lease = &l};
	char *text = cni_result_text(&r);
	ck_assert_ptr_nonnull(text);
	return text;
}

static void check_result(const char *version, const char *want)
{
	char *text = result_of(version);
	ck_assert_str_eq(text, want);
	free(text);
}

#define INTERFACES \
	"\"interfaces\":[{\"name\":\"ul1\",\"mac\":\"02:00:00:00:00:01\"},{\"name\":\"eth0\",\"mac\":" \
	"\"02:00:00:00:00:02\",\"sandbox\":\"/run/netns/x\"}],"
#define ROUTES \
	"\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":\"169.254.1.1\"},{\"dst\":\"::/0\",\"gw\":\"fe80::1\"}],\"dns\":{}}"
#define OLD \
	"\"ip4\":{\"ip\":\"10.244.7.9/32\",\"gateway\":\"169.254.1.1\",\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":" \
	"\"169.254.1.1\"}]},\"ip6\":{\"ip\":\"fd00::9/128\",\"gateway\":\"fe80::1\",\"routes\":[{\"dst\":\"::/0\"," \
	"\"gw\":\"fe80::1\"}]},\"dns\":{}}"
#define IP4 "\"address\":\"10.244.7.9/32\",\"gateway\":\"169.254.1.1\",\"interface\":1}"
#define IP6 "\"address\":\"fd00::9/128\",\"gateway\":\"fe80::1\",\"interface\":1}"

START_TEST(results_have_the_shape_of_their_version)
{
	check_result("0.1.0", "{\"cniVersion\":\"0.1.0\"," OLD);
	check_result("0.2.0", "{\"cniVersion\":\"0.2.0\"," OLD);
	check_result("0.3.0", "{\"cniVersion\":\"0.3.0\"," INTERFACES "\"ips\":[{\"version\":\"4\"," IP4
			      ",{\"version\":\"6\"," IP6 "]," ROUTES);
	check_result("0.3.1", "{\"cniVersion\":\"0.3.1\"," INTERFACES "\"ips\":[{\"version\":\"4\"," IP4
			      ",{\"version\":\"6\"," IP6 "]," ROUTES);
	check_result("0.4.0", "{\"cniVersion\":\"0.4.0\"," INTERFACES "\"ips\":[{\"version\":\"4\"," IP4
			      ",{\"version\":\"6\"," IP6 "]," ROUTES);
	check_result("1.0.0", "{\"cniVersion\":\"1.0.0\"," INTERFACES "\"ips\":[{" IP4 ",{" IP6 "]," ROUTES);
}
END_TEST

START_TEST(errors_and_versions_are_json)
{
	struct cni_error e;
	cni_fail(&e, CNI_TRY_AGAIN, "a \"quoted\" thing");
	char *text = cni_error_text("0.4.0", &e);
	ck_assert_str_eq(text, "{\"cniVersion\":\"0.4.0\",\"code\":11,\"msg\":\"a \\\"quoted\\\" thing\"}");
	free(text);
	cni_fail_details(&e, "more");
	text = cni_error_text("0.4.0", &e);
	ck_assert_ptr_nonnull(strstr(text, "\"details\":\"more\""));
	free(text);
	text = cni_version_text("1.0.0");
	ck_assert_str_eq(text, "{\"cniVersion\":\"1.0.0\",\"supportedVersions\":[\"0.1.0\",\"0.2.0\",\"0.3.0\","
			       "\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}");
	free(text);
}
END_TEST

static int prev_of(const char *text, struct cni_prev *out)
{
	struct cni_error e = {0};
	struct json_object *o = json_tokener_parse(text);
	ck_assert_msg(o != NULL, "%s", text);
	int err = cni_prev_parse(o, "eth0", out, &e);
	json_object_put(o);
	return err;
}

START_TEST(our_own_results_are_read_back)
{
	static const char *const versions[] = {"0.4.0", "1.0.0"};
	struct ipam_lease l = two_addresses();
	struct cni_prev p;
	for (int i = 0; i < 2; i++) {
		char *text = result_of(versions[i]);
		ck_assert_int_eq(prev_of(text, &p), 0);
		ck_assert(p.has_mac && p.mac[5] == 2);
		ck_assert_uint_eq(p.addr_count, 2);
		ck_assert(addr_eq(&p.addrs[0], &l.addrs[0]) && addr_eq(&p.addrs[1], &l.addrs[1]));
		ck_assert_uint_eq(p.route_count, 2);
		free(text);
	}
}
END_TEST

START_TEST(foreign_results_are_taken_leniently)
{
	struct cni_prev p;
	ck_assert_int_eq(prev_of("{}", &p), 0);
	ck_assert_int_eq(prev_of("{\"interfaces\":null,\"ips\":null,\"routes\":null,\"dns\":{}}", &p), 0);
	ck_assert(!p.has_mac && !p.addr_count && !p.route_count);
	ck_assert_int_eq(prev_of("{\"ips\":[{\"address\":\"10.0.0.1/24\"}],\"routes\":[{\"dst\":\"10.1.0.0/16\"}]}", &p), 0);
	ck_assert(p.addr_count == 1 && p.route_count == 1 && !p.routes[0].gateway.b[15]);
	/* an address of another interface is not ours to check */
	ck_assert_int_eq(prev_of("{\"interfaces\":[{\"name\":\"eth0\",\"sandbox\":\"x\"},"
				 "{\"name\":\"net1\",\"sandbox\":\"x\"}],"
				 "\"ips\":[{\"address\":\"10.0.0.1/24\",\"interface\":1}]}", &p), 0);
	ck_assert_uint_eq(p.addr_count, 0);
	ck_assert_int_eq(prev_of("[]", &p), 6);
	ck_assert_int_eq(prev_of("{\"ips\":[{\"address\":\"10.0.0\"}]}", &p), 6);
	ck_assert_int_eq(prev_of("{\"ips\":[7]}", &p), 6);
	ck_assert_int_eq(prev_of("{\"ips\":[{\"address\":\"10.0.0.1/32\",\"interface\":0}]}", &p), 6);
	ck_assert_int_eq(prev_of("{\"routes\":[{\"dst\":\"all\"}]}", &p), 6);
	ck_assert_int_eq(prev_of("{\"interfaces\":[{\"name\":\"eth0\"}]}", &p), 101);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cni");
	TCase *t = tcase_create("cni");
	suite_add_tcase(suite, t);
	tcase_add_test(t, a_good_request_is_understood);
	tcase_add_test(t, every_missing_variable_is_named);
	tcase_add_test(t, bad_names_are_refused_with_their_value);
	tcase_add_test(t, bad_configurations_have_their_codes);
	tcase_add_test(t, del_takes_what_it_can_read);
	tcase_add_test(t, versions_and_check);
	tcase_add_test(t, status_and_gc_are_about_the_network);
	tcase_add_test(t, what_gc_keeps);
	tcase_add_test(t, addresses_and_macs_are_asked_for_in_three_places);
	tcase_add_test(t, a_wish_that_is_none_is_named);
	tcase_add_test(t, settings_are_read_or_explained);
	tcase_add_test(t, names_follow_from_the_container);
	tcase_add_test(t, results_have_the_shape_of_their_version);
	tcase_add_test(t, errors_and_versions_are_json);
	tcase_add_test(t, our_own_results_are_read_back);
	tcase_add_test(t, foreign_results_are_taken_leniently);
	return run_suite(suite);
}
