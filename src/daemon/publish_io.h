/* What the CNI plugin must know, in <paths.run>/plugin.json, written under another name and renamed: a reader sees a
 * whole file or the one before. It outlives the daemon, so pods come and go while it restarts. */
#pragma once

struct daemon;

/* Writes the file where its content would change. 1: it did, 0: it did not, -errno, logged, and tried again
 * every few seconds. */
int publish_plugin_facts(struct daemon *d);
