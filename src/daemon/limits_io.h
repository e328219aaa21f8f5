/* How much a peer may bring and be told: what happens when it is more. Too many is a mistake on one of the two sides, and
 * better noticed than swallowed; nobody ever gets an arbitrary part of what is meant for him. RFC 4486 section 4.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct peer;

enum limits_action { LIMITS_RESTART, LIMITS_WARN, LIMITS_STOP };
const char *limits_action_name(enum limits_action a);

/* A part of struct peer. */
struct limits {
	uint32_t received, advertised; /* prefixes; 0: any number */
	enum limits_action action;     /* on one more than received */
	bool near, above;              /* said in the log: four fifths of received, more than it */
	bool stopped;                  /* the peer is down because of them, until they change or somebody starts it */
};

/* A session begins: nothing was said of it yet. */
void limits_clear(struct limits *l);
/* After an UPDATE. False: it was one too many, and the session is over. */
bool limits_received(struct peer *p);
/* Ends the sessions of those who were told too much. Cheap where nobody was. */
void limits_advertised(struct daemon *d);
/* What there is to say about an Established peer; "": nothing. */
const char *limits_note(const struct peer *p);
