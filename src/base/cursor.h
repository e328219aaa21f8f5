/* A read cursor and a write cursor over bytes, both with a sticky error: after the first access
 * beyond the end every read gives zero and every write does nothing, so a decoder is straight
 * code with one check at the end. A failed read does not advance: loops test cursor_ok() too.
 * Network byte order. Views borrow the bytes; nothing allocates. Nearly all is inline: it is a good part
 * of what an UPDATE costs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *p, *end;
	bool failed;
};

static inline struct cursor cursor_of(const void *data, size_t len)
{
	return (struct cursor){.p = data, .end = data ? (const uint8_t *)data + len : NULL};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->failed;
}

/* The next len bytes, or NULL. */
static inline const uint8_t *cursor_bytes(struct cursor *c, size_t len)
{
	if (c->failed || cursor_left(c) < len) {
		c->failed = true;
		return NULL;
	}
	const uint8_t *p = c->p;
	c->p += len;
	return p;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);
	return p ? *p : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 2);
	return (uint16_t)(p ? p[0] << 8 | p[1] : 0);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 4);
	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

/* A cursor over the next len bytes, which cannot read past them; failed where they are not there. */
static inline struct cursor cursor_sub(struct cursor *c, size_t len)
{
	const uint8_t *p = cursor_bytes(c, len);
	struct cursor s = cursor_of(p, p ? len : 0);
	s.failed = p == NULL;
	return s;
}

struct writer {
	uint8_t *start, *p, *end;
	bool failed;
};

struct writer writer_of(void *data, size_t cap);

static inline size_t writer_len(const struct writer *w)
{
	return (size_t)(w->p - w->start);
}

static inline size_t writer_left(const struct writer *w)
{
	return (size_t)(w->end - w->p);
}

static inline bool writer_ok(const struct writer *w)
{
	return !w->failed;
}

static inline void writer_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->failed || writer_left(w) < len) {
		w->failed = true;
		return;
	}
	if (len)
		memcpy(w->p, data, len);
	w->p += len;
}

static inline void writer_u8(struct writer *w, uint8_t v)
{
	writer_bytes(w, &v, 1);
}

static inline void writer_u16(struct writer *w, uint16_t v)
{
	uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};
	writer_bytes(w, b, sizeof b);
}

static inline void writer_u32(struct writer *w, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
	writer_bytes(w, b, sizeof b);
}

/* Writes v over two bytes that were already written at offset at. */
void writer_patch_u16(struct writer *w, size_t at, uint16_t v);
