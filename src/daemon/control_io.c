#include "src/daemon/control_io.h"

#include <errno.h>
#include <ev.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/list.h"
#include "src/base/log_io.h"
#include "src/daemon/control_request.h"
#include "src/daemon/daemon.h"
#include "src/daemon/external_io.h"

enum {
	OUT_GOAL = 65536,    /* rows are made until so much waits */
	ROWS_A_TURN = 512,
	CLIENTS_MAX = 64,
	CLIENT_IDLE_S = 30,
};

struct client {
	struct list node;
	struct control_server *server;
	ev_io reader, writer;
	ev_timer idle, later;
	struct control_input in;
	char *out;
	size_t out_len, out_at, out_cap;
	struct control_request request; /* the one being answered */
	char who[32];
	uint64_t id; /* what else is known by it ends with the connection: external_io.h */
	show_next_fn *next;
	struct show show;
	bool ended; /* the other side will send no more */
};

struct control_server {
	struct daemon *daemon;
	ev_io io;
	ev_timer pause;
	struct list clients; /* who was silent longest first */
	unsigned count;
	uint64_t last_id;
	char *path;
	struct log_limit limit;
};

static void answer_over(struct client *c)
{
	control_request_fini(&c->request);
	json_object_put(c->show.list);
	c->next = NULL;
	memset(&c->show, 0, sizeof c->show);
}

static void client_free(struct client *c)
{
	struct ev_loop *loop = c->server->daemon->loop;
	ev_io_stop(loop, &c->reader);
	ev_io_stop(loop, &c->writer);
	ev_timer_stop(loop, &c->idle);
	ev_timer_stop(loop, &c->later);
	close(c->reader.fd);
	answer_over(c);
	external_connection_closed(c->server->daemon->external, c->id);
	free(c->out);
	list_remove(&c->node);
	c->server->count--;
	free(c);
}

static void put_line(struct client *c, struct json_object *o)
{
	size_t len;
	const char *text = json_object_to_json_string_length(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (c->out_at) { /* what is out makes room */
		c->out_len -= c->out_at;
		memmove(c->out, c->out + c->out_at, c->out_len);
		c->out_at = 0;
	}
	if (c->out_len + len + 1 > c->out_cap) {
		c->out_cap = (c->out_len + len + 1) * 2;
		c->out = realloc(c->out, c->out_cap);
		if (!c->out)
			abort();
	}
	memcpy(c->out + c->out_len, text, len);
	c->out[c->out_len + len] = '\n';
	c->out_len += len + 1;
	json_object_put(o);
}

static void put_error(struct client *c, const char *error, const char *hint)
{
	struct json_object *o = json_object_new_object();
	json_object_object_add(o, "error", json_object_new_string(error));
	if (hint)
		json_object_object_add(o, "hint", json_object_new_string(hint));
	put_line(c, o);
}

static void put_pause(struct client *c)
{
	struct show *s = &c->show;
	if (*s->progress) {
		struct json_object *o = json_object_new_object();
		json_object_object_add(o, "progress", json_object_new_string(s->progress));
		put_line(c, o);
	}
	if (s->pause_ms) {
		ev_timer_set(&c->later, s->pause_ms / 1000., 0.);
		ev_timer_start(c->server->daemon->loop, &c->later);
	}
	s->pause = false;
	s->pause_ms = 0;
	*s->progress = '\0';
}

/* Rows until enough waits to be written or the answer is over. */
static void make_rows(struct client *c)
{
	struct json_object *row;
	unsigned rows = 0;
	while (c->next && !ev_is_active(&c->later) && c->out_len - c->out_at < OUT_GOAL && rows++ < ROWS_A_TURN) {
		row = c->next(&c->show);
		if (row) {
			struct json_object *o = json_object_new_object();
			json_object_object_add(o, "row", row);
			put_line(c, o);
			continue;
		}
		if (c->show.pause) { /* a search that takes long */
			put_pause(c);
			return;
		}
		if (c->show.error) {
			put_error(c, c->show.error, c->show.hint);
		} else {
			struct json_object *o = json_object_new_object();
			json_object_object_add(o, "done", json_object_new_boolean(true));
			put_line(c, o);
		}
		answer_over(c);
	}
}

static void take_request(struct client *c, const char *line)
{
	struct control_request *r = &c->request;
	struct control_refusal why;
	if (!control_request_parse(line, r, &why)) {
		put_error(c, why.error, why.hint);
		return;
	}
	c->show = (struct show){.daemon = c->server->daemon, .args = r->args, .arg_count = r->arg_count, .connection = c->id, .who = c->who};
	c->next = show_producer(r->command->id); /* test_control asks every command of the table */
}

/* One line of the input, if there is a whole one. */
static bool next_line(struct client *c)
{
	char line[CONTROL_LINE_MAX];
	enum control_line got = control_input_next(&c->in, line);
	if (got == CONTROL_LINE_TOO_LONG)
		put_error(c, "the request is too long", "at most 4095 bytes and a newline");
	if (got == CONTROL_LINE)
		take_request(c, line);
	return got == CONTROL_LINE;
}

static void set_watcher(struct ev_loop *loop, ev_io *w, bool on)
{
	if (on)
		ev_io_start(loop, w);
	else
		ev_io_stop(loop, w);
}

static void pump(struct client *c)
{
	struct ev_loop *loop = c->server->daemon->loop;
	do
		make_rows(c);
	while (!c->next && next_line(c));
	while (c->out_at < c->out_len) {
		ssize_t n = send(c->writer.fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			client_free(c);
			return;
		}
		c->out_at += (size_t)n;
		ev_timer_again(loop, &c->idle);
	}
	if (c->out_at == c->out_len)
		c->out_at = c->out_len = 0;
	bool busy = c->out_len || c->next;
	if (!busy && c->ended) {
		client_free(c);
		return;
	}
	/* one at a time: what it asks next is read when its answer is out */
	set_watcher(loop, &c->writer, c->out_len || (c->next && !ev_is_active(&c->later)));
	set_watcher(loop, &c->reader, !busy && !c->ended);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	(void)loop;
	(void)revents;
	pump(w->data);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct client *c = w->data;
	(void)revents;
	ssize_t n = read(w->fd, c->in.bytes + c->in.len, sizeof c->in.bytes - c->in.len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		c->ended = true;
	} else {
		c->in.len += (size_t)n;
		ev_timer_again(loop, &c->idle);
		list_remove(&c->node);
		list_append(&c->server->clients, &c->node);
	}
	pump(c);
}

/* It is there for what it holds, and has nothing to say. */
static bool is_holding(const struct client *c)
{
	return external_is_held(c->server->daemon->external, c->id);
}

static void on_idle(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct client *c = t->data;
	(void)revents;
	if (is_holding(c))
		ev_timer_again(loop, t);
	else
		client_free(c);
}

static void on_later(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	pump(t->data);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct control_server *s = w->data;
	(void)revents;
	ev_io_start(loop, &s->io);
}

static void identify(int fd, char *who, size_t cap)
{
	struct ucred cred;
	socklen_t len = sizeof cred;
	bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
	snprintf(who, cap, known ? "uid %u" : "somebody", known ? cred.uid : 0);
}

/* Programs that connect and say nothing must not keep an operator out. */
static void make_room(struct control_server *s)
{
	if (s->count < CLIENTS_MAX)
		return;
	list_each(n, tmp, &s->clients) {
		struct client *c = container_of(n, struct client, node);
		if (c->next || c->out_len > c->out_at || is_holding(c))
			continue; /* it is being answered, or needed */
		client_free(c);
		return;
	}
}

static void on_connection(struct ev_loop *loop, ev_io *w, int revents)
{
	struct control_server *s = w->data;
	(void)revents;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
			return;
		ev_io_stop(loop, w); /* no descriptors left: it would be readable again at once */
		ev_timer_start(loop, &s->pause);
		return;
	}
	make_room(s);
	struct client *c = s->count < CLIENTS_MAX ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		log_remote(&s->limit, LOG_LEVEL_WARN, "control", "more than %d clients at once: turned away", CLIENTS_MAX);
		close(fd);
		return;
	}
	c->server = s;
	c->id = ++s->last_id;
	identify(fd, c->who, sizeof c->who);
	ev_io_init(&c->reader, on_readable, fd, EV_READ);
	ev_io_init(&c->writer, on_writable, fd, EV_WRITE);
	ev_timer_init(&c->idle, on_idle, 0., CLIENT_IDLE_S);
	ev_init(&c->later, on_later);
	c->reader.data = c->writer.data = c->idle.data = c->later.data = c;
	list_append(&s->clients, &c->node);
	s->count++;
	ev_io_start(loop, &c->reader);
	ev_timer_again(loop, &c->idle);
}

/* Whoever is in the group may ask, and may use the commands that act; without the group only root. */
static void give_to_group(const char *path)
{
	struct group *g = getgrnam("underlay");
	if (chmod(path, 0660) < 0 || (g && chown(path, (uid_t)-1, g->gr_gid) < 0))
		log_warn("control", "%s: cannot set its permissions: %s", path, strerror(errno));
}

static int open_socket(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof un.sun_path)
		return -ENAMETOOLONG;
	strcpy(un.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(path); /* the lock on the run directory says that nobody else serves it */
	mode_t old = umask(0117);
	int failed = bind(fd, (struct sockaddr *)&un, sizeof un) < 0 || listen(fd, SOMAXCONN) < 0 ? errno : 0;
	umask(old);
	if (failed) {
		close(fd);
		return -failed;
	}
	give_to_group(path);
	return fd;
}

struct control_server *control_new(struct daemon *d, const char *path)
{
	struct control_server *s = calloc(1, sizeof *s);
	int fd = open_socket(path);
	if (!s || fd < 0) {
		log_error("control", "cannot serve %s: %s", path, strerror(-fd));
		free(s);
		return NULL;
	}
	s->daemon = d;
	s->path = strdup(path);
	list_init(&s->clients);
	ev_io_init(&s->io, on_connection, fd, EV_READ);
	ev_timer_init(&s->pause, on_pause_over, 1., 0.);
	s->io.data = s->pause.data = s;
	ev_io_start(d->loop, &s->io);
	return s;
}

void control_free(struct control_server *s)
{
	if (!s)
		return;
	list_each(n, tmp, &s->clients)
		client_free(container_of(n, struct client, node));
	ev_io_stop(s->daemon->loop, &s->io);
	ev_timer_stop(s->daemon->loop, &s->pause);
	close(s->io.fd);
	unlink(s->path);
	free(s->path);
	free(s);
}
