#include "src/client/client_io.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WHO_TO_ASK "is underlayd running? (systemctl status underlayd)"

/* What the operator can do about each way in which connecting fails. */
static const struct {
	int error;
	const char *before, *after;
} connect_texts[] = {
    {ENOENT, "no daemon answers at ", ": " WHO_TO_ASK},
    {ENOTDIR, "no daemon answers at ", ": " WHO_TO_ASK},
    {ECONNREFUSED, "no daemon answers at ", ": the socket is left over from one that is gone; " WHO_TO_ASK},
    {EACCES, "not allowed to open ", ": be root or a member of the group underlay"},
    {EPERM, "not allowed to open ", ": be root or a member of the group underlay"},
    {EAGAIN, "the daemon at ", " takes no more callers: it hangs or is overloaded (systemctl status underlayd)"},
    {ENAMETOOLONG, "the path ", " is too long for a socket"},
};

static void explain(struct text *problem, const char *path, int error)
{
	size_t i = 0, n = sizeof connect_texts / sizeof *connect_texts;
	while (i < n && connect_texts[i].error != error)
		i++;
	text_add(problem, i < n ? connect_texts[i].before : "cannot talk to ");
	text_printable(problem, path, strlen(path));
	text_add(problem, i < n ? connect_texts[i].after : ": ");
	if (i == n)
		text_add(problem, strerror(error));
}

/* The descriptor, or -errno. Neither connecting nor sending waits longer than timeout_ms. */
static int dial(const char *path, int timeout_ms)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
	if (strlen(path) >= sizeof to.sun_path)
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	int error = errno;
	close(fd);
	return -error;
}

static int send_all(int fd, const struct text *request)
{
	for (size_t sent = 0; sent < request->len;) {
		ssize_t n = send(fd, request->at + sent, request->len - sent, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void silence(struct text *problem, int timeout_ms)
{
	char text[96];
	snprintf(text, sizeof text, "the daemon said nothing for %d s: it hangs or is overloaded", timeout_ms / 1000);
	text_add(problem, text);
}

/* More bytes of the answer into buf: their number, 0 at the end or where problem says why. */
static size_t receive(int fd, char *buf, size_t cap, int timeout_ms, struct text *problem)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int ready = poll(&p, 1, timeout_ms);
	ssize_t n = ready > 0 ? read(fd, buf, cap) : -1;
	if (ready == 0)
		silence(problem, timeout_ms);
	else if (n == 0 || (n < 0 && errno == ECONNRESET))
		text_add(problem, "the daemon closed the connection in the middle of its answer");
	else if (n < 0)
		text_add(problem, strerror(errno));
	return n > 0 ? (size_t)n : 0;
}

/* For people; a script reads the answer only. */
static void show_progress(struct answer *a)
{
	if (a->progress.len && isatty(STDERR_FILENO))
		fprintf(stderr, "%.*s...\n", (int)a->progress.len, a->progress.at);
	a->progress.len = 0;
}

static void read_answer(int fd, int timeout_ms, struct answer *a, struct text *problem)
{
	char buf[16384];
	enum answer_state state = ANSWER_MORE;
	while (state == ANSWER_MORE && problem->len == 0) {
		size_t n = receive(fd, buf, sizeof buf, timeout_ms, problem);
		state = answer_feed(a, buf, n);
		show_progress(a);
	}
	if (state != ANSWER_GARBAGE)
		return;
	text_add(problem, "what answers there does not speak the control protocol; it said: ");
	text_bytes(problem, a->error.at, a->error.len);
}

int client_ask(const char *path, const struct text *request, int timeout_ms, struct answer *a, struct text *problem, int *keep)
{
	int fd = dial(path, timeout_ms);
	if (fd < 0) {
		explain(problem, path, -fd);
		return -1;
	}
	/* one that closes early may still have answered: read all the same */
	int sent = send_all(fd, request);
	if (sent == 0 || sent == -EPIPE)
		read_answer(fd, timeout_ms, a, problem);
	else
		explain(problem, path, -sent);
	if (keep && problem->len == 0)
		*keep = fd;
	else
		close(fd);
	return problem->len ? -1 : 0;
}

void client_wait(int fd)
{
	char waste[64];
	ssize_t n;
	do
		n = read(fd, waste, sizeof waste);
	while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
}
