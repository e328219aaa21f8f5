#include "src/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *text)
{
	for (size_t left = strlen(text); left;) {
		ssize_t n = write(fd, text, left);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_new(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	int error = write_all(fd, text);
	if (close(fd) < 0 && !error)
		error = -errno;
	return error;
}

/* The name itself is on the disk only when its directory is. Where that cannot be asked for, the content is there. */
static void sync_directory(const char *path)
{
	char copy[PATH_MAX];
	snprintf(copy, sizeof copy, "%s", path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int file_replace(const char *path, const char *text)
{
	char new[PATH_MAX];
	if (snprintf(new, sizeof new, "%s.new", path) >= (int)sizeof new)
		return -ENAMETOOLONG;
	int error = write_new(new, text);
	if (!error && rename(new, path) < 0)
		error = -errno;
	if (error)
		unlink(new);
	else
		sync_directory(path);
	return error;
}

int file_make_dirs(const char *path)
{
	char part[PATH_MAX];
	if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
		return -ENAMETOOLONG;
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0755) < 0 && errno != EEXIST ? -errno : 0;
}
