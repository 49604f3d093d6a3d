/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a session that is always the same, for tests and benchmarks of readers:
 *
 * 	make_session DIR plain|hostile|file|lossy|many SAMPLES [SECONDS [DEPTH]]
 * 	make_session DIR at FILE [EVENTS]
 *
 * All code is in images without files, whose names are in the session. With `lossy` there are
 * losses. With `hostile`, names of functions, threads, programs and events contain everything that
 * breaks careless formats. With `file`, all samples are in this program's main(). With `many`, each
 * sample has its own function and its own thread name: `function.N` and `task.N`, N from 0.
 *
 * With `at`, the samples are in the ELF file FILE. Each line of standard input has a number of
 * samples, the event (0: cpu-clock; 1: page-faults, with EVENTS 2), the address in hexadecimal, and
 * the addresses of its callers, if any. Addresses are those of nm.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "store/native.h"
#include "store/store.h"

#define SECOND      1000000000ULL
#define N_COUNTERS  2
#define N_IMAGES    3
#define N_FUNCTIONS 64
#define N_THREADS   8
#define CODE_STEP   0x100
#define MAX_DEPTH   128

static const char *const plain_functions[] = { "parse", "render(int, char const*)",
					       "std::sort<int>", "hash", "main" };
static const char *const hostile_functions[] = {
	"quote\"back\\slash",      "</script><script>alert(1)</script>",
	"line\nfeed\r\ttab",       "bad\xff\xfeutf8\xc3",
	"semi;colon;0 17",         "comma,'apostrophe'",
	"control\x01\x1b[31m\x7f", "\xe2\x80\xa8separator\xf0\x9f\x94\xa5",
	" space at both ends ",    "$(touch pwned)`id`%s%n",
};

struct kind {
	const char *name;
	const char *const *functions;
	size_t n_functions;
	bool is_file, has_many_values;
	const char *comms[2], *apps[2], *images[N_IMAGES], *events[N_COUNTERS];
	uint64_t n_lost; /* samples, each time that a block is written */
};

static const struct kind kinds[] = {
	{ "plain",
	  plain_functions,
	  ARRAY_SIZE(plain_functions),
	  false,
	  false,
	  { "worker", "main" },
	  { "/usr/bin/server", "/usr/bin/client" },
	  { "engine", "plugin", "bpf_prog" },
	  { "cpu-clock", "page-faults" } },
	{ "file",
	  plain_functions,
	  ARRAY_SIZE(plain_functions),
	  true,
	  false,
	  { "worker", "main" },
	  { "/usr/bin/server", "/usr/bin/client" },
	  { "engine", "plugin", "bpf_prog" },
	  { "cpu-clock", "page-faults" } },
	{ "at",
	  plain_functions,
	  ARRAY_SIZE(plain_functions),
	  false,
	  false,
	  { "worker", "main" },
	  { "/usr/bin/server", "/usr/bin/client" },
	  { "engine", "plugin", "bpf_prog" },
	  { "cpu-clock", "page-faults" } },
	{ "lossy",
	  plain_functions,
	  ARRAY_SIZE(plain_functions),
	  false,
	  false,
	  { "worker", "main" },
	  { "/usr/bin/server", "/usr/bin/client" },
	  { "engine", "plugin", "bpf_prog" },
	  { "cpu-clock", "page-faults" },
	  7 },
	{ "many",
	  plain_functions,
	  ARRAY_SIZE(plain_functions),
	  false,
	  true,
	  { "worker", "main" },
	  { "/usr/bin/server", "/usr/bin/client" },
	  { "engine", "plugin", "bpf_prog" },
	  { "cpu-clock", "page-faults" } },
	{ "hostile",
	  hostile_functions,
	  ARRAY_SIZE(hostile_functions),
	  false,
	  false,
	  { "a\"b;c\nd\te", "</script>\xff" },
	  { "/tmp/a \"b\"\n</script>\xfe", "/tmp/it's,here" },
	  { "jit\"</script>\n\xff", "two\t\\words", "bpf,;prog" },
	  { "cpu\"clock\n;", "faults</script>\xff" } },
};

struct maker {
	const struct kind *kind;
	struct image_table *images;
	struct strings strings;
	image_id code[N_IMAGES], apps[2];
	struct store *store;
	uint64_t random, n_own; /* n_own: functions and names of threads of `many` */
	uint32_t n_counters;
	struct code_addr main; /* of `file` */
};

int main(int argc, char **argv);

static uint32_t next_random(struct maker *m, uint32_t below)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(m->random >> 33) % below;
}

static void open_store(struct maker *m, const char *dir)
{
	static struct counter_info counters[N_COUNTERS] = {
		{ .spec = "a", .unit = "ns", .freq_hz = 1000, .in_user = true, .in_kernel = true },
		{ .spec = "b", .unit = "events", .count = 10, .in_user = true },
	};
	const struct session_info info = {
		.version = "0.1.0",
		.command = m->kind->apps[0],
		.target = "command",
		.hostname = "host",
		.os_release = "Linux 6.1.0",
		.arch = "x86_64",
		.cpu_model = "a processor",
		.collector = "perf rings",
		.stacks = "frame pointers",
		.note = "",
		.n_cpus = 4,
		.start_wall_ns = 1700000000 * SECOND,
		.start_ns = 100 * SECOND,
		.counters = counters,
		.n_counters = m->n_counters,
	};
	struct error err;

	for (uint32_t i = 0; i < N_COUNTERS; i++)
		counters[i].name = m->kind->events[i];
	if (native_store.open(dir, &info, m->images, &m->strings, &m->store, &err) < 0) {
		fprintf(stderr, "make_session: %s\n", err.text);
		exit(1);
	}
}

/* In each image functions of half a step, so that some samples have no name. */
static void name_code(struct maker *m)
{
	const struct kind *k = m->kind;
	char name[256];

	for (uint32_t i = 0; i < N_IMAGES; i++)
		for (uint32_t f = 0; f < N_FUNCTIONS; f++) {
			size_t base = f % k->n_functions, round = f / k->n_functions;

			snprintf(name, sizeof(name), round || i ? "%s.%" PRIu32 ".%zu" : "%s",
				 k->functions[base], i, round);
			native_store.name_code(m->store,
					       &(struct code_symbol){ .image = m->code[i],
								      .offset = (f + 1) * CODE_STEP,
								      .size = CODE_STEP / 2,
								      .name = name });
		}
}

/* The file and the offset in it that main() has: both are in /proc/self/maps. */
static void find_main(struct maker *m)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset, inode;
	char line[4500], path[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %lu %4095[^\n]", &start, &end, &offset,
			   &inode, path) != 5)
			continue;
		if ((unsigned long)main < start || (unsigned long)main >= end)
			continue;
		m->main = (struct code_addr){
			image_intern(m->images, &(struct image){ .kind = IMAGE_FILE,
								 .ino = inode,
								 .path = path }),
			(unsigned long)main - start + offset,
		};
	}
	if (maps)
		fclose(maps);
}

static void init(struct maker *m, const char *dir)
{
	static const enum image_kind image_kinds[N_IMAGES] = { IMAGE_JIT, IMAGE_JIT, IMAGE_BPF };

	m->images = image_table_new();
	strings_init(&m->strings);
	for (uint32_t i = 0; i < N_IMAGES; i++)
		m->code[i] = image_intern(m->images, &(struct image){ .kind = image_kinds[i],
								      .path = m->kind->images[i] });
	for (uint32_t i = 0; i < ARRAY_SIZE(m->apps); i++)
		m->apps[i] = image_intern(m->images, &(struct image){ .kind = IMAGE_FILE,
								      .ino = i + 1,
								      .path = m->kind->apps[i] });
	if (m->kind->is_file)
		find_main(m);
	open_store(m, dir);
	name_code(m);
}

/* Behind the code that name_code() names. */
static void give_own_values(struct maker *m, struct sample *s, struct code_addr *frame)
{
	char function[32], comm[32];

	snprintf(function, sizeof(function), "function.%" PRIu64, m->n_own);
	snprintf(comm, sizeof(comm), "task.%" PRIu64, m->n_own);
	*frame = (struct code_addr){ m->code[0], CODE_STEP * (1 + N_FUNCTIONS + m->n_own++) };
	s->class.comm = strings_add(&m->strings, comm);
	native_store.name_code(m->store, &(struct code_symbol){ .image = m->code[0],
								.offset = frame->offset,
								.size = CODE_STEP,
								.name = function });
}

static void add_sample(struct maker *m, uint64_t time_ns, uint32_t depth)
{
	struct code_addr frames[MAX_DEPTH];
	uint32_t thread = next_random(m, N_THREADS), counter = next_random(m, 8) == 0;
	uint32_t stack = next_random(m, 4096);
	struct sample s = {
		.class = { .counter = counter,
			   .app = m->apps[thread % 2],
			   .pid = (int32_t)(1000 + thread % 2),
			   .tid = (int32_t)(1000 + thread),
			   .comm = strings_add(&m->strings, m->kind->comms[thread / 4]),
			   .cpu = next_random(m, 4) },
		.time_ns = time_ns,
		.frames = frames,
		.n_frames = 1 + depth / 2 + stack % (depth / 2 + 1),
		.samples = 1,
		.period = counter ? 10 : 1000000 + next_random(m, 1000),
	};

	/* Chains share their outer frames: each step inwards takes a few more bits of the number.
	 */
	for (uint32_t i = 0; i < s.n_frames; i++) {
		uint32_t from_root = s.n_frames - 1 - i;
		uint32_t pick = from_root + (from_root > depth / 3 ? stack >> (from_root % 8) : 0);

		frames[i] = (struct code_addr){
			m->code[i ? pick % 2 : stack % N_IMAGES],
			CODE_STEP * (1 + pick % N_FUNCTIONS) + (i ? 0x10 : stack % 0xa0),
		};
	}
	if (m->kind->is_file) {
		frames[0] = m->main;
		s.n_frames = 1;
		s.class.counter = 0;
	}
	if (m->kind->has_many_values)
		give_own_values(m, &s, &frames[0]);
	native_store.add(m->store, &s, NULL);
}

static void add_samples_at(struct maker *m, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct image image = { .kind = IMAGE_FILE, .path = path };
	struct code_addr frames[MAX_DEPTH];
	struct profile_class class = { .pid = 1000, .tid = 1000 };
	struct file_mapping file;
	struct elf_file elf;
	struct error err;
	unsigned long samples;
	uint64_t time_ns = 100 * SECOND;
	char *line = NULL, *at;
	size_t size = 0;
	int used;

	if (file_map(path, &file, &err) < 0 ||
	    elf_file_open(&elf, file.base, file.size, &err) < 0) {
		fprintf(stderr, "make_session: %s\n", err.text);
		exit(1);
	}
	elf_build_id(&elf, &image.build_id);
	image.ino = file.ino;
	class.app = image_intern(m->images, &image);
	class.comm = strings_add(&m->strings, name);
	while (getline(&line, &size, stdin) >= 0) {
		struct sample s = { .class = class, .frames = frames, .samples = 1 };

		if (sscanf(line, "%lu %u %n", &samples, &s.class.counter, &used) != 2 ||
		    s.class.counter >= m->n_counters)
			exit(2);
		s.period = s.class.counter ? 10 : 1000000;
		at = line + used;
		while (*at > ' ' && s.n_frames < MAX_DEPTH) {
			uint64_t address = strtoull(at, &at, 16);

			if (!elf_file_off(&elf, address, &frames[s.n_frames].offset))
				exit(2);
			/* A caller's address is behind its call. */
			frames[s.n_frames].offset += s.n_frames > 0;
			frames[s.n_frames++].image = class.app;
			at += strspn(at, " \n");
		}
		if (s.n_frames == 0)
			exit(2);
		for (; samples; samples--) {
			s.time_ns = time_ns += 1000000;
			native_store.add(m->store, &s, NULL);
		}
	}
	free(line);
	file_unmap(&file);
}

static void add_random_samples(struct maker *m, uint64_t n, uint64_t seconds, uint64_t depth)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i * seconds * SECOND / n;

		add_sample(m, 100 * SECOND + at, (uint32_t)depth);
		if (i % 1024 != 0)
			continue;
		if (m->kind->n_lost)
			native_store.lose(m->store, LOSS_RING_FULL, UINT32_MAX, m->kind->n_lost);
		native_store.flush(m->store, 100 * SECOND + at, NULL);
	}
}

int main(int argc, char **argv)
{
	const struct session_end end = { .end_ns = 1000 * SECOND, .exit_status = 0 };
	bool is_at = argc > 3 && !strcmp(argv[2], "at");
	uint64_t n = argc > 3 && !is_at ? strtoull(argv[3], NULL, 10) : is_at, n_unwritten;
	uint64_t seconds = argc > 4 && !is_at ? strtoull(argv[4], NULL, 10) : 10;
	uint64_t depth = argc > 5 ? strtoull(argv[5], NULL, 10) : 12;
	struct maker m = { .random = 1, .n_counters = is_at && argc == 4 ? 1 : N_COUNTERS };

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && argc > 2; i++)
		if (!strcmp(kinds[i].name, argv[2]))
			m.kind = &kinds[i];
	if (!m.kind || !n || !seconds || !depth || depth > MAX_DEPTH - 1) {
		fprintf(stderr,
			"Usage: make_session DIR plain|hostile|file|lossy|many SAMPLES [SECONDS "
			"[DEPTH]]\n       make_session DIR at FILE [EVENTS] <PLACES\n");
		return 2;
	}
	init(&m, argv[1]);
	if (is_at)
		add_samples_at(&m, argv[3]);
	else
		add_random_samples(&m, n, seconds, depth);
	if (native_store.close(m.store, &end, &n_unwritten, NULL) < 0)
		return 1;
	image_table_free(m.images);
	strings_fini(&m.strings);
	return 0;
}
