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

#define READ_BYTES ((size_t)1 << 20)
#define NO_CODE    UINT32_MAX

/* A live dump is read by parts of this size, as the rings fill meanwhile. */
#define READ_AT_ONCE ((uint64_t)64 << 20)

/* Codes that are compared for an address. No compiler uses an address again so often. */
#define MAX_STEPS 4096

/*
 * The index. Addresses are cut into cells of 2^shift bytes. A code has the smallest shift for which
 * a cell is as large as the code, so the code touches at most two cells. Each cell has a list of
 * its codes; the newest code is first.
 */
#define CELL_SHIFT_MIN 12
#define CELL_SHIFT_MAX 47

struct cell_entry {
	uint32_t code, older; /* index into cells; NO_CODE: none */
};

struct jit_code {
	uint32_t n_refs;
	int32_t pid;
	char *path;
	int fd;
	bool is_live, has_other_clock, is_refused, is_refusal_taken;
	struct guard_share share;
	struct jitdump dump;
	struct buf unread;      /* bytes of an incomplete record */
	uint64_t read_off;      /* of the file: bytes before it were read */
	uint64_t read_until_ns; /* records written before then were read */
	struct intmap by_cell;  /* to the newest entry */
	VEC(struct cell_entry) cells;
	uint64_t shifts;         /* a bit for each shift in use */
	size_t n_indexed;        /* codes in the lists */
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
	intmap_fini(&j->by_cell);
	intmap_fini(&j->found);
	vec_fini(&j->cells);
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

static uint64_t jit_cell_key(uint64_t addr, unsigned shift)
{
	return addr >> shift << 6 | shift;
}

static void index_code(struct jit_code *j, uint32_t i)
{
	const struct jitdump_code *c = &j->dump.codes.data[i];
	unsigned shift = CELL_SHIFT_MIN;
	uint64_t last;

	while (shift <= CELL_SHIFT_MAX && c->size > 1ull << shift)
		shift++;
	if (!c->size || shift > CELL_SHIFT_MAX)
		return; /* no process has so much memory */
	j->shifts |= 1ull << shift;
	last = (c->addr + c->size - 1) >> shift;
	for (uint64_t cell = c->addr >> shift; cell <= last; cell++) {
		bool is_new;
		uint32_t *newest =
			intmap_put(&j->by_cell, jit_cell_key(cell << shift, shift), &is_new);

		vec_push(&j->cells, (struct cell_entry){ i, is_new ? NO_CODE : *newest });
		*newest = (uint32_t)j->cells.n - 1;
	}
}

/* A refused dump gives no names at all, as later records could replace the known ones. */
static void jit_code_refuse(struct jit_code *j)
{
	jitdump_fini(&j->dump);
	jitdump_init(&j->dump);
	j->dump.is_broken = j->is_refused = true;
	intmap_fini(&j->by_cell);
	vec_fini(&j->cells);
	vec_fini(&j->unvisited);
	j->shifts = j->n_indexed = 0;
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

static void jit_code_index_rest(struct jit_code *j)
{
	for (; j->n_indexed < j->dump.codes.n; j->n_indexed++)
		index_code(j, (uint32_t)j->n_indexed);
}

static uint64_t jit_code_memory(const struct jit_code *j)
{
	return sizeof(*j) + jitdump_memory(&j->dump) + j->unread.len +
	       j->by_cell.n_slots * sizeof(*j->by_cell.slots) + j->cells.n * sizeof(*j->cells.data);
}

/* Reads the rest of the file, or a part of it. The dump of a process that has gone is read once. */
static void jit_code_read_rest(struct jit_code *j)
{
	uint64_t until_ns = j->is_live ? clock_monotonic_ns() : UINT64_MAX;
	uint64_t limit = j->is_live ? j->read_off + READ_AT_ONCE : UINT64_MAX;

	while (!j->dump.is_broken && j->read_off < limit && jit_code_read_piece(j)) {
		jit_code_index_rest(j);
		if (!guard_share_set(&j->share, jit_code_memory(j)))
			jit_code_refuse(j);
	}
	jit_code_index_rest(j);
	if (!j->unread.len)
		buf_fini(&j->unread);
	j->read_until_ns = until_ns;
}

/* Finding. */

/* Indexes of codes that cover an address; NO_CODE: none. */
struct code_choice {
	uint32_t newest_before; /* the newest that is not younger than the sample */
	uint32_t oldest_after;  /* the oldest of the younger ones */
	bool is_cut;            /* a list had too many codes */
};

static void jit_code_look_into_cell(const struct jit_code *j, uint32_t at, uint64_t addr,
				    uint64_t time_ns, struct code_choice *choice)
{
	for (int steps = 0; at != NO_CODE; at = j->cells.data[at].older, steps++) {
		uint32_t i = j->cells.data[at].code;
		const struct jitdump_code *c = &j->dump.codes.data[i];

		if (steps == MAX_STEPS) {
			choice->is_cut = true;
			return;
		}
		if (addr - c->addr >= c->size)
			continue;
		if (c->from_ns <= time_ns) {
			if (choice->newest_before == NO_CODE || choice->newest_before < i)
				choice->newest_before = i;
			return;
		}
		choice->oldest_after = MIN(choice->oldest_after, i);
	}
}

/*
 * The newest code of the address that is not younger than the sample. A compiler may write the
 * record of its code a little after the code runs: where all codes are younger, it is the oldest.
 */
static const struct jitdump_code *jit_code_at(const struct jit_code *j, uint64_t addr,
					      uint64_t time_ns)
{
	struct code_choice choice = { NO_CODE, NO_CODE, false };
	bool is_timed = !j->has_other_clock && !j->dump.is_arch_clock;
	uint32_t i;

	for (unsigned shift = CELL_SHIFT_MIN; shift <= CELL_SHIFT_MAX; shift++) {
		const uint32_t *newest =
			j->shifts >> shift & 1 ? intmap_find(&j->by_cell, jit_cell_key(addr, shift))
					       : NULL;

		if (newest)
			jit_code_look_into_cell(j, *newest, addr, is_timed ? time_ns : UINT64_MAX,
						&choice);
	}
	i = choice.newest_before;
	if (i == NO_CODE && !choice.is_cut)
		i = choice.oldest_after;
	return i == NO_CODE ? NULL : &j->dump.codes.data[i];
}

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
	code = jit_code_at(j, addr, time_ns);
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
