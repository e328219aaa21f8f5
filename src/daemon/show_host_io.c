#include "src/daemon/show_host_io.h"

#include "src/daemon/daemon.h"
#include "src/daemon/host_io.h"
#include "src/daemon/show_row.h"

static void add_row(void *list, const struct host_row *r)
{
	struct json_object *row = json_object_new_object();
	put(row, "check", r->check);
	put(row, "setting", r->setting);
	put(row, "value", r->value);
	put(row, "wanted", r->wanted);
	put(row, "verdict", host_verdict_name(r->verdict));
	put(row, "what", r->what);
	json_object_array_add(list, row);
}

struct json_object *show_host(struct show *s)
{
	if (!s->list) {
		s->list = json_object_new_array();
		host_watch_each(s->daemon->host, add_row, s->list);
	}
	if (s->at >= json_object_array_length(s->list))
		return NULL;
	return json_object_get(json_object_array_get_idx(s->list, s->at++));
}
