/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OProfile's sample files: the format byte by byte, names, the store. */
#include "store_world.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "oprofile/oprofile.h"
#include "oprofile/store/facts.h"
#include "oprofile/store/jit_file.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/store/sample_name.h"

static const struct sample_file_header test_header = {
	.cpu_type = 69,
	.event = 0x76,
	.unit_mask = 3,
	.count = 100000,
	.cpu_mhz = 2400,
	.mtime = 1700000000,
	.anon_start = 0x7f0000000000,
};

struct file {
	char path[64];
	struct sample_file *file;
	char *bytes;
	size_t size;
	struct sample_file_view view;
};

static void file_init(struct file *f)
{
	int fd;

	*f = (struct file){ .path = "samples-XXXXXX" };
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sample_file_open(f->path, &test_header, &f->file, NULL), 0);
}

static void file_add(struct file *f, uint64_t key, uint64_t n)
{
	uint64_t unwritten = 0;

	assert_int_equal(sample_file_add(f->file, key, n, &unwritten, NULL), 0);
	assert_int_equal(unwritten, 0);
}

static void file_look(struct file *f)
{
	uint64_t unwritten = 0;

	if (f->file)
		assert_int_equal(sample_file_flush(f->file, &unwritten, NULL), 0);
	free(f->bytes);
	assert_int_equal(file_read_all(f->path, 1 << 26, &f->bytes, &f->size), 0);
	assert_int_equal(sample_file_parse(f->bytes, f->size, NULL, &f->view, NULL), 0);
}

static uint64_t file_count(const struct file *f, uint64_t key, uint32_t *n_nodes)
{
	uint64_t sum = 0, k;
	uint32_t n;

	*n_nodes = 0;
	for (uint32_t i = 0; i < f->view.n_nodes; i++) {
		sample_file_node(&f->view, i, &k, &n);
		if (k != key)
			continue;
		sum += n;
		++*n_nodes;
	}
	return sum;
}

static void file_fini(struct file *f)
{
	sample_file_close(f->file);
	free(f->bytes);
	unlink(f->path);
}

static uint32_t u32_at(const struct file *f, size_t at)
{
	uint32_t v;

	memcpy(&v, f->bytes + at, sizeof(v));
	return v;
}

static void a_file_has_the_layout_of_version_0x13(void **state)
{
	struct file f;

	(void)state;
	file_init(&f);
	file_add(&f, 0x1234, 7);
	file_add(&f, 0x1234, 1);
	file_look(&f);
	assert_int_equal(f.size, 72 + 32 + 20 * 128);
	assert_memory_equal(f.bytes, "DAE\n\x13\0\0\0", 8);
	assert_int_equal(u32_at(&f, 8), 69);
	assert_int_equal(u32_at(&f, 12), 0x76);
	assert_int_equal(u32_at(&f, 16), 3);
	assert_int_equal(u32_at(&f, 20), 100000);
	assert_int_equal(u32_at(&f, 24), 0);
	assert_memory_equal(f.bytes + 32, "\0\0\0\0\0\xc0\xa2\x40", 8); /* 2400.0 */
	assert_int_equal(u32_at(&f, 72), 128);
	assert_int_equal(u32_at(&f, 76), 2);
	assert_int_equal(u32_at(&f, 104 + 16), 0x1234);
	assert_int_equal(u32_at(&f, 104 + 24), 8);
	/* The bucket of 0x1234: (0x1234 ^ 0x12) & 127. */
	assert_int_equal(u32_at(&f, 104 + 16 * 128 + 4 * (0x1226 & 127)), 1);
	assert_int_equal(f.view.header.anon_start, 0x7f0000000000);
	assert_int_equal(f.view.header.mtime, 1700000000);
	file_fini(&f);
}

/* Every node is in its own bucket, once, and node 0 in none. */
static void check_hash(const struct file *f)
{
	const struct sample_file_abi *abi = f->view.abi;
	size_t nodes = abi->header_size + abi->descriptor_size;
	uint32_t slots = u32_at(f, abi->header_size), reached = 0;

	for (uint32_t bucket = 0; bucket < slots; bucket++) {
		uint32_t n = u32_at(f, nodes + 16u * slots + 4u * bucket);

		for (; n; n = u32_at(f, nodes + 16u * n + 12)) {
			uint32_t t = u32_at(f, nodes + 16u * n) ^ u32_at(f, nodes + 16u * n + 4);

			assert_true(n <= f->view.n_nodes);
			assert_int_equal((t ^ (t >> 8)) & (slots - 1), bucket);
			assert_true(++reached <= f->view.n_nodes);
		}
	}
	assert_int_equal(reached, f->view.n_nodes);
}

static void a_file_grows_and_keeps_every_count(void **state)
{
	struct file f;
	uint32_t n;

	(void)state;
	file_init(&f);
	for (uint64_t round = 1; round <= 3; round++)
		for (uint64_t key = 0; key < 5000; key++)
			file_add(&f, key * 0x10001 << 8, round * (key + 1));
	file_look(&f);
	assert_int_equal(f.size, 72 + 32 + 20 * 8192);
	assert_int_equal(f.view.n_nodes, 5000);
	for (uint64_t key = 0; key < 5000; key++)
		assert_int_equal(file_count(&f, key * 0x10001 << 8, &n), 6 * (key + 1));
	check_hash(&f);
	file_fini(&f);
}

/* So many adds that they wait in memory; some keys are arcs, which are too wide for that. */
static void a_file_that_is_added_to_very_often_keeps_every_count(void **state)
{
	enum { N_KEYS = 1000, N_ADDS = 400000 };
	uint64_t *want = calloc(N_KEYS, sizeof(*want)), sum = 0;
	struct file f;

	(void)state;
	file_init(&f);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < (uint32_t)N_ADDS >> round; i++) {
			uint32_t key = (i * 2654435761U >> 7) % N_KEYS;
			uint64_t n = i % 1000 ? 1 : 0x7fffffff;

			want[key] += n;
			file_add(&f, key % 10 ? key * 3 : (uint64_t)key << 40, n);
		}
		file_look(&f);
		sum = 0;
		for (uint32_t i = 0; i < f.view.n_nodes; i++) {
			uint64_t key;
			uint32_t n;

			sample_file_node(&f.view, i, &key, &n);
			sum += n;
			want[key >> 32 ? key >> 40 : key / 3] -= n;
		}
		for (uint32_t key = 0; key < N_KEYS; key++)
			assert_int_equal(want[key], 0);
		assert_true(sum > 0);
		for (uint32_t i = 0; i < f.view.n_nodes;
		     i++) { /* the next round starts from here */
			uint64_t key;
			uint32_t n;

			sample_file_node(&f.view, i, &key, &n);
			want[key >> 32 ? key >> 40 : key / 3] += n;
		}
	}
	free(want);
	file_fini(&f);
}

static const struct {
	struct jit_symbol symbol;
	uint64_t addr, size; /* what is left of it; size 0: nothing */
} jit_cases[] = {
	{ { 0x1000, 0x100, "first", 0 }, 0x1000, 0x80 },
	{ { 0x1080, 0x100, "newer", 1 }, 0x1080, 0x100 },
	{ { 0x1200, 0x10, "replaced", 2 }, 0, 0 },
	{ { 0x1200, 0x20, "replacing", 3 }, 0x1200, 0x20 },
	{ { 0x7f0000000000, 0x40, "far", 4 }, 0x7f0000000000, 0x40 },
	{ { UINT64_MAX - 4, 0x1000, "beyond the end", 5 }, UINT64_MAX - 4, 4 },
	{ { 0x3000, 0, "empty", 6 }, 0, 0 },
};

static void names_of_jit_code_are_an_elf_file(void **state)
{
	struct jit_symbol symbols[ARRAY_SIZE(jit_cases)];
	struct elf_symbols it;
	struct elf_symbol found;
	struct elf_section section;
	struct elf_file elf;
	struct buf out = { 0 };
	uint32_t n = 0, n_code = 0, n_ends = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		symbols[i] = jit_cases[ARRAY_SIZE(symbols) - 1 - i].symbol;
	jit_file_write(&out, symbols, ARRAY_SIZE(symbols));
	assert_int_equal(elf_file_open(&elf, out.data, out.len, NULL), 0);
	for (uint32_t i = 0; elf_section(&elf, i, &section); i++)
		n_code += section.link_addr != 0;
	assert_int_equal(n_code, 3);
	assert_true(elf_symbols_begin(&it, &elf, SHT_SYMTAB));
	while (elf_symbols_next(&it, &found)) {
		size_t i = 0;

		while (i < ARRAY_SIZE(jit_cases) && strcmp(jit_cases[i].symbol.name, found.name))
			i++;
		if (!strcmp(found.name, "[end]")) /* where OProfile has the last one end */
			assert_int_equal(found.link_addr, UINT64_MAX);
		n_ends += !strcmp(found.name, "[end]");
		if (i == ARRAY_SIZE(jit_cases)) /* the nameless first one */
			continue;
		assert_int_equal(found.link_addr, jit_cases[i].addr);
		assert_int_equal(found.size, jit_cases[i].size);
		n++;
	}
	assert_int_equal(n, 5);
	assert_int_equal(n_ends, 1);
	buf_fini(&out);
}

static void a_count_beyond_32_bits_goes_on_in_a_second_node(void **state)
{
	struct file f;
	uint32_t n;

	(void)state;
	file_init(&f);
	file_add(&f, 5, UINT32_MAX - 1);
	file_add(&f, 5, 3);
	file_add(&f, 5, 10);
	file_add(&f, 6, 5ULL * UINT32_MAX);
	file_look(&f);
	assert_int_equal(file_count(&f, 5, &n), (uint64_t)UINT32_MAX + 12);
	assert_int_equal(n, 2);
	assert_true(file_count(&f, 6, &n) == 5ULL * UINT32_MAX);
	check_hash(&f);
	file_fini(&f);
}

static void a_file_is_added_to_even_if_its_hash_loops(void **state)
{
	uint32_t one = 1;
	struct file f;
	uint32_t n;
	int fd;

	(void)state;
	file_init(&f);
	file_add(&f, 5, 1);
	file_look(&f);
	sample_file_close(take_ptr(f.file));
	fd = open(f.path, O_WRONLY);
	assert_int_equal(pwrite(fd, &one, 4, 104 + 16 + 12), 4); /* node 1 follows node 1 */
	close(fd);
	assert_int_equal(sample_file_open(f.path, &test_header, &f.file, NULL), 0);
	file_add(&f, 5, 1);
	file_add(&f, 5 + (5 << 8), 1);
	file_look(&f);
	assert_int_equal(file_count(&f, 5, &n), 2);
	check_hash(&f);
	file_fini(&f);
}

static void what_a_full_disk_does_not_take_is_counted(void **state)
{
	struct rlimit old, small = { 72 + 32 + 20 * 256 + 100, 72 + 32 + 20 * 256 + 100 };
	uint64_t unwritten = 0;
	struct error err = { 0 };
	struct file f;
	int r = 0;

	(void)state;
	file_init(&f);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t key = 1; key <= 1000; key++) {
		int now = sample_file_add(f.file, key, 2, &unwritten, &err);

		r = now < 0 ? now : r;
	}
	sample_file_flush(f.file, &unwritten, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(err.text, f.path));
	assert_int_equal(unwritten, 2 * (1000 - 255));
	file_look(&f);
	assert_int_equal(f.view.n_nodes, 255);
	check_hash(&f);
	file_fini(&f);
}

/* A file of the layout with one node (0x1122334455, 9). */
static struct buf foreign_file(const struct sample_file_abi *abi)
{
	uint64_t key = 0x1122334455;
	uint32_t values[3] = { 0x13, 128, 2 }, nine = 9;
	struct buf b = { 0 };
	uint8_t *node;

	buf_reserve(&b, abi->header_size + abi->descriptor_size + 20 * 128);
	b.len = b.cap;
	b.len = abi->header_size + abi->descriptor_size + 20 * 128;
	memset(b.data, 0, b.len);
	if (abi->is_big_endian) {
		key = __builtin_bswap64(key);
		nine = __builtin_bswap32(nine);
		for (int i = 0; i < 3; i++)
			values[i] = __builtin_bswap32(values[i]);
	}
	memcpy(b.data, "DAE\n", 4);
	memcpy(b.data + 4, &values[0], 4);
	memcpy(b.data + abi->header_size, &values[1], 8);
	node = b.data + abi->header_size + abi->descriptor_size + 16;
	memcpy(node, &key, 8);
	memcpy(node + 8, &nine, 4);
	return b;
}

static void files_of_other_machines_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_file_abis; i++) {
		struct buf b = foreign_file(&sample_file_abis[i]);
		struct sample_file_view view;
		uint64_t key;
		uint32_t n;

		assert_int_equal(sample_file_parse(b.data, b.len, NULL, &view, NULL), 0);
		assert_string_equal(view.abi->name, sample_file_abis[i].name);
		assert_int_equal(view.n_nodes, 1);
		sample_file_node(&view, 0, &key, &n);
		assert_int_equal(key, 0x1122334455);
		assert_int_equal(n, 9);
		buf_fini(&b);
	}
}

static void what_is_no_sample_file_is_refused_with_the_reason(void **state)
{
	struct buf b = foreign_file(&sample_file_abis[0]);
	struct sample_file_view view;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sample_file_parse(b.data, b.len - 20, NULL, &view, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cut off"));
	b.data[4] = 0x12;
	assert_int_equal(sample_file_parse(b.data, b.len, NULL, &view, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "version 0x12"));
	b.data[4] = 0x13;
	b.data[76] = 200;
	assert_int_equal(sample_file_parse(b.data, b.len, NULL, &view, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "200 of 128"));
	b.data[0] = 'X';
	assert_int_equal(sample_file_parse(b.data, b.len, NULL, &view, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "DAE"));
	assert_int_equal(sample_file_parse(b.data, 0, NULL, &view, &err), -EBADMSG);
	buf_fini(&b);
}

static void an_abi_file_has_the_layout_of_its_writer(void **state)
{
	struct sample_file_abi abi;
	struct error err = { 0 };
	struct buf text = { 0 };

	(void)state;
	sample_file_abi_write(&text);
	assert_int_equal(sample_file_abi_parse(buf_cstr(&text), &abi, &err), 0);
	assert_int_equal(abi.header_size, 72);
	assert_int_equal(abi.callee_anon_start, 64);
	assert_int_equal(sample_file_abi_parse("little_endian 1\n", &abi, &err), -EBADMSG);
	assert_int_equal(sample_file_abi_parse("sizeof_u64 8\nsizeof_int 2\n", &abi, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "line 2: 'sizeof_int 2'"));
	buf_fini(&text);
}

/* Names. */

static uint32_t random_state;

static uint32_t pick(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

static char *random_path(bool with_slashes)
{
	static const char letters[] = "abz.0-_ {}[]:+~\xc3\xa9";
	struct buf b = { 0 };
	uint32_t n_parts = with_slashes ? 1 + pick(4) : 1;
	char *path;

	for (uint32_t i = 0; i < n_parts; i++) {
		if (with_slashes)
			buf_u8(&b, '/');
		buf_u8(&b, (uint8_t)letters[pick(3)]); /* not "..", see below */
		for (uint32_t k = pick(8); k; k--)
			buf_u8(&b, (uint8_t)letters[pick(sizeof(letters) - 1)]);
	}
	path = xstrdup(buf_cstr(&b));
	buf_fini(&b);
	return path;
}

static void random_image(struct sample_image_name *image, bool may_be_anonymous)
{
	*image = (struct sample_image_name){ .kind = pick(may_be_anonymous ? 3 : 2) };
	if (image->kind == SAMPLE_IMAGE_ANON) {
		image->text = xstrdup(pick(2) ? "anon" : "[vdso]");
		image->tgid = pick(100000);
		image->start = (uint64_t)pick(1 << 20) << 12;
		image->end = image->start + pick(1 << 20);
	} else {
		image->text = random_path(image->kind == SAMPLE_IMAGE_ROOT);
	}
}

static void assert_image_equal(const struct sample_image_name *a, const struct sample_image_name *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_string_equal(a->text, b->text);
	assert_int_equal(a->tgid, b->tgid);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
}

static int64_t random_id(void)
{
	return pick(3) ? (int64_t)pick(100000) : SAMPLE_NAME_ALL;
}

static void parsing_a_name_returns_its_parts(void **state)
{
	(void)state;
	for (random_state = 1; random_state < 3000; random_state++) {
		uint32_t seed = random_state;
		struct sample_name in = { 0 }, out;
		struct error err = { 0 };
		struct buf text = { 0 };

		random_image(&in.main, false);
		random_image(&in.dep, true);
		in.is_arc = pick(2);
		if (in.is_arc)
			random_image(&in.callee, true);
		in.event = xstrdup(pick(2) ? "CPU_CLK_UNHALTED" : "sched:sched_switch");
		in.count = pick(1000000);
		in.unit_mask = pick(256);
		in.tgid = random_id();
		in.tid = random_id();
		in.cpu = random_id();
		sample_name_write(&in, &text);
		if (sample_name_parse(buf_cstr(&text), &out, &err) < 0)
			fail_msg("%s (seed %u)", err.text, seed);
		assert_image_equal(&in.main, &out.main);
		assert_image_equal(&in.dep, &out.dep);
		assert_int_equal(in.is_arc, out.is_arc);
		if (in.is_arc)
			assert_image_equal(&in.callee, &out.callee);
		assert_string_equal(in.event, out.event);
		assert_int_equal(in.count, out.count);
		assert_int_equal(in.unit_mask, out.unit_mask);
		assert_int_equal(in.tgid, out.tgid);
		assert_int_equal(in.tid, out.tid);
		assert_int_equal(in.cpu, out.cpu);
		sample_name_fini(&in);
		sample_name_fini(&out);
		buf_fini(&text);
		random_state = seed;
	}
}

/* Paths of a recording that was made elsewhere may be anything. */
static void no_name_leads_out_of_its_session(void **state)
{
	struct sample_name name = {
		.main = { .kind = SAMPLE_IMAGE_ROOT, .text = (char[]){ "/../..//x/.../..y/.." } },
		.dep = { .kind = SAMPLE_IMAGE_KERN, .text = (char[]){ ".." } },
		.event = (char[]){ "cycles" },
		.tgid = SAMPLE_NAME_ALL,
		.tid = SAMPLE_NAME_ALL,
		.cpu = SAMPLE_NAME_ALL,
	};
	struct buf text = { 0 };

	(void)state;
	sample_name_write(&name, &text);
	assert_string_equal(buf_cstr(&text),
			    "{root}/__/__//x/.../..y/__/{dep}/{kern}/__/cycles.0.0.all.all.all");
	buf_fini(&text);
}

static void names_as_operf_writes_them_are_read(void **state)
{
	struct sample_name n;

	(void)state;
	assert_int_equal(sample_name_parse("{root}//bin/bash/{dep}/{root}//lib/libc.so.6/"
					   "CPU_CLK_UNHALTED.100000.0.all.all.all",
					   &n, NULL),
			 0);
	assert_string_equal(n.main.text, "/bin/bash");
	assert_string_equal(n.dep.text, "/lib/libc.so.6");
	assert_false(n.is_arc);
	assert_int_equal(n.count, 100000);
	assert_int_equal(n.tgid, SAMPLE_NAME_ALL);
	sample_name_fini(&n);
}

static void a_bad_name_says_which_part_is_wrong(void **state)
{
	static const struct {
		const char *name, *part;
	} bad[] = {
		{ "", "{root}" },
		{ "{root}/bin/sh/X.1.0.all.all.all", "{root}" },
		{ "{anon:anon}/1.0x0.0x1/{dep}/{root}/a/X.1.0.all.all.all", "{root}" },
		{ "{root}/a/{dep}/b/X.1.0.all.all.all", "'b/X.1.0.all.all.all'" },
		{ "{root}/a/{dep}/{root}/b/X.1.0.all.all", "'X.1.0.all.all'" },
		{ "{root}/a/{dep}/{root}/b/X.1.0.all.all.", "'X.1.0.all.all.'" },
		{ "{root}/a/{dep}/{root}/b/X.one.0.all.all.all", "'X.one.0" },
		{ "{root}/a/{dep}/{root}/b/X.1.0.-1.all.all", "'X.1.0.-1" },
		{ "{root}/a/{dep}/{anon:x}/12.0x0/X.1.0.all.all.all", "'{anon:x}/12" },
		{ "{root}/a/{dep}/{root}/b/{cg}/c/X.1.0.all.all.all", "'c/X" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		struct sample_name n;

		assert_int_equal(sample_name_parse(bad[i].name, &n, &err), -EBADMSG);
		if (!strstr(err.text, bad[i].part))
			fail_msg("%s: %s", bad[i].name, err.text);
	}
}

/* One recording into the session: a sample of JIT code at 0x1000, and its name. */
static void record_jit(struct world *w, uint64_t offset, const char *name)
{
	struct store *store;
	image_id jit = image_intern(w->images,
				    &(struct image){ .kind = IMAGE_JIT, .pid = 7, .path = "anon" });
	struct code_addr frame = { jit, offset };
	const struct sample sample = {
		.class = { .app = w->bin, .pid = 7, .tid = 7, .comm = w->comm },
		.frames = &frame,
		.n_frames = 1,
		.samples = 1,
		.period = 1,
	};

	assert_int_equal(oprofile_store.open("session", &test_info, w->images, &w->strings, &store,
					     &w->err),
			 0);
	oprofile_store.name_code(store, &(struct code_symbol){ jit, offset, 16, name, 0 });
	assert_int_equal(oprofile_store.add(store, &sample, &w->err), 0);
	assert_int_equal(oprofile_store.close(store, NULL, &(uint64_t){ 0 }, &w->err), 0);
}

static void names_of_jit_code_are_in_its_file_alone_and_add_up(void **state)
{
	static const char jo[] = "session/samples/current/{root}/usr/bin/cc/{dep}/{anon:anon}/7.jo";
	cleanup(free_at_exit) char *facts = NULL, *bytes = NULL;
	struct elf_symbols it;
	struct elf_symbol found;
	struct elf_file elf;
	struct world w;
	uint32_t n = 0;
	size_t size;

	(void)state;
	world_init(&w);
	close_world(&w);
	record_jit(&w, 0x1000, "of_the_first_run");
	record_jit(&w, 0x2000, "of_the_second_run");
	assert_int_equal(file_read_all("session/samples/current/" FACTS_FILE, 1 << 20, &facts,
				       &size),
			 0);
	assert_null(strstr(facts, "_run"));
	assert_int_equal(file_read_all(jo, 1 << 20, &bytes, &size), 0);
	assert_int_equal(elf_file_open(&elf, (uint8_t *)bytes, size, NULL), 0);
	assert_true(elf_symbols_begin(&it, &elf, SHT_SYMTAB));
	while (elf_symbols_next(&it, &found))
		n += strstr(found.name, "_run") != NULL;
	assert_int_equal(n, 2);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_the_layout_of_version_0x13),
		cmocka_unit_test(a_file_grows_and_keeps_every_count),
		cmocka_unit_test(a_file_that_is_added_to_very_often_keeps_every_count),
		cmocka_unit_test(names_of_jit_code_are_an_elf_file),
		cmocka_unit_test(names_of_jit_code_are_in_its_file_alone_and_add_up),
		cmocka_unit_test(a_count_beyond_32_bits_goes_on_in_a_second_node),
		cmocka_unit_test(a_file_is_added_to_even_if_its_hash_loops),
		cmocka_unit_test(what_a_full_disk_does_not_take_is_counted),
		cmocka_unit_test(files_of_other_machines_are_read),
		cmocka_unit_test(what_is_no_sample_file_is_refused_with_the_reason),
		cmocka_unit_test(an_abi_file_has_the_layout_of_its_writer),
		cmocka_unit_test(parsing_a_name_returns_its_parts),
		cmocka_unit_test(no_name_leads_out_of_its_session),
		cmocka_unit_test(names_as_operf_writes_them_are_read),
		cmocka_unit_test(a_bad_name_says_which_part_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
