/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/lines.h"
#include "report/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "profile/unnamed.h"
#include "report/header_facts.h"
#include "store/session_join.h"

#define SCHEMA 1

/* An incomplete symbol table is worth a line from this share of the samples on. */
#define IMAGE_SHARE_PERCENT 1.0

static const char *const loss_kind_keys[] = { "lost", "unattributed", "note" };

json_t *json_text(const char *text)
{
	struct buf clean = { 0 };
	json_t *string;

	utf8_append(&clean, text);
	string = json_stringn(buf_cstr(&clean), clean.len);
	buf_fini(&clean);
	return string;
}

json_t *json_number(uint64_t number)
{
	return json_integer((json_int_t)MIN(number, (uint64_t)INT64_MAX));
}

/* ---- facts ---- */

static uint64_t last_ns(const struct session *s)
{
	uint64_t last = s->info.start_ns;

	if (s->has_end)
		return s->end.end_ns;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			last = MAX(last, s->segments[i]->blocks[b].last_ns);
	return last;
}

double header_seconds_since_start(const struct session *s, uint64_t ns)
{
	return ns > s->info.start_ns ? (double)(ns - s->info.start_ns) / 1e9 : 0;
}

double header_duration_seconds(const struct session *s)
{
	return header_seconds_since_start(s, last_ns(s));
}

void header_put_start(struct buf *text, const struct session *s, const char *format)
{
	time_t start = (time_t)(s->info.start_wall_ns / NS_PER_SECOND);
	char when[64] = "";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), format, &tm);
	buf_str(text, when);
}

const char *header_unnamed_jit(const struct report *r, const struct profile_image *image)
{
	return profile_unnamed_jit(r->profile, (uint32_t)(image - r->profile->images.data));
}

const char *header_missing_symbols(const struct report *r, const struct profile_image *image)
{
	const char *jit = header_unnamed_jit(r, image);

	return jit ? jit : symbol_table_detail(image->table);
}

const char *header_missing_lines(const struct report *r, const struct profile_image *image)
{
	return r->profile->has_lines ? lines_detail(r->profile->symbols, image->table) : "";
}

static bool is_incomplete(const struct report *r, const struct profile_image *image,
			  missing_part *part)
{
	return image->table &&
	       (double)image->samples * 100 >=
		       IMAGE_SHARE_PERCENT * (double)r->profile->n_selected &&
	       *part(r, image);
}

struct named_images header_incomplete_images(const struct report *r, missing_part *part)
{
	struct named_images list = { .n = 0 };

	for (size_t i = 0; i < r->profile->images.n; i++) {
		const struct profile_image *image = &r->profile->images.data[i];
		size_t at;

		if (!is_incomplete(r, image, part))
			continue;
		at = list.n < MAX_IMAGES_NAMED ? list.n++ : list.n;
		for (; at > 0 && list.image[at - 1]->samples < image->samples; at--)
			if (at < MAX_IMAGES_NAMED)
				list.image[at] = list.image[at - 1];
		if (at < MAX_IMAGES_NAMED)
			list.image[at] = image;
	}
	return list;
}

void header_put_filters(struct buf *text, const struct query *q)
{
	const char *before = "";

	for (int tag = 0; tag < N_FILTERS; tag++) {
		const struct filter *f = &q->filters[tag];

		if (!f->n || filter_infos[tag].match == MATCH_SOURCE)
			continue;
		buf_printf(text, "%s%s%s", before, filter_infos[tag].tag,
			   *filter_infos[tag].tag ? ":" : "");
		for (size_t i = 0; i < f->n; i++) {
			buf_str(text, i ? "," : "");
			for (const char *c = f->data[i].glob; *c; c++)
				buf_printf(text, *c == ',' ? "\\%c" : "%c", *c);
		}
		before = " ";
	}
	vec_foreach (&q->matchers, m) {
		buf_str(text, before);
		matcher_print(m, text);
		before = " ";
	}
}

/* ---- JSON ---- */

static void header_set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_text(text ? text : ""));
}

static void header_set_number(json_t *object, const char *key, uint64_t number)
{
	json_object_set_new(object, key, json_number(number));
}

static json_t *header_events_json(const struct session *s)
{
	json_t *events = json_array();

	for (uint32_t i = 0; i < s->info.n_counters; i++) {
		const struct counter_info *c = &s->info.counters[i];
		struct rate_range rates = session_rates(s, c);
		json_t *event = json_object();

		header_set_text(event, "name", c->name);
		header_set_text(event, "spec", c->spec);
		header_set_text(event, "unit", c->unit);
		header_set_number(event, "freq_hz", c->freq_hz);
		header_set_number(event, "lowest_hz", rates.low_hz);
		header_set_number(event, "highest_hz", rates.high_hz);
		header_set_number(event, "count", c->count);
		header_set_number(event, "unit_mask", c->unit_mask);
		json_object_set_new(event, "user", json_boolean(c->in_user));
		json_object_set_new(event, "kernel", json_boolean(c->in_kernel));
		json_array_append_new(events, event);
	}
	return events;
}

static json_t *header_losses_json(const struct profile *p)
{
	json_t *losses = json_array();

	for (int i = 0; i < N_LOSS_REASONS; i++) {
		json_t *loss;

		if (!p->losses[i])
			continue;
		loss = json_object();
		header_set_text(loss, "reason", loss_texts[i].key);
		header_set_text(loss, "kind", loss_kind_keys[loss_texts[i].kind]);
		header_set_text(loss, "text", loss_texts[i].text);
		header_set_number(loss, "n", p->losses[i]);
		json_array_append_new(losses, loss);
	}
	return losses;
}

static json_t *header_lines_json(const struct report *r)
{
	const struct named_images list = header_incomplete_images(r, header_missing_lines);
	json_t *images = json_array();

	for (size_t i = 0; i < list.n; i++) {
		json_t *image = json_object();

		header_set_text(image, "image", list.image[i]->image->path);
		header_set_text(image, "text", header_missing_lines(r, list.image[i]));
		header_set_number(image, "samples", list.image[i]->samples);
		json_array_append_new(images, image);
	}
	return images;
}

static json_t *header_images_json(const struct report *r)
{
	const struct named_images list = header_incomplete_images(r, header_missing_symbols);
	json_t *images = json_array();

	for (size_t i = 0; i < list.n; i++) {
		enum symbol_status status = symbol_table_status(list.image[i]->table);
		json_t *image = json_object();

		header_set_text(image, "image", list.image[i]->image->path);
		header_set_text(image, "status", symbol_status_keys[status]);
		header_set_text(image, "text", header_missing_symbols(r, list.image[i]));
		header_set_number(image, "samples", list.image[i]->samples);
		json_array_append_new(images, image);
	}
	return images;
}

static json_t *machine_json(const struct session_info *info)
{
	json_t *machine = json_object();

	header_set_text(machine, "hostname", info->hostname);
	header_set_text(machine, "os_release", info->os_release);
	header_set_text(machine, "arch", info->arch);
	header_set_text(machine, "cpu_model", info->cpu_model);
	header_set_number(machine, "cpus", info->n_cpus);
	return machine;
}

static json_t *samples_json(const struct profile *p)
{
	json_t *samples = json_object();

	header_set_number(samples, "stored", p->n_stored);
	header_set_number(samples, "selected", p->n_selected);
	header_set_number(samples, "idle_hidden", p->n_idle);
	header_set_number(samples, "filtered", p->n_filtered);
	return samples;
}

/* "2026-11-20T14:05:30.250Z"; an open end is null. */
static json_t *bound_json(uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	char day[40], text[64];
	struct tm tm;

	if (!ns || ns == UINT64_MAX || !gmtime_r(&seconds, &tm))
		return json_null();
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned int)(ns / 1000000 % 1000));
	return json_string(text);
}

static json_t *window_json(const struct profile *p)
{
	const struct session *s = p->session;
	json_t *window = json_object();

	json_object_set_new(window, "from", bound_json(s->window.from_ns));
	json_object_set_new(window, "to", bound_json(s->window.to_ns));
	json_object_set_new(window, "first_sample",
			    bound_json(session_wall_ns(&s->info, p->first_ns)));
	json_object_set_new(window, "last_sample",
			    bound_json(session_wall_ns(&s->info, p->last_ns)));
	json_object_set_new(window, "block_seconds",
			    json_real((double)MAX(s->block_ns, (uint64_t)NS_PER_SECOND) / 1e9));
	return window;
}

static void header_put_hosts(const struct session *s, json_t *h)
{
	if (s->n_hosts_asked)
		json_object_set_new(h, "hosts",
				    json_pack("{s:I, s:I}", "with_samples", (json_int_t)s->n_hosts,
					      "asked", (json_int_t)s->n_hosts_asked));
}

void header_put_coverage(const struct session *s, json_t *o)
{
	header_put_hosts(s, o);
	if (s->n_hosts_asked && *s->info.note)
		json_object_set_new(o, "note", json_text(s->info.note));
}

static void set_session(json_t *h, const struct profile *p)
{
	const struct session *s = p->session;
	json_t *warnings = json_array();
	struct buf start = { 0 };

	header_put_start(&start, s, "%Y-%m-%dT%H:%M:%S%z");
	header_set_text(h, "session", s->path);
	header_set_text(h, "version", s->info.version);
	header_set_text(h, "command", s->info.command);
	header_set_text(h, "target", s->info.target);
	json_object_set_new(h, "machine", machine_json(&s->info));
	header_set_text(h, "collector", s->info.collector);
	header_set_text(h, "stacks", s->info.stacks);
	header_set_text(h, "note", s->info.note);
	header_set_text(h, "start", buf_cstr(&start));
	json_object_set_new(h, "duration_seconds", json_real(header_duration_seconds(s)));
	json_object_set_new(h, "ended", json_boolean(s->has_end));
	if (s->has_end && s->end.exit_status != -1) {
		int status = s->end.exit_status;

		if (WIFSIGNALED(status))
			header_set_number(h, "signal", (uint64_t)WTERMSIG(status));
		else
			header_set_number(h, "exit_status", (uint64_t)WEXITSTATUS(status));
	}
	if (s->has_end) {
		json_object_set_new(h, "own_cpu_seconds",
				    json_real((double)s->end.own_cpu_ns / 1e9));
		header_set_number(h, "own_peak_bytes", s->end.own_peak_bytes);
	}
	if (s->has_window)
		json_object_set_new(h, "window", window_json(p));
	header_put_hosts(s, h);
	json_object_set_new(h, "events", header_events_json(s));
	vec_foreach (&s->warnings, w)
		json_array_append_new(warnings, json_text(*w));
	json_object_set_new(h, "warnings", warnings);
	buf_fini(&start);
}

json_t *header_json(const struct report *r)
{
	json_t *h = json_object();
	struct buf filters = { 0 };

	header_set_number(h, "schema", SCHEMA);
	header_set_text(h, "view", r->view->name);
	header_put_filters(&filters, r->query);
	header_set_text(h, "filters", buf_cstr(&filters));
	header_set_text(h, "weight",
			r->options->by_wall      ? "wall"
			: r->options->by_latency ? "latency"
			: r->options->by_period  ? "events"
						 : "samples");
	json_object_set_new(h, "threshold_percent", json_real(r->min_percent));
	json_object_set_new(h, "idle", json_boolean(r->query->with_idle));
	header_set_text(h, "frames", shown_frames_words[r->query->frames]);
	set_session(h, r->profile);
	json_object_set_new(h, "samples", samples_json(r->profile));
	json_object_set_new(h, "losses", header_losses_json(r->profile));
	json_object_set_new(h, "images", header_images_json(r));
	if (r->profile->has_lines)
		json_object_set_new(h, "lines", header_lines_json(r));
	buf_fini(&filters);
	return h;
}
