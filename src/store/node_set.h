/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of nodes of a segment, by their numbers in its file, and their new numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node_set;

/* An empty set of numbers below n. */
struct node_set *node_set_new(uint32_t n);
void node_set_free(struct node_set *set); /* NULL is fine */

void node_set_add(struct node_set *set, uint32_t node);
bool node_set_has(const struct node_set *set, uint32_t node);

/* Whether a node of [first, first + n) is in it. */
bool node_set_has_any(const struct node_set *set, uint32_t first, uint32_t n);

/* To be called when all members are there. Returns their number. */
uint32_t node_set_complete(struct node_set *set);

/* The new number of a member: the number of members below it. The set is complete. */
uint32_t node_set_rank(const struct node_set *set, uint32_t node);
