#include "src/base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t v4_start[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct addr addr_from_v4_bytes(const uint8_t b[4])
{
	struct addr a;
	memcpy(a.b, v4_start, sizeof v4_start);
	memcpy(a.b + 12, b, 4);
	return a;
}

struct addr addr_from_v4(uint32_t h)
{
	uint8_t b[4] = {(uint8_t)(h >> 24), (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h};
	return addr_from_v4_bytes(b);
}

uint32_t addr_to_v4(const struct addr *a)
{
	return (uint32_t)a->b[12] << 24 | (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 | a->b[15];
}

bool addr_is_zero(const struct addr *a)
{
	static const struct addr zero;
	return addr_is_v4(a) ? addr_to_v4(a) == 0 : memcmp(a, &zero, sizeof zero) == 0;
}

bool addr_is_unicast(const struct addr *a)
{
	if (addr_is_v4(a))
		return a->b[12] != 0 && a->b[12] != 127 && a->b[12] < 224;
	static const struct addr loopback = {{[15] = 1}};
	return !addr_is_zero(a) && !addr_eq(a, &loopback) && a->b[0] != 0xff;
}

bool addr_is_link_local(const struct addr *a)
{
	if (addr_is_v4(a))
		return a->b[12] == 169 && a->b[13] == 254;
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

int addr_cmp(const struct addr *a, const struct addr *b)
{
	return memcmp(a->b, b->b, sizeof a->b);
}

bool addr_parse(const char *text, struct addr *out)
{
	uint8_t v4[4];
	struct addr v6;
	if (inet_pton(AF_INET, text, v4) == 1) {
		*out = addr_from_v4_bytes(v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, v6.b) != 1)
		return false;
	*out = v6;
	return true;
}

const char *addr_format(const struct addr *a, char buf[ADDR_TEXT_MAX])
{
	if (addr_is_v4(a))
		inet_ntop(AF_INET, a->b + 12, buf, ADDR_TEXT_MAX);
	else
		inet_ntop(AF_INET6, a->b, buf, ADDR_TEXT_MAX);
	return buf;
}

struct addr addr_add(const struct addr *a, uint64_t offset)
{
	struct addr r = *a;
	for (int i = 15; i >= 0 && offset; i--) {
		offset += r.b[i];
		r.b[i] = (uint8_t)offset;
		offset >>= 8;
	}
	return r;
}

static struct addr addr_mask(const struct addr *a, unsigned len)
{
	struct addr r = *a;
	unsigned at = len / 8;
	if (at >= sizeof r.b)
		return r;
	r.b[at] &= (uint8_t)(0xff00u >> len % 8);
	memset(r.b + at + 1, 0, sizeof r.b - at - 1);
	return r;
}

struct prefix prefix_make(const struct addr *a, unsigned len)
{
	struct prefix p = {.addr = addr_mask(a, len), .len = (uint8_t)len};
	return p;
}

struct prefix prefix_make_v4(uint32_t host_order, unsigned plen)
{
	struct addr a = addr_from_v4(host_order);
	return prefix_make(&a, ADDR_V4_BITS + plen);
}

bool prefix_is_default(const struct prefix *p)
{
	return p->len == 0 || (p->len == ADDR_V4_BITS && prefix_is_v4(p));
}

unsigned prefix_plen(const struct prefix *p)
{
	return prefix_is_v4(p) ? p->len - (unsigned)ADDR_V4_BITS : p->len;
}

enum prefix_parse prefix_parse(const char *text, struct prefix *out)
{
	char host[ADDR_TEXT_MAX];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct addr a;
	if (n >= sizeof host)
		return PREFIX_BAD_TEXT;
	memcpy(host, text, n);
	host[n] = '\0';
	if (!addr_parse(host, &a))
		return PREFIX_BAD_TEXT;
	unsigned max = addr_is_v4(&a) ? 32 : 128, len = max;
	if (slash) {
		/* digits only: strtoul would take signs and spaces */
		size_t digits = strspn(slash + 1, "0123456789");
		if (digits == 0 || digits > 3 || slash[1 + digits] != '\0')
			return PREFIX_BAD_TEXT;
		len = (unsigned)strtoul(slash + 1, NULL, 10);
		if (len > max)
			return PREFIX_BAD_TEXT;
	}
	*out = prefix_make(&a, len + 128 - max);
	return addr_eq(&out->addr, &a) ? PREFIX_OK : PREFIX_HOST_BITS;
}

const char *prefix_format(const struct prefix *p, char buf[PREFIX_TEXT_MAX])
{
	char host[ADDR_TEXT_MAX];
	snprintf(buf, PREFIX_TEXT_MAX, "%s/%u", addr_format(&p->addr, host), prefix_plen(p) & 0xffu);
	return buf;
}

int prefix_cmp(const struct prefix *a, const struct prefix *b)
{
	int c = addr_cmp(&a->addr, &b->addr);
	return c ? c : (int)a->len - (int)b->len;
}

bool prefix_has_addr(const struct prefix *p, const struct addr *a)
{
	struct addr m = addr_mask(a, p->len);
	return addr_eq(&m, &p->addr) && prefix_is_v4(p) == addr_is_v4(a);
}

bool prefix_covers(const struct prefix *outer, const struct prefix *inner)
{
	return outer->len <= inner->len && prefix_has_addr(outer, &inner->addr) &&
	       prefix_is_v4(outer) == prefix_is_v4(inner);
}

bool prefix_in_any(const struct prefix *p, const struct prefix *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_covers(&set[i], p))
			return true;
	return false;
}

bool prefix_overlaps(const struct prefix *a, const struct prefix *b)
{
	return prefix_covers(a, b) || prefix_covers(b, a);
}
