/* What a daemon (or something else that listens there) may send to underlayc: any bytes, in pieces of any size.
 * Nothing that is printed may hold a control character but the ends of lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/answer.h"
#include "src/client/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(const struct text *t)
{
	for (size_t i = 0; i < t->len; i++) {
		unsigned char c = (unsigned char)t->at[i], next = (unsigned char)t->at[i + 1];
		if ((c < 0x20 && c != '\n') || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			abort();
	}
}

static void render_all(struct answer *a, const struct command *c)
{
	for (int with_args = 0; with_args < 2; with_args++) {
		struct text shown = {0}, json = {0};
		render_sort(c, a->rows);
		render_text(c, with_args, a->rows, &shown);
		render_json(c, with_args, a->rows, &json);
		check_printable(&shown);
		check_printable(&json);
		text_fini(&shown);
		text_fini(&json);
	}
}

/* The first byte says how large the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer a;
	size_t piece = size ? data[0] % 64u + 1 : 1;
	answer_init(&a);
	for (size_t at = 1; at < size; at += piece)
		answer_feed(&a, (const char *)data + at, size - at < piece ? size - at : piece);
	check_printable(&a.error);
	check_printable(&a.hint);
	for (size_t i = 0; i < command_count; i++)
		render_all(&a, &commands[i]);
	answer_fini(&a);
	return 0;
}
