#include "netlink/socket_io.h"

#include <errno.h>
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "netlink/message.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"

enum { RECEIVE_BUFFER = 64 << 20, SEND_BUFFER = 8 << 20, DATAGRAM_MAX = 64 << 10, DUMP_TRIES = 5 };

struct netlink_socket {
	int fd;
	uint32_t groups;
	uint32_t port; /* the kernel's name for this socket: answers to it carry it */
	uint32_t seq;  /* of the last synchronous request */
	bool interrupted; /* the dump that is being read, by a change */
	_Alignas(struct nlmsghdr) char buf[DATAGRAM_MAX];
};

static int set_options(int fd)
{
	int size = RECEIVE_BUFFER, out = SEND_BUFFER, on = 1;
	/* only a limit: memory goes with what waits, some 1 kB a message; beyond net.core.rmem_max where we may, else as much as that gives */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof out);
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
	if (setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on) < 0)
		return -errno; /* without it dump filters are silently ignored */
	return 0;
}

static int bind_socket(struct netlink_socket *s)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = s->groups};
	socklen_t len = sizeof a;
	if (bind(s->fd, (struct sockaddr *)&a, sizeof a) < 0 || getsockname(s->fd, (struct sockaddr *)&a, &len) < 0)
		return -errno;
	s->port = a.nl_pid;
	return 0;
}

static int open_socket(struct netlink_socket *s)
{
	s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int err = s->fd < 0 ? -errno : set_options(s->fd);
	return err ? err : bind_socket(s);
}

int netlink_socket_open(struct netlink_socket **out, uint32_t groups)
{
	struct netlink_socket *s = malloc(sizeof *s);
	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->seq = 0;
	s->groups = groups;
	int err = open_socket(s);
	if (err) {
		netlink_socket_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void netlink_socket_close(struct netlink_socket *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

uint32_t netlink_socket_port(const struct netlink_socket *s)
{
	return s->port;
}

int netlink_socket_fd(const struct netlink_socket *s)
{
	return s->fd;
}

static bool is_open(const struct netlink_socket *s)
{
	struct sockaddr_nl a = {.nl_family = AF_UNSPEC};
	socklen_t len = sizeof a;
	return getsockname(s->fd, (struct sockaddr *)&a, &len) == 0 && a.nl_family == AF_NETLINK && a.nl_pid == s->port;
}

int netlink_socket_mend(struct netlink_socket *s, bool broken)
{
	bool open = is_open(s);
	if (open && !broken)
		return 0;
	if (open)
		close(s->fd); /* else it is closed, or the descriptor belongs to somebody else */
	int err = open_socket(s);
	if (!err)
		return 1;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	return err;
}

size_t netlink_socket_buffer(const struct netlink_socket *s)
{
	int size = 0;
	socklen_t len = sizeof size;
	return getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &size, &len) < 0 ? 0 : (size_t)size;
}

static int attach(struct netlink_socket *s, struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {.len = (unsigned short)count, .filter = code};
	return setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

/* In struct nlmsghdr, and in the struct rtmsg behind it; filters read big-endian, the fields are host order. */
enum { TYPE_AT = 4, FLAGS_AT = 6, PORT_AT = 12, PROTOCOL_AT = 16 + offsetof(struct rtmsg, rtm_protocol) };

int netlink_socket_ignore_protocol(struct netlink_socket *s, uint8_t protocol)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, FLAGS_AT),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htons(NLM_F_MULTI), 5, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PROTOCOL_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, protocol, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	return attach(s, code, sizeof code / sizeof *code);
}

int netlink_socket_ignore_own(struct netlink_socket *s, const struct netlink_socket *own)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, PORT_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(own->port), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	return attach(s, code, sizeof code / sizeof *code);
}

static int send_vector(struct netlink_socket *s, struct iovec *iov, size_t count)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct msghdr m = {.msg_name = &kernel, .msg_namelen = sizeof kernel, .msg_iov = iov, .msg_iovlen = count};
	ssize_t n;
	do
		n = sendmsg(s->fd, &m, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int netlink_socket_send(struct netlink_socket *s, const void *msgs, size_t len)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msgs, .iov_len = len};
	return send_vector(s, &iov, 1);
}

/* One datagram from the kernel into s->buf: its bytes, or -errno. Other senders are ignored. */
static ssize_t receive_one(struct netlink_socket *s)
{
	for (;;) {
		struct sockaddr_nl from;
		struct iovec iov = {.iov_base = s->buf, .iov_len = sizeof s->buf};
		struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n = recvmsg(s->fd, &m, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (m.msg_flags & MSG_TRUNC)
			return -ENOBUFS;
		if (m.msg_namelen == sizeof from && from.nl_pid == 0)
			return n;
	}
}

static void deliver(const struct nlmsghdr *h, netlink_message_fn *fn, void *arg)
{
	char text[NETLINK_TEXT_MAX] = "";
	int error = 0;
	if (h->nlmsg_type == NLMSG_ERROR && netlink_ack_decode(h, &error, text, sizeof text) != 0)
		error = ERR_CORRUPT;
	fn(arg, h, error, text);
}

int netlink_socket_receive(struct netlink_socket *s, netlink_message_fn *fn, void *arg)
{
	return netlink_socket_receive_some(s, NETLINK_TURN_DATAGRAMS, fn, arg);
}

int netlink_socket_receive_some(struct netlink_socket *s, unsigned datagrams, netlink_message_fn *fn, void *arg)
{
	for (unsigned i = 0; i < datagrams; i++) {
		ssize_t n = receive_one(s);
		if (n == -EAGAIN || n == -EWOULDBLOCK)
			return 0;
		if (n < 0)
			return (int)n;
		const void *at = s->buf;
		size_t left = (size_t)n;
		for (const struct nlmsghdr *h; (h = netlink_message_next(&at, &left));)
			deliver(h, fn, arg);
	}
	return 0;
}

/* --- synchronous calls */

struct exchange {
	netlink_message_fn *fn;
	void *arg;
	char *text;
	size_t cap;
	int result;
	bool done, interrupted;
};

static int dump_result(const struct nlmsghdr *h)
{
	const int *result = netlink_message_body(h, sizeof *result);
	return result ? *result : 0;
}

static void take(struct exchange *x, const struct nlmsghdr *h)
{
	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		x->interrupted = true;
	if (h->nlmsg_type == NLMSG_ERROR) {
		x->done = true;
		if (netlink_ack_decode(h, &x->result, x->text, x->cap) != 0)
			x->result = ERR_CORRUPT;
	} else if (h->nlmsg_type == NLMSG_DONE) {
		x->done = true;
		x->result = dump_result(h);
	} else if (x->fn) {
		x->fn(x->arg, h, 0, "");
	}
}

static int wait_readable(const struct netlink_socket *s, struct tick until)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	int64_t left = until.ms - clock_now().ms;
	int n = left > 0 ? poll(&p, 1, (int)left) : 0;
	if (n < 0 && errno != EINTR)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* Sends msg under a number of its own. */
static int ask(struct netlink_socket *s, const void *msg)
{
	struct nlmsghdr head = *(const struct nlmsghdr *)msg;
	head.nlmsg_seq = ++s->seq;
	struct iovec iov[2] = {
		{.iov_base = &head, .iov_len = sizeof head},
		{.iov_base = (char *)(uintptr_t)msg + sizeof head, .iov_len = head.nlmsg_len - sizeof head},
	};
	return send_vector(s, iov, 2);
}

/* One datagram of the answer to what was asked last. 0 or -errno. */
static int take_datagram(struct netlink_socket *s, struct exchange *x)
{
	ssize_t n = receive_one(s);
	if (n < 0)
		return (int)n;
	const void *at = s->buf;
	size_t left = (size_t)n;
	for (const struct nlmsghdr *h; (h = netlink_message_next(&at, &left));)
		if (h->nlmsg_seq == s->seq && h->nlmsg_pid == s->port)
			take(x, h);
	return 0;
}

/* Asks and reads until the last answer. */
static int exchange(struct netlink_socket *s, const void *msg, struct exchange *x)
{
	struct tick until = tick_after(clock_now(), NETLINK_WAIT_MS);
	int err = ask(s, msg);
	while (!err && !x->done) {
		err = take_datagram(s, x);
		if (err == -EAGAIN)
			err = wait_readable(s, until);
	}
	return err ? err : x->result;
}

int netlink_request(struct netlink_socket *s, const void *msg, char *ext_text, size_t cap)
{
	struct exchange x = {.text = ext_text, .cap = cap};
	if (cap)
		ext_text[0] = '\0';
	return exchange(s, msg, &x);
}

int netlink_query(struct netlink_socket *s, const void *msg, netlink_message_fn *fn, void *arg)
{
	struct exchange x = {.fn = fn, .arg = arg};
	return exchange(s, msg, &x);
}

int netlink_dump(struct netlink_socket *s, const void *request, netlink_message_fn *fn, void *arg)
{
	for (int i = 0; i < DUMP_TRIES; i++) {
		struct exchange x = {.fn = fn, .arg = arg};
		int err = exchange(s, request, &x);
		if (err != -EINTR && (err || !x.interrupted))
			return err;
	}
	return -EINTR;
}

int netlink_dump_begin(struct netlink_socket *s, const void *request)
{
	s->interrupted = false;
	return ask(s, request);
}

int netlink_dump_step(struct netlink_socket *s, netlink_message_fn *fn, void *arg)
{
	struct exchange x = {.fn = fn, .arg = arg};
	int err = take_datagram(s, &x);
	s->interrupted |= x.interrupted;
	if (err || !x.done)
		return err ? err : 1;
	return x.result == 0 && s->interrupted ? -EINTR : x.result;
}
