/* The queue of what waits for a connection: blocks that many queues share, each with the stretch that its reader gets. */
#include <check.h>
#include <string.h>

#include "src/base/live.h"
#include "src/daemon/outq.h"
#include "tests/unit/run_suite.h"

static size_t read_out(const struct outq *q, char *out)
{
	struct iovec iov[64];
	size_t len = 0;
	int n = outq_peek(q, iov, 64);
	for (int i = 0; i < n; i++) {
		memcpy(out + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	out[len] = '\0';
	return len;
}

START_TEST(readers_get_their_stretches)
{
	struct outq all = {0}, some = {0};
	struct block *b = block_new(16);
	char text[64];
	memcpy(b->data, "0123456789", 10);
	b->len = 10;
	outq_push(&all, b, 0, 10);
	outq_push(&some, b, 0, 3);
	outq_push(&some, b, 3, 3); /* nothing is no part */
	outq_push(&some, b, 6, 10);
	block_unref(b);
	ck_assert_uint_eq(all.pending, 10);
	ck_assert_uint_eq(some.pending, 7);
	ck_assert_uint_eq(some.count, 2);
	read_out(&some, text);
	ck_assert_str_eq(text, "0126789");
	outq_written(&some, 4); /* in the middle of the second one */
	ck_assert_uint_eq(read_out(&some, text), 3);
	ck_assert_str_eq(text, "789");
	read_out(&all, text);
	ck_assert_str_eq(text, "0123456789");
	outq_written(&some, 3);
	ck_assert_uint_eq(some.pending, 0);
	outq_clear(&some);
	outq_clear(&all);
	ck_assert_uint_eq(live_count(LIVE_BLOCK), 0);
}
END_TEST

/* A peer costs nothing when all is written, however much waited once. */
START_TEST(a_large_ring_goes_when_it_is_empty)
{
	struct outq q = {0};
	for (unsigned i = 0; i < 100; i++)
		outq_push_copy(&q, "abc", 3);
	ck_assert_uint_eq(q.pending, 300);
	outq_written(&q, 299);
	ck_assert_ptr_nonnull(q.ring);
	outq_written(&q, 1);
	ck_assert_ptr_null(q.ring);
	outq_push_copy(&q, "x", 1);
	ck_assert_uint_eq(q.pending, 1);
	outq_clear(&q);
	ck_assert_uint_eq(live_count(LIVE_BLOCK), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("outq");
	TCase *t = tcase_create("outq");
	tcase_add_test(t, readers_get_their_stretches);
	tcase_add_test(t, a_large_ring_goes_when_it_is_empty);
	suite_add_tcase(s, t);
	return run_suite(s);
}
