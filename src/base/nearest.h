/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names nearest to one that is not known: what may have been meant.
 *
 *	struct nearest near;
 *
 *	nearest_begin(&near, word);
 *	... nearest_offer(&near, name, name) for every name there is ...
 *	nearest_end(&near, text, sizeof(text));
 *
 * Without regard to case, with '-' equal to '_'; a third of the letters wrong, at most.
 */
#pragma once

#include <stddef.h>

#define N_NEAREST        3
#define NEAREST_WORD_MAX 96 /* longer names are not compared: nobody mistypes those */

struct nearest {
	char word[NEAREST_WORD_MAX];
	size_t len; /* 0: nothing is near to it */
	struct {
		char *name;
		unsigned int distance;
	} best[N_NEAREST];
};

void nearest_begin(struct nearest *near, const char *word);

/* Offers a name: `name` is compared, and the list contains `show`. */
void nearest_offer(struct nearest *near, const char *name, const char *show);

/* Up to three, nearest first, as "a, b, c"; "" where none is near enough. Frees what it held. */
void nearest_end(struct nearest *near, char *text, size_t size);
