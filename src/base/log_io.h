/* The log: one line an event on standard error, which systemd keeps. Level, subject and text; the
 * subject ("peer tor-a", "kernel") is an argument so that every line about a thing names it the same
 * way. Lines that a remote can trigger go through log_remote(), which lets a burst of 10 and then
 * one a second pass for each limiter, and says how many it held back.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "src/base/tick.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_limit {
	struct tick refill_at;
	unsigned tokens, held;
	bool started;
};

/* verbosity 0: up to info; 1: debug. */
void log_open(const char *program, int verbosity);
void log_line(enum log_level level, const char *subject, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void log_remote(struct log_limit *limit, enum log_level level, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define log_error(subject, ...) log_line(LOG_LEVEL_ERROR, subject, __VA_ARGS__)
#define log_warn(subject, ...) log_line(LOG_LEVEL_WARN, subject, __VA_ARGS__)
#define log_info(subject, ...) log_line(LOG_LEVEL_INFO, subject, __VA_ARGS__)
#define log_debug(subject, ...) log_line(LOG_LEVEL_DEBUG, subject, __VA_ARGS__)
