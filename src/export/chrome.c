/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace event format (JSON object form), as chrome://tracing and ui.perfetto.dev read it:
 * samples with stack frames, and metadata events that name processes and threads. Source:
 * "Trace Event Format", sections "Metadata Events", "Stack Traces" and "Global Samples".
 */
#include "base/json.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "export/piles.h"
#include "store/session.h"

struct chrome {
	const struct export *x;
	struct sink *out;
	struct piles threads;
	const char *before; /* the next element */
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

static void chrome_put_sample(struct chrome *c, const struct profile_process *thread,
			      const struct profile_sample *sample)
{
	const struct profile *p = c->x->profile;
	const struct session_info *info = &p->session->info;
	uint32_t event = profile_class_value(p, PROFILE_EVENT, sample->group);
	struct buf *out = chrome_element(c);

	buf_str(out, "{\"pid\":");
	text_u64(out, (uint32_t)thread->pid);
	buf_str(out, ",\"tid\":");
	text_u64(out, (uint32_t)thread->tid);
	buf_str(out, ",\"cpu\":");
	buf_printf(out, "%d", profile_cpu(p, sample->group));
	buf_str(out, ",\"ts\":");
	text_scaled(out, sample->time_ns > info->start_ns ? sample->time_ns - info->start_ns : 0,
		    1000);
	buf_str(out, ",\"name\":");
	json_put_string(out, info->counters[event].name);
	buf_str(out, ",\"sf\":");
	text_u64(out, sample->node);
	buf_str(out, ",\"weight\":");
	text_u64(out, weight_value(&sample->weight, c->x->options->by_period));
	buf_u8(out, '}');
}

/* Of one thread. Readers expect its samples in the order of time, whatever their events are. */
static uint32_t choose_thread(void *context, const struct profile_sample *sample)
{
	return profile_class_value(context, PROFILE_THREAD, sample->group);
}

static int chrome_put_samples(struct chrome *c, struct error *err)
{
	const struct profile *p = c->x->profile;
	int r = 0;

	c->before = "\n";
	for (uint32_t i = 0; i < p->threads.n && r >= 0; i++) {
		struct pile_reader reader;

		pile_open(&c->threads, i, &reader);
		while (pile_next(&reader))
			chrome_put_sample(c, &p->threads.data[i], &reader.sample);
		r = pile_close(&reader, err);
	}
	return r;
}

static int write_chrome(const struct export *x, struct sink *out, struct error *err)
{
	struct chrome c = { .x = x, .out = out };
	const struct session_info *info = &x->profile->session->info;

	int r = piles_init(&c.threads, (uint32_t)x->profile->threads.n, x->profile, choose_thread,
			   x->profile, err);

	buf_str(&out->buf, "{\"otherData\":{\"exporter\":\"assay\",\"command\":");
	json_put_string(&out->buf, info->command);
	buf_str(&out->buf, ",\"host\":");
	json_put_string(&out->buf, info->hostname);
	buf_str(&out->buf, "},\n\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
	chrome_put_names(&c);
	buf_str(&out->buf, "\n],\n\"stackFrames\":{");
	chrome_put_frames(&c);
	buf_str(&out->buf, "\n},\n\"samples\":[");
	if (r >= 0)
		r = chrome_put_samples(&c, err);
	buf_str(&out->buf, "\n]}\n");
	piles_fini(&c.threads);
	return r;
}

const struct export_ops export_chrome = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_PROCESS, PROFILE_THREAD, PROFILE_CPU, PROFILE_EVENT }, .n = 4 },
	.with_chains = true,
	.with_samples = true,
	.write = write_chrome,
};
