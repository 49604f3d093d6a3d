/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inputs of a program: sessions, and files of other tools (import/import.h), which become
 * sessions for as long as the program needs them. Only this room knows the difference.
 *
 * A struct input holds how inputs are opened and named (struct open_config), and the temporary
 * files of those that it opened. There are no process-wide settings: two of them may differ.
 * A struct input belongs to one thread. Sessions and symbolizers must be closed before it is freed.
 */
#pragma once

#include "cli/options.h"
#include "profile/query.h"
#include "store/session.h"
#include "symbol/symbols.h"

#define DEFAULT_SESSION "./assay.data"

struct build_id;
struct container_names;
struct error;
struct input;
struct itrace;
struct key_list;

/* How inputs are opened. { 0 } is valid. */
struct open_config {
	const char *itrace;  /* how processor traces are decoded: letters, see assay-script(1);
				NULL: ITRACE_DEFAULT_REPORT */
	const char *filter;  /* of the branches of a trace (trace/branch_filter.h); NULL: all */
	bool no_itrace;      /* processor traces are not decoded */
	const char *vmlinux; /* the file of the kernel that was recorded, or NULL */
	/* Of guests (symbol/symbols.h). */
	const char *guest_kallsyms, *guest_modules, *guest_mount, *guest_vmlinux;
	bool guest_code;
	const char *symfs; /* a directory that binaries' paths are below, or NULL */
	/* Folders with binaries that are not at their paths. */
	const char *const *image_dirs;
	size_t n_image_dirs;
	double debuginfod_s; /* the time for all requests to debuginfod; 0: DEBUGINFOD_LIMIT_S */
	/* The time for names of files. What debuginfod's servers have comes later then. 0: none. */
	double names_s;
	const char *container_names; /* a file with lines "ID NAME", or NULL */
	bool no_demangle;            /* names stay as the symbol table has them */
	/*
	 * Files that somebody cuts while they are mapped read as zeros: installs a handler for
	 * SIGBUS, for the whole process and for good (base/files/cut_guard.h). Without it, files
	 * are read into memory.
	 */
	bool guards_cut_files;
	/*
	 * Called when a temporary directory was made. input_free() removes the directory; only the
	 * program can remove it when a signal ends the process. May be NULL.
	 */
	void (*on_scratch)(const char *dir);
	/* Called with a sentence while names are looked up. May be NULL; without report_fetching,
	 * debuginfod is not asked. */
	void (*report_fetching)(const char *sentence), (*report_unread)(const char *sentence);
	/* struct debuginfod_config's (symbol/debuginfod.h). May be NULL. */
	void (*report_progress)(const char *text);
};

/*
 * *out is the caller's to input_free(). The texts of *config are copied. -EINVAL: `itrace` is
 * wrong. Other errors: a file is of a wrong kind. The message begins with the member's name
 * ("vmlinux: …"), with '-' for '_'.
 */
int input_new(const struct open_config *config, struct input **out, struct error *err);
void input_free(struct input *in); /* NULL is fine */
DEFINE_AT_EXIT(input_free, struct input)

/* The option --filter of commands that decode a processor trace. */
#define BRANCH_FILTER_OPTION(filter)                                                      \
	{                                                                                 \
		0, "filter", "FILTER", OPT_STRING, (filter), NULL,                        \
			"of a processor trace, only branches that fit: from-symbol:main " \
			"to:401000",                                                      \
			"TAG:VALUE[,VALUE…] with blanks between tags; see BRANCHES in " \
			"assay-script(1)."                                                \
	}

/* The options --itrace, --filter and --no-itrace of every command that reads recordings. */
#define ITRACE_OPTIONS(itrace, filter, no_itrace)                                                   \
	{ 0,                                                                                        \
	  "itrace",                                                                                 \
	  "OPTIONS",                                                                                \
	  OPT_OPTIONAL,                                                                             \
	  (itrace),                                                                                 \
	  NULL,                                                                                     \
	  "make samples of a processor trace (Intel PT): letters, see assay-script(1)",             \
	  "Default: *igxe*, a sample each 100 µs of trace with its call chain; its weight is the " \
	  "number of instructions that ran since the last one, exactly.",                           \
	  .implied = "igxe" },                                                                      \
		BRANCH_FILTER_OPTION(filter),                                                       \
	{                                                                                           \
		0, "no-itrace", NULL, OPT_FLAG, (no_itrace), NULL,                                  \
			"do not decode processor traces"                                            \
	}
/*
 * The recordings that are opened next are added up (profile_needs_times()): their sessions have no
 * exact times, which take a fifth of the time that reading takes. Initially false.
 */
void input_want_sums_alone(struct input *in, bool sums_alone);

/*
 * The part of a fleet in ClickHouse ("clickhouse:URL,…") that the next sessions need. Initially,
 * they have whole stacks of all hosts and times together. Of a fleet in a directory, hosts are
 * apart until a wish without hosts_apart permits sums of them (fleet/fleet_open.h).
 */
struct fleet_wish {
	const struct key_list *keys; /* of the report: host and build are kept apart. Not copied */
	bool functions_alone;        /* without callers: far fewer rows */
	bool hosts_apart, times_apart;
	bool builds_apart;        /* functions have their builds, also in call trees */
	bool needs_totals;        /* of functions alone: else it gets stacks */
	bool leaves;              /* addresses of samples instead, of all hosts together */
	const char *leaves_build; /* of this build id alone; NULL: of all. Not copied */
};
/* Whether a path is such a fleet. NULL is none. */
bool input_is_clickhouse(const char *path);
void input_want_of_fleet(struct input *in, const struct fleet_wish *wish);

/* The path of the fleet with the value of --fleet: URLs, or its directory. The caller frees it. */
char *input_of_fleet(const char *urls);
#define FLEET_OPTION(field)                                                                     \
	{                                                                                       \
		0, "fleet", "DIR|URL,…", OPT_STRING, (field), NULL,                             \
			"ask the fleet in DIR or in ClickHouse, instead of -i",                 \
			"*-i DIR* is the same. "                                                \
			"The URLs are those of *assay fleet init*. *-i clickhouse:URL,…* is " \
			"the same, in all commands. The header says which part of the fleet "   \
			"the answer covers. With *--by host* or a filter *host:*, trees need "  \
			"the last three days."                                                  \
	}

/* How traces are decoded; NULL: not at all. */
const struct itrace *input_itrace(const struct input *in);

/* Files whose names come later, because names_s was over. */
uint32_t input_n_late(const struct input *in, const struct symbolizer *symbols);

/* Where source files are now: fields of struct option_list. */
#define SOURCE_OPTIONS(search_dirs, rewrites)                                                   \
	{ 0,                                                                                    \
	  "search-dir",                                                                         \
	  "DIR",                                                                                \
	  OPT_LIST,                                                                             \
	  search_dirs,                                                                          \
	  NULL,                                                                                 \
	  "look for source files below DIR, too",                                               \
	  "For /build/x/src/a.c the files DIR/build/x/src/a.c, DIR/x/src/a.c, DIR/src/a.c and " \
	  "DIR/a.c are tried." },                                                               \
	{                                                                                       \
		0, "rewrite", "FROM=TO", OPT_LIST, rewrites, NULL,                              \
			"look for source files of paths that start with FROM at TO instead"     \
	}

/* The options for the place of a recording's code, in every command that shows or decodes code. */
struct code_args {
	const char *vmlinux, *guest_kallsyms, *guest_modules, *guest_mount, *guest_vmlinux, *symfs;
	bool guest_code;
	struct option_list image_path; /* the command's to free */
	double debuginfod_s;
};
#define CODE_OPTIONS(base)                                                                         \
	{ 'k',                                                                                     \
	  "vmlinux",                                                                               \
	  "FILE",                                                                                  \
	  OPT_STRING,                                                                              \
	  (base) + offsetof(struct code_args, vmlinux),                                            \
	  NULL,                                                                                    \
	  "the file of the kernel that was recorded",                                              \
	  "Names and code of the kernel come from it, if its build id is the recorded one. A "     \
	  "file of another build is reported and not used. Without this option, assay finds the "  \
	  "kernel by its build id." },                                                             \
		{ 0,                                                                               \
		  "guestkallsyms",                                                                 \
		  "FILE",                                                                          \
		  OPT_STRING,                                                                      \
		  (base) + offsetof(struct code_args, guest_kallsyms),                             \
		  NULL,                                                                            \
		  "a copy of the /proc/kallsyms of the guest that was recorded (perf kvm)",        \
		  "Functions of the guest's kernel and its modules have their names from it. "     \
		  "FILE may be a pipe, as in *--guestkallsyms <(ssh GUEST cat "                    \
		  "/proc/kallsyms)*." },                                                           \
		{ 0,                                                                               \
		  "guestmodules",                                                                  \
		  "FILE",                                                                          \
		  OPT_STRING,                                                                      \
		  (base) + offsetof(struct code_args, guest_modules),                              \
		  NULL,                                                                            \
		  "a copy of the guest's /proc/modules: its modules have rows of their own",       \
		  "An Intel PT trace of a guest needs the files of its modules, too: by name, "    \
		  "in *--image-path*. FILE may be a pipe." },                                      \
		{ 0,                                                                               \
		  "guestmount",                                                                    \
		  "DIR",                                                                           \
		  OPT_STRING,                                                                      \
		  (base) + offsetof(struct code_args, guest_mount),                                \
		  NULL,                                                                            \
		  "the files of several guests: those of each below DIR/PID, by the process that " \
		  "ran it",                                                                        \
		  "PID has copies of the guest's /proc/kallsyms, /proc/modules and "               \
		  "/proc/version. An Intel PT trace needs code, too: the guest's programs, the "   \
		  "vmlinux in /boot or /usr/lib/debug, and /lib/modules, at their paths below "    \
		  "PID. A copy of /proc/kcore beside kallsyms takes the place of vmlinux. A "      \
		  "guest that has no folder in DIR has the names of *--guestkallsyms*." },         \
		{ 0,                                                                               \
		  "guestvmlinux",                                                                  \
		  "FILE",                                                                          \
		  OPT_STRING,                                                                      \
		  (base) + offsetof(struct code_args, guest_vmlinux),                              \
		  NULL,                                                                            \
		  "the file of the kernel of the guest",                                           \
		  "An Intel PT trace of a guest needs its code. Where the kernel was is in "       \
		  "*--guestkallsyms*. If a copy of the guest's /proc/kcore is beside that file, "  \
		  "the code comes from there." },                                                  \
		{ 0,                                                                               \
		  "guest-code",                                                                    \
		  NULL,                                                                            \
		  OPT_FLAG,                                                                        \
		  (base) + offsetof(struct code_args, guest_code),                                 \
		  NULL,                                                                            \
		  "guests run code of the processes that run them, at the same addresses",         \
		  "Programs that test KVM do so. There is no kernel in such a guest." },           \
		{ 0,                                                                               \
		  "symfs",                                                                         \
		  "DIR",                                                                           \
		  OPT_STRING,                                                                      \
		  (base) + offsetof(struct code_args, symfs),                                      \
		  NULL,                                                                            \
		  "look for binaries below DIR, by the paths that they ran from",                  \
		  "For recordings of another machine. DIR may also have just the binaries. "       \
		  "An archive (assay-archive(1)) needs "                                           \
		  "no such option." },                                                             \
		{ 0,                                                                               \
		  "image-path",                                                                    \
		  "DIR",                                                                           \
		  OPT_LIST,                                                                        \
		  (base) + offsetof(struct code_args, image_path),                                 \
		  NULL,                                                                            \
		  "look for binaries below DIR, too",                                              \
		  "Files are found there by name and build id, if they are not at the path "       \
		  "that they ran from, or if they are another build now. Without this "            \
		  "option, assay also finds files by their build id: see *assay why*." },          \
	{                                                                                          \
		0, "debuginfod-limit", "TIME", OPT_SECONDS,                                        \
			(base) + offsetof(struct code_args, debuginfod_s), NULL,                   \
			"how long debuginfod may take for all files together (default: 30s)",      \
			"The servers in *DEBUGINFOD_URLS* are asked last. assay remembers for "    \
			"ten "                                                                     \
			"minutes that they do not have a file, or do not answer.",                 \
			1, 1e6                                                                     \
	}

/* The --vmlinux if it is another build than the recorded kernel; else NULL. */
#define REFUSED_VMLINUX " is another build than the recorded kernel, so it is not used"
const char *input_refused_vmlinux(const struct input *in, const struct build_id *recorded);

/*
 * The option --weight, and whether the weights of profiles are events. Without the option, they are
 * if one of the profiles needs events. `other`: the profile for comparison, or NULL.
 */
#define WEIGHT_OPTION(field, what) \
	WEIGHT_OPTION_WITH(field, what, "auto|samples|events|latency", WEIGHT_LATENCY_HELP)
#define WEIGHT_LATENCY_HELP                                                                  \
	" *latency* adds up the latencies of samples in cycles, as *perf mem report* does. " \
	"Samples "                                                                           \
	"of *perf mem record* and *perf record -W* have them."
#define WEIGHT_OPTION_WITH(field, what, words, more)                                             \
	{                                                                                        \
		0, "weight", "WHAT", OPT_CHOICE, (field), "auto", what,                          \
			"A sample stands for all events since the sample before. For clocks, "   \
			"an event is a nanosecond. *auto* chooses events if samples stand for "  \
			"different numbers of events. This is so for counters that are sampled " \
			"at a frequency: in each thread, they begin with periods of few "        \
			"events." more,                                                          \
			.choices = words                                                         \
	}
struct profile;
bool input_by_period(const char *weight, const struct profile *profile,
		     const struct profile *other);

/* -i of a daemon's directory, as OProfile's tools have it. */
#define SESSION_DIR_OPTION(field)                                                  \
	{                                                                          \
		0, "session-dir", "DIR", OPT_STRING, (field), NULL,                \
			"read the history in a daemon's directory, instead of -i", \
			"The present recording is in _DIR_/samples/current. *-i* " \
			"_DIR_/samples/NAME reads a saved one."                    \
	}

/* The option -i and the operands of every command that reads one session. */
#define INPUT_OPTION(field, what)                                                        \
	{ 'i',                                                                           \
	  "input",                                                                       \
	  "DIR",                                                                         \
	  OPT_STRING,                                                                    \
	  (field),                                                                       \
	  NULL,                                                                          \
	  "session, or perf.data file, to " what,                                        \
	  "Default: *" DEFAULT_SESSION "*. A perf.data file may be of another machine. " \
	  "perf script's text, folded stacks and pprof "                                 \
	  "are read as well; *-* is standard input." },                                  \
		SESSION_DIR_OPTION(field)
extern const char input_filters_help[]; /* of a man page's section FILTERS */

/* The option --container-names. */
#define CONTAINER_NAMES_OPTION(field)                                                              \
	{                                                                                          \
		0, "container-names", "FILE", OPT_STRING, (field), NULL,                           \
			"names of containers and pods: a line each, ID NAME",                      \
			"They count before those that the recorder found in the files of engines " \
			"(docs/cgroups.md). An ID is whole, or a container's first 12 digits. "    \
			"Empty lines and lines that begin with # are left out.",                   \
	}
/* For a query that is not made by input_query(). NULL: none were given. */
const struct container_names *input_containers(const struct input *in);

/* The option --no-demangle. */
#define NO_DEMANGLE_OPTION(field)                                                            \
	{                                                                                    \
		0, "no-demangle", NULL, OPT_FLAG, (field), NULL,                             \
			"names of functions as the symbol table has them",                   \
			"Without it, names of C++, Rust, D, Swift, Fortran, Ada, OCaml and " \
			"Haskell are readable. Filters go by the names that are shown."      \
	}

/* The options of time windows in commands that show a profile, and their values. */
struct window_args {
	const char *since, *until, *at;
	double length_s; /* 0: not given */
};
#define WINDOW_OPTIONS(base)                                                          \
	{ 0,                                                                          \
	  "since",                                                                    \
	  "TIME",                                                                     \
	  OPT_STRING,                                                                 \
	  (base) + offsetof(struct window_args, since),                               \
	  NULL,                                                                       \
	  "only samples from this time on: -2h, 'yesterday 14:00' … (see TIMES)" },   \
		{ 0,                                                                  \
		  "until",                                                            \
		  "TIME",                                                             \
		  OPT_STRING,                                                         \
		  (base) + offsetof(struct window_args, until),                       \
		  NULL,                                                               \
		  "only samples before this time" },                                  \
		{ 0,                                                                  \
		  "at",                                                               \
		  "TIME",                                                             \
		  OPT_STRING,                                                         \
		  (base) + offsetof(struct window_args, at),                          \
		  NULL,                                                               \
		  "only samples around this time, half of --window on either side" }, \
	{                                                                             \
		0, "window", "LENGTH", OPT_SECONDS,                                   \
			(base) + offsetof(struct window_args, length_s), NULL,        \
			"with --at: how much time (default: 60s)", NULL, 0.001, 1e9   \
	}
extern const char input_times_help[]; /* of a man page's section TIMES */

/* Puts the values of the options into the query. -EINVAL: a usage error. */
int input_window(const struct window_args *args, struct query *q, struct error *err);

/*
 * Reads the window `text`: FROM..TO, or a begin. With a begin alone, the window has the length of
 * the one in `like`, whose open end becomes now. `at`: the value of --at for that one, or NULL.
 */
int input_window_against(const char *text, const char *at, struct query *like, struct query *out,
			 struct error *err);

/*
 * Opens the session at `path`. Unpacks an archive (.tar.zst …) or imports a file of another kind
 * ("-": standard input) into $TMPDIR or memory, and opens the result; input_free() removes it. Then
 * the session's warnings name the missing parts. *is_damaged: the file was damaged (exit status 1,
 * after the result).
 */
int input_open(struct input *in, const char *path, struct session **out, bool *is_damaged,
	       struct error *err);

/* As input_open(), of the samples in the query's window of time. */
int input_open_window(struct input *in, const char *path, const struct query *q,
		      struct session **out, bool *is_damaged, struct error *err);

/* As input_open() with the value of -i. NULL: DEFAULT_SESSION; the error tells how to make one. */
int input_open_given(struct input *in, const char *given, struct session **out, bool *is_damaged,
		     struct error *err);

int input_open_given_window(struct input *in, const char *given, const struct query *q,
			    struct session **out, bool *is_damaged, struct error *err);

/*
 * As input_open_given_window(), with the query's archive: instead of -i. Joins the saved sessions
 * of the query's session: and session-exclude:.
 */
int input_open_query(struct input *in, const char *given, const struct query *q,
		     struct session **out, bool *is_damaged, struct error *err);

/*
 * The profile of a request, for libassay and for every command. It has samples. Otherwise, the
 * error explains which filter takes none, which damage hides all (-EBADMSG), or which daemon has
 * recorded none; or there is not enough memory (-ENOMEM).
 */
struct profile_request;
int input_profile(const struct profile_request *request, bool is_damaged, struct profile **out,
		  struct error *err);

/* Returns `code`. For a daemon's directory without samples at `path`, *err has the daemon's state.
 */
int input_explain_daemon(const char *path, int code, struct error *err);

/* The archive of the query, else the value of -i. NULL: neither. */
const char *input_place(const char *given, const struct query *q);

/* The folder of a path: itself, or the folder of an unpacked archive. */
int input_unpacked(struct input *in, const char *path, const char **out, struct error *err);

/*
 * Names the code of the session of -i. The files are those of the session if it is an archive
 * (replay/archive.h), else this machine's. `cache_dir` as in struct symbolizer_config. Never NULL.
 */
struct symbolizer *input_symbolizer(struct input *in, const char *given, const char *cache_dir);

/* The same with the image_dirs of *wanted. -ENOENT: one of them is no folder. */
struct symbolizer *input_symbolizer_with(struct input *in, const char *given,
					 const struct symbolizer_config *wanted);

/*
 * The places of the code of the session of -i: *config gets the places of input_symbolizer(), and
 * *places owns their texts until archive_places_fini().
 */
struct archive_places;
void input_places(struct input *in, const char *given, struct archive_places *places,
		  struct symbolizer_config *config);

/*
 * Opens the recording at `path`, or the text of perf script (replay/replay_script.h). Its files are
 * in those places: copied stacks are walked with them. `path` is `given`, or its unpacked folder.
 */
struct replay;
int input_replay(struct input *in, const char *given, const char *path, struct replay **out,
		 struct error *err);

/* replay_decode() with those places. */
int input_decode(struct input *in, struct replay *replay, const struct itrace *itrace,
		 const char *given, struct error *err);

/* A directory of this process alone, in $TMPDIR or memory, until input_free(). */
int input_scratch(struct input *in, const char **dir, struct error *err);

/* The option --frames, for shown_frames_find(). */
#define SHOWN_HELP(id, word, help) " *" word "*: " help "."
#define FRAMES_OPTION(field)                                                                   \
	{                                                                                      \
		0, "frames", "WHICH", OPT_CHOICE, (field), "both",                             \
			"show native frames, those of interpreted languages, or both",         \
			"A sample whose innermost frame is left out counts at the next frame " \
			"that "                                                                \
			"is shown. A stack without such frames stays whole. Filters look at "  \
			"whole "                                                               \
			"stacks." SHOWN_FRAMES(SHOWN_HELP),                                    \
			.choices = "both|native|language"                                      \
	}

/* The query of a command's operands. */
int input_query(const struct input *in, const struct option_list *operands, bool with_idle,
		struct query *q, struct error *err);
