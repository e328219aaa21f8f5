#include "src/daemon/external_io.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock_io.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/external_kernel_io.h"
#include "src/daemon/external_store_io.h"

struct external {
	struct daemon *daemon;
	char *dir;
	struct list owners;
	struct external_rules *rules;
	size_t rule_count;
	struct external_kernel *kernel;
};

static const char forbids[] = "its entry in external: does not allow it";

void external_rules_free(struct external_rules *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(at[i].name);
		rib_policy_free(at[i].policy);
	}
	free(at);
}

const struct external_rules *external_rules_find(const struct external *x, const char *name, bool socket)
{
	for (size_t i = 0; i < x->rule_count; i++)
		if (x->rules[i].socket == socket && strcmp(x->rules[i].name, name) == 0)
			return &x->rules[i];
	return NULL;
}

/* --- to the RIB */

/* What the owner's route is told as, an owned reference; NULL: it is not, *why says the reason. */
static struct bgp_attrs *judge(const struct external *x, const char *owner, const struct prefix *p, struct bgp_attrs *attrs,
			       const char **why)
{
	const struct external_rules *rules = external_rules_find(x, owner, true);
	const struct rib_policy_subject s = {p, RIB_SOURCE_EXTERNAL, NULL};
	struct bgp_attrs *made = bgp_attrs_ref(attrs);
	struct rib_policy_trace trace;
	*why = external_refusal(&x->daemon->imports, p);
	if (!*why && rules && rib_policy_run(rules->policy, &s, &made, &trace) == RIB_REJECT)
		*why = forbids;
	if (!*why)
		return made;
	bgp_attrs_unref(made);
	return NULL;
}

/* The route is told, or no longer, as the rules say now. */
static void tell(struct external *x, struct external_owner *o, struct external_route *r)
{
	const char *why;
	struct bgp_attrs *made = judge(x, o->name, &r->prefix, r->attrs, &why);
	if (made)
		rib_announce(x->daemon->rib, o->source, &r->prefix, made, clock_now());
	else if (r->told)
		rib_withdraw(x->daemon->rib, o->source, &r->prefix);
	r->told = made != NULL;
	bgp_attrs_unref(made);
}

static void tell_all(struct external *x)
{
	list_each(n, tmp, &x->owners) {
		struct external_owner *o = container_of(n, struct external_owner, node);
		size_t kept_back = 0;
		for (size_t i = 0; i < o->count; i++) {
			tell(x, o, &o->routes[i]);
			kept_back += !o->routes[i].told;
		}
		if (kept_back)
			log_warn("external", "%s: %zu of its %zu routes are not told (underlayc show external says why)", o->name, kept_back,
				 o->count);
	}
}

static void drop(struct external *x, struct external_owner *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->routes[i].told)
			rib_withdraw(x->daemon->rib, o->source, &o->routes[i].prefix);
	list_remove(&o->node);
	external_owner_free(o);
}

/* --- handing over */

static bool refuse(struct external_error *e, const char *hint, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(struct external_error *e, const char *hint, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, args);
	va_end(args);
	e->hint = hint;
	return false;
}

static size_t holders(const struct external *x, size_t *owners)
{
	size_t n = 0;
	list_each(node, tmp, &x->owners) {
		const struct external_owner *o = container_of(node, struct external_owner, node);
		++*owners;
		n += o->connection != 0;
	}
	return n;
}

/* An owner is one thing: routes that stay, or one connection's. */
static bool may_own(const struct external *x, const struct external_hand *h, const struct external_owner *o, struct external_error *e)
{
	size_t owners = 0, held = holders(x, &owners);
	if (external_rules_find(x, h->owner, false))
		return refuse(e, "take another name, or the entry away", "%s is an entry of external: that reads the kernel", h->owner);
	if (o && o->connection != h->connection)
		return refuse(e, "one name is one owner: take another, or remove its routes first",
			      o->connection ? "%s holds its routes by another connection" : "the routes of %s stay without a connection",
			      h->owner);
	if (o)
		return true;
	if (owners >= EXTERNAL_OWNERS_MAX)
		return refuse(e, "underlayc show external lists them", "there are %d owners already", EXTERNAL_OWNERS_MAX);
	return !h->connection || held < EXTERNAL_HOLDERS_MAX ||
	       refuse(e, "use route add, whose routes need no connection", "%d owners hold their routes by a connection already",
		      EXTERNAL_HOLDERS_MAX);
}

static bool may_be_told(const struct external *x, const struct external_hand *h, struct external_error *e)
{
	char text[PREFIX_TEXT_MAX];
	const char *why;
	for (size_t i = 0; i < h->change->count; i++) {
		const struct prefix *p = &h->change->prefixes[i];
		struct bgp_attrs *made = judge(x, h->owner, p, h->change->attrs, &why);
		if (!made)
			return refuse(e, why == forbids ? "external[].prefixes of the entry with this name says which it may hand over"
							: "hand over prefixes of services, which are nobody else's",
				      "%s: %s", prefix_format(p, text), why);
		bgp_attrs_unref(made);
	}
	return true;
}

/* Writes what there will be to the disk, where it is to stay. Nothing has changed before, and nothing can fail after. */
static bool keep(const struct external *x, const struct external_owner *o, const struct external_change *c, struct external_error *e)
{
	bool any = external_count_after(o, c) > 0;
	if (o->connection)
		return true;
	char *text = any ? external_text(o, c) : NULL;
	int error = external_store_write(x->dir, o->name, text);
	free(text);
	return !error || refuse(e, "nothing was changed; when the disk is mended, try again", "%s/%s.routes cannot be written: %s", x->dir,
				o->name, strerror(-error));
}

static void say(const struct external_owner *o, const struct external_change *c, const char *what, const char *who)
{
	static struct log_limit limit;
	char text[PREFIX_TEXT_MAX];
	log_remote(&limit, LOG_LEVEL_INFO, "external", "%s: %s%s %s, asked by %s; it has %zu routes", o->name,
		   c->all ? "all" : prefix_format(c->prefixes, text), c->count > 1 ? " and others" : "", what, who, o->count);
}

bool external_hand_over(struct external *x, const struct external_hand *h, struct external_error *e)
{
	struct external_owner *o = external_owner_find(&x->owners, h->owner);
	if (!may_own(x, h, o, e) || !may_be_told(x, h, e))
		return false;
	struct external_owner *owner = o ? o : external_owner_new(x->daemon->rib, h->owner, h->connection);
	bool fine = external_count_after(owner, h->change) <= EXTERNAL_ROUTES_MAX ||
		    refuse(e, "an aggregate of them would do", "%s would have more than %d routes", h->owner, EXTERNAL_ROUTES_MAX);
	if (!fine || !keep(x, owner, h->change, e)) {
		if (!o)
			external_owner_free(owner);
		return false;
	}
	if (!o)
		list_append(&x->owners, &owner->node);
	for (size_t i = 0; i < h->change->count; i++)
		tell(x, owner, external_put(owner, &h->change->prefixes[i], h->change->attrs, h->change->since));
	say(owner, h->change, "handed over", h->who);
	return true;
}

static bool has_all(const struct external_owner *o, const struct external_change *c, struct external_error *e)
{
	char text[PREFIX_TEXT_MAX];
	for (size_t i = 0; i < c->count; i++)
		if (!external_find(o, &c->prefixes[i]))
			return refuse(e, "underlayc show external lists what it has; nothing was removed", "%s has no route to %s", o->name,
				      prefix_format(&c->prefixes[i], text));
	return true;
}

static void take_back(struct external *x, struct external_owner *o, struct external_route *r)
{
	if (r->told)
		rib_withdraw(x->daemon->rib, o->source, &r->prefix);
	external_take(o, r);
}

bool external_take_back(struct external *x, const struct external_hand *h, struct external_error *e)
{
	const struct external_change *c = h->change;
	struct external_owner *o = external_owner_find(&x->owners, h->owner);
	if (!o)
		return refuse(e, "underlayc show external lists them", "no owner is called %s", h->owner);
	if (!has_all(o, c, e) || !keep(x, o, c, e))
		return false;
	for (size_t i = 0; i < c->count; i++) {
		struct external_route *r = external_find(o, &c->prefixes[i]);
		if (r) /* the prefix may be there twice */
			take_back(x, o, r);
	}
	while (c->all && o->count)
		take_back(x, o, &o->routes[o->count - 1]);
	say(o, c, "taken back", h->who);
	if (o->count == 0)
		drop(x, o);
	return true;
}

/* --- connections */

bool external_is_held(const struct external *x, uint64_t connection)
{
	list_each(n, tmp, &x->owners)
		if (container_of(n, struct external_owner, node)->connection == connection)
			return true;
	return false;
}

void external_connection_closed(struct external *x, uint64_t connection)
{
	static struct log_limit limit;
	list_each(n, tmp, &x->owners) {
		struct external_owner *o = container_of(n, struct external_owner, node);
		if (o->connection != connection)
			continue;
		log_remote(&limit, LOG_LEVEL_INFO, "external", "%s: its connection ended, and with it %zu routes", o->name, o->count);
		drop(x, o);
	}
}

/* --- life */

static bool take_file(void *arg, const char *name, char *text, char *why, unsigned why_cap)
{
	struct external *x = arg;
	char error[EXTERNAL_ERROR_MAX];
	struct external_owner *o = external_owner_new(x->daemon->rib, name, 0);
	bool fine = external_read(o, &x->daemon->attrs, text, error);
	if (fine && o->count)
		list_append(&x->owners, &o->node);
	else
		external_owner_free(o);
	if (!fine)
		snprintf(why, why_cap, "%s", error);
	return fine;
}

struct external *external_new(struct daemon *d, const char *state_dir, uint8_t protocol)
{
	struct external *x = calloc(1, sizeof *x);
	if (!x || asprintf(&x->dir, "%s/external", state_dir) < 0)
		abort();
	x->daemon = d;
	list_init(&x->owners);
	external_store_read(x->dir, take_file, x);
	x->kernel = external_kernel_new(d, protocol);
	return x;
}

void external_free(struct external *x)
{
	if (!x)
		return;
	external_kernel_free(x->kernel);
	list_each(n, tmp, &x->owners)
		external_owner_free(container_of(n, struct external_owner, node));
	external_rules_free(x->rules, x->rule_count);
	free(x->dir);
	free(x);
}

void external_apply(struct external *x, struct external_rules *rules, size_t count)
{
	struct external_rules *old = x->rules;
	size_t old_count = x->rule_count;
	x->rules = rules;
	x->rule_count = count;
	tell_all(x);
	external_kernel_apply(x->kernel, rules, count);
	external_rules_free(old, old_count);
}

bool external_work(struct external *x)
{
	return external_kernel_work(x->kernel);
}

bool external_settled(const struct external *x)
{
	return external_kernel_settled(x->kernel);
}

struct external_counts external_count(const struct external *x)
{
	struct external_counts c = {.kernel = external_kernel_count(x->kernel)};
	list_each(n, tmp, &x->owners) {
		const struct external_owner *o = container_of(n, struct external_owner, node);
		c.owners++;
		c.routes += o->count;
		for (size_t i = 0; i < o->count; i++)
			c.kept_back += !o->routes[i].told;
	}
	return c;
}

const struct list *external_owners(const struct external *x)
{
	return &x->owners;
}

struct external_kernel *external_kernel_of(const struct external *x)
{
	return x->kernel;
}

const char *external_why_not(const struct external *x, const struct external_owner *o, const struct external_route *r)
{
	const char *why;
	bgp_attrs_unref(judge(x, o->name, &r->prefix, r->attrs, &why));
	return why;
}
