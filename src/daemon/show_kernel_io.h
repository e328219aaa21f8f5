/* The rows of `underlayc show kernel`, `show kernel differences` and `resync kernel`, and the words in which other commands
 * tell of the kernel.
 */
#pragma once
#include "rib/fib.h"
#include "src/daemon/control_io.h"

show_next_fn show_kernel, show_kernel_differences, resync_kernel;

/* "via 10.0.0.2 weight 1, via 10.0.1.2 weight 4"; NULL: "nothing". */
const char *next_hops_text(const struct nhset *s, char *buf, size_t cap);
/* The answer where there is no executor: there is no kernel.install, or its VRF is missing. */
struct json_object *fail_without_kernel(struct show *s);
/* Why the kernel does not have what it should: "pending", "failed: ...". */
const char *kernel_state_text(const struct fib_entry *e, char *buf, size_t cap);
