/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay annotate: source and assembly with the samples in the margin. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotate.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/annotate_words.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "open/input.h"
#include "store/session.h"

struct annotate_args {
	const char *input, *output, *output_dir, *format, *cache, *itrace, *filter, *frames;
	struct option_list include, exclude, search_dirs, rewrites;
	bool no_demangle, no_itrace, source, assembly, wide, no_pager;
	double threshold;
	struct window_args window;
	struct code_args code;
	const char *container_names;
};

#define FIELD(f) offsetof(struct annotate_args, f)
static const struct option_spec annotate_options[] = {
	INPUT_OPTION(FIELD(input), "annotate"),
	WINDOW_OPTIONS(FIELD(window)),
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	FRAMES_OPTION(FIELD(frames)),
	{ 's', "source", NULL, OPT_FLAG, FIELD(source), NULL, "source lines (the default)",
	  "With *-a*, above the instructions that are made of them." },
	{ 'a', "assembly", NULL, OPT_FLAG, FIELD(assembly), NULL, "instructions" },
	{ 'd', "output-dir", "DIR", OPT_STRING, FIELD(output_dir), NULL,
	  "write every annotated source file below DIR, by its path" },
	{ 0, "include", "GLOB", OPT_LIST, FIELD(include), NULL,
	  "only source files of these paths or names" },
	{ 0, "exclude", "GLOB", OPT_LIST, FIELD(exclude), NULL,
	  "no source files of these paths or names" },
	SOURCE_OPTIONS(FIELD(search_dirs), FIELD(rewrites)),
	{ 't', "threshold", "PCT", OPT_DOUBLE, FIELD(threshold), "0.5",
	  "leave out files and functions below this share", NULL, 0, 100 },
	{ 'w', "wide", NULL, OPT_FLAG, FIELD(wide), NULL, "do not cut lines" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text or json",
	  .choices = "text|json" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

/* ---- files ---- */

static bool matches(const struct option_list *globs, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < globs->n; i++)
		if (fnmatch(globs->data[i], path, 0) == 0 ||
		    (slash && fnmatch(globs->data[i], slash + 1, 0) == 0))
			return true;
	return false;
}

static uint64_t whole_weight(const struct annotation *a)
{
	const struct profile *p = a->profile;
	uint64_t n = 0;

	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		n += weight_value(&p->lanes[lane].total, a->by_period);
	return n;
}

static bool is_below(const struct annotate_args *args, const struct annotation *a, uint64_t weight)
{
	return (double)weight * 100 < args->threshold * (double)whole_weight(a);
}

static void choose_files(const struct annotate_args *args, const struct annotation *a,
			 struct choice *out)
{
	uint64_t *weight = xcalloc(a->files.n + 1U, sizeof(*weight));

	for (size_t i = 0; i < a->lines.weights.n; i++)
		weight[a->lines.lines.data[i / a->profile->n_lanes].file] +=
			weight_value(&a->lines.weights.data[i], a->by_period);
	for (uint32_t f = 1; f < a->files.n; f++) {
		const char *path = strings_get(&a->files, (string_id){ f });

		if (weight[f] && !is_below(args, a, weight[f]) &&
		    (!args->include.n || matches(&args->include, path)) &&
		    !matches(&args->exclude, path))
			vec_push(out, (struct chosen){ f, weight[f] });
	}
	free(weight);
	sort_choice(out);
}

/* Returns a path below the directory: leaves out ".." and a leading "/". */
static char *path_below(const char *dir, const char *path)
{
	struct buf out = { 0 };

	buf_str(&out, dir);
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len && strncmp(path, ".", len) != 0 && !(len == 2 && !strncmp(path, "..", 2))) {
			buf_u8(&out, '/');
			buf_bytes(&out, path, len);
		}
		path += len + (path[len] == '/');
	}
	buf_cstr(&out);
	return (char *)out.data;
}

static int write_file(struct annotation *a, uint32_t file, const char *dir, struct error *err)
{
	const struct text_style style = { .width = 0 };
	cleanup(free_at_exit) char *path =
		path_below(dir, strings_get(&a->files, (string_id){ file }));
	cleanup(free_at_exit) char *parent = path_folder(path);
	struct output out;
	int r = file_mkdirs(parent, 0777, err);

	if (r >= 0)
		r = output_open(&out, path, false, err);
	if (r < 0)
		return r;
	annotation_print_file(a, file, &style, out.file);
	return output_close(&out, err);
}

static bool annotation_has_source(const struct annotation *a, uint32_t file)
{
	const char *path = strings_get(&a->files, (string_id){ file });

	if (source_files_get(a->sources, path)->path)
		return true;
	log_warning("annotate: %s: no such source; give its present place by --search-dir or "
		    "--rewrite",
		    path);
	return false;
}

static int annotate_files(const struct annotate_args *args, struct annotation *a,
			  const struct text_style *style, FILE *out, struct error *err)
{
	struct choice files = { 0 };
	size_t n = 0;
	int r = args->output_dir ? file_check_parent(args->output_dir, err) : 0;

	choose_files(args, a, &files);
	for (size_t i = 0; i < files.n && r >= 0; i++) {
		if (!annotation_has_source(a, files.data[i].id))
			continue;
		n++;
		if (args->output_dir) {
			r = write_file(a, files.data[i].id, args->output_dir, err);
			continue;
		}
		if (n > 1)
			fputc('\n', out);
		annotation_print_file(a, files.data[i].id, style, out);
	}
	if (r >= 0 && args->output_dir)
		fprintf(out, "%zu files annotated in %s\n", n, args->output_dir);
	if (r >= 0 && !n)
		r = error_set(err, -ENOENT, "%s",
			      files.n ? "none of the source files with samples was found"
				      : "no source file reaches the threshold; lower it with -t, "
					"or see 'assay why', which explains missing lines");
	vec_fini(&files);
	return r;
}

/* ---- the command ---- */

/* Functions of all that is selected, for -a without a name. */
static void choose_all(const struct annotate_args *args, const struct annotation *a,
		       struct choice *out)
{
	struct choice all = { 0 };

	choose_functions(a, "*", &all);
	vec_foreach (&all, c)
		if (!is_below(args, a, c->weight))
			vec_push(out, *c);
	vec_fini(&all);
}

static int print_annotation(const struct annotate_args *args, struct annotation *a,
			    const struct option_list *words, const struct text_style *style,
			    FILE *out, struct error *err)
{
	bool is_json = !strcmp(args->format, "json");
	struct choice functions = { 0 };
	int r = choose_by_words(a, words, &functions, err);

	if (r >= 0 && !words->n && !is_json && !args->assembly) {
		r = annotate_files(args, a, style, out, err);
	} else if (r >= 0) {
		if (!words->n)
			choose_all(args, a, &functions);
		if (is_json) {
			uint32_t *ids = xcalloc(functions.n + 1, sizeof(*ids));

			for (size_t i = 0; i < functions.n; i++)
				ids[i] = functions.data[i].id;
			annotation_print_json(a, ids, functions.n, out);
			free(ids);
		}
		for (size_t i = 0; i < functions.n && !is_json; i++) {
			if (i)
				fputc('\n', out);
			annotation_print_function(a, functions.data[i].id, style, out);
		}
	}
	vec_fini(&functions);
	return r;
}

static int print_to_output(const struct annotate_args *args, struct annotation *a,
			   const struct option_list *words, struct error *err)
{
	struct text_style style;
	struct output out;
	bool is_json = !strcmp(args->format, "json");
	int r = output_open(&out, args->output, !is_json && !args->no_pager, err), closed;

	if (r < 0)
		return r;
	style = (struct text_style){
		.width = args->wide || !out.is_terminal ? 0 : output_width(&out),
		.with_colour = output_has_colour(&out),
		.is_ascii = !output_is_utf8(),
	};
	if (getenv("COLUMNS") && !args->wide)
		style.width = output_width(&out);
	r = print_annotation(args, a, words, &style, out.file, err);
	closed = output_close(&out, r < 0 ? NULL : err);
	return r < 0 ? r : closed;
}

static int annotate_session(struct input *in, const struct annotate_args *args,
			    const struct option_list *words, struct profile_request *request,
			    bool *is_damaged, struct error *err)
{
	const struct source_search search = { args->search_dirs.data, args->search_dirs.n,
					      args->rewrites.data, args->rewrites.n };
	const struct symbolizer_config config = { .cache_dir = args->cache };
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	cleanup(source_files_free_at_exit) struct source_files *sources = NULL;
	cleanup(annotation_free_at_exit) struct annotation *a = NULL;
	int r = input_open_query(in, args->input, request->query, &session, is_damaged, err);

	if (r < 0)
		return r;
	request->session = session;
	request->symbols = symbols =
		input_symbolizer_with(in, input_place(args->input, request->query), &config);
	request->with_chains = words->n > 0;
	r = input_profile(request, false, &profile, err);
	if (r < 0 || (r = prefer_language(request, words, &profile, err)) < 0)
		return r;
	sources = source_files_new(&search);
	a = annotation_new(profile, symbols, sources);
	if (!words->n)
		annotation_sum_lines(a);
	a->with_assembly = args->assembly;
	a->with_source = args->source || !args->assembly;
	return print_to_output(args, a, words, err);
}

/* Operands with a tag of filters are filters, others name functions. */
static void sort_operands(const struct option_list *all, struct option_list *filters,
			  struct option_list *words)
{
	for (size_t i = 0; i < all->n; i++) {
		bool is_filter = query_is_filter(all->data[i]);

		vec_push(is_filter ? filters : words, all->data[i]);
	}
}

static int check_rewrites(const struct annotate_args *args, struct error *err)
{
	for (size_t i = 0; i < args->rewrites.n; i++)
		if (!strchr(args->rewrites.data[i], '='))
			return error_set(err, -EINVAL, "--rewrite: '%s' is not FROM=TO",
					 args->rewrites.data[i]);
	return 0;
}

static int annotate_run(const struct command *self, int argc, char **argv)
{
	struct annotate_args args = { 0 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 }, filters = { 0 }, words = { 0 };
	struct query query = { 0 };
	struct profile_request request = { .query = &query,
					   .with_functions = true,
					   .with_places = true };
	struct error err = { 0 };
	bool is_damaged = false;
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (status < 0)
		status = opening_begin("annotate", &(struct open_config)OPEN_CONFIG(args), &in);
	if (status < 0) {
		sort_operands(&operands, &filters, &words);
		r = input_query(in, &filters, false, &query, &err);
		r = r < 0 ? r : input_window(&args.window, &query, &err);
		query.overview_ns = UINT64_MAX;
		query.frames = shown_frames_find(args.frames);
		r = r < 0 ? r : check_rewrites(&args, &err);
		status = r < 0 ? EXIT_USAGE : EXIT_OK;
		if (r >= 0) {
			r = annotate_session(in, &args, &words, &request, &is_damaged, &err);
			status = r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
		}
		if (r < 0)
			log_error("annotate: %s", err.text);
	}
	query_fini(&query);
	vec_fini(&filters);
	vec_fini(&words);
	option_list_fini(&operands);
	option_list_fini(&args.include);
	option_list_fini(&args.exclude);
	option_list_fini(&args.search_dirs);
	option_list_fini(&args.code.image_path);
	option_list_fini(&args.rewrites);
	return status;
}

static const struct command_section annotate_sections[] = {
	{ "FILTERS", input_filters_help },
	{ "TIMES", input_times_help },
	{ "SKID", "For every event, the head says how near a sample is to its cause. A counter "
		  "that is not precise, and every timer, interrupts late. The line or "
		  "instruction with the samples is then mostly the one *behind* the cause, above "
		  "all behind a slow instruction. Precise events (*cycles:pp*) name the "
		  "instruction itself." },
	{ NULL },
};

static const struct command_example annotate_examples[] = {
	{ "assay annotate main", "the source of a function with its samples" },
	{ "assay annotate -a -s main", "its instructions below the lines that they are made of" },
	{ "assay annotate --output-dir out --include '*.c'",
	  "every source file with samples, annotated, below out" },
	{ "assay annotate --rewrite /build/app=$HOME/app work", "sources that are elsewhere now" },
	{ NULL },
};

const struct command annotate_command = {
	.name = "annotate",
	.summary = "show source and assembly with samples in the margin",
	.synopsis = "[OPTIONS] [FILTER…] [[FILE:]SYMBOL…]",
	.description =
		"Shows the source of functions, or with *-a* their instructions. The margin "
		"has samples and percentages of all samples, for each event. If samples stand "
		"for different numbers of events, the percentages are of events. Without a "
		"SYMBOL (a name, its parameters may be left out, or a glob) it is the whole of "
		"every source file that has samples. FILE is the path or the name of a source "
		"file, such as *app.py:hot*; a word before the colon that is a filter's tag makes "
		"a filter. If no function has the name, the end of a name will do: *a.php:st* for "
		"*K::st*. The lines of a function of an interpreted language also have the "
		"samples of the native functions that they call. If a function called others, a "
		"second column has the totals of its lines: their own samples and those of all "
		"that they called. So a function without samples of its own can be shown, too.",
	.options = OPTIONS_AND_ALIASES(annotate_options, perf_annotate_options),
	.common = "i,a,t,search-dir,o",
	.sections = annotate_sections,
	.examples = annotate_examples,
	.run = annotate_run,
};
