/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "symbol/debug_file.h"
#include "symbol/debuginfod.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/lines/file_dump.h"
#include "symbol/lines/file_lines.h"
#include "symbol/split_files.h"
#include "symbol/table.h"

/* The state of making one image's lines. */
struct making {
	struct symbolizer *s;
	struct line_table *t;
	const struct image *image;
	const char *root, *path;       /* of the image: path without root */
	struct image_place place;      /* of a FILE image */
	struct build_id build_id, key; /* the image's; the cache's */
	enum image_found found;        /* of a FILE image */
	struct debug_search search;
	struct module_file module;
	struct file_mapping image_file;
	struct elf_file elf;
	char *debug_path;  /* of the debug file that the parser got, or of the image */
	bool is_of_others; /* the lines are from a file that image_file_may_use() refuses */
};

static void line_table_making_fini(struct making *m)
{
	module_file_close(&m->module);
	file_unmap(&m->image_file);
	free(m->debug_path);
	free(m->place.path);
}

/* ---- wishes of the parser ---- */

static int open_path(const struct making *m, char *path, struct file_mapping *out)
{
	int r = symbolizer_map(m->s, path, out, NULL);

	free(path);
	return r;
}

static int open_debug_file(struct making *m, struct reader *wish, struct file_mapping *out)
{
	char *path;
	int r = debug_file_serve(&m->search, wish, out, &path);

	if (r < 0)
		return r;
	free(m->debug_path);
	m->debug_path = path;
	return r;
}

static int open_alt(const struct making *m, struct reader *wish, struct file_mapping *out)
{
	uint8_t place = reader_u8(wish);
	const void *bytes = reader_bytes(wish, sizeof(struct build_id));
	const char *name = reader_cstr(wish);
	struct build_id id;

	if (wish->bad)
		return -EINVAL;
	if (!place)
		return open_path(m, common_debug_path(m->s->files.root, m->debug_path, name), out);
	memcpy(&id, bytes, sizeof(id));
	return id.len && id.len <= BUILD_ID_MAX ? common_debug_open(&m->search, &id, out, NULL)
						: -EINVAL;
}

/* Files of the kernel are read by several threads, and have no such list. */
static void keep_missing_split(struct making *m, const struct reader *wish)
{
	if (m->image->kind == IMAGE_FILE && !m->t->missing_split.len)
		buf_bytes(&m->t->missing_split, wish->at, reader_left(wish));
}

static int open_split(struct making *m, struct reader *wish, struct file_mapping *out)
{
	const struct reader whole = *wish;
	uint64_t id;
	int r = split_file_serve(&m->search, wish, out, NULL, &id);

	if (r < 0 && id)
		keep_missing_split(m, &whole);
	return r;
}

static int open_any(struct making *m, struct reader *wish, struct file_mapping *out)
{
	struct reader rest = *wish;

	switch (reader_u8(&rest)) {
	case WISH_DEBUG_FILE:
		return open_debug_file(m, wish, out);
	case WISH_ALT_FILE:
		return open_alt(m, &rest, out);
	case WISH_PACKAGE:
	case WISH_SPLIT:
		return open_split(m, wish, out);
	default:
		return -EINVAL;
	}
}

static int line_table_open_wish(void *context, struct reader *wish, struct file_mapping *out,
				bool *is_trusted)
{
	struct making *m = context;
	int r = open_any(m, wish, out);

	if (r < 0)
		return r;
	*is_trusted = image_file_is_trusted(out, m->found);
	m->is_of_others |=
		m->image->kind == IMAGE_FILE && !image_file_may_use(&m->image_file, out, m->found);
	return r;
}

/* ---- answers ---- */

/* An empty index does not stay in the table. */
static void forget_block(struct line_table *t)
{
	parser_answer_fini(&t->answer);
	file_unmap(&t->mapping);
	t->mapping = (struct file_mapping){ 0 };
	t->block = NULL;
	t->index = (struct line_index){ 0 };
}

static char *explain_losses(const struct making *m, const struct file_lines *found)
{
	const struct file_lines_head *h = &found->head;
	const char *refused = h->refused == REFUSED_IMAGE ? m->place.path : m->debug_path;

	if (*found->missing_alt)
		return xasprintf("%s: the common debug information that it refers to, %s, was not "
				 "found",
				 m->debug_path, found->missing_alt);
	if (h->refused)
		return xasprintf("%s: its compressed debug information claims to be more than 24 "
				 "times as large as the file, and is not read",
				 refused ? refused : m->path);
	if (h->n_missing_split)
		return xasprintf("%s: %" PRIu64 " of %" PRIu64 " units have their debug "
				 "information in files that were not found or are of another "
				 "build, for example %s%s",
				 m->path, h->n_missing_split, h->n_units, m->root,
				 found->missing_split);
	if (h->n_bad_units || h->is_damaged)
		return xasprintf("%s: its debug information is damaged or of an unknown kind "
				 "(%" PRIu64 " of %" PRIu64 " units)",
				 m->debug_path, h->n_bad_units, h->n_units);
	return NULL;
}

/* A server of debug files may have one tomorrow. The others are in places that evidence covers. */
static bool may_keep_nothing(const struct making *m)
{
	return m->image->kind == IMAGE_FILE && !(m->s->files.debuginfod && debuginfod_is_on());
}

static uint64_t evidence_of_nothing(const struct making *m, const struct line_index *ix)
{
	const char *link = line_index_text(ix, ix->header->debug_link);
	struct debug_search search = m->search;

	search.root = m->root;
	search.image_path = m->path;
	search.build_id = ix->header->own_id;
	search.link_name = *link ? link : NULL;
	return debug_file_evidence(&search);
}

/* Takes over the answer. */
static void line_table_adopt(struct making *m, struct parser_answer *answer)
{
	struct line_table *t = m->t;
	struct file_lines found;
	bool is_empty;

	file_lines_read(&found, answer->bytes, answer->size); /* the row has checked it */
	t->status = found.head.result < 0 ? LINES_NO_FILE : found.head.status;
	t->detail = explain_losses(m, &found);
	if (!found.block) {
		parser_answer_fini(answer);
		return;
	}
	t->answer = *answer;
	t->block = (struct line_header *)found.block;
	line_index_open(&t->index, t->block, found.block_size);
	is_empty = line_index_is_empty(&t->index);
	if (is_empty && may_keep_nothing(m))
		t->block->evidence = evidence_of_nothing(m, &t->index);
	if (!t->detail && !found.head.is_cut && !m->is_of_others && m->s->cache_dir && m->key.len &&
	    (!is_empty || may_keep_nothing(m)))
		line_cache_write(m->s->cache_dir, &m->key, m->image_file.uid, t->block,
				 found.block_size);
	if (is_empty)
		forget_block(t);
}

/* ---- making ---- */

static void ask_for_lines(struct making *m)
{
	const struct buf request = { .data = (void *)&m->image->build_id,
				     .len = sizeof(m->image->build_id) };
	const struct parser_question q = {
		.row = &file_lines_row,
		.file = &m->image_file,
		.is_trusted = image_file_is_trusted(&m->image_file, m->found),
		.request = &request,
		.open = line_table_open_wish,
		.context = m,
		.deadline_ms = m->s->names_ms ? symbolizer_parser_ms(m->s) : 0,
		.is_strict = m->s->names_ms,
	};
	struct parser_answer answer;
	struct error err = { 0 };

	m->debug_path = xstrdup(m->place.path);
	if (symbolizer_leaves_file(m->s))
		m->t->detail = xasprintf("%s: its lines come later", m->place.path);
	else if (parser_ask(&q, &answer, &err) < 0)
		m->t->detail = symbolizer_leaves_file(m->s)
				       ? xasprintf("%s: its lines come later", m->place.path)
				       : xasprintf("%s: its lines were not read: %s", m->place.path,
						   err.text);
	else
		line_table_adopt(m, &answer);
}

/* One of several threads calls it at a time only where it changes something: for a debug file. */
static int open_here(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	struct reader r = reader_over(wish->data, wish->len);
	bool is_trusted;

	return line_table_open_wish(job->context, &r, out, &is_trusted);
}

/* Root's or the user's own file of the kernel is read in this process. */
static void make_of_kernel_file(struct making *m, const struct code_segments *segments)
{
	struct buf bytes = { 0 };
	struct parser_job job = {
		.file = &m->image_file, .answer = &bytes, .open = open_here, .context = m
	};
	struct parser_answer answer;

	m->path = m->debug_path;
	file_lines_make(&job, &m->elf, segments);
	answer = (struct parser_answer){ bytes.data, bytes.len, false };
	line_table_adopt(m, &answer);
}

static void find_place(struct making *m)
{
	if (m->place.path)
		return;
	finder_find(&m->s->files, m->image, &m->place);
	m->root = m->search.root = m->place.root;
	m->path = m->search.image_path = m->place.below;
}

/* Whether an empty index, which is then forgotten, still says the truth. */
static bool is_still_nothing(struct making *m)
{
	bool is_good = may_keep_nothing(m);

	if (is_good) {
		find_place(m);
		is_good = m->t->index.header->evidence == evidence_of_nothing(m, &m->t->index);
	}
	forget_block(m->t);
	if (is_good)
		m->t->status = LINES_NONE;
	return is_good;
}

static bool open_cached(struct making *m, const struct build_id *key)
{
	if (!m->s->cache_dir || !key->len ||
	    !line_cache_open(m->s->cache_dir, key, &m->t->mapping, &m->t->index))
		return false;
	if (line_index_is_empty(&m->t->index))
		return is_still_nothing(m);
	m->t->status = LINES_CACHED;
	return true;
}

static void make_of_file(struct making *m)
{
	struct symbolizer *s = m->s;

	find_place(m);
	if (finder_map(&s->files, &m->place, &m->image_file, NULL) < 0)
		return;
	m->t->status = LINES_NONE;
	m->found = symbolizer_found(s, m->image, m->place.path);
	m->build_id = symbolizer_known_id(m->image, &m->image_file, m->found);
	if (!finder_is_right(&s->files, m->image, &m->place, &m->image_file, &m->build_id))
		return;
	m->key = symbolizer_key(s, m->image, &m->image_file, &m->build_id, m->found);
	if (!open_cached(m, &m->key))
		ask_for_lines(m);
}

static void make_of_kernel(struct making *m)
{
	struct code_segments segments = { 0 };

	if (!m->build_id.len)
		running_kernel_build_id(m->s, &m->build_id);
	m->key = m->build_id;
	if (!vmlinux_open(m->s, &m->build_id, VMLINUX_NAMES, &m->image_file, &m->elf,
			  &m->debug_path))
		return;
	m->t->status = LINES_NONE;
	if (vmlinux_segments(&m->elf, &segments))
		make_of_kernel_file(m, &segments);
	code_segments_fini(&segments);
}

/* A module's file, or its debug file, with the addresses of the loaded module. */
static void make_of_module(struct making *m)
{
	const struct symbol_table *known = symbolizer_table(m->s, m->image, NULL, 0);
	struct code_segments segments = { 0 };

	if (!module_file_open(m->s, m->image, MODULE_LINES, known, &m->module))
		return;
	m->elf = m->module.elf;
	m->debug_path = xstrdup(m->module.path);
	m->key = m->build_id;
	vec_foreach (&m->module.segments, s) {
		vec_push(&segments, *s);
	}
	make_of_kernel_file(m, &segments);
	code_segments_fini(&segments);
}

/* Code made at run time: its image is the jitdump, if there is one. */
static void make_of_dump(struct making *m)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s", m->s->files.root, m->path);
	struct error err = { 0 };
	void *block;
	size_t size;

	if (m->path[0] != '/' || symbolizer_map(m->s, path, &m->image_file, NULL) < 0)
		return;
	m->t->status = LINES_NONE;
	if (file_dump_ask(&m->image_file, DUMP_LINES, &m->t->answer, &block, &size, &err) < 0) {
		m->t->detail = xasprintf("%s: its lines were not read: %s", path, err.text);
		return;
	}
	m->t->block = block;
	if (!block) {
		parser_answer_fini(&m->t->answer);
		return;
	}
	m->t->status = LINES_OWN;
	line_index_open(&m->t->index, block, size);
}

static void (*const makers[])(struct making *m) = {
	[IMAGE_FILE] = make_of_file,
	[IMAGE_KERNEL] = make_of_kernel,
	[IMAGE_MODULE] = make_of_module,
	[IMAGE_JIT] = make_of_dump,
};

struct line_table *line_table_open(struct symbolizer *s, const struct image *image)
{
	cleanup(free_at_exit) char *path = image_path_without_mark(image);
	struct line_table *t = xcalloc(1, sizeof(*t));
	struct making m = { .s = s,
			    .t = t,
			    .image = image,
			    .root = s->files.root,
			    .path = path,
			    .build_id = image->build_id,
			    .search = { .root = s->files.root,
					.process = s->files.process,
					.debug_dir = s->files.debug_dir,
					.image_path = path,
					.finder = &s->files } };
	struct build_id key = image_cache_key(image);

	t->status = LINES_NO_FILE;
	if (!open_cached(&m, &key) && image->kind < ARRAY_SIZE(makers) && makers[image->kind])
		makers[image->kind](&m);
	line_table_making_fini(&m);
	return t;
}

/* ---- given ---- */

static int by_offset(const void *a, const void *b)
{
	const struct line_given *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

struct line_table *line_table_given(const struct given_symbol *given, size_t n)
{
	struct line_table *t = xcalloc(1, sizeof(*t));

	t->status = LINES_GIVEN;
	strings_init(&t->given_files);
	for (size_t i = 0; i < n; i++)
		if (given[i].line)
			vec_push(&t->given,
				 (struct line_given){ given[i].offset, given[i].size,
						      strings_add(&t->given_files, given[i].name),
						      given[i].line });
	if (t->given.n) {
		qsort(t->given.data, t->given.n, sizeof(*t->given.data), by_offset);
		return t;
	}
	line_table_free(t);
	return NULL;
}

size_t line_table_given_at(const struct line_table *t, uint64_t offset)
{
	size_t low = 0, high = t->given.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct line_given *at = &t->given.data[middle];

		if (at->offset <= offset && offset - at->offset >= at->size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void line_table_free(struct line_table *t)
{
	if (!t)
		return;
	vec_fini(&t->given);
	strings_fini(&t->given_files);
	if (!t->answer.bytes)
		free(t->block);
	parser_answer_fini(&t->answer);
	file_unmap(&t->mapping);
	free(t->detail);
	buf_fini(&t->missing_split);
	intmap_fini(&t->name_index);
	vec_fini(&t->names);
	free(t);
}
