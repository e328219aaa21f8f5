/* The list that GC comes with: which interfaces of which containers the runtime still knows. Pure. CNI
 * specification 1.1.0, "GC"; libcni writes the list under two names.
 */
#pragma once
#include <stdbool.h>

#include "src/cni/error.h"
#include "src/cni/request.h"

/* Is every entry what it must be? A configuration without a list is refused: nothing said is not "nothing is valid".
 * null and the empty list are. */
int cni_attachments_check(const struct cni_request *r, struct cni_error *e);
/* After that: is the interface in it? */
bool cni_attachments_have(const struct cni_request *r, const char *container, const char *ifname);
