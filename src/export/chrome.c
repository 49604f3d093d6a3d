/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace event format (JSON object form), as chrome://tracing and ui.perfetto.dev read it:
 * samples with stack frames, and metadata events that name processes and threads. Source:
 * "Trace Event Format", sections "Metadata Events", "Stack Traces" and "Global Samples".
 */
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "export/tracks.h"
#include "store/session.h"

struct chrome {
	const struct export *x;
	struct sink *out;
	struct tracks tracks;
	const char *before; /* the next element */
};

struct chrome_sample {
	const struct track *track;
	const struct track_entry *entry;
};

/* Begins an element of the current list. */
static struct buf *chrome_element(struct chrome *c)
{
	buf_str(&c->out->buf, c->before);
	c->before = ",\n";
	sink_step(c->out);
	return &c->out->buf;
}

static void chrome_put_name(struct chrome *c, const char *what, const struct profile_process *of)
{
	struct buf *out = chrome_element(c);

	buf_printf(out,
		   "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what,
		   of->pid, of->tid >= 0 ? of->tid : of->pid);
	json_put_string(out, strings_get(&c->x->profile->comms, of->comm));
	buf_str(out, "}}");
}

static void chrome_put_names(struct chrome *c)
{
	c->before = "\n";
	vec_foreach (&c->x->profile->processes, process)
		chrome_put_name(c, "process_name", process);
	vec_foreach (&c->x->profile->threads, thread)
		chrome_put_name(c, "thread_name", thread);
}

/* A node of the call tree is a stack frame: both have a parent. */
static void chrome_put_frames(struct chrome *c)
{
	const struct profile *p = c->x->profile;

	c->before = "\n";
	for (uint32_t n = 1; n < p->nodes.n; n++) {
		const struct profile_node *node = &p->nodes.data[n];
		struct buf *out = chrome_element(c);

		buf_u8(out, '"');
		text_u64(out, n);
		buf_str(out, "\":{\"name\":");
		json_put_string(out, frame_name(c->x->frames, node->function));
		buf_str(out, ",\"category\":");
		json_put_string(out, frame_image_name(c->x->frames,
						      p->functions.data[node->function].image));
		if (node->parent) {
			buf_str(out, ",\"parent\":");
			text_u64(out, node->parent);
		}
		buf_u8(out, '}');
	}
}

static void chrome_put_sample(struct chrome *c, const struct chrome_sample *sample,
			      const char *event)
{
	const struct profile *p = c->x->profile;
	const struct track_entry *e = sample->entry;
	const struct profile_entry *entry = &p->entries.data[e->entry];
	const struct profile_process *thread = &p->threads.data[sample->track->thread];
	uint64_t start = p->session->info.start_ns;
	struct buf *out = chrome_element(c);

	buf_str(out, "{\"pid\":");
	text_u64(out, (uint32_t)thread->pid);
	buf_str(out, ",\"tid\":");
	text_u64(out, (uint32_t)thread->tid);
	buf_str(out, ",\"cpu\":");
	buf_printf(out, "%d", profile_cpu(p, entry->group));
	buf_str(out, ",\"ts\":");
	text_scaled(out, e->time_ns > start ? e->time_ns - start : 0, 1000);
	buf_str(out, ",\"name\":");
	json_put_string(out, event);
	buf_str(out, ",\"sf\":");
	text_u64(out, entry->node);
	buf_str(out, ",\"weight\":");
	text_u64(out, weight_value(track_weight(p, e), c->x->options->by_period));
	buf_u8(out, '}');
}

static int chrome_by_thread_and_time(const void *a, const void *b)
{
	const struct chrome_sample *x = a, *y = b;

	if (x->track->thread != y->track->thread)
		return x->track->thread < y->track->thread ? -1 : 1;
	if (x->entry->time_ns != y->entry->time_ns)
		return x->entry->time_ns < y->entry->time_ns ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* A thread has a track for each event. Readers expect its samples in the order of time. */
static struct chrome_sample *chrome_sorted_samples(const struct tracks *tracks, size_t n)
{
	struct chrome_sample *samples = xcalloc(n + 1, sizeof(*samples));

	n = 0;
	vec_foreach (&tracks->list, track)
		for (uint32_t i = 0; i < track->n; i++)
			samples[n++] =
				(struct chrome_sample){ track, &tracks->entries[track->first + i] };
	qsort(samples, n, sizeof(*samples), chrome_by_thread_and_time);
	return samples;
}

static void chrome_put_samples(struct chrome *c)
{
	const struct session_info *info = &c->x->profile->session->info;
	size_t n = c->x->profile->entries.n;
	struct chrome_sample *samples = chrome_sorted_samples(&c->tracks, n);

	c->before = "\n";
	for (size_t i = 0; i < n; i++)
		chrome_put_sample(c, &samples[i], info->counters[samples[i].track->counter].name);
	free(samples);
}

static int write_chrome(const struct export *x, struct sink *out, struct error *err)
{
	struct chrome c = { .x = x, .out = out };
	const struct session_info *info = &x->profile->session->info;

	(void)err;
	tracks_init(&c.tracks, x->profile);
	buf_str(&out->buf, "{\"otherData\":{\"exporter\":\"assay\",\"command\":");
	json_put_string(&out->buf, info->command);
	buf_str(&out->buf, ",\"host\":");
	json_put_string(&out->buf, info->hostname);
	buf_str(&out->buf, "},\n\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
	chrome_put_names(&c);
	buf_str(&out->buf, "\n],\n\"stackFrames\":{");
	chrome_put_frames(&c);
	buf_str(&out->buf, "\n},\n\"samples\":[");
	chrome_put_samples(&c);
	buf_str(&out->buf, "\n]}\n");
	tracks_fini(&c.tracks);
	return 0;
}

const struct export_ops export_chrome = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_PROCESS, PROFILE_THREAD, PROFILE_CPU, PROFILE_EVENT }, .n = 4 },
	.with_chains = true,
	.with_slices = true,
	.write = write_chrome,
};
