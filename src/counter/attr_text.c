/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/attr_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* Names by bit, from bit 0 on. */
static const char *const sample_types[] = {
	"IP",
	"TID",
	"TIME",
	"ADDR",
	"READ",
	"CALLCHAIN",
	"ID",
	"CPU",
	"PERIOD",
	"STREAM_ID",
	"RAW",
	"BRANCH_STACK",
	"REGS_USER",
	"STACK_USER",
	"WEIGHT",
	"DATA_SRC",
	"IDENTIFIER",
	"TRANSACTION",
	"REGS_INTR",
	"PHYS_ADDR",
	"AUX",
	"CGROUP",
	"DATA_PAGE_SIZE",
	"CODE_PAGE_SIZE",
	"WEIGHT_STRUCT",
};
static const char *const read_formats[] = {
	"TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST",
};

enum value_kind { DECIMAL, HEX, SAMPLE_TYPE, READ_FORMAT };

static const char line[] = "------------------------------------------------------------\n";

static void attr_text_put_names(struct buf *out, uint64_t bits, const char *const *names, size_t n)
{
	const char *between = "";

	for (size_t i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		if (i < n)
			buf_printf(out, "%s%s", between, names[i]);
		else
			buf_printf(out, "%s%#" PRIx64, between, UINT64_C(1) << i);
		between = "|";
	}
}

/* A line a field, or all in one. */
struct form {
	struct buf *out;
	bool is_line;
	const char *between;
};

static void attr_text_put(struct form *f, const char *name, uint64_t value, enum value_kind kind)
{
	struct buf *out = f->out;

	if (!value)
		return;
	if (f->is_line)
		buf_printf(out, "%s%s: ", f->between, name);
	else
		buf_printf(out, "  %-32s ", name);
	f->between = ", ";
	if (kind == SAMPLE_TYPE)
		attr_text_put_names(out, value, sample_types, ARRAY_SIZE(sample_types));
	else if (kind == READ_FORMAT)
		attr_text_put_names(out, value, read_formats, ARRAY_SIZE(read_formats));
	else if (kind == HEX)
		buf_printf(out, "%#" PRIx64, value);
	else
		buf_printf(out, "%" PRIu64, value);
	if (!f->is_line)
		buf_str(out, "\n");
}

static void put_fields(struct form *f, const struct perf_event_attr *a)
{
#define FIELD(field, kind) attr_text_put(f, #field, a->field, kind)
	FIELD(type, DECIMAL);
	FIELD(size, DECIMAL);
	FIELD(config, HEX);
	attr_text_put(f, "{ sample_period, sample_freq }", a->sample_period, DECIMAL);
	FIELD(sample_type, SAMPLE_TYPE);
	FIELD(read_format, READ_FORMAT);
	FIELD(disabled, DECIMAL);
	FIELD(inherit, DECIMAL);
	FIELD(pinned, DECIMAL);
	FIELD(exclusive, DECIMAL);
	FIELD(exclude_user, DECIMAL);
	FIELD(exclude_kernel, DECIMAL);
	FIELD(exclude_hv, DECIMAL);
	FIELD(exclude_idle, DECIMAL);
	FIELD(mmap, DECIMAL);
	FIELD(comm, DECIMAL);
	FIELD(freq, DECIMAL);
	FIELD(inherit_stat, DECIMAL);
	FIELD(enable_on_exec, DECIMAL);
	FIELD(task, DECIMAL);
	FIELD(watermark, DECIMAL);
	FIELD(precise_ip, DECIMAL);
	FIELD(mmap_data, DECIMAL);
	FIELD(sample_id_all, DECIMAL);
	FIELD(exclude_host, DECIMAL);
	FIELD(exclude_guest, DECIMAL);
	FIELD(exclude_callchain_kernel, DECIMAL);
	FIELD(exclude_callchain_user, DECIMAL);
	FIELD(mmap2, DECIMAL);
	FIELD(comm_exec, DECIMAL);
	FIELD(use_clockid, DECIMAL);
	FIELD(context_switch, DECIMAL);
	FIELD(write_backward, DECIMAL);
	FIELD(namespaces, DECIMAL);
	FIELD(ksymbol, DECIMAL);
	FIELD(bpf_event, DECIMAL);
	FIELD(aux_output, DECIMAL);
	FIELD(cgroup, DECIMAL);
	FIELD(text_poke, DECIMAL);
	FIELD(build_id, DECIMAL);
	attr_text_put(f, "{ wakeup_events, wakeup_watermark }", a->wakeup_events, DECIMAL);
	FIELD(bp_type, DECIMAL);
	attr_text_put(f, "{ bp_addr, config1 }", a->config1, HEX);
	attr_text_put(f, "{ bp_len, config2 }", a->config2, HEX);
	FIELD(branch_sample_type, HEX);
	FIELD(sample_regs_user, HEX);
	FIELD(sample_stack_user, DECIMAL);
	FIELD(clockid, DECIMAL);
	FIELD(sample_regs_intr, HEX);
	FIELD(aux_watermark, DECIMAL);
	FIELD(sample_max_stack, DECIMAL);
	FIELD(aux_sample_size, DECIMAL);
#undef FIELD
}

void attr_text(const struct perf_event_attr *a, struct buf *out)
{
	buf_str(out, line);
	buf_str(out, "perf_event_attr:\n");
	put_fields(&(struct form){ .out = out }, a);
	buf_str(out, line);
}

void attr_text_line(const struct perf_event_attr *a, struct buf *out)
{
	put_fields(&(struct form){ .out = out, .is_line = true, .between = "" }, a);
}

void attr_text_open(int pid, int cpu, int group_fd, unsigned long flags, struct buf *out)
{
	buf_printf(out, "sys_perf_event_open: pid %d cpu %d group_fd %d flags %#lx", pid, cpu,
		   group_fd, flags);
}
