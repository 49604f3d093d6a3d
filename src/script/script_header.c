/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of a recording, in the lines of perf script --header. */
#include <inttypes.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "counter/attr_text.h"
#include "replay/replay.h"
#include "script/script.h"

static void put_header_text(struct buf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	buf_printf(out, "# %s : ", name);
	utf8_append_visible(out, value);
	buf_u8(out, '\n');
}

static void put_captured(struct buf *out, struct replay *replay)
{
	time_t seconds = (time_t)(replay_mtime_ns(replay) / NS_PER_SECOND);
	struct tm tm;
	char text[64];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
	put_header_text(out, "captured on   ", text);
}

/* "type: 1, size: 136", as "type = 1, size = 136". */
static void put_attr(struct buf *out, const struct perf_event_attr *attr)
{
	struct buf text = { 0 };

	attr_text_line(attr, &text);
	for (size_t i = 0; i < text.len; i++)
		if (i + 1 < text.len && text.data[i] == ':' && text.data[i + 1] == ' ')
			buf_str(out, " =");
		else
			buf_u8(out, text.data[i]);
	buf_fini(&text);
}

static void put_header_event(struct buf *out, const struct perfdata_counter *c)
{
	buf_str(out, "# event : name = ");
	utf8_append_visible(out, c->name);
	buf_str(out, ", ");
	for (size_t i = 0; i < c->n_ids; i++)
		buf_printf(out, "%s%" PRIu64, i ? ", " : ", id = { ", c->ids[i]);
	buf_str(out, c->n_ids ? " }, " : ", ");
	put_attr(out, &c->attr);
	buf_u8(out, '\n');
}

static void put_header_times(struct buf *out, struct replay *replay)
{
	uint64_t first_ns, last_ns;

	replay_time_range(replay, &first_ns, &last_ns);
	if (last_ns < first_ns)
		return;
	buf_printf(out, "# time of first sample : %" PRIu64 ".%06" PRIu64 "\n",
		   first_ns / NS_PER_SECOND, first_ns % NS_PER_SECOND / 1000);
	buf_printf(out, "# time of last sample : %" PRIu64 ".%06" PRIu64 "\n",
		   last_ns / NS_PER_SECOND, last_ns % NS_PER_SECOND / 1000);
	buf_printf(out, "# sample duration : %10.3f ms\n", (double)(last_ns - first_ns) / 1e6);
}

void script_print_header(struct replay *replay, FILE *file)
{
	const struct perfdata_info *info = perfdata_info(replay_data(replay));
	struct buf out = { 0 };

	buf_str(&out, "# ========\n");
	put_captured(&out, replay);
	put_header_text(&out, "hostname", info->hostname);
	put_header_text(&out, "os release", info->os_release);
	put_header_text(&out, "perf version", info->version);
	put_header_text(&out, "arch", info->arch);
	if (info->n_cpus)
		buf_printf(&out, "# nrcpus online : %" PRIu32 "\n", info->n_cpus);
	put_header_text(&out, "cpudesc", info->cpu_desc);
	put_header_text(&out, "cpuid", info->cpu_id);
	if (info->total_mem_kib)
		buf_printf(&out, "# total memory : %" PRIu64 " kB\n", info->total_mem_kib);
	put_header_text(&out, "cmdline", info->command);
	vec_foreach (&info->counters, counter)
		put_header_event(&out, counter);
	put_header_times(&out, replay);
	buf_str(&out, "# ========\n#\n");
	fwrite(out.data, 1, out.len, file);
	buf_fini(&out);
}
