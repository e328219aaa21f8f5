#include "src/base/cursor.h"

#include <string.h>

struct writer writer_of(void *data, size_t cap)
{
	struct writer w = {.start = data, .p = data, .end = (uint8_t *)data + cap};
	return w;
}

size_t writer_len(const struct writer *w)
{
	return (size_t)(w->p - w->start);
}

size_t writer_left(const struct writer *w)
{
	return (size_t)(w->end - w->p);
}

bool writer_ok(const struct writer *w)
{
	return !w->failed;
}

void writer_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->failed || writer_left(w) < len) {
		w->failed = true;
		return;
	}
	if (len)
		memcpy(w->p, data, len);
	w->p += len;
}

void writer_u8(struct writer *w, uint8_t v)
{
	writer_bytes(w, &v, 1);
}

void writer_u16(struct writer *w, uint16_t v)
{
	uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};
	writer_bytes(w, b, sizeof b);
}

void writer_u32(struct writer *w, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
	writer_bytes(w, b, sizeof b);
}

void writer_patch_u16(struct writer *w, size_t at, uint16_t v)
{
	if (w->failed || at + 2 > writer_len(w)) {
		w->failed = true;
		return;
	}
	w->start[at] = (uint8_t)(v >> 8);
	w->start[at + 1] = (uint8_t)v;
}
