#include "src/daemon/sockaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

socklen_t sockaddr_make(struct sockaddr_storage *ss, const struct addr *a, uint16_t port)
{
	memset(ss, 0, sizeof *ss);
	if (addr_is_v4(a)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ss;
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->b + 12, 4);
		return sizeof *in;
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->b, 16);
	return sizeof *in6;
}

void sockaddr_set_scope(struct sockaddr_storage *ss, uint32_t ifindex)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	if (ss->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		in6->sin6_scope_id = ifindex;
}

uint32_t sockaddr_scope(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)ss)->sin6_scope_id : 0;
}

void sockaddr_read(const struct sockaddr_storage *ss, struct addr *a, uint16_t *port)
{
	uint16_t net_port = 0;
	if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
		*a = addr_from_v4_bytes((const uint8_t *)&in->sin_addr);
		net_port = in->sin_port;
	} else if (ss->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
		memcpy(a->b, &in6->sin6_addr, 16);
		net_port = in6->sin6_port;
	}
	if (port)
		*port = ntohs(net_port);
}
