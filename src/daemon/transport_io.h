/* What protects a peer's TCP connections: a signature over every segment (TCP-MD5, RFC 2385) and the TTL of its packets
 * (GTSM, RFC 5082); and which way they go: from which address, over which device. The kernel does the work; this file
 * sets the socket options on the connections that we open, on those that are accepted, and on the listening sockets,
 * where they must be before anybody can connect. There is one of these for each device that peers name, and one for the
 * others.
 *
 * Packets that do not fit are dropped by the kernel without a word to either side. It counts them, for the whole network
 * namespace; struct transport_watch sees the counters grow, and transport_note() says what that means for a
 * peer without a session.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"
#include "src/base/tick.h"

struct daemon;
struct listener;
struct peer;

enum { TRANSPORT_PASSWORD_MAX = 80, TRANSPORT_DEVICE_MAX = 16, TRANSPORT_COUNTERS = 4 };

/* What the operator wrote; zero or NULL: nothing. Borrowed. */
struct transport_options {
	const char *password;
	uint8_t ttl_security, multihop; /* hops */
	struct addr source;
	const char *device;
	uint16_t mss;
};

/* A peer's options; a part of struct peer. */
struct transport {
	char password[TRANSPORT_PASSWORD_MAX + 1]; /* "": none */
	uint8_t ttl_security, multihop;            /* hops; 0: not set */
	struct addr source;                        /* zero: any */
	char device[TRANSPORT_DEVICE_MAX];         /* "": any */
	uint16_t mss;                              /* 0: the kernel's */
	bool on_listener, listener_failed; /* the listener has the password; would not take it */
	char fault[128];           /* why the options cannot be set: the peer stays down. "": nothing */
	char refused[128];         /* why the peer's last connection was not taken */
	struct tick refused_at;
	const char *noted;         /* the note that was logged last */
};

struct transport_watch {
	bool started;
	unsigned turn;
	uint64_t count[TRANSPORT_COUNTERS];
	struct tick grown_at[TRANSPORT_COUNTERS];
};

void transport_set(struct transport *t, const struct transport_options *o);
/* Forgets the password. */
void transport_clear(struct transport *t);

/* A socket for a connection to p with all options set, or -1 after writing p->transport.fault. */
int transport_socket(struct peer *p);
/* A connection from p's address was accepted; nothing was read from it yet. False: it must not be used, and
 * refused says why. */
bool transport_accept(struct peer *p, int fd);

/* Before listen(). */
void transport_listener_init(int fd);
/* Brings the options of a listening socket in line with the peers on device ("": those without one); false where a password
 * could not be set (its peer's fault says why), so that it is worth trying again. */
bool transport_listener_update(int fd, struct daemon *d, const char *device);
/* It was closed, and the passwords of the peers on device went with it. */
void transport_listener_closed(struct daemon *d, const char *device);
/* Takes the password for those in from away from its listening socket. */
void transport_listener_forget(int fd, struct transport *t, const struct prefix *from, const char *subject);
/* Ties a socket to a device: 0, or -1 with errno. */
int transport_bind_device(int fd, const char *device);

/* Once a second: reads the counters and logs what is new about a peer. */
void transport_watch(struct daemon *d, struct tick now);
/* What the kernel dropped that may have been for t, or NULL. */
const char *transport_drops(const struct transport *t, const struct transport_watch *w, struct tick now);
/* What may keep p from having a session, or NULL. Valid while p is. */
const char *transport_note(const struct peer *p, struct tick now);
