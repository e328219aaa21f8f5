#include "bgp/message.h"

#include <string.h>

#include "src/base/cursor.h"

static const uint8_t marker[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static const struct {
	uint16_t min, max;
} lengths[] = {
	[BGP_OPEN] = {29, BGP_MESSAGE_MAX},
	[BGP_UPDATE] = {23, BGP_EXTENDED_MAX},
	[BGP_NOTIFICATION] = {21, BGP_EXTENDED_MAX},
	[BGP_KEEPALIVE] = {19, 19},
	[BGP_ROUTE_REFRESH] = {BGP_HEADER_LEN, BGP_EXTENDED_MAX}, /* a wrong length has its own error, 7/1 */
};

int bgp_frame_next(const uint8_t *data, size_t len, size_t max, struct bgp_frame *out, struct bgp_fault *fault)
{
	if (memcmp(data, marker, len < sizeof marker ? len : sizeof marker) != 0) {
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_HEADER, BGP_HEADER_SYNC,
				"what arrived does not begin like a BGP message", NULL, 0);
		return -1;
	}
	if (len < BGP_HEADER_LEN)
		return 0;
	size_t total = (size_t)(data[16] << 8 | data[17]);
	uint8_t type = data[18];
	if (total < BGP_HEADER_LEN || total > max) {
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_HEADER, BGP_HEADER_LENGTH, "message length below 19 or above what was agreed",
				data + 16, 2);
		return -1;
	}
	if (type < BGP_OPEN || type > BGP_ROUTE_REFRESH) {
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_HEADER, BGP_HEADER_TYPE, "unknown message type", data + 18, 1);
		return -1;
	}
	if (total < lengths[type].min || total > lengths[type].max) {
		bgp_fault_raise(fault, BGP_RESET, BGP_ERR_HEADER, BGP_HEADER_LENGTH, "message length wrong for its type",
				data + 16, 2);
		return -1;
	}
	if (len < total)
		return 0;
	*out = (struct bgp_frame){(enum bgp_type)type, data + BGP_HEADER_LEN, total - BGP_HEADER_LEN, total};
	return 1;
}

void bgp_message_begin(struct writer *w, enum bgp_type type)
{
	writer_bytes(w, marker, sizeof marker);
	writer_u16(w, 0);
	writer_u8(w, (uint8_t)type);
}

size_t bgp_message_end(struct writer *w)
{
	writer_patch_u16(w, 16, (uint16_t)writer_len(w));
	return writer_ok(w) ? writer_len(w) : 0;
}

size_t bgp_keepalive_encode(uint8_t *out, size_t cap)
{
	struct writer w = writer_of(out, cap);
	bgp_message_begin(&w, BGP_KEEPALIVE);
	return bgp_message_end(&w);
}

size_t bgp_notification_encode(uint8_t *out, size_t cap, const struct bgp_fault *fault)
{
	struct writer w = writer_of(out, cap);
	bgp_message_begin(&w, BGP_NOTIFICATION);
	writer_u8(&w, fault->code);
	writer_u8(&w, fault->subcode);
	writer_bytes(&w, fault->data, fault->data_len);
	return bgp_message_end(&w);
}

size_t bgp_refresh_encode(uint8_t *out, size_t cap, uint16_t afi, enum bgp_refresh_subtype subtype, uint8_t safi)
{
	struct writer w = writer_of(out, cap);
	bgp_message_begin(&w, BGP_ROUTE_REFRESH);
	writer_u16(&w, afi);
	writer_u8(&w, (uint8_t)subtype);
	writer_u8(&w, safi);
	return bgp_message_end(&w);
}

static void wrong_length(const uint8_t *body, size_t len, struct bgp_fault *fault)
{
	uint8_t whole[BGP_FAULT_DATA_MAX];
	struct writer w = writer_of(whole, sizeof whole);
	size_t room = sizeof whole - BGP_HEADER_LEN;
	bgp_message_begin(&w, BGP_ROUTE_REFRESH);
	writer_patch_u16(&w, 16, (uint16_t)(BGP_HEADER_LEN + len));
	writer_bytes(&w, body, len < room ? len : room);
	bgp_fault_raise(fault, BGP_RESET, BGP_ERR_REFRESH, 1, "the body of ROUTE-REFRESH is not 4 bytes", whole, writer_len(&w));
}

void bgp_refresh_decode(const uint8_t *body, size_t len, struct bgp_refresh *out, struct bgp_fault *fault)
{
	struct cursor c = cursor_of(body, len);
	out->afi = cursor_u16(&c);
	out->subtype = cursor_u8(&c);
	out->safi = cursor_u8(&c);
	if (!cursor_ok(&c) || cursor_left(&c))
		wrong_length(body, len, fault);
}

struct bgp_fault bgp_notification_decode(const uint8_t *body, size_t len)
{
	struct bgp_fault f = {0};
	struct cursor c = cursor_of(body, len);
	uint8_t code = cursor_u8(&c), subcode = cursor_u8(&c);
	bgp_fault_raise(&f, BGP_RESET, code, subcode, "the peer ended the session", c.p, cursor_left(&c));
	return f;
}
