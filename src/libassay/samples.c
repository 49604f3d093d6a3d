/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "libassay/handles.h"
#include "replay/replay.h"
#include "script/script.h"
#include "store/session.h"

struct taking {
	assay_sample_function *take;
	void *context;
	int answer; /* not 0: the caller has ended the reading */
	VEC(struct assay_frame) frames;
};

/* The name of one frame lives until the next is looked up, unless the image keeps it: all do. */
static void take_frame(struct taking *t, struct script_places *places, const struct script_row *row,
		       uint32_t i)
{
	const struct script_place *place = script_place(places, row->code[i]);

	vec_push(&t->frames, (struct assay_frame){
				     .symbol = place->symbol,
				     .image = place->dso,
				     .symbol_offset = place->symbol_off,
				     .image_offset = row->code[i].offset,
				     .address = row->addr ? row->addr[i] : 0,
			     });
}

static int take_sample(void *context, struct script_places *places, const struct script_row *row)
{
	struct taking *t = context;
	struct assay_sample sample = {
		.size = sizeof(sample),
		.time_ns = row->time_ns,
		.event = row->event,
		.comm = row->comm,
		.cgroup = row->cgroup,
		.pid = row->pid,
		.tid = row->tid,
		.cpu = row->cpu,
		.samples = row->samples,
		.events = row->period,
		.n_frames = row->n_frames,
	};

	t->frames.n = 0;
	for (uint32_t i = 0; i < row->n_frames; i++)
		take_frame(t, places, row, i);
	sample.frames = t->frames.data;
	t->answer = t->take(t->context, &sample);
	return t->answer ? -ECANCELED : 0;
}

static int open_replay(struct assay_session *s, struct replay **out, struct error *err)
{
	const char *path = s->path;
	int r = input_unpacked(s->in, path, &path, err);

	if (r < 0 || !replay_is_perfdata(path))
		return r;
	r = input_replay(s->in, s->path, path, out, err);
	if (r >= 0 && replay_find_trace(*out) && input_itrace(s->in))
		r = input_decode(s->in, *out, input_itrace(s->in), s->path, err);
	return r;
}

ASSAY_API int assay_samples(struct assay_session *session, assay_sample_function *take,
			    void *context, struct assay_error *error)
{
	struct taking t = { .take = take, .context = context };
	const struct script_options options = {
		.is_json = true, .max_stack = UINT32_MAX, .take = take_sample, .context = &t
	};
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	const struct assay_work work = assay_begin_work();
	struct script_input input = { 0 };
	struct error err = { 0 };
	int r;

	if (!session || !take)
		return assay_refuse(error, -EINVAL, "samples need a session and a function");
	r = open_replay(session, &replay, &err);
	input.replay = replay;
	input.session = session->session;
	input.symbolizer = session->symbols;
	r = r < 0 ? r : script_run(&input, &options, &err);
	vec_fini(&t.frames);
	if (t.answer)
		return t.answer;
	r = assay_end_work(&work, r, &err);
	return r < 0 ? assay_give_error(error, r, &err) : 0;
}

ASSAY_API const char *assay_symbolise(struct assay_session *session, const char *file,
				      const char *build_id, uint64_t file_offset,
				      uint64_t *symbol_offset)
{
	struct image image = { .kind = IMAGE_FILE, .path = file };
	const struct symbol_table *table;
	uint32_t symbol;

	if (!session || !file || (build_id && !build_id_parse(build_id, &image.build_id)))
		return NULL;
	table = symbolizer_table(session->symbols, &image, NULL, 0);
	symbol = symbol_find(table, file_offset);
	if (symbol == NO_SYMBOL)
		return NULL;
	if (symbol_offset)
		*symbol_offset = file_offset - symbol_get(table, symbol).offset;
	return symbol_name(session->symbols, table, symbol);
}
