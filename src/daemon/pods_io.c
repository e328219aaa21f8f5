#include "src/daemon/pods_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipam/store_io.h"
#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/kernel_home_io.h"

/* --- reading the leases
 *
 * LMDB trusts the pages that it maps: one that was damaged is a SIGBUS, or a walk without end. So a child reads the
 * store and hands over the leases, and what becomes of it is an error like any other.
 */

enum { READ_LIMIT_MS = 2000, CHILD_FAILED = 1 };

struct handover {
	uint16_t len; /* of the lease that follows; 0: the end, error says how it went */
	int16_t error;
};

static int write_lease(void *fd, const struct ipam_lease *l)
{
	uint8_t buf[sizeof(struct handover) + IPAM_LEASE_BYTES_MAX];
	struct handover h = {.len = (uint16_t)ipam_lease_encode(l, buf + sizeof h, IPAM_LEASE_BYTES_MAX)};
	memcpy(buf, &h, sizeof h);
	size_t len = sizeof h + h.len;
	return write(*(int *)fd, buf, len) == (ssize_t)len ? 0 : -EPIPE;
}

static void child(const char *dir, int fd)
{
	struct ipam_store *store;
	int error = ipam_store_open(&store, dir, false);
	if (error == ERR_NOT_FOUND || error == -ENOENT)
		error = 0;
	else if (!error)
		error = ipam_store_each(store, write_lease, &fd);
	struct handover end = {.error = (int16_t)error};
	_exit(write(fd, &end, sizeof end) == sizeof end ? 0 : CHILD_FAILED);
}

/* Exactly len bytes before the deadline. */
static bool read_all(int fd, void *buf, size_t len, struct tick deadline)
{
	uint8_t *p = buf;
	while (len) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left = deadline.ms - clock_now().ms;
		if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
			return false;
		ssize_t n = read(fd, p, len);
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static int take_leases(int fd, int (*fn)(void *arg, const struct ipam_lease *l), void *arg)
{
	struct tick deadline = tick_after(clock_now(), READ_LIMIT_MS);
	uint8_t buf[IPAM_LEASE_BYTES_MAX];
	struct handover h;
	struct ipam_lease l;
	while (read_all(fd, &h, sizeof h, deadline)) {
		if (h.len == 0)
			return h.error;
		if (h.len > sizeof buf || !read_all(fd, buf, h.len, deadline) || ipam_lease_decode(buf, h.len, &l))
			break;
		int answer = fn(arg, &l);
		if (answer)
			return answer;
	}
	return ERR_CORRUPT; /* the child died, or found no end */
}

int pods_each(const struct daemon *d, int (*fn)(void *arg, const struct ipam_lease *l), void *arg)
{
	char dir[256];
	int ends[2];
	snprintf(dir, sizeof dir, "%s/leases", d->conf->run_dir);
	if (access(dir, F_OK) < 0)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		static const int deadly[] = {SIGPIPE, SIGBUS, SIGSEGV, SIGABRT};
		for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
			signal(deadly[i], SIG_DFL); /* it just dies: that is what it is for */
		prctl(PR_SET_DUMPABLE, 0);
		child(dir, ends[1]);
	}
	int error = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (!error)
		error = take_leases(ends[0], fn, arg);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL); /* where it is not done by now */
		waitpid(pid, NULL, 0);
	}
	return error;
}

static bool find_link(struct netlink_socket *s, const char *name, struct netlink_link *out)
{
	return *name && kernel_ask_link_named(s, name, out);
}

struct search {
	const struct addr *address;
	struct ipam_lease *out;
	bool found;
};

static int is_it(void *arg, const struct ipam_lease *l)
{
	struct search *s = arg;
	for (unsigned i = 0; i < l->addr_count && !s->found; i++)
		s->found = addr_eq(&l->addrs[i], s->address);
	if (s->found)
		*s->out = *l;
	return s->found;
}

bool pods_find(const struct daemon *d, const struct addr *a, struct ipam_lease *out)
{
	struct search s = {.address = a, .out = out};
	pods_each(d, is_it, &s);
	return s.found;
}

bool pods_is_link(const struct netlink_link *l)
{
	return strncmp(l->name, "ul", 2) == 0 && strcmp(l->kind, "veth") == 0;
}

const char *pods_link_state(const struct ipam_lease *l)
{
	struct netlink_socket *s;
	struct netlink_link link;
	if (netlink_socket_open(&s, 0))
		return "unknown";
	bool found = find_link(s, l->host_ifname, &link);
	netlink_socket_close(s);
	return !found ? "no interface" : (link.flags & (IFF_UP | IFF_LOWER_UP)) == (IFF_UP | IFF_LOWER_UP) ? "up" : "link down";
}

struct repair {
	const struct route_mark *mark;
	uint32_t vrf; /* that pods are in; 0: in none */
	struct netlink_socket *socket;
	unsigned repaired;
};

static bool add_route(struct repair *r, const struct addr *a, uint32_t ifindex)
{
	uint64_t buf[NETLINK_ROUTE_MESSAGE_MAX / 8];
	struct route route = {.prefix = prefix_make(a, 128),
			      .mark = {.table = r->mark->table, .protocol = r->mark->protocol},
			      .nexthop_count = 1,
			      .nexthops = {{.ifindex = ifindex, .weight = 1}}};
	return netlink_route_encode(buf, sizeof buf, NETLINK_ROUTE_ADD, 1, &route) && netlink_request(r->socket, buf, NULL, 0) == 0;
}

/* A link that is put into a VRF is taken down and up for it, and loses its routes and neighbours. */
static void put_into_vrf(struct repair *r, const struct netlink_link *link, const struct ipam_lease *l)
{
	uint64_t buf[NETLINK_LINK_MESSAGE_MAX / 8];
	if (!r->vrf || link->master == r->vrf || !netlink_link_enslave(buf, sizeof buf, 1, link->ifindex, r->vrf) ||
	    netlink_request(r->socket, buf, NULL, 0))
		return;
	for (unsigned i = 0; i < l->addr_count; i++)
		if (netlink_neigh_set(buf, sizeof buf, 1, link->ifindex, &l->addrs[i], l->mac))
			netlink_request(r->socket, buf, NULL, 0);
}

/* Adding is refused where the route stands, which is as it should be. A link that is down cannot have one. */
static int repair_lease(void *arg, const struct ipam_lease *l)
{
	struct repair *r = arg;
	struct netlink_link link;
	if (!find_link(r->socket, l->host_ifname, &link) || !(link.flags & IFF_UP))
		return 0;
	put_into_vrf(r, &link, l);
	for (unsigned i = 0; i < l->addr_count; i++)
		r->repaired += add_route(r, &l->addrs[i], link.ifindex);
	return 0;
}

void pods_repair(struct daemon *d)
{
	struct repair r = {.vrf = kernel_home_vrf(d)};
	if (!d->fib) /* there is no table for them now */
		return;
	r.mark = &fib_writer_fib(d->fib)->mark;
	if (netlink_socket_open(&r.socket, 0))
		return;
	pods_each(d, repair_lease, &r);
	netlink_socket_close(r.socket);
	if (r.repaired)
		log_warn("pods", "%u routes to pods were missing and are back", r.repaired);
}
