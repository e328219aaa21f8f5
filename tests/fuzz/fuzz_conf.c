/* The configuration: any text gives a configuration or at least one printable error, never both. */
#include <stdint.h>
#include <stdlib.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		abort();
}

/* Messages end on terminals. */
static void check_error(const struct conf_error *e)
{
	char line[512];
	const char *text = conf_error_format(e, "f.yaml", line, sizeof line);
	demand(e->text[0] != '\0');
	for (; *text; text++)
		demand((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* What every user of a configuration takes for granted. */
static void check_conf(const struct conf *c)
{
	demand(c->node.name && c->run_dir && c->state_dir && c->control_socket);
	demand(c->kernel.table && c->kernel.metric && c->kernel.protocol >= 5);
	demand(c->kernel.multipath >= 1 && c->kernel.multipath <= 64);
	demand(c->peer_count == 0 || c->node.asn);
	for (size_t i = 0; i < c->peer_count; i++) {
		const struct conf_peer *p = &c->peers[i];
		demand(p->name && p->port && addr_is_unicast(&p->address) && conf_peer_same(p, p));
		demand(p->asn_kind != CONF_ASN_NUMBER || p->asn);
		demand(p->hold_time_s == 0 || p->hold_time_s >= 3);
	}
	for (size_t i = 1; i < c->pods.cidrs.count; i++)
		demand(!prefix_overlaps(&c->pods.cidrs.at[0], &c->pods.cidrs.at[i]));
}

static void check_rule(const struct conf_rule *r)
{
	demand(r->action != CONF_ACTION_MISSING);
	for (size_t i = 0; i < r->match.prefixes.count; i++) {
		const struct conf_range *m = &r->match.prefixes.at[i];
		demand(m->prefix.len <= m->min && m->min <= m->max && m->max <= 128);
	}
	for (size_t i = 0; i < r->set.add.count; i++)
		demand(community_is_exact(&r->set.add.at[i]));
	demand(r->match.path_length.min <= r->match.path_length.max);
	demand(r->set.prepend.count <= 64 && r->set.prepend_own <= 64 && !(r->set.prepend.count && r->set.prepend_own));
}

static void check_policies(const struct conf *c)
{
	for (size_t i = 0; i < c->policy_count; i++) {
		demand(c->policies[i].text && conf_policy_find(c, c->policies[i].name) == &c->policies[i]);
		for (size_t j = 0; j < c->policies[i].rule_count; j++)
			check_rule(&c->policies[i].rules[j]);
	}
	for (size_t i = 0; i < c->peer_count; i++) {
		const struct conf_peer *p = &c->peers[i];
		demand((p->import == CONF_POLICY_NAMED) == (conf_policy_find(c, p->import_policy) != NULL));
		demand((p->export == CONF_POLICY_NAMED) == (conf_policy_find(c, p->export_policy) != NULL));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text((const char *)data, size, "host", &errors);
	demand((c != NULL) == (errors.count == 0));
	for (size_t i = 0; i < errors.count; i++)
		check_error(&errors.at[i]);
	if (c) {
		check_conf(c);
		check_policies(c);
	}
	conf_free(c);
	conf_errors_fini(&errors);
	return 0;
}
