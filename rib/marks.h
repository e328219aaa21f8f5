/* A set of the RIB's entries, by position: a bit for each. What an update group was told (Adj-RIB-Out) is such a set, so
 * there may be as many groups as there are peers, and a group costs less than half a byte a prefix (positions have gaps). An entry that
 * goes leaves every set: the table knows them, see rib_marks_open().
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/list.h"

struct rib;

struct rib_marks {
	struct list node;
	uint64_t *words; /* owned */
	uint32_t word_count;
	size_t count;    /* entries in it */
};

/* Empty; m must stay where it is until it is closed. */
void rib_marks_open(struct rib *r, struct rib_marks *m);
void rib_marks_close(struct rib_marks *m);
void rib_marks_put(struct rib_marks *m, uint32_t at, bool in);

static inline bool rib_marks_have(const struct rib_marks *m, uint32_t at)
{
	return at / 64 < m->word_count && m->words[at / 64] >> at % 64 & 1;
}
