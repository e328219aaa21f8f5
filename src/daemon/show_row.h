/* Small things that every producer of rows needs. */
#pragma once
#include <json-c/json.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "rib/table.h"
#include "src/daemon/control_io.h"
#include "src/daemon/peer_io.h"

/* text may be NULL */
static inline void put(struct json_object *row, const char *key, const char *text)
{
	json_object_object_add(row, key, text ? json_object_new_string(text) : NULL);
}

static inline void put_number(struct json_object *row, const char *key, uint64_t n)
{
	json_object_object_add(row, key, json_object_new_int64((int64_t)n));
}

static inline struct json_object *put_list(struct json_object *row, const char *key)
{
	struct json_object *a = json_object_new_array();
	json_object_object_add(row, key, a);
	return a;
}

/* "2026-11-29T12:00:00Z" */
static inline const char *unix_text(int64_t unix_s, char *buf, size_t cap)
{
	time_t t = (time_t)unix_s;
	struct tm tm;
	strftime(buf, cap, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	return buf;
}

/* fmt takes one word. */
static inline struct json_object *fail(struct show *s, const char *hint, const char *fmt, const char *word)
{
	snprintf(s->error_text, sizeof s->error_text, fmt, word);
	s->error = s->error_text;
	s->hint = hint;
	return NULL;
}

enum { HOP_TEXT_MAX = ADDR_TEXT_MAX + IF_NAMESIZE };

/* A next hop; a link-local one with its interface, since it may be on every link. */
static inline const char *hop_text(const struct addr *a, uint32_t ifindex, char buf[HOP_TEXT_MAX])
{
	char address[ADDR_TEXT_MAX], interface[IF_NAMESIZE];
	bool on_link = addr_is_link_local(a) && !addr_is_v4(a) && if_indextoname(ifindex, interface);
	snprintf(buf, HOP_TEXT_MAX, "%s%s%s", addr_format(a, address), on_link ? "%" : "", on_link ? interface : "");
	return buf;
}

/* Where the path leads, for people. */
static inline const char *path_hop_text(const struct rib_path *p, char buf[HOP_TEXT_MAX])
{
	const struct addr next_hop = bgp_attrs_next_hop(rib_path_attrs(p));
	if (!addr_is_zero(&next_hop))
		return hop_text(&next_hop, rib_path_source(p)->ifindex, buf);
	return rib_path_source(p)->kind == RIB_SOURCE_EXTERNAL ? "self" : "blackhole";
}

static inline const char *source_name(const struct rib_path *p)
{
	const struct peer *peer = rib_path_source(p)->owner;
	switch (rib_path_source(p)->kind) {
	case RIB_SOURCE_LOCAL:
		return "local";
	case RIB_SOURCE_EXTERNAL:
		return "external";
	case RIB_SOURCE_BGP:
		break;
	}
	return peer ? peer->name : "(gone)";
}

/* "45s", "3m20s", "5h12m", "12d4h" */
static inline const char *duration(int64_t ms, char *buf, size_t cap)
{
	long long s = ms > 0 ? ms / 1000 : 0;
	if (s < 60)
		snprintf(buf, cap, "%llds", s);
	else if (s < 3600)
		snprintf(buf, cap, "%lldm%llds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, cap, "%lldh%lldm", s / 3600, s / 60 % 60);
	else
		snprintf(buf, cap, "%lldd%lldh", s / 86400, s / 3600 % 24);
	return buf;
}
