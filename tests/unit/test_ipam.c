/* ipam/: which addresses are given and in what order, lease records, and the store as several
 * processes use it, some of which are killed.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipam/store_io.h"
#include "src/base/err.h"
#include "tests/unit/run_suite.h"

static char dir[64]; /* of the running test; the store is dir/leases */
static char store_dir[80];

static void make_dir(void)
{
	strcpy(dir, "/tmp/underlay-ipam-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(store_dir, sizeof store_dir, "%s/leases", dir);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void remove_dir(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct prefix cidr(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), PREFIX_OK);
	return p;
}

static struct addr ip(const char *text)
{
	struct addr a;
	ck_assert(addr_parse(text, &a));
	return a;
}

/* --- the allocator */

static void check_range(const char *text, uint64_t total, const char *first, const char *second)
{
	struct prefix p = cidr(text);
	struct addr a = ipam_range_at(&p, 0), b = ip(first);
	ck_assert_uint_eq(ipam_range_total(&p), total);
	ck_assert_msg(addr_eq(&a, &b), "%s", text);
	ck_assert(ipam_range_usable(&p, &a));
	if (total > 1) {
		a = ipam_range_at(&p, 1);
		b = ip(second);
		ck_assert_msg(addr_eq(&a, &b), "%s", text);
	}
}

START_TEST(special_addresses_are_left_out)
{
	check_range("10.244.7.0/24", 254, "10.244.7.1", "10.244.7.2");
	check_range("10.244.0.0/16", 65534, "10.244.0.1", "10.244.0.2");
	check_range("10.244.7.8/30", 2, "10.244.7.9", "10.244.7.10");
	check_range("10.244.7.8/31", 2, "10.244.7.8", "10.244.7.9");
	check_range("10.244.7.9/32", 1, "10.244.7.9", NULL);
	check_range("0.0.0.0/0", UINT64_C(0xfffffffe), "0.0.0.1", "0.0.0.2");
	check_range("fd00::/64", UINT64_MAX, "fd00::1", "fd00::2");
	check_range("fd00::/120", 255, "fd00::1", "fd00::2");
	check_range("fd00::10/127", 2, "fd00::10", "fd00::11");
	check_range("fd00::10/128", 1, "fd00::10", NULL);
	struct prefix p = cidr("10.244.7.0/24");
	static const char *const unusable[] = {"10.244.7.0", "10.244.7.255", "10.244.8.1", "fd00::1"};
	for (size_t i = 0; i < sizeof unusable / sizeof unusable[0]; i++) {
		struct addr a = ip(unusable[i]);
		ck_assert_msg(!ipam_range_usable(&p, &a), "%s", unusable[i]);
	}
}
END_TEST

START_TEST(rest_is_counted_from_boot)
{
	ck_assert(!ipam_rested(1000, 1000, 60000));
	ck_assert(!ipam_rested(1000, 60999, 60000));
	ck_assert(ipam_rested(1000, 61000, 60000));
	ck_assert(ipam_rested(1000, 1000, 0));
	ck_assert(ipam_rested(0, 10, 60000));       /* never was in use */
	ck_assert(ipam_rested(999999, 1000, 60000)); /* before a reboot */
	ck_assert(!ipam_rested(1005, 1000, 60000));  /* another process's clock */
}
END_TEST

/* --- records */

static struct ipam_lease lease(const char *container)
{
	struct ipam_lease l = {.network = "underlay", .ifname = "eth0", .host_ifname = "ul00000000001",
			       .netns = "/run/netns/x", .pod = "default/web-0", .mac = {2, 1, 2, 3, 4, 5},
			       .since = 1700000000};
	snprintf(l.container, sizeof l.container, "%s", container);
	return l;
}

START_TEST(records_go_round_and_hostile_ones_are_refused)
{
	struct ipam_lease l = lease("c1"), back;
	uint8_t bytes[IPAM_LEASE_BYTES_MAX];
	l.addrs[0] = ip("10.244.7.1");
	l.addrs[1] = ip("fd00::1");
	l.addr_count = 2;
	memset(l.netns, 'n', sizeof l.netns - 1);
	memset(l.pod, 'p', sizeof l.pod - 1);
	size_t n = ipam_lease_encode(&l, bytes, sizeof bytes);
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(ipam_lease_encode(&l, bytes, n - 1), 0);
	ipam_lease_encode(&l, bytes, n);
	ck_assert_int_eq(ipam_lease_decode(bytes, n, &back), 0);
	ck_assert_mem_eq(&l, &back, sizeof l);
	for (size_t i = 0; i < n; i++) {
		uint8_t *cut = malloc(i ? i : 1);
		memcpy(cut, bytes, i);
		ck_assert_int_eq(ipam_lease_decode(cut, i, &back), ERR_CORRUPT);
		free(cut);
		uint8_t *flipped = malloc(n);
		memcpy(flipped, bytes, n);
		flipped[i] ^= 0xff;
		ipam_lease_decode(flipped, n, &back); /* must only not read beyond */
		free(flipped);
	}
	bytes[0] = 2;
	ck_assert_int_eq(ipam_lease_decode(bytes, n, &back), ERR_UNSUPPORTED);
	bytes[0] = 0;
	ck_assert_int_eq(ipam_lease_decode(bytes, n, &back), ERR_CORRUPT);
}
END_TEST

/* --- the store */

static struct ipam_store *open_store(void)
{
	struct ipam_store *s;
	ck_assert_int_eq(ipam_store_open(&s, store_dir, true), 0);
	return s;
}

struct pool {
	struct prefix cidrs[4];
	size_t count;
	int64_t now_ms, delay_ms;
};

static int take(struct ipam_store *s, const struct pool *p, const char *container, struct ipam_lease *out,
		struct ipam_shortage *shortage)
{
	struct ipam_lease wanted = lease(container);
	struct ipam_request r = {.wanted = &wanted, .cidrs = p->cidrs, .cidr_count = p->count, .now_ms = p->now_ms,
				 .reuse_delay_ms = p->delay_ms};
	return ipam_store_take(s, &r, out, shortage);
}

static void check_take(struct ipam_store *s, const struct pool *p, const char *container, const char *want)
{
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char text[ADDR_TEXT_MAX];
	ck_assert_int_eq(take(s, p, container, &l, &shortage), 0);
	ck_assert_str_eq(addr_format(&l.addrs[0], text), want);
}

static void release(struct ipam_store *s, const char *container, int64_t now_ms)
{
	ck_assert_int_eq(ipam_store_release(s, "underlay", container, "eth0", now_ms), 0);
}

START_TEST(fresh_addresses_first_then_the_longest_rested)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/29")}, .count = 1, .now_ms = 100000, .delay_ms = 60000};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	check_take(s, &p, "a", "10.244.7.1");
	check_take(s, &p, "b", "10.244.7.2");
	check_take(s, &p, "c", "10.244.7.3");
	release(s, "b", 100000);
	release(s, "a", 110000);
	check_take(s, &p, "d", "10.244.7.4"); /* not the one just freed */
	check_take(s, &p, "e", "10.244.7.5");
	check_take(s, &p, "f", "10.244.7.6");
	/* our clock was read before the one who freed last read his */
	ck_assert_int_eq(take(s, &p, "g", &l, &shortage), ERR_EXHAUSTED);
	ck_assert_uint_eq(shortage.total, 6);
	ck_assert_uint_eq(shortage.used, 4);
	ck_assert_uint_eq(shortage.resting, 2);
	ck_assert(prefix_eq(&shortage.cidr, &p.cidrs[0]));
	ck_assert_int_eq(ipam_store_find(s, "underlay", "g", "eth0", &l), ERR_NOT_FOUND);
	p.now_ms = 165000;
	check_take(s, &p, "g", "10.244.7.2");
	ck_assert_int_eq(take(s, &p, "h", &l, &shortage), ERR_EXHAUSTED);
	p.now_ms = 170000;
	check_take(s, &p, "h", "10.244.7.1");
	ipam_store_close(s);
}
END_TEST

START_TEST(an_address_that_was_never_used_does_not_rest)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.4/32")}, .count = 1, .now_ms = 1000, .delay_ms = 60000};
	for (int i = 0; i < 1000; i++) { /* a sandbox that fails again and again */
		check_take(s, &p, "a", "10.244.7.4");
		release(s, "a", 0);
	}
	ipam_store_close(s);
}
END_TEST

START_TEST(a_store_from_before_a_reboot_gives_all_its_addresses)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/31")}, .count = 1, .now_ms = 5000000, .delay_ms = 60000};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	check_take(s, &p, "a", "10.244.7.0");
	check_take(s, &p, "b", "10.244.7.1");
	release(s, "a", 5000000);
	release(s, "b", 1000);
	p.now_ms = 2000;
	check_take(s, &p, "c", "10.244.7.0"); /* freed at a time that this boot has not reached */
	ck_assert_int_eq(take(s, &p, "d", &l, &shortage), ERR_EXHAUSTED);
	ipam_store_close(s);
}
END_TEST

START_TEST(one_lease_an_owner)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/24"), cidr("fd00:7::/64")}, .count = 2, .now_ms = 1};
	struct ipam_lease first, again, found;
	struct ipam_shortage shortage;
	ck_assert_int_eq(take(s, &p, "a", &first, &shortage), 0);
	ck_assert_uint_eq(first.addr_count, 2);
	ck_assert(addr_is_v4(&first.addrs[0]) && !addr_is_v4(&first.addrs[1]));
	ck_assert_int_eq(take(s, &p, "a", &again, &shortage), ERR_EXISTS);
	ck_assert_mem_eq(&first, &again, sizeof first);
	ck_assert_int_eq(ipam_store_find(s, "underlay", "a", "eth0", &found), 0);
	ck_assert_mem_eq(&first, &found, sizeof first);
	ck_assert_int_eq(ipam_store_find(s, "other", "a", "eth0", &found), ERR_NOT_FOUND);
	ck_assert_int_eq(ipam_store_find_owner_any_network(s, "a", "eth0", &found), 0);
	ck_assert_str_eq(found.network, "underlay");
	/* neither a longer id, nor a shorter one, nor another interface is the same owner */
	ck_assert_int_eq(ipam_store_find_owner_any_network(s, "aa", "eth0", &found), ERR_NOT_FOUND);
	ck_assert_int_eq(ipam_store_find_owner_any_network(s, "a", "eth", &found), ERR_NOT_FOUND);
	ck_assert_int_eq(ipam_store_find_owner_any_network(s, "a", "eth01", &found), ERR_NOT_FOUND);
	strcpy(first.netns, "/run/netns/new");
	ck_assert_int_eq(ipam_store_update(s, &first), 0);
	ck_assert_int_eq(ipam_store_find(s, "underlay", "a", "eth0", &found), 0);
	ck_assert_str_eq(found.netns, "/run/netns/new");
	release(s, "a", 5);
	ck_assert_int_eq(ipam_store_release(s, "underlay", "a", "eth0", 6), ERR_NOT_FOUND);
	ck_assert_int_eq(ipam_store_update(s, &first), ERR_NOT_FOUND);
	ipam_store_close(s);
}
END_TEST

START_TEST(two_families_or_none)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/24"), cidr("fd00:7::1/128")}, .count = 2, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	check_take(s, &p, "a", "10.244.7.1");
	ck_assert_int_eq(take(s, &p, "b", &l, &shortage), ERR_EXHAUSTED);
	ck_assert(prefix_eq(&shortage.cidr, &p.cidrs[1]));
	p.count = 1;
	check_take(s, &p, "c", "10.244.7.2"); /* the failed one kept none */
	p.count = 0;
	ck_assert_int_eq(take(s, &p, "d", &l, &shortage), ERR_NOT_READY);
	ipam_store_close(s);
}
END_TEST

START_TEST(a_changed_cidr_keeps_what_is_leased)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/24")}, .count = 1, .now_ms = 1000, .delay_ms = 10};
	check_take(s, &p, "a", "10.244.7.1");
	check_take(s, &p, "b", "10.244.7.2");
	release(s, "a", 1000);
	p.cidrs[0] = cidr("10.244.7.0/30");
	struct ipam_lease l;
	struct ipam_shortage shortage;
	ck_assert_int_eq(take(s, &p, "c", &l, &shortage), ERR_EXHAUSTED); /* .2 is leased, .1 rests */
	p.now_ms = 1010;
	check_take(s, &p, "c", "10.244.7.1");
	p.cidrs[0] = cidr("10.244.9.0/24");
	release(s, "b", 1010);
	check_take(s, &p, "d", "10.244.9.1"); /* never one from outside */
	p.cidrs[1] = cidr("10.244.7.0/30");
	p.count = 2;
	check_take(s, &p, "e", "10.244.9.2");
	ipam_store_close(s);
}
END_TEST

static int count_one(void *arg, const struct ipam_lease *l)
{
	ck_assert_uint_eq(l->addr_count, 1);
	++*(int *)arg;
	return 0;
}

static int stop(void *arg, const struct ipam_lease *l)
{
	(void)arg;
	(void)l;
	return 42;
}

START_TEST(each_sees_every_lease)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.0.0/16")}, .count = 1, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char name[16];
	int n = 0;
	ck_assert_int_eq(ipam_store_each(s, count_one, &n), 0);
	ck_assert_int_eq(n, 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "c%d", i);
		ck_assert_int_eq(take(s, &p, name, &l, &shortage), 0);
	}
	ck_assert_int_eq(ipam_store_each(s, count_one, &n), 0);
	ck_assert_int_eq(n, 300);
	ck_assert_int_eq(ipam_store_each(s, stop, NULL), 42);
	ipam_store_close(s);
}
END_TEST

START_TEST(an_absent_store_is_told_from_a_damaged_one)
{
	struct ipam_store *s;
	char path[128], text[] = "this is not a lease store at all";
	ck_assert_int_eq(ipam_store_open(&s, store_dir, false), ERR_NOT_FOUND);
	ck_assert_ptr_null(s);
	ck_assert_int_eq(mkdir(store_dir, 0700), 0);
	ck_assert_int_eq(ipam_store_open(&s, store_dir, false), ERR_NOT_FOUND);
	snprintf(path, sizeof path, "%s/data.mdb", store_dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, text, sizeof text), sizeof text);
	close(fd);
	ck_assert_int_eq(ipam_store_open(&s, store_dir, true), ERR_CORRUPT);
	ck_assert_int_eq(ipam_store_open(&s, store_dir, false), ERR_CORRUPT);
}
END_TEST

START_TEST(a_store_that_was_cut_short_is_damaged)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.0.0/16")}, .count = 1, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char name[16], path[128];
	struct stat st;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "c%d", i);
		ck_assert_int_eq(take(s, &p, name, &l, &shortage), 0);
	}
	ipam_store_close(s);
	snprintf(path, sizeof path, "%s/data.mdb", store_dir);
	ck_assert_int_eq(stat(path, &st), 0);
	for (off_t size = st.st_size - 4096; size >= 8192; size -= 4096) {
		ck_assert_int_eq(truncate(path, size), 0);
		ck_assert_int_eq(ipam_store_open(&s, store_dir, true), ERR_CORRUPT);
	}
}
END_TEST

/* --- made anew */

static int fill_with(void *arg, struct ipam_store *s)
{
	struct ipam_lease *l = arg;
	int err = ipam_store_restore(s, l);
	if (!err) /* the same twice, and another owner of the address */
		ck_assert_int_eq(ipam_store_restore(s, l), ERR_EXISTS);
	struct ipam_lease other = *l;
	strcpy(other.container, "other");
	ck_assert_int_eq(ipam_store_restore(s, &other), ERR_EXISTS);
	return err;
}

static int fill_fails(void *arg, struct ipam_store *s)
{
	(void)s;
	return *(int *)arg;
}

static struct ipam_lease known_lease(void)
{
	struct ipam_lease l = {.network = "n", .container = "known", .ifname = "eth0", .addr_count = 1};
	l.addrs[0] = addr_from_v4(0x0af40001); /* 10.244.0.1 */
	return l;
}

START_TEST(a_damaged_store_is_made_anew)
{
	struct ipam_lease known = known_lease(), l;
	struct ipam_fill fill = {fill_with, &known};
	struct pool p = {.cidrs = {cidr("10.244.0.0/16")}, .count = 1, .now_ms = 1};
	struct ipam_shortage shortage;
	struct ipam_store *old, *s;
	char path[128];
	bool aside;
	old = open_store();
	ck_assert_int_eq(take(old, &p, "c1", &l, &shortage), 0);
	ipam_store_close(old);
	/* whole: nothing is asked for */
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, false, &(struct ipam_fill){fill_fails, NULL}, &aside), 0);
	ck_assert(!aside);
	ipam_store_close(s);
	old = open_store();
	snprintf(path, sizeof path, "%s/" IPAM_DAMAGE_MARK, store_dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, false, &fill, &aside), 0);
	ck_assert(aside);
	ck_assert_int_eq(ipam_store_find(s, "n", "known", "eth0", &l), 0);
	ck_assert_int_eq(ipam_store_find(s, "underlay", "c1", "eth0", &l), ERR_NOT_FOUND);
	/* who had the old one open learns of it before it changes anything */
	ck_assert_int_eq(ipam_store_lock_owner(old, "c1", "eth0", 0), -ESTALE);
	ck_assert_int_eq(ipam_store_lock_owner(s, "c1", "eth0", 0), 0);
	ck_assert_int_eq(take(s, &p, "c2", &l, &shortage), 0);
	ck_assert(!addr_eq(&l.addrs[0], &known.addrs[0]));
	ipam_store_close(old);
	ipam_store_close(s);
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, false, &fill, &aside), 0);
	ck_assert(!aside);
	ipam_store_close(s);
}
END_TEST

START_TEST(a_store_that_cannot_be_filled_is_not_there)
{
	struct ipam_lease known = known_lease(), l;
	struct ipam_fill fill = {fill_with, &known};
	struct ipam_store *s;
	int error = -EIO;
	bool aside;
	for (int i = 0; i < 2; i++) {
		struct ipam_fill fails = {fill_fails, &error};
		ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, true, &fails, &aside), -EIO);
		ck_assert_ptr_null(s);
		ck_assert_int_eq(ipam_store_open(&s, store_dir, false), ERR_NOT_FOUND);
	}
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, true, &fill, &aside), 0);
	ck_assert_int_eq(ipam_store_find(s, "n", "known", "eth0", &l), 0);
	ipam_store_close(s);
}
END_TEST

/* --- several processes */

static pid_t in_child(void (*fn)(int), int arg)
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	return pid;
}

static int fill_and_die(void *arg, struct ipam_store *s)
{
	ck_assert_int_eq(ipam_store_restore(s, arg), 0);
	_exit(0);
}

static void die_filling(int unused)
{
	struct ipam_lease first = known_lease();
	struct ipam_store *s;
	bool aside;
	(void)unused;
	strcpy(first.container, "first");
	first.addrs[0] = addr_from_v4(0x0af40002);
	ipam_store_open_or_make(&s, store_dir, true, &(struct ipam_fill){fill_and_die, &first}, &aside);
}

/* kill -9 in the middle: half of the leases are not taken for all of them. */
START_TEST(a_store_that_was_not_filled_to_the_end_is_made_anew)
{
	struct ipam_lease known = known_lease(), l;
	struct ipam_fill fill = {fill_with, &known};
	struct ipam_store *s;
	bool aside;
	ck_assert_int_gt(waitpid(in_child(die_filling, 0), NULL, 0), 0);
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, false, &fill, &aside), 0);
	ck_assert_int_eq(ipam_store_find(s, "n", "known", "eth0", &l), 0);
	ck_assert_int_eq(ipam_store_find(s, "n", "first", "eth0", &l), ERR_NOT_FOUND);
	ipam_store_close(s);
	ck_assert_int_eq(ipam_store_open_or_make(&s, store_dir, false, &(struct ipam_fill){fill_fails, NULL}, &aside), 0);
	ck_assert(!aside); /* whole from now on */
	ipam_store_close(s);
}
END_TEST

static void take_many(int which)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.0.0/16")}, .count = 1, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char name[32];
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "p%d-%d", which, i);
		if (take(s, &p, name, &l, &shortage) != 0)
			_exit(1);
	}
	ipam_store_close(s);
}

static int note_addr(void *arg, const struct ipam_lease *l)
{
	uint8_t *seen = arg;
	uint32_t n = addr_to_v4(&l->addrs[0]) & 0xffff;
	ck_assert_uint_eq(seen[n], 0);
	seen[n] = 1;
	seen[0]++; /* 10.244.0.0 is never given */
	return 0;
}

START_TEST(processes_never_share_an_address)
{
	pid_t pids[4];
	static uint8_t seen[65536];
	int status;
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < 4; i++)
		pids[i] = in_child(take_many, i);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	struct ipam_store *s = open_store();
	ck_assert_int_eq(ipam_store_each(s, note_addr, seen), 0);
	ck_assert_uint_eq(seen[0], 200);
	ipam_store_close(s);
}
END_TEST

static int hold_pipe[2];

static int tell_and_hang(void *arg, const struct ipam_lease *l)
{
	(void)arg;
	(void)l;
	if (write(hold_pipe[1], "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A reader that is killed in the middle of its look at the leases. */
static void read_and_hang(int unused)
{
	(void)unused;
	struct ipam_store *s = open_store();
	ipam_store_each(s, tell_and_hang, NULL);
}

static void take_for_ever(int which)
{
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.0.0.0/8")}, .count = 1, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char name[32];
	for (int i = 0;; i++) {
		snprintf(name, sizeof name, "k%d-%d", which, i);
		if (take(s, &p, name, &l, &shortage) != 0)
			_exit(1);
		if (ipam_store_release(s, "underlay", name, "eth0", 1) != 0)
			_exit(1);
		if (i == 0 && write(hold_pipe[1], "w", 1) != 1)
			_exit(1);
	}
}

static void wait_for_byte(void)
{
	char c;
	ck_assert_int_eq(read(hold_pipe[0], &c, 1), 1);
}

static void end(pid_t pid)
{
	int status;
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
}

START_TEST(readers_do_not_block_writers)
{
	ck_assert_int_eq(pipe(hold_pipe), 0);
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("10.244.7.0/24")}, .count = 1, .now_ms = 1};
	check_take(s, &p, "a", "10.244.7.1");
	ipam_store_close(s);
	pid_t reader = in_child(read_and_hang, 0);
	wait_for_byte();
	s = open_store();
	check_take(s, &p, "b", "10.244.7.2");
	release(s, "a", 1);
	end(reader);
	check_take(s, &p, "c", "10.244.7.3");
	ipam_store_close(s);
}
END_TEST

/* Writers are killed at whatever they do; the others go on, and what is there is whole. */
START_TEST(killed_writers_stop_nobody)
{
	ck_assert_int_eq(pipe(hold_pipe), 0);
	struct ipam_store *s = open_store();
	struct pool p = {.cidrs = {cidr("192.168.0.0/16")}, .count = 1, .now_ms = 1};
	struct ipam_lease l;
	struct ipam_shortage shortage;
	char name[32];
	for (int i = 0; i < 60; i++) {
		pid_t writer = in_child(take_for_ever, i);
		wait_for_byte();
		for (int j = 0; j < i % 7; j++) { /* both at once: the kill may hit the holder of the lock */
			snprintf(name, sizeof name, "m%d-%d", i, j);
			ck_assert_int_eq(take(s, &p, name, &l, &shortage), 0);
		}
		end(writer);
		snprintf(name, sizeof name, "m%d", i);
		ck_assert_int_eq(take(s, &p, name, &l, &shortage), 0);
	}
	int n = 0;
	ck_assert_int_eq(ipam_store_each(s, count_one, &n), 0);
	ck_assert_int_ge(n, 60);
	ipam_store_close(s);
	s = open_store();
	ipam_store_close(s);
}
END_TEST

static void lock_and_hang(int unused)
{
	(void)unused;
	struct ipam_store *s = open_store();
	if (ipam_store_lock_owner(s, "a", "eth0", 0) != 0 || write(hold_pipe[1], "l", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

START_TEST(an_owner_is_worked_on_by_one_process)
{
	ck_assert_int_eq(pipe(hold_pipe), 0);
	pid_t holder = in_child(lock_and_hang, 0);
	wait_for_byte();
	struct ipam_store *s = open_store();
	ck_assert_int_eq(ipam_store_lock_owner(s, "a", "eth0", 10), -EAGAIN);
	ck_assert_int_eq(ipam_store_lock_owner(s, "b", "eth0", 0), 0);
	end(holder);
	ck_assert_int_eq(ipam_store_lock_owner(s, "a", "eth0", 0), 0); /* it died with its holder */
	ipam_store_close(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ipam");
	TCase *pure = tcase_create("pure"), *store = tcase_create("store");
	suite_add_tcase(suite, pure);
	tcase_add_test(pure, special_addresses_are_left_out);
	tcase_add_test(pure, rest_is_counted_from_boot);
	tcase_add_test(pure, records_go_round_and_hostile_ones_are_refused);
	suite_add_tcase(suite, store);
	tcase_add_checked_fixture(store, make_dir, remove_dir);
	tcase_add_test(store, fresh_addresses_first_then_the_longest_rested);
	tcase_add_test(store, an_address_that_was_never_used_does_not_rest);
	tcase_add_test(store, a_store_from_before_a_reboot_gives_all_its_addresses);
	tcase_add_test(store, one_lease_an_owner);
	tcase_add_test(store, two_families_or_none);
	tcase_add_test(store, a_changed_cidr_keeps_what_is_leased);
	tcase_add_test(store, each_sees_every_lease);
	tcase_add_test(store, an_absent_store_is_told_from_a_damaged_one);
	tcase_add_test(store, a_store_that_was_cut_short_is_damaged);
	tcase_add_test(store, a_damaged_store_is_made_anew);
	tcase_add_test(store, a_store_that_cannot_be_filled_is_not_there);
	tcase_add_test(store, a_store_that_was_not_filled_to_the_end_is_made_anew);
	tcase_add_test(store, processes_never_share_an_address);
	tcase_add_test(store, readers_do_not_block_writers);
	tcase_add_test(store, killed_writers_stop_nobody);
	tcase_add_test(store, an_owner_is_worked_on_by_one_process);
	tcase_set_timeout(store, 120);
	return run_suite(suite);
}
