/* ICMPv6 router solicitations and advertisements, as far as two BGP speakers need them to find each other on a link
 * without configured addresses, and who of those heard there is taken for the peer. Pure: the socket is
 * router_advert_io.c's. RFC 4861 section 4.1, 4.2 and 6.1.
 *
 * Ours say "no default router here" (lifetime 0): a host on the link that believes them learns nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"
#include "src/base/tick.h"

/* What we heard somebody by, the strongest last. */
enum ra_kind { RA_NONE, RA_SOLICITATION, RA_CONNECTION, RA_ADVERTISEMENT };

enum { RA_MESSAGE_MAX = 16, RA_HOP_LIMIT = 255 };

/* RA_SOLICITATION, RA_ADVERTISEMENT, or RA_NONE for what is neither or must be dropped: not from this link (hop limit),
 * not from a link-local address, malformed. A solicitation may come from ::, which says nothing of who it was. */
enum ra_kind ra_decode(const uint8_t *bytes, size_t len, const struct addr *from, int hop_limit);
/* A message of ours without its checksum, which is the kernel's to fill in. Its length, 0 where cap is too small. */
size_t ra_encode(enum ra_kind kind, uint8_t *out, size_t cap);

/* The other end of a link. Zero initialised it knows nobody. */
struct ra_link {
	struct addr router;            /* who is taken for the peer; zero: nobody yet */
	enum ra_kind by;               /* the strongest that it was heard by */
	struct addr other;             /* somebody else who claims to be; zero: nobody */
	struct tick other_at, asked_at; /* asked_at: we solicited to hear whether router is still there; zero: we need not */
};

enum { RA_ANSWER_MS = 4000, RA_FORGET_MS = 60000 };

enum ra_news { RA_NO_NEWS, RA_CHANGED, RA_ASK }; /* router is another one now; send a solicitation */

/* Somebody was heard. The first stays until it is gone: until it leaves a solicitation unanswered, without a session
 * (busy) and while another one is there. A weaker sign gives way to a stronger one at once. */
enum ra_news ra_link_hear(struct ra_link *l, enum ra_kind kind, const struct addr *from, bool busy, struct tick now);
/* To be called every second or so. True: router is another one now. */
bool ra_link_settle(struct ra_link *l, bool busy, struct tick now);
