/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons of losses. Every sample that is missing in a report is counted by one of these reasons,
 * which is stored with the samples and shown in every header.
 *
 *   samples reported + losses of kind LOST = samples the kernel delivered
 *
 * UNATTRIBUTED samples are stored and reported, with the image "[unknown]". A NOTE counts something
 * else that makes a profile worse.
 */
#pragma once

#include <stdint.h>

enum loss_kind { LOSS_LOST, LOSS_UNATTRIBUTED, LOSS_NOTE };

/* X(id, kind, key, text): `key` is for JSON and the store's documentation. Order is the store
 * format. */
/* Losses of a language's frames. The first three are in the order of enum language_loss. */
#define LANGUAGE_LOSSES(X, ID, key, name)                                                       \
	X(ID##_STATE, NOTE, key "-state",                                                       \
	  "stacks without " name " frames: the state of their thread was not found")            \
	X(ID##_MEMORY, NOTE, key "-memory",                                                     \
	  "stacks with missing " name " frames: memory could not be read")                      \
	X(ID##_FRAME, NOTE, key "-frame", name " frames left out, because they were not whole") \
	X(ID##_MISMATCH, NOTE, key "-mismatch",                                                 \
	  "stacks whose " name " frames do not fit the interpreter's native frames")            \
	X(ID##_NAME, NOTE, key "-name",                                                         \
	  name " frames left out, because their names did not arrive")                          \
	X(ID##_EARLY, NOTE, key "-early",                                                       \
	  "stacks without " name " frames: taken before assay knew the interpreter's file")     \
	X(ID##_VERSION, NOTE, key "-version",                                                   \
	  "files with a " name " interpreter that assay can't follow")                          \
	X(ID##_COLLECTOR, NOTE, key "-collector",                                               \
	  "interpreters whose " name                                                            \
	  " frames are missing: BPF alone reads them (root, or CAP_BPF and CAP_PERFMON)")

/* Java's frames are in copied stacks, where the walk of the stack needs them. The same order. */
#define JAVA_LOSSES(X)                                                                        \
	X(JAVA_STATE, NOTE, "java-state",                                                     \
	  "stacks cut at Java code: the virtual machine is starting, or can't be read")       \
	X(JAVA_MEMORY, NOTE, "java-memory",                                                   \
	  "stacks cut at Java code: the process ended before its code was read")              \
	X(JAVA_FRAME, NOTE, "java-frame", "stacks cut at Java frames that were not whole")    \
	X(JAVA_MISMATCH, NOTE, "java-mismatch",                                               \
	  "stacks cut at Java code that has no call at the return address")                   \
	X(JAVA_NAME, NOTE, "java-name", "Java frames without the names of their methods")     \
	X(JAVA_EARLY, NOTE, "java-early",                                                     \
	  "stacks cut at Java code: taken before assay knew the virtual machine's file")      \
	X(JAVA_VERSION, NOTE, "java-version",                                                 \
	  "processes with a Java virtual machine that assay can't follow")                    \
	X(JAVA_COLLECTOR, NOTE, "java-collector",                                             \
	  "Java virtual machines whose stacks are cut: only copied stacks have their frames " \
	  "(record -- java, and -p, without --call-graph fp)")

/* So are JavaScript's. Their frames are walked whether or not they have names. */
#define JAVASCRIPT_LOSSES(X)                                                                   \
	X(JAVASCRIPT_STATE, NOTE, "javascript-state",                                          \
	  "stacks without JavaScript frames: the memory of their process can't be read")       \
	X(JAVASCRIPT_MEMORY, NOTE, "javascript-memory",                                        \
	  "stacks with missing JavaScript frames: the process ended before its code was read") \
	X(JAVASCRIPT_FRAME, NOTE, "javascript-frame",                                          \
	  "JavaScript frames left out, because they were not whole")                           \
	X(JAVASCRIPT_MISMATCH, NOTE, "javascript-mismatch",                                    \
	  "stacks with JavaScript frames without names: their functions had moved, or their "  \
	  "code was replaced")                                                                 \
	X(JAVASCRIPT_NAME, NOTE, "javascript-name",                                            \
	  "JavaScript frames left out, because their names were not kept")                     \
	X(JAVASCRIPT_EARLY, NOTE, "javascript-early",                                          \
	  "stacks without JavaScript frames: taken before assay knew the runtime's file")      \
	X(JAVASCRIPT_VERSION, NOTE, "javascript-version",                                      \
	  "files with a JavaScript runtime that assay can't follow")                           \
	X(JAVASCRIPT_COLLECTOR, NOTE, "javascript-collector",                                  \
	  "JavaScript runtimes whose frames are missing: only copied stacks have them "        \
	  "(record -- node, and -p, without --call-graph fp)")

#define LOSS_REASONS(X)                                                                            \
	X(RING_FULL, LOST, "ring-full", "the ring was full (PERF_RECORD_LOST)")                    \
	X(PMU_BUFFER, LOST, "pmu-buffer", "the PMU's own buffer was full (LOST_SAMPLES)")          \
	X(DAMAGED, LOST, "damaged", "stored in a damaged part of the session")                     \
	X(DISK_FULL, LOST, "disk-full", "the session could not be written")                        \
	X(NO_PROCESS, UNATTRIBUTED, "no-process", "the process was not known")                     \
	X(UNMAPPED, UNATTRIBUTED, "unmapped", "no mapping covers the address")                     \
	X(NO_KERNEL, UNATTRIBUTED, "no-kernel", "kernel addresses are hidden (kptr_restrict)")     \
	X(GUEST, UNATTRIBUTED, "guest", "the address is in a hypervisor")                          \
	X(RING_RECORDS, NOTE, "ring-records", "records other than samples lost to a full ring")    \
	X(THROTTLED, NOTE, "throttled", "the kernel throttled a counter")                          \
	X(FRAME_UNMAPPED, NOTE, "frame-unmapped", "callers at addresses that no mapping covers")   \
	X(CHAIN_CUT, NOTE, "chain-cut", "call chains cut at the depth limit")                      \
	X(OUT_OF_ORDER, NOTE, "out-of-order", "records that came later than their time")           \
	X(BAD_RECORD, NOTE, "bad-record", "records that did not parse")                            \
	X(UNSAMPLED, NOTE, "unsampled",                                                            \
	  "missing samples of threads that ended before their first sample")                       \
	X(STACK_NO_RULE, NOTE, "stack-no-rule", "stacks cut at code without an unwind rule")       \
	X(STACK_BAD, NOTE, "stack-bad",                                                            \
	  "stacks cut at a frame that did not lie above the last one")                             \
	X(STACK_SHORT, NOTE, "stack-short",                                                        \
	  "stacks deeper than the copied bytes (more are copied with record --stack-size)")        \
	X(STACK_UNREADABLE, NOTE, "stack-unreadable", "stacks that could not be copied")           \
	X(STACK_UNSUPPORTED, NOTE, "stack-unsupported",                                            \
	  "stacks cut at an unwind rule that assay does not support")                              \
	X(STACK_NO_FP, NOTE, "stack-no-fp",                                                        \
	  "stacks cut in code with neither rule nor frame pointer")                                \
	X(SOURCE, LOST, "source", "lost by the tool that recorded")                                \
	X(STACK_NO_TABLE, NOTE, "stack-no-table",                                                  \
	  "stacks cut in a file that was met for the first time")                                  \
	X(TABLES_FULL, NOTE, "tables-full",                                                        \
	  "stacks through files whose unwind table had no room in the kernel")                     \
	X(FILES_FULL, NOTE, "files-full", "frames in files beyond the kernel's list of files")     \
	X(THROTTLED_SAMPLES, NOTE, "throttled-samples",                                            \
	  "samples never taken: a counter was throttled, or its interrupt too late")               \
	X(WAITS_FULL, NOTE, "waits-full", "waits for which the kernel had no room")                \
	X(TRACE_BAD_PACKET, NOTE, "trace-bad-packet", "trace errors: bytes that are no packet")    \
	X(TRACE_CUT, NOTE, "trace-cut", "trace errors: the trace ends inside a packet")            \
	X(TRACE_OVERFLOW, NOTE, "trace-overflow",                                                  \
	  "trace errors: the processor could not write all packets (OVF)")                         \
	X(TRACE_LOST, NOTE, "trace-lost", "trace errors: data was lost before it was stored")      \
	X(TRACE_NO_CODE, NOTE, "trace-no-code", "trace errors: code could not be read")            \
	X(TRACE_MISMATCH, NOTE, "trace-mismatch", "trace errors: the trace does not fit the code") \
	X(TRACE_LOOP, NOTE, "trace-loop", "trace errors: a loop that no packet leaves")            \
	X(TRACE_UNEXPECTED, NOTE, "trace-unexpected",                                              \
	  "trace errors: a packet at an impossible place")                                         \
	X(CPU_ONLINE, NOTE, "cpu-online", "CPUs that came online, not sampled for a moment")       \
	X(CPU_UNWATCHED, NOTE, "cpu-unwatched", "CPUs that came online and could not be sampled")  \
	X(RATE_LOWERED, NOTE, "rate-lowered",                                                      \
	  "times that the rate went down, for the daemon's budget or the fleet")                   \
	X(RATE_RAISED, NOTE, "rate-raised", "times that the rate went up again")                   \
	X(RENEWED, NOTE, "renewed", "times that counting began anew, not sampled for a moment")    \
	X(EXT_ADDRESS, LOST, "ext-address",                                                        \
	  "raw samples of an extended feature without a valid address")                            \
	X(STACK_OTHER, NOTE, "stack-other",                                                        \
	  "stacks that go on in another stack, which was not copied (record -a follows most)")     \
	X(PROTECTED, NOTE, "protected",                                                            \
	  "processes that executed a set-uid program: the kernel ended their counters there")      \
	X(JIT_MAP_LARGE, NOTE, "jit-map-large",                                                    \
	  "processes without names of JIT code: their perf map is larger than 16 MiB, or 400,000 " \
	  "lines")                                                                                 \
	X(JIT_MAP_FOREIGN, NOTE, "jit-map-foreign",                                                \
	  "processes without names of JIT code: another user owns their perf map")                 \
	LANGUAGE_LOSSES(X, PYTHON, "python", "Python")                                             \
	X(JIT_DUMP_LARGE, NOTE, "jit-dump-large",                                                  \
	  "jitdumps that gave no names: their records need too much memory")                       \
	X(FILE_REFUSED, NOTE, "file-refused",                                                      \
	  "files that were not opened: openat2(2) is not there, or a seccomp filter refuses it")   \
	X(FILE_UNPARSED, NOTE, "file-unparsed",                                                    \
	  "files that the parser process could not read: it died of them, or took too long")       \
	X(FILE_LATE, NOTE, "file-late",                                                            \
	  "files that were identified late; samples before that have their path alone")            \
	X(FILE_BUDGET, NOTE, "file-budget",                                                        \
	  "files that were not read, as files of their processes' user took too much time")        \
	X(JIT_HITS, NOTE, "jit-hits",                                                              \
	  "processes without names of JIT code: too many different addresses")                     \
	X(JIT_MAP_LATE, NOTE, "jit-map-late",                                                      \
	  "processes without names of JIT code: their perf map was not read in time")              \
	X(MAPPINGS_FULL, NOTE, "mappings-full",                                                    \
	  "mappings that were left out: processes of their user have too many")                    \
	X(FILES_UNNAMED, NOTE, "files-unnamed",                                                    \
	  "mapped files without a name: processes of their user mapped too many files")            \
	X(JIT_DUMP_LATE, NOTE, "jit-dump-late",                                                    \
	  "frames in JIT code without a name: the jitdump was not read in time")                   \
	X(STACK_NO_FILE, NOTE, "stack-no-file",                                                    \
	  "stacks cut in code whose file is not here ('assay why' names the file and the places "  \
	  "where assay looked)")                                                                   \
	LANGUAGE_LOSSES(X, PHP, "php", "PHP")                                                      \
	LANGUAGE_LOSSES(X, RUBY, "ruby", "Ruby")                                                   \
	X(TIMES_FULL, NOTE, "times-full",                                                          \
	  "samples of which only the second is known: the sampler had no room for their times")    \
	LANGUAGE_LOSSES(X, PERL, "perl", "Perl")                                                   \
	X(WAKERS_FULL, NOTE, "wakers-full",                                                        \
	  "waits without their waker: the sampler had no room for its stack")                      \
	X(ALLOC_FULL, LOST, "alloc-full", "sampled allocations that found no room in the ring")    \
	X(ALLOC_RELEASES, NOTE, "alloc-releases",                                                  \
	  "released blocks that count as held, because their release found no room")               \
	X(ALLOC_UNTRACKED, NOTE, "alloc-untracked",                                                \
	  "sampled blocks that do not count as held: their list was full, or uprobes cannot see "  \
	  "the results of their operator new")                                                     \
	X(ALLOC_UNSEEN, NOTE, "alloc-unseen",                                                      \
	  "programs whose allocations are missing: static, set-uid, of another architecture, or "  \
	  "without the environment that assay gave to the command")                                \
	X(WAITS_BARE, UNATTRIBUTED, "waits-bare",                                                  \
	  "no stack: the wait began before assay, or their budget was used up")                    \
	X(LOCKS_FULL, NOTE, "locks-full",                                                          \
	  "waits for the kernel's locks for which the sampler had no room")                        \
	X(ALLOC_TRAPS, NOTE, "alloc-traps",                                                        \
	  "calls of functions for memory that trapped into the kernel: the cost of uprobes")       \
	JAVA_LOSSES(X)                                                                             \
	JAVASCRIPT_LOSSES(X)                                                                       \
	X(STACK_GUESSED, NOTE, "stack-guessed",                                                    \
	  "stacks with callers that assay guessed: their code has no unwind table")                \
	X(THREADS_BEGUN, NOTE, "threads-begun",                                                    \
	  "threads that began while counters were opened: they may lack samples")

enum loss_reason {
#define X(id, kind, key, text) LOSS_##id,
	LOSS_REASONS(X)
#undef X
		N_LOSS_REASONS
};

struct loss_text {
	enum loss_kind kind;
	const char *key, *text;
};

extern const struct loss_text loss_texts[N_LOSS_REASONS];

/* The sum of the losses of one kind; `losses` is indexed by reason. */
uint64_t losses_of_kind(const uint64_t losses[static N_LOSS_REASONS], enum loss_kind kind);
