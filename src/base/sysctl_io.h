/* The kernel's settings below /proc/sys, those of the network namespace that the process is in. */
#pragma once
#include <stdbool.h>

/* The first number in the file; path is without /proc/sys/ ("net/ipv4/ip_forward"). False: no such file, or no number. */
bool sysctl_read(const char *path, long *out);
/* 0 or -errno; -EROFS where the container's /proc/sys is read-only. */
int sysctl_write(const char *path, long value);

/* What a pod's link on the host must be, whatever the host's defaults are: it forwards where the host does, and a pod's
 * router advertisements are none. The plugin settles each link that it makes, and the daemon looks again. The number of
 * settings that were changed, or -errno of the first that could not be. */
int sysctl_settle_pod_link(const char *ifname);
