/* Building and reading rtnetlink messages: a builder over a caller's buffer with a sticky error, and
 * readers that never look past an attribute's end. Everything that netlink/ encodes goes through
 * these. The buffer must be aligned for struct nlmsghdr. Numbers are in host order, as rtnetlink
 * wants them. RFC 3549; the kernel's include/uapi/linux/netlink.h.
 */
#pragma once
#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"

struct netlink_builder {
	struct nlmsghdr *h; /* NULL where not even the header fits */
	size_t cap;
	bool failed;
};

/* A message of the type with its family header (struct rtmsg, ifinfomsg, ...), zeroed; *body gets
 * that header, or NULL where it does not fit. NLM_F_REQUEST and NLM_F_ACK are always set. */
struct netlink_builder netlink_message_start(void *buf, size_t cap, uint16_t type, unsigned flags, uint32_t seq,
					     size_t body_len, void **body);
/* Bytes of the whole message, 0 where it did not fit. */
size_t netlink_message_end(const struct netlink_builder *b);

void netlink_put(struct netlink_builder *b, uint16_t type, const void *data, size_t len);
void netlink_put_u32(struct netlink_builder *b, uint16_t type, uint32_t v);
void netlink_put_text(struct netlink_builder *b, uint16_t type, const char *text); /* with its NUL */
void netlink_put_addr(struct netlink_builder *b, uint16_t type, const struct addr *a); /* 4 or 16 bytes */
/* Opens a nested attribute; NULL where it does not fit, which _close() takes. */
struct nlattr *netlink_nest_open(struct netlink_builder *b, uint16_t type);
void netlink_nest_close(struct netlink_builder *b, struct nlattr *nest);
/* len zeroed bytes that are no attribute: a family header inside a nest. NULL where they do not fit. */
void *netlink_put_raw(struct netlink_builder *b, size_t len);

/* AF_INET or AF_INET6, and the prefix length as rtnetlink counts it. */
uint8_t netlink_family(const struct addr *a);

/* The next whole message of a datagram, of which *left bytes are left at *at; NULL at its end or
 * where the rest is none. (libmnl's own mnl_nlmsg_ok() takes lengths from 2 GiB on for negative.) */
const struct nlmsghdr *netlink_message_next(const void **at, size_t *left);
/* The family header of a message, or NULL where h is too short for it. h->nlmsg_len must be bytes
 * that are really there. */
const void *netlink_message_body(const struct nlmsghdr *h, size_t body_len);
/* Fills at[0..max] with the last attribute of each type; others and a torn tail are left out. */
void netlink_attrs(const struct nlmsghdr *h, size_t body_len, const struct nlattr **at, unsigned max);
void netlink_attrs_of(const void *data, size_t len, const struct nlattr **at, unsigned max);
/* False, and *out untouched, where at is NULL or has another length. */
bool netlink_get_u32(const struct nlattr *at, uint32_t *out);
bool netlink_get_addr(const struct nlattr *at, uint8_t family, struct addr *out);
/* Copies as much of the text as fits; "" where at is NULL. */
void netlink_get_text(const struct nlattr *at, char *out, size_t cap);

/* What an NLMSG_ERROR says: *error is 0 for an acknowledgement or -errno; the kernel's words are
 * copied ("" where it gave none). ERR_CORRUPT where h is too short. */
int netlink_ack_decode(const struct nlmsghdr *h, int *error, char *text, size_t cap);
