/* Attributes whose value is a list of type-length-value elements. We act on none of them; they are judged, so that a broken
 * one is not passed on, and never read beyond a length that its surroundings do not cover. What has a type that we do not
 * know is skipped by its length. RFC 7311 (AIGP), RFC 8669 and RFC 9252 (PREFIX_SID), RFC 9012 (TUNNEL_ENCAP), RFC 9552
 * (BGP-LS). Pure; nothing is owned.
 */
#pragma once
#include <stdbool.h>

#include "bgp/fault.h"
#include "src/base/cursor.h"

bool bgp_tlv_aigp_is_good(struct cursor value);
/* BGP_FINE; BGP_DISCARD; BGP_WITHDRAW where a service over SRv6 could not be reached as it is meant. */
enum bgp_reaction bgp_tlv_judge_prefix_sid(struct cursor value);
bool bgp_tlv_tunnels_are_good(struct cursor value);
bool bgp_tlv_link_state_is_good(struct cursor value);
