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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text((const char *)data, size, "host", &errors);
	demand((c != NULL) == (errors.count == 0));
	for (size_t i = 0; i < errors.count; i++)
		check_error(&errors.at[i]);
	if (c)
		check_conf(c);
	conf_free(c);
	conf_errors_fini(&errors);
	return 0;
}
