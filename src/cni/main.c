/* underlay, the CNI plugin: standard input and CNI_* in, one JSON object on standard output. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cni/edge_io.h"
#include "src/cni/request.h"
#include "src/cni/result.h"
#include "src/cni/verbs_io.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static volatile sig_atomic_t answer_status; /* of the answer that was given */

#ifndef SANITIZED
static char damage_mark[CNI_MARK_MAX];

/* A damaged lease store is mapped memory: reading it may end in a signal. The runtime is told all the same, and the
 * next call makes the store anew. */
static void answer_crash(int sig)
{
	static const char text[] = "{\"cniVersion\":\"1.0.0\",\"code\":5,\"msg\":\"underlay crashed: "
				   "the lease store (RUNDIR/leases) may be damaged; the next call makes it anew\"}\n";
	(void)sig;
	int fd = damage_mark[0] ? open(damage_mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		close(fd);
	if (cni_answered)
		_exit(answer_status); /* all was done but the closing */
	ssize_t ignored = write(STDOUT_FILENO, text, sizeof text - 1);
	(void)ignored;
	_exit(1);
}
#endif

static void set_signals(void)
{
	signal(SIGPIPE, SIG_IGN); /* an answer that nobody reads is an error to undo, not an end */
#ifndef SANITIZED
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		signal(fatal[i], answer_crash);
#endif
}

static int about(void)
{
	fprintf(stderr, "underlay: the CNI plugin of underlay, plain routing for pods. Container runtimes run it; see "
			"underlay(8).\nCNI versions:");
	for (int i = 0; cni_versions[i]; i++)
		fprintf(stderr, " %s", cni_versions[i]);
	fputc('\n', stderr);
	return 0;
}

static int answer_error(const char *version, const struct cni_error *e)
{
	struct cni_error ignored;
	char *text = cni_error_text(version, e);
	answer_status = 1;
	if (cni_print(text, &ignored) != 0)
		fprintf(stderr, "underlay: %s\n", e->msg); /* the runtime's last resort */
	free(text);
	return 1;
}

static int run(const struct cni_request *r, struct cni_error *e)
{
	char *text;
	int err;
	switch (r->verb) {
	case CNI_ADD:
		return cni_add(r, e);
	case CNI_DEL:
		return cni_del(r, e);
	case CNI_CHECK:
		return cni_check(r, e);
	case CNI_STATUS:
		return cni_status(r, e);
	case CNI_GC:
		return cni_gc(r, e);
	case CNI_VERSION:
		break;
	}
	text = cni_version_text(r->version);
	err = cni_print(text, e);
	free(text);
	return err;
}

int main(void)
{
	struct cni_environment env = {
		.command = getenv("CNI_COMMAND"),
		.container = getenv("CNI_CONTAINERID"),
		.netns = getenv("CNI_NETNS"),
		.ifname = getenv("CNI_IFNAME"),
		.args = getenv("CNI_ARGS"),
		.netns_override = getenv("CNI_NETNS_OVERRIDE"),
	};
	struct cni_request r = {.version = "1.0.0"};
	struct cni_error e = {0};
	size_t len = 0;
	bool commanded = env.command && env.command[0];
	set_signals();
	if (isatty(STDIN_FILENO) && !commanded)
		return about();
	char *text = cni_read_all(STDIN_FILENO, &len, &e);
	if (!text && !(commanded && strcmp(env.command, "DEL") == 0)) /* DEL does without */
		return answer_error(r.version, &e);
	if (!commanded && !len) {
		free(text);
		return about();
	}
	int err = cni_request_parse(&env, text ? text : "", text ? len : 0, &r, &e);
#ifndef SANITIZED
	if (!err)
		cni_damage_mark(&r, damage_mark);
#endif
	if (!err)
		err = run(&r, &e);
	int status = err ? answer_error(r.version, &e) : 0;
	cni_request_fini(&r);
	free(text);
	return status;
}
