/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of stopped processes, for comparisons with a debugger.
 *
 *	walk < REQUESTS
 *
 * A request is a line with the process and its registers in hexadecimal, in the order of their
 *DWARF numbers. On x86-64, these are 16 registers and the program counter. The answer is a line
 *with the reason why the stack ends (unwind/stop.h), and the addresses, innermost first. A process
 *stays the same as long as its number does.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "unwind/library.h"
#include "unwind/walk.h"

#define STACK_BYTES (1 << 20)
#define MAX_FRAMES  512
#define N_REGISTERS 17

enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 };

struct walked_map {
	uint64_t start, end, file_off;
	const struct unwind_table *table; /* NULL: none */
	char *path;
};

struct walked {
	int pid;
	char *root;    /* the process's, as a path that opens it */
	size_t hidden; /* length of its path, in front of the mappings' */
	VEC(struct walked_map) maps;
	struct unwind_library *library;
	struct unwinder *unwinder;
	uint32_t n_images;
	uint8_t stack[STACK_BYTES];
};

/* ---- mappings ---- */

static size_t read_process(const struct walked *w, uint64_t addr, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)addr, size };
	ssize_t n = process_vm_readv(w->pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static const struct unwind_table *table_of(struct walked *w, const struct walked_map *map)
{
	struct unwind_image image = { .path = map->path, .root = w->root };
	const struct unwind_table *table = NULL;
	void *bytes = NULL;

	if (map->path[0] == '/') {
		image.name = map->path + w->hidden;
	} else if (!strcmp(map->path, "[vdso]")) {
		image.size = (size_t)(map->end - map->start);
		image.bytes = bytes = xmalloc(image.size);
		image.path = NULL;
		image.size = read_process(w, map->start, bytes, image.size);
	} else {
		return NULL;
	}
	if (unwind_library_get(w->library, w->n_images++, &image, &table) != UNWIND_TABLE_READY)
		table = NULL;
	free(bytes);
	return table;
}

/* Libraries that were loaded since are new lines; tables of the others are kept. */
static void add_map(struct walked *w, struct walked_map map)
{
	vec_foreach (&w->maps, known)
		if (known->start == map.start && known->end == map.end &&
		    !strcmp(known->path, map.path))
			return;
	map.path = xstrdup(map.path);
	map.table = table_of(w, &map);
	vec_push(&w->maps, map);
}

static void read_maps(struct walked *w)
{
	char name[64], line[PATH_MAX + 128];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", w->pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f)) {
		char access[8] = "", path[PATH_MAX] = "";
		struct walked_map map = { .path = path };

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095[^\n]",
			   &map.start, &map.end, access, &map.file_off, path) >= 4 &&
		    access[2] == 'x')
			add_map(w, map);
	}
	if (f)
		fclose(f);
}

static void forget_process(struct walked *w)
{
	vec_foreach (&w->maps, map)
		free(map->path);
	w->maps.n = 0;
	free(w->root);
	w->root = NULL;
}

static void meet_process(struct walked *w, int pid)
{
	char path[PATH_MAX];
	ssize_t n;

	forget_process(w);
	w->pid = pid;
	w->root = xasprintf("/proc/%d/root", pid);
	n = readlink(w->root, path, sizeof(path));
	w->hidden = n > 1 ? (size_t)n : 0;
}

/* ---- stacks ---- */

static enum unwind_where find_table(void *ctx, uint64_t pc, struct unwind_place *place)
{
	const struct walked *w = ctx;

	vec_foreach (&w->maps, map) {
		if (pc < map->start || pc >= map->end)
			continue;
		place->table = map->table;
		place->file_off = pc - map->start + map->file_off;
		return map->table ? UNWIND_AT_TABLE : UNWIND_AT_CODE;
	}
	return UNWIND_AT_NOTHING;
}

/* As many bytes as there are: a read beyond the stack's end gives none. */
static size_t read_stack(struct walked *w, uint64_t sp)
{
	size_t n = 0, page = 4096 - (sp & 4095);

	while (n + page <= STACK_BYTES && read_process(w, sp + n, w->stack + n, page) == page) {
		n += page;
		page = 4096;
	}
	return n;
}

static void print_stack(struct walked *w, const uint64_t *regs)
{
	uint64_t pcs[MAX_FRAMES];
	struct unwind_chain chain = { .pcs = pcs, .max = MAX_FRAMES };
	struct unwind_input in = {
		.regs = unwind_regs_sampled(regs[DWARF_RIP], regs[DWARF_RSP], regs[DWARF_RBP], 0,
					    false),
		.other = regs,
		.n_other = N_REGISTERS,
		.stack = w->stack,
		.stack_size = read_stack(w, regs[DWARF_RSP]),
		.find = find_table,
		.ctx = w,
	};

	unwind_walk(w->unwinder, &in, &chain);
	printf("%s", unwind_stop_keys[chain.stop]);
	for (size_t i = 0; i < chain.n; i++)
		printf(" %" PRIx64, pcs[i]);
	printf("\n");
	fflush(stdout);
}

static bool parse_request(const char *line, int *pid, uint64_t *regs)
{
	char *end;

	*pid = (int)strtol(line, &end, 10);
	for (int i = 0; i < N_REGISTERS; i++)
		regs[i] = strtoull(end, &end, 16);
	return *pid > 0 && *end == '\n';
}

int main(void)
{
	struct walked *w = xcalloc(1, sizeof(*w));
	uint64_t regs[N_REGISTERS];
	char line[1024];
	int pid;

	w->library = unwind_library_new(
		&(struct unwind_library_config){ .cache_dir = "", .has_debug_files = true });
	w->unwinder = unwinder_new();
	while (fgets(line, sizeof(line), stdin)) {
		if (!parse_request(line, &pid, regs)) {
			fprintf(stderr, "walk: not a process and %d registers: %s", N_REGISTERS,
				line);
			return 1;
		}
		if (pid != w->pid)
			meet_process(w, pid);
		read_maps(w);
		print_stack(w, regs);
	}
	forget_process(w);
	vec_fini(&w->maps);
	unwinder_free(w->unwinder);
	unwind_library_free(w->library);
	free(w);
	return 0;
}
