/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/lines.h"
#include "report/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "profile/unnamed.h"
#include "report/names.h"
#include "report/style.h"
#include "store/session_join.h"

#define SCHEMA 1

/* An incomplete symbol table is worth a line from this share of the samples on. */
#define IMAGE_SHARE_PERCENT 1.0
#define MAX_IMAGES_NAMED    8

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

static double seconds_since_start(const struct session *s, uint64_t ns)
{
	return ns > s->info.start_ns ? (double)(ns - s->info.start_ns) / 1e9 : 0;
}

static double duration_seconds(const struct session *s)
{
	return seconds_since_start(s, last_ns(s));
}

static void header_put_start(struct buf *text, const struct session *s, const char *format)
{
	time_t start = (time_t)(s->info.start_wall_ns / NS_PER_SECOND);
	char when[64] = "";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), format, &tm);
	buf_str(text, when);
}

/* How the command ended, if it was not well. */
static void put_exit(struct buf *text, const struct session *s)
{
	int status = s->end.exit_status;

	if (!s->has_end || status == -1)
		return;
	if (WIFSIGNALED(status))
		buf_printf(text, "; killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		buf_printf(text, "; exit status %d", WEXITSTATUS(status));
}

/* Images of which names are missing that the report could have shown. */
struct named_images {
	const struct profile_image *image[MAX_IMAGES_NAMED];
	size_t n;
};

/* One sentence about a missing part of an image with a table; "": nothing is missing. */
typedef const char *missing_part(const struct report *r, const struct profile_image *image);

static const char *unnamed_jit(const struct report *r, const struct profile_image *image)
{
	return profile_unnamed_jit(r->profile, (uint32_t)(image - r->profile->images.data));
}

static const char *missing_symbols(const struct report *r, const struct profile_image *image)
{
	const char *jit = unnamed_jit(r, image);

	return jit ? jit : symbol_table_detail(image->table);
}

static const char *missing_lines(const struct report *r, const struct profile_image *image)
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

static struct named_images incomplete_images(const struct report *r, missing_part *part)
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

/* The query as it could be typed: "comm:make,cc1 time:2-". */
static void put_filters(struct buf *text, const struct query *q)
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
	const struct named_images list = incomplete_images(r, missing_lines);
	json_t *images = json_array();

	for (size_t i = 0; i < list.n; i++) {
		json_t *image = json_object();

		header_set_text(image, "image", list.image[i]->image->path);
		header_set_text(image, "text", missing_lines(r, list.image[i]));
		header_set_number(image, "samples", list.image[i]->samples);
		json_array_append_new(images, image);
	}
	return images;
}

static json_t *header_images_json(const struct report *r)
{
	const struct named_images list = incomplete_images(r, missing_symbols);
	json_t *images = json_array();

	for (size_t i = 0; i < list.n; i++) {
		enum symbol_status status = symbol_table_status(list.image[i]->table);
		json_t *image = json_object();

		header_set_text(image, "image", list.image[i]->image->path);
		header_set_text(image, "status", symbol_status_keys[status]);
		header_set_text(image, "text", missing_symbols(r, list.image[i]));
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
	json_object_set_new(h, "duration_seconds", json_real(duration_seconds(s)));
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
	if (s->n_hosts_asked)
		json_object_set_new(h, "hosts",
				    json_pack("{s:I, s:I}", "with_samples", (json_int_t)s->n_hosts,
					      "asked", (json_int_t)s->n_hosts_asked));
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
	put_filters(&filters, r->query);
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

/* ---- text ---- */

struct printer {
	const struct report *r;
	const struct text_style *style;
	FILE *out;
	struct buf text; /* of the line at hand */
};

/* Prints the gathered text behind its label, and begins anew. */
static void end_styled_line(struct printer *pr, const char *label, enum text_style_id style)
{
	struct buf clean = { 0 };

	utf8_append_visible(&clean, buf_cstr(&pr->text));
	fprintf(pr->out, "%s%-9s%s %s\n", style_code(pr->style, style), label,
		style_code(pr->style, STYLE_NONE), buf_cstr(&clean));
	buf_fini(&clean);
	pr->text.len = 0;
}

static void header_end_line(struct printer *pr, const char *label)
{
	end_styled_line(pr, label, STYLE_DIM);
}

/* A session whose description is damaged knows no rates. */
static void put_rate(struct buf *text, const struct counter_info *c)
{
	if (c->freq_hz)
		buf_printf(text, ", %" PRIu64 " samples a second", c->freq_hz);
	else if (c->count)
		buf_printf(text, ", a sample every %" PRIu64 " %s", c->count, c->unit);
	if (c->in_user || c->in_kernel)
		buf_printf(text, ", %s%s%s", c->in_user ? "user" : "",
			   c->in_user && c->in_kernel ? " and " : "", c->in_kernel ? "kernel" : "");
	if (c->in_user != c->in_kernel)
		buf_str(text, " only");
}

static void header_print_events(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	for (uint32_t i = 0; i < info->n_counters; i++) {
		buf_str(&pr->text, info->counters[i].name);
		put_rate(&pr->text, &info->counters[i]);
		header_end_line(pr, i ? "" : "event");
	}
}

static void print_target(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	/* A compiler's command line may fill a page: two lines are enough, --wide has all. */
	name_append_cut(&pr->text, info->command, 2 * (size_t)pr->style->width,
			text_ellipsis(pr->style));
	if (*info->target && strcmp(info->target, "command"))
		buf_printf(&pr->text, *info->command ? " (%s)" : "%s", info->target);
	put_exit(&pr->text, pr->r->profile->session);
	if (pr->text.len)
		header_end_line(pr, *info->command ? "command" : "target");
}

/* Of a fleet, how much of it the answer covers. */
static void print_hosts(struct printer *pr)
{
	const struct session *s = pr->r->profile->session;

	buf_printf(&pr->text, "%" PRIu32 " of %" PRIu32 " have samples here", s->n_hosts,
		   s->n_hosts_asked);
	header_end_line(pr, "hosts");
}

static void header_print_machine(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	if (pr->r->profile->session->n_hosts_asked) {
		print_hosts(pr);
		return;
	}
	if (!*info->hostname && !*info->os_release)
		return;
	buf_printf(&pr->text, "%s, %s, %" PRIu32 " CPU%s, %s %s", info->hostname,
		   *info->cpu_model ? info->cpu_model : "unknown processor", info->n_cpus,
		   info->n_cpus == 1 ? "" : "s", info->os_release, info->arch);
	header_end_line(pr, "machine");
}

/* Of a daemon that runs, an hour that is over needs no end. */
static void put_missing_end(struct buf *text, const struct session *s)
{
	uint64_t now_ns = clock_wall_ns();

	if (!s->is_live)
		buf_str(text, "; no end: the recorder was killed, or still runs");
	else if (!s->has_window || s->window.to_ns >= now_ns)
		buf_str(text, "; still runs");
}

/* Of a processor trace there often are some milliseconds. */
static void header_put_duration(struct buf *text, double seconds)
{
	if (seconds > 0 && seconds < 0.1)
		buf_printf(text, ", %.3f ms", seconds * 1000);
	else
		buf_printf(text, ", %.1f s", seconds);
}

/* Of less than a second, exact times are of interest. */
static void header_put_shown(struct buf *text, const struct profile *p)
{
	int digits = p->last_ns - p->first_ns < NS_PER_SECOND ? 6 : 1;

	buf_printf(text, "; shown: %.*f to %.*f s", digits,
		   seconds_since_start(p->session, p->first_ns), digits,
		   seconds_since_start(p->session, p->last_ns));
}

static void header_print_time(struct printer *pr)
{
	const struct profile *p = pr->r->profile;

	if (p->session->info.start_wall_ns) {
		header_put_start(&pr->text, p->session, "%Y-%m-%d %H:%M:%S");
		header_put_duration(&pr->text, duration_seconds(p->session));
	} else {
		buf_str(&pr->text, "not known");
	}
	if (query_has(pr->r->query, FILTER_TIME))
		header_put_shown(&pr->text, p);
	if (!p->session->has_end)
		put_missing_end(&pr->text, p->session);
	header_end_line(pr, "time");
}

/* "a minute", "an hour": a merged history's blocks. */
static void put_block_length(struct buf *text, uint64_t block_ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 86400000000000, "a day" },
		      { 3600000000000, "an hour" },
		      { 60000000000, "a minute" } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (block_ns == units[i].ns) {
			buf_str(text, units[i].name);
			return;
		}
	buf_printf(text, "%.0f s", MAX((double)block_ns / 1e9, 1.0));
}

/*
 * The wanted window and the shown window. They differ because blocks count as a whole
 * (store/history/history.h).
 */
static void print_window(struct printer *pr)
{
	const struct profile *p = pr->r->profile;
	const struct session *s = p->session;

	if (!s->has_window)
		return;
	time_window_print(&pr->text, &s->window);
	buf_str(&pr->text, "; samples are of ");
	time_point_print(&pr->text, session_wall_ns(&s->info, p->first_ns));
	buf_str(&pr->text, " to ");
	time_point_print(&pr->text, session_wall_ns(&s->info, p->last_ns));
	if (s->block_ns > NS_PER_SECOND) {
		buf_str(&pr->text, ", in blocks of up to ");
		put_block_length(&pr->text, s->block_ns);
		buf_str(&pr->text, ": one counts if its middle is in the window");
	}
	header_end_line(pr, "window");
}

static void print_samples(struct printer *pr)
{
	const struct profile *p = pr->r->profile;

	buf_printf(&pr->text, "%" PRIu64, p->n_selected);
	if (p->n_selected != p->n_stored)
		buf_printf(&pr->text, " of %" PRIu64, p->n_stored);
	if (p->n_idle)
		buf_printf(&pr->text, "; %" PRIu64 " idle, not shown (--idle)", p->n_idle);
	if (p->n_filtered) {
		buf_printf(&pr->text, "; %" PRIu64 " left out by ", p->n_filtered);
		put_filters(&pr->text, pr->r->query);
	}
	if (pr->r->query->frames != FRAMES_BOTH)
		buf_printf(&pr->text, "; %s frames alone",
			   shown_frames_words[pr->r->query->frames]);
	header_end_line(pr, "samples");
}

static void header_print_losses(struct printer *pr)
{
	static const char *const labels[] = { "lost", "unknown", "note" };
	const struct profile *p = pr->r->profile;
	uint64_t n_lost = losses_of_kind(p->losses, LOSS_LOST);

	if (!n_lost) {
		buf_str(&pr->text, "0");
		header_end_line(pr, "lost");
	}
	for (int i = 0; i < N_LOSS_REASONS; i++) {
		if (!p->losses[i])
			continue;
		buf_printf(&pr->text, "%" PRIu64, p->losses[i]);
		if (loss_texts[i].kind == LOSS_LOST)
			buf_printf(&pr->text, " (%.2f %%)",
				   100.0 * (double)p->losses[i] / (double)(p->n_stored + n_lost));
		buf_printf(&pr->text, ": %s", loss_texts[i].text);
		end_styled_line(pr, labels[loss_texts[i].kind],
				loss_texts[i].kind == LOSS_LOST ? STYLE_HOT : STYLE_DIM);
	}
}

static void put_image_share(struct printer *pr, struct buf *names,
			    const struct profile_image *image)
{
	buf_printf(names, "%s%s (%.0f %%)", names->len ? ", " : "", image->name,
		   100.0 * (double)image->samples / (double)pr->r->profile->n_selected);
}

/* Code that runtimes made and did not name: a line for each runtime. */
static void print_unnamed_jit(struct printer *pr, const struct named_images *list)
{
	const char *last = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const char *text = unnamed_jit(pr->r, list->image[i]);
		struct buf names = { 0 };

		for (size_t j = i; text && text != last && j < list->n; j++)
			if (unnamed_jit(pr->r, list->image[j]) == text)
				put_image_share(pr, &names, list->image[j]);
		if (names.len) {
			buf_printf(&pr->text, "%s: %s", buf_cstr(&names), text);
			header_end_line(pr, "symbols");
			last = text;
		}
		buf_fini(&names);
	}
}

/* The images that lack the same thing: one has its own sentence, several share a line. */
static void print_incomplete(struct printer *pr, const struct named_images *list,
			     enum symbol_status status)
{
	struct buf names = { 0 };
	const char *detail = "";
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct profile_image *image = list->image[i];

		if (symbol_table_status(image->table) != status || unnamed_jit(pr->r, image))
			continue;
		detail = symbol_table_detail(image->table);
		put_image_share(pr, &names, image);
		n++;
	}
	if (n == 1)
		buf_str(&pr->text, detail);
	else
		buf_printf(&pr->text, "%s: %s", symbol_status_texts[status], buf_cstr(&names));
	if (n)
		header_end_line(pr, "symbols");
	pr->text.len = 0;
	buf_fini(&names);
}

static void print_notes(struct printer *pr)
{
	const struct session *s = pr->r->profile->session;
	const struct named_images list = incomplete_images(pr->r, missing_symbols);
	const struct named_images without_lines = incomplete_images(pr->r, missing_lines);

	if (*s->info.note) {
		buf_str(&pr->text, s->info.note);
		header_end_line(pr, "note");
	}
	vec_foreach (&s->warnings, w) {
		buf_str(&pr->text, *w);
		end_styled_line(pr, "warning", STYLE_HOT);
	}
	for (int status = 0; status < N_SYMBOL_STATUSES; status++)
		print_incomplete(pr, &list, (enum symbol_status)status);
	print_unnamed_jit(pr, &list);
	for (size_t i = 0; i < without_lines.n; i++) {
		buf_str(&pr->text, missing_lines(pr->r, without_lines.image[i]));
		header_end_line(pr, "lines");
	}
}

void header_print(const struct report *r, const struct text_style *style, FILE *out)
{
	struct printer pr = { .r = r, .style = style, .out = out };

	print_target(&pr);
	header_print_events(&pr);
	header_print_machine(&pr);
	header_print_time(&pr);
	print_window(&pr);
	print_samples(&pr);
	header_print_losses(&pr);
	print_notes(&pr);
	buf_fini(&pr.text);
	fputc('\n', out);
}
