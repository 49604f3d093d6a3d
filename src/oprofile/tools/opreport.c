/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opreport: summaries, symbols, call graphs and comparisons in OProfile's layouts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/output.h"
#include "oprofile/report/opreport.h"
#include "oprofile/report/xml.h"
#include "oprofile/tools/postproc.h"

struct opreport_args {
	struct postproc_args post;
	const char *sort, *output;
	bool symbols, details, callgraph, lines, addresses, accumulated, long_names, no_header;
	bool is_reversed, global_percent, xml;
	const char *title; /* of XML: the command line */
};

#define FIELD(f) offsetof(struct opreport_args, f)
static const struct option_spec opreport_options[] = {
	{ 'l', "symbols", NULL, OPT_FLAG, FIELD(symbols), NULL, "list functions" },
	{ 'd', "details", NULL, OPT_FLAG, FIELD(details), NULL,
	  "list functions, and below each the addresses that samples fell on" },
	{ 'c', "callgraph", NULL, OPT_FLAG, FIELD(callgraph), NULL,
	  "every function with its callers and callees" },
	{ 'g', "debug-info", NULL, OPT_FLAG, FIELD(lines), NULL, "source lines (with -l)" },
	{ 'w', "show-address", NULL, OPT_FLAG, FIELD(addresses), NULL,
	  "addresses of functions (with -l)" },
	{ 'a', "accumulated", NULL, OPT_FLAG, FIELD(accumulated), NULL, "running sums (with -l)" },
	{ 'f', "long-filenames", NULL, OPT_FLAG, FIELD(long_names), NULL, "paths" },
	{ 'n', "no-header", NULL, OPT_FLAG, FIELD(no_header), NULL,
	  "leave out the processor, the events and the titles" },
	{ 's', "sort", "KEYS", OPT_STRING, FIELD(sort), NULL,
	  "sort by sample, image, app-name, symbol, debug, vma" },
	{ 'r', "reverse-sort", NULL, OPT_FLAG, FIELD(is_reversed), NULL, "reverse the order" },
	{ '%', "global-percent", NULL, OPT_FLAG, FIELD(global_percent), NULL,
	  "percentages are of the whole instead of the line above" },
	{ 'X', "xml", NULL, OPT_FLAG, FIELD(xml), NULL, "as XML, of OProfile's schema 3.1" },
	{ 'o', "output-file", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	POSTPROC_THRESHOLD(opreport_args),
	POSTPROC_DEPENDENTS(opreport_args),
	POSTPROC_MERGE(opreport_args),
	POSTPROC_SYMBOLS(opreport_args),
	POSTPROC_OPTIONS(opreport_args),
};

static bool merges_lib(const struct opreport_args *a)
{
	uint32_t merge = 0;

	return a->post.merge && merge_parse(a->post.merge, &merge, NULL) == 0 &&
	       (merge & MERGE_LIB);
}

/* "all" merges them, too, but nobody asked for libraries. */
static bool merges_lib_alone(const struct opreport_args *a)
{
	return merges_lib(a) && !strstr(a->post.merge, "all");
}

/* Options that want another one, or do not go with one. */
static int check_options(const struct opreport_args *a, bool is_diff, struct error *err)
{
	bool is_list = a->symbols || a->details || a->callgraph;
	const struct {
		bool is_wrong;
		const char *text;
	} rules[] = {
		{ a->details && a->callgraph, "--details and --callgraph exclude each other" },
		{ a->lines && !is_list, "--debug-info needs --symbols" },
		{ a->addresses && !is_list, "--show-address needs --symbols" },
		{ a->accumulated && !is_list, "--accumulated needs --symbols" },
		{ (a->post.include_symbols || a->post.exclude_symbols) && !is_list,
		  "--include-symbols and --exclude-symbols need --symbols" },
		{ a->global_percent && a->symbols && !a->details && !a->callgraph,
		  "--global-percent means nothing with --symbols alone" },
		{ a->sort && strstr(a->sort, "vma") && !is_list, "--sort vma needs --symbols" },
		{ a->post.no_dependents && merges_lib_alone(a),
		  "--exclude-dependent and --merge=lib exclude each other" },
		{ a->xml && is_diff, "a comparison has no --xml" },
		{ a->xml && (a->accumulated || a->global_percent),
		  "--xml goes neither with --accumulated nor with --global-percent" },
		{ is_diff && !a->symbols, "a comparison needs --symbols" },
		{ is_diff && (a->details || a->callgraph),
		  "a comparison is neither of --details nor of --callgraph" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].is_wrong)
			return error_set(err, -EINVAL, "%s", rules[i].text);
	return opreport_check_sort(a->sort, err);
}

/* ---- specifications: COMMON… [{ OLD… } { NEW… }] ---- */

struct specification {
	const char **data;
	size_t n, cap;
};

static int split_operands(const struct option_list *operands, struct specification sides[2],
			  bool *is_diff, struct error *err)
{
	int inside = -1, n_closed = 0, n_own[2] = { 0 };

	for (size_t i = 0; i < operands->n; i++) {
		const char *word = operands->data[i];
		bool is_empty = !strcmp(word, "{}");

		if ((!strcmp(word, "{") || is_empty) && inside < 0 && n_closed < 2) {
			*is_diff = true;
			inside = is_empty ? -1 : n_closed;
			n_closed += is_empty;
		} else if (!strcmp(word, "}") && inside >= 0) {
			inside = -1;
			n_closed++;
		} else if (strchr("{}", *word) || (inside < 0 && n_closed)) {
			return error_set(err, -EINVAL,
					 "'%s': a comparison is { OLD… } { NEW… }, with braces "
					 "as separate words",
					 word);
		} else {
			for (int side = 0; side < 2; side++)
				if (inside < 0 || inside == side)
					vec_push(&sides[side], word);
			if (inside >= 0)
				n_own[inside]++;
		}
	}
	if (*is_diff && (n_closed != 2 || inside >= 0))
		return error_set(err, -EINVAL, "a comparison needs two specifications in braces");
	if (*is_diff && n_own[0] == 0 && n_own[1] > 0)
		return error_set(err, -EINVAL,
				 "a comparison needs the old profile in the first braces; the new "
				 "one is the current session if the second ones are empty");
	return 0;
}

/* ---- the whole ---- */

static struct opreport_options layout_options(const struct opreport_args *a)
{
	return (struct opreport_options){
		.no_header = a->no_header,
		.long_names = a->long_names,
		.with_addresses = a->addresses || a->details,
		.with_lines = a->lines,
		.accumulated = a->accumulated,
		.with_details = a->details,
		.with_mangled = !strcmp(a->post.demangle, "none"),
		.global_percent = a->global_percent,
		.is_reversed = a->is_reversed,
		.threshold = a->post.threshold,
		.sort = a->sort,
	};
}

static struct profile_request make_request(const struct opreport_args *a,
					   const struct opreport_options *o)
{
	bool is_list = a->symbols || a->details || a->callgraph || a->xml;
	struct profile_request request = {
		.with_functions = is_list,
		.with_chains = a->callgraph,
		.with_addresses = a->details,
	};

	if (a->callgraph) {
		if (!merges_lib(a))
			key_list_add(&request.keys, PROFILE_APP);
		return request;
	}
	if (is_list)
		opreport_symbol_keys(merges_lib(a), o, &request.keys);
	else
		opreport_summary_keys(merges_lib(a), &request.keys);
	return request;
}

static void opreport_print_xml(const struct opreport_args *a, const struct postproc *pp,
			       const struct specification *spec, FILE *out)
{
	struct buf session = { 0 };
	struct xml_source source = {
		.profile = pp->profile,
		.title = a->title,
		.with_graph = a->callgraph,
		.with_details = a->details,
		.with_lines = a->lines,
		.with_mangled = !strcmp(a->post.demangle, "none"),
		.merges_masks = pp->merges_masks,
		.with_paths = a->long_names,
		.is_reversed = a->is_reversed,
		.threshold = a->post.threshold,
		.query = &pp->query,
		.image_path = a->post.image_path,
		.merge = a->post.merge,
		.exclude_symbols = a->post.exclude_symbols,
		.include_symbols = a->post.include_symbols,
		.excludes_dependents = a->post.no_dependents,
	};

	for (size_t i = 0; i < spec->n; i++)
		buf_printf(&session, "%s%s", i ? "," : "", spec->data[i]);
	source.session = buf_cstr(&session);
	xml_print(&source, out);
	buf_fini(&session);
}

static void opreport_print(const struct opreport_args *a, struct opreport_options *o,
			   const struct postproc sides[2], const struct specification *spec,
			   bool is_diff, FILE *out)
{
	const struct profile *profiles[2] = { sides[0].profile, sides[1].profile };

	if (a->xml) {
		opreport_print_xml(a, &sides[0], spec, out);
		return;
	}
	o->many_apps = profiles[0]->has_many_apps || (is_diff && profiles[1]->has_many_apps);
	o->query = &sides[0].query;
	if (!a->no_header)
		opreport_print_header(profiles[is_diff], out);
	if (is_diff)
		opreport_print_diff(profiles, o, out);
	else if (a->callgraph)
		opreport_print_callgraph(profiles[0], o, out);
	else if (a->symbols || a->details)
		opreport_print_symbols(profiles[0], o, out);
	else
		opreport_print_summary(profiles[0], o, out);
}

static int check_sides(const struct postproc sides[2], struct error *err)
{
	if (sides[0].profile->n_lanes == sides[1].profile->n_lanes)
		return 0;
	return error_set(
		err, -EINVAL,
		"the two profiles differ in their classes: %u and %u; merge some (--merge), or "
		"choose some (event:, tid: …)",
		sides[0].profile->n_lanes, sides[1].profile->n_lanes);
}

static int opreport_report(const struct opreport_args *a, const struct specification specs[2],
			   bool is_diff, bool *is_damaged, struct error *err)
{
	struct opreport_options o = layout_options(a);
	struct postproc sides[2] = { 0 };
	struct output out;
	int r = 0;

	for (int side = 0; side < 1 + is_diff && r >= 0; side++) {
		struct profile_request request = make_request(a, &o);

		r = postproc_load(&sides[side], &a->post, specs[side].data, specs[side].n, 0,
				  &request, err);
		*is_damaged |= sides[side].is_damaged;
	}
	r = r >= 0 && is_diff ? check_sides(sides, err) : r;
	r = r < 0 ? r : output_open(&out, a->output, false, err);
	if (r >= 0) {
		opreport_print(a, &o, sides, specs, is_diff, out.file);
		r = output_close(&out, err);
	}
	for (int side = 0; side < 2; side++)
		postproc_fini(&sides[side]);
	return r;
}

static int opreport_run(const struct command *self, int argc, char **argv)
{
	struct opreport_args a = { 0 };
	struct option_list operands = { 0 };
	struct specification specs[2] = { 0 };
	struct error err = { 0 };
	bool is_diff = false, is_damaged = false;
	int status = compat_begin(self, false, argc, argv, &a, &operands), r;

	if (status < 0) {
		cleanup(free_at_exit) char *title = compat_command_line("opreport", argc, argv);

		a.title = title;
		a.post.filters_readable = true;
		postproc_tell_obsolete(&a.post);
		if (a.xml && a.sort) {
			log_warning("--sort means nothing with --xml");
			a.sort = NULL;
		}
		r = split_operands(&operands, specs, &is_diff, &err);
		r = r < 0 ? r : check_options(&a, is_diff, &err);
		r = r < 0 ? r : opreport_report(&a, specs, is_diff, &is_damaged, &err);
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	for (int side = 0; side < 2; side++)
		vec_fini(&specs[side]);
	option_list_fini(&operands);
	return status;
}

static const struct command_section opreport_sections[] = {
	{ "EXIT STATUS",
	  "0; 1 where nothing matches the specification, for damaged sample files (what is "
	  "readable of them is shown), and for wrong usage." },
	{ "DIFFERENCES",
	  "Classes that differ in more than one way (threads and processors, say) are columns, "
	  "where OProfile refused them. Symbols are chosen by globs of their demangled names. "
	  "Stripped binaries have the names of their dynamic symbols. Call graphs of sessions of "
	  "*assay record* are made of whole stacks: an arc's number is the samples that have it in "
	  "their stack, and callers and callees add up." },
	{ NULL },
};

static const struct command_example opreport_examples[] = {
	{ "opreport", "programs, and the images their samples fell in" },
	{ "opreport -l image:/usr/bin/git 'lib-image:*libc*' --merge=tid",
	  "functions of libc in git" },
	{ "opreport -l { session:before } { session:now }", "what changed" },
	{ NULL },
};

const struct command opreport_command = {
	.name = "opreport",
	.is_program = true,
	.summary = "report profiles, in OProfile's way",
	.synopsis = "[OPTIONS] [SPECIFICATION…]",
	.description = "OProfile's *opreport*: its options and its output, of sample files and of "
		       "sessions of *assay record*. A specification has the form of the FILTERS of "
		       "*assay-report*(1).",
	.options = OPTIONS(opreport_options),
	.sections = opreport_sections,
	.examples = opreport_examples,
	.run = opreport_run,
};
