/* Looks at the host's settings (host_judge.h) at the start, after a reload and every few minutes, and logs once what is
 * wrong and once that it no longer is. What is ours to set it sets: the settings of pods' links (src/base/sysctl_io.h).
 */
#pragma once
#include "src/daemon/host_judge.h"

struct daemon;
struct host_watch;

struct host_watch *host_watch_new(struct daemon *d);
void host_watch_free(struct host_watch *w); /* NULL is fine */
void host_watch_look(struct host_watch *w);
/* Looks, and calls emit for each row. */
void host_watch_each(struct host_watch *w, void (*emit)(void *arg, const struct host_row *row), void *arg);
