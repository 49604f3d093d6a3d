/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/rows_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "store/row_reader.h"

/* Fewer rows are decoded in less time than a thread is worth. */
#define ROWS_TO_BOTHER 100000
#define DEPTH          4 /* blocks that are decoded and not looked at yet */

struct rows_ahead {
	struct row_block *blocks;
	size_t n, n_made, n_taken; /* under the lock, as is_stopped */
	bool is_stopped;
	struct {
		struct count_rows rows;
		int code;
	} slots[DEPTH];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t made, taken;
};

/* Whether there is a block to decode, and room for it. */
static bool rows_ahead_wait_for_room(struct rows_ahead *a)
{
	bool goes_on;

	pthread_mutex_lock(&a->lock);
	while (!a->is_stopped && a->n_made - a->n_taken == DEPTH)
		pthread_cond_wait(&a->taken, &a->lock);
	goes_on = !a->is_stopped && a->n_made < a->n;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void *rows_ahead_decode(void *arg)
{
	struct rows_ahead *a = arg;

	while (rows_ahead_wait_for_room(a)) {
		/* n_made is changed by this thread alone, and its slot is nobody else's. */
		const struct row_block *b = &a->blocks[a->n_made];
		struct count_rows *rows = &a->slots[a->n_made % DEPTH].rows;

		rows->n = 0;
		a->slots[a->n_made % DEPTH].code =
			segment_read_rows(b->segment, b->block, rows, NULL);
		pthread_mutex_lock(&a->lock);
		a->n_made++;
		pthread_cond_signal(&a->made);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static bool rows_ahead_is_worth_it(const struct row_block *blocks, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += blocks[i].segment->blocks[blocks[i].block].n_rows;
	return n > 1 && sum >= ROWS_TO_BOTHER && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

struct rows_ahead *rows_ahead_start(const struct row_block *blocks, size_t n)
{
	struct rows_ahead *a;

	if (!rows_ahead_is_worth_it(blocks, n))
		return NULL;
	a = xcalloc(1, sizeof(*a));
	a->blocks = xcalloc(n, sizeof(*a->blocks));
	memcpy(a->blocks, blocks, n * sizeof(*blocks));
	a->n = n;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->made, NULL);
	pthread_cond_init(&a->taken, NULL);
	if (thread_start(&a->thread, rows_ahead_decode, a))
		return a;
	free(a->blocks);
	free(a);
	return NULL;
}

int rows_ahead_next(struct rows_ahead *a, struct count_rows *rows)
{
	size_t slot = a->n_taken % DEPTH;
	struct count_rows old = *rows;
	int code;

	pthread_mutex_lock(&a->lock);
	while (a->n_made == a->n_taken)
		pthread_cond_wait(&a->made, &a->lock);
	*rows = a->slots[slot].rows;
	code = a->slots[slot].code;
	a->slots[slot].rows = old; /* its memory serves for another block */
	a->n_taken++;
	pthread_cond_signal(&a->taken);
	pthread_mutex_unlock(&a->lock);
	return code;
}

void rows_ahead_stop(struct rows_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->is_stopped = true;
	pthread_cond_signal(&a->taken);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	for (size_t i = 0; i < DEPTH; i++)
		vec_fini(&a->slots[i].rows);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->made);
	pthread_cond_destroy(&a->taken);
	free(a->blocks);
	free(a);
}
