/* What a peer may send: a stream of bytes, cut into messages as the daemon cuts it, each decoded by its type. What
 * is accepted must hold what the rest of the program takes for granted, and an OPEN must go round.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/open.h"
#include "bgp/update.h"
#include "src/base/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_fault(const struct bgp_fault *f)
{
	char name[BGP_FAULT_NAME_MAX];
	uint8_t bytes[BGP_MESSAGE_MAX];
	struct bgp_frame frame;
	struct bgp_fault none = {0};
	require(f->text && f->data_len <= BGP_FAULT_DATA_MAX);
	require(bgp_fault_name(f->code, f->subcode, name)[0] != '\0');
	size_t len = bgp_notification_encode(bytes, sizeof bytes, f);
	require(bgp_frame_next(bytes, len, BGP_MESSAGE_MAX, &frame, &none) == 1 && frame.len == len);
	struct bgp_fault back = bgp_notification_decode(frame.body, frame.body_len);
	require(back.code == f->code && back.subcode == f->subcode && back.data_len == f->data_len);
	require(memcmp(back.data, f->data, f->data_len) == 0);
}

static void open_goes_round(const struct bgp_open *o)
{
	uint8_t bytes[BGP_MESSAGE_MAX];
	struct bgp_frame frame;
	struct bgp_fault fault = {0};
	struct bgp_open back;
	size_t len = bgp_open_encode(bytes, sizeof bytes, o);
	require(bgp_frame_next(bytes, len, BGP_MESSAGE_MAX, &frame, &fault) == 1 && frame.len == len);
	bgp_open_decode(frame.body, frame.body_len, &back, &fault);
	require(fault.reaction == BGP_FINE);
	require(back.asn == o->asn && back.as4 == o->as4 && back.router_id == o->router_id);
	require(back.hold_time_s == o->hold_time_s && back.restart.present == o->restart.present);
	require(back.restart.time_s == o->restart.time_s && back.restart.restarting == o->restart.restarting);
	require(memcmp(back.restart.kept, o->restart.kept, sizeof o->restart.kept) == 0);
	require(memcmp(back.restart.families, o->restart.families, sizeof o->restart.families) == 0);
	require(back.refresh == o->refresh && back.extended == o->extended && back.enhanced == o->enhanced);
	require(back.v6_next_hop == o->v6_next_hop && back.role == o->role);
	bool none = !o->families[BGP_IPV4_UNICAST] && !o->families[BGP_IPV6_UNICAST];
	require(none || memcmp(back.families, o->families, sizeof o->families) == 0);
}

static void try_open(const struct bgp_frame *f)
{
	struct bgp_open o;
	struct bgp_fault fault = {0};
	char text[128];
	bgp_open_decode(f->body, f->body_len, &o, &fault);
	require(strlen(bgp_open_capabilities_text(&o, text, sizeof text)) < sizeof text);
	if (fault.reaction != BGP_FINE) {
		require(fault.reaction == BGP_RESET && fault.code == BGP_ERR_OPEN);
		check_fault(&fault);
		return;
	}
	require(o.version == 4 && o.asn && o.router_id && o.hold_time_s != 1 && o.hold_time_s != 2);
	require(o.restart.time_s < 4096);
	open_goes_round(&o);
}

static void try_notification(const struct bgp_frame *f)
{
	struct bgp_fault fault = bgp_notification_decode(f->body, f->body_len);
	require(fault.reaction == BGP_RESET && fault.code == f->body[0] && fault.subcode == f->body[1]);
	check_fault(&fault);
}

static void try_refresh(const struct bgp_frame *f)
{
	uint8_t bytes[32];
	struct bgp_refresh r;
	struct bgp_fault fault = {0};
	bgp_refresh_decode(f->body, f->body_len, &r, &fault);
	require((fault.reaction == BGP_FINE) == (f->body_len == 4));
	if (fault.reaction != BGP_FINE)
		check_fault(&fault);
	else
		require(bgp_refresh_encode(bytes, sizeof bytes, r.afi, (enum bgp_refresh_subtype)r.subtype, r.safi) == f->len &&
			memcmp(bytes + BGP_HEADER_LEN, f->body, 4) == 0);
}

static void try_update(const struct bgp_frame *f)
{
	struct bgp_attr_table table;
	struct bgp_update u;
	bgp_attr_table_init(&table);
	struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .peer_asn = 64496, .families = {true, true}};
	bgp_update_decode(&ctx, f->body, f->body_len, &u);
	if (u.fault.reaction != BGP_FINE)
		check_fault(&u.fault);
	bgp_update_fini(&u);
	require(live_count(LIVE_ATTRS) == 0);
	bgp_attr_table_fini(&table);
}

static void try_message(const struct bgp_frame *f)
{
	require(f->len == f->body_len + BGP_HEADER_LEN);
	switch (f->type) {
	case BGP_OPEN:
		try_open(f);
		break;
	case BGP_UPDATE:
		try_update(f);
		break;
	case BGP_NOTIFICATION:
		try_notification(f);
		break;
	case BGP_KEEPALIVE:
		require(f->body_len == 0);
		break;
	case BGP_ROUTE_REFRESH:
		try_refresh(f);
		break;
	default:
		abort();
	}
}

static void try_stream(const uint8_t *data, size_t size, size_t max)
{
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	int got = 1;
	while (size && (got = bgp_frame_next(data, size, max, &f, &fault)) > 0) {
		require(f.len <= max);
		try_message(&f);
		data += f.len;
		size -= f.len;
	}
	require((got < 0) == (fault.reaction == BGP_RESET));
	if (got < 0) {
		require(fault.code == BGP_ERR_HEADER);
		check_fault(&fault);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_stream(data, size, BGP_MESSAGE_MAX);
	try_stream(data, size, BGP_EXTENDED_MAX);
	return 0;
}
