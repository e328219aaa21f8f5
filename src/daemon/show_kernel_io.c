#include "src/daemon/show_kernel_io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "netlink/route_msg.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/kernel_home_io.h"
#include "src/daemon/show_row.h"

enum { TEXT = 512 };

static const char no_kernel[] = "the kernel gets no routes from here: %s";
static const char no_kernel_hint[] = "kernel.install and kernel.vrf of the configuration say whether it is to, and where";

struct json_object *fail_without_kernel(struct show *s)
{
	return fail(s, no_kernel_hint, no_kernel, kernel_home_missing(s->daemon));
}

const char *next_hops_text(const struct nhset *s, char *buf, size_t cap)
{
	char gateway[HOP_TEXT_MAX];
	size_t n = (size_t)snprintf(buf, cap, "%s", !s ? "nothing" : s->count ? "" : "a blackhole");
	for (unsigned i = 0; s && i < s->count && n < cap; i++) {
		n += (size_t)snprintf(buf + n, cap - n, "%svia %s", i ? ", " : "", hop_text(&s->at[i].gateway, s->at[i].ifindex, gateway));
		if (s->count > 1 && n < cap)
			n += (size_t)snprintf(buf + n, cap - n, " weight %u", s->at[i].weight);
	}
	return buf;
}

const char *kernel_state_text(const struct fib_entry *e, char *buf, size_t cap)
{
	char owner[NETLINK_PROTOCOL_TEXT_MAX];
	const struct fib_trouble *t = e->trouble;
	if (fib_entry_fought_over(e))
		snprintf(buf, cap, "waiting: others took it away again and again");
	else if (t && t->foreign)
		snprintf(buf, cap, "failed: %s: a route of protocol %s is in its place", err_text(t->error),
			 netlink_protocol_text(t->owner, owner));
	else if (t && t->error)
		snprintf(buf, cap, "failed: %s%s%s", err_text(t->error), t->text ? ": " : "", t->text ? t->text : "");
	else
		snprintf(buf, cap, "pending");
	return buf;
}

/* --- show kernel */

/* The different words of those that failed last; of very many only some are looked at. */
static void put_failures(const struct fib *f, struct json_object *row)
{
	enum { LOOKS = 1000, KINDS = 8 };
	struct json_object *list = put_list(row, "failures");
	char text[TEXT], seen[KINDS][TEXT];
	unsigned looks = 0, kinds = 0;
	for (unsigned i = 0; i < FIB_WAITS; i++) {
		for (const struct list *n = f->waiting[i].next; n != &f->waiting[i] && looks++ < LOOKS && kinds < KINDS; n = n->next) {
			unsigned k = 0;
			kernel_state_text(container_of(n, struct fib_entry, queue), text, sizeof text);
			while (k < kinds && strcmp(seen[k], text) != 0)
				k++;
			if (k < kinds)
				continue;
			strcpy(seen[kinds++], text);
			json_object_array_add(list, json_object_new_string(text));
		}
	}
}

static void put_repaired(const struct fib *f, struct json_object *row)
{
	struct json_object *o = json_object_new_object();
	json_object_object_add(row, "repaired", o);
	put_number(o, "taken", f->repaired[FIB_TAKEN]);
	put_number(o, "changed", f->repaired[FIB_BENT]);
	put_number(o, "stray", f->repaired[FIB_STRAY]);
}

static void put_findings(const struct fib_findings *x, struct json_object *o)
{
	put_number(o, "read", x->read);
	put_number(o, "missing", x->missing);
	put_number(o, "changed", x->bent);
	put_number(o, "stray", x->stray);
	put_number(o, "foreign", x->foreign);
}

static void put_audit(const struct audit_report *r, struct json_object *row)
{
	char text[TEXT], ago[32];
	struct json_object *o = json_object_new_object();
	int64_t age_ms = tick_since_ms(r->ended_at, clock_now());
	json_object_object_add(row, "audit", o);
	put_number(o, "number", r->number);
	put_number(o, "age_ms", (uint64_t)age_ms);
	put_number(o, "took_ms", (uint64_t)r->took_ms);
	put_number(o, "busy_us", (uint64_t)r->busy_us);
	put_number(o, "longest_us", (uint64_t)r->longest_us);
	put(o, "error", r->error ? err_text(r->error) : NULL);
	put_findings(&r->findings, o);
	duration(age_ms, ago, sizeof ago);
	if (r->error)
		snprintf(text, sizeof text, "%s ago: failed: %s", ago, err_text(r->error));
	else
		snprintf(text, sizeof text, "%s ago, took %lld ms, %lld at work: %zu routes, %zu missing, %zu changed, %zu not wanted, "
			 "%zu newly kept out", ago, (long long)r->took_ms, (long long)r->busy_us / 1000, r->findings.read,
			 r->findings.missing, r->findings.bent, r->findings.stray, r->findings.foreign);
	put(row, "last_audit", text);
	if (!r->running)
		return;
	snprintf(text, sizeof text, "%zu routes read", r->read_now);
	put(row, "audit_now", text);
}

static size_t fought_over(const struct fib *f)
{
	/* all that waits and was not refused; what is being tried again counts as refused still */
	return f->waiting_count > f->refused ? f->waiting_count - f->refused : 0;
}

struct json_object *show_kernel(struct show *s)
{
	struct fib_report report;
	char text[NETLINK_PROTOCOL_TEXT_MAX], table[NETLINK_TABLE_TEXT_MAX];
	if (!s->daemon->fib)
		return fail_without_kernel(s);
	if (s->at++)
		return NULL;
	const struct fib *f = fib_writer_fib(s->daemon->fib);
	struct json_object *row = json_object_new_object();
	fib_writer_report(s->daemon->fib, &report);
	put(row, "table", netlink_table_text(f->mark.table, table));
	put(row, "protocol", netlink_protocol_text(f->mark.protocol, text));
	put_number(row, "metric", f->mark.metric);
	put(row, "state", f->held ? "routes of before are kept until the peers have told theirs" : "following the table of routes");
	put_number(row, "wanted", f->wanted);
	put_number(row, "installed", fib_installed(f));
	put_number(row, "queued", f->todo_count);
	put_number(row, "in_flight", f->in_flight);
	put_number(row, "failed", f->refused);
	put_failures(f, row);
	put_number(row, "foreign", f->foreign);
	put_number(row, "fought_over", fought_over(f));
	put_repaired(f, row);
	put_audit(&report.audit, row);
	put_number(row, "window", report.window);
	put_number(row, "receive_buffer", report.buffer);
	struct json_object *o = json_object_new_object();
	json_object_object_add(row, "overruns", o);
	put_number(o, "events", report.lost_events);
	put_number(o, "answers", report.lost_answers);
	return row;
}

/* --- show kernel differences */

static struct json_object *difference_row(const struct fib_entry *e)
{
	char text[TEXT];
	struct json_object *row = json_object_new_object();
	put(row, "prefix", prefix_format(&e->prefix, text));
	put(row, "want", next_hops_text(e->want, text, sizeof text));
	put(row, "have", next_hops_text(fib_entry_have(e), text, sizeof text));
	put(row, "state", kernel_state_text(e, text, sizeof text));
	if (e->trouble && e->trouble->foreign)
		put_number(row, "owner", e->trouble->owner);
	if (fib_entry_error(e)) {
		put(row, "error", err_text(e->trouble->error));
		put(row, "words", e->trouble->text);
	}
	if (e->on == FIB_WAITING) {
		int64_t ms = e->trouble->retry_at.ms - clock_now().ms;
		put_number(row, "next_try_ms", ms > 0 ? (uint64_t)ms : 0); /* it may be due, and not have had its turn */
	}
	return row;
}

struct json_object *show_kernel_differences(struct show *s)
{
	enum { LOOKS_A_TURN = 20000 };
	if (!s->daemon->fib)
		return fail_without_kernel(s);
	if (s->at == UINT64_MAX)
		return NULL;
	const struct fib_entry *e = fib_next_difference(fib_writer_fib(s->daemon->fib), &s->at, LOOKS_A_TURN);
	if (!e) {
		s->pause = s->at != UINT64_MAX;
		return NULL;
	}
	return difference_row(e);
}

/* --- resync kernel */

enum { LOOK_MS = 20, PROGRESS_EVERY = 50, SETTLE_MS = 10000, AHEAD_MAX = 2 /* of the last audit: what audit_demand() promises */ };

/* What was so when it began: the number of the audit, and how much had been repaired. In s->list, since there is no other
 * place; s->at counts the looks. */
enum { BEGAN_NUMBER, BEGAN_REPAIRED, BEGAN_AT };

static int64_t began(const struct show *s, size_t what)
{
	return json_object_get_int64(json_object_array_get_idx(s->list, what));
}

static uint64_t all_repaired(const struct fib *f)
{
	return f->repaired[FIB_TAKEN] + f->repaired[FIB_BENT] + f->repaired[FIB_STRAY];
}

static void begin_resync(struct show *s, struct fib_writer *w)
{
	uint64_t repaired = all_repaired(fib_writer_fib(w));
	log_info("control", "%s asks to compare the kernel's routes", s->who);
	s->list = json_object_new_array();
	json_object_array_add(s->list, json_object_new_int64(fib_writer_resync(w)));
	json_object_array_add(s->list, json_object_new_int64((int64_t)repaired));
	json_object_array_add(s->list, json_object_new_int64(clock_now().ms));
}

static struct json_object *look_later(struct show *s, const struct audit_report *r, bool read)
{
	s->pause = true;
	s->pause_ms = LOOK_MS;
	if (s->at % PROGRESS_EVERY == 0)
		snprintf(s->progress, sizeof s->progress, read ? "repairing" : "%zu routes read", r->read_now);
	return NULL;
}

static struct json_object *result_row(const struct show *s, const struct fib *f, const struct audit_report *r)
{
	struct json_object *row = json_object_new_object();
	size_t differ = fib_differ(&r->findings), pending = f->todo_count + f->in_flight;
	put(row, "result", f->refused ? "some routes cannot go in: show kernel differences tells why"
			   : pending  ? "repairing goes on"
			   : differ   ? "differences were repaired"
				      : "nothing differed");
	put_findings(&r->findings, row);
	put_number(row, "repaired", all_repaired(f) - (uint64_t)began(s, BEGAN_REPAIRED));
	put_number(row, "failed", f->refused);
	put_number(row, "pending", pending);
	put_number(row, "took_ms", (uint64_t)(clock_now().ms - began(s, BEGAN_AT)));
	return row;
}

struct json_object *resync_kernel(struct show *s)
{
	struct fib_writer *w = s->daemon->fib;
	struct fib_report report;
	if (!w)
		return fail_without_kernel(s);
	if (s->at == UINT64_MAX)
		return NULL;
	if (!s->list)
		begin_resync(s, w);
	fib_writer_report(w, &report);
	if (report.audit.number + AHEAD_MAX < (uint64_t)began(s, BEGAN_NUMBER))
		return fail(s, "ask again", "%s", "the VRF, and with it the table, was made anew meanwhile");
	const struct fib *f = fib_writer_fib(w);
	bool read = report.audit.number >= (uint64_t)began(s, BEGAN_NUMBER);
	bool busy = f->todo_count || f->in_flight;
	if (!read || (busy && tick_since_ms(report.audit.ended_at, clock_now()) < SETTLE_MS)) {
		s->at++;
		return look_later(s, &report.audit, read);
	}
	if (report.audit.error)
		return fail(s, "underlayc show kernel tells when it is tried again", "the kernel's routes cannot be read: %s",
			    err_text(report.audit.error));
	s->at = UINT64_MAX;
	return result_row(s, f, &report.audit);
}
