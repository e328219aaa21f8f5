/* underlayd: reads the command line and the configuration, starts the daemon and its loop. */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config.h"
#include "src/base/clock_io.h"
#include "src/base/hash.h"
#include "src/base/live.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"

enum { EXIT_CONFIG = 2 };

static const char usage[] =
	"underlayd [-c FILE] [--check] [-f] [-s SOCKET] [-v]\n"
	"  -c, --config FILE   the configuration (/etc/underlay/underlay.yaml)\n"
	"      --check         read it, report every error, start nothing\n"
	"  -f, --foreground    stay in the foreground (always so; systemd likes it)\n"
	"  -s, --socket SOCKET the control socket, instead of the configured one\n"
	"  -v, --verbose       log details\n"
	"      --version       print the version\n"
	"  -h, --help          this text\n";

struct options {
	const char *config, *socket;
	bool check, verbose;
};

/* -1: go on; otherwise the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
	enum { OPT_CHECK = 256, OPT_VERSION };
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, OPT_CHECK},
		{"foreground", no_argument, NULL, 'f'},   {"socket", required_argument, NULL, 's'},
		{"verbose", no_argument, NULL, 'v'},      {"version", no_argument, NULL, OPT_VERSION},
		{"help", no_argument, NULL, 'h'},         {0},
	};
	int c;
	while ((c = getopt_long(argc, argv, "c:fs:vh", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'f':
			break;
		case OPT_VERSION:
			puts("underlayd " PACKAGE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return EXIT_CONFIG;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "underlayd: %s: not an option\n%s", argv[optind], usage);
	return EXIT_CONFIG;
}

static struct conf *load(const struct daemon *d)
{
	const char *file = d->conf_file;
	struct conf_errors errors = {0};
	struct conf *c = daemon_load(d, &errors);
	char text[1024];
	for (size_t i = 0; i < errors.count; i++)
		fprintf(stderr, "%s\n", conf_error_format(&errors.at[i], file, text, sizeof text));
	if (!c)
		fprintf(stderr, "underlayd: %s: %zu error%s, nothing was started\n", file, errors.count,
			errors.count == 1 ? "" : "s");
	conf_errors_fini(&errors);
	return c;
}

/* Every object must be gone after an orderly end: a leak found at once, not after a month. */
static int count_leaks(void)
{
	int leaks = 0;
	for (unsigned k = 0; k < LIVE_KINDS; k++) {
		size_t n = live_count((enum live_kind)k);
		if (n)
			log_warn("daemon", "%zu %s were not freed (a bug; please report it)", n, live_name((enum live_kind)k));
		leaks += n != 0;
	}
	return leaks;
}

/* A descriptor a peer and a client: the usual soft limit of 1024 is too near. */
static void raise_descriptor_limit(void)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* The table's chunks (src/base/pool.h) are mappings of their own, so that they go back to the kernel when they are freed; on the
 * heap whatever lies behind them would keep them. */
static void give_memory_back(void)
{
	enum { POOL_CHUNK = 64 * 1024 - 64 };
	mallopt(M_MMAP_THRESHOLD, POOL_CHUNK);
}

int main(int argc, char **argv)
{
	struct options o = {.config = "/etc/underlay/underlay.yaml"};
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	struct daemon d = {.conf_file = o.config, .socket_option = o.socket, .lock_fd = -1};
	hash_set_secret(clock_seed());
	d.conf = load(&d);
	if (!d.conf)
		return EXIT_CONFIG;
	if (o.check) {
		printf("%s: fine\n", o.config);
		conf_free(d.conf);
		return EXIT_SUCCESS;
	}
	log_open("underlayd", o.verbose);
	signal(SIGPIPE, SIG_IGN);
	give_memory_back();
	raise_descriptor_limit();
	d.loop = ev_default_loop(0);
	if (daemon_start(&d) == 0)
		ev_run(d.loop, 0);
	else
		status = EXIT_FAILURE;
	daemon_stop(&d);
	return count_leaks() || status == EXIT_FAILURE ? EXIT_FAILURE : EXIT_SUCCESS;
}
