/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_debug.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/debuginfod.h"
#include "symbol/split_files.h"

/* ---- in the parser ---- */

/* The state of looking for split units. */
struct split_looking {
	struct parser_job *job;
	struct file_debug_head *head;
	struct split_file package;
	char *missing; /* NULL: none */
	struct buf ids;
};

static void look_for_unit(struct split_looking *l, const struct dwarf_unit *skeleton)
{
	const char *name = skeleton->dwo_name, *dir = skeleton->comp_dir;
	struct dwarf_abbrevs *abbrevs;
	struct dwarf_file in_package;
	struct split_file file;
	struct dwarf_unit unit;

	if (l->head->has_package &&
	    dwarf_package_find(&l->package.sections.dwarf, skeleton->dwo_id, &in_package))
		return;
	l->head->n_split++;
	if (split_file_open(l->job, skeleton, &file, &unit, &abbrevs)) {
		buf_bytes(&l->ids, &skeleton->dwo_id, sizeof(skeleton->dwo_id));
		dwarf_abbrevs_free(abbrevs);
		split_file_close(&file);
	} else if (!l->head->n_missing_split++) {
		l->missing = *name == '/' || !dir ? xstrdup(name) : xasprintf("%s/%s", dir, name);
	}
}

/* A file with skeletons has .debug_addr, whose entries the split units refer to. */
static void look_for_split(struct split_looking *l, const struct elf_file *elf)
{
	struct debug_sections sections = { 0 };
	struct elf_section addresses;
	struct split_units it;
	struct dwarf_unit skeleton;

	if (elf_section_named(elf, ".debug_addr", &addresses) &&
	    debug_sections_load(&sections, elf, false)) {
		l->head->has_package = split_package_open(l->job, &l->head->build_id,
							  &sections.dwarf, &l->package);
		split_units_begin(&it, &sections.dwarf);
		while (l->head->n_split < SPLIT_FILES_MAX && split_units_next(&it, &skeleton))
			look_for_unit(l, &skeleton);
	}
	debug_sections_fini(&sections);
}

static void file_debug_run(struct parser_job *job)
{
	struct file_debug_head head = { .place = DEBUG_FILE_NONE };
	struct split_looking split = { .job = job, .head = &head };
	const char *link = NULL, *common = NULL;
	struct debug_file debug = { 0 };
	struct elf_file elf;
	uint32_t crc;

	if (elf_file_open(&elf, job->file->base, job->file->size, NULL) == 0) {
		elf_build_id(&elf, &head.build_id);
		link = elf_debug_link(&elf, &crc);
		if (debug_file_find(job, &elf, &debug))
			head.place = debug.place;
		common = elf_common_debug(debug.file.base ? &debug.elf : &elf, &head.common_id);
		look_for_split(&split, debug.file.base ? &debug.elf : &elf);
	}
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, link ? link : "");
	buf_cstr0(job->answer, common ? common : "");
	buf_cstr0(job->answer, split.missing ? split.missing : "");
	buf_bytes(job->answer, split.ids.data, split.ids.len);
	free(split.missing);
	buf_fini(&split.ids);
	split_file_close(&split.package);
	file_unmap(&debug.file);
}

/* ---- in the process that asks ---- */

bool file_debug_read(struct file_debug_head *head, struct file_debug_names *names,
		     const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *at = reader_bytes(&r, sizeof(*head));

	names->link = reader_cstr(&r);
	names->common = reader_cstr(&r);
	names->missing_split = reader_cstr(&r);
	names->split = r.at;
	if (r.bad)
		return false;
	memcpy(head, at, sizeof(*head));
	return head->build_id.len <= BUILD_ID_MAX && head->common_id.len <= BUILD_ID_MAX &&
	       head->n_split <= SPLIT_FILES_MAX && head->n_missing_split <= head->n_split &&
	       reader_left(&r) == (head->n_split - head->n_missing_split) * sizeof(uint64_t);
}

static bool file_debug_check(const void *bytes, size_t size)
{
	struct file_debug_head head;
	struct file_debug_names names;

	return file_debug_read(&head, &names, bytes, size);
}

const struct parser_row file_debug_row = {
	.name = "debug file",
	.run = file_debug_run,
	.check = file_debug_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

int debug_finding_open(void *context, struct reader *wish, struct file_mapping *out,
		       bool *is_trusted)
{
	const struct debug_finding *f = context;
	int r = debug_file_serve(f->search, wish, out, NULL);

	*is_trusted = r >= 0 && image_file_is_trusted(out, f->found);
	return r;
}

/* The files that the row has opened, in their order. */
struct split_opening {
	struct debug_finding debug;
	char *package;
	VEC(struct file_of_unit) files;
};

static int split_opening_open(void *context, struct reader *wish, struct file_mapping *out,
			      bool *is_trusted)
{
	struct split_opening *o = context;
	struct reader rest = *wish;
	uint8_t kind = reader_u8(&rest);
	char *path = NULL;
	uint64_t id;
	int r;

	if (kind != WISH_SPLIT && kind != WISH_PACKAGE)
		return debug_finding_open(&o->debug, wish, out, is_trusted);
	if (o->files.n == SPLIT_FILES_MAX)
		return -EMFILE;
	r = split_file_serve(o->debug.search, wish, out, &path, &id);
	if (r < 0)
		return r;
	*is_trusted = image_file_is_trusted(out, o->debug.found);
	if (kind == WISH_PACKAGE) {
		free(o->package);
		o->package = path;
	} else {
		vec_push(&o->files, (struct file_of_unit){ id, path });
	}
	return r;
}

static void split_opening_fini(struct split_opening *o)
{
	vec_foreach (&o->files, file)
		free(file->path);
	vec_fini(&o->files);
	free(o->package);
}

/* Of the files that were opened for a number, the last one has its unit. */
static void adopt_split(struct split_opening *o, const struct file_debug_head *head,
			const struct file_debug_names *names, struct file_debug *out)
{
	size_t at = 0;

	out->n_split = head->n_split;
	out->n_missing_split = head->n_missing_split;
	out->missing_split = *names->missing_split ? xstrdup(names->missing_split) : NULL;
	if (head->has_package)
		out->package = take_ptr(o->package);
	for (uint32_t i = 0; i < head->n_split - head->n_missing_split; i++) {
		struct file_of_unit *file = NULL;
		uint64_t id;

		memcpy(&id, names->split + i * sizeof(id), sizeof(id));
		while (at < o->files.n && o->files.data[at].id != id)
			at++;
		for (; at < o->files.n && o->files.data[at].id == id; at++)
			file = &o->files.data[at];
		if (file)
			vec_push(&out->split, (struct file_of_unit){ id, take_ptr(file->path) });
	}
}

static void file_debug_adopt(const struct debug_search *search, const struct parser_answer *answer,
			     struct split_opening *opening, struct file_debug *out)
{
	struct debug_search known = *search;
	struct file_debug_names names;
	struct file_debug_head head;

	/* the row has checked it */
	file_debug_read(&head, &names, answer->bytes, answer->size);
	known.build_id = head.build_id;
	known.link_name = *names.link ? names.link : NULL;
	out->build_id = head.build_id;
	out->common_id = head.common_id;
	out->common = *names.common ? xstrdup(names.common) : NULL;
	if (head.place < DEBUG_FILE_PLACES)
		out->path = debug_file_path(&known, head.place);
	else if (head.place == DEBUG_FILE_PLACES)
		out->path = debuginfod_kept_path(DEBUGINFOD_DEBUG_FILE, &head.build_id);
	adopt_split(opening, &head, &names, out);
}

void file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		     enum image_found found, struct file_debug *out)
{
	static const struct buf no_request;
	struct split_opening opening = { .debug = { search, found } };
	const struct parser_question q = {
		.row = &file_debug_row,
		.file = file,
		.is_trusted = image_file_is_trusted(file, found),
		.request = &no_request,
		.open = split_opening_open,
		.context = &opening,
	};
	struct parser_answer answer;

	*out = (struct file_debug){ 0 };
	if (parser_ask(&q, &answer, NULL) == 0) {
		file_debug_adopt(search, &answer, &opening, out);
		parser_answer_fini(&answer);
	}
	split_opening_fini(&opening);
}

void file_debug_fini(struct file_debug *d)
{
	free(d->path);
	free(d->common);
	free(d->package);
	free(d->missing_split);
	vec_foreach (&d->split, file)
		free(file->path);
	vec_fini(&d->split);
}
