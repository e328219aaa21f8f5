/* The BGP port: accepts connections, hands each to the peer with that address, turns others away. Peers that name a device
 * have a listening socket for it, which only takes what comes over it. A port that is
 * taken is reported with the program that holds it and tried again until it is free; sessions that we open
 * work meanwhile.
 */
#pragma once
#include <stdbool.h>

struct daemon;
struct listener;
struct peer;
struct range;

enum { LISTEN_PORT = 179, LISTEN_RETRY_S = 5 };

struct listener *listener_new(struct daemon *d);
void listener_free(struct listener *l); /* NULL is fine */
/* Peers came, or their transport options: brings the socket in line with them. */
void listener_update(struct listener *l);
/* Doors that are shut are tried again, and so are those of a device that went, or was made anew under its name. It does so by
 * itself every few seconds. */
void listener_devices_changed(struct listener *l);
/* A peer or a range goes: its password is taken off the socket. */
void listener_forget(struct listener *l, struct peer *p);
void listener_forget_range(struct listener *l, struct range *r);
/* "port 179", "port 179; port 179 on eth1", or what is wrong. Valid until the next call. */
const char *listener_text(struct listener *l);
bool listener_failed(const struct listener *l);
