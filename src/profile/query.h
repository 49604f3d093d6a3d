/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile specification: it selects samples of sessions.
 *
 * Each operand is one filter, TAG:VALUE[,VALUE…]; "\," is a literal comma. Values of one tag are
 * alternatives. Different tags must all match, and a tag comes once. Words are globs (fnmatch(3);
 * '*' crosses '/'). Numbers may be ranges ("0-3") and hexadecimal. An operand without a tag names a
 * program or an image, as in OProfile.
 *
 * image: is the application's image, as in OProfile. Without lib-image:, it also takes the code of
 * images of that name in all applications, because most libraries are no application's image.
 *
 * session:, session-exclude: and archive: are the sources of the samples. The code that opens the
 * session reads them (store/session_set.h); a profile does not.
 *
 * An operand may also be a list of matchers, as Prometheus has them: comm="postgres",
 * cgroup=~".*web.*". They compare the value that a report --by the key shows. All of them must
 * match, beside the filters.
 *
 * Idle samples (pid 0) are left out unless asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"

struct error;

/* Which frames of stacks are shown; filters look at whole stacks. X(id, word, help) */
#define SHOWN_FRAMES(X)                                                                      \
	X(BOTH, "both", "all but the interpreter's loop, around frames of its language")     \
	X(NATIVE, "native", "frames of native code, the interpreter's functions among them") \
	X(LANGUAGE, "language", "functions of Python, PHP, Ruby, Perl, Java, JavaScript, Go")

enum shown_frames {
#define X(id, word, help) FRAMES_##id,
	SHOWN_FRAMES(X)
#undef X
		N_SHOWN_FRAMES
};

extern const char *const shown_frames_words[N_SHOWN_FRAMES];

/* N_SHOWN_FRAMES: there is no such word. */
enum shown_frames shown_frames_find(const char *word);

enum filter_match { MATCH_GLOB, MATCH_NUMBER, MATCH_TIME, MATCH_SOURCE };

/* X(id, tag, match, value, help) */
#define FILTERS(X)                                                                                \
	X(IMAGE, "image", GLOB, "GLOB",                                                           \
	  "samples of these programs, with all their libraries; without lib-image:, also code "   \
	  "in libraries or [kernel] of this name")                                                \
	X(LIB_IMAGE, "lib-image", GLOB, "GLOB",                                                   \
	  "code in these images: the program itself, libraries, [kernel]")                        \
	X(IMAGE_EXCLUDE, "image-exclude", GLOB, "GLOB",                                           \
	  "neither of these programs nor in code of these images")                                \
	X(SYMBOL, "symbol", GLOB, "GLOB", "code in these functions, by their demangled names")    \
	X(SYMBOL_EXCLUDE, "symbol-exclude", GLOB, "GLOB", "code in other functions than these")   \
	X(VIA, "via", GLOB, "GLOB", "samples with one of these functions in their call chain")    \
	X(APP, "app", GLOB, "GLOB", "processes that run these programs")                          \
	X(COMM, "comm", GLOB, "GLOB", "threads of these names")                                   \
	X(PID, "pid", NUMBER, "N", "these processes; *tgid:* is the same")                        \
	X(TID, "tid", NUMBER, "N", "these threads")                                               \
	X(CPU, "cpu", NUMBER, "N", "these processors")                                            \
	X(CGROUP, "cgroup", GLOB, "GLOB",                                                         \
	  "these control groups, by path, and all groups below them")                             \
	X(UNIT, "unit", GLOB, "GLOB", "systemd's units; .service and the like may be left out")   \
	X(CONTAINER, "container", GLOB, "GLOB",                                                   \
	  "containers: as *report --by container* has them, their ids, or names")                 \
	X(POD, "pod", GLOB, "GLOB", "Kubernetes pods, by name or uid")                            \
	X(HOST, "host", GLOB, "GLOB", "samples of these machines")                                \
	X(SERVICE, "service", GLOB, "GLOB",                                                       \
	  "workloads of pods, else systemd's services, else containers, else programs")           \
	X(WAKER, "waker", GLOB, "GLOB",                                                           \
	  "waits that threads of these names ended, or [interrupt]; [none]: other samples")       \
	X(REASON, "reason", GLOB, "GLOB", "waits for these reasons: futex, block-io, socket, …")  \
	X(OWNER, "owner", GLOB, "GLOB", "waits for mutexes that these threads had")               \
	X(DEVICE, "device", GLOB, "GLOB", "waits for I/O on these block devices")                 \
	X(MEM, "mem", GLOB, "GLOB",                                                               \
	  "memory accesses that found their data here: \"L1 hit\", \\*RAM\\*")                    \
	X(TLB, "tlb", GLOB, "GLOB", "memory accesses that found their page here: \\*Walker\\*")   \
	X(SNOOP, "snoop", GLOB, "GLOB", "memory accesses that met this in other caches: HitM")    \
	X(DATA_SYMBOL, "data-symbol", GLOB, "GLOB", "accesses of these variables")                \
	X(DATA_IMAGE, "data-image", GLOB, "GLOB", "accesses of variables of these files")         \
	X(TRACE, "trace", GLOB, "GLOB", "samples of these traces (*record --labels trace*)")      \
	X(SPAN, "span", GLOB, "GLOB", "samples of these spans (*record --labels span*)")          \
	X(LABEL, "label", GLOB, "NAME=GLOB",                                                      \
	  "samples with this label, of a program or an import: *label:endpoint=/api*")            \
	X(PARALLELISM, "parallelism", NUMBER, "N", "samples at whose moment N threads ran")       \
	X(MODE, "mode", GLOB, "GLOB", "code of the user, or of the kernel")                       \
	X(LANGUAGE, "language", GLOB, "GLOB",                                                     \
	  "code of these languages: python, php, ruby, perl, java, javascript, go, native")       \
	X(BUILD, "build", GLOB, "GLOB",                                                           \
	  "code of files of these build ids; of a file without one, its name")                    \
	X(FILE, "file", GLOB, "GLOB", "code of these source files, by path or name")              \
	X(EVENT, "event", GLOB, "GLOB", "these events")                                           \
	X(COUNT, "count", NUMBER, "N", "events with a sample every N of them; 0: at a frequency") \
	X(UNIT_MASK, "unit-mask", NUMBER, "N", "events with these unit masks")                    \
	X(CONTEXT, "context", GLOB, "GLOB",                                                       \
	  "user, system, irq, softirq (interrupts by the kernel's call chain) or idle")           \
	X(TIME, "time", TIME, "FROM-TO",                                                          \
	  "time since the start: 2s-5s, 2-, -1m, 400ms-450ms, or 3 for the fourth second. "       \
	  "Sessions without exact times have whole seconds")                                      \
	X(SESSION, "session", SOURCE, "NAME",                                                     \
	  "saved sessions beside the *current* one, added up. A path is a "                       \
	  "separate session")                                                                     \
	X(SESSION_EXCLUDE, "session-exclude", SOURCE, "NAME",                                     \
	  "not these of *session:*; without that, of all that there are")                         \
	X(ARCHIVE, "archive", SOURCE, "DIR", "an archive, with its own binaries, instead of *-i*")

/* The operand without a tag: a program or an image. */
#define FILTER_WITHOUT_TAG(X) X(BINARY, "", GLOB, "GLOB", "app: or image:, whichever matches")

enum filter_tag {
#define X(id, tag, match, value, help) FILTER_##id,
	FILTERS(X) FILTER_WITHOUT_TAG(X)
#undef X
		N_FILTERS
};

struct filter_info {
	const char *tag;
	enum filter_match match;
	const char *value, *help;
};
extern const struct filter_info filter_infos[N_FILTERS];

struct filter_value {
	char *glob;
	uint64_t from, to; /* NUMBER: both included. TIME: ns since the start, `to` not included */
};

struct filter {
	struct filter_value *data;
	size_t n, cap;
};

struct pattern;

/* NAME="TEXT": takes the text; with a pattern, texts that it matches; is_not: all others. */
struct matcher {
	enum filter_tag tag;
	bool is_not;
	char *text; /* as it was written, without quotation marks */
	struct pattern *pattern;
	uint64_t number; /* of a filter that takes numbers */
};

struct query {
	struct filter filters[N_FILTERS]; /* n == 0: no such filter */
	VEC(struct matcher) matchers;
	bool with_idle;
	enum shown_frames frames;
	const struct container_names *containers; /* given by the user, or NULL; the caller's */
	bool without_dependents;                  /* only code in the application's own image */
	/*
	 * As OProfile's tools choose sample files: image: is the application alone, a call graph's
	 * arc goes by its caller's image, and symbols do not choose arcs.
	 */
	bool by_files;
	/* Of the clock, where asked for: which part of a session is opened
	 * (store/history/history.h). */
	struct time_window window;
	bool has_window;
	/* Overviews of a history up to this length may stand for its seconds; 0: none. */
	uint64_t overview_ns;
	/*
	 * query_add() looks at no file, so that a path of a dead file system can't block it: for
	 * checks only, as links of paths are not followed.
	 */
	bool is_check;
};

/* Appends it as it could be typed. */
struct buf;
void matcher_print(const struct matcher *m, struct buf *out);

void query_fini(struct query *q); /* { 0 } is a valid query: everything but idle */

/* Whether the operand is a filter with a tag, or a list of matchers. */
bool query_is_filter(const char *operand);

/* Adds one operand. -EINVAL: its tag, number or time is wrong (the message has the valid ones), or
 * the tag or name was given before. */
int query_add(struct query *q, const char *operand, struct error *err);

/* When all are added: -EINVAL names two filters that leave nothing between them. */
int query_check(const struct query *q, struct error *err);

bool query_has(const struct query *q, enum filter_tag tag); /* a filter or a matcher */

/* Both are true where the query has no such filter. */
bool query_takes_number(const struct query *q, enum filter_tag tag, uint64_t number);
/* As query_takes_number() for some number of a range, both ends in it. */
bool query_takes_some(const struct query *q, enum filter_tag tag, uint64_t from, uint64_t to);
bool query_takes_name(const struct query *q, enum filter_tag tag, const char *name);

/* The same without matchers, for code that asks about several names of one thing. */
bool query_takes_glob(const struct query *q, enum filter_tag tag, const char *name);
/* And the matchers alone. `other` is another name of the same thing, or NULL. */
bool query_matches(const struct query *q, enum filter_tag tag, const char *name, const char *other);

/* As query_takes_name() for a path: the last component, or "[kernel]" as "kernel", will do. */
bool query_takes_path(const struct query *q, enum filter_tag tag, const char *path);

/* As query_takes_path(), but false where there is no such filter: for those that exclude. */
bool query_names_path(const struct query *q, enum filter_tag tag, const char *path);

/* As query_takes_name() for a function: its parameters may be left out of the glob. */
bool query_takes_function(const struct query *q, enum filter_tag tag, const char *name);

/* The length of a demangled name without its parameters: "f(int) const" gives 1. */
size_t function_base_len(const char *name);
