#include "src/cni/netns_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "netlink/socket_io.h"

static const char own_path[] = "/proc/self/ns/net";

int cni_netns_open(const char *path)
{
	struct statfs fs;
	/* runtimes leave plain files (and anything else) where a namespace was mounted */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) == 0 && fs.f_type == NSFS_MAGIC && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET)
		return fd;
	close(fd);
	return -ENOTTY;
}

bool cni_netns_is_own(int fd)
{
	struct stat a, b;
	return fstat(fd, &a) == 0 && stat(own_path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cni_netns_socket(int fd, struct netlink_socket **out)
{
	*out = NULL;
	int own = open(own_path, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -errno;
	int err = setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
	if (!err) {
		err = netlink_socket_open(out, 0);
		if (setns(own, CLONE_NEWNET) < 0)
			abort(); /* whatever came next would be done to the wrong host */
	}
	close(own);
	return err;
}
