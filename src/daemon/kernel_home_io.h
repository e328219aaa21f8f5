/* Where our routes are in the kernel: in the configured table, or in that of a VRF (kernel.vrf). A VRF is a device like any
 * other: it may be missing at the start, go, and come back with another index and another table. The FIB's executor lives
 * as long as it does: without it there is no place for routes, and the sessions in it are over; when it is back, what
 * should be in the kernel is compared with what is there, as at a start. A table that we leave keeps nothing of ours.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct kernel_home;

/* Starts what reads and writes the kernel, as the configuration asks for. 0, or -1 after saying why. */
int kernel_home_start(struct daemon *d);
/* Ends the watch on the VRF and the executor; the kernel stays as it is. */
void kernel_home_stop(struct daemon *d);

/* The VRF's device; 0: there is none, or none was asked for. */
uint32_t kernel_home_vrf(const struct daemon *d);
/* "red, table 100", or what is waited for; NULL without kernel.vrf. */
const char *kernel_home_text(const struct daemon *d);
/* Why there is no executor now. */
const char *kernel_home_missing(const struct daemon *d);
/* Is a VRF waited for? */
bool kernel_home_waits(const struct daemon *d);
