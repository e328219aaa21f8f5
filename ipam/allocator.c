#include "ipam/allocator.h"

/* How many addresses at each end of the CIDR are special. */
struct ends {
	uint64_t first, last;
};

static struct ends special_ends(const struct prefix *cidr)
{
	if (cidr->len >= 127)
		return (struct ends){0, 0};
	if (prefix_is_v4(cidr))
		return (struct ends){1, 1};
	return (struct ends){1, 0};
}

uint64_t ipam_range_total(const struct prefix *cidr)
{
	struct ends e = special_ends(cidr);
	unsigned host_bits = 128u - cidr->len;
	if (host_bits >= 64)
		return UINT64_MAX;
	return (UINT64_C(1) << host_bits) - e.first - e.last;
}

struct addr ipam_range_at(const struct prefix *cidr, uint64_t n)
{
	return addr_add(&cidr->addr, n + special_ends(cidr).first);
}

bool ipam_range_usable(const struct prefix *cidr, const struct addr *a)
{
	if (!prefix_has_addr(cidr, a))
		return false;
	struct ends e = special_ends(cidr);
	if (e.first && addr_eq(a, &cidr->addr))
		return false;
	if (!e.last)
		return true;
	struct addr last = addr_add(&cidr->addr, (UINT64_C(1) << (128u - cidr->len)) - 1);
	return !addr_eq(a, &last);
}

bool ipam_rested(int64_t freed_at_ms, int64_t now_ms, int64_t reuse_delay_ms)
{
	return freed_at_ms <= 0 || freed_at_ms - now_ms > IPAM_CLOCK_SLACK_MS || now_ms - freed_at_ms >= reuse_delay_ms;
}
