/* An intrusive doubly linked list with a head that is itself a node (empty: points to itself).
 * A node that is on no list has next == NULL after list_init_node() or list_remove().
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline void list_init_node(struct list *n)
{
	n->next = n->prev = NULL;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool list_linked(const struct list *n)
{
	return n->next != NULL;
}

static inline void list_append(struct list *head, struct list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/* All of from comes before all of head; from is empty then. */
static inline void list_prepend_all(struct list *head, struct list *from)
{
	if (list_empty(from))
		return;
	from->prev->next = head->next;
	head->next->prev = from->prev;
	head->next = from->next;
	from->next->prev = head;
	list_init(from);
}

static inline void list_remove(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init_node(n);
}

/* Safe against removal of the current node. */
#define list_each(n, tmp, head) \
	for (struct list *n = (head)->next, *tmp = n->next; n != (head); n = tmp, tmp = n->next)
