/* The edge of the configuration: reading the file, the secrets that it names, and the host's name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/errors.h"
#include "conf/keys.h"

enum { SECRET_MAX = 80 }; /* what the kernel takes: TCP_MD5SIG_MAXKEYLEN */

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

/* The line's length, where it can be a secret; otherwise what is wrong with it. */
static const char *judge_secret(const char *buf, size_t n, size_t *len)
{
	const char *end = memchr(buf, '\n', n);
	*len = end ? (size_t)(end - buf) : n;
	if (end && *len && buf[*len - 1] == '\r')
		--*len;
	if (*len == 0)
		return "the first line is empty, expected the secret there";
	if (*len > SECRET_MAX)
		return "the first line is too long, expected a secret of 1 to 80 bytes";
	return memchr(buf, '\0', *len) ? "a NUL byte in the first line, expected text" : NULL;
}

static const char *judge_file(int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return "everybody on this host can read or write it, expected a file of its owner alone: chmod 600";
	return NULL;
}

/* NULL, and *wrong says why. Nothing of the content is in a message. */
static char *read_secret(const char *path, const char **wrong)
{
	char buf[SECRET_MAX + 3], *secret = NULL; /* the longest, its CR and LF, and one more */
	size_t len = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	*wrong = judge_file(fd);
	ssize_t n = *wrong ? 0 : read_all(fd, buf, sizeof buf);
	if (n < 0)
		*wrong = strerror(errno);
	else if (!*wrong)
		*wrong = judge_secret(buf, (size_t)n, &len);
	if (!*wrong)
		secret = memcpy(conf_grab(len + 1, 1), buf, len);
	explicit_bzero(buf, sizeof buf);
	if (fd >= 0)
		close(fd);
	return secret;
}

static void read_secrets(struct conf *c, const struct conf_tree *root, struct conf_errors *errors)
{
	const struct conf_tree *list = conf_tree_given(root, "peers"), *t = list ? list->first : NULL;
	char path[64], shown[CONF_QUOTE_MAX];
	for (size_t i = 0; i < c->peer_count; i++, t = t->next) {
		struct conf_peer *p = &c->peers[i];
		const char *wrong = NULL;
		if (!p->password_file)
			continue;
		p->password = read_secret(p->password_file, &wrong);
		snprintf(path, sizeof path, "peers[%zu].password-file", i);
		if (wrong)
			conf_error_add(errors, conf_tree_given(t, "password-file")->at, path, "%s: %s",
				       conf_printable(p->password_file, shown), wrong);
	}
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
		c = conf_load_text_with(buf, (size_t)n, host, read_secrets, errors);
	free(buf);
	return c;
}
