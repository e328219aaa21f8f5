/* What the runtime asks: the CNI_* variables and the network configuration on standard input, checked.
 * Pure. Unknown configuration keys and unknown CNI_ARGS are ignored, as runtimes expect.
 *
 * DEL needs only the container id and the interface name: whatever is wrong with its configuration,
 * what can be read of it is used and the rest takes its default, so that no pod is ever stuck
 * because a file was edited after the pod started.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "src/cni/error.h"

struct json_object;

enum cni_verb { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_STATUS, CNI_GC, CNI_VERSION };

enum { CNI_STDIN_MAX = 1 << 20, CNI_DEPTH_MAX = 32, CNI_RUN_DIR_MAX = 256 };

/* The variables as the environment has them; NULL where one is not set. */
struct cni_environment {
	const char *command, *container, *netns, *ifname, *args, *netns_override;
};

struct cni_request {
	enum cni_verb verb;
	const char *version;  /* one of cni_versions[]; 1.0.0 where the configuration gives none of them */
	char network[64];     /* "" on a DEL without it */
	char container[128], ifname[16]; /* "" for STATUS, GC and VERSION */
	char netns[256];      /* "" on a DEL without it */
	char pod[256];        /* "namespace/name", "" outside Kubernetes */
	char run_dir[CNI_RUN_DIR_MAX];
	char args_ip[64], args_mac[32]; /* IP and MAC of CNI_ARGS; "": not there */
	bool own_netns_allowed;
	struct json_object *config; /* owned; NULL where it did not parse (DEL, VERSION) */
};

extern const char *const cni_versions[]; /* ascending, ends with NULL */
/* Where the version stands in cni_versions[], -1 for one that is not there. */
int cni_version_index(const char *version);
/* Does the version belong to results with "interfaces" (from 0.3.0)? with "version" in ips (to 0.4.0)? */
bool cni_version_has_interfaces(const char *version);
bool cni_version_has_ip_version(const char *version);

/* On error the request's verb and version are as far as they were found, for the answer. Always
 * followed by cni_request_fini(). */
int cni_request_parse(const struct cni_environment *env, const char *text, size_t len, struct cni_request *out,
		      struct cni_error *e);
void cni_request_fini(struct cni_request *r);

/* A whole JSON object of at most CNI_DEPTH_MAX levels, or NULL with the place in the error. what names it. */
struct json_object *cni_json_parse(const char *what, const char *text, size_t len, struct cni_error *e);
