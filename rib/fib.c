#include "rib/fib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/live.h"

void fib_init(struct fib *f, struct nhset_table *nhsets, const struct route_mark *mark)
{
	memset(f, 0, sizeof *f);
	hash_table_init(&f->table);
	list_init(&f->todo);
	list_init(&f->failed);
	f->nhsets = nhsets;
	f->mark = *mark;
}

static void set(struct nhset **slot, struct nhset *s)
{
	struct nhset *old = *slot;
	*slot = s ? nhset_ref(s) : NULL;
	nhset_unref(old);
}

static void set_have(struct fib *f, struct fib_entry *e, struct nhset *s)
{
	f->installed += (s != NULL) - (size_t)(e->have != NULL);
	set(&e->have, s);
}

static void dequeue(struct fib_entry *e)
{
	if (list_linked(&e->queue))
		list_remove(&e->queue);
}

static void free_entry(struct fib *f, struct fib_entry *e)
{
	dequeue(e);
	set_have(f, e, NULL);
	set(&e->want, NULL);
	set(&e->sent, NULL);
	f->in_flight -= e->in_flight;
	hash_table_remove(&f->table, &e->node);
	free(e->error_text);
	free(e);
	live_drop(LIVE_FIB_ENTRY);
}

void fib_fini(struct fib *f)
{
	for (struct hash_node *n = hash_table_each(&f->table, NULL), *next; n; n = next) {
		next = hash_table_each(&f->table, n);
		free_entry(f, container_of(n, struct fib_entry, node));
	}
	hash_table_fini(&f->table);
}

static struct fib_entry *find(const struct fib *f, const struct prefix *p)
{
	struct hash_node *n = hash_first(&f->table, prefix_hash(p));
	while (n && !prefix_eq(&container_of(n, struct fib_entry, node)->prefix, p))
		n = hash_next(n);
	return n ? container_of(n, struct fib_entry, node) : NULL;
}

const struct fib_entry *fib_find(const struct fib *f, const struct prefix *p)
{
	return find(f, p);
}

static struct fib_entry *find_or_make(struct fib *f, const struct prefix *p)
{
	struct fib_entry *e = find(f, p);
	if (e)
		return e;
	e = calloc(1, sizeof *e);
	if (!e)
		abort();
	e->prefix = *p;
	hash_table_insert(&f->table, &e->node, prefix_hash(p));
	live_add(LIVE_FIB_ENTRY);
	return e;
}

static void clear_error(struct fib_entry *e)
{
	free(e->error_text);
	e->error_text = NULL;
	e->error = 0;
	e->failures = 0;
	e->retry_at = (struct tick){0};
}

/* Puts the entry where it belongs: to do, at rest, or gone. True: there is something to do. */
static bool settle(struct fib *f, struct fib_entry *e)
{
	dequeue(e);
	if (e->in_flight)
		return false; /* fib_done() settles it again */
	if (e->want == e->have) {
		clear_error(e);
		if (!e->want)
			free_entry(f, e);
		return false;
	}
	if (!f->held || !e->have || e->lost)
		list_append(&f->todo, &e->queue);
	return true;
}

static bool has_next_hop(const struct nhset *s, const struct route_nexthop *nh)
{
	for (unsigned i = 0; s && i < s->count; i++)
		if (addr_eq(&s->at[i].gateway, &nh->gateway) && s->at[i].ifindex == nh->ifindex)
			return true;
	return false;
}

static bool loses_next_hop(const struct nhset *before, const struct nhset *after)
{
	for (unsigned i = 0; before && i < before->count; i++)
		if (!has_next_hop(after, &before->at[i]))
			return true;
	return before && !after;
}

void fib_want(struct fib *f, const struct prefix *p, struct nhset *want)
{
	if (!want && !find(f, p))
		return;
	struct fib_entry *e = find_or_make(f, p);
	if (e->want == want && e->want)
		return;
	e->lost |= loses_next_hop(e->want, want);
	set(&e->want, want);
	clear_error(e);
	settle(f, e);
}

static void fill_route(const struct fib *f, const struct fib_entry *e, const struct nhset *s, struct route *r)
{
	r->prefix = e->prefix;
	r->mark = f->mark;
	r->type = s->count ? ROUTE_UNICAST : ROUTE_BLACKHOLE;
	r->nexthop_count = s->count;
	r->nexthop_id = 0;
	r->scope = 0;
	memcpy(r->nexthops, s->at, s->count * sizeof *s->at);
}

bool fib_next(struct fib *f, struct fib_intent *out)
{
	if (list_empty(&f->todo))
		return false;
	struct fib_entry *e = container_of(f->todo.next, struct fib_entry, queue);
	dequeue(e);
	set(&e->sent, e->want);
	e->in_flight = true;
	f->in_flight++;
	out->entry = e;
	/* what we do not know to be ours is never replaced: FIB_ADD is refused where another's route stands */
	out->op = !e->want ? FIB_DELETE : e->have ? FIB_REPLACE : FIB_ADD;
	fill_route(f, e, e->want ? e->want : e->have, &out->route);
	return true;
}

static void fail(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now)
{
	int64_t wait = FIB_RETRY_MS;
	for (unsigned i = 0; i < e->failures && wait < FIB_RETRY_MAX_MS; i++)
		wait *= 2;
	free(e->error_text);
	e->error_text = text && *text ? strdup(text) : NULL;
	e->error = error;
	if (e->failures < 16)
		e->failures++;
	e->retry_at = tick_after(now, wait < FIB_RETRY_MAX_MS ? wait : FIB_RETRY_MAX_MS);
	list_append(&f->failed, &e->queue);
}

void fib_done(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now)
{
	bool gone = !e->sent && (error == -ESRCH || error == -ENOENT || error == -ENODEV);
	bool obsolete = e->sent != e->want;
	f->in_flight--;
	e->in_flight = false;
	if (error == 0 || gone)
		set_have(f, e, e->sent);
	else if (error == -ENOENT)
		set_have(f, e, NULL); /* what we meant to replace is not there */
	set(&e->sent, NULL);
	dequeue(e);
	if (error && !gone && !obsolete && error != -ENOENT)
		fail(f, e, error, text, now);
	else
		settle(f, e);
}

void fib_lost(struct fib *f)
{
	for (struct hash_node *n = hash_table_each(&f->table, NULL); n; n = hash_table_each(&f->table, n)) {
		struct fib_entry *e = container_of(n, struct fib_entry, node);
		e->in_flight = false;
		set(&e->sent, NULL);
	}
	f->in_flight = 0;
}

struct tick fib_retry(struct fib *f, struct tick now)
{
	struct tick next = {0};
	list_each(n, tmp, &f->failed) {
		struct fib_entry *e = container_of(n, struct fib_entry, queue);
		if (!tick_due(e->retry_at, now)) {
			next = tick_earlier(next, e->retry_at);
			continue;
		}
		list_remove(n);
		list_append(&f->todo, n);
	}
	return next;
}

void fib_dump_begin(struct fib *f)
{
	for (struct hash_node *n = hash_table_each(&f->table, NULL); n; n = hash_table_each(&f->table, n))
		container_of(n, struct fib_entry, node)->seen = false;
}

void fib_dump_found(struct fib *f, const struct route *r)
{
	struct route_nexthop at[ROUTE_NEXTHOPS_MAX];
	struct fib_entry *e = find_or_make(f, &r->prefix);
	for (unsigned i = 0; i < r->nexthop_count; i++) {
		at[i] = r->nexthops[i];
		if (!addr_is_zero(&at[i].gateway) && !addr_is_link_local(&at[i].gateway))
			at[i].ifindex = 0; /* the kernel's finding, not part of what we say */
	}
	struct nhset *s = nhset_of(f->nhsets, at, r->type == ROUTE_BLACKHOLE ? 0 : r->nexthop_count);
	set_have(f, e, s);
	nhset_unref(s);
	e->seen = true;
}

size_t fib_dump_end(struct fib *f)
{
	size_t differ = 0;
	for (struct hash_node *n = hash_table_each(&f->table, NULL), *next; n; n = next) {
		struct fib_entry *e = container_of(n, struct fib_entry, node);
		next = hash_table_each(&f->table, n);
		if (!e->seen)
			set_have(f, e, NULL);
		if (e->error == -EEXIST && e->want != e->have)
			continue; /* another's route stands there, and it has its own time to be tried again */
		e->failures = 0; /* what refused the others, a link that was away, may be over */
		bool under_way = e->in_flight || (list_linked(&e->queue) && !e->error);
		differ += settle(f, e) && !under_way;
	}
	return differ;
}

size_t fib_release(struct fib *f)
{
	size_t differ = 0;
	f->held = false;
	for (struct hash_node *n = hash_table_each(&f->table, NULL), *next; n; n = next) {
		next = hash_table_each(&f->table, n);
		differ += settle(f, container_of(n, struct fib_entry, node));
	}
	return differ;
}
