/* What the verbs share at the edge of the process: reading the daemon's settings, the lease store of the
 * run directory, printing.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "ipam/store_io.h"
#include "src/cni/error.h"
#include "src/cni/request.h"
#include "src/cni/settings.h"

enum { CNI_OWNER_WAIT_MS = 20000, CNI_MARK_MAX = CNI_RUN_DIR_MAX + 32 };

int cni_settings_read(const struct cni_request *r, struct cni_settings *out, struct cni_error *e);
/* Opens RUNDIR/leases and, where the request is about a container, waits until nobody else works on its interface.
 * *out stays NULL, without an error, where create is false and there is no store. */
int cni_store_open(const struct cni_request *r, bool create, struct ipam_store **out, struct cni_error *e);
/* The file that tells the next call of damage to the store. */
void cni_damage_mark(const struct cni_request *r, char out[CNI_MARK_MAX]);
/* Sets CNI_IO, with the store's directory and the reason; a damaged store is marked. Returns the code. */
int cni_store_fail(const struct cni_request *r, int err, const char *what, struct cni_error *e);
/* Explains why ipam_store_take() gave no address. Returns the code. */
int cni_no_address(const struct cni_request *r, const struct cni_settings *settings, int err,
		   const struct ipam_shortage *shortage, struct cni_error *e);
/* Everything up to the end, at most CNI_STDIN_MAX bytes, into malloc'ed memory; NULL and an error else. */
char *cni_read_all(int fd, size_t *len, struct cni_error *e);
/* cni_print() has begun: a second object would spoil the first. */
extern volatile sig_atomic_t cni_answered;
/* The text (NULL: out of memory) and a newline on standard output; CNI_IO where it cannot be written. */
int cni_print(const char *text, struct cni_error *e);
