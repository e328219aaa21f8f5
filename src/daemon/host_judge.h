/* What the host's settings (sysctl) must be for a node like ours, judged from what they are: a table of checks, one row for
 * each thing that is looked at. Pure: the values come through a function of the caller's, so that a test can make any
 * host it likes. Nothing is changed here: these settings are the machine's, and a row that is wrong ends with the line
 * to type.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_LINKS_MAX = 64, HOST_LINK_NAME_MAX = 16 };
enum host_family { HOST_IPV4, HOST_IPV6, HOST_FAMILIES };

struct host_link {
	char name[HOST_LINK_NAME_MAX];
	bool uplink;     /* the way to a peer */
	bool unnumbered; /* of a peer that is found by router advertisements */
	bool ra_default; /* the IPv6 default route goes over it, learned from router advertisements */
};

/* The kernel's neighbour table, of all network namespaces together. */
struct host_neighbours {
	uint64_t entries; /* that may have to go for others: not those of pods, which are permanent */
	uint64_t refused; /* since the last look */
};

struct host_facts {
	bool pods[HOST_FAMILIES]; /* there are pods of the family here, for which the host must forward */
	size_t peers;
	struct host_neighbours neighbours[HOST_FAMILIES];
	const struct host_link *links; /* borrowed */
	size_t link_count;
};

/* The number in a file below /proc/sys; false: there is no such file, or it cannot be read. */
typedef bool host_read_fn(void *arg, const char *path, long *out);

enum host_verdict {
	HOST_FINE,
	HOST_NOTE,    /* works, and could be better, or is the operator's choice */
	HOST_WRONG,
	HOST_UNKNOWN, /* not to be seen from here */
	HOST_VERDICTS,
};

enum { HOST_SETTING_MAX = 96, HOST_VALUE_MAX = 64, HOST_WHAT_MAX = 320 };

struct host_row {
	const char *check;              /* "reverse path filter" */
	char setting[HOST_SETTING_MAX]; /* as sysctl(8) names it: net.ipv4.conf.eth0.rp_filter */
	char value[HOST_VALUE_MAX];
	const char *wanted;
	enum host_verdict verdict;
	char what[HOST_WHAT_MAX];       /* what is wrong or could be better, and the line to type; "" where fine */
};

const char *host_verdict_name(enum host_verdict v);

/* Calls emit for each check that concerns such a node. */
void host_judge(const struct host_facts *f, host_read_fn *read, void *read_arg,
		void (*emit)(void *arg, const struct host_row *row), void *arg);
