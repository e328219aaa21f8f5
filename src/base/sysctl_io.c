#include "src/base/sysctl_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SYSCTL_PATH_MAX = 160, NUMBER_MAX = 32 };

static int open_setting(const char *path, int flags)
{
	char full[SYSCTL_PATH_MAX];
	snprintf(full, sizeof full, "/proc/sys/%s", path);
	return open(full, flags | O_CLOEXEC);
}

bool sysctl_read(const char *path, long *out)
{
	char text[NUMBER_MAX], *end;
	int fd = open_setting(path, O_RDONLY);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*out = strtol(text, &end, 10);
	return end != text;
}

int sysctl_write(const char *path, long value)
{
	char text[NUMBER_MAX];
	int fd = open_setting(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	int len = snprintf(text, sizeof text, "%ld\n", value);
	int error = write(fd, text, (size_t)len) == len ? 0 : -errno;
	close(fd);
	return error;
}

static const struct {
	const char *only_if, *before, *after; /* around the link's name; only_if: a setting that must not be 0 */
	long value;
} pod_link_settings[] = {
	{"net/ipv4/ip_forward", "net/ipv4/conf/", "/forwarding", 1},
	{NULL, "net/ipv6/conf/", "/accept_ra", 0},
};

int sysctl_settle_pod_link(const char *ifname)
{
	int changed = 0, failed = 0;
	char path[SYSCTL_PATH_MAX];
	long value;
	for (size_t i = 0; i < sizeof pod_link_settings / sizeof *pod_link_settings; i++) {
		const char *only_if = pod_link_settings[i].only_if;
		if (only_if && (!sysctl_read(only_if, &value) || !value))
			continue;
		snprintf(path, sizeof path, "%s%s%s", pod_link_settings[i].before, ifname, pod_link_settings[i].after);
		if (!sysctl_read(path, &value) || value == pod_link_settings[i].value) /* no such link, no IPv6 */
			continue;
		int error = sysctl_write(path, pod_link_settings[i].value);
		changed += !error;
		failed = failed ? failed : error;
	}
	return failed ? failed : changed;
}
