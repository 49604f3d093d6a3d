/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <unistd.h>

#include "replay/archive.h"
#include "replay/archive_layout.h"

/* A missing file of the kernel stays missing: this machine's file is of another kernel. */
static void take_kernel(struct archive_places *p, const char *dir, const char *below,
			struct symbolizer_config *config)
{
	p->kallsyms = xasprintf("%s/%s/kallsyms", dir, below);
	p->modules = xasprintf("%s/%s/modules", dir, below);
	p->notes = xasprintf("%s/%s/notes", dir, below);
	p->sys_module = xasprintf("%s/%s/module", dir, below);
	p->kcore = xasprintf("%s/%s/kcore", dir, below);
	config->kcore = p->kcore;
	config->kallsyms = p->kallsyms;
	config->modules = p->modules;
	config->notes = p->notes;
	config->sys_module = p->sys_module;
}

/* `perf record --kcore`: the kernel that ran, and no other files. */
static bool has_kcore_copy(const char *dir)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" KCORE_DIR "/kallsyms", dir);

	return access(path, F_OK) == 0;
}

void archive_places_init(struct archive_places *p, const char *session_dir, char *root,
			 struct symbolizer_config *config)
{
	bool has_files;

	*p = (struct archive_places){ .root = root };
	if (p->root) {
		config->root = p->root;
		return;
	}
	p->root = xasprintf("%s/" FILES_DIR, session_dir);
	has_files = access(p->root, F_OK) == 0;
	if (has_files)
		config->root = p->root;
	if (has_kcore_copy(session_dir))
		take_kernel(p, session_dir, KCORE_DIR, config);
	else if (has_files)
		take_kernel(p, session_dir, KERNEL_DIR, config);
}

void archive_places_fini(struct archive_places *p)
{
	free(p->root);
	free(p->kallsyms);
	free(p->modules);
	free(p->notes);
	free(p->kcore);
	free(p->sys_module);
	*p = (struct archive_places){ 0 };
}
