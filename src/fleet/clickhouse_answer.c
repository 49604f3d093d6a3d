/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/clickhouse.h"
#include "fleet/row_binary.h"
#include "lang/language.h"
#include "machine/image.h"
#include "profile/profile.h"
#include "store/history/blocks.h"
#include "store/format.h"
#include "store/native.h"
#include "store/session.h"
#include "store/session_join.h"
#include "store/store.h"

/*
 * Numbers in one list of a question: ClickHouse reads 256 KiB of SQL. More functions than
 * LIST_SMALL are found by the rows once more, which costs less than to read a list.
 */
#define LIST_MAX   10000
#define LIST_SMALL 20

/* A place of code that is known by name alone has a slot of the upper half of the offsets. */
#define SLOT_BITS 20

void answer_init(struct answer *a)
{
	*a = (struct answer){ 0 };
	strings_init(&a->texts);
}

void answer_fini(struct answer *a)
{
	strings_fini(&a->texts);
	vec_fini(&a->rows);
	vec_fini(&a->leaves);
	vec_fini(&a->events);
	vec_fini(&a->rates);
	intmap_fini(&a->stacks);
	vec_fini(&a->spans);
	vec_fini(&a->frames);
	vec_fini(&a->builds);
	intmap_fini(&a->by_number);
	vec_fini(&a->functions);
	buf_fini(&a->source);
}

static int answer_by_row(const void *a, const void *b)
{
	const struct answer_row *x = a, *y = b;
	const uint64_t order[][2] = {
		{ x->host.n, y->host.n },
		{ x->time_s, y->time_s },
		{ x->service.n, y->service.n },
		{ x->event.n, y->event.n },
		{ x->key, y->key },
		{ x->build.n, y->build.n },
	};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i][0] != order[i][1])
			return order[i][0] < order[i][1] ? -1 : 1;
	return 0;
}

static void answer_add_sums(struct answer_row *to, const struct answer_row *row)
{
	to->samples += row->samples;
	to->total += row->total;
}

void answer_merge(struct answer *a)
{
	size_t n = 0;

	if (a->rows.n)
		qsort(a->rows.data, a->rows.n, sizeof(*a->rows.data), answer_by_row);
	for (size_t i = 0; i < a->rows.n; i++)
		if (n && !answer_by_row(&a->rows.data[n - 1], &a->rows.data[i]))
			answer_add_sums(&a->rows.data[n - 1], &a->rows.data[i]);
		else
			a->rows.data[n++] = a->rows.data[i];
	a->rows.n = n;
}

/* ---- names ---- */

static string_id answer_read_text(struct answer *a, struct reader *r)
{
	size_t n;
	const char *text = row_binary_text(r, &n);

	/* A NUL would hide what follows. */
	return strings_add_n(&a->texts, text ? text : "", text ? strnlen(text, n) : 0);
}

/*
 * The builds of a stack's frames: as many as there are frames, or none, as before version 3 of the
 * tables. `n`: frames that are kept.
 */
static bool answer_read_builds(struct answer *a, struct reader *r, uint32_t n)
{
	uint64_t n_builds = row_binary_count(r, 1);

	for (uint64_t i = 0; i < n_builds && !r->bad; i++) {
		string_id build = answer_read_text(a, r);

		if (i < n)
			vec_push(&a->builds, build);
	}
	while (a->builds.n < a->frames.n)
		vec_push(&a->builds, (string_id){ 0 });
	return n_builds > 0;
}

void answer_read_stacks(struct answer *a, struct reader *r)
{
	while (reader_left(r)) {
		uint64_t stack = reader_u64(r), n = row_binary_count(r, sizeof(uint64_t));
		bool is_new;
		uint32_t *at = intmap_put(&a->stacks, stack, &is_new);

		if (is_new) {
			vec_push(&a->spans, (struct answer_stack){ .first = a->frames.n });
			*at = (uint32_t)a->spans.n;
		}
		for (uint64_t i = 0; i < n; i++) {
			uint64_t function = reader_u64(r);

			if (!is_new || i >= PROFILE_MAX_DEPTH)
				continue;
			vec_push(&a->frames, function);
			a->spans.data[*at - 1].n++;
		}
		a->spans.data[*at - 1].has_builds |=
			answer_read_builds(a, r, is_new ? a->spans.data[*at - 1].n : 0);
	}
}

void answer_read_functions(struct answer *a, struct reader *r)
{
	while (reader_left(r)) {
		uint64_t number = reader_u64(r);
		struct answer_function f = { .name = answer_read_text(a, r) };
		uint32_t *at;
		bool is_new;

		f.image = answer_read_text(a, r);
		f.build = answer_read_text(a, r);
		f.start = reader_u64(r);
		f.kind = reader_u8(r);
		f.language = reader_u8(r);
		if (r->bad)
			return;
		at = intmap_put(&a->by_number, number, &is_new);
		if (!is_new)
			continue;
		vec_push(&a->functions, f);
		*at = (uint32_t)a->functions.n;
	}
}

/* A question whose rows are found by a list of numbers. */
struct answer_list {
	const char *begin, *end; /* of the SQL, around the numbers */
	void (*read)(struct answer *a, struct reader *r);
};

static const struct answer_list stack_list = {
	"SELECT stack, any(frames), emptyArrayString() FROM stacks WHERE stack IN (",
	") GROUP BY stack FORMAT RowBinary",
	answer_read_stacks,
};
/* The builds of a stack's number are the same in each row, but those of old tables have none. */
static const struct answer_list build_list = {
	"SELECT stack, any(frames), argMax(builds, length(builds)) FROM stacks WHERE stack IN (",
	") GROUP BY stack FORMAT RowBinary",
	answer_read_stacks,
};
static const struct answer_list function_list = {
	/* A name may have come later (fleet/late_names.h). */
	"SELECT func, argMax(name, seen), argMax(image, seen), argMax(build, seen), argMax(start, "
	"seen), argMax(kind, seen), argMax(language, seen) FROM functions WHERE func IN (",
	") GROUP BY func FORMAT RowBinary",
	answer_read_functions,
};

/* `numbers` NULL: all those of a->source. */
static int answer_ask_list(struct answer *a, struct clickhouse *ch, uint32_t shard,
			   const struct answer_list *list, const uint64_t *numbers, size_t n,
			   struct error *err)
{
	struct buf sql = { 0 }, bytes = { 0 };
	struct reader rows;
	int r;

	buf_str(&sql, list->begin);
	if (!numbers)
		buf_bytes(&sql, a->source.data, a->source.len);
	for (size_t i = 0; numbers && i < n; i++)
		buf_printf(&sql, "%s%" PRIu64, i ? "," : "", numbers[i]);
	buf_str(&sql, list->end);
	r = clickhouse_ask(ch, shard, buf_cstr(&sql), &bytes, err);
	rows = reader_over(bytes.data, bytes.len);
	if (r >= 0)
		list->read(a, &rows);
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the list of names is not whole");
	buf_fini(&sql);
	buf_fini(&bytes);
	return r;
}

/* Numbers by the shard that has them, each once. */
struct wanted_numbers {
	struct intmap seen;
	struct {
		uint64_t *data;
		size_t n, cap;
	} * of; /* by shard */
	uint32_t n_shards;
};

static void wanted_add(struct wanted_numbers *w, uint32_t shard, uint64_t number)
{
	bool is_new;

	intmap_put(&w->seen, number, &is_new);
	if (is_new)
		vec_push(&w->of[shard], number);
}

static int wanted_ask(struct wanted_numbers *w, struct answer *a, struct clickhouse *ch,
		      const struct answer_list *list, struct error *err)
{
	int r = 0;

	for (uint32_t s = 0; s < w->n_shards && r >= 0; s++) {
		if (a->source.len && w->of[s].n > LIST_SMALL) {
			r = answer_ask_list(a, ch, s, list, NULL, 0, err);
			continue;
		}
		for (size_t i = 0; i < w->of[s].n && r >= 0; i += LIST_MAX)
			r = answer_ask_list(a, ch, s, list, w->of[s].data + i,
					    MIN(w->of[s].n - i, (size_t)LIST_MAX), err);
	}
	return r;
}

static void wanted_init(struct wanted_numbers *w, uint32_t n_shards)
{
	*w = (struct wanted_numbers){ .of = xcalloc(n_shards, sizeof(*w->of)),
				      .n_shards = n_shards };
}

static void wanted_fini(struct wanted_numbers *w)
{
	for (uint32_t s = 0; s < w->n_shards; s++)
		vec_fini(&w->of[s]);
	free(w->of);
	intmap_fini(&w->seen);
}

static const struct answer_stack *answer_stack_of(const struct answer *a, uint64_t stack)
{
	const uint32_t *at = intmap_find(&a->stacks, stack);

	return at ? &a->spans.data[*at - 1] : NULL;
}

static int answer_find_stacks(struct answer *a, struct clickhouse *ch, struct error *err)
{
	struct wanted_numbers wanted;
	int r;

	wanted_init(&wanted, clickhouse_n_shards(ch));
	vec_foreach (&a->rows, row)
		wanted_add(&wanted, row->shard, row->key);
	r = wanted_ask(&wanted, a, ch, a->has_builds ? &build_list : &stack_list, err);
	wanted_fini(&wanted);
	return r;
}

int answer_find_names(struct answer *a, struct clickhouse *ch, struct error *err)
{
	struct wanted_numbers wanted;
	int r = a->has_stacks ? answer_find_stacks(a, ch, err) : 0;

	wanted_init(&wanted, clickhouse_n_shards(ch));
	vec_foreach (&a->rows, row) {
		const struct answer_stack *stack =
			a->has_stacks ? answer_stack_of(a, row->key) : NULL;

		if (!a->has_stacks)
			wanted_add(&wanted, row->shard, row->key);
		for (uint32_t i = 0; stack && i < stack->n; i++)
			wanted_add(&wanted, row->shard, a->frames.data[stack->first + i]);
	}
	r = r < 0 ? r : wanted_ask(&wanted, a, ch, &function_list, err);
	wanted_fini(&wanted);
	return r;
}

static bool event_is_time(const char *name)
{
	return strstr(name, "clock") || strstr(name, "off-cpu");
}

/* More than the ends of recordings can change. */
#define RATES_DIFFER 0.02

static double event_mean(const struct answer_event *e)
{
	return (double)e->period / (double)e->samples;
}

bool answer_has_several_rates(const struct answer *a)
{
	vec_foreach (&a->rates, rate)
		vec_foreach (&a->events, all) {
			double mean;

			if (all->name.n != rate->event.name.n || !rate->event.samples ||
			    !event_is_time(strings_get(&a->texts, all->name)))
				continue;
			mean = event_mean(all);
			if (fabs(event_mean(&rate->event) - mean) > RATES_DIFFER * mean)
				return true;
		}
	return false;
}

uint64_t answer_without_builds(const struct answer *a)
{
	uint64_t samples = 0;

	vec_foreach (&a->rows, row) {
		const struct answer_stack *stack =
			a->has_stacks ? answer_stack_of(a, row->key) : NULL;

		if (stack && stack->n && !stack->has_builds)
			samples += row->samples;
	}
	return samples;
}

/* ---- a session ---- */

struct answer_session {
	const struct answer *a;
	string_id host; /* whose rates count; "": all hosts */
	struct image_table *images;
	struct strings strings;
	struct intmap named; /* image << 32 | index of the function: it has its name */
	struct store *store;
	size_t first_event, n_events; /* of a's events: those of this session */
	uint32_t *counter_of;         /* by string of a's texts: index + 1 of these; 0: of others */
	double *means;                /* by event */
};

static bool answer_session_has(const struct answer_session *s, string_id event)
{
	return s->counter_of[event.n];
}

/* The file of a function. The build is of the row; if it is not asked for, of the function. */
static image_id answer_image(struct answer_session *s, const struct answer_function *f,
			     string_id build)
{
	const struct strings *texts = &s->a->texts;
	const char *hex = strings_get(texts, build.n ? build : f->build);
	const char *name = strings_get(texts, f->image);
	bool is_kernel = f->kind == IMAGE_KERNEL || f->kind == IMAGE_MODULE || f->kind == IMAGE_BPF;
	struct image image = { .kind = is_kernel ? (enum image_kind)f->kind : IMAGE_NAMED,
			       .path = *name ? name : "[no image]" };

	/* a file with functions of Go and others is two images */
	if (f->kind == IMAGE_LANGUAGE || f->language == LANGUAGE_GO) {
		image.kind = IMAGE_LANGUAGE;
		image.language = f->language;
	}
	if (!build_id_parse(hex, &image.build_id))
		image.build_id.len = 0;
	return image_intern(s->images, &image);
}

/* Where a function is: by its number, so that all sessions agree. */
static struct code_addr answer_place(struct answer_session *s, uint64_t number, string_id build)
{
	static const struct answer_function unknown = { 0 };
	const uint32_t *at = intmap_find(&s->a->by_number, number);
	const struct answer_function *f = at ? &s->a->functions.data[*at - 1] : &unknown;
	uint64_t slot = (uint64_t)1 << 63 | number >> (SLOT_BITS + 1) << SLOT_BITS;
	struct code_addr place = { answer_image(s, f, build), slot + 1 };
	bool is_new;

	intmap_put(&s->named, (uint64_t)place.image.n << 32 | (at ? *at : 0), &is_new);
	if (is_new && f->name.n) {
		const struct code_symbol symbol = { .image = place.image,
						    .offset = slot,
						    .size = (uint64_t)1 << SLOT_BITS,
						    .name = strings_get(&s->a->texts, f->name) };

		native_store.name_code(s->store, &symbol);
	}
	return place;
}

/* The function of a sample without callers, and its total, which is an arc without a caller. */
static int answer_add_function(struct answer_session *s, const struct answer_row *row,
			       struct sample *sample, struct error *err)
{
	const struct image mark = { .kind = IMAGE_NAMED, .path = IMAGE_ARCS_PATH };
	const struct code_addr frames[] = { answer_place(s, row->key, row->build),
					    { image_intern(s->images, &mark), 0 } };
	int r = 0;

	sample->frames = frames;
	sample->n_frames = 1;
	if (row->samples)
		r = native_store.add(s->store, sample, err);
	if (r < 0 || !s->a->has_totals)
		return r;
	sample->n_frames = 2;
	sample->samples = 0;
	sample->period = row->total;
	return native_store.add(s->store, sample, err);
}

/* What samples of a service and an event have in common. */
static struct profile_class answer_class(struct answer_session *s, string_id service_id,
					 string_id event)
{
	const char *service = strings_get(&s->a->texts, service_id);
	const struct image app = { .kind = IMAGE_NAMED, .path = service };

	return (struct profile_class){ .counter = s->counter_of[event.n] - 1,
				       .app = image_intern(s->images, &app),
				       .pid = strcmp(service, "[idle]") != 0 ? CLASS_ALL : 0,
				       .tid = CLASS_ALL,
				       .comm = strings_add(&s->strings, service),
				       .cpu = (uint32_t)CLASS_ALL };
}

static image_id answer_leaf_image(struct answer_session *s, const struct answer_leaf *leaf)
{
	const char *path = strings_get(&s->a->texts, leaf->path);
	bool has_places = leaf->kind == IMAGE_FILE || leaf->kind == IMAGE_KERNEL ||
			  leaf->kind == IMAGE_MODULE || leaf->kind == IMAGE_BPF;
	struct image image = { .kind = has_places ? (enum image_kind)leaf->kind : IMAGE_NAMED,
			       .path = *path ? path : "[no image]" };

	if (!build_id_parse(strings_get(&s->a->texts, leaf->build), &image.build_id))
		image.build_id.len = 0;
	return image_intern(s->images, &image);
}

static int answer_add_leaf(struct answer_session *s, const struct answer_leaf *leaf,
			   struct error *err)
{
	const struct code_addr frame = { answer_leaf_image(s, leaf), leaf->place };
	const struct sample sample = { .class = answer_class(s, leaf->service, leaf->event),
				       .time_ns = NS_PER_SECOND,
				       .frames = &frame,
				       .n_frames = 1,
				       .samples = leaf->samples,
				       .period = leaf->events };

	return native_store.add(s->store, &sample, err);
}

/* Events of a sample: the mean of its host, or of all hosts. */
static double answer_mean(const struct answer_session *s, const struct answer_event *event)
{
	vec_foreach (&s->a->rates, rate)
		if (s->host.n && rate->host.n == s->host.n && rate->event.samples &&
		    rate->event.name.n == event->name.n)
			return event_mean(&rate->event);
	return event->samples ? event_mean(event) : 1;
}

static int answer_add_row(struct answer_session *s, const struct answer_row *row, struct error *err)
{
	const struct answer *a = s->a;
	const struct answer_stack *stack = a->has_stacks ? answer_stack_of(a, row->key) : NULL;
	struct code_addr frames[PROFILE_MAX_DEPTH] = { { IMAGE_UNKNOWN_ID, 0 } };
	struct sample sample = {
		.class = answer_class(s, row->service, row->event),
		.time_ns = NS_PER_SECOND +
			   (row->time_s > a->from_s ? row->time_s - a->from_s : 0) * NS_PER_SECOND,
		.frames = frames,
		.n_frames = 1,
		.samples = row->samples,
		.period = (uint64_t)(s->means[s->counter_of[row->event.n] - 1] *
				     (double)row->samples),
	};

	if (!a->has_stacks)
		return answer_add_function(s, row, &sample, err);
	for (uint32_t i = 0; stack && i < stack->n; i++)
		frames[i] = answer_place(s, a->frames.data[stack->first + i],
					 a->builds.data[stack->first + i]);
	if (stack && stack->n)
		sample.n_frames = stack->n;
	return native_store.add(s->store, &sample, err);
}

static struct counter_info *answer_counters(const struct answer_session *s)
{
	struct counter_info *counters = xcalloc(s->n_events + 1, sizeof(*counters));

	for (size_t i = 0; i < s->n_events; i++) {
		const struct answer_event *event = &s->a->events.data[s->first_event + i];
		const char *name = strings_get(&s->a->texts, event->name);
		bool is_time = event_is_time(name);

		counters[i] = (struct counter_info){ .name = name,
						     .spec = name,
						     .unit = is_time ? "ns" : "events",
						     .in_user = true,
						     .in_kernel = true };
	}
	return counters;
}

static int answer_write_rows(struct answer_session *s, size_t first, size_t end, const char *dir,
			     const char *note, struct error *err)
{
	const struct answer *a = s->a;
	cleanup(free_at_exit) struct counter_info *counters = answer_counters(s);
	struct session_info info = {
		.version = "",
		.command = "",
		.target = "fleet",
		.hostname = "",
		.os_release = "",
		.arch = "",
		.cpu_model = "",
		.collector = "ClickHouse",
		.stacks = a->leaves.n     ? LEAVES_STACKS
			  : a->has_stacks ? "functions"
					  : "none",
		.note = note,
		.start_ns = NS_PER_SECOND,
		.start_wall_ns = a->from_s * NS_PER_SECOND,
		.counters = counters,
		.n_counters = (uint32_t)s->n_events,
	};
	const struct session_end over = {
		.end_ns = NS_PER_SECOND + (a->to_s - a->from_s) * NS_PER_SECOND, .exit_status = -1
	};
	uint64_t n_unwritten;
	int r = native_store.open(dir, &info, s->images, &s->strings, &s->store, err), closed;

	if (r < 0)
		return r;
	for (size_t i = first; i < end && r >= 0; i++)
		if (answer_session_has(s, a->rows.data[i].event))
			r = answer_add_row(s, &a->rows.data[i], err);
	for (size_t i = 0; i < a->leaves.n && r >= 0; i++)
		if (answer_session_has(s, a->leaves.data[i].event))
			r = answer_add_leaf(s, &a->leaves.data[i], err);
	closed = native_store.close(s->store, r < 0 ? NULL : &over, &n_unwritten,
				    r < 0 ? NULL : err);
	return r < 0 ? r : closed;
}

/* Writes the rows of one host and of some events, and opens them. */
static int answer_write_host(const struct answer *a, size_t first_event, size_t first, size_t end,
			     const char *dir, const char *note, struct session **out,
			     struct error *err)
{
	size_t n_events = MIN(a->events.n - first_event, (size_t)SESSION_COUNTERS_MAX);
	struct answer_session s = { .a = a,
				    .images = image_table_new(),
				    .host = first < end ? a->rows.data[first].host
							: (string_id){ 0 },
				    .first_event = first_event,
				    .n_events = n_events,
				    .counter_of = xcalloc(a->texts.n + 1, sizeof(uint32_t)),
				    .means = xcalloc(n_events + 1, sizeof(double)) };
	int r;

	strings_init(&s.strings);
	for (size_t i = 0; i < n_events; i++) {
		const struct answer_event *event = &a->events.data[first_event + i];

		s.counter_of[event->name.n] = (uint32_t)i + 1;
		s.means[i] = answer_mean(&s, event);
	}
	r = answer_write_rows(&s, first, end, dir, note, err);
	r = r < 0 ? r : session_open(dir, out, err);
	if (r >= 0 && first < end && a->rows.data[first].host.n) {
		(*out)->host = xstrdup(strings_get(&a->texts, a->rows.data[first].host));
		for (uint32_t i = 0; i < (*out)->n_segments; i++)
			(*out)->segments[i]->host = (*out)->host;
	}
	strings_fini(&s.strings);
	image_table_free(s.images);
	intmap_fini(&s.named);
	free(s.counter_of);
	free(s.means);
	return r;
}

struct answer_sessions {
	struct session **data;
	size_t n, cap;
};

/* Writes the rows of some events, those of each host apart. */
static int answer_write_events(const struct answer *a, size_t first_event, const char *dir,
			       const char *note, struct answer_sessions *out, struct error *err)
{
	size_t first = 0, end;
	int r = 0;

	do {
		cleanup(free_at_exit) char *path = xasprintf("%s/%zu", dir, out->n);
		struct session *session;

		for (end = first;
		     end < a->rows.n && a->rows.data[end].host.n == a->rows.data[first].host.n;)
			end++;
		if (end == first && !a->leaves.n)
			break;
		r = answer_write_host(a, first_event, first, end, path, note, &session, err);
		if (r >= 0)
			vec_push(out, session);
		first = end;
	} while (r >= 0 && first < a->rows.n);
	return r;
}

int answer_write(const struct answer *a, const char *dir, const char *note, struct session **out,
		 struct error *err)
{
	struct answer_sessions sessions = { 0 };
	size_t event = 0;
	int r;

	/* A session on the disk has so many events at most. */
	do
		r = answer_write_events(a, event, dir, note, &sessions, err);
	while (r >= 0 && (event += SESSION_COUNTERS_MAX) < a->events.n);
	if (r >= 0 && sessions.n > 1) {
		r = session_join_to_read(sessions.data, (uint32_t)sessions.n, true, out, err);
		sessions.n = 0;
	} else if (r >= 0 && sessions.n) {
		*out = sessions.data[0];
		sessions.n = 0;
	}
	vec_foreach (&sessions, s)
		session_close(*s);
	vec_fini(&sessions);
	return r;
}
