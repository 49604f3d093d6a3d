/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/jit_folders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/path.h"
#include "guard/open.h"
#include "oprofile/store/jit_file.h"
#include "symbol/file_functions.h"

struct jit_folder {
	int32_t pid;
	char *path;
	size_t n_facts; /* n_jit_facts() at the last writing */
	bool has_earlier;
};

void jit_folders_fini(struct jit_folders *f)
{
	vec_foreach (&f->list, folder)
		free(folder->path);
	vec_foreach (&f->earlier, symbol)
		free((char *)symbol->name);
	vec_fini(&f->list);
	vec_fini(&f->earlier);
	intmap_fini(&f->owners);
}

void jit_folders_note(struct jit_folders *f, int32_t pid, const char *folder)
{
	size_t len = path_folder_len(folder);

	vec_foreach (&f->list, known)
		if (known->pid == pid && strlen(known->path) == len &&
		    !strncmp(known->path, folder, len))
			return;
	vec_push(&f->list, (struct jit_folder){ .pid = pid, .path = xstrndup(folder, len) });
}

static uint64_t jit_owner(int32_t pid, int32_t image_pid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)image_pid;
}

void jit_folders_own(struct jit_folders *f, int32_t pid, int32_t image_pid)
{
	intmap_put(&f->owners, jit_owner(pid, image_pid), NULL);
}

static void read_earlier(struct jit_folders *f, int32_t pid, const char *path)
{
	struct file_functions functions = { 0 };
	struct file_mapping map = { 0 };
	struct error err = { 0 };
	int r = guard_map(GUARD_HERE, path, &guard_image_rules, &map, &err);

	if (r >= 0)
		r = file_functions_ask(&map, IMAGE_HIDDEN, FUNCTIONS_NAMES, NULL, &functions, &err);
	if (r < 0 && r != -ENOENT)
		log_warning("the names of earlier JIT code are lost: %s", err.text);
	file_unmap(&map);
	for (uint32_t i = 0; i < functions.head.n; i++) {
		const struct file_function *known = &functions.list[i];

		vec_push(&f->earlier,
			 (struct facts_symbol){
				 .pid = pid,
				 .offset = known->link_addr,
				 .size = known->size,
				 .name = xstrdup(file_functions_name(&functions, known)) });
	}
	file_functions_fini(&functions);
}

/* Grows with each new name and owner. */
static size_t n_jit_facts(const struct jit_folders *f, const struct session_facts *facts)
{
	return facts->symbols.n + f->owners.n;
}

struct jit_symbols {
	struct jit_symbol *data;
	size_t n, cap;
};

static void put_symbol(struct jit_symbols *out, const struct facts_symbol *known)
{
	vec_push(out,
		 (struct jit_symbol){ known->offset, known->size, known->name, (uint32_t)out->n });
}

static int write_folder(struct jit_folders *f, struct jit_folder *folder, const char *path,
			const struct session_facts *facts, struct error *err)
{
	struct jit_symbols symbols = { 0 };
	struct buf bytes = { 0 };
	int r = 0;

	if (!folder->has_earlier)
		read_earlier(f, folder->pid, path);
	folder->has_earlier = true;
	vec_foreach (&f->earlier, known)
		if (known->pid == folder->pid)
			put_symbol(&symbols, known);
	vec_foreach (&facts->symbols, known)
		if (known->kind == IMAGE_JIT &&
		    intmap_find(&f->owners, jit_owner(folder->pid, known->pid)))
			put_symbol(&symbols, known);
	if (symbols.n) {
		jit_file_write(&bytes, symbols.data, symbols.n);
		r = file_replace(path, bytes.data, bytes.len, err);
	}
	if (r >= 0)
		folder->n_facts = n_jit_facts(f, facts);
	vec_fini(&symbols);
	buf_fini(&bytes);
	return r;
}

int jit_folders_write(struct jit_folders *f, const struct session_facts *facts,
		      void (*written)(void *context, const char *path), void *context,
		      struct error *err)
{
	int r = 0;

	vec_foreach (&f->list, folder) {
		cleanup(free_at_exit) char *path =
			xasprintf("%s/%" PRId32 ".jo", folder->path, folder->pid);
		int now;

		if (folder->n_facts == n_jit_facts(f, facts))
			continue;
		now = write_folder(f, folder, path, facts, r ? NULL : err);
		if (now >= 0)
			written(context, path);
		r = r ? r : now;
	}
	return r;
}
