/* AS paths: walking their segments, and what a session is told of one. RFC 4271 section 5.1.2, RFC 5065 section 4.1, RFC
 * 6793; private numbers: RFC 6996.
 */
#include "bgp/attr_private.h"

bool bgp_segment_next(struct cursor *path, unsigned width, struct bgp_segment *out)
{
	if (!cursor_left(path) || !cursor_ok(path))
		return false;
	out->type = cursor_u8(path);
	out->count = cursor_u8(path);
	out->numbers = cursor_sub(path, (size_t)out->count * width);
	return cursor_ok(path);
}

bool bgp_segment_is_confed(const struct bgp_segment *s)
{
	return s->type == BGP_SEG_CONFED_SEQUENCE || s->type == BGP_SEG_CONFED_SET;
}

/* A set counts as one, what is within a confederation as nothing (RFC 5065 section 5.3). */
unsigned bgp_path_count(struct cursor path, unsigned width)
{
	struct bgp_segment s;
	unsigned n = 0;
	while (bgp_segment_next(&path, width, &s))
		n += s.type == BGP_SEG_SEQUENCE ? s.count : s.type == BGP_SEG_SET;
	return n;
}

uint32_t bgp_path_first_as(struct cursor path)
{
	struct bgp_segment s;
	while (bgp_segment_next(&path, 4, &s))
		if (!bgp_segment_is_confed(&s))
			return cursor_u32(&s.numbers);
	return 0;
}

void bgp_put_as_number(struct writer *w, uint32_t asn, bool as4)
{
	if (as4)
		writer_u32(w, asn);
	else
		writer_u16(w, asn > 0xffff ? BGP_AS_TRANS : (uint16_t)asn);
}

static bool is_private(uint32_t asn)
{
	return (asn >= 64512 && asn <= 65534) || (asn >= 4200000000 && asn <= 4294967294);
}

/* What stands for asn in the path that the peer gets; 0: nothing. The peer's own number is not taken away as private:
 * its loop check wants it, unless it is to be ours; nor is ours, which a policy may have put there to make it longer. */
static uint32_t told(const struct bgp_export *e, uint32_t asn)
{
	if (asn == e->peer_asn)
		return e->as_override ? e->local_asn : asn;
	return e->remove_private && is_private(asn) && asn != e->local_asn ? 0 : asn;
}

static void put_segment(struct writer *w, uint8_t type, const uint32_t *at, unsigned n, bool as4, bool *wide)
{
	if (n == 0)
		return;
	writer_u8(w, type);
	writer_u8(w, (uint8_t)n);
	for (unsigned i = 0; i < n; i++) {
		*wide |= at[i] > 0xffff;
		bgp_put_as_number(w, at[i], as4);
	}
}

void bgp_path_put(struct writer *w, struct cursor path, const struct bgp_export *e, enum bgp_path_form form, bool *wide)
{
	uint32_t numbers[256] = {e->local_asn};
	unsigned own = !e->ibgp; /* still to be put in front */
	bool as4 = e->as4 || form == BGP_PATH_AS4;
	struct bgp_segment s;
	*wide = false;
	while (bgp_segment_next(&path, 4, &s)) {
		if (bgp_segment_is_confed(&s) && (!e->ibgp || form == BGP_PATH_AS4))
			continue;
		if (own && (s.type != BGP_SEG_SEQUENCE || s.count == 255)) {
			put_segment(w, BGP_SEG_SEQUENCE, numbers, 1, as4, wide);
			own = 0;
		}
		unsigned n = own;
		for (unsigned i = 0; i < s.count; i++) {
			numbers[n] = told(e, cursor_u32(&s.numbers));
			n += numbers[n] != 0;
		}
		put_segment(w, s.type, numbers, n, as4, wide);
		own = 0;
	}
	put_segment(w, BGP_SEG_SEQUENCE, numbers, own, as4, wide);
}
