#include "src/daemon/local_link_io.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/sockaddr.h"

static bool read_address(const struct ifaddrs *i, struct addr *out)
{
	struct sockaddr_storage ss = {0};
	if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
		return false;
	memcpy(&ss, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	sockaddr_read(&ss, out, NULL);
	return true;
}

static void take(struct local_link *out, const struct addr *a)
{
	struct addr *slot = addr_is_v4(a) ? &out->v4 : addr_is_link_local(a) ? &out->link_local : &out->v6;
	if (addr_is_zero(slot) && addr_is_unicast(a))
		*slot = *a;
}

void local_link_of(const struct addr *local, uint32_t ifindex, struct local_link *out)
{
	struct ifaddrs *all, *i;
	char given[IF_NAMESIZE];
	const char *name = ifindex ? if_indextoname(ifindex, given) : NULL;
	struct addr a;
	memset(out, 0, sizeof *out);
	if (getifaddrs(&all) < 0)
		return;
	for (i = all; i && !name && !ifindex; i = i->ifa_next)
		if (read_address(i, &a) && addr_eq(&a, local))
			name = i->ifa_name;
	for (i = all; name && i; i = i->ifa_next)
		if (strcmp(i->ifa_name, name) == 0 && read_address(i, &a))
			take(out, &a);
	if (name)
		out->ifindex = if_nametoindex(name);
	freeifaddrs(all);
}

/* Is it the device, or in the VRF that the device is? */
static bool belongs_to(struct netlink_socket *s, const char *name, const char *device)
{
	struct netlink_link l;
	return strcmp(name, device) == 0 || (kernel_ask_link_named(s, name, &l) && l.master && l.master == if_nametoindex(device));
}

uint32_t local_link_on(const char *device, const struct addr *local)
{
	struct netlink_socket *s;
	struct ifaddrs *all;
	struct addr a;
	uint32_t found = 0;
	if (!*device || netlink_socket_open(&s, 0))
		return 0;
	if (getifaddrs(&all) == 0) {
		for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
			if (read_address(i, &a) && addr_eq(&a, local) && belongs_to(s, i->ifa_name, device))
				found = if_nametoindex(i->ifa_name);
		freeifaddrs(all);
	}
	netlink_socket_close(s);
	return found;
}
