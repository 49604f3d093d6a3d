/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opannotate: source and assembly with samples, in OProfile's layouts. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/output.h"
#include "oprofile/report/opannotate.h"
#include "oprofile/report/opreport_rows.h"
#include "oprofile/tools/postproc.h"

struct opannotate_args {
	struct postproc_args post;
	const char *output_dir, *search_dirs, *base_dirs, *include_files, *exclude_files;
	const char *objdump_params;
	bool source, assembly;
};

#define FIELD(f) offsetof(struct opannotate_args, f)
static const struct option_spec opannotate_options[] = {
	{ 's', "source", NULL, OPT_FLAG, FIELD(source), NULL, "source lines" },
	{ 'a', "assembly", NULL, OPT_FLAG, FIELD(assembly), NULL,
	  "instructions; with -s below their source lines" },
	{ 'o', "output-dir", "DIR", OPT_STRING, FIELD(output_dir), NULL,
	  "write a file for each source file, by its path below DIR" },
	{ 'd', "search-dirs", "DIRS", OPT_STRING, FIELD(search_dirs), NULL,
	  "directories of source files" },
	{ 'b', "base-dirs", "DIRS", OPT_STRING, FIELD(base_dirs), NULL,
	  "leave out this beginning of source paths first (with -d)" },
	{ 0, "include-file", "GLOBS", OPT_STRING, FIELD(include_files), NULL,
	  "only source files of these names" },
	{ 0, "exclude-file", "GLOBS", OPT_STRING, FIELD(exclude_files), NULL,
	  "no source files of these names" },
	{ 0, "objdump-params", "WORDS", OPT_STRING, FIELD(objdump_params), NULL,
	  "accepted; instructions are decoded without objdump" },
	POSTPROC_THRESHOLD(opannotate_args),
	POSTPROC_DEPENDENTS(opannotate_args),
	POSTPROC_MERGE(opannotate_args),
	POSTPROC_SYMBOLS(opannotate_args),
	POSTPROC_OPTIONS(opannotate_args),
};

static const struct compat_obsolete obsolete[] = {
	{ FIELD(objdump_params), false, "--objdump-params",
	  "instructions are decoded without objdump" },
	{ 0 },
};

static int opannotate_check(const struct opannotate_args *a, const struct option_list *operands,
			    struct error *err)
{
	if (!a->source && !a->assembly)
		return error_set(err, -EINVAL, "give --source, --assembly or both");
	if (a->base_dirs && !a->search_dirs)
		return error_set(err, -EINVAL, "--base-dirs needs --search-dirs");
	if (a->output_dir && a->assembly)
		return error_set(err, -EINVAL, "--output-dir is for --source alone");
	if (a->output_dir && !strcmp(a->output_dir, "/"))
		return error_set(err, -EINVAL, "--output-dir: / would write over the sources");
	vec_foreach (operands, word)
		if (!strcmp(*word, "{") || !strcmp(*word, "}"))
			return error_set(err, -EINVAL, "a comparison can't be annotated");
	return 0;
}

/* ---- which files ---- */

struct annotating {
	const struct opannotate_args *args;
	struct opannotate_options options;
	struct annotation *a;
	struct opannotation *oa;
	struct compat_words include, exclude;
};

/* A glob is for any component of the path, or all of it. */
static bool opannotate_matches(const struct compat_words *globs, const char *path)
{
	for (size_t i = 0; i < globs->n; i++) {
		cleanup(free_at_exit) char *copy = xstrdup(path);
		char *rest = copy;

		if (fnmatch(globs->data[i], path, 0) == 0)
			return true;
		for (char *part; (part = strsep(&rest, "/"));)
			if (*part && fnmatch(globs->data[i], part, 0) == 0)
				return true;
	}
	return false;
}

static bool opannotate_is_wanted(const struct annotating *w, uint32_t file)
{
	const char *path = strings_get(&w->a->files, (string_id){ file });

	return *path && opannotation_has_file(w->oa, file) &&
	       !opannotate_matches(&w->exclude, path) &&
	       (!w->include.n || opannotate_matches(&w->include, path)) &&
	       op_share(opannotation_file_samples(w->oa, file),
			w->a->profile->lanes[0].total.samples) >= w->options.threshold;
}

static int by_samples(const void *x, const void *y, void *context)
{
	const struct annotating *w = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint64_t m = opannotation_file_samples(w->oa, a);
	uint64_t n = opannotation_file_samples(w->oa, b);

	return m != n ? (m < n ? 1 : -1) : (a > b) - (a < b);
}

/* Below the directory, whatever the path says of "..". */
static char *opannotate_path_below(const char *dir, const char *path)
{
	cleanup(free_at_exit) char *copy = xstrdup(path);
	char *rest = copy, *out = xstrdup(dir);

	for (char *part; (part = strsep(&rest, "/"));) {
		char *longer;

		if (!*part || !strcmp(part, ".") || !strcmp(part, ".."))
			continue;
		longer = xasprintf("%s/%s", out, part);
		free(out);
		out = longer;
	}
	return out;
}

static int opannotate_write_file(struct annotating *w, uint32_t file, struct error *err)
{
	const char *source = strings_get(&w->a->files, (string_id){ file });
	cleanup(free_at_exit) char *path = opannotate_path_below(w->args->output_dir, source);
	cleanup(free_at_exit) char *real = realpath(path, NULL);
	cleanup(free_at_exit) char *folder = path_folder(path);
	const struct source_file *found = source_files_get(w->a->sources, source);
	struct output out;
	int r;

	if (real && found->path && !strcmp(real, found->path))
		return error_set(err, -EINVAL, "%s would be written over", found->path);
	r = file_mkdirs(folder, 0777, err);
	r = r < 0 ? r : output_open(&out, path, false, err);
	if (r < 0)
		return r;
	opannotation_print_file(w->oa, file, true, out.file);
	return output_close(&out, err);
}

static int opannotate_annotate_files(struct annotating *w, FILE *out, struct error *err)
{
	uint32_t *files = xcalloc(w->a->files.n + 1U, sizeof(*files));
	uint32_t n_all = w->a->files.n;
	size_t n = 0;
	int r = 0;

	for (uint32_t f = 1; f < n_all; f++)
		if (opannotate_is_wanted(w, f))
			files[n++] = f;
	if (n)
		qsort_r(files, n, sizeof(*files), by_samples, w);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const char *path = strings_get(&w->a->files, (string_id){ files[i] });

		if (!source_files_get(w->a->sources, path)->path)
			log_warning("%s: no such source; give its present place by --search-dirs",
				    path);
		if (w->args->output_dir)
			r = opannotate_write_file(w, files[i], err);
		else
			opannotation_print_file(w->oa, files[i], false, out);
	}
	if (!n)
		log_warning("no source lines: the code has no debug information, or the threshold "
			    "is too high");
	free(files);
	return r;
}

/* ---- the whole ---- */

static void opannotate_add_dirs(const char *list, struct compat_words *out)
{
	if (list)
		compat_split(list, out);
}

static int annotate(struct annotating *w, const struct postproc *pp, struct error *err)
{
	struct compat_words dirs = { 0 }, bases = { 0 }, rewrites = { 0 };
	struct source_search search;
	struct source_files *sources;
	struct output out;
	int r, r_close;

	opannotate_add_dirs(w->args->search_dirs, &dirs);
	opannotate_add_dirs(w->args->base_dirs, &bases);
	opannotate_add_dirs(w->args->include_files, &w->include);
	opannotate_add_dirs(w->args->exclude_files, &w->exclude);
	for (size_t b = 0; b < bases.n; b++)
		for (size_t d = 0; d < dirs.n; d++)
			vec_push(&rewrites, xasprintf("%s=%s", bases.data[b], dirs.data[d]));
	search = (struct source_search){ (const char *const *)dirs.data, dirs.n,
					 (const char *const *)rewrites.data, rewrites.n };
	sources = source_files_new(&search);
	w->a = annotation_new(pp->profile, pp->symbols, sources);
	annotation_sum_lines(w->a);
	w->oa = opannotation_new(w->a, &w->options);
	r = output_open(&out, NULL, false, err);
	if (r >= 0) {
		if (!w->args->output_dir)
			opannotation_print_interpretation(w->oa, out.file);
		if (w->args->assembly)
			opannotation_print_assembly(w->oa, out.file);
		else
			r = opannotate_annotate_files(w, out.file, err);
		r_close = output_close(&out, r < 0 ? NULL : err);
		r = r < 0 ? r : r_close;
	}
	opannotation_free(w->oa);
	annotation_free(w->a);
	source_files_free(sources);
	compat_words_fini(&dirs);
	compat_words_fini(&bases);
	compat_words_fini(&rewrites);
	compat_words_fini(&w->include);
	compat_words_fini(&w->exclude);
	return r;
}

static int opannotate_run(const struct command *self, int argc, char **argv)
{
	struct opannotate_args args = { 0 };
	struct option_list operands = { 0 };
	struct postproc pp = { 0 };
	struct profile_request request = { .with_functions = true, .with_places = true };
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		cleanup(free_at_exit) char *command_line =
			compat_command_line("opannotate", argc, argv);
		struct annotating w = { .args = &args,
					.options = { .command_line = command_line,
						     .threshold = args.post.threshold,
						     .with_assembly = args.assembly,
						     .with_source = args.source } };
		int r = opannotate_check(&args, &operands, &err);

		postproc_tell_obsolete(&args.post);
		compat_tell_obsolete(obsolete, &args);
		if (r >= 0)
			r = postproc_load(&pp, &args.post, operands.data, operands.n, MERGE_LIB,
					  &request, &err);
		r = r < 0 ? r : annotate(&w, &pp, &err);
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 || pp.is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	postproc_fini(&pp);
	option_list_fini(&operands);
	return status;
}

static const struct command_section opannotate_sections[] = {
	{ "EXIT STATUS",
	  "0, also if a source file is missing (a message says so). 1 on failure and for "
	  "wrong usage." },
	{ "DIFFERENCES",
	  "Instructions are decoded by assay itself. Lines of inlined functions count "
	  "where they were written, as in OProfile; *assay annotate* shows more." },
	{ NULL },
};

static const struct command_example opannotate_examples[] = {
	{ "opannotate -s --output-dir=annotated", "all source files with samples" },
	{ "opannotate -a -i work image:./app", "the instructions of one function" },
	{ NULL },
};

const struct command opannotate_command = {
	.name = "opannotate",
	.is_program = true,
	.summary = "show source and assembly with samples, in OProfile's way",
	.synopsis = "[OPTIONS] [SPECIFICATION…]",
	.description = "OProfile's *opannotate*: its options and its output. It reads sample files "
		       "and sessions of *assay record*, and uses *assay annotate*.",
	.options = OPTIONS(opannotate_options),
	.sections = opannotate_sections,
	.examples = opannotate_examples,
	.run = opannotate_run,
};
