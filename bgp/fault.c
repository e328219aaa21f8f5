#include "bgp/fault.h"

#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"

#define SUB(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static const struct {
	const char *name;
	const char *const *sub;
	size_t count;
} codes[] = {
	[BGP_ERR_HEADER] = {"Message Header Error",
			    SUB(NULL, "Connection Not Synchronized", "Bad Message Length", "Bad Message Type")},
	[BGP_ERR_OPEN] = {"OPEN Message Error",
			  SUB("Malformed", "Unsupported Version Number", "Bad Peer AS", "Bad BGP Identifier",
			      "Unsupported Optional Parameter", NULL, "Unacceptable Hold Time", "Unsupported Capability",
			      NULL, NULL, NULL, "Role Mismatch")},
	[BGP_ERR_UPDATE] = {"UPDATE Message Error",
			    SUB(NULL, "Malformed Attribute List", "Unrecognized Well-known Attribute",
				"Missing Well-known Attribute", "Attribute Flags Error", "Attribute Length Error",
				"Invalid ORIGIN Attribute", NULL, "Invalid NEXT_HOP Attribute", "Optional Attribute Error",
				"Invalid Network Field", "Malformed AS_PATH")},
	[BGP_ERR_HOLD_TIMER] = {"Hold Timer Expired", SUB(NULL)},
	[BGP_ERR_FSM] = {"Finite State Machine Error",
			 SUB(NULL, "Unexpected Message in OpenSent", "Unexpected Message in OpenConfirm",
			     "Unexpected Message in Established")},
	[BGP_ERR_CEASE] = {"Cease",
			   SUB(NULL, "Maximum Number of Prefixes Reached", "Administrative Shutdown", "Peer De-configured",
			       "Administrative Reset", "Connection Rejected", "Other Configuration Change",
			       "Connection Collision Resolution", "Out of Resources", "Hard Reset", "BFD Down")},
	[BGP_ERR_SEND_HOLD] = {"Send Hold Timer Expired", SUB(NULL)},
	[BGP_ERR_REFRESH] = {"ROUTE-REFRESH Message Error", SUB(NULL, "Invalid Message Length")},
};

void bgp_fault_raise(struct bgp_fault *f, enum bgp_reaction reaction, uint8_t code, uint8_t subcode, const char *text,
		     const void *data, size_t len)
{
	if (reaction <= f->reaction)
		return;
	f->reaction = reaction;
	f->code = code;
	f->subcode = subcode;
	f->attr = 0; /* the caller names it, where there is one */
	f->text = text;
	f->data_len = (uint8_t)(len < BGP_FAULT_DATA_MAX ? len : BGP_FAULT_DATA_MAX);
	if (data && f->data_len)
		memcpy(f->data, data, f->data_len);
	else
		f->data_len = 0;
}

/* One length byte, then UTF-8, or so the RFC says. */
const char *bgp_fault_shutdown_text(const struct bgp_fault *f, char *buf, size_t cap)
{
	size_t len = f->data_len ? f->data[0] : 0;
	buf[0] = '\0';
	if (f->code != BGP_ERR_CEASE || (f->subcode != BGP_CEASE_SHUTDOWN && f->subcode != BGP_CEASE_RESET) || !len || !f->data_len)
		return buf;
	if (len > f->data_len - 1u)
		len = f->data_len - 1u; /* longer than we keep */
	if (len > cap - 1)
		len = cap - 1;
	memcpy(buf, f->data + 1, len);
	buf[len] = '\0';
	utf8_scrub(buf);
	return buf;
}

const char *bgp_reaction_name(enum bgp_reaction r)
{
	static const char *const names[] = {[BGP_FINE] = "none", [BGP_DISCARD] = "attribute dropped",
					    [BGP_WITHDRAW] = "routes treated as withdrawn", [BGP_RESET] = "session reset"};
	return names[r];
}

void bgp_fault_set_shutdown_text(struct bgp_fault *f, const char *words)
{
	size_t len = words ? strlen(words) : 0;
	if (len > BGP_SHUTDOWN_TEXT_MAX)
		for (len = BGP_SHUTDOWN_TEXT_MAX; len && ((unsigned char)words[len] & 0xc0) == 0x80;)
			len--;
	f->data_len = (uint8_t)(len ? len + 1 : 0);
	if (!len)
		return;
	f->data[0] = (uint8_t)len;
	memcpy(f->data + 1, words, len);
}

const char *bgp_fault_name(uint8_t code, uint8_t subcode, char buf[BGP_FAULT_NAME_MAX])
{
	bool known = code < sizeof codes / sizeof *codes && codes[code].name;
	const char *sub = known && subcode < codes[code].count ? codes[code].sub[subcode] : NULL;
	if (!known)
		snprintf(buf, BGP_FAULT_NAME_MAX, "error %u/%u", code, subcode);
	else if (sub)
		snprintf(buf, BGP_FAULT_NAME_MAX, "%s/%s", codes[code].name, sub);
	else if (subcode)
		snprintf(buf, BGP_FAULT_NAME_MAX, "%s/%u", codes[code].name, subcode);
	else
		snprintf(buf, BGP_FAULT_NAME_MAX, "%s", codes[code].name);
	return buf;
}
