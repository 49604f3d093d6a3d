/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "machine/kernel_map.h"
#include "symbol/kallsyms.h"
#include "symbol/table.h"

#define LIST_BYTES_MAX ((size_t)1 << 30)

/* ---- drafts ---- */

static enum index_draft_binding binding_of(char type)
{
	return strchr("wWvV", type) ? DRAFT_WEAK : type >= 'a' ? DRAFT_LOCAL : DRAFT_GLOBAL;
}

static bool ends_with(const struct kernel_symbol *s, const char *suffix, size_t len)
{
	return s->name_len >= len && !memcmp(s->name + s->name_len - len, suffix, len);
}

/*
 * The linker script's marks of starts and ends of sections (_text, __sched_text_start,
 * __entry_text_end). They are global, but a function at the same address is the running code.
 */
static bool is_section_mark(const struct kernel_symbol *s)
{
	return s->name[0] == '_' && (ends_with(s, "text", 4) || ends_with(s, "text_start", 10) ||
				     ends_with(s, "text_end", 8));
}

void draft_symbols_of(struct index_draft *d, const struct kallsyms *k, struct symbol_span among,
		      int module, uint64_t base, uint64_t span)
{
	uint8_t rank;

	for (size_t i = among.from; i < among.to; i++) {
		const struct kernel_symbol *s = &k->symbols.data[i];

		if ((module != EVERY_MODULE && s->module != module) || s->addr < base ||
		    s->addr - base >= span)
			continue;
		rank = UINT8_MAX;
		if (s->name)
			rank = index_draft_rank(!is_section_mark(s), binding_of(s->type));
		vec_push(&d->symbols, (struct index_draft_symbol){
					      .offset = s->addr - base,
					      .name = s->name,
					      .name_len = s->name ? s->name_len : 0,
					      .rank = rank,
					      .is_end = !s->name,
					      .is_bound = true,
				      });
	}
}

void draft_kernel_symbols(struct index_draft *d, const struct kallsyms *k, int module,
			  uint64_t base, uint64_t span)
{
	draft_symbols_of(d, k, (struct symbol_span){ 0, k->symbols.n }, module, base, span);
}

/* ---- in the parser ---- */

static enum kernel_symbols_result draft_answer(struct index_draft *d, const struct kallsyms *k,
					       const struct kernel_symbols_question *q)
{
	int module;

	if (k->is_hidden)
		return KERNEL_SYMBOLS_HIDDEN;
	if (!*q->module) {
		if (!k->text_addr)
			return KERNEL_SYMBOLS_NO_TEXT;
		draft_kernel_symbols(d, k, 0, k->text_addr, KERNEL_SPAN_MAX);
		return KERNEL_SYMBOLS_FOUND;
	}
	module = kallsyms_module(k, q->module);
	if (module < 0)
		return KERNEL_SYMBOLS_NO_MODULE;
	draft_kernel_symbols(d, k, module, q->base, q->span);
	return KERNEL_SYMBOLS_FOUND;
}

/* The lines of a module, so that a profile with many modules does not read each line for each. */
static void put_lines_of(struct buf *out, const struct file_mapping *list, const char *module)
{
	cleanup(free_at_exit) char *mark = xasprintf("\t[%s]", module);
	const uint8_t *at = list->base, *end = list->base + list->size, *found;

	while (at < end && (found = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
		const uint8_t *line = memrchr(at, '\n', (size_t)(found - at));
		const uint8_t *next = memchr(found, '\n', (size_t)(end - found));

		line = line ? line + 1 : at;
		next = next ? next + 1 : end;
		buf_bytes(out, line, (size_t)(next - line));
		at = next;
	}
}

static void kernel_symbols_run(struct parser_job *job)
{
	const struct kernel_symbols_question *asked = reader_bytes(&job->request, sizeof(*asked));
	struct kernel_symbols_question q = { 0 };
	struct kernel_symbols_head head = { 0 };
	struct index_header *block = NULL;
	struct index_draft d = { 0 };
	struct kallsyms k = { 0 };
	struct buf lines = { 0 };
	size_t size = 0;

	if (!asked)
		return;
	memcpy(&q, asked, sizeof(q));
	q.module[sizeof(q.module) - 1] = '\0';
	if (*q.module)
		put_lines_of(&lines, job->file, q.module);
	if (lines.len)
		kallsyms_parse(&k, (const char *)lines.data, lines.len);
	else
		kallsyms_parse(&k, (const char *)job->file->base, job->file->size);
	head.result = draft_answer(&d, &k, &q);
	vec_fini(&k.symbols); /* the names are in the lines */
	if (head.result == KERNEL_SYMBOLS_FOUND) {
		block = index_draft_finish(&d, &size);
		block->status = SYMBOL_KALLSYMS;
	}
	buf_reserve(job->answer, sizeof(head) + size);
	buf_bytes(job->answer, &head, sizeof(head));
	buf_bytes(job->answer, block, size);
	free(block);
	index_draft_fini(&d);
	kallsyms_fini(&k);
	buf_fini(&lines);
}

/* ---- in the process that asks ---- */

bool kernel_symbols_read(enum kernel_symbols_result *result, const void **block, size_t *block_size,
			 const void *bytes, size_t size)
{
	const struct kernel_symbols_head *head = bytes;
	struct index index;

	if (size < sizeof(*head) || head->result >= N_KERNEL_SYMBOLS_RESULTS)
		return false;
	*result = head->result;
	*block_size = size - sizeof(*head);
	*block = *block_size ? head + 1 : NULL;
	if (*result != KERNEL_SYMBOLS_FOUND)
		return !*block;
	return *block && index_open(&index, *block, *block_size) &&
	       index.header->status == SYMBOL_KALLSYMS;
}

static bool kernel_symbols_check(const void *bytes, size_t size)
{
	enum kernel_symbols_result result;
	struct index index;
	const void *block;
	size_t block_size;

	return kernel_symbols_read(&result, &block, &block_size, bytes, size) &&
	       (!block || (index_open(&index, block, block_size) && index_is_sound(&index)));
}

const struct parser_row kernel_symbols_row = {
	.name = "kernel-symbols",
	.run = kernel_symbols_run,
	.check = kernel_symbols_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

static int copy_bytes(int from, int to)
{
	char bytes[16384];
	size_t size = 0;
	ssize_t n;
	int r = 0;

	while (!r && (n = read(from, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : file_write_all(to, bytes, (size_t)n);
		size += n > 0 ? (size_t)n : 0;
		if (size > LIST_BYTES_MAX)
			r = -EFBIG;
	}
	/* The parser maps no empty file. */
	return r || size ? r : file_write_all(to, "\n", 1);
}

/* A file of /proc can't be mapped. So the parser gets a copy, which this process does not map. */
static int hold_copy(const char *path, struct file_mapping *out)
{
	cleanup(close_at_exit) int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = from < 0 ? -1 : memfd_create("kallsyms", MFD_CLOEXEC);
	int r;

	if (to < 0)
		return -errno;
	r = copy_bytes(from, to);
	if (r == 0)
		return file_hold_fd(to, path, out, NULL);
	close(to);
	return r;
}

static int take_answer(struct symbolizer *s, struct symbol_table *t, struct parser_answer *answer)
{
	enum kernel_symbols_result result;
	const void *block;
	size_t size;

	kernel_symbols_read(&result, &block, &size, answer->bytes, answer->size);
	if (result == KERNEL_SYMBOLS_HIDDEN)
		table_fail_hidden(t);
	else if (result == KERNEL_SYMBOLS_NO_TEXT)
		table_fail_textless(t, s->kallsyms_path);
	else if (result == KERNEL_SYMBOLS_FOUND)
		table_adopt_answer(t, answer, block, size);
	parser_answer_fini(answer);
	return (int)result;
}

int ask_kernel_symbols(struct symbolizer *s, struct symbol_table *t,
		       const struct kernel_symbols_question *question)
{
	const struct buf request = { .data = (void *)question, .len = sizeof(*question) };
	const struct parser_question q = { .row = &kernel_symbols_row,
					   .file = &s->kallsyms_copy,
					   .is_trusted = true,
					   .request = &request,
					   .deadline_ms = symbolizer_parser_ms(s),
					   .is_strict = s->names_ms };
	struct parser_answer answer = { 0 };
	struct error why = { 0 };
	int r = s->kallsyms_copy.size ? 0 : hold_copy(s->kallsyms_path, &s->kallsyms_copy);

	if (r < 0) {
		table_fail(t, SYMBOL_UNREADABLE, "kernel symbols: %s: %s", s->kallsyms_path,
			   strerror(-r));
		return r;
	}
	r = parser_ask(&q, &answer, &why);
	if (r == 0)
		return take_answer(s, t, &answer);
	table_fail(t, SYMBOL_UNPARSED, "kernel symbols: %s was not read: %s", s->kallsyms_path,
		   why.text);
	return r;
}
