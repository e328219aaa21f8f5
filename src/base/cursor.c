#include "src/base/cursor.h"

#include <string.h>

struct writer writer_of(void *data, size_t cap)
{
	struct writer w = {.start = data, .p = data, .end = (uint8_t *)data + cap};
	return w;
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
