/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/append.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/path.h"
#include "oprofile/store/facts.h"
#include "oprofile/store/sample_file.h"

int oprofile_add_counts(const struct sample_file_view *view, const char *to, struct error *err)
{
	struct sample_file *file;
	uint64_t n_unwritten = 0;
	int r = sample_file_open(to, &view->header, &file, err);

	if (r < 0)
		return error_wrap(err, r, "%s", to);
	for (uint32_t i = 0; i < view->n_nodes && r >= 0; i++) {
		uint64_t key;
		uint32_t count;

		sample_file_node(view, i, &key, &count);
		r = sample_file_add(file, key, count, &n_unwritten, err);
	}
	if (r >= 0)
		r = sample_file_flush(file, &n_unwritten, err);
	sample_file_close(file);
	return r;
}

static int append_file(const char *from, const char *to, struct error *err)
{
	struct sample_file_view view;
	struct file_mapping map = { 0 };
	int r;

	if (access(to, F_OK) < 0) {
		cleanup(free_at_exit) char *folder = path_folder(to);

		r = file_mkdirs(folder, 0755, err);
		if (r >= 0 && rename(from, to) < 0)
			r = error_errno(err, -errno, "cannot move %s to %s", from, to);
		return r;
	}
	r = file_map(from, &map, err);
	r = r < 0 ? r : sample_file_parse(map.base, map.size, NULL, &view, err);
	r = r < 0 ? error_wrap(err, r, "%s", from) : oprofile_add_counts(&view, to, err);
	file_unmap(&map);
	return r;
}

/* What the files have no place for: of the newer recording, with the samples of both. */
static int join_facts(const char *from, const char *to, struct error *err)
{
	cleanup(free_at_exit) char *old_path = xasprintf("%s/" FACTS_FILE, to);
	cleanup(free_at_exit) char *new_path = xasprintf("%s/" FACTS_FILE, from);
	struct session_facts old = { 0 }, facts = { 0 };
	int r = session_facts_read(new_path, &facts, err);

	if (r == -ENOENT)
		return 0;
	if (r >= 0 && session_facts_read(old_path, &old, NULL) >= 0) {
		facts.samples += old.samples;
		for (int i = 0; i < N_LOSS_REASONS; i++)
			facts.lost[i] += old.lost[i];
		facts.lost_arcs += old.lost_arcs;
	}
	if (r >= 0)
		r = session_facts_write(old_path, &facts, err);
	session_facts_fini(&old);
	session_facts_fini(&facts);
	return r;
}

int oprofile_append(const char *from, const char *to, struct error *err)
{
	char *const roots[] = { (char *)from, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int r = 0;

	if (!walk)
		return error_errno(err, -errno, "cannot read %s", from);
	while (r >= 0 && (entry = fts_read(walk))) {
		cleanup(free_at_exit) char *target = NULL;

		if (entry->fts_info != FTS_F || !strcmp(entry->fts_name, FACTS_FILE))
			continue;
		target = xasprintf("%s%s", to, entry->fts_path + strlen(from));
		r = append_file(entry->fts_path, target, err);
	}
	fts_close(walk);
	r = r < 0 ? r : join_facts(from, to, err);
	return r < 0 ? r : file_remove_tree(from, err);
}
