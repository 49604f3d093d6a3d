/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events other than samples, in lines of perf script. */
#include <inttypes.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "event/text.h"
#include "script/script.h"

static void script_text_put_mapping(struct buf *out, const struct event *e)
{
	const struct mapping_event *m = &e->mapping;
	char hex[BUILD_ID_HEX_SIZE];

	buf_printf(out, "PERF_RECORD_MMAP%s %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64,
		   m->is_kernel ? "" : "2", e->pid, e->tid, m->start, m->size, m->file_off);
	if (m->is_kernel) {
		buf_printf(out, "]: %c ", m->is_executable ? 'x' : 'r');
		utf8_append_visible(out, m->path);
		return;
	}
	build_id_hex(&m->build_id, hex);
	if (m->build_id.len && !m->ino)
		buf_printf(out, " <%s>", hex);
	else
		buf_printf(out, " %02x:%02x %" PRIu64 " 0", (uint32_t)(m->dev >> 32),
			   (uint32_t)m->dev, m->ino);
	buf_printf(out, "]: %s ", m->is_executable ? "r-xp" : "r--p");
	utf8_append_visible(out, m->path);
}

static void put_switch(struct buf *out, const struct event *e)
{
	bool is_out = e->context_switch.is_out;

	buf_printf(out, "PERF_RECORD_SWITCH%s %s",
		   e->context_switch.other_pid < 0 && e->context_switch.other_tid < 0 ? ""
										      : "_CPU_WIDE",
		   !is_out                           ? "IN         "
		   : !e->context_switch.is_preempted ? "OUT        "
						     : "OUT preempt");
	if (e->context_switch.other_pid >= 0 || e->context_switch.other_tid >= 0)
		buf_printf(out, "  %s pid/tid: %5d/%-5d", is_out ? "next" : "prev",
			   e->context_switch.other_pid, e->context_switch.other_tid);
}

/* Four in a line. */
static void script_text_put_namespaces(struct buf *out, const struct event *e)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	uint32_t n = e->namespaces.n;

	buf_printf(out, "PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %u\n\t\t[", e->pid, e->tid,
		   n);
	for (uint32_t i = 0; i < n; i++) {
		const struct namespace_link *link = &e->namespaces.links[i];

		buf_printf(out, "%s%u/%s: %" PRIu64 "/%#" PRIx64 "%s",
			   i && i % 4 == 0 ? "\n\t\t " : "", i,
			   i < ARRAY_SIZE(names) ? names[i] : "unknown", link->dev, link->ino,
			   i + 1 < n ? ", " : "");
	}
	buf_u8(out, ']');
}

void script_print_event(struct script_printer *p, const struct event *e, const char *comm)
{
	struct script_row row = {
		.comm = comm, .pid = e->pid, .tid = e->tid, .cpu = e->cpu, .time_ns = e->time_ns
	};
	/* perf's layout takes the fields of the first event. */
	uint64_t fields = p->options->fields.of_type[p->first_type];
	struct buf *out = &p->out;

	script_text_put_start(p, fields, &row, p->has_chains && !p->options->hides_chains);
	switch (e->type) {
	case EVENT_COMM:
		buf_printf(out, "PERF_RECORD_COMM%s: ", e->comm.is_exec ? " exec" : "");
		utf8_append_visible(out, e->comm.name);
		buf_printf(out, ":%d/%d", e->pid, e->tid);
		break;
	case EVENT_FORK:
		buf_printf(out, "PERF_RECORD_FORK(%d:%d):(%d:%d)", e->pid, e->tid, e->fork.ppid,
			   e->fork.ptid);
		break;
	case EVENT_EXIT:
		buf_printf(out, "PERF_RECORD_EXIT(%d:%d):(%d:%d)", e->pid, e->tid, e->fork.ppid,
			   e->fork.ptid);
		break;
	case EVENT_MAPPING:
		script_text_put_mapping(out, e);
		break;
	case EVENT_SWITCH:
		put_switch(out, e);
		break;
	case EVENT_CGROUP:
		buf_printf(out, "PERF_RECORD_CGROUP cgroup: %" PRIu64 " ", e->cgroup.id);
		utf8_append_visible(out, e->cgroup.path);
		break;
	case EVENT_NAMESPACES:
		script_text_put_namespaces(out, e);
		break;
	case EVENT_LOST:
		buf_printf(out, "PERF_RECORD_LOST lost %" PRIu64, e->lost.n);
		break;
	default:
		event_format(out, e);
		return;
	}
	buf_u8(out, '\n');
}
