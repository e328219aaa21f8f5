/* The edge of the configuration: reading the file, and the host's name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/errors.h"

/* Up to one byte more than is allowed, so that too large a file is seen to be. */
static ssize_t read_all(int fd, char *buf, size_t cap)
{
	size_t n = 0;
	while (n < cap) {
		ssize_t got = read(fd, buf + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static ssize_t read_file(const char *file, char *buf, size_t cap)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read_all(fd, buf, cap);
	int saved = errno;
	close(fd);
	errno = saved;
	return n;
}

struct conf *conf_load_file(const char *file, struct conf_errors *errors)
{
	char host[256] = "";
	struct conf *c = NULL;
	char *buf = conf_grab(CONF_TEXT_MAX + 1, 1);
	*errors = (struct conf_errors){0};
	gethostname(host, sizeof host - 1);
	ssize_t n = read_file(file, buf, CONF_TEXT_MAX + 1);
	if (n < 0)
		conf_error_add(errors, (struct conf_place){0, 0}, "", "cannot be read: %s", strerror(errno));
	else
		c = conf_load_text(buf, (size_t)n, host, errors);
	free(buf);
	return c;
}
