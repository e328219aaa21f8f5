/* What is wrong with a message and what to do about it, as a value: decoders return it, the session
 * or the daemon acts on it. RFC 4271 section 6 (codes), RFC 7606 (reactions), RFC 4486 and 6608
 * (more subcodes).
 */
#pragma once
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* Ordered by severity: a message with several faults gets the worst. */
enum bgp_reaction {
	BGP_FINE,
	BGP_DISCARD,  /* drop the attribute, keep the route */
	BGP_WITHDRAW, /* treat the routes of this UPDATE as withdrawn */
	BGP_RESET,    /* NOTIFICATION and end of the session */
};

enum bgp_code {
	BGP_ERR_HEADER = 1,
	BGP_ERR_OPEN = 2,
	BGP_ERR_UPDATE = 3,
	BGP_ERR_HOLD_TIMER = 4,
	BGP_ERR_FSM = 5,
	BGP_ERR_CEASE = 6,
	BGP_ERR_REFRESH = 7,
	BGP_ERR_SEND_HOLD = 8, /* RFC 9687 */
};

enum { BGP_HEADER_SYNC = 1, BGP_HEADER_LENGTH = 2, BGP_HEADER_TYPE = 3 };
enum {
	BGP_OPEN_MALFORMED = 0,
	BGP_OPEN_VERSION = 1,
	BGP_OPEN_PEER_AS = 2,
	BGP_OPEN_IDENTIFIER = 3,
	BGP_OPEN_PARAMETER = 4,
	BGP_OPEN_HOLD_TIME = 6,
	BGP_OPEN_CAPABILITY = 7,
	BGP_OPEN_ROLE = 11,
};
enum {
	BGP_UPDATE_ATTR_LIST = 1,
	BGP_UPDATE_WELL_KNOWN = 2,
	BGP_UPDATE_MISSING = 3,
	BGP_UPDATE_FLAGS = 4,
	BGP_UPDATE_LENGTH = 5,
	BGP_UPDATE_ORIGIN = 6,
	BGP_UPDATE_NEXT_HOP = 8,
	BGP_UPDATE_OPTIONAL = 9,
	BGP_UPDATE_NETWORK = 10,
	BGP_UPDATE_AS_PATH = 11,
};
enum {
	BGP_CEASE_MAX_PREFIXES = 1,
	BGP_CEASE_SHUTDOWN = 2,
	BGP_CEASE_DECONFIGURED = 3,
	BGP_CEASE_RESET = 4,
	BGP_CEASE_REJECTED = 5,
	BGP_CEASE_CONFIG_CHANGE = 6,
	BGP_CEASE_COLLISION = 7,
};

enum { BGP_FAULT_DATA_MAX = 160, BGP_FAULT_NAME_MAX = 96, BGP_SHUTDOWN_TEXT_MAX = 128 };

struct bgp_fault {
	enum bgp_reaction reaction;
	uint8_t code, subcode;
	uint8_t attr;      /* the attribute at fault, 0: none */
	uint8_t data_len;
	uint8_t data[BGP_FAULT_DATA_MAX]; /* what goes into the NOTIFICATION: the bytes at fault */
	const char *text;  /* what was expected; static, or the session's; never NULL where reaction is not BGP_FINE */
};

/* Keeps the worse of *f and the new one; of two equal ones the first. data may be NULL. */
void bgp_fault_raise(struct bgp_fault *f, enum bgp_reaction reaction, uint8_t code, uint8_t subcode, const char *text,
		     const void *data, size_t len);
/* The words that a peer gave with its Cease (RFC 9003) into buf, "" where there are none or they are no text. */
const char *bgp_fault_shutdown_text(const struct bgp_fault *f, char *buf, size_t cap);
/* "session reset": what a reaction does, for people. */
const char *bgp_reaction_name(enum bgp_reaction r);
/* Gives f these words, cut between two characters where they are too long; "" or NULL: none. */
void bgp_fault_set_shutdown_text(struct bgp_fault *f, const char *words);
/* "Update Message Error/Malformed AS_PATH" into buf. */
const char *bgp_fault_name(uint8_t code, uint8_t subcode, char buf[BGP_FAULT_NAME_MAX]);
