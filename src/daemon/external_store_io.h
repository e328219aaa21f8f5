/* Owners' routes on disk: a file an owner in DIR (paths.state/external), NAME.routes, written anew as a whole with each
 * change. Only changes of this kind wait for the disk.
 */
#pragma once
#include <stdbool.h>

/* 0, or -errno and the file is as it was. text NULL: the file goes. */
int external_store_write(const char *dir, const char *name, const char *text);
/* Calls take for each file, with its text; where take says that it is damaged (false, with the reason in why), the file is
 * set aside under another name and the log says so. */
typedef bool external_store_fn(void *arg, const char *name, char *text, char *why, unsigned why_cap);
void external_store_read(const char *dir, external_store_fn *take, void *arg);
