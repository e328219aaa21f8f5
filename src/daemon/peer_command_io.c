#include "src/daemon/peer_command_io.h"

#include <stdio.h>
#include <string.h>

#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/peer_io.h"

static const char stays_down[] = "stopped; it stays down until \"start\", a restart of the daemon or a change of its settings";

static const char *stop(struct peer *p, const char *words)
{
	char why[sizeof p->stopped];
	if (*p->stopped)
		return "was stopped already";
	snprintf(why, sizeof why, "stopped by an operator%s%s (underlayc peer %.64s start)", words ? ": " : "", words ? words : "",
		 p->name);
	peer_stop(p, BGP_CEASE_SHUTDOWN, words, why);
	return stays_down;
}

static const char *start(struct peer *p, const char *words)
{
	(void)words;
	if (!*p->stopped)
		return "was not stopped";
	peer_start(p);
	return "started";
}

static const char *restart(struct peer *p, const char *words)
{
	bool up = bgp_session_slot(&p->session) != BGP_SLOTS;
	peer_stop(p, BGP_CEASE_RESET, words, "");
	peer_start(p);
	return up ? "session ended, starting anew" : "there was no session; starting anew";
}

static const struct {
	const char *word;
	const char *(*act)(struct peer *p, const char *words);
} actions[] = {{"stop", stop}, {"start", start}, {"restart", restart}};

static struct json_object *fail(struct show *s, const char *hint, const char *fmt, const char *word)
{
	snprintf(s->error_text, sizeof s->error_text, fmt, word);
	s->error = s->error_text;
	s->hint = hint;
	return NULL;
}

static struct json_object *act(struct show *s, struct peer *p)
{
	const char *words = s->arg_count > 2 && *s->args[2] ? s->args[2] : NULL;
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(actions[i].word, s->args[1]) != 0)
			continue;
		struct json_object *row = json_object_new_object();
		const char *result = actions[i].act(p, words);
		log_info(p->subject, "%s, asked by %s: %s", actions[i].word, s->who, result);
		json_object_object_add(row, "peer", json_object_new_string(p->name));
		json_object_object_add(row, "result", json_object_new_string(result));
		return row;
	}
	return fail(s, "underlayc peer NAME stop|start|restart [TEXT]", "%s is nothing that can be done with a peer", s->args[1]);
}

struct json_object *peer_command(struct show *s)
{
	if (s->at++)
		return NULL;
	if (s->arg_count < 2)
		return fail(s, "underlayc peer NAME stop|start|restart [TEXT]", "%s", "a name and what to do are needed");
	list_each(n, tmp, &s->daemon->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (strcmp(p->name, s->args[0]) == 0)
			return act(s, p);
	}
	list_each(n, tmp, &s->daemon->ranges)
		if (strcmp(container_of(n, struct range, node)->name, s->args[0]) == 0)
			return fail(s, "underlayc show peers lists its peers, which are stopped and started one by one",
				    "%s is a range, which has no session of its own", s->args[0]);
	return fail(s, "underlayc show peers lists them", "no peer is called %s", s->args[0]);
}
