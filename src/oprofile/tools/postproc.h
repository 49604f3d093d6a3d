/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What opreport, opannotate, opgprof and oparchive share: where samples are, the profile
 * specification, binaries, the classes.
 */
#pragma once

#include "oprofile/tools/compat.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "store/session.h"
#include "symbol/symbols.h"

struct postproc_args {
	struct compat_args compat; /* first */
	const char *session_dir, *image_path, *root, *merge, *demangle;
	const char *include_symbols, *exclude_symbols;
	double threshold;
	bool no_dependents;
	bool filters_readable; /* filters go by readable names, whatever is shown */
};

#define POSTPROC_FIELD(type, f) offsetof(struct type, post.f)

/* Rows of all four. */
#define POSTPROC_OPTIONS(type)                                                                  \
	{ 0,                                                                                    \
	  "session-dir",                                                                        \
	  "DIR",                                                                                \
	  OPT_STRING,                                                                           \
	  POSTPROC_FIELD(type, session_dir),                                                    \
	  NULL,                                                                                 \
	  "where samples are",                                                                  \
	  "Default: *./oprofile_data* if that is a directory, else */var/lib/oprofile*. A "     \
	  "session of *assay record* will do." },                                               \
		{ 'p',                                                                          \
		  "image-path",                                                                 \
		  "DIRS",                                                                       \
		  OPT_STRING,                                                                   \
		  POSTPROC_FIELD(type, image_path),                                             \
		  NULL,                                                                         \
		  "directories below which to look for binaries that are not at their paths" }, \
		{ 'R',                                                                          \
		  "root",                                                                       \
		  "DIR",                                                                        \
		  OPT_STRING,                                                                   \
		  POSTPROC_FIELD(type, root),                                                   \
		  NULL,                                                                         \
		  "a directory that binaries' paths are below" },                               \
		{ 'v',                                                                          \
		  "version",                                                                    \
		  NULL,                                                                         \
		  OPT_FLAG,                                                                     \
		  offsetof(struct type, post.compat.version),                                   \
		  NULL,                                                                         \
		  "print the version" },                                                        \
		{ '?',                                                                          \
		  NULL,                                                                         \
		  NULL,                                                                         \
		  OPT_FLAG,                                                                     \
		  offsetof(struct type, post.compat.help),                                      \
		  NULL,                                                                         \
		  "explain the options" },                                                      \
		{ 0,                                                                            \
		  "usage",                                                                      \
		  NULL,                                                                         \
		  OPT_FLAG,                                                                     \
		  offsetof(struct type, post.compat.usage),                                     \
		  NULL,                                                                         \
		  "print a short usage" },                                                      \
	{                                                                                       \
		'V', "verbose", "LIST", OPT_STRING, offsetof(struct type, post.compat.verbose), \
			NULL, "accepted; there is no such output here"                          \
	}
#define POSTPROC_THRESHOLD(type)                                                            \
	{                                                                                   \
		't', "threshold", "PCT", OPT_DOUBLE, POSTPROC_FIELD(type, threshold), NULL, \
			"leave out rows below this share", NULL, 0, 100                     \
	}
#define POSTPROC_DEPENDENTS(type)                                                                 \
	{                                                                                         \
		'x', "exclude-dependent", NULL, OPT_FLAG, POSTPROC_FIELD(type, no_dependents),    \
			NULL, "only code in the application's own image: no libraries, no kernel" \
	}
#define POSTPROC_MERGE(type)                                                         \
	{                                                                            \
		'm', "merge", "LIST", OPT_STRING, POSTPROC_FIELD(type, merge), NULL, \
			"do not keep apart: cpu, lib, tid, tgid, unitmask, all"      \
	}
#define POSTPROC_SYMBOLS(type)                                                    \
	{ 'D',                                                                    \
	  "demangle",                                                             \
	  "HOW",                                                                  \
	  OPT_CHOICE,                                                             \
	  POSTPROC_FIELD(type, demangle),                                         \
	  "normal",                                                               \
	  "names as they are, or demangled",                                      \
	  NULL,                                                                   \
	  0,                                                                      \
	  0,                                                                      \
	  "none|normal|smart" },                                                  \
		{ 'e',                                                            \
		  "exclude-symbols",                                              \
		  "SYMBOLS",                                                      \
		  OPT_STRING,                                                     \
		  POSTPROC_FIELD(type, exclude_symbols),                          \
		  NULL,                                                           \
		  "without these; globs of demangled names, or mangled names" },  \
	{                                                                         \
		'i', "include-symbols", "SYMBOLS", OPT_STRING,                    \
			POSTPROC_FIELD(type, include_symbols), NULL, "only these" \
	}

/* One profile: the specification and the loaded data. */
struct postproc {
	const struct postproc_args *args;
	const char *dir; /* the session directory */
	struct query query;
	struct input *in;
	struct session *session;
	struct symbolizer *symbols;
	struct profile *profile;
	bool is_damaged, merges_masks;
};

/* Opens pp->symbols, if postproc_load() has not: it does only where names are wanted. */
int postproc_open_symbols(struct postproc *pp, struct error *err);

/*
 * Opens the session, adds the operands to the query, and loads the profile of *request. Sets the
 * request's session, symbols, query and classes. `merge` is the tool's own (enum merge), in
 * addition to the command line's. -ENOENT: nothing matches.
 */
int postproc_load(struct postproc *pp, const struct postproc_args *args,
		  const char *const *operands, size_t n_operands, uint32_t merge,
		  struct profile_request *request, struct error *err);

void postproc_fini(struct postproc *pp);

/* The lines about options that do nothing. */
void postproc_tell_obsolete(const struct postproc_args *args);
