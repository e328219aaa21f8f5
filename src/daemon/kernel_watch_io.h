/* Listens to what others do to links, addresses and routes, and says what it means: to peers, next hops, pods, and the FIB,
 * which puts back what is ours. What no event describes (a link takes its routes along without a word) is left to the audit.
 * A socket that breaks is opened again.
 */
#pragma once
#include "netlink/socket_io.h"
#include "rib/fib.h"

struct audit;
struct daemon;
struct kernel_watch;

/* own: the socket of the FIB's executor, whose changes are not told. All are borrowed. 0 or -errno. */
int kernel_watch_new(struct kernel_watch **out, struct daemon *d, struct fib *f, struct audit *a,
		     const struct netlink_socket *own);
/* Goes on with a new socket where something closed the old one, and where own is a new one. */
void kernel_watch_mend(struct kernel_watch *w, const struct netlink_socket *own, bool own_is_new);
void kernel_watch_free(struct kernel_watch *w); /* NULL is fine */
/* How often events were lost, and how many bytes of them may wait. */
uint64_t kernel_watch_overruns(const struct kernel_watch *w);
size_t kernel_watch_buffer(const struct kernel_watch *w);
