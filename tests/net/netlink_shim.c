/* For tests, with LD_PRELOAD: what a kernel does that no namespace can be brought to do. It sits between the daemon and its
 * netlink sockets and obeys a control file (UNDERLAY_SHIM), which the test writes through tests/net/shim.py:
 *
 *  - full: so many routes and next-hop objects more may be made, then the kernel has no memory for another. Such a request is turned
 *    into a NLMSG_NOOP, which the real kernel acknowledges in its turn, and the acknowledgement into the error. A
 *    deletion makes room. Negative: no limit.
 *  - interrupt: so many dumps more are said to have been interrupted by a change (NLM_F_DUMP_INTR).
 *  - close: on SIGUSR2 the sockets of these kinds are closed behind the daemon's back; their numbers lead to /dev/null, lest
 *    they become another file's.
 *  - slow: so many milliseconds more for each write of routes, up to 250 of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 1 << 17, SEQS = 1 << 14, FDS = 1024 };
enum kind { NO_NETLINK, WRITES = 1, EVENTS = 2, QUERIES = 4 };

static struct {
	int32_t full, close, refused, closed, interrupt, slow;
} *control;

static uint32_t refused[SEQS];     /* by number: the number, where it was refused */
static uint8_t kind_of[FDS];
static _Alignas(struct nlmsghdr) char copy[BYTES];
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);
static ssize_t (*real_recvmsg)(int, struct msghdr *, int);
static int (*real_bind)(int, const struct sockaddr *, socklen_t);
static int (*real_close)(int);
static int nowhere;

static void on_close(int signal)
{
	(void)signal;
	for (int fd = 0; fd < FDS; fd++)
		if (kind_of[fd] & control->close) {
			kind_of[fd] = NO_NETLINK;
			dup2(nowhere, fd);
			control->closed++;
		}
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("UNDERLAY_SHIM");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || control == MAP_FAILED)
		abort();
	real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
	real_close(fd);
	real_sendmsg = (ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
	real_recvmsg = (ssize_t (*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
	real_bind = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
	signal(SIGUSR2, on_close);
}

/* A socket that listens to groups is the one for events. */
int bind(int fd, const struct sockaddr *a, socklen_t len)
{
	if (a->sa_family == AF_NETLINK && fd < FDS)
		kind_of[fd] = ((const struct sockaddr_nl *)(const void *)a)->nl_groups ? EVENTS : QUERIES;
	return real_bind(fd, a, len);
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS)
		kind_of[fd] = NO_NETLINK;
	return real_close(fd);
}

static bool is_refused(const struct nlmsghdr *h)
{
	if (h->nlmsg_type == RTM_DELROUTE || h->nlmsg_type == RTM_DELNEXTHOP)
		control->full += control->full >= 0;
	if ((h->nlmsg_type != RTM_NEWROUTE && h->nlmsg_type != RTM_NEWNEXTHOP) || control->full < 0)
		return false;
	if (h->nlmsg_flags & NLM_F_REPLACE)
		return control->full == 0; /* the kernel makes the new one before it frees the old one */
	return control->full ? (control->full--, false) : true;
}

static void look_at_requests(size_t len)
{
	for (size_t at = 0; at + sizeof(struct nlmsghdr) <= len;) {
		struct nlmsghdr *h = (struct nlmsghdr *)(void *)(copy + at);
		at += NLMSG_ALIGN(h->nlmsg_len);
		if (!is_refused(h))
			continue;
		control->refused++;
		refused[h->nlmsg_seq & (SEQS - 1)] = h->nlmsg_seq;
		h->nlmsg_type = NLMSG_NOOP;
		h->nlmsg_flags |= NLM_F_ACK;
	}
}

/* The daemon writes routes in one piece, and asks questions in two. */
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	const struct sockaddr *to = m->msg_name;
	if (!to || to->sa_family != AF_NETLINK || m->msg_iovlen != 1 || m->msg_iov->iov_len > BYTES)
		return real_sendmsg(fd, m, flags);
	struct iovec iov = {.iov_base = copy, .iov_len = m->msg_iov->iov_len};
	struct msghdr changed = *m;
	changed.msg_iov = &iov;
	memcpy(copy, m->msg_iov->iov_base, iov.iov_len);
	if (fd < FDS)
		kind_of[fd] = WRITES;
	look_at_requests(iov.iov_len);
	usleep((useconds_t)control->slow * 1000);
	return real_sendmsg(fd, &changed, flags);
}

/* The end of a dump tells it. */
static void interrupt_dumps(char *at, const char *end)
{
	while (control->interrupt > 0 && at + sizeof(struct nlmsghdr) <= end) {
		struct nlmsghdr *h = (struct nlmsghdr *)(void *)at;
		at += NLMSG_ALIGN(h->nlmsg_len);
		if (h->nlmsg_type != NLMSG_DONE)
			continue;
		h->nlmsg_flags |= NLM_F_DUMP_INTR;
		control->interrupt--;
	}
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t n = real_recvmsg(fd, m, flags);
	if (n > 0 && fd < FDS && kind_of[fd] == QUERIES)
		interrupt_dumps(m->msg_iov->iov_base, (char *)m->msg_iov->iov_base + n);
	if (n < 0 || fd >= FDS || kind_of[fd] != WRITES)
		return n;
	for (char *at = m->msg_iov->iov_base, *end = at + n; at + sizeof(struct nlmsghdr) <= end;) {
		struct nlmsghdr *h = (struct nlmsghdr *)(void *)at;
		at += NLMSG_ALIGN(h->nlmsg_len);
		if (h->nlmsg_type != NLMSG_ERROR || !h->nlmsg_seq || refused[h->nlmsg_seq & (SEQS - 1)] != h->nlmsg_seq)
			continue;
		refused[h->nlmsg_seq & (SEQS - 1)] = 0;
		*(int *)NLMSG_DATA(h) = -ENOBUFS; /* as fib_table_insert() says it */
	}
	return n;
}
