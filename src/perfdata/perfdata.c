/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/reserve.h"
#include "perfdata/attr.h"
#include "perfdata/state.h"
#include "perfdata/swap.h"

/* Memory that was read is given back in steps of this size. */
#define CONSUMED_STEP ((uint64_t)1 << 20)

struct reading {
	struct perfdata *p;
	struct event_sink *sink;
	struct stream *streams;
	uint64_t *round_off; /* by stream: the end of the last round */
	uint64_t *done_off;  /* by stream: the end of the round before; all records up to there were
				delivered */
	uint64_t *reported_off; /* by stream: reported to `consumed` up to here */
	uint64_t delivered_ns;

	struct perfdata_part part;
	bool is_before;               /* the part has not begun: */
	bool is_entering, is_leaving; /* or: in the round after its seam, */
	bool has_left;                /* which is over */
	uint64_t enter_ns, leave_ns;  /* records up to this time belong to the part before */
	bool is_known;                /* the part before has delivered the current record */
};

/* Opening. */

static bool read_magic(const void *bytes, size_t size, uint64_t *out)
{
	if (size < sizeof(*out))
		return false;
	memcpy(out, bytes, sizeof(*out));
	return true;
}

bool perfdata_has_magic(const void *bytes, size_t size)
{
	uint64_t magic;

	return read_magic(bytes, size, &magic) &&
	       (magic == PERFDATA_MAGIC || __builtin_bswap64(magic) == PERFDATA_MAGIC ||
		magic == PERFDATA_MAGIC_V1 || __builtin_bswap64(magic) == PERFDATA_MAGIC_V1);
}

static int check_magic(struct perfdata *p, struct error *err)
{
	uint64_t magic;

	if (!read_magic(p->files[0].base, p->files[0].size, &magic))
		return error_set(err, -EINVAL, "it has only %zu bytes", p->files[0].size);
	p->is_foreign = __builtin_bswap64(magic) == PERFDATA_MAGIC;
	p->info.is_foreign = p->is_foreign;
	if (magic == PERFDATA_MAGIC || p->is_foreign)
		return 0;
	if (magic == PERFDATA_MAGIC_V1 || __builtin_bswap64(magic) == PERFDATA_MAGIC_V1)
		return error_set(
			err, -ENOTSUP,
			"it is in the first perf.data format (PERFFILE, before Linux 3.3), "
			"which is not read");
	return error_set(err, -EINVAL,
			 "it is in no format that assay reads: perf.data begins with PERFILE2; "
			 "assay-import(1) lists the others");
}

/* Reads the records of a pipe that replace a file's header; samples are stepped over. */
static void scan_pipe(struct perfdata *p)
{
	struct raw_record r;
	struct stream s;

	stream_init(&s, p->files[0].base, p->data_off, p->data_end, p->is_foreign);
	s.is_scan = true;
	while (stream_next(&s, &r))
		if (r.type >= USER_RECORD_FIRST)
			meta_read(p, 0, &r);
	stream_fini(&s);
}

static int perfdata_open_files(struct perfdata *p, struct error *err)
{
	int r = check_magic(p, err);

	if (r < 0 || (r = header_read(p, err)) < 0)
		return r;
	if (p->info.is_pipe)
		scan_pipe(p);
	return counters_finish(p, err);
}

int perfdata_open(const struct perfdata_bytes *files, size_t n, struct perfdata **out,
		  struct error *err)
{
	cleanup(perfdata_free_at_exit) struct perfdata *p = xcalloc(1, sizeof(*p));
	int r;

	p->arena = arena_new();
	p->files = xcalloc(n, sizeof(*files));
	memcpy(p->files, files, n * sizeof(*files));
	p->n_files = n;
	strings_init(&p->build_id_files);
	p->info.hostname = p->info.os_release = p->info.version = p->info.arch = "";
	p->info.cpu_desc = p->info.cpu_id = p->info.command = "";
	r = perfdata_open_files(p, err);
	if (r < 0)
		return r;
	*out = take_ptr(p);
	return 0;
}

void perfdata_free(struct perfdata *p)
{
	if (!p)
		return;
	vec_fini(&p->info.counters);
	vec_fini(&p->info.sections);
	vec_fini(&p->info.tracepoints);
	vec_fini(&p->stats.aux);
	vec_fini(&p->formats);
	vec_fini(&p->values);
	vec_fini(&p->build_ids);
	vec_fini(&p->guests);
	vec_fini(&p->guest_texts);
	deferred_fini(&p->deferred);
	intmap_fini(&p->guest_by_id);
	vec_fini(&p->pmus);
	intmap_fini(&p->by_id);
	intmap_fini(&p->by_tracepoint);
	intmap_fini(&p->last_values);
	intmap_fini(&p->last_thread_values);
	strings_fini(&p->build_id_files);
	arena_free(p->arena);
	free(p->fixed_periods);
	free(p->time_offs);
	free(p->swap_room);
	free(p->files);
	free(p);
}

const struct perfdata_info *perfdata_info(const struct perfdata *p)
{
	return &p->info;
}

size_t perfdata_n_files(const struct perfdata *p)
{
	return p->n_files;
}

const struct error *perfdata_damage(const struct perfdata *p)
{
	return &p->damage;
}

const struct perfdata_stats *perfdata_stats(const struct perfdata *p)
{
	return &p->stats;
}

void perfdata_on_consumed(struct perfdata *p, perfdata_consumed consumed, void *context)
{
	p->consumed = consumed;
	p->consumed_context = context;
}

/* The event of a record. */

uint64_t perfdata_word_at(const struct perfdata *p, const uint8_t *bytes, size_t off)
{
	uint64_t v;

	memcpy(&v, bytes + off, sizeof(v));
	return p->is_foreign ? __builtin_bswap64(v) : v;
}

/*
 * perf's synthesized records (mappings and names of running processes) have the id 0 and the first
 * event's layout. NULL: no event has the id.
 */
const struct record_format *record_format_of(const struct perfdata *p, const uint8_t *bytes,
					     uint32_t type, size_t size)
{
	const struct record_format *first = &p->formats.data[0];
	size_t header = sizeof(struct perf_event_header), off;
	uint32_t *counter;
	uint64_t id;

	if (type == PERF_RECORD_SAMPLE) {
		if (p->id_word < 0)
			return first;
		off = header + 8 * (size_t)p->id_word;
		if (off + 8 > size)
			return first;
	} else {
		off = 8 * (size_t)p->id_word_from_end;
		if (!off || header + off > size)
			return first;
		off = size - off;
	}
	id = perfdata_word_at(p, bytes, off);
	if (!id)
		return first;
	counter = intmap_find(&p->by_id, id);
	if (counter)
		return &p->formats.data[*counter];
	return type == PERF_RECORD_SAMPLE ? NULL : first;
}

/* The record in our byte order: itself, or a copy that is valid until the next call. */
const uint8_t *record_in_our_order(struct perfdata *p, const struct record_format *f,
				   const uint8_t *bytes, size_t size)
{
	if (!p->is_foreign)
		return bytes;
	if (!p->swap_room)
		p->swap_room = xmalloc(UINT16_MAX + 1);
	memcpy(p->swap_room, bytes, size);
	record_swap(f, (uint8_t *)p->swap_room, size);
	return (const uint8_t *)p->swap_room;
}

/* Delivering. */

static uint32_t value_slot(struct perfdata *p, struct intmap *slots, uint64_t key)
{
	bool is_new;
	uint32_t *slot = intmap_put(slots, key, &is_new);

	if (is_new) {
		*slot = (uint32_t)p->values.n;
		vec_push(&p->values, 0);
	}
	return *slot;
}

/* The counter value of this id at its last sample. */
static uint64_t *last_value(struct perfdata *p, const struct record_format *f, uint64_t id,
			    int32_t tid)
{
	uint32_t slot = value_slot(p, &p->last_values, id);

	if (f->has_values_by_thread)
		slot = value_slot(p, &p->last_thread_values, (uint64_t)slot << 32 | (uint32_t)tid);
	return &p->values.data[slot];
}

/*
 * A sample of a group's leader gives a sample to each member, as in perf. Its period is the
 * member's count since the last sample; a member that counted nothing gets no sample.
 */
static int deliver_values(struct reading *g, const struct record_format *f, struct event *e)
{
	const struct sample_extra *x = e->sample.extra;
	struct perfdata *p = g->p;

	for (uint32_t i = 0; i < x->n_values; i++) {
		uint32_t *counter = intmap_find(&p->by_id, x->values[i].id);
		uint64_t *last;
		int r;

		if (!counter) {
			p->stats.unknown_ids++;
			continue;
		}
		last = last_value(p, f, x->values[i].id, e->tid);
		e->sample.counter = *counter;
		e->sample.period = x->values[i].value - *last;
		*last = x->values[i].value;
		if (!e->sample.period)
			continue;
		p->stats.samples++;
		r = event_push(g->sink, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int deliver_sample(struct reading *g, const struct record_format *f, struct event *e)
{
	if (f->sample_type & PERF_SAMPLE_READ && f->read_format & PERF_FORMAT_ID)
		return deliver_values(g, f, e);
	g->p->stats.samples++;
	return event_push(g->sink, e);
}

/* Mappings of a guest that no id names are in none of our address spaces. */
static bool is_guests_mapping(const struct perfdata *p, const uint8_t *bytes, uint32_t type)
{
	uint16_t mode;

	if (type != PERF_RECORD_MMAP && type != PERF_RECORD_MMAP2)
		return false;
	mode = order_header(bytes, p->is_foreign).misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
}

/* Delivers a sample that waited for its user part. NULL: the part does not come. */
static int deliver_held(struct reading *g, struct held_sample *held,
			const struct deferred_chain *chain)
{
	cleanup(free_at_exit) struct held_sample *s = held;
	struct perfdata *p = g->p;
	bool is_foreign = p->is_foreign, is_good;
	const struct record_format *f;
	struct event e;

	p->is_foreign = false; /* it is in our order */
	f = record_format_of(p, s->record, PERF_RECORD_SAMPLE, s->size);
	is_good = record_decode(f, s->record, s->size, 0, &p->scratch, &e) == RECORD_OK;
	if (is_good) {
		if (chain)
			record_add_chain(f, chain, &p->scratch, &e);
		e.sample.chain_cut |= !chain;
		guests_add_to_sample(p, guests_find(p, s->record, PERF_RECORD_SAMPLE, s->size), &e);
	}
	p->is_foreign = is_foreign;
	return is_good ? deliver_sample(g, f, &e) : 0;
}

/* A thread has one cookie at a time, so the record of an older one does not come any more. */
static int deliver_held_of(struct reading *g, int32_t tid, const struct deferred_chain *chain)
{
	struct held_sample *s;
	int r = 0;

	while (r >= 0 && g->p->deferred.first && (s = deferred_take(&g->p->deferred, tid)))
		r = deliver_held(g, s, chain && s->cookie == chain->cookie ? chain : NULL);
	return r;
}

static int deliver_deferred(struct reading *g, const struct record_format *f, const uint8_t *record,
			    size_t size, const struct perfdata_guest *guest)
{
	struct deferred_chain chain;

	if (record_deferred_chain(f, record, size, &chain))
		return deliver_held_of(g, guests_number(guest, chain.tid), &chain);
	g->p->stats.bad_records++;
	return 0;
}

static int hold_sample(struct reading *g, const uint8_t *record, size_t size, int32_t tid,
		       const struct event *e)
{
	struct deferred *d = &g->p->deferred;
	struct held_sample *s;
	int r = 0;

	deferred_hold(d, tid, e->sample.chain_cookie, record, size);
	while (r >= 0 && (s = deferred_give_up(d, false)))
		r = deliver_held(g, s, NULL);
	return r;
}

static int deliver_record(struct reading *g, const struct record_format *f, const uint8_t *bytes,
			  uint32_t type, size_t size)
{
	struct perfdata *p = g->p;
	const struct perfdata_guest *guest = guests_find(p, bytes, type, size);
	const uint8_t *record;
	struct event e;
	int r = 0;

	bool is_guests = guest || is_guests_mapping(p, bytes, type);

	if (type == USER_AUXTRACE_ERROR)
		return trace_error_push(p, bytes, size, g->sink);
	record = record_in_our_order(p, f, bytes, size);
	if (type == RECORD_CALLCHAIN_DEFERRED)
		return deliver_deferred(g, f, record, size, guest);
	switch (record_decode(f, record, size, 0, &p->scratch, &e)) {
	case RECORD_SKIPPED:
		return 0;
	case RECORD_BAD:
		p->stats.bad_records += !g->is_known;
		return 0;
	default:
		break;
	}
	if (e.type == EVENT_SAMPLE && e.sample.chain_cookie)
		return hold_sample(g, record, size, guests_number(guest, e.tid), &e);
	if (e.type == EVENT_SAMPLE) {
		guests_add_to_sample(p, guest, &e);
		return deliver_sample(g, f, &e);
	}
	if (is_guests && e.type == EVENT_MAPPING)
		guests_note_kernel(p, guest, &e);
	if (is_guests && (!guest || !guests_translate(guest, &e)))
		return 0;
	if (e.type == EVENT_EXIT) /* its number may come again, and its process is forgotten */
		r = deliver_held_of(g, e.tid, NULL);
	if (e.type == EVENT_MAPPING && !e.mapping.build_id.len && p->build_ids.n) {
		const struct build_id *id = build_id_of_mapping(p, &e.mapping);

		if (id)
			e.mapping.build_id = *id;
	}
	p->guest_now = guest;
	r = r < 0 ? r : event_push(g->sink, &e);
	p->guest_now = NULL;
	return r;
}

static int deliver_queued(struct reading *g, const struct queued *q)
{
	struct perf_event_header h = order_header(q->bytes, g->p->is_foreign);

	if (reserve_check() < 0)
		return -ENOMEM;
	g->is_known = q->is_known;
	g->p->stats.late += q->time_ns < g->delivered_ns && !q->is_known;
	g->delivered_ns = MAX(g->delivered_ns, q->time_ns);
	return deliver_record(g, &g->p->formats.data[q->format], q->bytes, h.type, h.size);
}

/*
 * Parts. At the end of a round, all records up to the latest time of the round before are
 * delivered. There, two parts can meet without knowledge of each other.
 *
 *	bytes    ... round │ round │ round ...
 *	          seam ────┘       └── here all records older than the seam were delivered
 *
 * The seam is the first end of a round behind the requested place. Both parts read the round behind
 * the seam. Records later than all before the seam belong to the second part.
 */

/* Each part needs these from the beginning of the file: threads, cgroups and mappings. */
static bool is_side_band(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_TEXT_POKE:
		return true;
	default:
		return false;
	}
}

enum owner { OF_PART_BEFORE, OF_THIS_PART, OF_PART_AFTER };

/*
 * A record without a time (0) is delivered in its place: before the records that the end of its
 * round releases.
 */
static enum owner part_owner(const struct reading *g, uint64_t time_ns)
{
	if (g->is_before || (g->is_entering && time_ns <= g->enter_ns))
		return OF_PART_BEFORE;
	if (g->is_leaving && time_ns > g->leave_ns)
		return OF_PART_AFTER;
	return OF_THIS_PART;
}

static void pass_seams(struct reading *g, const struct stream *s)
{
	g->has_left = g->is_leaving;
	g->is_entering = g->is_before && s->at >= g->part.from_off;
	if (g->is_entering) {
		g->is_before = false;
		g->enter_ns = s->latest_ns;
		g->delivered_ns = MAX(g->delivered_ns, g->enter_ns);
	}
	if (s->at >= g->part.until_off) {
		g->is_leaving = true;
		g->leave_ns = s->latest_ns;
	}
}

/* Reading. */

static void end_round(struct reading *g, uint32_t file)
{
	struct stream *s = &g->streams[file];

	stream_end_round(s);
	if (g->p->consumed && g->done_off[file] - g->reported_off[file] >= CONSUMED_STEP) {
		g->p->consumed(g->p->consumed_context, file, g->reported_off[file],
			       g->done_off[file]);
		g->reported_off[file] = g->done_off[file];
	}
	g->done_off[file] = g->round_off[file];
	g->round_off[file] = s->at;
	pass_seams(g, s);
}

static void read_user_record(struct reading *g, uint32_t file, const struct raw_record *r)
{
	if (r->type == USER_FINISHED_ROUND)
		end_round(g, file);
	else if (!g->p->info.is_pipe)
		meta_read(g->p, file, r);
	if (r->type > USER_SCHEDSTAT_DOMAIN) {
		g->p->stats.unknown_types++;
		g->p->stats.an_unknown_type = r->type;
	}
}

uint64_t record_time_of(struct perfdata *p, const struct record_format *f,
			const struct raw_record *r)
{
	uint32_t off;

	if (r->type != PERF_RECORD_SAMPLE)
		return record_time(f, record_in_our_order(p, f, r->bytes, r->size), r->size);
	off = p->time_offs[f->counter];
	return off && off + 8 <= r->size ? perfdata_word_at(p, r->bytes, off) : 0;
}

/* One record: queued, or delivered at once if it has no time. */
static int perfdata_add_record(struct reading *g, uint32_t file, const struct raw_record *r)
{
	struct perfdata *p = g->p;
	struct stream *s = &g->streams[file];
	const struct record_format *f;
	bool is_error = r->type == USER_AUXTRACE_ERROR && p->formats.n;
	enum owner owner;
	uint64_t time_ns;

	p->stats.records++;
	if (r->type >= USER_RECORD_FIRST && !is_error) {
		read_user_record(g, file, r);
		return 0;
	}
	if (!r->type || (r->type > RECORD_CALLCHAIN_DEFERRED && !is_error)) {
		p->stats.unknown_types++;
		p->stats.an_unknown_type = r->type;
		return 0;
	}
	f = is_error ? p->formats.data : record_format_of(p, r->bytes, r->type, r->size);
	time_ns = is_error ? trace_error_time(p, r->bytes, r->size)
		  : f      ? record_time_of(p, f, r)
			   : 0;
	if (time_ns == UINT64_MAX)
		time_ns = 0;
	s->latest_ns = MAX(s->latest_ns, time_ns);
	owner = part_owner(g, time_ns);
	if (owner == OF_PART_AFTER || (owner == OF_PART_BEFORE && !is_side_band(r->type)))
		return 0;
	if (!f) {
		p->stats.unknown_ids++;
		return 0;
	}
	g->is_known = owner == OF_PART_BEFORE;
	if (!time_ns)
		return deliver_record(g, f, r->bytes, r->type, r->size);
	stream_queue(s, (struct queued){ .time_ns = time_ns,
					 .bytes = r->bytes,
					 .format = f->counter,
					 .is_known = g->is_known });
	if (stream_is_full(s))
		stream_relieve(s);
	return 0;
}

/* Reads on until a record is ready, or to the end. */
static int perfdata_fill(struct reading *g, uint32_t file)
{
	struct stream *s = &g->streams[file];
	struct raw_record r;
	int e = 0;

	while (!e && !stream_ready(s) && !g->has_left) {
		if (!stream_next(s, &r)) {
			stream_end(s);
			break;
		}
		e = perfdata_add_record(g, file, &r);
	}
	return e;
}

/* The stream with the earliest next record; NULL at the end of all. */
static struct stream *perfdata_earliest(struct reading *g)
{
	struct stream *best = NULL;

	for (size_t i = 0; i < g->p->n_files; i++) {
		const struct queued *q = stream_ready(&g->streams[i]);

		if (q && (!best || q->time_ns < stream_ready(best)->time_ns))
			best = &g->streams[i];
	}
	return best;
}

static int perfdata_read_all(struct reading *g)
{
	size_t n = g->p->n_files;
	struct held_sample *held;
	struct stream *s;
	int r = 0;

	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = perfdata_fill(g, i);
	while (r >= 0 && (s = perfdata_earliest(g))) {
		r = deliver_queued(g, stream_ready(s));
		stream_drop(s);
		if (r >= 0 && !stream_ready(s))
			r = perfdata_fill(g, (uint32_t)(s - g->streams));
	}
	while (r >= 0 && (held = deferred_give_up(&g->p->deferred, true)))
		r = deliver_held(g, held, NULL);
	return r;
}

static void open_streams(struct reading *g)
{
	struct perfdata *p = g->p;

	for (size_t i = 0; i < p->n_files; i++) {
		uint64_t at = i ? 0 : p->data_off, end = i ? p->files[i].size : p->data_end;

		stream_init(&g->streams[i], p->files[i].base, at, end, p->is_foreign);
		g->streams[i].name = p->n_files > 1 ? p->files[i].name : NULL;
		g->round_off[i] = g->done_off[i] = g->reported_off[i] = at;
	}
}

static int first_damage(const struct reading *g, struct error *err)
{
	const struct perfdata *p = g->p;
	const struct error *found = p->damage.code ? &p->damage : NULL;

	for (size_t i = 0; i < p->n_files && !found; i++)
		if (g->streams[i].error.code)
			found = &g->streams[i].error;
	if (!found)
		return 0;
	if (err)
		*err = *found;
	return found->code;
}

bool perfdata_has_parts(const struct perfdata *p)
{
	if (p->n_files != 1)
		return false;
	/* a group's values are sums since the beginning */
	vec_foreach (&p->formats, f)
		if (f->sample_type & PERF_SAMPLE_READ)
			return false;
	/* a chain's user part may be behind the seam */
	vec_foreach (&p->info.counters, c)
		if (attr_defers_chains(&c->attr))
			return false;
	return true;
}

void perfdata_data_range(const struct perfdata *p, uint64_t *start_off, uint64_t *end_off)
{
	*start_off = p->data_off;
	*end_off = p->data_end;
}

int perfdata_read(struct perfdata *p, struct event_sink *sink, struct error *err)
{
	return perfdata_read_part(p, &(struct perfdata_part)PERFDATA_WHOLE, sink, err);
}

int perfdata_read_part(struct perfdata *p, const struct perfdata_part *part,
		       struct event_sink *sink, struct error *err)
{
	struct reading g = { .p = p, .sink = sink, .part = *part, .is_before = part->from_off > 0 };
	int r;

	g.streams = xcalloc(p->n_files, sizeof(*g.streams));
	g.round_off = xcalloc(p->n_files, sizeof(*g.round_off));
	g.done_off = xcalloc(p->n_files, sizeof(*g.done_off));
	g.reported_off = xcalloc(p->n_files, sizeof(*g.reported_off));
	open_streams(&g);
	r = perfdata_read_all(&g);
	if (r >= 0)
		r = first_damage(&g, err);
	for (size_t i = 0; i < p->n_files; i++) {
		p->stats.text_bytes += g.streams[i].n_text;
		p->stats.bytes += g.streams[i].at - (i ? 0 : p->data_off);
		stream_fini(&g.streams[i]);
	}
	free(g.streams);
	free(g.round_off);
	free(g.done_off);
	free(g.reported_off);
	return r;
}
