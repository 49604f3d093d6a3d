/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits of input that a stranger controls: programs, their files, and their number. A name
 * with USER is for all programs of a user; the name without it is for those of all users together.
 *
 * The table in docs/security.md, "Limits", has the loss that reports each. A reader of a format has
 * further limits, such as those in elf/elf_packed.h. A daemon ends and begins counting anew before
 * its own memory passes --max-memory, whatever these are (daemon/collect.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ---- files ---- */

/* The largest image that is read. Debug files of browsers have 5 GiB. */
#define GUARD_IMAGE_BYTES ((uint64_t)16 << 30)

/* The largest image whose whole content is read to identify it, or for a checksum: one second. */
#define GUARD_HASH_BYTES ((uint64_t)1 << 30)

/*
 * Jobs that read files (pipeline/file_jobs.h): CPU time that a user's jobs have at once, and the
 * share of the time since; threads; jobs that wait.
 */
#define FILE_JOBS_BURST_NS (10 * UINT64_C(1000000000))
#define FILE_JOBS_PERCENT  1
#define FILE_JOBS_THREADS  4
#define FILE_JOBS_HURRY_NS (1 * UINT64_C(1000000000)) /* of that, at a low nice value */
#define FILE_JOBS_MAX      16384

/* Answers of the parser; failures there that a user has at once, and the time that forgets one. */
#define PARSER_ANSWER_MAX ((size_t)1 << 30)
#define PARSER_FAILURES   8

/*
 * While recording: memory that a parser of a stranger's files may use (the unwind table of a
 * browser takes 34 MiB), and memory that any parser keeps between two questions.
 */
#define PARSER_STRANGER_BYTES ((uint64_t)40 << 20)
#define PARSER_KEPT_BYTES     ((uint64_t)8 << 20)

#define PARSER_FAILURE_MS 60000

/* On a busy machine, a parser has so much more time than the deadline (guard/parser.h). */
#define PARSER_PATIENCE_MS 8000

/* Names that a daemon keeps beside its history, and the largest of them that a report reads. */
#define KEPT_NAMES_BYTES    (UINT64_C(64) << 20)
#define KEPT_NAME_MAX_BYTES ((size_t)96 << 20)

/* Images whose unwind tables are built at a low nice value: bytes at once, and each second since.
 */
#define UNWIND_HURRY_BYTES      ((uint64_t)512 << 20)
#define UNWIND_HURRY_PER_SECOND ((uint64_t)16 << 20)

/* ---- processes ---- */

/* Executable mappings: those of a process that are free, and memory for all others. */
#define MAPPINGS_FREE       256
#define MAPPINGS_USER_BYTES ((uint64_t)16 << 20)
#define MAPPINGS_BYTES      ((uint64_t)48 << 20)

/* Names of files that processes have mapped. */
#define FILES_USER_BYTES (16u << 20)
#define FILES_BYTES      (48u << 20)

/* Samples that wait for the identity of an image. */
#define WAITING_SAMPLES_BYTES ((size_t)16 << 20)

/* Copied stacks that wait for a table (record/in_kernel_raws.h): how long, and how many bytes. */
#define RAW_WAIT_NS     (5 * UINT64_C(1000000000))
#define RAWS_WAIT_BYTES ((size_t)32 << 20)
#define RAWS_MAX_BYTES  ((size_t)64 << 20) /* more of them wait in the ring */

/*
 * Copied stacks of known code wait, as each turn begins with a look at the code: the oldest at most
 * COPY_WAIT_NS, and all at most COPIES_WAIT_BYTES. None waits if the last turn had more than one
 * stack with new code in COPIES_FOR_ONE_LEARNT.
 */
#define COPIES_FOR_ONE_LEARNT 8
#define COPY_WAIT_NS          (40 * UINT64_C(1000000))
#define COPIES_WAIT_BYTES     ((size_t)4 << 20)

/*
 * How long the walk of a copied stack in a ring waits for the table of a file (user_stacks.h): for
 * each file, for all files at once, and the share of the time since.
 */
#define WALK_WAIT_NS       (2 * UINT64_C(1000000000))
#define WALKS_WAIT_NS      (10 * UINT64_C(1000000000))
#define WALKS_WAIT_PERCENT 5

/*
 * How long walks of stacks that BPF copied follow code of Java and JavaScript, which they read from
 * memory: of all processes at once, and the share of the time since.
 */
#define FOLLOWS_NS      (10 * UINT64_C(1000000000))
#define FOLLOWS_PERCENT 10

/* ---- code without files ---- */

/* A perf map; and its sampled addresses. */
#define JIT_MAP_LIMIT       ((size_t)16 << 20)
#define JIT_MAP_LINES       400000
#define JIT_HITS_USER_BYTES (8 << 20)
#define JIT_HITS_BYTES      (24 << 20)

/* A jitdump, one of its records, and memory for the records of all. */
#define JIT_DUMP_MAX_BYTES        ((uint64_t)4 << 30)
#define JIT_DUMP_RECORD_MAX_BYTES ((size_t)8 << 20)
#define JIT_DUMPS_USER_BYTES      ((uint64_t)48 << 20)
#define JIT_DUMPS_BYTES           ((uint64_t)96 << 20)

/* What is kept of the code of Java virtual machines; then all of it is read anew. */
#define JAVA_CODE_BYTES ((size_t)32 << 20)

/* Functions of interpreted languages: how many, and bytes of their line tables. */
#define LANG_NAMES_MAX       65536
#define LANG_POSITIONS_MAX   (1u << 20) /* with a line */
#define LANG_NAMES_BYTES_MAX ((size_t)32 << 20)
