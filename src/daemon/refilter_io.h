/* After a reload: paths that the imports let in before and refuse now go, a slice a turn. What peers say meanwhile is judged by
 * the new imports already. What depends on the outcome waits for the end: the limits of received prefixes, and asking peers to say
 * again what was refused so far.
 */
#pragma once
#include <stdbool.h>

struct daemon;

/* From the start, where one is under way. */
void refilter_begin(struct daemon *d);
/* True: there is more. */
bool refilter_work(struct daemon *d);
