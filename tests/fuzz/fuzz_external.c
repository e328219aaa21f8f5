/* What others hand over. The first byte says what the rest is:
 *
 *   a  the words of `route add`, one a line; r: of `route remove`. What is read makes a set of attributes
 *   f  the file in which an owner's routes are kept: what is read is written as a text that reads to the same
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/external.h"
#include "src/daemon/external_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bgp_attr_table attrs;

static void demand(bool holds)
{
	if (!holds)
		abort();
}

static void try_request(char *text, bool may_be_all)
{
	enum { WORDS = 100 };
	const char *words[WORDS];
	struct external_request r;
	struct external_fault fault = {"", NULL, ""};
	size_t n = 0;
	for (char *line = strtok(text, "\n"); line && n < WORDS; line = strtok(NULL, "\n"))
		words[n++] = line;
	if (!external_request_read(&r, may_be_all, words, n, &fault)) {
		demand(*fault.text);
		return;
	}
	demand(r.words.owner && name_ok(r.words.owner) && r.all != (r.count > 0) && r.count <= EXTERNAL_PREFIXES_MAX);
	struct bgp_attrs *a = route_words_attrs(&r.words, &attrs);
	demand(a);
	bgp_attrs_unref(a);
}

static void try_file(char *text)
{
	static const struct external_change nothing;
	struct rib *rib = rib_new(1);
	struct external_owner *o = external_owner_new(rib, "lb", 0), *again = external_owner_new(rib, "lb", 0);
	char error[EXTERNAL_ERROR_MAX] = "";
	if (external_read(o, &attrs, text, error)) {
		char *first = external_text(o, &nothing), *copy = strdup(first);
		demand(copy && external_read(again, &attrs, copy, error));
		char *second = external_text(again, &nothing);
		demand(strcmp(first, second) == 0);
		free(first);
		free(copy);
		free(second);
	} else {
		demand(*error);
	}
	rib_free(rib);
	external_owner_free(o);
	external_owner_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = calloc(size, 1); /* what follows the first byte, and a NUL */
	demand(text);
	memcpy(text, data + 1, size - 1);
	bgp_attr_table_init(&attrs);
	if (*data == 'f')
		try_file(text);
	else
		try_request(text, *data == 'r');
	bgp_attr_table_fini(&attrs);
	free(text);
	return 0;
}
