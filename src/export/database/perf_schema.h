/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables and views of perf's exported databases: the names and columns of its script
 * export-to-sqlite.py (linux-perf 7.2) with "all" columns, calls and call chains.
 * exported-sql-viewer.py reads them. The statements are our own.
 */
#pragma once

#include <stddef.h>

/* X(id, name, columns): the first column is the key. */
#define PERF_TABLES(X)                                                                           \
	X(EVENTS, "selected_events", "id integer PRIMARY KEY, name varchar")                     \
	X(MACHINES, "machines", "id integer PRIMARY KEY, pid integer, root_dir varchar")         \
	X(THREADS, "threads",                                                                    \
	  "id integer PRIMARY KEY, machine_id bigint, process_id bigint, pid integer, "          \
	  "tid integer")                                                                         \
	X(COMMS, "comms",                                                                        \
	  "id integer PRIMARY KEY, comm varchar, c_thread_id bigint, c_time bigint, "            \
	  "exec_flag boolean")                                                                   \
	X(COMM_THREADS, "comm_threads",                                                          \
	  "id integer PRIMARY KEY, comm_id bigint, thread_id bigint")                            \
	X(DSOS, "dsos",                                                                          \
	  "id integer PRIMARY KEY, machine_id bigint, short_name varchar, long_name varchar, "   \
	  "build_id varchar")                                                                    \
	X(SYMBOLS, "symbols",                                                                    \
	  "id integer PRIMARY KEY, dso_id bigint, sym_start bigint, sym_end bigint, "            \
	  "binding integer, name varchar")                                                       \
	X(BRANCH_TYPES, "branch_types", "id integer PRIMARY KEY, name varchar")                  \
	X(SAMPLES, "samples",                                                                    \
	  "id integer PRIMARY KEY, evsel_id bigint, machine_id bigint, thread_id bigint, "       \
	  "comm_id bigint, dso_id bigint, symbol_id bigint, sym_offset bigint, ip bigint, "      \
	  "time bigint, cpu integer, to_dso_id bigint, to_symbol_id bigint, "                    \
	  "to_sym_offset bigint, to_ip bigint, period bigint, weight bigint, "                   \
	  "transaction_ bigint, data_src bigint, branch_type integer, in_tx boolean, "           \
	  "call_path_id bigint, insn_count bigint, cyc_count bigint, flags integer")             \
	X(CALL_PATHS, "call_paths",                                                              \
	  "id integer PRIMARY KEY, parent_id bigint, symbol_id bigint, ip bigint")               \
	X(CALLS, "calls",                                                                        \
	  "id integer PRIMARY KEY, thread_id bigint, comm_id bigint, call_path_id bigint, "      \
	  "call_time bigint, return_time bigint, branch_count bigint, call_id bigint, "          \
	  "return_id bigint, parent_call_path_id bigint, flags integer, parent_id bigint, "      \
	  "insn_count bigint, cyc_count bigint")                                                 \
	X(PTWRITE, "ptwrite", "id integer PRIMARY KEY, payload bigint, exact_ip integer")        \
	X(CBR, "cbr", "id integer PRIMARY KEY, cbr integer, mhz integer, percent integer")       \
	X(MWAIT, "mwait", "id integer PRIMARY KEY, hints integer, extensions integer")           \
	X(PWRE, "pwre", "id integer PRIMARY KEY, cstate integer, subcstate integer, hw integer") \
	X(EXSTOP, "exstop", "id integer PRIMARY KEY, exact_ip integer")                          \
	X(PWRX, "pwrx",                                                                          \
	  "id integer PRIMARY KEY, deepest_cstate integer, last_cstate integer, "                \
	  "wake_reason integer")                                                                 \
	X(SWITCHES, "context_switches",                                                          \
	  "id integer PRIMARY KEY, machine_id bigint, time bigint, cpu integer, "                \
	  "thread_out_id bigint, comm_out_id bigint, thread_in_id bigint, comm_in_id bigint, "   \
	  "flags integer")

enum perf_table {
#define X(id, name, columns) PERF_##id,
	PERF_TABLES(X)
#undef X
		N_PERF_TABLES
};

#define PERF_MAX_COLUMNS 25

struct perf_table_row {
	const char *name, *columns;
};
extern const struct perf_table_row perf_tables[N_PERF_TABLES];

struct perf_view_row {
	const char *name, *select;
};
extern const struct perf_view_row perf_views[]; /* { NULL } ends them */

/* A branch type is the bits of enum pt_flags without those that are no type. */
struct perf_branch_type {
	unsigned int flags;
	const char *name;
};
extern const struct perf_branch_type perf_branch_types[]; /* one without a name ends them */
