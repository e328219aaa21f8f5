/* One row per configuration key: where it stands, what may be written, what holds when nothing
 * is, what it is for, and where the value goes. Reading, error texts, suggestions and the table in
 * docs/configuration.md come from the same row. A key is added by its row alone unless its type
 * is new, which takes a row in conf/values.c too.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/tree.h"

enum conf_key_type {
	CONF_KEY_MAP,        /* a section: its keys are rows of their own */
	CONF_KEY_PEERS,      /* a list of maps */
	CONF_KEY_POLICIES,   /* the same */
	CONF_KEY_RULES,      /* the same */
	CONF_KEY_EXTERNALS,  /* the same */
	CONF_KEY_UINT,       /* a number min..max, in a field of size bytes */
	CONF_KEY_ASN,
	CONF_KEY_TABLE,      /* a number, or main */
	CONF_KEY_BOOL,
	CONF_KEY_SECONDS,    /* a duration min..max in whole seconds */
	CONF_KEY_NAME,
	CONF_KEY_PATH,
	CONF_KEY_ROUTER_ID,
	CONF_KEY_PEER_ADDRESS, /* where it is link-local with its interface: fe80::1%eth0 */
	CONF_KEY_INTERFACE,
	CONF_KEY_ADDRESS,
	CONF_KEY_ADDRESSES,
	CONF_KEY_PREFIXES,
	CONF_KEY_PREFIX,     /* of length min or longer */
	CONF_KEY_PEER_ASN,
	CONF_KEY_FAMILIES,
	CONF_KEY_IMPORT,
	CONF_KEY_EXPORT,
	CONF_KEY_SECRET_FILE, /* a path that no message quotes: people write the secret itself there */
	CONF_KEY_RANGES,     /* "10.0.0.0/8 ge 16 le 24" */
	CONF_KEY_COMMUNITIES, /* with * where min is 1 */
	CONF_KEY_ASNS,
	CONF_KEY_NETWORKS,   /* prefixes of any length and kind */
	CONF_KEY_NAMES,
	CONF_KEY_BOUNDS,     /* "ge 2 le 5", at most max */
	CONF_KEY_AS_PATHS,   /* expressions */
	CONF_KEY_SETS,       /* a map of names and lists: of prefixes, */
	CONF_KEY_COMMUNITY_SETS,
	CONF_KEY_AS_PATH_SETS,
	CONF_KEY_WORD,       /* one of words, as an enum that begins with "not given" */
	CONF_KEY_OPTIONAL,   /* a number min..max, or not given */
	CONF_KEY_PREPEND,    /* AS numbers, or how often our own, at most max */
	CONF_KEY_NEXT_HOP,
	CONF_KEY_LATER,      /* known, "not supported yet"; what is inside is not looked at */
};

struct conf_key {
	const char *path;         /* "peers[].hold-time" */
	enum conf_key_type type;
	uint64_t min, max;
	const char *expected;     /* what may be written, for "expected ..." and for the documentation */
	const char *item;         /* the same for one item, where a list is expected */
	const char *value;        /* the default, read like a value from the file; NULL: none */
	const char *otherwise;    /* the default in words where it is no constant */
	const char *help;
	const char *words[6];     /* of a CONF_KEY_WORD */
	size_t offset, size;      /* in struct conf, struct conf_peer below peers[], and so on */
};

extern const struct conf_key conf_keys[];
extern const size_t conf_key_count;

/* The row of key inside schema ("" is the top, "peers[]" an item of that list), or NULL. */
const struct conf_key *conf_key_find(const char *schema, const char *key);
/* A known path like key, its siblings first, or NULL where nothing is near. Case, - and _ do not matter, and
 * what other routing software calls a thing is known. */
const char *conf_key_suggest(const char *schema, const char *key);
/* A sentence for a key that asks for what is no key here, or NULL. */
const char *conf_key_advice(const char *key);

/* values.c: reads t into the key's field inside base, or adds errors. Sections are not its job. conf: the whole, where
 * values may name what is elsewhere in it. */
void conf_value_set(const struct conf_key *key, const struct conf_tree *t, const char *path, void *base, struct conf *conf,
		    struct conf_errors *errors);

/* check.c: what only several keys together can get wrong. */
void conf_check(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors);

/* parse.c: the reader of the files that the configuration names. It is a parameter, so that the rest stays free of
 * descriptors and all errors, its own too, come in one run. NULL: such files are not read. */
typedef void conf_secrets_fn(struct conf *c, const struct conf_tree *root, struct conf_errors *errors);
struct conf *conf_load_text_with(const char *text, size_t len, const char *hostname, conf_secrets_fn *read_secrets,
				 struct conf_errors *errors);

/* sets.c: a policy's text together with that of the sets it uses, to be freed; the sets' end. */
char *conf_policy_text(const struct conf *c, const struct conf_tree *policy);
void conf_sets_free(struct conf *c);

/* external.c: the same for external, and their end. */
void conf_check_external(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors);
void conf_external_free(struct conf_external *at, size_t n);

/* policies.c: the same for policies, and their end. */
void conf_check_policies(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors);
void conf_policies_free(struct conf_rules *policies, size_t n);
