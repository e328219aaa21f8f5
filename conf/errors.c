#include "conf/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool conf_errors_full(const struct conf_errors *errors)
{
	return errors->count > CONF_ERRORS_MAX;
}

void conf_error_add(struct conf_errors *errors, struct conf_place at, const char *path, const char *fmt, ...)
{
	if (conf_errors_full(errors))
		return;
	if (!errors->at)
		errors->at = conf_grab(CONF_ERRORS_MAX + 1, sizeof *errors->at);
	struct conf_error *e = &errors->at[errors->count++];
	*e = (struct conf_error){.line = at.line, .column = at.column};
	if (conf_errors_full(errors)) {
		snprintf(e->text, sizeof e->text, "more than %d errors: the others are not shown", CONF_ERRORS_MAX);
		return;
	}
	snprintf(e->path, sizeof e->path, "%s", path);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
}

static int in_file_order(const void *va, const void *vb)
{
	const struct conf_error *a = va, *b = vb;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	return strcmp(a->text, b->text);
}

void conf_errors_sort(struct conf_errors *errors)
{
	/* "more than ..." stays last */
	size_t n = errors->count > CONF_ERRORS_MAX ? CONF_ERRORS_MAX : errors->count;
	if (n > 1)
		qsort(errors->at, n, sizeof *errors->at, in_file_order);
}

void conf_errors_fini(struct conf_errors *errors)
{
	free(errors->at);
	*errors = (struct conf_errors){0};
}

const char *conf_error_format(const struct conf_error *e, const char *file, char *buf, size_t cap)
{
	char place[32] = "";
	if (e->line)
		snprintf(place, sizeof place, "%u:%u:", e->line, e->column);
	snprintf(buf, cap, "%s:%s %s%s%s", file, place, e->path, *e->path ? ": " : "", e->text);
	return buf;
}

/* Control characters, also the C1 ones, which UTF-8 writes as C2 80 to C2 9F. */
static bool is_control(const unsigned char *p)
{
	return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
}

const char *conf_printable(const char *text, char buf[CONF_QUOTE_MAX])
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = 0;
	for (; *p && n < CONF_QUOTE_MAX - 12; p++) {
		if (is_control(p))
			n += (size_t)snprintf(buf + n, 5, "\\x%02x", *p == 0xc2 ? *++p : *p);
		else
			buf[n++] = (char)*p;
	}
	/* not in the middle of a UTF-8 character */
	for (; (*p & 0xc0) == 0x80 && n < CONF_QUOTE_MAX - 8; p++)
		buf[n++] = (char)*p;
	strcpy(buf + n, *p ? "..." : "");
	return buf;
}

const char *conf_tree_describe(const struct conf_tree *t, char buf[CONF_QUOTE_MAX + 32])
{
	static const char *const kinds[] = {
	    [CONF_TREE_NULL] = "nothing", [CONF_TREE_LIST] = "a list", [CONF_TREE_MAP] = "a map (key: value)"};
	char text[CONF_QUOTE_MAX];
	if (t->kind != CONF_TREE_SCALAR)
		return kinds[t->kind];
	snprintf(buf, CONF_QUOTE_MAX + 32, "\"%s\"", conf_printable(t->text, text));
	return buf;
}
