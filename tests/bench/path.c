/* The whole way of a route through the daemon, without sockets: a feeder's UPDATEs are framed, decoded and interned, judged by
 * the import policy, put in the table and decided on; then an update group reads the journal, applies its export policy,
 * encodes, and hands the blocks to a peer that only counts them. Made for callgrind: what is counted is the call of
 * pass_new() (no set is known) and that of pass_known() (the prefixes went and come back, their sets are still there).
 *
 *     path [-n PREFIXES] [-m full|pods] [-f 4|6]
 *
 * The linker leads peer_send() here (--wrap in Makefile.inc). See tests/bench/instructions.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "rib/table.h"
#include "src/base/live.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/nlri_walk.h"
#include "src/daemon/peer_io.h"
#include "tests/bench/feed.h"

enum { FEEDER_AS = 64600, SINK_AS = 64599, OWN_AS = 64500, A_TURN = 64 };

static struct daemon d;
static struct rib_source *feeder;
static size_t told_bytes;

void __wrap_peer_send(struct peer *p, struct block *b, uint32_t from, uint32_t to);
void __wrap_peer_send(struct peer *p, struct block *b, uint32_t from, uint32_t to)
{
	(void)p;
	(void)b;
	told_bytes += to - from;
}

/* As a turn of the loop does it. */
static void tell(void)
{
	bool more;
	do {
		more = export_work(&d, (struct tick){1000});
		more |= rib_sweep(d.rib);
	} while (more);
}

static size_t take(const struct bgp_frame *frame)
{
	struct bgp_update_context ctx = {.attrs = &d.attrs, .as4 = true, .peer_asn = FEEDER_AS, .families = {true, true}};
	struct bgp_update u;
	struct nlri_walk walk;
	const struct prefix *p;
	uint32_t path_id;
	size_t n = 0;
	bgp_update_decode(&ctx, frame->body, frame->body_len, &u);
	if (u.fault.reaction != BGP_FINE)
		abort();
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		nlri_walk_init(&walk, d.rib, u.part[i].withdrawn);
		for (; (p = nlri_walk_next(&walk, &path_id)) != NULL; n++)
			rib_withdraw(d.rib, feeder, p);
		nlri_walk_init(&walk, d.rib, u.part[i].announced);
		for (; (p = nlri_walk_next(&walk, &path_id)) != NULL; n++)
			if (rib_import_accepts(RIB_IMPORT_ALL, &d.imports, p))
				rib_announce(d.rib, feeder, p, u.part[i].attrs, (struct tick){1000});
	}
	bgp_update_fini(&u);
	return n;
}

static size_t pass(const struct feed *f)
{
	struct bgp_fault fault = {0};
	struct bgp_frame frame;
	size_t n = 0, updates = 0;
	for (size_t at = 0; at < f->len; at += frame.len) {
		if (bgp_frame_next(f->bytes + at, f->len - at, BGP_MESSAGE_MAX, &frame, &fault) != 1)
			abort();
		n += take(&frame);
		if (++updates % A_TURN == 0)
			tell();
	}
	tell();
	return n;
}

__attribute__((noinline)) static size_t pass_new(const struct feed *f)
{
	size_t n = pass(f);
	return told_bytes ? n : 0;
}

__attribute__((noinline)) static size_t pass_known(const struct feed *f)
{
	size_t n = pass(f);
	return told_bytes ? n : 1;
}

static struct peer *make_sink(enum bgp_family family)
{
	struct peer *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	p->daemon = &d;
	p->export = RIB_EXPORT_ALL;
	p->as4 = p->end_of_rib_sent = true;
	p->remote_asn = SINK_AS;
	p->session.params.local_asn = OWN_AS;
	p->families[family] = true;
	p->local_next_hop[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000001);
	p->local_next_hop[BGP_IPV6_UNICAST] = (struct addr){{0xfd, [15] = 1}};
	return p;
}

static void start(void)
{
	list_init(&d.peers);
	list_init(&d.groups);
	bgp_attr_table_init(&d.attrs);
	d.rib = rib_new(1);
	feeder = rib_source_new(d.rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = 1});
}

static void hold_all(struct bgp_attrs **held)
{
	for (uint32_t at = 1; at <= rib_entry_limit(d.rib); at++) {
		struct rib_entry *e = rib_entry_at(d.rib, at);
		if (e)
			*held++ = bgp_attrs_ref(rib_path_attrs(&e->path));
	}
}

static void run(const struct feed_params *params)
{
	struct feed news = feed_make(params), gone = feed_make_withdrawals(params);
	struct bgp_attrs **held = calloc(params->prefixes, sizeof(*held));
	if (!news.bytes || !gone.bytes || !held)
		abort();
	start();
	struct peer *sink = make_sink(params->family);
	export_join(sink);
	tell();
	size_t first = pass_new(&news);
	hold_all(held);
	pass(&gone);
	size_t second = pass_known(&news);
	if (first != params->prefixes || second != params->prefixes || rib_prefix_count(d.rib) != params->prefixes)
		abort();
	printf("%zu prefixes, %zu sets, %zu bytes told\n", first, live_count(LIVE_ATTRS), told_bytes);
	export_leave(sink);
	free(sink);
	rib_source_flush(d.rib, feeder, UINT32_MAX);
	rib_free(d.rib);
	rib_source_free(feeder);
	for (size_t i = 0; i < params->prefixes; i++)
		bgp_attrs_unref(held[i]);
	bgp_attr_table_fini(&d.attrs);
	free(held);
	free(news.bytes);
	free(gone.bytes);
}

int main(int argc, char **argv)
{
	struct feed_params params = {.prefixes = 20000, .mix = &feed_mixes[0], .asn = FEEDER_AS, .seed = 1};
	bool good = true;
	for (int c; (c = getopt(argc, argv, "n:m:f:")) != -1;) {
		if (c == 'n')
			params.prefixes = strtoul(optarg, NULL, 10);
		else if (c == 'm')
			good &= (params.mix = feed_mix_find(optarg)) != NULL;
		else if (c == 'f')
			params.family = atoi(optarg) == 6 ? BGP_IPV6_UNICAST : BGP_IPV4_UNICAST;
		else
			good = false;
	}
	if (!good || !params.prefixes) {
		fprintf(stderr, "usage: path [-n PREFIXES] [-m full|pods] [-f 4|6]\n");
		return 2;
	}
	params.next_hop = params.family == BGP_IPV4_UNICAST ? addr_from_v4(0x0a000002) : (struct addr){{0xfd, [15] = 2}};
	run(&params);
	return 0;
}
