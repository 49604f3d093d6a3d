/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfetto's trace: a PerfSample packet for every sample, which appears on its thread's track.
 *
 * Each event is its own packet sequence: the defaults of a sequence give its samples their event.
 * Interned data is valid for one sequence. A weight of several samples becomes as many packets with
 * one time.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/mappings.h"
#include "export/names.h"
#include "export/perfetto.pb-c.h"
#include "export/protobuf.h"
#include "export/tracks.h"
#include "store/session.h"

#define TRACE_PACKET 1 /* field of Trace */

/* trace_packet.proto, SequenceFlags; clock_snapshot.proto, BuiltinClocks. */
enum { INCREMENTAL_STATE_CLEARED = 1, NEEDS_INCREMENTAL_STATE = 2 };
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6 };

/* Fields of TracePacket and InternedData that are written piece by piece. */
enum { PACKET_SEQUENCE_ID = 10, PACKET_INTERNED_DATA = 12 };
enum {
	INTERNED_FUNCTION_NAME = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
};

/* 20 GB of packets: too much to open, and a damaged session may claim any number. */
#define MAX_SAMPLES 1000000000ULL

#define FIRST_SEQUENCE 2 /* 1 is for packets without an event */

struct perfetto {
	const struct export *x;
	struct sink *out;
	struct tracks tracks;
	struct mappings mappings;
	struct strings sources; /* of files; id 0 is none */
	struct buf piece;       /* of InternedData */
};

static void perfetto_put_packet(struct perfetto *w, const Perfetto__TracePacket *packet)
{
	protobuf_message(&w->out->buf, TRACE_PACKET, &packet->base);
	sink_step(w->out);
}

/* The trace's own clock, which all samples use, and the time of day on it. */
static void put_clocks(struct perfetto *w)
{
	const struct session_info *info = &w->x->profile->session->info;
	static const uint32_t ids[] = { CLOCK_ID_BOOTTIME, CLOCK_ID_MONOTONIC, CLOCK_ID_REALTIME };
	Perfetto__ClockSnapshot__Clock clocks[ARRAY_SIZE(ids)], *pointers[ARRAY_SIZE(ids)];
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		perfetto__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp =
			ids[i] == CLOCK_ID_REALTIME ? info->start_wall_ns : info->start_ns;
		pointers[i] = &clocks[i];
	}
	snapshot.clocks = pointers;
	snapshot.n_clocks = ARRAY_SIZE(ids);
	packet.clock_snapshot = &snapshot;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = 1;
	perfetto_put_packet(w, &packet);
}

static const char *comm_text(struct perfetto *w, const struct profile_process *of)
{
	return frame_text(w->x->frames, strings_get(&w->x->profile->comms, of->comm));
}

/* A tree with one process or thread; trees add up. */
static void perfetto_put_tree(struct perfetto *w, Perfetto__ProcessTree__Process *process,
			      Perfetto__ProcessTree__Thread *thread)
{
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	tree.processes = &process;
	tree.n_processes = process != NULL;
	tree.threads = &thread;
	tree.n_threads = thread != NULL;
	packet.process_tree = &tree;
	packet.has_trusted_packet_sequence_id = packet.has_timestamp = true;
	packet.trusted_packet_sequence_id = 1;
	packet.timestamp = w->x->profile->session->info.start_ns;
	perfetto_put_packet(w, &packet);
}

static void put_processes(struct perfetto *w)
{
	const struct profile *p = w->x->profile;

	vec_foreach (&p->processes, it) {
		Perfetto__ProcessTree__Process process = PERFETTO__PROCESS_TREE__PROCESS__INIT;
		char *name = (char *)comm_text(w, it);

		process.has_pid = true;
		process.pid = it->pid;
		process.cmdline = &name;
		process.n_cmdline = 1;
		perfetto_put_tree(w, &process, NULL);
	}
	vec_foreach (&p->threads, it) {
		Perfetto__ProcessTree__Thread thread = PERFETTO__PROCESS_TREE__THREAD__INIT;

		thread.has_tid = thread.has_tgid = true;
		thread.tid = it->tid;
		thread.tgid = it->pid;
		thread.name = (char *)comm_text(w, it);
		perfetto_put_tree(w, NULL, &thread);
	}
}

/* Writes the piece as a packet of the sequence. */
static void perfetto_put_piece(struct perfetto *w, uint32_t sequence)
{
	struct buf packet = { 0 };

	buf_uleb(&packet, PACKET_SEQUENCE_ID << 3);
	buf_uleb(&packet, sequence);
	protobuf_bytes(&packet, PACKET_INTERNED_DATA, w->piece.data, w->piece.len);
	protobuf_bytes(&w->out->buf, TRACE_PACKET, packet.data, packet.len);
	sink_step(w->out);
	w->piece.len = 0;
	buf_fini(&packet);
}

/* Packets stay small: the tables of a sequence come in many packets. */
static void perfetto_step_piece(struct perfetto *w, uint32_t sequence)
{
	if (w->piece.len >= SINK_BYTES / 4)
		perfetto_put_piece(w, sequence);
}

static void perfetto_intern(struct perfetto *w, uint32_t field, uint64_t iid, const void *bytes,
			    size_t size)
{
	Perfetto__InternedString s = PERFETTO__INTERNED_STRING__INIT;

	s.has_iid = s.has_str = true;
	s.iid = iid;
	s.str.data = (uint8_t *)bytes;
	s.str.len = size;
	protobuf_message(&w->piece, field, &s.base);
}

static void intern_text(struct perfetto *w, uint32_t field, uint64_t iid, const char *text)
{
	perfetto_intern(w, field, iid, text, strlen(text));
}

static void perfetto_put_mappings(struct perfetto *w, uint32_t sequence)
{
	vec_foreach (&w->mappings.list, it) {
		const struct build_id *id = &w->x->profile->images.data[it->image].image->build_id;
		Perfetto__Mapping m = PERFETTO__MAPPING__INIT;
		uint64_t iid = (uint64_t)(it - w->mappings.list.data) + 1;

		intern_text(w, INTERNED_PATH, iid, frame_image_path(w->x->frames, it->image));
		perfetto_intern(w, INTERNED_BUILD_ID, iid, id->bytes, id->len);
		m.has_iid = m.has_build_id = m.has_start = m.has_end = true;
		m.iid = m.build_id = iid;
		m.start = it->start;
		m.end = it->end;
		m.path_string_ids = &iid;
		m.n_path_string_ids = 1;
		protobuf_message(&w->piece, INTERNED_MAPPING, &m.base);
		perfetto_step_piece(w, sequence);
	}
}

/* A line of a place is a frame, so inlined functions have frames. */
static void perfetto_put_frames(struct perfetto *w, uint32_t sequence)
{
	const struct profile *p = w->x->profile;
	const struct code_lines *c = w->x->lines;

	for (uint32_t i = 0; i < p->places.n; i++) {
		uint32_t image = p->functions.data[p->places.data[i].function].image;
		const struct mapping *mapping = mapping_of(&w->mappings, image);

		for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++) {
			const struct code_line *line = &c->lines.data[k];
			Perfetto__Frame f = PERFETTO__FRAME__INIT;
			string_id source = { 0 };

			strings_find(&w->sources, c->functions.data[line->function].file, &source);
			f.has_iid = f.has_function_name_id = true;
			f.iid = k + 1;
			f.function_name_id = line->function + 1;
			f.has_mapping_id = f.has_rel_pc = mapping != NULL;
			f.mapping_id =
				mapping ? (uint64_t)(mapping - w->mappings.list.data) + 1 : 0;
			f.rel_pc = p->places.data[i].offset;
			f.has_source_path_iid = source.n != 0;
			f.source_path_iid = source.n;
			f.has_line_number = line->line != 0;
			f.line_number = line->line;
			protobuf_message(&w->piece, INTERNED_FRAME, &f.base);
		}
		perfetto_step_piece(w, sequence);
	}
}

static void put_callstacks(struct perfetto *w, uint32_t sequence)
{
	const struct profile *p = w->x->profile;
	struct line_chain chain = { 0 };
	VEC(uint64_t) frames = { 0 };

	for (uint32_t n = 1; n < p->nodes.n; n++) {
		Perfetto__Callstack stack = PERFETTO__CALLSTACK__INIT;

		if (n >= p->leaf_rows.n || !p->leaf_rows.data[n])
			continue;
		chain.n = frames.n = 0;
		code_lines_chain(w->x->lines, p, n, &chain);
		vec_foreach (&chain, line)
			vec_push(&frames, (uint64_t)*line + 1);
		stack.has_iid = true;
		stack.iid = n;
		stack.frame_ids = frames.data;
		stack.n_frame_ids = frames.n;
		protobuf_message(&w->piece, INTERNED_CALLSTACK, &stack.base);
		perfetto_step_piece(w, sequence);
	}
	vec_fini(&frames);
	free(chain.data);
}

static void put_interned(struct perfetto *w, uint32_t sequence)
{
	const struct code_lines *c = w->x->lines;

	for (uint32_t i = 1; i < w->sources.n; i++)
		intern_text(w, INTERNED_SOURCE, i, w->sources.text[i]);
	for (uint32_t i = 0; i < c->functions.n; i++) {
		intern_text(w, INTERNED_FUNCTION_NAME, i + 1, c->functions.data[i].name);
		perfetto_step_piece(w, sequence);
	}
	perfetto_put_mappings(w, sequence);
	perfetto_put_frames(w, sequence);
	put_callstacks(w, sequence);
	perfetto_put_piece(w, sequence);
}

static void perfetto_begin_sequence(struct perfetto *w, uint32_t counter)
{
	const struct counter_info *c = &w->x->profile->session->info.counters[counter];
	Perfetto__Timebase timebase = PERFETTO__TIMEBASE__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	timebase.name = (char *)frame_text(w->x->frames, c->name);
	timebase.has_period = c->count != 0;
	timebase.period = c->count;
	timebase.has_frequency = !c->count && c->freq_hz;
	timebase.frequency = c->freq_hz;
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.trusted_packet_sequence_id = FIRST_SEQUENCE + counter;
	packet.sequence_flags = INCREMENTAL_STATE_CLEARED;
	perfetto_put_packet(w, &packet);
	put_interned(w, FIRST_SEQUENCE + counter);
}

static uint32_t perfetto_mode_of(const struct profile *p, uint32_t node)
{
	static const uint32_t modes[] = { [CODE_UNKNOWN] = 0, [CODE_KERNEL] = 1, [CODE_USER] = 2 };

	return modes[profile_code_value(p, PROFILE_MODE, p->nodes.data[node].function)];
}

static void perfetto_put_sample(struct perfetto *w, const struct track *track,
				const struct profile_sample *of)
{
	const struct profile *p = w->x->profile;
	Perfetto__PerfSample sample = PERFETTO__PERF_SAMPLE__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	int32_t cpu = profile_cpu(p, of->group);

	sample.has_pid = sample.has_tid = true;
	sample.has_callstack_iid = sample.has_cpu_mode = true;
	sample.has_cpu = cpu >= 0;
	sample.cpu = (uint32_t)MAX(cpu, 0);
	sample.pid = (uint32_t)p->threads.data[track->thread].pid;
	sample.tid = (uint32_t)p->threads.data[track->thread].tid;
	sample.callstack_iid = of->node;
	sample.cpu_mode = perfetto_mode_of(p, of->node);
	packet.has_timestamp = packet.has_trusted_packet_sequence_id = true;
	packet.has_sequence_flags = true;
	packet.timestamp = of->time_ns;
	packet.trusted_packet_sequence_id = FIRST_SEQUENCE + track->counter;
	packet.sequence_flags = NEEDS_INCREMENTAL_STATE;
	packet.perf_sample = &sample;
	for (uint64_t i = 0; i < of->weight.samples && !sink_failed(w->out); i++)
		perfetto_put_packet(w, &packet);
}

static void find_sources(struct perfetto *w)
{
	vec_foreach (&w->x->lines->functions, f)
		strings_add(&w->sources, f->file);
}

static int perfetto_put_track(struct perfetto *w, const struct track *track, struct error *err)
{
	struct pile_reader reader;

	track_open(&w->tracks, track, &reader);
	while (!sink_failed(w->out) && pile_next(&reader))
		perfetto_put_sample(w, track, &reader.sample);
	return pile_close(&reader, err);
}

static int perfetto_write_perfetto(const struct export *x, struct sink *out, struct error *err)
{
	struct perfetto w = { .x = x, .out = out };
	uint32_t counter = NO_INDEX;
	int r;

	if (x->profile->n_selected > MAX_SAMPLES)
		return error_set(err, -EFBIG,
				 "%" PRIu64 " samples are too many for a format that has a packet "
				 "for each; choose some with filters",
				 x->profile->n_selected);
	r = tracks_init(&w.tracks, x->profile, err);
	mappings_init(&w.mappings, x->profile);
	strings_init(&w.sources);
	find_sources(&w);
	put_clocks(&w);
	put_processes(&w);
	vec_foreach (&w.tracks.list, track) { /* event by event */
		if (track->counter != counter)
			perfetto_begin_sequence(&w, counter = track->counter);
		r = r < 0 ? r : perfetto_put_track(&w, track, err);
	}
	buf_fini(&w.piece);
	strings_fini(&w.sources);
	mappings_fini(&w.mappings);
	tracks_fini(&w.tracks);
	return r;
}

const struct export_ops export_perfetto = {
	.target = EXPORT_STREAM,
	.is_binary = true,
	.keys = { .key = { PROFILE_PROCESS, PROFILE_THREAD, PROFILE_CPU, PROFILE_EVENT }, .n = 4 },
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.with_samples = true,
	.write = perfetto_write_perfetto,
};
