#include "ipam/lease.h"

#include <string.h>

#include "src/base/cursor.h"
#include "src/base/err.h"

enum { VERSION = 1 };

/* Every text of a lease, in the order of the bytes. */
struct text_field {
	size_t at, size;
};
#define TEXT(f) {offsetof(struct ipam_lease, f), sizeof((struct ipam_lease *)0)->f}
static const struct text_field texts[] = {
	TEXT(network), TEXT(container), TEXT(ifname), TEXT(host_ifname), TEXT(netns), TEXT(pod),
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static void put_le64(struct writer *w, uint64_t v)
{
	for (int i = 0; i < 8; i++, v >>= 8)
		writer_u8(w, (uint8_t)v);
}

static uint64_t get_le64(struct cursor *c)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 64; i += 8)
		v |= (uint64_t)cursor_u8(c) << i;
	return v;
}

size_t ipam_lease_encode(const struct ipam_lease *l, void *buf, size_t cap)
{
	struct writer w = writer_of(buf, cap);
	writer_u8(&w, VERSION);
	writer_u8(&w, (uint8_t)l->addr_count);
	for (unsigned i = 0; i < l->addr_count; i++)
		writer_bytes(&w, l->addrs[i].b, sizeof l->addrs[i].b);
	writer_bytes(&w, l->mac, sizeof l->mac);
	put_le64(&w, (uint64_t)l->since);
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = (const char *)l + texts[i].at;
		size_t n = strnlen(text, texts[i].size - 1);
		writer_u8(&w, (uint8_t)n);
		writer_bytes(&w, text, n);
	}
	return writer_ok(&w) ? writer_len(&w) : 0;
}

static void get_text(struct cursor *c, char *out, size_t size)
{
	size_t n = cursor_u8(c);
	const uint8_t *p = cursor_bytes(c, n);
	if (!p || n >= size || memchr(p, '\0', n)) {
		c->failed = true;
		return;
	}
	memcpy(out, p, n);
}

int ipam_lease_decode(const void *data, size_t len, struct ipam_lease *out)
{
	struct cursor c = cursor_of(data, len);
	memset(out, 0, sizeof *out);
	uint8_t version = cursor_u8(&c);
	if (cursor_ok(&c) && version > VERSION)
		return ERR_UNSUPPORTED;
	out->addr_count = cursor_u8(&c);
	if (version != VERSION || out->addr_count > IPAM_LEASE_ADDRS) {
		out->addr_count = 0;
		return ERR_CORRUPT;
	}
	for (unsigned i = 0; i < out->addr_count; i++) {
		const uint8_t *p = cursor_bytes(&c, sizeof out->addrs[i].b);
		if (p)
			memcpy(out->addrs[i].b, p, sizeof out->addrs[i].b);
	}
	const uint8_t *mac = cursor_bytes(&c, sizeof out->mac);
	if (mac)
		memcpy(out->mac, mac, sizeof out->mac);
	out->since = (int64_t)get_le64(&c);
	for (size_t i = 0; i < TEXTS; i++)
		get_text(&c, (char *)out + texts[i].at, texts[i].size);
	return cursor_ok(&c) && !cursor_left(&c) && out->container[0] ? 0 : ERR_CORRUPT;
}

static size_t put_key_part(char *key, size_t at, const char *text, size_t max)
{
	size_t n = strnlen(text, max - 1);
	memcpy(key + at, text, n);
	key[at + n] = '\0';
	return at + n + 1;
}

size_t ipam_lease_key(char key[IPAM_KEY_MAX], const char *network, const char *container, const char *ifname)
{
	size_t n = put_key_part(key, 0, container, 128);
	n = put_key_part(key, n, ifname, 16);
	return network ? put_key_part(key, n, network, 64) : n;
}
