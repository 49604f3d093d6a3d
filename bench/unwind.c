/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the cost of unwinding: building tables, and walking the stacks of a real program. If
 * libunwind was there at build time, its remote unwinder takes turns with ours. Both get the same
 * registers and stack bytes.
 *
 *	unwind build IMAGE…		milliseconds, rows/s, bytes a row
 *	unwind walk SAMPLES COMMAND…	samples COMMAND under ptrace, then walks
 *
 * It prints lines of "WHAT NAME VALUE UNIT".
 */
#include <time.h>

#include "unwind_world.h"

#include "base/error.h"

#define STACK_SIZE (32 << 10)
#define MAX_FRAMES 512
#define ROUNDS     5

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- building ---- */

static int measure_build(const char *path)
{
	struct error err = { 0 };
	struct file_mapping file;
	struct elf_file elf;
	double best = 1e18;

	if (file_map(path, &file, &err) < 0 ||
	    elf_file_open(&elf, file.base, file.size, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		struct unwind_header *block;
		double start = now_ns();

		if (unwind_build(&elf, NULL, &block, &err) < 0) {
			fprintf(stderr, "%s: %s\n", path, err.text);
			return 1;
		}
		best = MIN(best, now_ns() - start);
		if (round == ROUNDS - 1)
			printf("%s rows %u\n%s rules %u\n%s unsupported %u\n%s size %.2f "
			       "bytes/row\n"
			       "%s build %.2f ms\n%s speed %.1f Mrows/s\n",
			       path, block->n_rows, path, block->n_rules, path,
			       block->n_unsupported, path, (double)block->size / block->n_rows,
			       path, best / 1e6, path, block->n_rows / best * 1e3);
		free(block);
	}
	file_unmap(&file);
	return 0;
}

/* ---- samples ---- */

struct corpus {
	struct world world;
	VEC(struct world_sample) samples;
};

static bool collect(struct corpus *c, size_t n, char **argv)
{
	pid_t pid = world_start(argv);

	if (pid < 0 || !world_run(pid, 20000))
		return false;
	while (c->samples.n < n) {
		struct world_sample sample;

		world_look(&c->world, pid);
		if (world_sample(pid, STACK_SIZE, &sample))
			vec_push(&c->samples, sample);
		if (!world_run(pid, 1000))
			break;
	}
	world_end(pid);
	return c->samples.n > 0;
}

struct result {
	size_t frames, stops[N_UNWIND_STOPS];
	double ns;
	uint64_t sum; /* of all addresses: whether both found the same */
};

static struct result walk_all(struct corpus *c, uint64_t space)
{
	struct unwinder *u = unwinder_new();
	struct result result = { 0 };
	uint64_t pcs[MAX_FRAMES];
	double start = 0;

	/* The first pass fills caches. */
	for (int pass = 0; pass < 21; pass++) {
		if (pass == 1)
			start = now_ns();
		vec_foreach (&c->samples, sample) {
			struct unwind_chain chain = { .pcs = pcs, .max = MAX_FRAMES };
			struct unwind_input in = world_input(&c->world, sample);

			in.space = space;
			unwind_walk(u, &in, &chain);
			if (pass == 0) {
				result.stops[chain.stop]++;
				for (size_t i = 0; i < chain.n; i++)
					result.sum += pcs[i];
			} else {
				result.frames += chain.n;
			}
		}
	}
	result.ns = now_ns() - start;
	unwinder_free(u);
	return result;
}

/* ---- libunwind ---- */

#if HAVE_LIBUNWIND
#include <libunwind.h>

/* libunwind exports it for remote unwinders, under this name, in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
				       unw_proc_info_t *, int, void *);

/* A segment of an image where it is mapped. */
struct mapped {
	uint64_t start, size;
	const uint8_t *bytes;
};

struct remote {
	struct corpus *corpus;
	const struct world_sample *sample;
	VEC(struct mapped) mapped;
	size_t last; /* found */
};

/* What an image's addresses are in the process more than in the file. */
static uint64_t bias_of(const struct world_map *map, const struct elf_file *elf)
{
	struct elf_segment code;

	for (uint32_t i = 0; elf_segment(elf, i, &code); i++)
		if (code.type == PT_LOAD && (code.flags & PF_X) &&
		    (code.file_off & ~4095ull) == map->file_off)
			return map->start - (code.link_addr & ~4095ull);
	return 0;
}

static void map_images(struct remote *remote)
{
	const struct world *w = &remote->corpus->world;
	struct elf_segment s;

	vec_foreach (&w->maps, map) {
		const struct elf_file *elf =
			map->image < 0 ? NULL : &w->images.data[map->image].elf;

		for (uint32_t i = 0; elf && elf_segment(elf, i, &s); i++)
			if (s.type == PT_LOAD && s.file_off + s.file_size <= elf->size)
				vec_push(&remote->mapped,
					 (struct mapped){ bias_of(map, elf) + s.link_addr,
							  s.file_size, elf->base + s.file_off });
	}
}

static const uint8_t *image_bytes(struct remote *remote, uint64_t addr, size_t size)
{
	const struct mapped *m = &remote->mapped.data[remote->last];

	for (size_t i = 0; addr - m->start >= m->size || m->size - (addr - m->start) < size; i++) {
		if (i == remote->mapped.n)
			return NULL;
		m = &remote->mapped.data[i];
		remote->last = i;
	}
	return m->bytes + (addr - m->start);
}

static int access_memory(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write,
			 void *arg)
{
	struct remote *remote = arg;
	uint64_t at = addr - remote->sample->sp;
	const uint8_t *bytes = remote->sample->stack + at;

	(void)as;
	if (at >= remote->sample->stack_size || remote->sample->stack_size - at < 8)
		bytes = image_bytes(remote, addr, 8);
	if (write || !bytes)
		return -UNW_EINVAL;
	memcpy(value, bytes, 8);
	return 0;
}

static int access_register(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
			   void *arg)
{
	struct remote *remote = arg;

	(void)as;
	if (write || reg < 0 || reg > 16)
		return -UNW_EINVAL;
	*value = remote->sample->dwarf[reg];
	return 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need,
			  void *arg)
{
	struct remote *remote = arg;
	const struct world_map *map = world_map_at(&remote->corpus->world, ip);
	const struct world_image *image;
	struct elf_segment header = { 0 };
	unw_dyn_info_t di = { 0 };
	struct reader r;
	uint64_t bias;

	if (!map || map->image < 0)
		return -UNW_ENOINFO;
	image = &remote->corpus->world.images.data[map->image];
	for (uint32_t i = 0; elf_segment(&image->elf, i, &header); i++)
		if (header.type == PT_GNU_EH_FRAME)
			break;
	bias = bias_of(map, &image->elf);
	r = elf_bytes_at(&image->elf, header.link_addr);
	reader_u64(&r); /* version, encodings, .eh_frame */
	di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di.start_ip = map->start;
	di.end_ip = map->end;
	di.u.rti.segbase = bias + header.link_addr;
	di.u.rti.table_len = reader_u32(&r); /* 8 bytes an entry, as a word has */
	di.u.rti.table_data = di.u.rti.segbase + 12;
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, info, need, arg);
}

static void put_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	(void)as, (void)info, (void)arg;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as, (void)addr, (void)arg;
	return -UNW_ENOINFO;
}

static int no_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
{
	(void)as, (void)reg, (void)value, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t addr, char *name, size_t size, unw_word_t *off,
		   void *arg)
{
	(void)as, (void)addr, (void)name, (void)size, (void)off, (void)arg;
	return -UNW_EINVAL;
}

static struct result walk_all_libunwind(struct corpus *c)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_info,
		.get_dyn_info_list_addr = no_dyn_info,
		.access_mem = access_memory,
		.access_reg = access_register,
		.access_fpreg = no_fpreg,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	unw_addr_space_t as = unw_create_addr_space(&accessors, 0);
	struct remote remote = { .corpus = c };
	struct result result = { 0 };
	double start = 0;

	map_images(&remote);
	/* Its best: rules are remembered, in a cache that holds all of them. */
	unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	unw_set_cache_size(as, 1 << 14, 0);
	for (int pass = 0; pass < 3; pass++) {
		if (pass == 1)
			start = now_ns();
		vec_foreach (&c->samples, sample) {
			unw_cursor_t cursor;
			unw_word_t pc;
			size_t n = 0;

			remote.sample = sample;
			if (unw_init_remote(&cursor, as, &remote) < 0)
				continue;
			do {
				unw_get_reg(&cursor, UNW_REG_IP, &pc);
				result.sum += pass == 0 ? pc : 0;
				n++;
			} while (n < MAX_FRAMES && unw_step(&cursor) > 0);
			result.frames += pass > 0 ? n : 0;
		}
	}
	result.ns = now_ns() - start;
	unw_destroy_addr_space(as);
	vec_fini(&remote.mapped);
	return result;
}
#endif

/* ---- the comparison ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_spread(const char *what, const char *name, double *values, const char *unit)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	printf("%s %s %.2f %s\n%s %s-low %.2f %s\n%s %s-high %.2f %s\n", what, name,
	       values[ROUNDS / 2], unit, what, name, values[0], unit, what, name,
	       values[ROUNDS - 1], unit);
}

static int measure_walk(size_t n, char **argv)
{
	double warm[ROUNDS], forgetful[ROUNDS];
	struct corpus c = { 0 };
	struct result r = { 0 };

	if (!collect(&c, n, argv)) {
		fprintf(stderr, "%s can't be sampled under ptrace\n", argv[0]);
		return 1;
	}
#if HAVE_LIBUNWIND
	double theirs[ROUNDS], ratio[ROUNDS];
	struct result other = { 0 };
#endif
	for (int round = 0; round < ROUNDS; round++) {
		r = walk_all(&c, 0);
		forgetful[round] = (double)r.frames / r.ns * 1e3;
		r = walk_all(&c, 1);
		warm[round] = (double)r.frames / r.ns * 1e3;
#if HAVE_LIBUNWIND
		other = walk_all_libunwind(&c);
		theirs[round] = (double)other.frames / other.ns * 1e3;
		ratio[round] = warm[round] / theirs[round];
#endif
	}
	printf("%s samples %zu\n%s frames %.1f a-sample\n", argv[0], c.samples.n, argv[0],
	       (double)r.frames / 20 / (double)c.samples.n);
	for (int i = 0; i < N_UNWIND_STOPS; i++)
		if (r.stops[i])
			printf("%s ended-%s %zu\n", argv[0], unwind_stop_keys[i], r.stops[i]);
	print_spread(argv[0], "walk", warm, "Mframes/s");
	print_spread(argv[0], "walk-nothing-remembered", forgetful, "Mframes/s");
#if HAVE_LIBUNWIND
	print_spread(argv[0], "libunwind", theirs, "Mframes/s");
	print_spread(argv[0], "ratio", ratio, "times");
	printf("%s libunwind-frames %.1f a-sample\n%s same-addresses %s -\n", argv[0],
	       (double)other.frames / 2 / (double)c.samples.n, argv[0],
	       other.sum == r.sum ? "yes" : "no");
#endif
	vec_foreach (&c.samples, sample)
		free(sample->stack);
	vec_fini(&c.samples);
	world_fini(&c.world);
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	if (argc >= 3 && !strcmp(argv[1], "build")) {
		for (int i = 2; i < argc; i++)
			r |= measure_build(argv[i]);
		return r;
	}
	if (argc >= 4 && !strcmp(argv[1], "walk") && atoi(argv[2]) > 0)
		return measure_walk((size_t)atoi(argv[2]), argv + 3);
	fprintf(stderr, "Usage: %s build IMAGE… | walk SAMPLES COMMAND…\n", argv[0]);
	return 2;
}
