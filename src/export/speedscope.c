/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own format: JSON by https://www.speedscope.app/file-format-schema.json (1.25).
 *
 * A "sampled" profile for every event and thread: chains with weights, in the order of time. The
 * horizontal axis is the weight, so gaps between samples are not visible.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "export/tracks.h"
#include "store/session.h"

struct speedscope {
	const struct export *x;
	struct sink *out;
	struct tracks tracks;
	struct line_chain chain;
};

/* A frame is a function; its file is the source file, else the image. */
static void speedscope_put_frames(const struct speedscope *s)
{
	const struct code_lines *c = s->x->lines;
	struct buf *out = &s->out->buf;

	for (uint32_t i = 0; i < c->functions.n; i++) {
		const struct code_function *f = &c->functions.data[i];

		buf_str(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_put_string(out, f->name);
		buf_str(out, ",\"file\":");
		json_put_string(out, *f->file ? f->file : frame_image_path(s->x->frames, f->image));
		buf_u8(out, '}');
		sink_step(s->out);
	}
}

static void speedscope_put_chain(struct speedscope *s, uint32_t node)
{
	const struct code_lines *c = s->x->lines;
	struct buf *out = &s->out->buf;

	s->chain.n = 0;
	code_lines_chain(c, s->x->profile, node, &s->chain);
	for (size_t i = 0; i < s->chain.n; i++) {
		buf_u8(out, i ? ',' : '[');
		text_u64(out, c->lines.data[s->chain.data[i]].function);
	}
	buf_u8(out, ']');
}

/* Events are nanoseconds or bytes; speedscope has no unit for others. */
static const char *speedscope_unit_of(const struct speedscope *s,
				      const struct counter_info *counter)
{
	const char *unit = s->x->options->by_period ? counter_unit(counter) : "count";

	return strcmp(unit, "count") != 0 ? unit : "none";
}

static void speedscope_put_head(struct speedscope *s, const struct track *track)
{
	struct buf *out = &s->out->buf;
	const struct profile *p = s->x->profile;
	const struct counter_info *counter = &p->session->info.counters[track->counter];
	const struct profile_process *thread = &p->threads.data[track->thread];
	cleanup(free_at_exit) char *name =
		xasprintf("%s (%d) %s", strings_get(&p->comms, thread->comm), thread->tid,
			  counter->name);

	buf_str(out, "{\"type\":\"sampled\",\"name\":");
	json_put_string(out, name);
	buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
		   speedscope_unit_of(s, counter));
	text_u64(out, weight_value(&track->total, s->x->options->by_period));
}

/* "key":[…], with put() of each sample of the track. */
static int speedscope_put_column(struct speedscope *s, const struct track *track, const char *key,
				 void (*put)(struct speedscope *s,
					     const struct profile_sample *sample),
				 struct error *err)
{
	struct buf *out = &s->out->buf;
	struct pile_reader r;
	const char *before = "";

	buf_printf(out, "\"%s\":[", key);
	track_open(&s->tracks, track, &r);
	while (pile_next(&r)) {
		buf_str(out, before);
		put(s, &r.sample);
		before = ",";
		sink_step(s->out);
	}
	buf_u8(out, ']');
	return pile_close(&r, err);
}

static void put_sample_chain(struct speedscope *s, const struct profile_sample *sample)
{
	speedscope_put_chain(s, sample->node);
}

static void put_sample_weight(struct speedscope *s, const struct profile_sample *sample)
{
	text_u64(&s->out->buf, weight_value(&sample->weight, s->x->options->by_period));
}

static int put_track(struct speedscope *s, const struct track *track, struct error *err)
{
	struct buf *out = &s->out->buf;
	int r;

	speedscope_put_head(s, track);
	buf_str(out, ",\n");
	r = speedscope_put_column(s, track, "samples", put_sample_chain, err);
	buf_str(out, ",\n");
	if (r >= 0)
		r = speedscope_put_column(s, track, "weights", put_sample_weight, err);
	buf_u8(out, '}');
	return r;
}

static int put_tracks(struct speedscope *s, struct error *err)
{
	int r = 0;

	vec_foreach (&s->tracks.list, track) {
		buf_str(&s->out->buf, track == s->tracks.list.data ? "\n" : ",\n");
		r = r < 0 ? r : put_track(s, track, err);
	}
	return r;
}

static int write_speedscope(const struct export *x, struct sink *out, struct error *err)
{
	struct speedscope s = { .x = x, .out = out };
	const struct session_info *info = &x->profile->session->info;

	int r = tracks_init(&s.tracks, x->profile, err);

	buf_str(&out->buf, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			   "\"exporter\":\"assay\",\"name\":");
	json_put_string(&out->buf, info->command[0] ? info->command : info->target);
	buf_str(&out->buf, ",\n\"shared\":{\"frames\":[");
	speedscope_put_frames(&s);
	buf_str(&out->buf, "\n]},\n\"profiles\":[");
	if (r >= 0)
		r = put_tracks(&s, err);
	buf_str(&out->buf, "\n]}\n");
	tracks_fini(&s.tracks);
	free(s.chain.data);
	return r;
}

const struct export_ops export_speedscope = {
	.target = EXPORT_STREAM,
	.keys = TRACK_KEYS,
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.with_samples = true,
	.write = write_speedscope,
};
