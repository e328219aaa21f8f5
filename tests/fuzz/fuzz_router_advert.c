/* ICMPv6 messages off a link: the first byte is the hop limit, 16 are the source. What is taken must be within the rules of
 * RFC 4861, and a link that hears it must know afterwards who it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/router_advert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ra_link l = {.by = RA_NONE};
	struct addr from;
	struct tick now = {1000};
	if (size < 17)
		return 0;
	memcpy(from.b, data + 1, sizeof from.b);
	enum ra_kind kind = ra_decode(data + 17, size - 17, &from, data[0]);
	if (kind == RA_NONE)
		return 0;
	bool nobody = addr_is_zero(&from);
	require(data[0] == RA_HOP_LIMIT && data[17] == (kind == RA_SOLICITATION ? 133 : 134) && data[18] == 0);
	require(size - 17 >= (kind == RA_SOLICITATION ? 8u : 16u));
	require(nobody ? kind == RA_SOLICITATION : addr_is_link_local(&from));
	require(ra_link_hear(&l, kind, &from, false, now) == (nobody ? RA_NO_NEWS : RA_CHANGED));
	require(addr_eq(&l.router, &from) && !ra_link_settle(&l, false, now));
	require(ra_link_hear(&l, kind, &from, false, now) == RA_NO_NEWS);
	return 0;
}
