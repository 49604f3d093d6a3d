/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a line of `assay script` shows: fields by name, chosen for each type of event, with the
 * names, defaults and rules of perf script's -F (its man page).
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

/*
 * X(id, name, sample_type, what, key): `sample_type` is the PERF_SAMPLE_… bit without which a
 * sample has no such field; 0: always there. `key`: its name in JSON. The rows are in the order of
 * a line.
 */
#define SCRIPT_FIELDS(X)                                                                     \
	X(COMM, "comm", 0, "COMM", "comm")                                                   \
	X(PID, "pid", PERF_SAMPLE_TID, "TID", "pid")                                         \
	X(TID, "tid", PERF_SAMPLE_TID, "TID", "tid")                                         \
	X(CPU, "cpu", PERF_SAMPLE_CPU, "CPU", "cpu")                                         \
	X(MISC, "misc", 0, "", "mode")                                                       \
	X(TOD, "tod", PERF_SAMPLE_TIME, "TIME", "wall_ns")                                   \
	X(TIME, "time", PERF_SAMPLE_TIME, "TIME", "time_ns")                                 \
	X(SAMPLES, "samples", 0, "", "samples")                                              \
	X(PERIOD, "period", 0, "", "period")                                                 \
	X(EVENT, "event", 0, "", "event")                                                    \
	X(FLAGS, "flags", 0, "", "flags")                                                    \
	X(CALLINDENT, "callindent", 0, "", "depth")                                          \
	X(SYNTH, "synth", 0, "", "synth")                                                    \
	X(TRACE, "trace", 0, "", "trace")                                                    \
	X(ADDR, "addr", PERF_SAMPLE_ADDR, "ADDR", "address")                                 \
	X(DATA_SRC, "data_src", PERF_SAMPLE_DATA_SRC, "DATA_SRC", "data_source")             \
	X(WEIGHT, "weight", PERF_SAMPLE_WEIGHT_TYPE, "WEIGHT", "weight")                     \
	X(IP, "ip", PERF_SAMPLE_IP, "IP", "frames")                                          \
	X(SYM, "sym", 0, "", "symbol")                                                       \
	X(SYMOFF, "symoff", 0, "", "symbol_offset")                                          \
	X(DSO, "dso", 0, "", "image")                                                        \
	X(SRCLINE, "srcline", 0, "", "line")                                                 \
	X(IREGS, "iregs", PERF_SAMPLE_REGS_INTR, "IREGS", "interrupted_registers")           \
	X(UREGS, "uregs", PERF_SAMPLE_REGS_USER, "UREGS", "user_registers")                  \
	X(BRSTACK, "brstack", PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK", "branches")          \
	X(BRSTACKSYM, "brstacksym", PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK", "branches")    \
	X(BRSTACKOFF, "brstackoff", PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK", "branches")    \
	X(INSN, "insn", 0, "", "insn")                                                       \
	X(DISASM, "disasm", 0, "", "disasm")                                                 \
	X(IPC, "ipc", 0, "", "instructions")                                                 \
	X(PHYS_ADDR, "phys_addr", PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR", "physical_address")    \
	X(DATA_PAGE_SIZE, "data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE",    \
	  "data_page_size")                                                                  \
	X(CODE_PAGE_SIZE, "code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE",    \
	  "code_page_size")                                                                  \
	X(CGROUP, "cgroup", PERF_SAMPLE_CGROUP, "CGROUP", "cgroup")                          \
	X(TRANSACTION, "transaction", PERF_SAMPLE_TRANSACTION, "TRANSACTION", "transaction") \
	X(INSNLEN, "insnlen", 0, "", "insn_size")                                            \
	X(SRCCODE, "srccode", 0, "", "source")                                               \
	X(BPF_OUTPUT, "bpf-output", 0, "", "bpf_output")                                     \
	X(MACHINE_PID, "machine_pid", 0, "", "machine_pid")                                  \
	X(VCPU, "vcpu", 0, "", "vcpu")

enum script_field {
#define X(id, name, type, what, key) FIELD_##id,
	SCRIPT_FIELDS(X)
#undef X
		N_SCRIPT_FIELDS
};
#define FIELD_BIT(id) ((uint64_t)1 << FIELD_##id)

/*
 * Types of events. Each has its own fields. They are the types of perf_event_attr, with one type
 * for all PMUs, and one for the events of a processor trace (pt/synth_raw.h).
 */
#define SCRIPT_TYPES (PERF_TYPE_BREAKPOINT + 3)
uint32_t script_type(const struct perf_event_attr *attr);

struct script_fields {
	uint64_t of_type[SCRIPT_TYPES];
	uint64_t chosen[SCRIPT_TYPES]; /* by the user: refused, not left out, where a sample has
					  none */
	bool is_set;                   /* there was a -F */
};

/* perf's defaults. */
void script_fields_init(struct script_fields *f);

/*
 * One -F: "comm,tid,ip", "+srcline,-cpu", "hw:comm,ip", "trace:". -EINVAL with the valid names for
 * one that is none.
 */
int script_fields_parse(struct script_fields *f, const char *text, struct error *err);

struct script_event {
	const char *name;
	const struct perf_event_attr *attr;
};

/*
 * Adds and removes fields that are not the user's own choice, for all types but tracepoints. A
 * field that the user has chosen stays, one that he took off does not come.
 */
void script_fields_preset(struct script_fields *f, uint64_t add, uint64_t remove);

/*
 * Fits the fields to the samples of the events. If one event of a type lacks a default field, the
 * type does not have it. If one lacks a chosen field, the result is -EINVAL with a message. Events
 * of a trace may lack any field.
 */
int script_fields_fit(struct script_fields *f, const struct script_event *events, size_t n,
		      bool is_trace, struct error *err);

struct script_field_row {
	const char *name;
	uint64_t sample_type;
	const char *what, *json_key;
};
extern const struct script_field_row script_field_rows[N_SCRIPT_FIELDS];

/* The names, comma-separated: for messages and help. */
#define SCRIPT_FIELD_WORD(id, name, type, what, key) name ","
#define SCRIPT_FIELD_NAMES                           SCRIPT_FIELDS(SCRIPT_FIELD_WORD)
