#include "src/daemon/transport_io.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock_io.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/sockaddr.h"

enum {
	TTL_MAX = 255,
	TTL_SYSTEM = -1, /* for the socket options: as if never set */
	NOTE_MS = 150000, /* a dropped packet explains a missing session this long: others call every 120 s at the most */
};

void transport_set(struct transport *t, const struct transport_options *o)
{
	snprintf(t->password, sizeof t->password, "%s", o->password ? o->password : "");
	snprintf(t->device, sizeof t->device, "%s", o->device ? o->device : "");
	t->ttl_security = o->ttl_security;
	t->multihop = o->multihop;
	t->source = o->source;
	t->mss = o->mss;
}

void transport_clear(struct transport *t)
{
	explicit_bzero(t->password, sizeof t->password);
}

/* --- one socket */

static int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value);
}

/* An accepted IPv4 connection is an IPv6 socket with a mapped address, and takes the IPv4 options all the same. */
static int set_ttl(int fd, bool v4, int ttl)
{
	return v4 ? set_int(fd, IPPROTO_IP, IP_TTL, ttl) : set_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl);
}

static int set_least_ttl(int fd, bool v4, int ttl)
{
	return v4 ? set_int(fd, IPPROTO_IP, IP_MINTTL, ttl) : set_int(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, ttl);
}

static int least_ttl(const struct transport *t)
{
	return TTL_MAX + 1 - t->ttl_security;
}

/* To a link-local address always the highest: no router passes it on, and a peer with ttl-security is content. */
static int sent_ttl(const struct transport *t, const struct addr *to)
{
	bool on_link = !addr_is_v4(to) && addr_is_link_local(to);
	return t->ttl_security || on_link ? TTL_MAX : t->multihop ? t->multihop : TTL_SYSTEM;
}

static int socket_family(int fd)
{
	int domain = AF_INET;
	socklen_t len = sizeof domain;
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	return domain;
}

/* The password for segments from and to those in at; "" takes it away. An IPv6 socket wants IPv4 addresses mapped (AF_INET
 * is refused), which is how struct addr holds them; the prefix length stays IPv4's. */
static int set_password(int fd, const struct prefix *at, const char *password)
{
	enum { HOST = 128 };
	struct tcp_md5sig sig = {.tcpm_keylen = (uint16_t)strlen(password)};
	struct sockaddr_storage ss;
	bool many = at->len < HOST;
	if (socket_family(fd) == AF_INET6) {
		struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
		memcpy(&in6.sin6_addr, at->addr.b, 16);
		memcpy(&sig.tcpm_addr, &in6, sizeof in6);
	} else {
		memcpy(&sig.tcpm_addr, &ss, sockaddr_make(&ss, &at->addr, 0));
	}
	if (many) {
		sig.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX;
		sig.tcpm_prefixlen = (uint8_t)prefix_plen(at);
	}
	memcpy(sig.tcpm_key, password, sig.tcpm_keylen);
	int failed = setsockopt(fd, IPPROTO_TCP, many ? TCP_MD5SIG_EXT : TCP_MD5SIG, &sig, sizeof sig);
	int saved = errno;
	explicit_bzero(&sig, sizeof sig);
	errno = saved;
	return failed;
}

static struct prefix host_of(const struct addr *a)
{
	return prefix_make(a, 128);
}

static void say_password_failed(struct transport *t, int error)
{
	const char *hint = error == ENOMEM	? " (too many for one socket: raise the sysctl net.core.optmem_max)"
			   : error == ENOPROTOOPT ? " (this kernel has no TCP-MD5)"
						  : "";
	snprintf(t->fault, sizeof t->fault, "the password cannot be set: %s%s", strerror(error), hint);
}

/* False: fault says why. */
static bool set_options(struct transport *t, const struct addr *a, int fd)
{
	bool v4 = addr_is_v4(a);
	struct prefix host = host_of(a);
	if (*t->password && set_password(fd, &host, t->password) < 0) {
		say_password_failed(t, errno);
		return false;
	}
	if (set_ttl(fd, v4, sent_ttl(t, a)) < 0 || (t->ttl_security && set_least_ttl(fd, v4, least_ttl(t)) < 0)) {
		snprintf(t->fault, sizeof t->fault, "the TTL cannot be set: %s", strerror(errno));
		return false;
	}
	if (t->mss && set_int(fd, IPPROTO_TCP, TCP_MAXSEG, t->mss) < 0) {
		snprintf(t->fault, sizeof t->fault, "tcp-mss cannot be set: %s", strerror(errno));
		return false;
	}
	return true;
}

int transport_bind_device(int fd, const char *device)
{
	return *device ? setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) : 0;
}

/* Where the connection starts. False: fault says why. */
static bool set_start(struct transport *t, int fd)
{
	struct sockaddr_storage ss;
	char text[ADDR_TEXT_MAX];
	if (transport_bind_device(fd, t->device) < 0) {
		snprintf(t->fault, sizeof t->fault, errno == ENODEV ? "there is no device %s (waiting for it)" :
			 "the connection cannot be tied to device %s", t->device);
		return false;
	}
	if (addr_is_zero(&t->source) || bind(fd, (struct sockaddr *)&ss, sockaddr_make(&ss, &t->source, 0)) == 0)
		return true;
	if (errno == EADDRNOTAVAIL)
		snprintf(t->fault, sizeof t->fault, "source: %s is not an address of this host%s%s (waiting for it)",
			 addr_format(&t->source, text), *t->device ? " on " : "", t->device);
	else
		snprintf(t->fault, sizeof t->fault, "source: %s: %s", addr_format(&t->source, text), strerror(errno));
	return false;
}

int transport_socket(struct peer *p)
{
	struct transport *t = &p->transport;
	if (t->listener_failed) /* half protected is not protected */
		return -1;
	t->fault[0] = '\0';
	int fd = socket(addr_is_v4(&p->address) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		snprintf(t->fault, sizeof t->fault, "no socket: %s", strerror(errno));
	else if (set_start(t, fd) && set_options(t, &p->address, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- accepted connections. What came before the options were set lies in the socket unfiltered, so the connection's
 * first packet, which the kernel keeps for us, must have been right itself: its TTL, and that it was signed (then the
 * listener had the password already, and the kernel checked it). */

struct first_packet {
	uint8_t ttl;
	bool is_signed;
};

enum { TCP_HEADER = 20, OPTION_END = 0, OPTION_NOP = 1, OPTION_MD5 = 19 };

static bool has_signature(const uint8_t *option, const uint8_t *end)
{
	while (option < end && *option != OPTION_END) {
		if (*option == OPTION_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2)
			return false;
		if (*option == OPTION_MD5)
			return true;
		option += option[1];
	}
	return false;
}

/* False where the kernel has not kept it (SYN cookies: under a flood). */
static bool read_first_packet(int fd, struct first_packet *f)
{
	uint8_t b[256];
	socklen_t len = sizeof b;
	if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, b, &len) < 0 || len < 40)
		return false;
	bool v4 = b[0] >> 4 == 4;
	size_t tcp = v4 ? (size_t)(b[0] & 15) * 4 : 40; /* a SYN with IPv6 extension headers counts as unsigned */
	if (len < tcp + TCP_HEADER)
		return false;
	size_t end = tcp + (size_t)(b[tcp + 12] >> 4) * 4;
	f->ttl = v4 ? b[8] : b[7];
	f->is_signed = (v4 || b[6] == IPPROTO_TCP) && has_signature(b + tcp + TCP_HEADER, b + (end < len ? end : len));
	return true;
}

static bool first_packet_fits(struct transport *t, int fd)
{
	struct first_packet f;
	if (!*t->password && !t->ttl_security)
		return true;
	if (!read_first_packet(fd, &f))
		snprintf(t->refused, sizeof t->refused, "the kernel did not keep the connection's first packet (a SYN flood?)");
	else if (*t->password && !f.is_signed)
		snprintf(t->refused, sizeof t->refused, "it was opened without a signature");
	else if (t->ttl_security && f.ttl < least_ttl(t))
		snprintf(t->refused, sizeof t->refused, "its packets arrive with TTL %u, ttl-security: %u needs %d or more", f.ttl,
			 t->ttl_security, least_ttl(t));
	else
		return true;
	return false;
}

static bool came_to_source(struct transport *t, int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof ss;
	struct addr local = {{0}};
	char came[ADDR_TEXT_MAX], source[ADDR_TEXT_MAX];
	if (addr_is_zero(&t->source))
		return true;
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		sockaddr_read(&ss, &local, NULL);
	if (addr_eq(&local, &t->source))
		return true;
	snprintf(t->refused, sizeof t->refused, "it came to %s, and source: %s is our end", addr_format(&local, came),
		 addr_format(&t->source, source));
	return false;
}

bool transport_accept(struct peer *p, int fd)
{
	struct transport *t = &p->transport;
	bool fits = came_to_source(t, fd) && first_packet_fits(t, fd);
	if (fits && set_options(t, &p->address, fd)) {
		t->refused_at = (struct tick){0};
		return true;
	}
	if (fits)
		snprintf(t->refused, sizeof t->refused, "%.*s", (int)sizeof t->refused - 1, t->fault);
	t->refused_at = clock_now();
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "a connection from the peer was not taken: %s", t->refused);
	return false;
}

/* --- the listener */

void transport_listener_init(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_SAVE_SYN, 1);
}

/* Its answer to a SYN cannot be different for each peer, and one with ttl-security drops any other TTL. */
static void listener_ttl(int fd, const struct daemon *d)
{
	bool far = false;
	list_each(n, tmp, &d->peers) {
		const struct peer *p = container_of(n, struct peer, node);
		far |= p->transport.ttl_security != 0 || p->link.interface;
	}
	list_each(n, tmp, &d->ranges)
		far |= container_of(n, struct range, node)->transport.ttl_security != 0;
	set_ttl(fd, true, far ? TTL_MAX : TTL_SYSTEM);
	if (socket_family(fd) == AF_INET6)
		set_ttl(fd, false, far ? TTL_MAX : TTL_SYSTEM);
}

/* True: it is there, or there is none. */
static bool listener_password(int fd, struct transport *t, const struct prefix *from, const char *subject)
{
	if (!*t->password || t->on_listener)
		return true;
	t->on_listener = set_password(fd, from, t->password) == 0;
	if (t->on_listener) {
		t->listener_failed = false;
		t->fault[0] = '\0';
		return true;
	}
	say_password_failed(t, errno);
	if (!t->listener_failed)
		log_error(subject, "%s", t->fault);
	t->listener_failed = true;
	return false;
}

static uint16_t lesser_mss(uint16_t least, const struct transport *t, const char *device)
{
	bool less = strcmp(t->device, device) == 0 && t->mss && (!least || t->mss < least);
	return less ? t->mss : least;
}

/* One socket listens for several peers: what the most modest of them wants, or the kernel's own (0) again. */
static void listener_mss(int fd, const struct daemon *d, const char *device)
{
	uint16_t least = 0;
	list_each(n, tmp, &d->peers)
		least = lesser_mss(least, &container_of(n, struct peer, node)->transport, device);
	list_each(n, tmp, &d->ranges)
		least = lesser_mss(least, &container_of(n, struct range, node)->transport, device);
	set_int(fd, IPPROTO_TCP, TCP_MAXSEG, least);
}

bool transport_listener_update(int fd, struct daemon *d, const char *device)
{
	bool all = true;
	listener_ttl(fd, d);
	listener_mss(fd, d, device);
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		struct prefix host = host_of(&p->address);
		if (!p->range && strcmp(p->transport.device, device) == 0) /* that of a range is there for all of its peers */
			all &= listener_password(fd, &p->transport, &host, p->subject);
	}
	list_each(n, tmp, &d->ranges) {
		struct range *r = container_of(n, struct range, node);
		if (strcmp(r->transport.device, device) == 0)
			all &= listener_password(fd, &r->transport, &r->prefix, r->subject);
	}
	return all;
}

static void closed(struct transport *t, const char *device)
{
	if (strcmp(t->device, device) == 0)
		t->on_listener = t->listener_failed = false;
}

void transport_listener_closed(struct daemon *d, const char *device)
{
	list_each(n, tmp, &d->peers)
		closed(&container_of(n, struct peer, node)->transport, device);
	list_each(n, tmp, &d->ranges)
		closed(&container_of(n, struct range, node)->transport, device);
}

void transport_listener_forget(int fd, struct transport *t, const struct prefix *from, const char *subject)
{
	if (t->on_listener && set_password(fd, from, "") < 0)
		log_warn(subject, "the password stays on the listening socket: %s", strerror(errno));
	t->on_listener = false;
}

/* --- the kernel's counters */

enum { NETSTAT_MAX = 32768, WATCH_IDLE_TURNS = 10 };

static bool has_password(const struct transport *t)
{
	return *t->password;
}

static bool has_no_password(const struct transport *t)
{
	return !*t->password;
}

static bool has_ttl_security(const struct transport *t)
{
	return t->ttl_security;
}

/* What a growing counter says, and about which peers it can. */
static const struct {
	const char *name;
	bool (*concerns)(const struct transport *t);
	const char *note;
} counters[TRANSPORT_COUNTERS] = {
	{"TCPMD5Failure", has_password,
	 "packets arrive with a wrong TCP-MD5 signature: is the password the same on both sides?"},
	{"TCPMD5NotFound", has_password, "packets arrive without a TCP-MD5 signature: has the other side the password?"},
	{"TCPMD5Unexpected", has_no_password,
	 "packets arrive with a TCP-MD5 signature: has the other side a password (password-file)?"},
	{"TCPMinTTLDrop", has_ttl_security,
	 "packets arrive with too low a TTL: is the other side further away than ttl-security allows, or without it?"},
};

static const char no_answer_note[] = "a wrong password looks like this as well";

static size_t read_netstat(char *buf, size_t cap)
{
	FILE *f = fopen("/proc/self/net/netstat", "re");
	size_t n = f ? fread(buf, 1, cap - 1, f) : 0;
	if (f)
		fclose(f);
	buf[n] = '\0';
	return n;
}

static int counter_index(const char *name)
{
	for (int i = 0; i < TRANSPORT_COUNTERS; i++)
		if (strcmp(counters[i].name, name) == 0)
			return i;
	return -1;
}

/* A line of names and, below it, a line of values in the same order. */
static bool read_counters(uint64_t count[TRANSPORT_COUNTERS])
{
	static char buf[NETSTAT_MAX];
	char *names = read_netstat(buf, sizeof buf) ? strstr(buf, "TcpExt:") : NULL, *end = names ? strchr(names, '\n') : NULL;
	char *values = end ? end + 1 : NULL, *name, *value, *at_name = NULL, *at_value = NULL;
	if (!values)
		return false;
	*end = '\0';
	values[strcspn(values, "\n")] = '\0';
	memset(count, 0, TRANSPORT_COUNTERS * sizeof *count);
	name = strtok_r(names, " ", &at_name);
	value = strtok_r(values, " ", &at_value);
	for (; name && value; name = strtok_r(NULL, " ", &at_name), value = strtok_r(NULL, " ", &at_value)) {
		int i = counter_index(name);
		if (i >= 0)
			count[i] = strtoull(value, NULL, 10);
	}
	return true;
}

static void note_growth(struct transport_watch *w, struct tick now)
{
	uint64_t count[TRANSPORT_COUNTERS];
	if (!read_counters(count))
		return;
	for (unsigned i = 0; i < TRANSPORT_COUNTERS; i++)
		if (w->started && count[i] > w->count[i])
			w->grown_at[i] = now;
	memcpy(w->count, count, sizeof count);
	w->started = true;
}

static bool recent(struct tick at, struct tick now)
{
	return tick_is_set(at) && tick_since_ms(at, now) < NOTE_MS;
}

const char *transport_drops(const struct transport *t, const struct transport_watch *w, struct tick now)
{
	for (unsigned i = 0; i < TRANSPORT_COUNTERS; i++)
		if (counters[i].concerns(t) && recent(w->grown_at[i], now))
			return counters[i].note;
	return NULL;
}

const char *transport_note(const struct peer *p, struct tick now)
{
	const struct transport *t = &p->transport;
	const struct transport_watch *w = &p->daemon->transport;
	if (recent(t->refused_at, now))
		return t->refused;
	const char *drops = transport_drops(t, w, now);
	if (drops)
		return drops;
	bool no_answer = p->session.last_error.kind == BGP_LAST_TCP && strcmp(p->session.last_error.text, BGP_NO_ANSWER) == 0;
	return *t->password && no_answer ? no_answer_note : NULL;
}

static bool is_down(const struct peer *p)
{
	return bgp_session_slot(&p->session) == BGP_SLOTS;
}

static void log_note(struct peer *p, struct tick now)
{
	struct transport *t = &p->transport;
	const char *note = is_down(p) ? transport_note(p, now) : NULL;
	if (note && note != t->noted && note != t->refused) /* that one has its own line */
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "no session: %s", note);
	t->noted = note;
}

static void log_range_note(struct range *r, const struct transport_watch *w, struct tick now)
{
	const char *note = transport_drops(&r->transport, w, now);
	if (note && note != r->transport.noted)
		log_remote(&r->log_limit, LOG_LEVEL_WARN, r->subject, "%s", note);
	r->transport.noted = note;
}

void transport_watch(struct daemon *d, struct tick now)
{
	struct transport_watch *w = &d->transport;
	bool down = !list_empty(&d->ranges); /* somebody may always be missing there */
	list_each(n, tmp, &d->peers)
		down |= is_down(container_of(n, struct peer, node));
	/* seldom while all is well, so that what grows while a session dies is not hours old when it is seen */
	if (!down && w->turn++ % WATCH_IDLE_TURNS)
		return;
	note_growth(w, now);
	list_each(n, tmp, &d->peers)
		log_note(container_of(n, struct peer, node), now);
	list_each(n, tmp, &d->ranges)
		log_range_note(container_of(n, struct range, node), w, now);
}
