/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session as JSON: tables that refer to each other by index; docs/exporters.md lists them. Rows
 * of the large tables are arrays, whose columns are named in "columns".
 */
#include <inttypes.h>

#include "base/build_id.h"
#include "base/json.h"
#include "base/reserve.h"
#include "export/cgroup_texts.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "store/session.h"

#define VERSION "1"

struct json {
	const struct export *x;
	struct sink *out;
	const char *before;  /* the next element of the current table */
	uint32_t *cgroup_of; /* by value of PROFILE_CGROUP: place in the table */
};

static struct buf *json_element(struct json *w)
{
	buf_str(&w->out->buf, w->before);
	w->before = ",\n";
	sink_step(w->out);
	return &w->out->buf;
}

static void begin_table(struct json *w, const char *name)
{
	buf_printf(&w->out->buf, ",\n\"%s\":[", name);
	w->before = "\n";
}

static void json_end_table(struct json *w)
{
	buf_u8(&w->out->buf, ']');
}

/* ,"key":"text" */
static void json_put_text_field(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, ",\"%s\":", key);
	json_put_string(out, text);
}

static void put_number(struct buf *out, const char *key, uint64_t number)
{
	buf_printf(out, ",\"%s\":%" PRIu64, key, number);
}

static void put_session(struct json *w)
{
	const struct session *s = w->x->profile->session;
	const struct session_info *info = &s->info;
	struct buf *out = &w->out->buf;

	buf_str(out, "{\"format\":\"assay\",\"version\":" VERSION ",\n\"session\":{\"cpus\":");
	text_u64(out, info->n_cpus);
	json_put_text_field(out, "command", info->command);
	json_put_text_field(out, "target", info->target);
	json_put_text_field(out, "host", info->hostname);
	json_put_text_field(out, "system", info->os_release);
	json_put_text_field(out, "arch", info->arch);
	json_put_text_field(out, "processor", info->cpu_model);
	json_put_text_field(out, "collector", info->collector);
	json_put_text_field(out, "stacks", info->stacks);
	put_number(out, "start_unix_ns", info->start_wall_ns);
	if (s->has_end && s->end.end_ns > info->start_ns)
		put_number(out, "duration_ns", s->end.end_ns - info->start_ns);
	buf_str(out,
		"},\n\"columns\":{\"frames\":[\"image\",\"offset\",\"lines\"],\"lines\":["
		"\"function\",\"line\"],"
		"\"nodes\":[\"parent\",\"frame\"],"
		"\"samples\":[\"time_ns\",\"event\",\"thread\",\"comm\",\"cpu\",\"app\",\"node\","
		"\"samples\",\"events\",\"cgroup\"]}");
}

static void json_put_events(struct json *w)
{
	const struct session_info *info = &w->x->profile->session->info;

	begin_table(w, "events");
	for (uint32_t i = 0; i < info->n_counters; i++) {
		const struct counter_info *c = &info->counters[i];
		struct buf *out = json_element(w);

		buf_str(out, "{\"name\":");
		json_put_string(out, c->name);
		json_put_text_field(out, "unit", c->unit);
		put_number(out, "freq_hz", c->freq_hz);
		put_number(out, "count", c->count);
		buf_u8(out, '}');
	}
	json_end_table(w);
}

static void json_put_losses(struct json *w)
{
	const struct profile *p = w->x->profile;

	begin_table(w, "losses");
	for (uint32_t i = 0; i < N_LOSS_REASONS; i++) {
		struct buf *out;

		if (!p->losses[i])
			continue;
		out = json_element(w);
		buf_printf(out, "{\"is_lost\":%s",
			   loss_texts[i].kind == LOSS_LOST ? "true" : "false");
		json_put_text_field(out, "reason", loss_texts[i].key);
		json_put_text_field(out, "text", loss_texts[i].text);
		put_number(out, "n", p->losses[i]);
		buf_u8(out, '}');
	}
	json_end_table(w);
}

static void put_images(struct json *w)
{
	begin_table(w, "images");
	for (uint32_t i = 0; i < w->x->profile->images.n; i++) {
		const struct image *image = w->x->profile->images.data[i].image;
		char build_id[BUILD_ID_HEX_SIZE];
		struct buf *out = json_element(w);

		build_id_hex(&image->build_id, build_id);
		buf_str(out, "{\"path\":");
		json_put_string(out, image->path);
		json_put_text_field(out, "kind", image_kind_keys[image->kind]);
		json_put_text_field(out, "build_id", build_id);
		buf_u8(out, '}');
	}
	json_end_table(w);
}

static void json_put_functions(struct json *w)
{
	begin_table(w, "functions");
	vec_foreach (&w->x->lines->functions, f) {
		struct buf *out = json_element(w);

		buf_str(out, "{\"name\":");
		json_put_string(out, f->name);
		json_put_text_field(out, "symbol", f->system_name);
		json_put_text_field(out, "file", f->file);
		put_number(out, "image", f->image);
		buf_printf(out, ",\"is_inlined\":%s}", f->symbol == NO_INDEX ? "true" : "false");
	}
	json_end_table(w);
}

static void put_holders(struct json *w)
{
	const struct profile *p = w->x->profile;

	begin_table(w, "threads");
	vec_foreach (&p->threads, thread) {
		struct buf *out = json_element(w);

		buf_printf(out, "{\"pid\":%" PRId32 ",\"tid\":%" PRId32, thread->pid, thread->tid);
		json_put_text_field(out, "comm", strings_get(&p->comms, thread->comm));
		buf_u8(out, '}');
	}
	json_end_table(w);
	begin_table(w, "comms");
	for (uint32_t i = 0; i < p->comms.n; i++)
		json_put_string(json_element(w), strings_get(&p->comms, (string_id){ i }));
	json_end_table(w);
}

/* [a,b,…] */
/* UINT64_MAX is -1: samples are not split by this key. */
static void json_put_row(struct json *w, const uint64_t *values, size_t n)
{
	struct buf *out = json_element(w);

	for (size_t i = 0; i < n; i++) {
		buf_u8(out, i ? ',' : '[');
		if (values[i] == UINT64_MAX)
			buf_str(out, "-1");
		else
			text_u64(out, values[i]);
	}
	buf_u8(out, ']');
}

/* Offset and image of a place, and its lines: inlined functions first. */
static void put_frame(struct json *w, uint32_t place)
{
	const struct profile *p = w->x->profile;
	const struct code_lines *c = w->x->lines;
	struct buf *out = json_element(w);

	buf_u8(out, '[');
	text_u64(out, p->functions.data[p->places.data[place].function].image);
	buf_u8(out, ',');
	text_u64(out, p->places.data[place].offset);
	buf_str(out, ",[");
	for (uint32_t i = c->first[place]; i < c->first[place + 1]; i++) {
		buf_str(out, i == c->first[place] ? "[" : ",[");
		text_u64(out, c->lines.data[i].function);
		buf_u8(out, ',');
		text_u64(out, c->lines.data[i].line);
		buf_u8(out, ']');
	}
	buf_str(out, "]]");
}

/* The tree's root is node 0, and has no frame. */
static void json_put_tree(struct json *w)
{
	const struct profile *p = w->x->profile;

	begin_table(w, "frames");
	for (uint32_t i = 0; i < p->places.n; i++)
		put_frame(w, i);
	json_end_table(w);
	begin_table(w, "nodes");
	buf_str(json_element(w), "[null,null]");
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		const uint64_t row[] = { p->nodes.data[i].parent, p->node_places.data[i] };

		json_put_row(w, row, ARRAY_SIZE(row));
	}
	json_end_table(w);
}

static int json_put_sample(void *context, const struct profile_sample *sample)
{
	struct json *w = context;
	const struct profile *p = w->x->profile;
	uint64_t start = p->session->info.start_ns;
	const uint64_t row[] = {
		sample->time_ns > start ? sample->time_ns - start : 0,
		profile_class_value(p, PROFILE_EVENT, sample->group),
		profile_class_value(p, PROFILE_THREAD, sample->group),
		profile_class_value(p, PROFILE_COMM, sample->group),
		(uint64_t)profile_cpu(p, sample->group),
		profile_class_value(p, PROFILE_APP, sample->group),
		sample->node,
		sample->weight.samples,
		sample->weight.period,
		w->cgroup_of[profile_class_value(p, PROFILE_CGROUP, sample->group)],
	};

	json_put_row(w, row, ARRAY_SIZE(row));
	return sink_failed(w->out); /* which sink_finish() reports */
}

/* The names of each path, and by value of the key its number in the table. */
static void put_cgroups(struct json *w)
{
	static const char *const keys[N_CGROUP_TEXTS] = {
#define X(id, label, attribute, column, help) label,
		CGROUP_TEXTS(X)
#undef X
	};
	const struct profile *p = w->x->profile;
	cleanup(free_at_exit) struct cgroup_texts *texts = cgroup_texts_new(p, w->x->frames);

	w->cgroup_of = xcalloc(p->cgroup_texts.n + 1, sizeof(*w->cgroup_of));
	begin_table(w, "cgroups");
	for (uint32_t i = 0; i < p->cgroups.n; i++) {
		uint32_t value = p->cgroups.data[i].text[CGROUP_PATH].n;
		struct buf *out = json_element(w);

		w->cgroup_of[value] = i;
		buf_str(out, "{\"path\":");
		json_put_string(out, texts[value].text[CGROUP_TEXT_PATH]);
		for (int k = CGROUP_TEXT_PATH + 1; k < N_CGROUP_TEXTS; k++)
			if (*texts[value].text[k])
				json_put_text_field(out, keys[k], texts[value].text[k]);
		buf_u8(out, '}');
	}
	json_end_table(w);
}

static int write_json(const struct export *x, struct sink *out, struct error *err)
{
	struct json w = { .x = x, .out = out };
	int r;

	put_session(&w);
	json_put_events(&w);
	json_put_losses(&w);
	put_images(&w);
	json_put_functions(&w);
	put_holders(&w);
	json_put_tree(&w);
	put_cgroups(&w);
	begin_table(&w, "samples");
	r = profile_each_sample(x->profile, json_put_sample, &w);
	json_end_table(&w);
	buf_str(&out->buf, "}\n");
	free(w.cgroup_of);
	return r < 0 ? reserve_error(err) : 0;
}

const struct export_ops export_json = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_APP, PROFILE_THREAD, PROFILE_COMM, PROFILE_CPU, PROFILE_EVENT,
			   PROFILE_CGROUP },
		  .n = 6 },
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.with_samples = true,
	.write = write_json,
};
