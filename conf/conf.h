/* The configuration as the rest of the program sees it: plain values, every default filled in.
 * The rows in conf/keys.c say for each key its path, type, range, default and help; parsing, the
 * error texts and docs/configuration.md come from them. Validation never stops at the first error:
 * a load reports all of them, each with its place.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"

enum conf_asn_kind { CONF_ASN_NUMBER, CONF_ASN_EXTERNAL, CONF_ASN_INTERNAL };
/* CONF_POLICY_UNSET: import takes what is inside cluster-cidrs or the directory; export sends pods */
enum conf_policy { CONF_POLICY_UNSET, CONF_POLICY_ALL, CONF_POLICY_NONE, CONF_POLICY_PODS };

struct conf_peer {
	char *name;
	struct addr address;
	enum conf_asn_kind asn_kind;
	uint32_t asn; /* where asn_kind is CONF_ASN_NUMBER */
	bool passive;
	uint16_t port;
	uint16_t hold_time_s; /* 0, or 3 and more */
	bool ipv4, ipv6; /* families */
	uint32_t max_prefixes; /* 0: no limit */
	enum conf_policy import, export;
	char *password_file; /* NULL: none */
	char *password;      /* what the file says, for TCP-MD5; NULL: none, or read from text in memory */
	uint8_t ttl_security, multihop; /* hops; 0: not set. Never both */
	unsigned line; /* where it stands in the file, for messages */
};

struct conf_prefixes {
	struct prefix *at;
	size_t count;
};

struct conf {
	struct {
		char *name;               /* default: host name */
		uint32_t asn;
		uint32_t router_id;       /* host order; 0: not set, to be derived */
		struct addr *addresses;   /* may be none: to be detected */
		size_t address_count;
	} node;
	struct {
		struct conf_prefixes cidrs, cluster_cidrs;
		uint32_t reuse_delay_s;
	} pods;
	struct conf_peer *peers;
	size_t peer_count;
	struct {
		bool install;
		uint32_t table;           /* "main" is 254 */
		uint32_t metric;
		uint8_t protocol;
		uint16_t multipath;
	} kernel;
	char *control_socket;         /* default: <paths.run>/control */
	char *run_dir, *state_dir;
};

struct conf_error {
	unsigned line, column;  /* 1-based; 0 where the file itself is at fault */
	char path[128];         /* "peers[1].hold-time", or "" */
	char text[256];         /* what was found and what was expected */
};

struct conf_errors {
	struct conf_error *at;
	size_t count;
};

/* Reads and validates file. Returns a conf to give to conf_free(), or NULL with every error in
 * *errors (which the caller gives to conf_errors_fini() in both cases). conf_io.c */
struct conf *conf_load_file(const char *file, struct conf_errors *errors);
/* The same from text in memory (tests, fuzzing, later the API server). Pure but for libyaml. */
struct conf *conf_load_text(const char *text, size_t len, const char *hostname, struct conf_errors *errors);
void conf_free(struct conf *c);
void conf_errors_fini(struct conf_errors *errors);
/* "file:line:column: path: text" into buf. */
const char *conf_error_format(const struct conf_error *e, const char *file, char *buf, size_t cap);
/* Same settings for a session, so that a reload may keep it; import, export and max-prefixes can change under it. */
bool conf_peer_same(const struct conf_peer *a, const struct conf_peer *b);
