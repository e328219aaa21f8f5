#include "src/daemon/host_io.h"

#include <stdbool.h>
#include <stdio.h>

static bool is_off(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f ? fgetc(f) : EOF;
	if (f)
		fclose(f);
	return c == '0';
}

static bool has_pods(const struct prefix *cidrs, size_t count, bool v4)
{
	for (size_t i = 0; i < count; i++)
		if (prefix_is_v4(&cidrs[i]) == v4)
			return true;
	return false;
}

void host_check(const struct prefix *cidrs, size_t count, void (*fn)(void *arg, const char *sentence), void *arg)
{
	if (has_pods(cidrs, count, true) && is_off("/proc/sys/net/ipv4/ip_forward"))
		fn(arg, "this host does not forward IPv4, so pods reach nobody: sysctl -w net.ipv4.ip_forward=1");
	if (has_pods(cidrs, count, false) && is_off("/proc/sys/net/ipv6/conf/all/forwarding"))
		fn(arg, "this host does not forward IPv6, so pods reach nobody: sysctl -w net.ipv6.conf.all.forwarding=1");
}
