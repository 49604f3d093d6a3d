/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/database/perf_schema.h"

#include "pt/branch.h"

const struct perf_table_row perf_tables[N_PERF_TABLES] = {
#define X(id, name, columns) { name, columns },
	PERF_TABLES(X)
#undef X
};

/* The formatter would tear the statements apart. */
/* clang-format off */

/* Columns that several views have. */
#define HEX(column)     "printf('%x', " column ")"
#define OR_NONE(column) "ifnull(" column ", '') AS " column
#define HEX_OR_NONE(column) \
	"CASE WHEN " column " IS NULL THEN '' ELSE " HEX(column) " END AS " column "_hex"
#define HOST_OR_GUEST                                                                           \
	"CASE m.id WHEN 0 THEN 'unknown' ELSE CASE m.pid WHEN -1 THEN 'host' ELSE 'guest' END " \
	"END AS host_or_guest"
#define IPC                                                                     \
	"CASE cyc_count WHEN 0 THEN 0.0 ELSE round(insn_count * 1.0 / cyc_count, 2) END " \
	"AS IPC"
#define YES_OR_NO(column) "CASE " column " WHEN 0 THEN 'False' ELSE 'True' END AS " column
#define WAKE_REASON                                                              \
	"CASE wake_reason WHEN 1 THEN 'Interrupt' WHEN 2 THEN 'Timer Deadline' " \
	"WHEN 4 THEN 'Monitored Address' WHEN 8 THEN 'HW' ELSE ifnull(wake_reason, '') END " \
	"AS wake_reason"
#define OF_SAMPLES(table) " FROM " table " JOIN samples ON samples.id = " table ".id"

const struct perf_view_row perf_views[] = {
	{ "machines_view", "SELECT m.id, m.pid, m.root_dir, " HOST_OR_GUEST " FROM machines m" },
	{ "dsos_view",
	  "SELECT d.id, machine_id, " HOST_OR_GUEST ", short_name, long_name, build_id "
	  "FROM dsos d LEFT JOIN machines m ON m.id = machine_id" },
	{ "symbols_view",
	  "SELECT s.id, name, d.short_name AS dso, dso_id, sym_start, sym_end, "
	  "CASE binding WHEN 0 THEN 'local' WHEN 1 THEN 'global' ELSE 'weak' END AS binding "
	  "FROM symbols s LEFT JOIN dsos d ON d.id = dso_id" },
	{ "threads_view", "SELECT t.id, machine_id, " HOST_OR_GUEST ", process_id, t.pid, tid "
			  "FROM threads t LEFT JOIN machines m ON m.id = machine_id" },
	{ "comm_threads_view",
	  "SELECT comm_id, comm AS command, thread_id, pid, tid FROM comm_threads "
	  "LEFT JOIN comms ON comms.id = comm_id LEFT JOIN threads ON threads.id = thread_id" },
	{ "call_paths_view",
	  "SELECT c.id, " HEX("c.ip") " AS ip, c.symbol_id, s.name AS symbol, s.dso_id, "
	  "d.short_name AS dso_short_name, c.parent_id, " HEX("p.ip") " AS parent_ip, "
	  "p.symbol_id AS parent_symbol_id, ps.name AS parent_symbol, "
	  "ps.dso_id AS parent_dso_id, pd.short_name AS parent_dso_short_name "
	  "FROM call_paths c JOIN call_paths p ON p.id = c.parent_id "
	  "LEFT JOIN symbols s ON s.id = c.symbol_id LEFT JOIN dsos d ON d.id = s.dso_id "
	  "LEFT JOIN symbols ps ON ps.id = p.symbol_id LEFT JOIN dsos pd ON pd.id = ps.dso_id" },
	{ "calls_view",
	  "SELECT calls.id, thread_id, pid, tid, comm AS command, call_path_id, "
	  HEX("ip") " AS ip, symbol_id, name AS symbol, call_time, return_time, "
	  "return_time - call_time AS elapsed_time, branch_count, insn_count, cyc_count, " IPC ", "
	  "call_id, return_id, CASE calls.flags WHEN 0 THEN '' WHEN 1 THEN 'no call' "
	  "WHEN 2 THEN 'no return' WHEN 3 THEN 'no call/return' WHEN 6 THEN 'jump' "
	  "ELSE calls.flags END AS flags, parent_call_path_id, calls.parent_id "
	  "FROM calls JOIN call_paths ON call_paths.id = call_path_id "
	  "LEFT JOIN threads ON threads.id = thread_id LEFT JOIN comms ON comms.id = comm_id "
	  "LEFT JOIN symbols ON symbols.id = symbol_id" },
	{ "samples_view",
	  "SELECT s.id, time, cpu, pid, tid, comm AS command, e.name AS event, "
	  HEX("ip") " AS ip_hex, y.name AS symbol, sym_offset, d.short_name AS dso_short_name, "
	  HEX("to_ip") " AS to_ip_hex, ty.name AS to_symbol, to_sym_offset, "
	  "td.short_name AS to_dso_short_name, b.name AS branch_type_name, in_tx, insn_count, "
	  "cyc_count, " IPC ", flags FROM samples s "
	  "LEFT JOIN threads ON threads.id = thread_id LEFT JOIN comms ON comms.id = comm_id "
	  "LEFT JOIN selected_events e ON e.id = evsel_id "
	  "LEFT JOIN symbols y ON y.id = symbol_id LEFT JOIN dsos d ON d.id = s.dso_id "
	  "LEFT JOIN symbols ty ON ty.id = to_symbol_id LEFT JOIN dsos td ON td.id = to_dso_id "
	  "LEFT JOIN branch_types b ON b.id = branch_type" },
	{ "ptwrite_view",
	  "SELECT ptwrite.id, time, cpu, " HEX("payload") " AS payload_hex, "
	  YES_OR_NO("exact_ip") OF_SAMPLES("ptwrite") },
	{ "cbr_view", "SELECT cbr.id, time, cpu, cbr, mhz, percent" OF_SAMPLES("cbr") },
	{ "mwait_view",
	  "SELECT mwait.id, time, cpu, " HEX("hints") " AS hints_hex, "
	  HEX("extensions") " AS extensions_hex" OF_SAMPLES("mwait") },
	{ "pwre_view",
	  "SELECT pwre.id, time, cpu, cstate, subcstate, " YES_OR_NO("hw") OF_SAMPLES("pwre") },
	{ "exstop_view", "SELECT exstop.id, time, cpu, " YES_OR_NO("exact_ip") OF_SAMPLES("exstop") },
	{ "pwrx_view",
	  "SELECT pwrx.id, time, cpu, deepest_cstate, last_cstate, "
	  WAKE_REASON OF_SAMPLES("pwrx") },
	{ "power_events_view",
	  "SELECT s.id, time, cpu, e.name AS event, " OR_NONE("cbr") ", " OR_NONE("mhz") ", "
	  OR_NONE("percent") ", " HEX_OR_NONE("hints") ", " HEX_OR_NONE("extensions") ", "
	  OR_NONE("cstate") ", " OR_NONE("subcstate") ", " OR_NONE("hw") ", "
	  OR_NONE("exact_ip") ", " OR_NONE("deepest_cstate") ", " OR_NONE("last_cstate") ", "
	  WAKE_REASON " FROM samples s JOIN selected_events e ON e.id = evsel_id "
	  "LEFT JOIN cbr ON cbr.id = s.id LEFT JOIN mwait ON mwait.id = s.id "
	  "LEFT JOIN pwre ON pwre.id = s.id LEFT JOIN exstop ON exstop.id = s.id "
	  "LEFT JOIN pwrx ON pwrx.id = s.id "
	  "WHERE e.name IN ('cbr', 'mwait', 'pwre', 'exstop', 'pwrx')" },
	{ "context_switches_view",
	  "SELECT c.id, c.machine_id, time, cpu, o.pid AS pid_out, o.tid AS tid_out, "
	  "oc.comm AS comm_out, i.pid AS pid_in, i.tid AS tid_in, ic.comm AS comm_in, "
	  "CASE flags WHEN 0 THEN 'in' WHEN 1 THEN 'out' WHEN 3 THEN 'out preempt' ELSE flags END "
	  "AS flags FROM context_switches c JOIN threads o ON o.id = thread_out_id "
	  "JOIN threads i ON i.id = thread_in_id JOIN comms oc ON oc.id = comm_out_id "
	  "JOIN comms ic ON ic.id = comm_in_id" },
	{ NULL, NULL },
};
/* clang-format on */

const struct perf_branch_type perf_branch_types[] = {
	{ 0, "no branch" },
	{ PT_F_BRANCH | PT_F_CALL, "call" },
	{ PT_F_BRANCH | PT_F_RETURN, "return" },
	{ PT_F_BRANCH | PT_F_COND, "conditional jump" },
	{ PT_F_BRANCH, "unconditional jump" },
	{ PT_F_BRANCH | PT_F_CALL | PT_F_INTERRUPT, "software interrupt" },
	{ PT_F_BRANCH | PT_F_RETURN | PT_F_INTERRUPT, "return from interrupt" },
	{ PT_F_BRANCH | PT_F_CALL | PT_F_SYSTEM, "system call" },
	{ PT_F_BRANCH | PT_F_RETURN | PT_F_SYSTEM, "return from system call" },
	{ PT_F_BRANCH | PT_F_ASYNC, "asynchronous branch" },
	{ PT_F_BRANCH | PT_F_CALL | PT_F_ASYNC | PT_F_INTERRUPT, "hardware interrupt" },
	{ PT_F_BRANCH | PT_F_TX_ABORT, "transaction abort" },
	{ PT_F_BRANCH | PT_F_BEGIN, "trace begin" },
	{ PT_F_BRANCH | PT_F_END, "trace end" },
	{ PT_F_BRANCH | PT_F_CALL | PT_F_VM_ENTRY, "vm entry" },
	{ PT_F_BRANCH | PT_F_CALL | PT_F_VM_EXIT, "vm exit" },
	{ 0, NULL },
};
