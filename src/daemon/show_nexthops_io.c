#include "src/daemon/show_nexthops_io.h"

#include <net/if.h>
#include <stdio.h>

#include "src/base/err.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/show_kernel_io.h"
#include "src/daemon/show_row.h"

enum { TEXT = 512 };

static struct json_object *hop_row(const struct object_hop *h)
{
	char text[TEXT], name[IF_NAMESIZE] = "";
	struct json_object *row = json_object_new_object();
	put_number(row, "id", h->id);
	put(row, "kind", "next hop");
	put(row, "leads_to", hop_text(&h->hop.gateway, h->hop.ifindex, text));
	put(row, "gateway", addr_format(&h->hop.gateway, text));
	put(row, "interface", if_indextoname(h->hop.ifindex, name));
	if (h->lost)
		put(row, "state", "lost");
	else if (h->error)
		put(row, "state", err_text(h->error));
	else
		put(row, "state", !h->id ? "to be made" : h->alive ? "alive" : "of before");
	put_number(row, "users", h->ways);
	put_number(row, "routes", h->single ? h->single->routes : 0);
	return row;
}

static struct json_object *group_row(const struct objects *o, const struct object_way *w)
{
	char text[TEXT];
	struct json_object *row = json_object_new_object();
	put_number(row, "id", w->id);
	put(row, "kind", "group");
	put(row, "leads_to", next_hops_text(w->meant, text, sizeof text));
	put(row, "state", w->gone ? "taken away" : w->partly ? "without those that are refused" : w->dirty ? "to be written" : "complete");
	struct json_object *members = put_list(row, "members");
	for (unsigned i = 0; i < w->meant->count; i++) {
		const struct object_hop *h = objects_hop(o, &w->meant->at[i].gateway, w->meant->at[i].ifindex);
		struct json_object *m = json_object_new_object();
		put_number(m, "id", h ? h->id : 0);
		put_number(m, "weight", w->meant->at[i].weight);
		json_object_array_add(members, m);
	}
	put_number(row, "routes", w->routes);
	return row;
}

/* There are at most OBJECTS_IDS of them, and the list must not change between two rows. */
static struct json_object *all_rows(const struct objects *o)
{
	struct json_object *rows = json_object_new_array();
	for (struct hash_node *n = hash_table_each(&o->hops, NULL); n; n = hash_table_each(&o->hops, n))
		json_object_array_add(rows, hop_row(container_of(n, struct object_hop, node)));
	for (struct list *n = o->ways.next; n != &o->ways; n = n->next) {
		const struct object_way *w = container_of(n, struct object_way, node);
		if (w->group)
			json_object_array_add(rows, group_row(o, w));
	}
	return rows;
}

struct json_object *show_nexthops(struct show *s)
{
	const struct daemon *d = s->daemon;
	if (!d->fib)
		return fail_without_kernel(s);
	if (fib_writer_no_objects(d->fib))
		return fail(s, "routes say their next hops themselves", "there are no next-hop objects: %s", fib_writer_no_objects(d->fib));
	if (!s->list)
		s->list = all_rows(&fib_writer_fib(d->fib)->objects);
	if (s->at >= json_object_array_length(s->list))
		return NULL;
	return json_object_get(json_object_array_get_idx(s->list, s->at++));
}
