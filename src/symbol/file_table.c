/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of ELF files, and of the vdso, which is an ELF file in memory. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/error.h"
#include "machine/image_file.h"
#include "machine/vdso32.h"
#include "symbol/cache.h"
#include "symbol/debug_file.h"
#include "symbol/debuginfod.h"
#include "symbol/file_symbols.h"
#include "symbol/image_places.h"
#include "symbol/table.h"

/* An index of this size leaves the memory that the parser shares when it is kept. */
#define LAY_DOWN_BYTES 65536

/* The state of making one image's table. */
struct making {
	struct symbolizer *s;
	struct symbol_table *t;
	struct debug_search search;
	struct image_place place; /* path NULL: not found yet */
	struct file_mapping file;
	enum image_found found;     /* of `file` */
	struct build_id tried, key; /* of the cache: looked up for the image; of the file */
	struct file_symbols_question question;
	struct buf request; /* the question's bytes, which it does not own */
	bool is_cached;     /* the table has an index of the cache, of this file or of an old one */
	bool is_kept;       /* the cache has the answer, which is large */
	bool is_of_others;  /* the answer is from a file that image_file_may_use() refuses */
};

static void explain_stripped(struct symbol_table *t, const char *passed_over)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(&t->index.header->own_id, hex);
	if (t->index.header->flags & INDEX_OLD_GO)
		table_fail(t, t->status,
			   "%s: is stripped, and its Go is too old (1.15 or older): build it "
			   "with Go 1.16 or newer, or without -ldflags=-s",
			   t->image.path);
	else if (passed_over)
		table_fail(t, t->status, "%s: is stripped, and %s belongs to another build of it",
			   t->image.path, passed_over);
	else if (*hex)
		table_fail(t, t->status,
			   "%s: is stripped and no debug file was found; its package's debug "
			   "symbols would name its functions (build id %s)",
			   t->image.path, hex);
	else
		table_fail(t, t->status,
			   "%s: is stripped and no debug file was found (it has no build id)",
			   t->image.path);
}

/* ---- the parser ---- */

/* A debug file, for the parser. */
static int open_wish(void *context, struct reader *wish, struct file_mapping *out, bool *is_trusted)
{
	struct making *m = context;
	int r = debug_file_serve(&m->search, wish, out, NULL);

	if (r < 0)
		return r;
	*is_trusted = image_file_is_trusted(out, m->found);
	m->is_of_others |= m->file.base && !image_file_may_use(&m->file, out, m->found);
	return r;
}

static struct parser_question make_question(struct making *m)
{
	m->question = (struct file_symbols_question){ m->t->image.build_id, m->t->is_of_objects };
	m->request = (struct buf){ .data = (void *)&m->question, .len = sizeof(m->question) };
	return (struct parser_question){
		.row = m->s->files.process ? &file_symbols_kept_row : &file_symbols_row,
		.file = &m->file,
		.is_trusted = image_file_is_trusted(&m->file, m->found),
		.request = &m->request,
		.open = open_wish,
		.context = m,
		.deadline_ms = symbolizer_parser_ms(m->s),
		.is_strict = m->s->names_ms,
	};
}

/* ---- tables ---- */

static bool fail_if_changed(struct making *m)
{
	char was[BUILD_ID_HEX_SIZE], is[BUILD_ID_HEX_SIZE];
	struct symbol_table *t = m->t;

	if (t->image.kind != IMAGE_FILE ||
	    finder_is_right(&m->s->files, &t->image, &m->place, &m->file, &m->search.build_id))
		return false;
	build_id_hex(&t->image.build_id, was);
	build_id_hex(&m->search.build_id, is);
	if (*was && !strcmp(was, is))
		table_fail(t, SYMBOL_CHANGED,
			   "%s: is not the file that was profiled: the profiled file had the same "
			   "build id, %s, and another content",
			   t->image.path, is);
	else if (*was)
		table_fail(t, SYMBOL_CHANGED,
			   "%s: has changed since it was profiled (its build id was %s, now it has "
			   "%s)",
			   t->image.path, was, *is ? is : "none");
	else
		table_fail(t, SYMBOL_CHANGED,
			   "%s: is not the file that was profiled: the profiled file had no build "
			   "id and another %s",
			   t->image.path, image_has_identity(&t->image) ? "content" : "inode");
	return true;
}

/*
 * A cached index with all symbols stays good. A stripped image's index is good until a file that
 * could give a better one appears or changes.
 */
static bool is_cached_good(const struct making *m)
{
	struct debug_search search = m->search;
	const struct index *ix = &m->t->index;

	if (m->t->status != SYMBOL_DYNSYM)
		return true;
	search.build_id = ix->header->own_id;
	search.link_name = index_text(ix, ix->header->debug_link);
	if (!*search.link_name)
		search.link_name = NULL;
	return ix->header->evidence == debug_file_evidence(&search);
}

/* Variables are asked for seldom, so the cache has functions alone. */
static struct build_id making_key(const struct making *m, const struct build_id *id)
{
	if (m->t->is_of_objects)
		return (struct build_id){ 0 };
	return symbolizer_key(m->s, &m->t->image, &m->file, id, m->found);
}

/* Before the parser is asked: an index that was made of this file. */
static bool use_cached(struct making *m)
{
	struct symbol_table *t = m->t;
	struct build_id id = symbolizer_known_id(&t->image, &m->file, m->found);

	m->key = making_key(m, &id);
	if (build_id_equal(&m->key, &m->tried) || !table_from_cache(m->s, t, &m->key))
		return false;
	if (!finder_is_right(&m->s->files, &t->image, &m->place, &m->file,
			     &t->index.header->own_id)) {
		table_forget(t);
		return false;
	}
	if (!is_cached_good(m))
		return false;
	if (t->status == SYMBOL_DYNSYM)
		explain_stripped(t, NULL);
	return true;
}

/* A server may have a debug file, but was not asked yet. */
static bool may_come_later(const struct making *m)
{
	return m->t->status == SYMBOL_DYNSYM && debuginfod_n_unasked(m->s->files.debuginfod) > 0;
}

/* Takes over the answer, which has a block. */
static void adopt_answer(struct making *m, const struct file_symbols *found,
			 struct parser_answer *answer)
{
	struct symbol_table *t = m->t;

	table_adopt_answer(t, answer, found->block, found->block_size);
	if (t->status == SYMBOL_DYNSYM) /* is_cached_good() asks for it */
		t->block->evidence = debug_file_evidence(&m->search);
	t->block->own_id = found->head.build_id;
	if (found->head.is_cut) {
		table_fail(t, t->status, "%s: was cut short while its symbols were read",
			   t->image.path);
		return;
	}
	if (!m->is_of_others && !may_come_later(m)) {
		table_to_cache(m->s, t, &m->key, m->file.uid);
		m->is_kept = found->block_size >= LAY_DOWN_BYTES;
	}
	if (t->status == SYMBOL_DYNSYM) {
		cleanup(free_at_exit) char *passed_over =
			debug_file_path(&m->search, found->head.passed_over);

		explain_stripped(t, passed_over);
	}
}

static void make_of_answer(struct making *m, struct parser_answer *answer)
{
	struct symbol_table *t = m->t;
	struct file_symbols found;

	file_symbols_read(&found, answer->bytes, answer->size); /* the row has checked it */
	if (found.head.result < 0) {
		table_fail(t, SYMBOL_DAMAGED, "%s: %s", t->image.path, found.text);
		return;
	}
	m->search.build_id = found.head.build_id;
	m->search.link_name = *found.link_name ? found.link_name : NULL;
	if (fail_if_changed(m))
		return;
	if (t->image.kind == IMAGE_FILE)
		m->key = making_key(m, &m->search.build_id);
	if (found.block)
		adopt_answer(m, &found, answer);
	else
		table_fail(t, SYMBOL_NONE, "%s: has no symbols and no code", t->image.path);
}

#define COME_LATER "%s: its names come later"

static void make_of_result(struct making *m, struct parser_result *result)
{
	if (result->error < 0 && symbolizer_leaves_file(m->s))
		table_fail(m->t, SYMBOL_UNPARSED, COME_LATER, m->t->image.path);
	else if (result->error < 0)
		table_fail(m->t, SYMBOL_UNPARSED, "%s: its symbols were not read: %s",
			   m->t->image.path, result->why.text);
	else
		make_of_answer(m, &result->answer);
	m->search.link_name = NULL; /* was the answer's */
	parser_answer_fini(&result->answer);
	if (m->is_kept && table_lay_down(m->s, m->t, &m->key))
		m->is_cached = false; /* the index is this file's, and not an old one */
}

/* Of a file that is not the image's, fail_if_changed() gives the reason. */
static int find_file(struct making *m, struct error *err)
{
	struct finder *files = &m->s->files;
	int r = finder_open(files, &m->t->image, &m->place, &m->file, err);

	m->search.root = m->place.root;
	m->search.image_path = m->place.below;
	m->found = symbolizer_found(m->s, &m->t->image, m->place.path);
	return r == -ESTALE ? finder_map(files, &m->place, &m->file, err) : r;
}

/* Whether there is a file that the parser has to read. */
static bool needs_parser(struct making *m)
{
	const char *path;
	struct error err = { 0 };
	int r;

	if (m->is_cached && m->t->status != SYMBOL_DYNSYM)
		return false;
	r = find_file(m, &err);
	path = m->place.path;
	if (m->is_cached && is_cached_good(m))
		return false;
	if (r == -ENOENT || r == -ENOTDIR)
		table_fail(m->t, SYMBOL_MISSING, "%s: the file is not there any more", path);
	else if (r < 0)
		table_fail(m->t, SYMBOL_UNREADABLE, "%s", err.text);
	return r == 0 && !use_cached(m);
}

char *image_path_without_mark(const struct image *image)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(image->path);
	bool is_marked = len >= sizeof(mark) && image->build_id.len &&
			 !strcmp(image->path + len - strlen(mark), mark);

	return xstrndup(image->path, is_marked ? len - strlen(mark) : len);
}

static void begin_making(struct making *m, struct symbolizer *s, struct symbol_table *t)
{
	*m = (struct making){
		.s = s,
		.t = t,
		.search = { .process = s->files.process,
			    .debug_dir = s->files.debug_dir,
			    .finder = &s->files },
	};
	if (!t->is_of_objects)
		m->tried = image_cache_key(&t->image);
	m->is_cached = table_from_cache(s, t, &m->tried);
}

/* A kept index serves a file that is gone. One with all names serves a stripped file, too. */
static bool wants_kept(const struct making *m)
{
	const struct symbol_table *t = m->t;
	int kept;

	if (!t->index.header || t->status != SYMBOL_DYNSYM || !m->s->kept_dir || !m->tried.len)
		return !t->index.header;
	kept = cache_status(m->s->kept_dir, &m->tried);
	return kept == SYMBOL_SYMTAB || kept == SYMBOL_DEBUG_FILE;
}

static void end_making(struct making *m)
{
	struct symbol_table *t = m->t;

	/* without the file, an old index is better than none */
	if (m->is_cached && !t->block && t->index.header) {
		t->status = t->index.header->status;
		if (t->status == SYMBOL_DYNSYM)
			explain_stripped(t, NULL);
	}
	if (wants_kept(m) && table_from_kept(m->s, t, &m->tried) && t->status == SYMBOL_DYNSYM)
		explain_stripped(t, NULL);
	file_unmap(&m->file);
	free(m->place.path);
}

/* Tables whose images the parser is asked for at once. */
struct batch {
	struct making *making;
	struct parser_question *questions;
	struct parser_result *results;
	size_t n;
};

static void make_batch(struct batch *b)
{
	parser_ask_all(b->questions, b->n, b->results);
	for (size_t i = 0; i < b->n; i++) {
		make_of_result(&b->making[i], &b->results[i]);
		end_making(&b->making[i]);
	}
	b->n = 0;
}

/* Each image of a batch holds a descriptor; the parser and the cache need some, too. */
static size_t files_at_once(void)
{
	struct rlimit limit;

	if (!parser_uses_children() || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	return MAX((size_t)1, MIN((size_t)limit.rlim_cur / 16, (size_t)32));
}

void make_file_tables(struct symbolizer *s, struct symbol_table *const *tables, size_t n)
{
	/* Each of those at once has all the time that is left. */
	size_t max = MIN(n, s->names_ms ? MIN(files_at_once(), (size_t)2) : files_at_once());
	struct batch b = {
		.making = xcalloc(max, sizeof(*b.making)),
		.questions = xcalloc(max, sizeof(*b.questions)),
		.results = xcalloc(max, sizeof(*b.results)),
	};

	for (size_t i = 0; i < n; i++) {
		struct making *m = &b.making[b.n];

		begin_making(m, s, tables[i]);
		if (!needs_parser(m)) {
			end_making(m);
		} else if (symbolizer_leaves_file(s)) {
			table_fail(m->t, SYMBOL_UNPARSED, COME_LATER, m->t->image.path);
			end_making(m);
		} else {
			b.questions[b.n++] = make_question(m);
		}
		if (b.n == max)
			make_batch(&b);
	}
	make_batch(&b);
	free(b.making);
	free(b.questions);
	free(b.results);
}

static void make_of_vdso(struct making *m)
{
	struct parser_question q = make_question(m);
	struct parser_result result = { 0 };

	result.error = parser_ask_here(&q, &result.answer, &result.why);
	make_of_result(m, &result);
}

/*
 * The kernel maps the same vdso into us as into other processes of our word size. Its section
 * headers come last, and whole pages are mapped.
 */
static bool find_own_vdso(struct file_mapping *out)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!vdso || vdso->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	out->base = (const uint8_t *)vdso;
	out->size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	return true;
}

/* The recording may be of another kernel. */
static bool find_vdso32(const struct build_id *wanted, struct file_mapping *out)
{
	struct build_id id = vdso32_build_id();

	return (!wanted->len || build_id_equal(wanted, &id)) &&
	       vdso32_bytes(&out->base, &out->size);
}

void make_vdso_table(struct symbolizer *s, struct symbol_table *t)
{
	struct making m = {
		.s = s,
		.t = t,
		.search = { .root = s->files.root,
			    .debug_dir = s->files.debug_dir,
			    .image_path = "" },
		.tried = t->image.build_id,
		.key = t->image.build_id, /* of the kernel */
	};

	if (!table_from_cache(s, t, &t->image.build_id)) {
		bool is_of_32_bit = !strcmp(t->image.path, IMAGE_PATH_VDSO32);

		if (is_of_32_bit ? find_vdso32(&t->image.build_id, &m.file)
				 : find_own_vdso(&m.file))
			make_of_vdso(&m);
		else
			table_fail(t, SYMBOL_MISSING, "%s: this kernel has no such vdso%s",
				   t->image.path, is_of_32_bit ? " for 32-bit programs" : "");
	}
	/* It only has dynamic symbols; no other file would have more. */
	if (t->status == SYMBOL_DYNSYM)
		table_fail(t, SYMBOL_SYMTAB, "%s", "");
}
