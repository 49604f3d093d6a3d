/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints every record of a recording: its place, size, kind and bytes.
 *
 *   0x1a8 [0x28] SAMPLE misc 0x2: 12.000000000 cpu0 41/41 sample …
 *     0000  09 00 00 00 02 00 28 00 …  ......(.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "event/text.h"
#include "pt/packet_text.h"
#include "replay/replay.h"
#include "script/script.h"
#include "trace/pt_trace.h"

#define LINE_BYTES  16
#define FLUSH_BYTES ((size_t)256 << 10)

struct dumping {
	const struct perfdata *data;
	const struct script_options *options;
	FILE *file;
	struct buf out;
};

static void script_dump_put_bytes(struct buf *out, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size; at += LINE_BYTES) {
		size_t n = MIN(size - at, (size_t)LINE_BYTES);

		buf_printf(out, "  %04zx ", at);
		for (size_t i = 0; i < LINE_BYTES; i++)
			if (i < n)
				buf_printf(out, " %02x", bytes[at + i]);
			else
				buf_str(out, "   ");
		buf_str(out, "  ");
		for (size_t i = 0; i < n; i++)
			buf_u8(out,
			       bytes[at + i] >= ' ' && bytes[at + i] < 0x7f ? bytes[at + i] : '.');
		buf_u8(out, '\n');
	}
}

static bool script_dump_takes_time(const struct script_filter *f, uint64_t ns)
{
	bool takes = !f->spans.n;

	vec_foreach (&f->spans, span)
		takes |= ns >= span->first_ns && ns <= span->last_ns;
	return takes;
}

static int script_dump_flush(struct dumping *d)
{
	if (fwrite(d->out.data, 1, d->out.len, d->file) != d->out.len)
		return -EPIPE;
	d->out.len = 0;
	return 0;
}

/* The packets of a trace, as perf prints them. */
static int script_dump_put_packets(struct dumping *d, const uint8_t *bytes, uint64_t size)
{
	enum pt_block block = PT_NO_BLOCK;
	int r = 0;

	buf_printf(&d->out, ".\n. ... Intel Processor Trace data: size %" PRIu64 " bytes\n", size);
	for (uint64_t at = 0; at < size && !r;) {
		at += pt_dump_line(&d->out, bytes + at, bytes + size, at, &block);
		r = d->out.len < FLUSH_BYTES ? 0 : script_dump_flush(d);
	}
	return r;
}

static uint64_t script_dump_word_at(const struct perfdata_record *r, size_t at, size_t size)
{
	uint64_t v = 0;

	if (at + size <= r->size)
		memcpy(&v, r->bytes + at, size);
	return v;
}

/* Whose trace the bytes behind are: struct perf_record_auxtrace, in perf's words. */
static void put_trace_place(struct buf *out, const struct perfdata_record *r)
{
	buf_printf(out, "size: %#" PRIx64 "  offset: %#" PRIx64 "  ref: %#" PRIx64,
		   script_dump_word_at(r, 8, 8), script_dump_word_at(r, 16, 8),
		   script_dump_word_at(r, 24, 8));
	buf_printf(out, "  idx: %u  tid: %d  cpu: %d\n",
		   (unsigned int)script_dump_word_at(r, 32, 4), (int)script_dump_word_at(r, 36, 4),
		   (int)script_dump_word_at(r, 40, 4));
}

/* What decoding has to know: struct perf_record_auxtrace_info of type 1, in perf's words. */
static void put_trace_info(struct buf *out, const struct perfdata_record *r)
{
	static const struct {
		const char *name;
		bool is_mask;
	} words[] = {
		{ "PMU Type", false },
		{ "Time Shift", false },
		{ "Time Multiplier", false },
		{ "Time Zero", false },
		{ "Cap Time Zero", false },
		{ "TSC bit", true },
		{ "NoRETComp bit", true },
		{ "Have sched_switch", false },
		{ "Snapshot mode", false },
		{ "Per-cpu maps", false },
		{ "MTC bit", true },
		{ "MTC freq bits", true },
		{ "TSC:CTC numerator", false },
		{ "TSC:CTC denominator", false },
		{ "CYC bit", true },
		{ "Max non-turbo ratio", false },
	};

	buf_printf(out, "type: %u\n", (unsigned int)script_dump_word_at(r, 8, 4));
	if (script_dump_word_at(r, 8, 4) != 1)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(words) && 16 + 8 * (i + 1) <= r->size; i++)
		buf_printf(out, words[i].is_mask ? "  %-20s%#" PRIx64 "\n" : "  %-20s%" PRIu64 "\n",
			   words[i].name, script_dump_word_at(r, 16 + 8 * i, 8));
}

static void put_what(struct dumping *d, const char *name, const struct perfdata_record *r)
{
	bool is_foreign = perfdata_info(d->data)->is_foreign; /* no machine with Intel PT is */

	if (r->has_event)
		event_format(&d->out, &r->event);
	else if (name && !is_foreign && !strcmp(name, "AUXTRACE"))
		put_trace_place(&d->out, r);
	else if (name && !is_foreign && !strcmp(name, "AUXTRACE_INFO"))
		put_trace_info(&d->out, r);
	else
		buf_u8(&d->out, '\n');
}

static int script_dump_records(void *context, const struct perfdata_record *r)
{
	struct dumping *d = context;
	const char *name = perfdata_record_name(r->type);
	struct pt_trace_info trace;

	if (!script_dump_takes_time(&d->options->filter, r->time_ns))
		return 0;
	if (r->file)
		buf_printf(&d->out, "data.%u ", r->file - 1);
	buf_printf(&d->out, "0x%" PRIx64 " [0x%x] ", r->file_off, r->size);
	if (name)
		buf_str(&d->out, name);
	else
		buf_printf(&d->out, "type %u", r->type);
	buf_printf(&d->out, " misc 0x%x", r->misc);
	if (r->payload_size)
		buf_printf(&d->out, ", %" PRIu64 " bytes follow", r->payload_size);
	buf_str(&d->out, ": ");
	put_what(d, name, r);
	script_dump_put_bytes(&d->out, r->bytes, r->size);
	if (r->payload && name && !strcmp(name, "AUXTRACE") && !d->options->no_packets &&
	    pt_trace_read_info(d->data, &trace))
		return script_dump_put_packets(d, r->payload, r->payload_size);
	return d->out.len < FLUSH_BYTES ? 0 : script_dump_flush(d);
}

int script_dump(const struct script_input *input, const struct script_options *options,
		struct error *err)
{
	struct dumping d = { .data = replay_data(input->replay),
			     .options = options,
			     .file = input->file };
	int r = perfdata_each_record(replay_data(input->replay), script_dump_records, &d, err);

	r = script_dump_flush(&d) < 0 ? -EPIPE : r;
	buf_fini(&d.out);
	return r;
}
