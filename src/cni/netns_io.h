/* The pod's network namespace: opening what the runtime names, and a netlink socket inside it. Nothing
 * but opening that socket ever happens inside. Descriptors returned are the caller's.
 */
#pragma once
#include <stdbool.h>

struct netlink_socket;

/* A descriptor, or -errno; -ENOTTY where the path is there and is no network namespace. */
int cni_netns_open(const char *path);
/* Is it the one this process runs in? */
bool cni_netns_is_own(int fd);
/* 0 or -errno. */
int cni_netns_socket(int fd, struct netlink_socket **out);
