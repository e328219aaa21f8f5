/* Pools of items known by positions, and the hash table of positions: against plain models, across growing and shrinking. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/hash_index.h"
#include "src/base/pool.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { ITEMS = 5000, STEPS = 40000, SIZES = 5 };

static struct pool pool;

static void teardown(void)
{
	pool_fini(&pool);
}

/* Sizes that share chunks, that are no multiple of 4, and that are too large to share. */
static const size_t sizes[SIZES] = {20, 48, 57, 1024, 5000};

static struct {
	uint32_t at;
	size_t size;
	uint8_t mark;
} model[ITEMS];

static void take_one(size_t i, struct random *r)
{
	model[i].size = sizes[random_next(r) % SIZES];
	model[i].at = pool_take(&pool, model[i].size);
	model[i].mark = (uint8_t)random_next(r);
	ck_assert_uint_ne(model[i].at, 0);
	memset(pool_at(&pool, model[i].at), model[i].mark, model[i].size);
}

static void give_one(size_t i)
{
	const uint8_t *item = pool_at(&pool, model[i].at);
	size_t k = 0;
	while (k < model[i].size && item[k] == model[i].mark)
		k++;
	ck_assert_uint_eq(k, model[i].size); /* nobody else was there */
	pool_give(&pool, model[i].at);
	model[i].at = 0;
}

START_TEST(items_keep_to_themselves)
{
	struct random r = {.state = (uint64_t)_i + 1};
	size_t used = _i % 2 ? ITEMS : 40; /* many chunks, or few that often become empty */
	memset(model, 0, sizeof model);
	for (size_t step = 0; step < STEPS; step++) {
		size_t i = random_next(&r) % used;
		if (model[i].at)
			give_one(i);
		else
			take_one(i, &r);
	}
	for (size_t i = 0; i < used; i++) {
		if (model[i].at) {
			ck_assert_ptr_eq(pool_look(&pool, model[i].at), pool_at(&pool, model[i].at));
			give_one(i);
		}
	}
}
END_TEST

static size_t chunks_held(void)
{
	size_t n = 0;
	for (uint32_t i = 0; i < pool.chunk_count; i++)
		n += pool.chunks[i].items != NULL;
	return n;
}

/* What a table of 10 000 chunks leaves behind is bounded, and ten rounds need no more than one. */
START_TEST(memory_goes_back)
{
	enum { MANY = 400000, IDLE_CHUNKS = 64 + 1 };
	uint32_t *at = calloc(MANY, sizeof *at), numbers = 0;
	size_t peak = 0;
	for (unsigned round = 0; round < 10; round++) {
		for (size_t i = 0; i < MANY; i++)
			at[i] = pool_take(&pool, 48);
		if (round == 0) {
			peak = chunks_held();
			numbers = pool.chunk_count;
		}
		ck_assert_uint_le(chunks_held(), peak);
		ck_assert_uint_eq(pool.chunk_count, numbers);
		for (size_t i = 0; i < MANY; i++)
			pool_give(&pool, at[round % 2 ? i : MANY - 1 - i]);
		ck_assert_uint_le(chunks_held(), IDLE_CHUNKS);
	}
	ck_assert_uint_ge(peak, 4 * IDLE_CHUNKS);
	free(at);
}
END_TEST

START_TEST(a_walk_meets_every_item)
{
	enum { MANY = 5000 };
	uint32_t at[MANY];
	bool seen[MANY] = {0};
	for (size_t i = 0; i < MANY; i++) {
		at[i] = pool_take(&pool, sizes[i % 3]);
		memcpy(pool_at(&pool, at[i]), &(uint32_t){(uint32_t)i}, 4);
	}
	size_t met = 0, looks = 0;
	for (uint32_t x = pool_next(&pool, 0); x < pool_limit(&pool); x = pool_next(&pool, x), looks++) {
		const void *item = pool_look(&pool, x);
		uint32_t i;
		if (!item)
			continue;
		memcpy(&i, item, 4);
		ck_assert(i < MANY && at[i] == x && !seen[i]);
		seen[i] = true;
		met++;
	}
	ck_assert_uint_eq(met, MANY);
	ck_assert_uint_le(looks, MANY + 10);
	ck_assert_ptr_null(pool_look(&pool, pool_limit(&pool)));
	ck_assert_ptr_null(pool_look(&pool, UINT32_MAX));
}
END_TEST

START_TEST(position_0_is_nobodys)
{
	static const uint8_t zero[48];
	ck_assert_uint_ne(pool_take(&pool, _i ? 5000 : 48), 0);
	ck_assert_int_eq(memcmp(pool_at(&pool, 0), zero, _i ? 4 : sizeof zero), 0);
}
END_TEST

/* --- the table of positions */

struct word {
	uint32_t next, value;
};

static uint64_t hash_of_value(uint32_t value)
{
	return value % 3 ? hash_mix(value, 1) : 7; /* a third of them in one chain */
}

static uint64_t hash_of(const void *owner, uint32_t at)
{
	ck_assert_ptr_eq(owner, &pool);
	return hash_of_value(((struct word *)pool_at(&pool, at))->value);
}

static uint32_t *link_of(const void *owner, uint32_t at)
{
	(void)owner;
	return &((struct word *)pool_at(&pool, at))->next;
}

static uint32_t find(const struct hash_index *x, uint32_t value)
{
	uint32_t at = *hash_index_chain(x, hash_of_value(value));
	while (at && ((struct word *)pool_at(&pool, at))->value != value)
		at = *link_of(NULL, at);
	return at;
}

START_TEST(all_are_found)
{
	enum { VALUES = 3000, ROUNDS = 20000 };
	struct random r = {.state = 5};
	struct hash_index x;
	static uint32_t at[VALUES];
	memset(at, 0, sizeof at);
	hash_index_init(&x, &pool, hash_of, link_of);
	for (unsigned step = 0; step < ROUNDS; step++) {
		uint32_t value = (uint32_t)(random_next(&r) % VALUES);
		ck_assert_uint_eq(find(&x, value), at[value]);
		if (at[value]) {
			hash_index_remove(&x, at[value]);
			pool_give(&pool, at[value]);
			at[value] = 0;
		} else {
			at[value] = pool_take(&pool, sizeof(struct word));
			((struct word *)pool_at(&pool, at[value]))->value = value;
			hash_index_insert(&x, at[value], hash_of_value(value));
		}
		if (step % 5000 == 0)
			for (uint32_t v = 0; v < VALUES; v++)
				ck_assert_uint_eq(find(&x, v), at[v]);
	}
	hash_index_fini(&x);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *t = tcase_create("pool");
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_loop_test(t, items_keep_to_themselves, 0, 4);
	tcase_add_test(t, memory_goes_back);
	tcase_add_test(t, a_walk_meets_every_item);
	tcase_add_loop_test(t, position_0_is_nobodys, 0, 2);
	tcase_add_test(t, all_are_found);
	tcase_set_timeout(t, 60);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
