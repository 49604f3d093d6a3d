/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store whose disk blocks, or fails later: the writer waits for none of it, and nothing is lost
 * unsaid. */
#include "store_world.h"

#include <errno.h>
#include <pthread.h>

#include "base/intmap.h"
#include "event/loss.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/segment_writer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_blocked;
static int n_failing; /* writes from then on that fail */

static void set_disk(bool blocks, int fails)
{
	pthread_mutex_lock(&lock);
	is_blocked = blocks;
	n_failing = fails;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static ssize_t write_at(int fd, const void *bytes, size_t size, off_t at)
{
	bool fails;

	pthread_mutex_lock(&lock);
	while (is_blocked)
		pthread_cond_wait(&changed, &lock);
	fails = n_failing > 0;
	n_failing -= fails;
	pthread_mutex_unlock(&lock);
	if (!fails)
		return pwrite(fd, bytes, size, at);
	errno = ENOSPC;
	return -1;
}

static void open_world(struct world *w)
{
	struct session_info info = test_info;

	world_init(w);
	close_world(w);
	file_remove_tree(w->path, NULL);
	info.writes_behind = true;
	segment_writer_set_pwrite(write_at);
	set_disk(false, 0);
	assert_int_equal(native_store.open(w->path, &info, w->images, &w->strings, &w->store,
					   &w->err),
			 0);
}

/* Adds seconds with different names, places and losses. Returns the number of failed writes. */
static uint32_t add_seconds(struct world *w, uint32_t first, uint32_t n, uint32_t a_second)
{
	uint32_t refused = 0;

	for (uint32_t s = first; s < first + n; s++) {
		for (uint32_t i = 0; i < a_second; i++)
			add(w, (100 + s) * SECOND + i, s * 10 + i % 3, w->lib,
			    hash_u64(s * 100000ULL + i) >> 24);
		native_store.lose(w->store, LOSS_RING_FULL, 0, 1);
		refused += native_store.flush(w->store, (101 + s) * SECOND, &w->err) < 0;
	}
	return refused;
}

/* A flush looks whether the block that is on its way has come to the disk. */
static bool is_ahead(struct world *w, uint32_t second)
{
	native_store.flush(w->store, (100 + second) * SECOND, &w->err);
	return !native_store.is_behind(w->store);
}

static void wait_for_disk(struct world *w, uint32_t second)
{
	wait_until(!native_store.is_behind(w->store) || is_ahead(w, second));
}

struct found {
	uint64_t samples, unwritten, ring_full;
};

static struct found read_back(const struct world *w)
{
	struct found found = { 0 };
	struct session *s;

	assert_int_equal(session_open(w->path, &s, NULL), 0);
	assert_int_equal(s->warnings.n, 0);
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];
			struct count_rows rows = { 0 };

			assert_int_equal(segment_read_rows(s->segments[i], b, &rows, NULL), 0);
			vec_fini(&rows);
			found.samples += block->samples;
			for (uint32_t l = 0; l < block->n_losses; l++) {
				if (block->losses[l].reason == LOSS_DISK_FULL)
					found.unwritten += block->losses[l].n;
				else
					found.ring_full += block->losses[l].n;
			}
		}
	session_close(s);
	return found;
}

static struct found finish(struct world *w)
{
	struct session_end end = { .end_ns = 9000 * SECOND };
	uint64_t n_unwritten;
	struct found found;

	native_store.close(w->store, &end, &n_unwritten, &w->err);
	segment_writer_set_pwrite(NULL);
	found = read_back(w);
	assert_int_equal(n_unwritten, found.unwritten);
	world_fini(w);
	return found;
}

/* It would hang here. */
static void a_disk_that_blocks_is_not_waited_for(void **state)
{
	struct found found;
	struct world w;

	(void)state;
	open_world(&w);
	assert_int_equal(add_seconds(&w, 0, 5, 100), 0);
	wait_for_disk(&w, 5);
	set_disk(true, 0);
	assert_int_equal(add_seconds(&w, 5, 20, 100), 0);
	assert_true(native_store.is_behind(w.store));
	set_disk(false, 0);
	assert_int_equal(add_seconds(&w, 25, 5, 100), 0);
	found = finish(&w);
	assert_int_equal(found.samples, 3000);
	assert_int_equal(found.unwritten, 0);
	assert_int_equal(found.ring_full, 30);
}

static void what_waits_is_bounded_and_the_rest_is_counted(void **state)
{
	uint32_t refused = 0, n = 0;
	struct found found;
	struct world w;

	(void)state;
	open_world(&w);
	add_seconds(&w, 0, 1, 10);
	set_disk(true, 0);
	while (refused < 3 && n < 200)
		refused += add_seconds(&w, ++n, 1, 6000);
	assert_true(refused == 3 && n > 3);
	assert_non_null(strstr(w.err.text, "does not store the earlier data"));
	set_disk(false, 0);
	add_seconds(&w, n + 1, 1, 10);
	found = finish(&w);
	assert_true(found.unwritten >= refused * 6000ULL);
	assert_true(found.samples > 6000);
	assert_int_equal(found.samples + found.unwritten, 20 + n * 6000);
	assert_int_equal(found.ring_full, n + 2);
}

/* What waited is given up with the first that fails; later seconds stand for themselves. */
static void a_failure_that_comes_late_is_counted(void **state)
{
	struct found found;
	struct world w;

	(void)state;
	open_world(&w);
	add_seconds(&w, 0, 3, 100);
	wait_for_disk(&w, 3);
	set_disk(true, 0);
	add_seconds(&w, 3, 4, 100);
	set_disk(false, 1);
	wait_for_disk(&w, 7);
	add_seconds(&w, 1000, 5, 100);
	found = finish(&w);
	assert_int_equal(found.unwritten, 400);
	assert_int_equal(found.samples, 800);
}

static void at_the_end_it_is_waited_for(void **state)
{
	struct found found;
	struct world w;

	(void)state;
	open_world(&w);
	set_disk(true, 0);
	add_seconds(&w, 0, 3, 100);
	set_disk(false, 1);
	found = finish(&w);
	assert_int_equal(found.samples, 0);
	assert_int_equal(found.unwritten, 300);
	assert_int_equal(found.ring_full, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_that_blocks_is_not_waited_for),
		cmocka_unit_test(what_waits_is_bounded_and_the_rest_is_counted),
		cmocka_unit_test(a_failure_that_comes_late_is_counted),
		cmocka_unit_test(at_the_end_it_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
