#include "src/cni/names.h"

#include <stdio.h>
#include <string.h>

static const char alias_start[] = "underlay ";

static uint64_t fnv1a(uint64_t h, const char *text)
{
	/* with its NUL, so that "a", "bc" differs from "ab", "c" */
	size_t n = strlen(text) + 1;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* FNV-1a, then a mix, because its high bits alone are weak. */
static uint64_t name_hash(const char *purpose, const char *container, const char *ifname, unsigned number)
{
	uint64_t h = fnv1a(UINT64_C(0xcbf29ce484222325), purpose);
	h = fnv1a(fnv1a(h, container), ifname) + number;
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

void cni_host_ifname(const char *container, const char *ifname, unsigned number, char out[CNI_NAME_MAX])
{
	uint64_t h = name_hash("host", container, ifname, number);
	snprintf(out, CNI_NAME_MAX, "ul%011llx", (unsigned long long)(h >> 20));
}

void cni_mac(const char *container, const char *ifname, enum cni_end end, uint8_t out[CNI_MAC_LEN])
{
	uint64_t h = name_hash(end == CNI_HOST_END ? "host-mac" : "pod-mac", container, ifname, 0);
	for (int i = 0; i < CNI_MAC_LEN; i++, h >>= 8)
		out[i] = (uint8_t)h;
	out[0] = (uint8_t)((out[0] & 0xfc) | 0x02);
}

bool cni_mac_parse(const char *text, uint8_t out[CNI_MAC_LEN])
{
	unsigned m[CNI_MAC_LEN];
	int end = 0;
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5], &end) != CNI_MAC_LEN ||
	    text[end])
		return false;
	for (int i = 0; i < CNI_MAC_LEN; i++)
		out[i] = (uint8_t)m[i];
	return true;
}

void cni_mac_format(const uint8_t m[CNI_MAC_LEN], char out[18])
{
	snprintf(out, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

void cni_alias(const char *network, const char *container, const char *ifname, char out[CNI_ALIAS_MAX])
{
	snprintf(out, CNI_ALIAS_MAX, "%s%s/%s/%s", alias_start, network, container, ifname);
}

/* Up to the end character, which is passed; NULL where it is not there or the part is empty or too long. */
static const char *take_part(const char *text, char end, char *out, size_t size)
{
	const char *stop = strchr(text, end);
	if (!stop || stop == text || (size_t)(stop - text) >= size)
		return NULL;
	memcpy(out, text, (size_t)(stop - text));
	out[stop - text] = '\0';
	return stop + 1;
}

bool cni_alias_parse(const char *alias, char network[64], char container[128], char ifname[CNI_NAME_MAX])
{
	if (strncmp(alias, alias_start, strlen(alias_start)) != 0)
		return false;
	const char *at = take_part(alias + strlen(alias_start), '/', network, 64);
	if (at)
		at = take_part(at, '/', container, 128);
	return at && !strchr(at, '/') && take_part(at, '\0', ifname, CNI_NAME_MAX);
}

bool cni_alias_matches(const char *alias, const char *container, const char *ifname)
{
	size_t start = strlen(alias_start), n = strlen(container);
	if (strncmp(alias, alias_start, start) != 0)
		return false;
	const char *slash = strchr(alias + start, '/'); /* no part has a slash in it */
	return slash && strncmp(slash + 1, container, n) == 0 && slash[1 + n] == '/' &&
	       strcmp(slash + 2 + n, ifname) == 0;
}
