/* What the verbs do. They work from the checked request to the kernel and the lease store, and speak to
 * nobody: not to the daemon, not to an API server. 0, or the code that they set in the error.
 *
 * ADD is a list of steps; when one fails, those done are undone in reverse, so that nothing remains.
 * The lease is written before the address exists in the kernel and freed after it is gone; who is killed in
 * between leaves what DEL, which looks by the container's id alone, finds.
 */
#pragma once
#include "src/cni/error.h"
#include "src/cni/request.h"

/* ADD prints the result itself: a result that nobody got is undone too. */
int cni_add(const struct cni_request *r, struct cni_error *e);
int cni_del(const struct cni_request *r, struct cni_error *e);
int cni_check(const struct cni_request *r, struct cni_error *e);
/* Could an ADD be served now? CNI_NOT_READY with the reason where not. The daemon is not asked, since ADD does not
 * need it. */
int cni_status(const struct cni_request *r, struct cni_error *e);
/* Removes every interface and lease of this network that is not among the valid attachments and was there before this
 * call. One that cannot be removed does not keep the others; the error tells of all. */
int cni_gc(const struct cni_request *r, struct cni_error *e);
