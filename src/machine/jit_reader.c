/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "guard/limits.h"
#include "guard/open.h"
#include "machine/jit_piece.h"

struct jit_reader *jit_reader_new(const struct jit_reader_config *config)
{
	struct jit_reader *r = xcalloc(1, sizeof(*r));

	r->proc = config->proc ? xstrdup(config->proc) : NULL;
	r->path = xstrdup(config->path);
	r->pid = config->pid;
	r->user = UINT32_MAX;
	r->fd = -1;
	r->loss = N_LOSS_REASONS;
	r->pool = guard_pool_ref(config->pool);
	jitdump_init(&r->dump);
	return r;
}

void jit_reader_free(struct jit_reader *r)
{
	if (!r)
		return;
	guard_pool_set(r->pool, &r->share, 0);
	guard_pool_unref(r->pool);
	jitdump_fini(&r->dump);
	jit_index_fini(&r->index);
	close_at_exit(&r->fd);
	free(r->proc);
	free(r->path);
	free(r);
}

/*
 * Opens the path below the process's root, as the process sees it. A live process's dump must
 * belong to the user of the process. A dump that a recording names may belong to anybody.
 */
static int open_dump_file(const struct jit_reader *r)
{
	struct guard_rules rules = { .max_bytes = JIT_DUMP_MAX_BYTES, .owner = GUARD_ANY_OWNER };
	cleanup(close_at_exit) int root = r->proc ? guard_root(r->proc, r->pid) : -1;
	int fd = -1;

	if (r->proc)
		rules = guard_rules_of_process(r->proc, r->pid, JIT_DUMP_MAX_BYTES);
	rules.is_link_refused = true;
	if (root >= 0)
		fd = guard_open(root, r->path, &rules, NULL);
	return fd >= 0 ? fd : guard_open(GUARD_HERE, r->path, &rules, NULL);
}

bool jit_reader_open(struct jit_reader *r)
{
	struct stat st;

	if (!r->is_tried) {
		r->is_tried = true;
		r->fd = open_dump_file(r);
		r->is_over = r->fd < 0;
		r->share.user = r->fd >= 0 && fstat(r->fd, &st) == 0 ? st.st_uid : 0;
	}
	return r->fd >= 0;
}

void jit_reader_refuse(struct jit_reader *r, enum loss_reason loss)
{
	jitdump_fini(&r->dump);
	jitdump_init(&r->dump);
	jit_index_fini(&r->index);
	guard_pool_set(r->pool, &r->share, 0);
	r->is_over = true;
	r->loss = loss;
}

static uint64_t reader_memory(const struct jit_reader *r)
{
	return sizeof(*r) + jitdump_memory(&r->dump) + jit_index_memory(&r->index);
}

static void take_piece(struct jit_reader *r, const struct jit_piece *piece)
{
	jit_piece_add(piece, &r->dump);
	jit_index_add(&r->index, &r->dump);
	r->read_off = piece->head.end;
	r->flags = piece->head.flags;
	r->dump.is_arch_clock = r->flags & JIT_PIECE_ARCH_CLOCK;
	if (r->flags & JIT_PIECE_LARGE || !guard_pool_set(r->pool, &r->share, reader_memory(r)))
		jit_reader_refuse(r, LOSS_JIT_DUMP_LARGE);
	r->is_over |= (r->flags & JIT_PIECE_BROKEN) != 0;
}

/* False: no whole record is left, or nothing more is to be read. */
static bool read_piece(struct jit_reader *r, const struct file_mapping *file)
{
	struct parser_answer answer = { 0 };
	uint64_t at = r->read_off, page_at = at - at % (uint64_t)sysconf(_SC_PAGESIZE);
	struct jit_piece piece;

	if (jit_piece_ask(file, r->read_off, r->flags, &answer, &piece) < 0) {
		jit_reader_refuse(r, LOSS_FILE_UNPARSED);
		return false;
	}
	take_piece(r, &piece);
	parser_answer_fini(&answer);
	file_rest(file, page_at, r->read_off - page_at);
	return !r->is_over && r->read_off > at && r->read_off < file->size;
}

/* With a descriptor for the parser; the reader's own one stays. */
static int map_dump(int fd, struct file_mapping *file)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int r = copy < 0 ? -errno : file_hold_fd(copy, "a jitdump", file, NULL);

	return r < 0 ? r : file_map_held(file, "a jitdump", NULL);
}

/* A file that has not grown costs one system call. */
static void read_more(struct jit_reader *r)
{
	struct file_mapping file = { 0 };
	struct stat st;

	if (fstat(r->fd, &st) < 0 || (uint64_t)st.st_size == r->seen_bytes ||
	    map_dump(r->fd, &file) < 0)
		return;
	r->seen_bytes = file.size;
	if (file.size > JIT_DUMP_MAX_BYTES)
		jit_reader_refuse(r, LOSS_JIT_DUMP_LARGE);
	while (!r->is_over && r->read_off < file.size && read_piece(r, &file))
		;
	file_unmap(&file);
}

void jit_reader_read(struct jit_reader *r)
{
	uint64_t until_ns = r->proc ? clock_monotonic_ns() : UINT64_MAX;

	if (jit_reader_open(r) && !r->is_over)
		read_more(r);
	r->read_until_ns = until_ns;
}
