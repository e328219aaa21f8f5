#include "rib/marks.h"

#include <stdlib.h>
#include <string.h>

static void grow(struct rib_marks *m, uint32_t words)
{
	uint32_t count = m->word_count * 2 > words ? m->word_count * 2 : words;
	uint64_t *fresh = realloc(m->words, count * sizeof *fresh);
	if (!fresh)
		abort(); /* a RIB that cannot grow cannot be right */
	memset(fresh + m->word_count, 0, (count - m->word_count) * sizeof *fresh);
	m->words = fresh;
	m->word_count = count;
}

void rib_marks_put(struct rib_marks *m, uint32_t at, bool in)
{
	if (rib_marks_have(m, at) == in)
		return;
	if (at / 64 >= m->word_count)
		grow(m, at / 64 + 1);
	m->words[at / 64] ^= UINT64_C(1) << at % 64;
	m->count = in ? m->count + 1 : m->count - 1;
}

void rib_marks_close(struct rib_marks *m)
{
	list_remove(&m->node);
	free(m->words);
}
