#include "src/base/log_io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/clock_io.h"

enum { LIMIT_BURST = 10, LIMIT_REFILL_MS = 1000 };

static const char *program = "underlay";
static enum log_level highest = LOG_LEVEL_INFO;
static bool journal; /* the journal adds time and level itself */

static const struct {
	const char *word;
	int syslog;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3},
	[LOG_LEVEL_WARN] = {"warning", 4},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

void log_open(const char *name, int verbosity)
{
	program = name;
	highest = verbosity > 0 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	journal = getenv("JOURNAL_STREAM") != NULL;
	setvbuf(stderr, NULL, _IOLBF, 0);
}

static void put(enum log_level level, const char *subject, const char *fmt, va_list ap)
{
	int saved = errno;
	char text[1024];
	if (level > highest)
		return;
	vsnprintf(text, sizeof text, fmt, ap);
	for (char *c = text; *c; c++) /* a remote's text never breaks or colours a line */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (journal) {
		fprintf(stderr, "<%d>%s: %s\n", levels[level].syslog, subject, text);
	} else {
		struct timespec now;
		struct tm tm;
		char when[32];
		clock_gettime(CLOCK_REALTIME, &now);
		strftime(when, sizeof when, "%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
		fprintf(stderr, "%s.%03ld %s: %s: %s: %s\n", when, now.tv_nsec / 1000000, program, levels[level].word,
			subject, text);
	}
	errno = saved;
}

void log_line(enum log_level level, const char *subject, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put(level, subject, fmt, ap);
	va_end(ap);
}

static bool limit_take(struct log_limit *l, struct tick now)
{
	if (!l->started) {
		l->started = true;
		l->tokens = LIMIT_BURST;
		l->refill_at = tick_after(now, LIMIT_REFILL_MS);
	}
	while (l->tokens < LIMIT_BURST && tick_due(l->refill_at, now)) {
		l->tokens++;
		l->refill_at = tick_after(l->refill_at, LIMIT_REFILL_MS);
	}
	if (l->tokens == LIMIT_BURST)
		l->refill_at = tick_after(now, LIMIT_REFILL_MS);
	if (l->tokens == 0) {
		l->held++;
		return false;
	}
	l->tokens--;
	return true;
}

void log_remote(struct log_limit *limit, enum log_level level, const char *subject, const char *fmt, ...)
{
	if (!limit_take(limit, clock_now()))
		return;
	if (limit->held)
		log_line(level, subject, "%u similar lines were held back", limit->held);
	limit->held = 0;
	va_list ap;
	va_start(ap, fmt);
	put(level, subject, fmt, ap);
	va_end(ap);
}
