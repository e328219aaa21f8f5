#include "netlink/message.h"

#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "src/base/err.h"

enum { HEADER_LEN = sizeof(struct nlmsghdr) };

/* libmnl's MNL_ALIGN is an int, which -Wconversion does not let near a size */
static size_t aligned(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

struct netlink_builder netlink_message_start(void *buf, size_t cap, uint16_t type, unsigned flags, uint32_t seq,
					     size_t body_len, void **body)
{
	struct netlink_builder b = {.cap = cap};
	*body = NULL;
	if (cap < HEADER_LEN + aligned(body_len)) {
		b.failed = true;
		return b;
	}
	b.h = mnl_nlmsg_put_header(buf);
	b.h->nlmsg_type = type;
	b.h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	b.h->nlmsg_seq = seq;
	*body = mnl_nlmsg_put_extra_header(b.h, body_len);
	return b;
}

size_t netlink_message_end(const struct netlink_builder *b)
{
	return b->failed ? 0 : b->h->nlmsg_len;
}

void netlink_put(struct netlink_builder *b, uint16_t type, const void *data, size_t len)
{
	if (b->failed || !mnl_attr_put_check(b->h, b->cap, type, len, data)) {
		b->failed = true;
		return;
	}
	size_t padding = aligned(len) - len; /* not all versions of libmnl clear it, and it would be what was on our stack */
	memset((char *)b->h + b->h->nlmsg_len - padding, 0, padding);
}

void netlink_put_u32(struct netlink_builder *b, uint16_t type, uint32_t v)
{
	netlink_put(b, type, &v, sizeof v);
}

void netlink_put_text(struct netlink_builder *b, uint16_t type, const char *text)
{
	netlink_put(b, type, text, strlen(text) + 1);
}

void netlink_put_addr(struct netlink_builder *b, uint16_t type, const struct addr *a)
{
	if (addr_is_v4(a))
		netlink_put(b, type, a->b + 12, 4);
	else
		netlink_put(b, type, a->b, 16);
}

struct nlattr *netlink_nest_open(struct netlink_builder *b, uint16_t type)
{
	struct nlattr *nest = b->failed ? NULL : mnl_attr_nest_start_check(b->h, b->cap, type);
	if (!nest)
		b->failed = true;
	return nest;
}

void netlink_nest_close(struct netlink_builder *b, struct nlattr *nest)
{
	if (nest && !b->failed)
		mnl_attr_nest_end(b->h, nest);
}

void *netlink_put_raw(struct netlink_builder *b, size_t len)
{
	if (b->failed || b->cap - b->h->nlmsg_len < aligned(len)) {
		b->failed = true;
		return NULL;
	}
	return mnl_nlmsg_put_extra_header(b->h, len);
}

uint8_t netlink_family(const struct addr *a)
{
	return addr_is_v4(a) ? AF_INET : AF_INET6;
}

const struct nlmsghdr *netlink_message_next(const void **at, size_t *left)
{
	const struct nlmsghdr *h = *at;
	if (*left < sizeof *h || h->nlmsg_len < sizeof *h || h->nlmsg_len > *left)
		return NULL;
	size_t step = aligned(h->nlmsg_len);
	if (step > *left)
		step = *left;
	*at = (const char *)h + step;
	*left -= step;
	return h;
}

const void *netlink_message_body(const struct nlmsghdr *h, size_t body_len)
{
	if (h->nlmsg_len < HEADER_LEN + aligned(body_len))
		return NULL;
	return mnl_nlmsg_get_payload(h);
}

void netlink_attrs_of(const void *data, size_t len, const struct nlattr **at, unsigned max)
{
	memset(at, 0, (max + 1) * sizeof(const struct nlattr *));
	const struct nlattr *a = data;
	size_t left = len;
	/* not mnl_attr_for_each: its int arithmetic wants a tail, and rounding up must not pass it */
	while (left >= sizeof *a && a->nla_len >= sizeof *a && a->nla_len <= left) {
		if (mnl_attr_get_type(a) <= max)
			at[mnl_attr_get_type(a)] = a;
		size_t step = aligned(a->nla_len);
		if (step > left)
			return;
		left -= step;
		a = (const void *)((const char *)a + step);
	}
}

void netlink_attrs(const struct nlmsghdr *h, size_t body_len, const struct nlattr **at, unsigned max)
{
	size_t start = HEADER_LEN + aligned(body_len);
	size_t len = h->nlmsg_len > start ? h->nlmsg_len - start : 0;
	netlink_attrs_of((const char *)h + start, len, at, max);
}

bool netlink_get_u32(const struct nlattr *at, uint32_t *out)
{
	if (!at || mnl_attr_get_payload_len(at) != sizeof *out)
		return false;
	memcpy(out, mnl_attr_get_payload(at), sizeof *out);
	return true;
}

bool netlink_get_addr(const struct nlattr *at, uint8_t family, struct addr *out)
{
	size_t want = family == AF_INET ? 4 : 16;
	if (!at || mnl_attr_get_payload_len(at) != want)
		return false;
	if (family == AF_INET)
		*out = addr_from_v4_bytes(mnl_attr_get_payload(at));
	else
		memcpy(out->b, mnl_attr_get_payload(at), 16);
	return true;
}

void netlink_get_text(const struct nlattr *at, char *out, size_t cap)
{
	size_t n = at ? strnlen(mnl_attr_get_payload(at), mnl_attr_get_payload_len(at)) : 0;
	if (n >= cap)
		n = cap - 1;
	if (n)
		memcpy(out, mnl_attr_get_payload(at), n);
	out[n] = '\0';
}

int netlink_ack_decode(const struct nlmsghdr *h, int *error, char *text, size_t cap)
{
	const struct nlmsgerr *e = netlink_message_body(h, sizeof *e);
	const struct nlattr *at[NLMSGERR_ATTR_MSG + 1] = {NULL};
	if (cap)
		text[0] = '\0';
	if (!e)
		return ERR_CORRUPT;
	*error = e->error;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || !cap)
		return 0;
	/* an uncapped answer repeats the whole request before the attributes */
	size_t skip = sizeof *e;
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		if (e->msg.nlmsg_len < HEADER_LEN || e->msg.nlmsg_len > h->nlmsg_len)
			return ERR_CORRUPT;
		skip += aligned(e->msg.nlmsg_len - HEADER_LEN);
	}
	netlink_attrs(h, skip, at, NLMSGERR_ATTR_MSG);
	netlink_get_text(at[NLMSGERR_ATTR_MSG], text, cap);
	return 0;
}
