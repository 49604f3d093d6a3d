/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/tools/postproc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reserve.h"
#include "import/importer.h"
#include "open/input.h"
#include "oprofile/oprofile.h"
#include "oprofile/report/opreport.h"
#include "demangle/demangle.h"

static const struct compat_obsolete obsolete[] = {
	{ offsetof(struct postproc_args, compat.verbose), false, "--verbose",
	  "there is no such output here; 'assay why' explains an image or a symbol" },
	{ 0 },
};

void postproc_tell_obsolete(const struct postproc_args *args)
{
	compat_tell_obsolete(obsolete, args);
}

/* Names are then as in the symbol table for filters, too. */
static bool shows_mangled(const struct postproc_args *args)
{
	return !args->filters_readable && args->demangle && !strcmp(args->demangle, "none");
}

/* "symbol:a,b" of OProfile's list: globs, or mangled names, which mean what they say. */
static int postproc_add_symbols(struct query *q, const char *tag, const char *list,
				bool are_readable, struct error *err)
{
	struct compat_words words = { 0 };
	struct buf text = { 0 }, plain = { 0 };
	int r;

	if (!list)
		return 0;
	compat_split(list, &words);
	buf_printf(&text, "%s:", tag);
	for (size_t i = 0; i < words.n; i++) {
		bool is_mangled = are_readable && demangle(words.data[i], &plain);
		const char *name = is_mangled ? buf_cstr(&plain) : words.data[i];
		const char *literal = is_mangled ? ",*?[\\" : ",";

		buf_str(&text, i ? "," : "");
		for (; *name; name++)
			buf_printf(&text, "%s%c", strchr(literal, *name) ? "\\" : "", *name);
	}
	r = words.n ? query_add(q, buf_cstr(&text), err) : 0;
	buf_fini(&text);
	buf_fini(&plain);
	compat_words_fini(&words);
	return r;
}

/* A name of a file that is there is the file that it leads to, as OProfile has it. */
static char *operand_path(const char *operand)
{
	return !strchr(operand, ':') && access(operand, F_OK) == 0 ? realpath(operand, NULL)
								   : xstrdup(operand);
}

/* Sample files are chosen by what they are named, and not by the code in them. */
static int refuse_code_filters(const struct query *q, struct error *err)
{
	static const enum filter_tag tags[] = { FILTER_LANGUAGE, FILTER_MODE, FILTER_FILE };

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (query_has(q, tags[i]))
			return error_set(err, -EINVAL, "%s: is a filter of 'assay report' alone",
					 filter_infos[tags[i]].tag);
	return 0;
}

/* The first half of postproc_load(): the session and the query alone. */
static int postproc_open(struct postproc *pp, const struct postproc_args *args,
			 const char *const *operands, size_t n_operands, struct error *err)
{
	int r = 0;

	*pp = (struct postproc){ .args = args };
	pp->query.without_dependents = args->no_dependents;
	pp->query.by_files = true;
	for (size_t i = 0; i < n_operands && r >= 0; i++) {
		cleanup(free_at_exit) char *operand = operand_path(operands[i]);

		r = query_add(&pp->query, operand, err);
	}
	r = r < 0 ? r
		  : postproc_add_symbols(&pp->query, "symbol", args->include_symbols,
					 !shows_mangled(args), err);
	r = r < 0 ? r
		  : postproc_add_symbols(&pp->query, "symbol-exclude", args->exclude_symbols,
					 !shows_mangled(args), err);
	r = r < 0 ? r : query_check(&pp->query, err);
	r = r < 0 ? r : refuse_code_filters(&pp->query, err);
	if (r < 0)
		return r;
	pp->dir = query_has(&pp->query, FILTER_ARCHIVE) ? input_place(NULL, &pp->query)
							: compat_session_dir(args->session_dir);
	if (!query_has(&pp->query, FILTER_ARCHIVE))
		compat_keep_killed(pp->dir);
	r = input_new(oprofile_commands.open_config, &pp->in, err);
	r = r < 0 ? r
		  : input_open_query(pp->in, pp->dir, &pp->query, &pp->session, &pp->is_damaged,
				     err);
	if (r < 0)
		return r;
	vec_foreach (&pp->session->warnings, warning)
		log_warning("%s", *warning);
	return 0;
}

/*
 * Sample files keep apart only what the recorder was asked for. assay's own sessions keep
 * everything apart, which would make columns that nobody asked for.
 */
static int choose_merge(const struct postproc *pp, uint32_t *merge, struct error *err)
{
	const char *given = pp->args->merge;
	int r = given ? merge_parse(given, merge, err) : 0;

	if (r < 0)
		return error_wrap(err, r, "--merge");
	if (!oprofile_importer.can_import(pp->dir) && (!given || strcmp(given, "none")))
		*merge |= MERGE_CPU | MERGE_TID | MERGE_TGID;
	return 0;
}

int postproc_open_symbols(struct postproc *pp, struct error *err)
{
	struct symbolizer_config config = { .root = pp->args->root,
					    .no_demangle = shows_mangled(pp->args) };
	struct compat_words dirs = { 0 };

	if (pp->symbols)
		return 0;
	if (pp->args->image_path)
		compat_split(pp->args->image_path, &dirs);
	config.image_dirs = (const char *const *)dirs.data;
	config.n_image_dirs = dirs.n;
	pp->symbols = pp->args->root ? symbolizer_new(&config)
				     : input_symbolizer_with(pp->in, pp->dir, &config);
	compat_words_fini(&dirs);
	return symbolizer_check_image_dirs(pp->symbols, err);
}

/* Symbols that select nothing leave an empty profile, as long as there are samples of the files. */
static int load_profile(struct postproc *pp, const struct profile_request *request,
			struct error *err)
{
	bool by_symbols = query_has(&pp->query, FILTER_SYMBOL) ||
			  query_has(&pp->query, FILTER_SYMBOL_EXCLUDE);
	uint32_t n_failures = reserve_failures();

	if (!by_symbols && !request->with_chains)
		return input_profile(request, false, &pp->profile, err);
	pp->profile = profile_load(request);
	if (reserve_failures() != n_failures)
		return reserve_error(err);
	if (pp->profile->has_classes)
		return 0;
	profile_free(pp->profile);
	pp->profile = NULL;
	return input_profile(request, false, &pp->profile, err);
}

int postproc_load(struct postproc *pp, const struct postproc_args *args,
		  const char *const *operands, size_t n_operands, uint32_t merge,
		  struct profile_request *request, struct error *err)
{
	int r = postproc_open(pp, args, operands, n_operands, err);

	r = r < 0 ? r : choose_merge(pp, &merge, err);
	if (r >= 0 && (request->with_functions || request->with_lines || args->image_path))
		r = postproc_open_symbols(pp, err);
	if (r < 0)
		return r;
	request->session = pp->session;
	request->symbols = pp->symbols;
	request->query = &pp->query;
	request->columns = merge_columns(merge);
	request->merge_masks = pp->merges_masks = merge & MERGE_UNITMASK;
	request->lanes_by_samples = true;
	r = load_profile(pp, request, err);
	if (r >= 0)
		opreport_name_images(pp->profile);
	return r;
}

void postproc_fini(struct postproc *pp)
{
	profile_free(pp->profile);
	symbolizer_free(pp->symbols);
	session_close(pp->session);
	input_free(pp->in);
	query_fini(&pp->query);
}
