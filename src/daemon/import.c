#include "src/daemon/import.h"

#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"

static bool asks_to_be_discarded(const struct bgp_attrs *a)
{
	static const struct community_match blackhole = {{COMMUNITY_STANDARD, {0xffff029a}}, {UINT32_MAX}};
	return bgp_attrs_has_community(a, &blackhole, 1);
}

/* Our own next hop on a learned path is none: the kernel gets a blackhole. It stays in the AS. */
static struct bgp_attrs *make(const struct peer *p, struct bgp_attrs *a, bool discards)
{
	static const struct community no_export = {COMMUNITY_STANDARD, {0xffffff01}};
	const struct bgp_attr_edit edit = {.has_local_pref = p->ways.draining,
					   .has_next_hop = discards,
					   .add = &no_export,
					   .add_count = discards};
	return bgp_attrs_edit(a, &edit);
}

bool import_finish(const struct peer *p, struct import_memo *m, const struct prefix *prefix, struct bgp_attrs **out)
{
	bool discards = p->ways.blackhole && asks_to_be_discarded(*out);
	if (!discards && !p->ways.draining)
		return true;
	if (discards && !rib_import_may_discard(&p->daemon->imports, prefix))
		return false;
	if (m->in != *out || m->discards != discards) {
		struct bgp_attrs *in = bgp_attrs_ref(*out), *made = make(p, in, discards);
		import_memo_fini(m);
		*m = (struct import_memo){in, made, discards};
	}
	*out = m->made;
	return m->made != NULL;
}

void import_memo_fini(struct import_memo *m)
{
	bgp_attrs_unref(m->in);
	bgp_attrs_unref(m->made);
	*m = (struct import_memo){0};
}
