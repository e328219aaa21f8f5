#include "src/cni/edge_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/cni/rebuild_io.h"

enum { PATH_BYTES = CNI_RUN_DIR_MAX + 16 };

char *cni_read_all(int fd, size_t *len, struct cni_error *e)
{
	size_t cap = 4096, n = 0;
	char *buf = malloc(cap);
	while (buf) {
		if (n == cap) {
			char *more = realloc(buf, cap *= 2);
			if (!more)
				break;
			buf = more;
		}
		ssize_t got = read(fd, buf + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			cni_fail(e, CNI_IO, "cannot read: %s", strerror(errno));
			free(buf);
			return NULL;
		}
		n += (size_t)got;
		*len = n;
		if (!got)
			return buf;
		if (n > CNI_STDIN_MAX) {
			cni_fail(e, CNI_DECODE, "standard input is longer than %d bytes", CNI_STDIN_MAX);
			free(buf);
			return NULL;
		}
	}
	free(buf);
	cni_fail(e, CNI_IO, "out of memory");
	return NULL;
}

int cni_settings_read(const struct cni_request *r, struct cni_settings *out, struct cni_error *e)
{
	char path[PATH_BYTES];
	size_t len;
	snprintf(path, sizeof path, "%s/plugin.json", r->run_dir);
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO in its place must not hold a pod up */
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return cni_fail(e, CNI_IO, "%s is not a regular file; remove it and reload underlayd, which writes it", path);
	}
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
		return cni_fail(e, CNI_IO, "cannot open %s: %s", path, strerror(errno));
	if (fd < 0) {
		cni_fail(e, CNI_TRY_AGAIN, "underlayd has not published %s yet", path);
		return cni_fail_details(e, "is underlayd running on this node, and is its paths.run %s? where it is another "
					"directory, the network configuration must say so: \"runDir\" is the key; see: "
					"underlayc show status", r->run_dir);
	}
	char *text = cni_read_all(fd, &len, e);
	close(fd);
	if (!text)
		return e->code;
	int err = cni_settings_parse(path, text, len, out, e);
	free(text);
	return err;
}

int cni_store_fail(const struct cni_request *r, int err, const char *what, struct cni_error *e)
{
	cni_fail(e, err == -EAGAIN ? CNI_TRY_AGAIN : CNI_IO, "cannot %s in %s/leases: %s", what, r->run_dir,
		 err_text(err));
	if (err != ERR_CORRUPT)
		return e->code;
	char mark[CNI_MARK_MAX];
	cni_damage_mark(r, mark);
	int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return cni_fail_details(e, "the lease store is damaged; the next call makes it anew from what the kernel knows");
}

int cni_no_address(const struct cni_request *r, const struct cni_settings *settings, int err,
		   const struct ipam_shortage *shortage, struct cni_error *e)
{
	char cidr[PREFIX_TEXT_MAX];
	if (err == ERR_RANGE) {
		cni_fail(e, CNI_BAD_CONFIG, "%s was asked for and is no address that a pod of this node can have",
			 prefix_format(&shortage->cidr, cidr));
		return cni_fail_details(e, "see pods.cidrs in: underlayc show status");
	}
	if (err == -EADDRINUSE)
		return cni_fail(e, CNI_TRY_AGAIN, "%s was asked for and is another pod's; see: underlayc show pods",
				prefix_format(&shortage->cidr, cidr));
	if (err != ERR_EXHAUSTED)
		return cni_store_fail(r, err, "take an address", e);
	cni_fail(e, CNI_TRY_AGAIN, "no address is free in %s: %llu of %llu used, %llu resting; try again",
		 prefix_format(&shortage->cidr, cidr), (unsigned long long)shortage->used,
		 (unsigned long long)shortage->total, (unsigned long long)shortage->resting);
	return cni_fail_details(e, "a freed address rests for %lld s (pods.reuse-delay)",
				(long long)(settings->reuse_delay_ms / 1000));
}

void cni_damage_mark(const struct cni_request *r, char out[CNI_MARK_MAX])
{
	snprintf(out, CNI_MARK_MAX, "%s/leases/" IPAM_DAMAGE_MARK, r->run_dir);
}

/* Runtimes drop what a plugin that succeeds writes to standard error. */
static void report_set_aside(const char *dir)
{
	syslog(LOG_DAEMON | LOG_ERR, "underlay: the lease store in %s was damaged; it is set aside as data.mdb.damaged and "
	       "made anew from the interfaces of the kernel", dir);
}

static int open_and_lock(const struct cni_request *r, const char *dir, bool create, struct ipam_store **out)
{
	static const struct ipam_fill fill = {.fn = cni_rebuild};
	bool set_aside;
	int err = ipam_store_open_or_make(out, dir, create, &fill, &set_aside);
	if (set_aside)
		report_set_aside(dir);
	if (!err && r->container[0])
		err = ipam_store_lock_owner(*out, r->container, r->ifname, CNI_OWNER_WAIT_MS);
	if (!err)
		return 0;
	ipam_store_close(*out);
	*out = NULL;
	return err;
}

int cni_store_open(const struct cni_request *r, bool create, struct ipam_store **out, struct cni_error *e)
{
	enum { TRIES = 3 };
	char dir[PATH_BYTES];
	int err = -ESTALE;
	snprintf(dir, sizeof dir, "%s/leases", r->run_dir);
	for (int i = 0; i < TRIES && err == -ESTALE; i++) /* it may be made anew while we wait for the container */
		err = open_and_lock(r, dir, create, out);
	if (err == ERR_NOT_FOUND && !create)
		return 0;
	if (err == -EAGAIN && r->container[0])
		return cni_fail(e, CNI_TRY_AGAIN, "another call still works on %s of container %.64s", r->ifname,
				r->container);
	return err ? cni_store_fail(r, err, "open the lease store", e) : 0;
}

volatile sig_atomic_t cni_answered;

int cni_print(const char *text, struct cni_error *e)
{
	const char *parts[] = {text, "\n"};
	if (!text)
		return cni_fail(e, CNI_IO, "out of memory");
	cni_answered = 1;
	for (int i = 0; i < 2; i++) {
		for (size_t left = strlen(parts[i]); left;) {
			ssize_t n = write(STDOUT_FILENO, parts[i], left);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return cni_fail(e, CNI_IO, "cannot write the answer: %s", strerror(errno));
			parts[i] += n;
			left -= (size_t)n;
		}
	}
	return 0;
}
