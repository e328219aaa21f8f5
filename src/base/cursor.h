/* A read cursor and a write cursor over bytes, both with a sticky error: after the first access
 * beyond the end every read gives zero and every write does nothing, so a decoder is straight
 * code with one check at the end. A failed read does not advance: loops test cursor_ok() too.
 * Network byte order. Views borrow the bytes; nothing allocates.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *p, *end;
	bool failed;
};

struct cursor cursor_of(const void *data, size_t len);
size_t cursor_left(const struct cursor *c);
bool cursor_ok(const struct cursor *c);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
/* The next len bytes, or NULL. */
const uint8_t *cursor_bytes(struct cursor *c, size_t len);
/* A cursor over the next len bytes, which cannot read past them; failed where they are not there. */
struct cursor cursor_sub(struct cursor *c, size_t len);

struct writer {
	uint8_t *start, *p, *end;
	bool failed;
};

struct writer writer_of(void *data, size_t cap);
size_t writer_len(const struct writer *w);
size_t writer_left(const struct writer *w);
bool writer_ok(const struct writer *w);
void writer_u8(struct writer *w, uint8_t v);
void writer_u16(struct writer *w, uint16_t v);
void writer_u32(struct writer *w, uint32_t v);
void writer_bytes(struct writer *w, const void *data, size_t len);
/* Writes v over two bytes that were already written at offset at. */
void writer_patch_u16(struct writer *w, size_t at, uint16_t v);
