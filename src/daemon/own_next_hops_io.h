/* The next hops that we offer to a peer: which addresses of ours it can send packets to. RFC 4271 section 5.1.3, RFC 2545,
 * RFC 8950.
 */
#pragma once

struct peer;

/* Fills in local_next_hop, local_link_local and ifindex of a peer whose local_address and negotiated families are known,
 * and logs where there is none to offer. */
void own_next_hops_learn(struct peer *p);
