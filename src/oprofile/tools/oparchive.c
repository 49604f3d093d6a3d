/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oparchive: samples with binaries, for another machine. `assay archive` finds and copies the
 * binaries. For sample files, its output is moved to the places where OProfile's tools look:
 *
 *   DIR/usr/bin/app                         binaries and debug files by their paths
 *   DIR/var/lib/oprofile/samples/current/…  sample files, with stats/ and assay.json
 *   DIR/var/lib/oprofile/abi
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/strings.h"
#include "oprofile/store/oprofile_files.h"
#include "oprofile/store/sample_name.h"
#include "oprofile/tools/postproc.h"
#include "replay/archive.h"

struct oparchive_args {
	struct postproc_args post;
	const char *output;
	bool list;
};

#define FIELD(f) offsetof(struct oparchive_args, f)
static const struct option_spec oparchive_options[] = {
	{ 'o', "output-directory", "DIR", OPT_STRING, FIELD(output), NULL, "the archive" },
	{ 'l', "list-files", NULL, OPT_FLAG, FIELD(list), NULL,
	  "list the files that would be copied, and copy none" },
	POSTPROC_DEPENDENTS(oparchive_args),
	POSTPROC_OPTIONS(oparchive_args),
};

/* ---- what is copied ---- */

typedef int (*file_visitor)(void *context, const char *path, struct error *err);

static int each_sample_file(const char *samples, file_visitor visit, void *context,
			    struct error *err)
{
	char *const roots[] = { (char *)samples, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int r = 0;

	if (!walk)
		return error_errno(err, -errno, "cannot read %s", samples);
	while (r >= 0 && (entry = fts_read(walk)))
		if (entry->fts_info == FTS_F)
			r = visit(context, entry->fts_path, err);
	fts_close(walk);
	return r;
}

/* What of sample files the specification is for: as the profile takes samples, file by file. */
struct choice {
	const struct query *query;
	const char *samples;  /* the folder; NULL: a session of ours, which is taken whole */
	struct strings paths; /* of images that are in files that are taken */
};

/* As images are called. The caller frees. */
static char *oparchive_image_name(const struct sample_image_name *image)
{
	if (image->kind == SAMPLE_IMAGE_KERN)
		return xasprintf("[%s]", image->text);
	return xstrdup(strcmp(image->text, "/proc/kallsyms") ? image->text : "[kernel]");
}

static bool oparchive_takes_class(const struct query *q, const struct sample_name *n)
{
	return query_takes_name(q, FILTER_EVENT, n->event) &&
	       query_takes_number(q, FILTER_COUNT, n->count) &&
	       query_takes_number(q, FILTER_UNIT_MASK, n->unit_mask) &&
	       query_takes_number(q, FILTER_PID, (uint32_t)n->tgid) &&
	       query_takes_number(q, FILTER_TID, (uint32_t)n->tid) &&
	       query_takes_number(q, FILTER_CPU, (uint32_t)n->cpu);
}

/* Code `in` an image, or an arc from there `to` another (the same where it is none). */
static bool takes_images(const struct query *q, const char *app, const char *in, const char *to)
{
	bool has_lib_image = query_has(q, FILTER_LIB_IMAGE);

	if (q->without_dependents && (strcmp(app, in) != 0 || strcmp(in, to) != 0))
		return false;
	if (query_names_path(q, FILTER_IMAGE_EXCLUDE, app) ||
	    query_names_path(q, FILTER_IMAGE_EXCLUDE, in) ||
	    query_names_path(q, FILTER_IMAGE_EXCLUDE, to))
		return false;
	return query_takes_path(q, FILTER_APP, app) &&
	       (query_takes_path(q, FILTER_LIB_IMAGE, in) ||
		query_takes_path(q, FILTER_LIB_IMAGE, to)) &&
	       (query_takes_path(q, FILTER_IMAGE, app) ||
		(!has_lib_image && query_takes_path(q, FILTER_IMAGE, in))) &&
	       (query_takes_path(q, FILTER_BINARY, app) || query_takes_path(q, FILTER_BINARY, in));
}

/* Files that are no sample files (losses, names of JIT code) belong to the whole. */
static bool takes_file(struct choice *c, const char *path)
{
	struct sample_name name = { 0 };
	const char *below = path + strlen(c->samples);
	bool takes = true;

	if (sample_name_parse(below + strspn(below, "/"), &name, NULL) >= 0) {
		cleanup(free_at_exit) char *app = oparchive_image_name(&name.main);
		cleanup(free_at_exit) char *in = oparchive_image_name(&name.dep);
		cleanup(free_at_exit) char *to =
			oparchive_image_name(name.is_arc ? &name.callee : &name.dep);

		takes = oparchive_takes_class(c->query, &name) &&
			takes_images(c->query, app, in, to);
		if (takes) {
			strings_add(&c->paths, app);
			strings_add(&c->paths, in);
			strings_add(&c->paths, to);
		}
	}
	sample_name_fini(&name);
	return takes;
}

static int look_at_file(void *context, const char *path, struct error *err)
{
	(void)err;
	takes_file(context, path);
	return 0;
}

static int oparchive_choose(struct choice *c, struct error *err)
{
	strings_init(&c->paths);
	return c->samples ? each_sample_file(c->samples, look_at_file, c, err) : 0;
}

static bool takes_image(void *context, const struct image *image)
{
	const struct choice *c = context;
	string_id id;

	return strings_find(&c->paths, image->path, &id);
}

static int print_path(void *context, const char *path, struct error *err)
{
	cleanup(free_at_exit) char *whole = realpath(path, NULL);

	(void)err;
	if (takes_file(context, path))
		printf("%s\n", whole ? whole : path);
	return 0;
}

static int list_files(const struct postproc *pp, struct choice *c, struct error *err)
{
	vec_foreach (&pp->profile->images, image)
		if (image->samples && !image->is_merged && image->image->kind == IMAGE_FILE &&
		    access(image->image->path, R_OK) == 0)
			printf("%s\n", image->image->path);
	return c->samples ? each_sample_file(c->samples, print_path, c, err) : 0;
}

/* ---- copying ---- */

static int oparchive_copy_file(const char *from, const char *to, struct error *err)
{
	cleanup(free_at_exit) char *folder = path_folder(to);
	struct file_mapping map = { 0 };
	struct stat st;
	int r = file_mkdirs(folder, 0755, err);

	r = r < 0 ? r : file_map(from, &map, err);
	if (r < 0)
		return r;
	r = file_replace(to, map.size ? (const void *)map.base : "", map.size, err);
	file_unmap(&map);
	if (r >= 0 && stat(from, &st) == 0) {
		struct timespec times[2] = { st.st_atim, st.st_mtim };

		chmod(to, st.st_mode & 0777);
		utimensat(AT_FDCWD, to, times, 0);
	}
	return r;
}

struct copying {
	struct choice *choice;
	const char *to;
};

static int copy_sample_file(void *context, const char *path, struct error *err)
{
	const struct copying *c = context;
	cleanup(free_at_exit) char *to =
		xasprintf("%s%s", c->to, path + strlen(c->choice->samples));

	return takes_file(c->choice, path) ? oparchive_copy_file(path, to, err) : 0;
}

/* The archive's files/ become those of its root. */
static int lift_files(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *files = xasprintf("%s/files", dir);
	DIR *d = opendir(files);
	const struct dirent *entry;
	int r = 0;

	while (d && r >= 0 && (entry = readdir(d))) {
		cleanup(free_at_exit) char *from = xasprintf("%s/%s", files, entry->d_name);
		cleanup(free_at_exit) char *to = xasprintf("%s/%s", dir, entry->d_name);

		if (entry->d_name[0] != '.' && rename(from, to) < 0)
			r = error_errno(err, -errno, "cannot move %s", from);
	}
	if (d)
		closedir(d);
	rmdir(files);
	return r;
}

static int oparchive_arrange(const char *dir, struct choice *choice, struct error *err)
{
	cleanup(free_at_exit) char *own = xasprintf("%s/samples", dir);
	cleanup(free_at_exit) char *store = xasprintf("%s/var/lib/oprofile", dir);
	cleanup(free_at_exit) char *to = xasprintf("%s/samples/current", store);
	cleanup(free_at_exit) char *abi_from = xasprintf("%s/../../abi", choice->samples);
	cleanup(free_at_exit) char *abi_to = xasprintf("%s/abi", store);
	struct copying c = { choice, to };
	int r = file_remove_tree(own, err);

	r = r < 0 ? r : lift_files(dir, err);
	r = r < 0 ? r : each_sample_file(choice->samples, copy_sample_file, &c, err);
	if (r >= 0 && access(abi_from, F_OK) == 0)
		r = oparchive_copy_file(abi_from, abi_to, err);
	return r;
}

static int oparchive_archive(const struct oparchive_args *a, const struct postproc *pp,
			     struct choice *choice, struct error *err)
{
	const struct archive_choice images = { takes_image, choice };
	struct archive_result result = { 0 };
	int r;

	r = archive_write(pp->session, choice->samples ? &images : NULL, pp->symbols, a->output,
			  &result, err);
	vec_foreach (&result.missing, text)
		log_warning("not in the archive: %s", *text);
	if (r >= 0 && choice->samples)
		r = oparchive_arrange(a->output, choice, err);
	if (r >= 0)
		log_info("%s: %u binaries, %u debug files; 'opreport archive:%s' reads it",
			 a->output, result.n_binaries, result.n_debug_files, a->output);
	archive_result_fini(&result);
	return r;
}

static int oparchive_check(const struct oparchive_args *a, struct error *err)
{
	if (!a->output && !a->list)
		return error_set(err, -EINVAL, "--output-directory names the archive");
	if (a->output && !strcmp(a->output, "/"))
		return error_set(err, -EINVAL, "--output-directory: / itself would be archived");
	/* An empty folder is as good as none. */
	if (a->output && access(a->output, F_OK) == 0 && rmdir(a->output) < 0)
		return error_set(err, -EEXIST, "%s is there already", a->output);
	return 0;
}

static int oparchive_run(const struct command *self, int argc, char **argv)
{
	struct oparchive_args args = { 0 };
	struct option_list operands = { 0 };
	struct postproc pp = { 0 };
	struct profile_request request = { 0 };
	struct choice choice;
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		cleanup(free_at_exit) char *samples = NULL;
		int r = oparchive_check(&args, &err);

		postproc_tell_obsolete(&args.post);
		r = r < 0 ? r
			  : postproc_load(&pp, &args.post, operands.data, operands.n, MERGE_ALL,
					  &request, &err);
		if (r >= 0) {
			samples = oprofile_files_find(pp.dir);
			choice = (struct choice){ .query = &pp.query, .samples = samples };
			if (!samples && (args.post.no_dependents || operands.n) && !args.list)
				log_info("a session of assay record is archived whole; "
					 "specifications choose when it is read");
			r = oparchive_choose(&choice, &err);
			r = r < 0 ? r : postproc_open_symbols(&pp, &err);
			r = r < 0       ? r
			    : args.list ? list_files(&pp, &choice, &err)
					: oparchive_archive(&args, &pp, &choice, &err);
			strings_fini(&choice.paths);
		}
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 || pp.is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	postproc_fini(&pp);
	option_list_fini(&operands);
	return status;
}

static const struct command_section oparchive_sections[] = {
	{ "EXIT STATUS", "0, also if a binary is missing (a message says so). 1 on failure and for "
			 "wrong usage." },
	{ "DIFFERENCES",
	  "Binaries that have changed since are left out, and named. A session of *assay "
	  "record* is archived whole, and becomes what *assay archive* makes." },
	{ NULL },
};

static const struct command_example oparchive_examples[] = {
	{ "oparchive -o /tmp/there && opreport -l archive:/tmp/there", "and on another machine" },
	{ NULL },
};

const struct command oparchive_command = {
	.name = "oparchive",
	.is_program = true,
	.summary = "pack samples with their binaries, in OProfile's way",
	.synopsis = "[OPTIONS] -o DIR [SPECIFICATION…]",
	.description =
		"OProfile's *oparchive*: its layout, which its tools and assay read. It uses "
		"*assay archive*.",
	.options = OPTIONS(oparchive_options),
	.sections = oparchive_sections,
	.examples = oparchive_examples,
	.run = oparchive_run,
};
