/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_code.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/intmap.h"
#include "foreign/jitdump.h"
#include "guard/open.h"

#define READ_BYTES ((size_t)1 << 20)
#define RECORD_MAX ((size_t)64 << 20) /* a larger function is no function */
#define DUMP_MAX   ((uint64_t)4 << 30)
#define PAGE_SHIFT 12
#define NO_CODE    UINT32_MAX

/* An entry in the list of each page that a code touches; the newest code is first. */
struct page_entry {
	uint32_t code, older; /* index into pages; NO_CODE: none */
};

struct jit_code {
	uint32_t n_refs;
	int32_t pid;
	char *path;
	int fd;
	bool is_live, has_other_clock;
	struct jitdump dump;
	struct buf unread;      /* bytes of an incomplete record */
	uint64_t read_off;      /* of the file: bytes before it were read */
	uint64_t read_until_ns; /* records written before then were read */
	struct intmap by_page;  /* to the newest entry */
	VEC(struct page_entry) pages;
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
	struct guard_rules rules = { .max_bytes = DUMP_MAX, .owner = GUARD_ANY_OWNER };
	cleanup(close_at_exit) int root = c->proc ? guard_root(c->proc, c->pid) : -1;
	int fd = -1;

	if (c->proc)
		rules = guard_rules_of_process(c->proc, c->pid, DUMP_MAX);
	rules.is_link_refused = true;
	if (root >= 0)
		fd = guard_open(root, c->path, &rules, NULL);
	return fd >= 0 ? fd : guard_open(GUARD_HERE, c->path, &rules, NULL);
}

struct jit_code *jit_code_open(const struct jit_code_config *config)
{
	int fd = open_dump_file(config);
	struct jit_code *j;

	if (fd < 0)
		return NULL;
	j = xcalloc(1, sizeof(*j));
	j->n_refs = 1;
	j->pid = config->pid;
	j->path = xstrdup(config->path);
	j->fd = fd;
	j->is_live = config->proc != NULL;
	j->has_other_clock = config->has_other_clock;
	jitdump_init(&j->dump);
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
	jitdump_fini(&j->dump);
	buf_fini(&j->unread);
	intmap_fini(&j->by_page);
	intmap_fini(&j->found);
	vec_fini(&j->pages);
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

static void index_code(struct jit_code *j, uint32_t i)
{
	const struct jitdump_code *c = &j->dump.codes.data[i];
	uint64_t last = (c->addr + c->size - 1) >> PAGE_SHIFT;

	for (uint64_t page = c->addr >> PAGE_SHIFT; c->size && page <= last; page++) {
		bool is_new;
		uint32_t *newest = intmap_put(&j->by_page, page, &is_new);

		vec_push(&j->pages, (struct page_entry){ i, is_new ? NO_CODE : *newest });
		*newest = (uint32_t)j->pages.n - 1;
	}
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
	if (b->len > RECORD_MAX || j->read_off > DUMP_MAX)
		j->dump.is_broken = true;
	return !j->dump.is_broken;
}

/* Reads the rest of the file. The dump of a process that has gone is read once. */
static void jit_code_read_rest(struct jit_code *j)
{
	uint64_t until_ns = j->is_live ? clock_monotonic_ns() : UINT64_MAX;

	while (!j->dump.is_broken && jit_code_read_piece(j))
		;
	j->read_until_ns = until_ns;
	for (; j->n_indexed < j->dump.codes.n; j->n_indexed++)
		index_code(j, (uint32_t)j->n_indexed);
}

/* Finding. */

/*
 * The newest code of the address that is not younger than the sample; if all are younger, the
 * oldest. (A compiler may write the record a little after its code runs.)
 */
static const struct jitdump_code *jit_code_at(const struct jit_code *j, uint64_t addr,
					      uint64_t time_ns)
{
	const uint32_t *newest = intmap_find(&j->by_page, addr >> PAGE_SHIFT);
	bool is_timed = !j->has_other_clock && !j->dump.is_arch_clock;
	const struct jitdump_code *found = NULL;

	for (uint32_t at = newest ? *newest : NO_CODE; at != NO_CODE;
	     at = j->pages.data[at].older) {
		const struct jitdump_code *c = &j->dump.codes.data[j->pages.data[at].code];

		if (addr - c->addr >= c->size)
			continue;
		found = c;
		if (!is_timed || c->from_ns <= time_ns)
			break;
	}
	return found;
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
