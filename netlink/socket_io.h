/* A rtnetlink socket. Two ways to use one:
 *
 *  - asynchronously (the daemon): netlink_socket_send() any number of messages with the caller's own
 *    sequence numbers, wait for the descriptor to be readable, netlink_socket_receive();
 *  - synchronously (the plugin, and the daemon at start): netlink_request(), netlink_query() and
 *    netlink_dump() wait for their answer, at most NETLINK_WAIT_MS. They number their message
 *    themselves and drop everything that is not their answer, so give them a socket of their own:
 *    no groups, nothing sent asynchronously.
 *
 * The socket belongs to the network namespace that the thread is in when it opens it. Extended
 * acknowledgements, strict checking and capped error messages are on. Errors are -errno, as given by
 * the kernel for the request or by the socket; ERR_CORRUPT for an answer that cannot be read.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink_socket;

enum { NETLINK_WAIT_MS = 10000, NETLINK_TEXT_MAX = 160 };

/* groups: a mask of RTMGRP_*, or 0. */
int netlink_socket_open(struct netlink_socket **out, uint32_t groups);
void netlink_socket_close(struct netlink_socket *s); /* NULL is fine */
int netlink_socket_fd(const struct netlink_socket *s);
/* What the kernel puts into the events that this socket is the cause of. */
uint32_t netlink_socket_port(const struct netlink_socket *s);
/* Opens it anew where it is broken (it answers with errors), or where the descriptor is no longer this socket, since something
 * closed it: 1, and everything that was not answered is lost; the descriptor, the port and the filter of
 * netlink_socket_ignore_own() are other ones. 0: it is open. -errno: it cannot be opened, try again. */
int netlink_socket_mend(struct netlink_socket *s, bool broken);
/* Bytes that may wait to be received, as the kernel counts them. */
size_t netlink_socket_buffer(const struct netlink_socket *s);

/* On a socket with route groups: leaves out what own changed, so that only the changes of others arrive. 0 or -errno. */
int netlink_socket_ignore_own(struct netlink_socket *s, const struct netlink_socket *own);

/* Leaves out all routes of this protocol, but in dumps. The kernel drops them before they wait anywhere. 0 or -errno. */
int netlink_socket_ignore_protocol(struct netlink_socket *s, uint8_t protocol);

/* Sends several concatenated messages at once, all or nothing. -EAGAIN: wait until writable. */
int netlink_socket_send(struct netlink_socket *s, const void *msgs, size_t len);

/* Called for each message. For NLMSG_ERROR error is 0 (an acknowledgement) or -errno and ext_text the
 * kernel's words or ""; for others 0 and "". h is valid during the call only. */
typedef void netlink_message_fn(void *arg, const struct nlmsghdr *h, int error, const char *ext_text);

/* Reads until nothing is left, or NETLINK_TURN_DATAGRAMS were read (the descriptor then stays
 * readable). 0 or -errno; -ENOBUFS means that messages were lost and the state must be read anew. */
enum { NETLINK_TURN_DATAGRAMS = 64 };
int netlink_socket_receive(struct netlink_socket *s, netlink_message_fn *fn, void *arg);
/* The same, but at most so many datagrams. */
int netlink_socket_receive_some(struct netlink_socket *s, unsigned datagrams, netlink_message_fn *fn, void *arg);

/* A dump in slices, so that a long one holds nothing up: begin, then step until it answers other than 1 (0: complete; -EINTR: a
 * change interrupted it, begin again; -EAGAIN: nothing has come yet; -errno: give the socket up). One at a time, on a socket
 * of its own. */
int netlink_dump_begin(struct netlink_socket *s, const void *request);
int netlink_dump_step(struct netlink_socket *s, netlink_message_fn *fn, void *arg);

/* One message, its acknowledgement. ext_text (may be NULL with cap 0) gets the kernel's words or "". */
int netlink_request(struct netlink_socket *s, const void *msg, char *ext_text, size_t cap);
/* One message that asks for one thing: fn sees the answer before this returns. -ENODEV, -ENETUNREACH
 * and so on where there is none. */
int netlink_query(struct netlink_socket *s, const void *msg, netlink_message_fn *fn, void *arg);
/* A dump. Where the kernel says that it was interrupted by a change, it is asked again, up to five
 * times (then -EINTR): fn may see an entry twice, and one that is gone by now. */
int netlink_dump(struct netlink_socket *s, const void *request, netlink_message_fn *fn, void *arg);
