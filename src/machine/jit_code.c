/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_code.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/intmap.h"
#include "foreign/jitdump.h"
#include "guard/limits.h"
#include "guard/open.h"
#include "machine/jit_index.h"

#define READ_BYTES ((size_t)1 << 20)

/* A live dump is read by parts of this size, as the rings fill meanwhile. */
#define READ_AT_ONCE ((uint64_t)64 << 20)

struct jit_code {
	uint32_t n_refs;
	int32_t pid;
	char *path;
	int fd;
	bool is_live, has_other_clock, is_refused, is_refusal_taken;
	struct guard_share share;
	struct jitdump dump;
	struct buf unread;       /* bytes of an incomplete record */
	uint64_t read_off;       /* of the file: bytes before it were read */
	uint64_t read_until_ns;  /* records written before then were read */
	struct jit_index index;  /* of the codes */
	struct intmap found;     /* by place in the dump: codes hit by samples */
	VEC(uint32_t) unvisited; /* indexes of codes hit since the last visit */
};

/* Opening. */

bool jit_code_is_dump(const char *path)
{
	const char *slash = strrchr(path, '/'), *digits;
	size_t n;

	if (!slash || strncmp(slash, "/jit-", 5) != 0)
		return false;
	digits = slash + 5;
	n = strspn(digits, "0123456789");
	return n && !strcmp(digits + n, ".dump");
}

/*
 * Opens the path below the process's root, as the process sees it. A live process's dump must
 * belong to the user of the process. A dump that a recording names may belong to anybody.
 */
static int open_dump_file(const struct jit_code_config *c)
{
	struct guard_rules rules = { .max_bytes = JIT_DUMP_MAX_BYTES, .owner = GUARD_ANY_OWNER };
	cleanup(close_at_exit) int root = c->proc ? guard_root(c->proc, c->pid) : -1;
	int fd = -1;

	if (c->proc)
		rules = guard_rules_of_process(c->proc, c->pid, JIT_DUMP_MAX_BYTES);
	rules.is_link_refused = true;
	if (root >= 0)
		fd = guard_open(root, c->path, &rules, NULL);
	return fd >= 0 ? fd : guard_open(GUARD_HERE, c->path, &rules, NULL);
}

struct jit_code *jit_code_open(const struct jit_code_config *config)
{
	int fd = open_dump_file(config);
	struct jit_code *j;
	struct stat st;

	if (fd < 0)
		return NULL;
	j = xcalloc(1, sizeof(*j));
	j->n_refs = 1;
	j->pid = config->pid;
	j->path = xstrdup(config->path);
	j->fd = fd;
	j->is_live = config->proc != NULL;
	j->has_other_clock = config->has_other_clock;
	j->share = (struct guard_share){ config->budget, fstat(fd, &st) ? 0 : st.st_uid, 0 };
	jitdump_init(&j->dump);
	j->dump.skips_lines = true;
	return j;
}

struct jit_code *jit_code_ref(struct jit_code *j)
{
	if (j)
		j->n_refs++;
	return j;
}

void jit_code_unref(struct jit_code *j)
{
	if (!j || --j->n_refs)
		return;
	guard_share_set(&j->share, 0);
	jitdump_fini(&j->dump);
	buf_fini(&j->unread);
	jit_index_fini(&j->index);
	intmap_fini(&j->found);
	vec_fini(&j->unvisited);
	close(j->fd);
	free(j->path);
	free(j);
}

const char *jit_code_path(const struct jit_code *j)
{
	return j->path;
}

/* Reading. */

/* A refused dump gives no names at all, as later records could replace the known ones. */
static void jit_code_refuse(struct jit_code *j)
{
	jitdump_fini(&j->dump);
	jitdump_init(&j->dump);
	j->dump.is_broken = j->is_refused = true;
	jit_index_fini(&j->index);
	vec_fini(&j->unvisited);
	buf_fini(&j->unread);
	guard_share_set(&j->share, 0);
}

static bool jit_code_read_piece(struct jit_code *j)
{
	struct buf *b = &j->unread;
	size_t used;
	ssize_t n;

	buf_reserve(b, READ_BYTES);
	n = pread(j->fd, b->data + b->len, READ_BYTES, (off_t)j->read_off);
	if (n <= 0)
		return false;
	b->len += (size_t)n;
	j->read_off += (uint64_t)n;
	used = jitdump_feed(&j->dump, b->data, b->len, j->read_off - b->len);
	memmove(b->data, b->data + used, b->len - used);
	b->len -= used;
	if (b->len > JIT_DUMP_RECORD_MAX_BYTES || j->read_off > JIT_DUMP_MAX_BYTES)
		jit_code_refuse(j);
	return !j->dump.is_broken;
}

static uint64_t jit_code_memory(const struct jit_code *j)
{
	return sizeof(*j) + jitdump_memory(&j->dump) + j->unread.len + jit_index_memory(&j->index);
}

/* Reads the rest of the file, or a part of it. The dump of a process that has gone is read once. */
static void jit_code_read_rest(struct jit_code *j)
{
	uint64_t until_ns = j->is_live ? clock_monotonic_ns() : UINT64_MAX;
	uint64_t limit = j->is_live ? j->read_off + READ_AT_ONCE : UINT64_MAX;

	while (!j->dump.is_broken && j->read_off < limit && jit_code_read_piece(j)) {
		jit_index_add(&j->index, &j->dump);
		if (!guard_share_set(&j->share, jit_code_memory(j)))
			jit_code_refuse(j);
	}
	jit_index_add(&j->index, &j->dump);
	if (!j->unread.len)
		buf_fini(&j->unread);
	j->read_until_ns = until_ns;
}

/* Finding. */

bool jit_code_take_refusal(struct jit_code *j)
{
	bool is_news = j->is_refused && !j->is_refusal_taken;

	j->is_refusal_taken |= is_news;
	return is_news;
}

bool jit_code_find(struct jit_code *j, uint64_t addr, uint64_t time_ns, uint64_t *file_off)
{
	const struct jitdump_code *code;
	bool is_new;

	if (time_ns >= j->read_until_ns || !j->read_until_ns)
		jit_code_read_rest(j);
	if (j->has_other_clock || j->dump.is_arch_clock)
		time_ns = UINT64_MAX;
	code = jit_index_find(&j->index, &j->dump, addr, time_ns);
	if (!code)
		return false;
	*file_off = code->file_off + (addr - code->addr);
	intmap_put(&j->found, code->file_off, &is_new);
	if (is_new)
		vec_push(&j->unvisited, (uint32_t)(code - j->dump.codes.data));
	return true;
}

void jit_code_names(struct jit_code *j, jit_code_visit visit, void *context)
{
	vec_foreach (&j->unvisited, i) {
		const struct jitdump_code *c = &j->dump.codes.data[*i];

		visit(context, c->file_off, c->size, strings_get(&j->dump.strings, c->name));
	}
	j->unvisited.n = 0;
}
