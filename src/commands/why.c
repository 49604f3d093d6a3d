/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay why: explains where the name and line of a frame come from, or what is missing for them. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "open/input.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "profile/unnamed.h"
#include "store/session.h"
#include "symbol/symbolizer/explain.h"
#include "symbol/lines/lines.h"

struct why_args {
	const char *input, *cache;
	bool no_demangle;
	struct code_args code;
};

#define FIELD(f) offsetof(struct why_args, f)
static const struct option_spec why_options[] = {
	INPUT_OPTION(FIELD(input), "explain"),
	CODE_OPTIONS(FIELD(code)),
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

/* At most so many functions or images are explained: a glob may match all. */
#define MAX_MATCHES 10

struct asking {
	struct symbolizer *symbols;
	struct profile *profile;
	FILE *out;
	uint32_t n_matches;
};

static void why_put(FILE *out, const char *text)
{
	struct buf safe = { 0 };

	utf8_append_visible(&safe, text);
	fputs(buf_cstr(&safe), out);
	buf_fini(&safe);
}

static void put_fact(FILE *out, const char *title, const char *text)
{
	fprintf(out, "%-10s", title);
	why_put(out, text);
	fputc('\n', out);
}

static void put_search(void *data, const struct symbol_search *search)
{
	FILE *out = data;

	fprintf(out, "  %c ", search->is_used ? '+' : '-');
	why_put(out, search->place);
	fputs(": ", out);
	why_put(out, search->verdict);
	fputc('\n', out);
}

static const struct symbol_table *table_of(struct asking *a, uint32_t image)
{
	struct profile_image *i = &a->profile->images.data[image];

	if (!i->table)
		i->table = symbolizer_table(a->symbols, i->image, NULL, 0);
	return i->table;
}

/* ---- what to do ---- */

static bool lacks_symbols(enum symbol_status status)
{
	return status != SYMBOL_SYMTAB && status != SYMBOL_DEBUG_FILE && status != SYMBOL_GIVEN &&
	       status != SYMBOL_KALLSYMS;
}

static void put_advice(struct asking *a, uint32_t index, enum symbol_status symbols,
		       enum line_status lines)
{
	const struct image *image = a->profile->images.data[index].image;
	const char *jit = profile_unnamed_jit(a->profile, index);
	FILE *out = a->out;
	bool no_symbols = lacks_symbols(symbols), no_lines = lines == LINES_NONE;

	if (symbols == SYMBOL_HIDDEN)
		put_fact(out, "to do", "report as root, or set kernel.kptr_restrict=0");
	else if (symbols == SYMBOL_CHANGED)
		put_fact(out, "to do",
			 "put the file that was profiled back, or name a folder that has it with "
			 "--image-path, or profile again");
	else if (symbols == SYMBOL_MISSING)
		put_fact(out, "to do",
			 "put the file back, or name a folder that has it with --symfs or "
			 "--image-path; if its container is gone, record again while the "
			 "container runs");
	else if (image->kind == IMAGE_FILE && (no_symbols || no_lines)) {
		const char *root;
		cleanup(free_at_exit) char *package =
			symbol_debug_package(a->symbols, table_of(a, index), &root);
		cleanup(free_at_exit) char *there =
			package && *root ? xasprintf("in the system below %s: %s", root, package)
					 : NULL;

		if (package)
			put_fact(out, "to do", there ? there : package);
		put_fact(out, package ? "" : "to do",
			 package ? "or set DEBUGINFOD_URLS, to have debug files fetched"
				 : "set DEBUGINFOD_URLS, to have debug files fetched");
		put_fact(out, "",
			 no_symbols ? "or, if it is yours, build it with -g and do not strip it"
				    : "or, if it is yours, build it with -g");
	} else if (image->kind == IMAGE_KERNEL && lines == LINES_NO_FILE)
		put_fact(out, "to do",
			 "for lines, install the kernel's debug package (its vmlinux)");
	else if (jit)
		put_fact(out, "to do", jit);
	else if (image->kind == IMAGE_BPF && !strcmp(image->path, IMAGE_UNLISTED_PATH))
		put_fact(out, "code",
			 "mostly a filter of system calls (seccomp) or of packets: the kernel "
			 "compiles it, and has no list of such code");
	else if (image->kind == IMAGE_UNKNOWN)
		put_fact(out, "to do",
			 "no mapping covered the address; mostly this is a call chain through "
			 "code without frame pointers; record with --call-graph=dwarf");
}

/* ---- cut stacks ---- */

static bool is_cut_node(const struct profile *p, uint32_t node)
{
	const struct profile_node *n = &p->nodes.data[node];

	return n->depth &&
	       image_is_cut_mark(p->images.data[p->functions.data[n->function].image].image);
}

/* Sessions of before that mark have none. */
static bool has_cut_marks(const struct profile *p)
{
	vec_foreach (&p->images, i)
		if (image_is_cut_mark(i->image))
			return true;
	return false;
}

/* A stack ends in its outermost frame of code. */
static bool is_outermost(const struct profile *p, const struct profile_node *node)
{
	return node->depth == 1 || is_cut_node(p, node->parent);
}

/*
 * Samples with a cut stack whose outermost frame is in an image. Without marks: with any stack.
 * `through`: a function in them; NO_INDEX: any.
 */
static uint64_t samples_that_end_in(const struct profile *p, uint32_t image, uint32_t through)
{
	bool has_marks = has_cut_marks(p);
	uint64_t n = 0;

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t node = p->entries.data[i].node;
		bool is_through = through == NO_INDEX;

		for (; p->nodes.data[node].depth && !is_outermost(p, &p->nodes.data[node]);
		     node = p->nodes.data[node].parent)
			is_through |= p->nodes.data[node].function == through;
		is_through |= p->nodes.data[node].function == through;
		if (!p->nodes.data[node].depth || !is_through ||
		    (has_marks && !is_cut_node(p, p->nodes.data[node].parent)) ||
		    p->functions.data[p->nodes.data[node].function].image != image)
			continue;
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			n += p->weights.data[i * p->n_lanes + lane].samples;
	}
	return n;
}

/* Without its file, an image has no unwind table. */
static bool cuts_stacks(struct asking *a, uint32_t index)
{
	const struct profile_image *i = &a->profile->images.data[index];

	return a->profile->losses[LOSS_STACK_NO_FILE] && !i->is_merged && !i->is_idle &&
	       i->image->kind == IMAGE_FILE && !symbolizer_has_file(a->symbols, i->image);
}

/* The stack of a program with frame pointers can be whole, and end there all the same. */
static void put_cut_stacks(struct asking *a, uint32_t image, uint32_t through)
{
	uint64_t n_cut = a->profile->losses[LOSS_STACK_NO_FILE];
	uint64_t n = MIN(samples_that_end_in(a->profile, image, through), n_cut);
	cleanup(free_at_exit) char *text = NULL;

	if (!n || !cuts_stacks(a, image))
		return;
	text = xasprintf("%" PRIu64 " end in %s: their callers are not known, because its file, "
			 "which tells how to find them, is not here",
			 n, a->profile->images.data[image].image->path);
	put_fact(a->out, "stacks", text);
}

static void explain_image(struct asking *a, uint32_t index)
{
	const struct profile_image *i = &a->profile->images.data[index];
	const struct symbol_table *table = table_of(a, index);
	enum symbol_status status = symbol_table_status(table);
	enum line_status lines = lines_status(a->symbols, table);
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(&i->image->build_id, hex);
	put_fact(a->out, "image", i->image->path);
	put_fact(a->out, "build id", *hex ? hex : "none");
	fprintf(a->out, "%-10s%" PRIu64 " of %" PRIu64 "\n", "samples", i->samples,
		a->profile->n_selected);
	put_cut_stacks(a, index, NO_INDEX);
	put_fact(a->out, "names", symbol_status_texts[status]);
	if (*symbol_table_detail(table))
		put_fact(a->out, "", symbol_table_detail(table));
	put_fact(a->out, "lines", line_status_texts[lines]);
	if (*lines_detail(a->symbols, table))
		put_fact(a->out, "", lines_detail(a->symbols, table));
	if (i->image->kind == IMAGE_FILE || i->image->kind == IMAGE_KERNEL ||
	    i->image->kind == IMAGE_MODULE) {
		fputs("looked in\n", a->out);
		symbol_explain(a->symbols, table, put_search, a->out);
	}
	put_advice(a, index, status, lines);
}

static void put_frames(struct asking *a, uint32_t image, uint64_t offset)
{
	const struct symbol_table *table = table_of(a, image);
	struct line_frame frames[LINES_MAX_FRAMES];
	size_t n = lines_find(a->symbols, table, offset, frames, LINES_MAX_FRAMES);

	for (size_t i = 0; i < n; i++) {
		put_fact(a->out, i ? "in" : "function",
			 *frames[i].function ? lines_name(a->symbols, table, &frames[i]) : "?");
		if (*frames[i].file)
			fprintf(a->out, "%-10s%s:%" PRIu32 "%s\n", "", frames[i].file,
				frames[i].line, frames[i].is_inline ? " (inlined)" : "");
	}
	if (!n)
		put_fact(a->out, "function", "none is known there");
}

/* A name like "low..high" is a place between two functions, not a call. */
static void explain_bracket(struct asking *a, const struct symbol_table *table, uint32_t index)
{
	const struct symbol symbol = symbol_get(table, index);
	const char *name = symbol_name(a->symbols, table, index);
	const char *dots = symbol.name_end && *symbol.name ? strstr(name, "..") : NULL;
	const char *plus = dots ? strstr(name, "+0x") : NULL;
	cleanup(free_at_exit) char *text = NULL;

	if (!dots)
		return;
	text = xasprintf("not a call: no symbol names this code, which lies between the functions "
			 "%.*s and %s",
			 (int)((plus && plus < dots ? plus : dots) - name), name, dots + 2);
	put_fact(a->out, "name", name);
	put_fact(a->out, "", text);
}

static bool begin_match(struct asking *a)
{
	if (a->n_matches++ >= MAX_MATCHES)
		return false;
	if (a->n_matches > 1)
		fputc('\n', a->out);
	return true;
}

static void explain_place(struct asking *a, uint32_t image, uint64_t offset)
{
	if (!begin_match(a))
		return;
	fprintf(a->out, "%-10s0x%" PRIx64 " of ", "place", offset);
	why_put(a->out, a->profile->images.data[image].name);
	fputc('\n', a->out);
	put_frames(a, image, offset);
	if (symbol_find(table_of(a, image), offset) != NO_SYMBOL)
		explain_bracket(a, table_of(a, image), symbol_find(table_of(a, image), offset));
	explain_image(a, image);
}

/* ---- the request ---- */

/* "[anon]" is a name, and a glob that takes one letter. */
static bool is_name(const char *glob, const char *name)
{
	return !strcmp(glob, name) || fnmatch(glob, name, 0) == 0;
}

static bool is_image(const struct profile *p, uint32_t i, const char *name)
{
	const struct profile_image *image = &p->images.data[i];

	return !image->is_merged && !image->is_idle &&
	       (is_name(name, image->image->path) || is_name(name, image->name));
}

static void ask_for_images(struct asking *a, const char *name)
{
	for (uint32_t i = 0; i < a->profile->images.n; i++)
		if (is_image(a->profile, i, name) && begin_match(a))
			explain_image(a, i);
}

/* IMAGE+0xOFFSET, as bracketed names have it, or an offset that samples fell on. */
static void ask_for_address(struct asking *a, const char *text)
{
	const char *plus = strrchr(text, '+');
	cleanup(free_at_exit) char *name = xstrndup(text, plus ? (size_t)(plus - text) : 0);
	const char *number = plus ? plus + 1 : text;
	uint64_t offset;
	char *end;

	if (strncmp(number, "0x", 2) != 0)
		return;
	offset = strtoull(number, &end, 16);
	if (*end)
		return;
	for (uint32_t i = 0; plus && i < a->profile->images.n; i++)
		if (is_image(a->profile, i, name))
			explain_place(a, i, offset);
	if (plus)
		return;
	vec_foreach (&a->profile->places, place)
		if (place->offset == offset || place->offset + 1 == offset)
			explain_place(a, a->profile->functions.data[place->function].image,
				      place->offset);
}

/* The images where stacks through a function end, because their files are missing. */
static void explain_cuts(struct asking *a, uint32_t function)
{
	uint32_t own = a->profile->functions.data[function].image;

	for (uint32_t i = 0; i < a->profile->images.n; i++) {
		if (i == own || !samples_that_end_in(a->profile, i, function) || !cuts_stacks(a, i))
			continue;
		put_cut_stacks(a, i, function);
		explain_image(a, i);
		fputc('\n', a->out);
	}
}

static void ask_for_functions(struct asking *a, const struct query *q)
{
	for (uint32_t f = 0; f < a->profile->functions.n; f++) {
		const struct profile_function *function = &a->profile->functions.data[f];
		const struct symbol_table *table = a->profile->images.data[function->image].table;
		const char *name;

		if (function->symbol == NO_SYMBOL)
			continue;
		name = symbol_name(a->symbols, table, function->symbol);
		if (!query_takes_function(q, FILTER_SYMBOL, name) || !begin_match(a))
			continue;
		put_frames(a, function->image, symbol_get(table, function->symbol).offset);
		explain_bracket(a, table, function->symbol);
		explain_cuts(a, f);
		explain_image(a, function->image);
	}
}

static int why_ask(struct asking *a, const char *what, struct error *err)
{
	cleanup(free_at_exit) char *operand = xasprintf("symbol:%s", what);
	struct query q = { 0 };

	ask_for_address(a, what);
	if (!a->n_matches)
		ask_for_images(a, what);
	if (!a->n_matches && query_add(&q, operand, NULL) == 0)
		ask_for_functions(a, &q);
	query_fini(&q);
	if (!a->n_matches)
		return error_set(
			err, -ENOENT,
			"%s: no image, function or offset of the session; 'assay report' lists the "
			"images and 'assay report -l' the functions; for an address in a file, "
			"write "
			"IMAGE+0xOFFSET",
			what);
	if (a->n_matches > MAX_MATCHES)
		fprintf(a->out, "\n%" PRIu32 " more match\n", a->n_matches - MAX_MATCHES);
	return 0;
}

static int why_session(struct input *in, const struct why_args *args,
		       const struct option_list *operands, bool *is_damaged, struct error *err)
{
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	struct query query = { .with_idle = true };
	struct profile_request request = {
		.query = &query, .with_functions = true, .with_chains = true, .with_places = true
	};
	struct asking a = { 0 };
	struct output out;
	int r = input_open_given(in, args->input, &session, is_damaged, err);

	if (r < 0)
		return r;
	request.session = session;
	request.symbols = symbols = input_symbolizer(in, args->input, args->cache);
	profile = profile_load(&request);
	r = output_open(&out, NULL, true, err);
	if (r < 0)
		return r;
	a = (struct asking){ .symbols = symbols, .profile = profile, .out = out.file };
	for (size_t i = 0; i < operands->n && r >= 0; i++)
		r = why_ask(&a, operands->data[i], err);
	if (r < 0) {
		output_close(&out, NULL);
		return r;
	}
	return output_close(&out, err);
}

static int why_run(const struct command *self, int argc, char **argv)
{
	struct why_args args = { 0 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	struct error err = { 0 };
	bool is_damaged = false;
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0)
		status = opening_begin("why",
				       &(struct open_config){ CODE_MEMBERS(args),
							      .no_demangle = args.no_demangle },
				       &in);
	if (status < 0 && !operands.n) {
		log_error("why: name an address, a function or an image");
		status = EXIT_USAGE;
	} else if (status < 0) {
		int r = why_session(in, &args, &operands, &is_damaged, &err);

		status = r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
		if (r < 0)
			log_error("why: %s", err.text);
	}
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_example why_examples[] = {
	{ "assay why libfoo.so", "why the functions of a library have no names" },
	{ "assay why libfoo.so+0x4010", "explain one address of the library" },
	{ NULL },
};

const struct command why_command = {
	.name = "why",
	.summary = "explain missing names and lines, and name the remedy",
	.synopsis = "[OPTIONS] ADDRESS|SYMBOL|IMAGE…",
	.description =
		"Explains a frame of a session. It shows the file of the frame, each place "
		"where assay looked for names and lines, and the finding there. If something "
		"is missing, it shows the remedy.\n\nAn operand is an image (path or file "
		"name, a glob), an offset that samples fell on (*0x4010*), a place "
		"(*IMAGE+0x4010*), or a function (a glob).\n\nA name of the form *A..B* is not "
		"a call. The code has no symbol and lies between the known functions A and B. "
		"*A+0x40..B* tells several such functions apart: this one begins 0x40 bytes "
		"behind the start of A.",
	.options = OPTIONS(why_options),
	.examples = why_examples,
	.run = why_run,
};
