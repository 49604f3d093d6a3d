/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds to one sample file of OProfile's format. It measures our hash store, and a plain chained
 * table of the same format, which is mapped and takes an add at a time.
 *
 *   sample_file DIR [KEYS [ADDS]]
 *
 * It prints "store M/s" and "plain M/s" of CPU time. The keys are addresses of code, in a fixed
 * random order. The table has all keys before the clock starts.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "oprofile/store/sample_file.h"

#define HEADER_BYTES 104 /* header and descriptor */
#define N_PICKS      (1U << 18)

/* ---- the plain table ---- */

struct plain_node {
	uint64_t key;
	uint32_t value, next;
};

struct plain {
	int fd;
	uint8_t *map;
	uint32_t size, used;
};

static size_t plain_bytes(uint32_t size)
{
	return HEADER_BYTES + (size_t)size * (sizeof(struct plain_node) + sizeof(uint32_t));
}

static struct plain_node *plain_nodes(const struct plain *p)
{
	return (struct plain_node *)(void *)(p->map + HEADER_BYTES);
}

static uint32_t *plain_hash(const struct plain *p)
{
	return (uint32_t *)(void *)(plain_nodes(p) + p->size);
}

static uint32_t plain_bucket(const struct plain *p, uint64_t key)
{
	uint32_t t = (uint32_t)((key >> 32) ^ key);

	return (t ^ (t >> 8)) & (p->size - 1);
}

static void plain_link(struct plain *p, uint32_t n)
{
	uint32_t *bucket = &plain_hash(p)[plain_bucket(p, plain_nodes(p)[n].key)];

	plain_nodes(p)[n].next = *bucket;
	*bucket = n;
}

static void plain_map(struct plain *p, uint32_t size)
{
	if (p->map)
		munmap(p->map, plain_bytes(p->size));
	p->size = size;
	if (ftruncate(p->fd, (off_t)plain_bytes(size)) < 0)
		exit(1);
	p->map = mmap(NULL, plain_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->map == MAP_FAILED)
		exit(1);
}

static void plain_grow(struct plain *p)
{
	plain_map(p, p->size * 2);
	memset(plain_hash(p), 0, p->size * sizeof(uint32_t));
	for (uint32_t n = 1; n < p->used; n++)
		plain_link(p, n);
}

__attribute__((noinline)) static void plain_add(struct plain *p, uint64_t key, uint32_t count)
{
	for (uint32_t n = plain_hash(p)[plain_bucket(p, key)]; n; n = plain_nodes(p)[n].next)
		if (plain_nodes(p)[n].key == key) {
			plain_nodes(p)[n].value += count;
			return;
		}
	if (p->used >= p->size)
		plain_grow(p);
	plain_nodes(p)[p->used] = (struct plain_node){ .key = key, .value = count };
	plain_link(p, p->used++);
}

/* ---- the measure ---- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Addresses of instructions: some bytes apart, in runs as code has them. */
static void make_keys(uint64_t *keys, uint32_t n)
{
	uint64_t state = 1, at = 0x1000;

	for (uint32_t i = 0; i < n; i++) {
		at += 1 + next_random(&state) % 8;
		if (next_random(&state) % 64 == 0)
			at += next_random(&state) % 4096;
		keys[i] = at;
	}
}

static double measure_store(const char *dir, const uint64_t *keys, uint32_t n_keys,
			    const uint32_t *picks, uint64_t n)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/store", dir);
	const struct sample_file_header header = { .count = 100000 };
	struct sample_file *f = NULL;
	struct error err = { 0 };
	uint64_t n_unwritten = 0;
	double start;

	if (sample_file_open(path, &header, &f, &err) < 0)
		exit(1);
	for (uint32_t i = 0; i < n_keys; i++)
		sample_file_add(f, keys[i], 1, &n_unwritten, &err);
	start = cpu_seconds();
	for (uint64_t i = 0; i < n; i++)
		sample_file_add(f, picks[i % N_PICKS], 1, &n_unwritten, &err);
	sample_file_flush(f, &n_unwritten, &err);
	start = cpu_seconds() - start;
	sample_file_close(f);
	unlink(path);
	return (double)n / start / 1e6;
}

static double measure_plain(const char *dir, const uint64_t *keys, uint32_t n_keys,
			    const uint32_t *picks, uint64_t n)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/plain", dir);
	struct plain p = { .fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
			   .used = 1 };
	double start;

	plain_map(&p, SAMPLE_FILE_MIN_SLOTS);
	for (uint32_t i = 0; i < n_keys; i++)
		plain_add(&p, keys[i], 1);
	start = cpu_seconds();
	for (uint64_t i = 0; i < n; i++)
		plain_add(&p, picks[i % N_PICKS], 1);
	start = cpu_seconds() - start;
	munmap(p.map, plain_bytes(p.size));
	close(p.fd);
	unlink(path);
	return (double)n / start / 1e6;
}

int main(int argc, char **argv)
{
	uint32_t n_keys = argc > 2 ? (uint32_t)atoi(argv[2]) : 100000;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000000, state = 2;
	uint64_t *keys = xcalloc(n_keys + 1, sizeof(*keys));
	uint32_t *picks = xcalloc(N_PICKS, sizeof(*picks));

	if (argc < 2 || !n_keys) {
		fprintf(stderr, "usage: sample_file DIR [KEYS [ADDS]]\n");
		return 2;
	}
	make_keys(keys, n_keys);
	for (uint32_t i = 0; i < N_PICKS; i++)
		picks[i] = (uint32_t)keys[next_random(&state) % n_keys];
	printf("plain %.1f\n", measure_plain(argv[1], keys, n_keys, picks, n));
	printf("store %.1f\n", measure_store(argv[1], keys, n_keys, picks, n));
	free(keys);
	free(picks);
	return 0;
}
