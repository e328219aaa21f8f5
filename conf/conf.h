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
#include "src/base/community.h"

enum conf_asn_kind { CONF_ASN_NUMBER, CONF_ASN_EXTERNAL, CONF_ASN_INTERNAL };
/* CONF_POLICY_UNSET: import takes what is inside cluster-cidrs or the directory; export sends pods */
enum conf_policy { CONF_POLICY_UNSET, CONF_POLICY_ALL, CONF_POLICY_NONE, CONF_POLICY_PODS, CONF_POLICY_NAMED };

/* Ours towards the peer, RFC 9234. */
enum conf_role { CONF_ROLE_NONE, CONF_ROLE_PROVIDER, CONF_ROLE_CUSTOMER, CONF_ROLE_PEER, CONF_ROLE_RS_SERVER, CONF_ROLE_RS_CLIENT };

enum conf_limit { CONF_LIMIT_UNSET, CONF_LIMIT_RESTART, CONF_LIMIT_WARN, CONF_LIMIT_STOP };

struct conf_peer {
	char *name;
	struct addr address; /* zero: unnumbered, whoever is at the other end of interface */
	char *interface;     /* NULL but for these, and for a link-local address */
	struct prefix range; /* length 0: none; else whoever calls from there, and address is zero */
	uint16_t range_limit;
	enum conf_asn_kind asn_kind;
	uint32_t asn; /* where asn_kind is CONF_ASN_NUMBER */
	bool passive;
	uint16_t port;
	uint16_t hold_time_s; /* 0, or 3 and more */
	bool ipv4, ipv6; /* families */
	uint32_t local_as;     /* 0: node.asn */
	uint8_t allow_own_as;
	bool graceful_shutdown, blackhole;
	bool as_override, remove_private_as, next_hop_self, route_reflector_client;
	uint32_t max_prefixes, max_advertised; /* 0: no limit */
	enum conf_limit max_prefixes_action;
	struct {
		bool receive;
		uint8_t send; /* how many to a prefix; 0: one, as without add-path */
	} add_path;
	bool restart_helper; /* graceful-restart-helper */
	enum conf_role role;
	bool role_strict;
	enum conf_policy import, export;
	char *password_file; /* NULL: none */
	char *password;      /* what the file says, for TCP-MD5; NULL: none, or read from text in memory */
	uint8_t ttl_security, multihop; /* hops; 0: not set. Never both */
	struct addr source;             /* our end; zero: whatever the routes say */
	char *device;                   /* that the sessions go over, also a VRF; default: kernel.vrf; NULL: any */
	uint16_t tcp_mss;               /* 0: the kernel's */
	char *import_policy, *export_policy; /* the names where CONF_POLICY_NAMED; else NULL */
	unsigned line; /* where it stands in the file, for messages */
};

struct conf_prefixes {
	struct prefix *at;
	size_t count;
};

/* Prefixes inside prefix whose length is in min..max (counted like prefix.len). */
struct conf_range {
	struct prefix prefix;
	uint8_t min, max;
};

struct conf_ranges {
	struct conf_range *at;
	size_t count;
};
struct conf_communities {
	struct community_match *at;
	size_t count;
	bool given; /* also where it is empty */
};
struct conf_numbers {
	uint32_t *at;
	size_t count;
};
struct conf_names {
	char **at;
	size_t count;
};
struct conf_optional {
	bool given;
	uint32_t value;
};
struct conf_bounds {
	bool given;
	uint32_t min, max;
};
enum conf_family { CONF_FAMILY_ANY, CONF_FAMILY_IPV4, CONF_FAMILY_IPV6 };
enum conf_source { CONF_SOURCE_ANY, CONF_SOURCE_LOCAL, CONF_SOURCE_BGP, CONF_SOURCE_EXTERNAL };
enum conf_action { CONF_ACTION_MISSING, CONF_ACTION_ACCEPT, CONF_ACTION_REJECT, CONF_ACTION_NEXT };
enum conf_next_hop { CONF_NEXT_HOP_KEPT, CONF_NEXT_HOP_SELF, CONF_NEXT_HOP_ADDRESS };
enum conf_objects { CONF_OBJECTS_UNSET, CONF_OBJECTS_AUTO, CONF_OBJECTS_NEVER };

/* What a rule does not say is empty or "any". */
struct conf_rule {
	struct {
		struct conf_ranges prefixes;
		struct conf_communities any, all, none; /* communities: any, all or none of them */
		struct conf_names as_path;              /* expressions (src/base/as_regex.h) */
		struct conf_numbers origin_as;
		struct conf_prefixes next_hop;
		struct conf_names peer;
		struct conf_bounds path_length, local_pref, med;
		enum conf_family family;
		enum conf_source source;
	} match;
	struct {
		struct conf_optional local_pref, med, weight;
		struct conf_numbers prepend; /* the numbers, or */
		uint32_t prepend_own;        /* how often our own */
		struct conf_communities add, remove, replace; /* exact ones, but in remove */
		enum conf_next_hop next_hop_kind;
		struct addr next_hop;
	} set;
	enum conf_action action;
};

struct conf_rules {
	char *name;
	char *text;  /* all that was written about it and in the sets that it uses, for comparing */
	struct conf_rule *rules;
	size_t rule_count;
};

/* A list with a name, which rules use as $NAME. Items are struct conf_range, struct community_match or char *; rules
 * have copies. */
struct conf_set {
	char *name;
	uint64_t print[2]; /* a fingerprint, for comparing */
	void *at;
	size_t count;
};
struct conf_sets {
	struct conf_set *at;
	size_t count;
};

/* Routes of others that we tell: the kernel's of one table and protocol, or what an owner of this name hands over. */
struct conf_external {
	char *name;
	bool socket;
	uint32_t table;   /* 0: not given */
	uint8_t protocol; /* 0: any but ours */
	struct conf_ranges prefixes;
	struct conf_communities community;
};

struct conf {
	struct {
		char *name;               /* default: host name */
		uint32_t asn;
		uint32_t router_id;       /* host order; 0: not set, to be derived */
		uint32_t cluster_id;      /* likewise; 0: the router ID */
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
		struct conf_sets prefixes, communities, as_paths;
		size_t copied;            /* items, in all rules; limited */
	} sets;
	struct conf_rules *policies;
	size_t policy_count;
	struct conf_external *external;
	size_t external_count;
	struct {
		bool install;
		uint32_t table;           /* "main" is 254 */
		char *vrf;                /* whose table it is instead; NULL: none */
		uint32_t metric;
		uint8_t protocol;
		uint16_t multipath;
		enum conf_objects nexthop_objects;
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
/* NULL where no policy is called name (NULL is fine). */
const struct conf_rules *conf_policy_find(const struct conf *c, const char *name);
enum { CONF_PLACE_MAX = ADDR_TEXT_MAX + 64 };
/* "10.0.7.254", "fe80::1%eth0" or, of an unnumbered peer, "eth0", into buf. */
const char *conf_peer_place(const struct conf_peer *p, char buf[CONF_PLACE_MAX]);
bool conf_peer_is_range(const struct conf_peer *p);
/* Same settings for a session, so that a reload may keep it; import, export and the limits can change under it. */
bool conf_peer_same(const struct conf_peer *a, const struct conf_peer *b);
bool conf_external_same(const struct conf_external *a, const struct conf_external *b);
