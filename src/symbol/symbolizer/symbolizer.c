/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/path.h"
#include "symbol/symbols.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/secret.h"
#include "elf/elf_file.h"
#include "guard/open.h"
#include "symbol/cache.h"
#include "symbol/lines/line_table.h"
#include "symbol/readable_names.h"
#include "symbol/table.h"

int symbolizer_map(const struct symbolizer *s, const char *path, struct file_mapping *out,
		   struct error *err)
{
	const struct guard_place place = { .root = s->files.root, .process = s->files.process };

	return guard_map_place(&place, path, &guard_image_rules, out, err);
}

void table_forget(struct symbol_table *t)
{
	if (!t->answer.bytes)
		free(t->block);
	t->block = NULL;
	t->index = (struct index){ 0 };
	parser_answer_fini(&t->answer);
	file_unmap(&t->mapping);
}

void symbol_table_rest(const struct symbol_table *t)
{
	file_rest(&t->mapping, 0, t->mapping.size);
}

void table_adopt(struct symbol_table *t, struct index_draft *d, enum symbol_status status)
{
	size_t size;
	struct index_header *block = index_draft_finish(d, &size);

	table_forget(t);
	t->block = block;
	t->status = status;
	block->status = status;
	if (!index_open(&t->index, block, size))
		assert(!"a block of our own is whole");
}

void table_adopt_answer(struct symbol_table *t, struct parser_answer *answer, const void *block,
			size_t size)
{
	table_forget(t);
	t->answer = *answer;
	*answer = (struct parser_answer){ 0 };
	t->block = (struct index_header *)block;
	t->status = t->block->status;
	if (!index_open(&t->index, block, size))
		assert(!"the answer was checked");
}

enum image_found symbolizer_found(const struct symbolizer *s, const struct image *image,
				  const char *path)
{
	cleanup(free_at_exit) char *bare = image_path_without_mark(image);

	if (s->files.process ? s->is_at_its_path : !*s->files.root && !strcmp(path, bare))
		return IMAGE_AT_ITS_PATH;
	return IMAGE_HIDDEN;
}

struct build_id symbolizer_known_id(const struct image *image, const struct file_mapping *file,
				    enum image_found found)
{
	struct build_id id = image->build_id;
	struct elf_file elf;

	if (!id.len && image_file_is_trusted(file, found) &&
	    elf_file_open(&elf, file->base, file->size, NULL) == 0)
		elf_build_id(&elf, &id);
	return id;
}

struct build_id symbolizer_key(const struct symbolizer *s, const struct image *image,
			       const struct file_mapping *file, const struct build_id *found_id,
			       enum image_found found)
{
	if (!s->cache_dir)
		return (struct build_id){ 0 };
	if (image->dev == IMAGE_DEV_SHA256)
		return image_cache_key(image);
	return image_file_key(file, found_id, found);
}

bool table_from_cache(const struct symbolizer *s, struct symbol_table *t,
		      const struct build_id *key)
{
	struct file_mapping mapping = { 0 };
	struct index index;

	if (!s->cache_dir || !key->len || !cache_open(s->cache_dir, key, &mapping, &index))
		return false;
	assert(!t->block); /* a block and a mapping exclude each other */
	file_unmap(&t->mapping);
	t->mapping = mapping;
	t->index = index;
	t->status = t->index.header->status;
	return true;
}

static bool is_status_of_index(uint32_t status)
{
	return status == SYMBOL_SYMTAB || status == SYMBOL_DEBUG_FILE || status == SYMBOL_DYNSYM ||
	       status == SYMBOL_KALLSYMS;
}

bool table_from_kept(const struct symbolizer *s, struct symbol_table *t, const struct build_id *key)
{
	struct index_header *block;
	struct index index;

	if (!s->kept_dir || !key->len || !cache_read_foreign(s->kept_dir, key, &block, &index))
		return false;
	if (!is_status_of_index(index.header->status)) {
		free(block);
		return false;
	}
	table_forget(t);
	t->block = block;
	t->index = index;
	table_fail(t, t->index.header->status, "%s", "");
	return true;
}

void table_to_cache(const struct symbolizer *s, struct symbol_table *t, const struct build_id *key,
		    uint32_t uid)
{
	if (!s->cache_dir || !key->len || !t->block)
		return;
	if (t->answer.is_mapped)
		cache_write_mapped(s->cache_dir, key, uid, t->block, t->index.size);
	else
		cache_write(s->cache_dir, key, uid, t->block, t->index.size);
}

bool table_lay_down(const struct symbolizer *s, struct symbol_table *t, const struct build_id *key)
{
	struct file_mapping mapping = { 0 };
	struct index index;

	if (!s->cache_dir || !key->len || !t->block ||
	    !cache_open_written(s->cache_dir, key, t->block, t->index.size, &mapping, &index)) {
		file_unmap(&mapping);
		return false;
	}
	table_forget(t);
	t->mapping = mapping;
	t->index = index;
	return true;
}

void table_fail(struct symbol_table *t, enum symbol_status status, const char *format, ...)
{
	va_list ap;

	free(t->detail);
	t->detail = NULL;
	t->status = status;
	va_start(ap, format);
	t->detail = xvasprintf(format, ap);
	va_end(ap);
}

char *symbolizer_image_file(struct symbolizer *s, const struct image *image)
{
	struct image_place place;

	finder_find(&s->files, image, &place);
	return place.path;
}

bool symbolizer_has_file(struct symbolizer *s, const struct image *image)
{
	struct image_place place;
	bool is_found = finder_find(&s->files, image, &place);

	free(place.path);
	return is_found;
}

int symbolizer_map_image(struct symbolizer *s, const struct image *image, struct file_mapping *file,
			 char **path, struct error *err)
{
	struct image_place place;
	int r = finder_open(&s->files, image, &place, file, err);

	if (path)
		*path = take_ptr(place.path);
	free(place.path);
	return r;
}

bool symbolizer_image_owner(struct symbolizer *s, const struct image *image, uint32_t *user)
{
	struct image_place place;
	struct stat st;
	bool is_there;

	finder_find(&s->files, image, &place);
	is_there = guard_stat_below(place.root, place.below, &st) == 0;
	free(place.path);
	if (is_there)
		*user = st.st_uid;
	return is_there;
}

int symbolizer_check_image_dirs(const struct symbolizer *s, struct error *err)
{
	if (s->files.listed.missing.n)
		return error_set(err, -ENOENT, "--image-path: %s is not a directory",
				 s->files.listed.missing.data[0]);
	return 0;
}

static char *or_default(const char *given, const char *otherwise)
{
	return xstrdup(given ? given : otherwise);
}

static char *copy_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

struct symbolizer *symbolizer_new(const struct symbolizer_config *config)
{
	static const struct symbolizer_config defaults = { 0 };
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	if (!config)
		config = &defaults;
	finder_init(&s->files, config);
	s->kallsyms_path = or_default(config->kallsyms, "/proc/kallsyms");
	s->modules_path = or_default(config->modules, "/proc/modules");
	s->notes_path = or_default(config->notes, "/sys/kernel/notes");
	s->system_map = copy_or_null(config->system_map);
	s->vmlinux = copy_or_null(config->vmlinux);
	s->guest_kallsyms = copy_or_null(config->guest_kallsyms);
	s->guest_modules = copy_or_null(config->guest_modules);
	s->guest_mount = copy_or_null(config->guest_mount);
	s->guest_vmlinux = copy_or_null(config->guest_vmlinux);
	s->sys_module_dir = or_default(config->sys_module, "/sys/module");
	s->kcore_path = or_default(config->kcore, "/proc/kcore");
	if (!config->cache_dir)
		s->cache_dir = cache_default_dir();
	else if (*config->cache_dir)
		s->cache_dir = xstrdup(config->cache_dir);
	s->files.cache_dir = s->cache_dir;
	s->kept_dir = copy_or_null(config->kept_dir);
	s->names = arena_new();
	s->parser_ms = config->parser_ms;
	s->names_ms = config->names_ms;
	s->is_at_its_path = config->is_at_its_path;
	s->is_small = config->is_small;
	s->readable = readable_names_new(config->no_demangle, config->report_unread);
	s->kallsyms_result = 1;
	return s;
}

uint32_t symbolizer_n_late(const struct symbolizer *s)
{
	return s ? atomic_load(&s->n_late) : 0;
}

/* 0: they are over, or there is no limit. */
static uint64_t names_left_ns(struct symbolizer *s)
{
	uint64_t now = clock_monotonic_ns(), none = 0;

	if (!s->names_ms)
		return 0;
	atomic_compare_exchange_strong(&s->names_end_ns, &none, now + s->names_ms * NS_PER_MS);
	return atomic_load(&s->names_end_ns) > now ? atomic_load(&s->names_end_ns) - now : 0;
}

uint32_t symbolizer_parser_ms(struct symbolizer *s)
{
	return s->names_ms ? (uint32_t)(names_left_ns(s) / NS_PER_MS + 1) : s->parser_ms;
}

bool symbolizer_leaves_file(struct symbolizer *s)
{
	if (!s->names_ms || names_left_ns(s))
		return false;
	atomic_fetch_add(&s->n_late, 1);
	return true;
}

static void table_free(struct symbol_table *t)
{
	free((char *)t->image.path);
	table_forget(t);
	free(t->detail);
	free(t->names);
	line_table_free(t->lines);
	vec_fini(&t->pieces);
	free(t);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	readable_names_free(s->readable);
	vec_foreach (&s->tables, t) {
		table_free(*t);
	}
	vec_fini(&s->tables);
	intmap_fini(&s->by_image);
	kallsyms_fini(&s->kallsyms);
	file_unmap(&s->kallsyms_copy);
	finder_fini(&s->files);
	arena_free(s->names);
	buf_fini(&s->scratch);
	free(s->cache_dir);
	free(s->kept_dir);
	free(s->kallsyms_path);
	free(s->modules_path);
	free(s->notes_path);
	free(s->system_map);
	free(s->vmlinux);
	free(s->guest_kallsyms);
	free(s->guest_modules);
	free(s->guest_mount);
	free(s->guest_vmlinux);
	guest_lists_fini(&s->guest_lists);
	free(s->sys_module_dir);
	free(s->kcore_path);
	free(s);
}

static void make_given_table(struct symbol_table *t, const struct given_symbol *given, size_t n)
{
	struct index_draft d = { 0 };

	/* later symbols name what the address holds now; the first of several aliases stays */
	for (size_t i = n; i-- > 0;)
		if (!given[i].line)
			index_draft_add(&d, given[i].offset, given[i].size, given[i].name,
					index_draft_rank(true, DRAFT_GLOBAL));
	table_adopt(t, &d, SYMBOL_GIVEN);
	t->lines = line_table_given(given, n);
}

static void make_table(struct symbolizer *s, struct symbol_table *t,
		       const struct given_symbol *given, size_t n_given)
{
	/* the session's own names are those of the code that ran, wherever that was */
	if (n_given) {
		make_given_table(t, given, n_given);
		return;
	}
	switch (t->image.kind) {
	case IMAGE_FILE:
		make_file_tables(s, &t, 1);
		break;
	case IMAGE_VDSO:
		make_vdso_table(s, t);
		break;
	case IMAGE_KERNEL:
		make_kernel_table(s, t);
		break;
	case IMAGE_MODULE:
		make_module_table(s, t);
		break;
	case IMAGE_JIT:
		make_dump_table(s, t);
		break;
	case IMAGE_NAMED:
		make_guest_table(s, t);
		break;
	case IMAGE_UNKNOWN:
	case IMAGE_BPF:
	case IMAGE_LANGUAGE:
	case N_IMAGE_KINDS:
		break;
	}
}

/* Without a build id, several files may have one path. */
static bool is_same_image(const struct image *a, const struct image *b)
{
	bool is_same_file =
		a->build_id.len ? image_identity_equal(a, b) : a->dev == b->dev && a->ino == b->ino;

	return a->kind == b->kind && a->pid == b->pid && is_same_file &&
	       build_id_equal(&a->build_id, &b->build_id) && !strcmp(a->path, b->path);
}

/* Two images of one hash take neighbouring keys. */
static uint64_t hash_of_image(const struct image *i)
{
	uint64_t hash = XXH3_64bits_withSeed(i->path, strlen(i->path), hash_secrets[0]);

	hash = XXH3_64bits_withSeed(i->build_id.bytes, i->build_id.len, hash);
	return hash_secret_u64(hash ^ (uint64_t)i->kind ^ (uint64_t)(uint32_t)i->pid << 32);
}

/* *is_new: it has an image only. */
static struct symbol_table *find_table(struct symbolizer *s, const struct image *image,
				       bool is_of_objects, bool *is_new)
{
	struct symbol_table *t;
	uint64_t key;
	uint32_t *at;

	*is_new = false;
	for (key = hash_of_image(image); (at = intmap_find(&s->by_image, key)); key++)
		if (s->tables.data[*at]->is_of_objects == is_of_objects &&
		    is_same_image(&s->tables.data[*at]->image, image))
			return s->tables.data[*at];
	*intmap_put(&s->by_image, key, NULL) = (uint32_t)s->tables.n;
	t = xcalloc(1, sizeof(*t));
	t->image = *image;
	t->image.path = xstrdup(image->path);
	t->is_of_objects = is_of_objects;
	t->status = SYMBOL_NO_FILE;
	vec_push(&s->tables, t);
	*is_new = true;
	return t;
}

const struct symbol_table *symbolizer_table(struct symbolizer *s, const struct image *image,
					    const struct given_symbol *given, size_t n_given)
{
	bool is_new;
	struct symbol_table *t = find_table(s, image, false, &is_new);

	if (is_new)
		make_table(s, t, given, n_given);
	return t;
}

const struct symbol_table *symbolizer_objects(struct symbolizer *s, const struct image *image)
{
	bool is_new;
	struct symbol_table *t = find_table(s, image, true, &is_new);

	if (is_new && image->kind == IMAGE_FILE)
		make_file_tables(s, &t, 1);
	else if (is_new && image->kind == IMAGE_KERNEL)
		make_kernel_table(s, t);
	return t;
}

void symbolizer_make_tables(struct symbolizer *s, const struct image *const *images, size_t n)
{
	VEC(struct symbol_table *) made = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct symbol_table *t;
		bool is_new;

		assert(images[i]->kind == IMAGE_FILE);
		t = find_table(s, images[i], false, &is_new);
		if (is_new)
			vec_push(&made, t);
	}
	make_file_tables(s, made.data, made.n);
	vec_fini(&made);
}

uint32_t symbol_find(const struct symbol_table *t, uint64_t offset)
{
	return index_find(&t->index, offset);
}

uint32_t symbol_count(const struct symbol_table *t)
{
	return t->index.n;
}

bool symbol_is_go(const struct symbol_table *t, uint32_t i)
{
	return index_language(&t->index, i) == NAME_GO;
}

struct symbol symbol_place(const struct symbol_table *t, uint32_t i)
{
	const struct index *ix = &t->index;

	return i < ix->n ? (struct symbol){ .offset = ix->starts[i],
					    .size = ix->sizes[i],
					    .name = "" }
			 : (struct symbol){ .name = "" };
}

struct symbol symbol_get(const struct symbol_table *t, uint32_t i)
{
	const struct index *ix = &t->index;
	struct symbol symbol = { .name = "" };

	if (i >= ix->n)
		return symbol;
	symbol.offset = ix->starts[i];
	symbol.size = ix->sizes[i];
	symbol.name = index_text(ix, ix->names[i]);
	if (ix->ends && ix->ends[i] != NO_SYMBOL)
		symbol.name_end = index_text(ix, ix->ends[i]);
	return symbol;
}

static bool is_bracketed(const struct index *ix, uint32_t i)
{
	return ix->ends && ix->ends[i] != NO_SYMBOL;
}

static bool is_same_bracket(const struct index *ix, uint32_t a, uint32_t b)
{
	return is_bracketed(ix, b) && ix->names[a] == ix->names[b] && ix->ends[a] == ix->ends[b];
}

/* The start of the known symbol that opens the bracket; 0 if there is none. */
static uint64_t bracket_start(const struct index *ix, uint32_t i)
{
	uint32_t name = ix->names[i];

	while (name && i-- > 0)
		if (!is_bracketed(ix, i) && ix->names[i] == name)
			return ix->starts[i];
	return 0;
}

/* The name of the known symbol below (step -1) or above the bracket. */
static void put_bound(struct symbolizer *s, struct symbol_table *t, uint32_t i, int step,
		      struct buf *out)
{
	const struct index *ix = &t->index;
	uint32_t at = step < 0 ? ix->names[i] : ix->ends[i];
	const char *name = index_text(ix, at);
	struct buf text = { 0 };

	/* Beyond either end, the index is no smaller than n. */
	while (i < ix->n && (is_bracketed(ix, i) || ix->names[i] != at))
		i += (uint32_t)step;
	buf_str(out, readable_name(s->readable, t, name, index_language(ix, i), NAME_SHORT, &text)
			     ? buf_cstr(&text)
			     : name);
	buf_fini(&text);
}

static void put_bracketed(struct symbolizer *s, struct symbol_table *t, uint32_t i, struct buf *out)
{
	const struct index *ix = &t->index;
	const char *low = index_text(ix, ix->names[i]);
	bool is_shared = (i > 0 && is_same_bracket(ix, i, i - 1)) ||
			 (i + 1 < ix->n && is_same_bracket(ix, i, i + 1));

	if (!*low) {
		buf_printf(out, "%s+0x%" PRIx64, path_file_name(t->image.path), ix->starts[i]);
		return;
	}
	put_bound(s, t, i, -1, out);
	if (is_shared)
		buf_printf(out, "+0x%" PRIx64, ix->starts[i] - bracket_start(ix, i));
	buf_str(out, "..");
	put_bound(s, t, i, 1, out);
}

const char *symbol_name(struct symbolizer *s, const struct symbol_table *table, uint32_t i)
{
	/* Names are a cache of the table, which is otherwise immutable and belongs to `s`. */
	struct symbol_table *t = (struct symbol_table *)table;
	const struct index *ix = &t->index;
	const char *plain;

	if (i >= ix->n)
		return "";
	if (!t->names)
		t->names = xcalloc(ix->n, sizeof(*t->names));
	if (t->names[i])
		return t->names[i];
	plain = index_text(ix, ix->names[i]);
	s->scratch.len = 0;
	if (is_bracketed(ix, i))
		put_bracketed(s, t, i, &s->scratch);
	else if (!readable_name(s->readable, t, plain, index_language(ix, i), NAME_LONG,
				&s->scratch))
		return t->names[i] = plain;
	return t->names[i] = arena_strndup(s->names, buf_cstr(&s->scratch), s->scratch.len);
}

bool symbol_short_name(struct symbolizer *s, const struct symbol_table *table, uint32_t i,
		       struct buf *out)
{
	/* as symbol_name(): results are kept in the table */
	struct symbol_table *t = (struct symbol_table *)table;

	return i < t->index.n &&
	       readable_name(s->readable, t, index_text(&t->index, t->index.names[i]),
			     index_language(&t->index, i), NAME_SHORT, out);
}

enum symbol_status symbol_table_status(const struct symbol_table *t)
{
	return t->status;
}

const char *symbol_table_detail(const struct symbol_table *t)
{
	return t->detail ? t->detail : "";
}
