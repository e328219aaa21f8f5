/* BGP messages on the wire: the frame, and the messages that are nothing but a frame. RFC 4271
 * section 4.1, 4.4, 4.5, RFC 2918 (ROUTE-REFRESH), RFC 8654 (extended messages). Everything works on borrowed bytes.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "bgp/fault.h"

enum { BGP_HEADER_LEN = 19, BGP_MESSAGE_MAX = 4096, BGP_EXTENDED_MAX = 65535 };

enum bgp_type { BGP_OPEN = 1, BGP_UPDATE = 2, BGP_NOTIFICATION = 3, BGP_KEEPALIVE = 4, BGP_ROUTE_REFRESH = 5 };

struct bgp_frame {
	enum bgp_type type;
	const uint8_t *body; /* after the header; borrowed */
	size_t body_len;
	size_t len;          /* of the whole message */
};

/* Looks for one message at data; max is BGP_EXTENDED_MAX where both sides can do that, otherwise BGP_MESSAGE_MAX
 * (OPEN and KEEPALIVE stay within that always). Returns 1 and fills *out when a whole one is there, 0 when more bytes
 * are needed, -1 with *fault when what is there cannot begin a message (a wrong marker byte shows at
 * once, before the header is complete). */
int bgp_frame_next(const uint8_t *data, size_t len, size_t max, struct bgp_frame *out, struct bgp_fault *fault);

/* Each writes a whole message and returns its length, 0 where cap is too small. */
size_t bgp_keepalive_encode(uint8_t *out, size_t cap);
size_t bgp_notification_encode(uint8_t *out, size_t cap, const struct bgp_fault *fault);

enum bgp_refresh_subtype { BGP_REFRESH_ASK, BGP_REFRESH_BEGIN, BGP_REFRESH_END };
/* Asks for all routes of a family again, RFC 2918; or marks where we begin or end to tell them, RFC 7313. */
size_t bgp_refresh_encode(uint8_t *out, size_t cap, uint16_t afi, enum bgp_refresh_subtype subtype, uint8_t safi);

struct bgp_refresh {
	uint16_t afi;
	uint8_t subtype, safi; /* subtype: enum bgp_refresh_subtype, or one that is not known */
};
/* A body of another length than 4 is a fault, and the whole message its data: RFC 7313 section 5. */
void bgp_refresh_decode(const uint8_t *body, size_t len, struct bgp_refresh *out, struct bgp_fault *fault);

/* A received NOTIFICATION's code, subcode and data as a fault with reaction BGP_RESET. */
struct bgp_fault bgp_notification_decode(const uint8_t *body, size_t len);

struct writer;
/* For encoders of other messages: the header with a length that bgp_message_end() fills in. */
void bgp_message_begin(struct writer *w, enum bgp_type type);
size_t bgp_message_end(struct writer *w);
