#include "src/daemon/host_io.h"

#include <stdbool.h>
#include <stdio.h>

#include "conf/conf.h"

static bool is_off(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f ? fgetc(f) : EOF;
	if (f)
		fclose(f);
	return c == '0';
}

static bool has_pods(const struct conf *c, bool v4)
{
	for (size_t i = 0; i < c->pods.cidrs.count; i++)
		if (prefix_is_v4(&c->pods.cidrs.at[i]) == v4)
			return true;
	return false;
}

void host_check(const struct conf *c, void (*fn)(void *arg, const char *sentence), void *arg)
{
	if (has_pods(c, true) && is_off("/proc/sys/net/ipv4/ip_forward"))
		fn(arg, "this host does not forward IPv4, so pods reach nobody: sysctl -w net.ipv4.ip_forward=1");
	if (has_pods(c, false) && is_off("/proc/sys/net/ipv6/conf/all/forwarding"))
		fn(arg, "this host does not forward IPv6, so pods reach nobody: sysctl -w net.ipv6.conf.all.forwarding=1");
}
