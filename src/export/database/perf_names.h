/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of perf's database (perf_schema.h), and the ids of everything that rows refer to: threads,
 * names of threads, images, symbols, call paths. Each gets its row at its first use. Id 0 is
 * "unknown" in each table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "export/database/perf_schema.h"
#include "export/database/sqlite_file.h"
#include "machine/image.h"
#include "machine/machine.h"
#include "script/script_places.h"

/* A value of a row: the text, or else the fraction if there is one, or else the number. */
struct perf_value {
	int64_t n;
	const char *text;
	double fraction; /* 0: none */
};
#define PERF_N(number)      ((struct perf_value){ .n = (int64_t)(number) })
#define PERF_TEXT(string)   ((struct perf_value){ .text = string })
#define PERF_FRACTION(real) ((struct perf_value){ .fraction = real })

/* The name that a thread of a process got; rows exist for those that a sample uses. */
struct perf_comm {
	uint64_t since_ns; /* 0: not known */
	bool is_of_exec, has_row;
};

struct perf_names {
	struct sqlite_file file;
	sqlite3_stmt *insert[N_PERF_TABLES];
	uint64_t n_rows[N_PERF_TABLES]; /* written, without those of id 0 */
	/* Ids by the bytes of their keys. */
	struct strings machines, threads, comms, comm_threads, images, symbols, paths;
	VEC(struct perf_comm) comm_list; /* by id */
	struct intmap branch_types;      /* those that have a row */
	const struct image *(*image)(const void *context, image_id id);
	const void *context; /* of image() */
	struct script_places *places;
};

/* The symbol of an address. */
struct perf_place {
	uint32_t image, symbol; /* ids; 0: no image covers it */
	uint64_t offset;        /* in the symbol */
	bool is_entry;          /* the symbol is known, and begins there */
};

#define PERF_ROOT_PATH 1 /* call path of nobody's callers */

/* Makes the tables, and their rows of id 0, in a file that has begun. */
void perf_names_begin(struct perf_names *p);
/* Removes the tables that perf removes where they are empty, and makes views and indexes. */
void perf_names_end(struct perf_names *p);
void perf_names_fini(struct perf_names *p);

/* Adds a row with as many values as the table has columns. Texts hold until the return. */
void perf_add_row(struct perf_names *p, enum perf_table table, const struct perf_value *values);

/* guest_pid: the process that runs the guest; 0: the host. */
uint32_t perf_machine(struct perf_names *p, int32_t guest_pid);
uint32_t perf_thread(struct perf_names *p, uint32_t machine, int32_t pid, int32_t tid);

/* A thread of the process got the name. */
void perf_comm_begins(struct perf_names *p, int32_t pid, const char *name, uint64_t time_ns,
		      bool is_of_exec);
/* The name of the thread, which has the id of perf_thread(). */
uint32_t perf_comm(struct perf_names *p, uint32_t machine, int32_t pid, uint32_t thread,
		   const char *name);

/* perf's flags of a branch with these flags (enum pt_flags). */
uint32_t perf_flags(uint32_t flags);

/* The type of the branch of a sample with perf's flags. */
uint32_t perf_branch_type(struct perf_names *p, uint32_t flags);

struct perf_place perf_place(struct perf_names *p, struct code_addr code);

/* `ip`: of a call its target, of a chain's frame its address. As in perf, code with a symbol has
 * none.
 */
uint32_t perf_path(struct perf_names *p, uint32_t parent, uint32_t symbol, uint64_t ip);
