#include "src/daemon/router_advert.h"

#include <string.h>

#include "src/base/cursor.h"

enum { TYPE_SOLICITATION = 133, TYPE_ADVERTISEMENT = 134, OPTION_SOURCE_LINK = 1, OPTION_UNIT = 8 };

static const struct {
	uint8_t type;
	size_t len; /* without options */
} messages[] = {
	[RA_SOLICITATION] = {TYPE_SOLICITATION, 8},
	[RA_ADVERTISEMENT] = {TYPE_ADVERTISEMENT, 16},
};

static enum ra_kind kind_of(uint8_t type)
{
	return type == TYPE_SOLICITATION ? RA_SOLICITATION : type == TYPE_ADVERTISEMENT ? RA_ADVERTISEMENT : RA_NONE;
}

/* Whole options, none of length zero; *source tells whether one says the sender's link-layer address. */
static bool options_are_good(struct cursor c, bool *source)
{
	*source = false;
	while (cursor_left(&c) && cursor_ok(&c)) {
		uint8_t type = cursor_u8(&c);
		size_t units = cursor_u8(&c);
		if (units == 0)
			return false;
		*source |= type == OPTION_SOURCE_LINK;
		cursor_sub(&c, units * OPTION_UNIT - 2);
	}
	return cursor_ok(&c);
}

enum ra_kind ra_decode(const uint8_t *bytes, size_t len, const struct addr *from, int hop_limit)
{
	struct cursor c = cursor_of(bytes, len);
	enum ra_kind kind = kind_of(cursor_u8(&c));
	uint8_t code = cursor_u8(&c);
	bool source;
	if (kind == RA_NONE || code != 0 || hop_limit != RA_HOP_LIMIT || len < messages[kind].len)
		return RA_NONE;
	cursor_bytes(&c, messages[kind].len - 2);
	if (!options_are_good(c, &source))
		return RA_NONE;
	bool nobody = addr_is_zero(from) && !addr_is_v4(from);
	if (nobody)
		return kind == RA_SOLICITATION && !source ? kind : RA_NONE;
	return addr_is_link_local(from) && !addr_is_v4(from) ? kind : RA_NONE;
}

size_t ra_encode(enum ra_kind kind, uint8_t *out, size_t cap)
{
	size_t len = messages[kind].len;
	if (cap < len)
		return 0;
	memset(out, 0, len); /* an advertisement's lifetime 0, and everything else "not said" */
	out[0] = messages[kind].type;
	return len;
}

static void take(struct ra_link *l, enum ra_kind kind, const struct addr *from)
{
	*l = (struct ra_link){.router = *from, .by = kind};
}

enum ra_news ra_link_hear(struct ra_link *l, enum ra_kind kind, const struct addr *from, bool busy, struct tick now)
{
	if (addr_is_zero(from))
		return RA_NO_NEWS;
	if (addr_eq(from, &l->router)) {
		l->by = kind > l->by ? kind : l->by;
		l->asked_at = (struct tick){0};
		return RA_NO_NEWS;
	}
	if (addr_is_zero(&l->router) || (!busy && kind > l->by)) {
		take(l, kind, from);
		return RA_CHANGED;
	}
	if (kind == RA_SOLICITATION) /* any host sends these */
		return RA_NO_NEWS;
	l->other = *from;
	l->other_at = now;
	if (tick_is_set(l->asked_at))
		return RA_NO_NEWS;
	l->asked_at = now;
	return RA_ASK;
}

bool ra_link_settle(struct ra_link *l, bool busy, struct tick now)
{
	if (addr_is_zero(&l->other))
		return false;
	if (tick_since_ms(l->other_at, now) > RA_FORGET_MS) {
		l->other = (struct addr){{0}};
		l->asked_at = (struct tick){0};
		return false;
	}
	if (busy || !tick_is_set(l->asked_at) || tick_since_ms(l->asked_at, now) < RA_ANSWER_MS)
		return false;
	take(l, RA_ADVERTISEMENT, &l->other);
	return true;
}
