/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const struct replay_file *file_of(struct replay *r, const char *path)
{
	struct replay_file *file = r->files;

	for (; file < r->files + r->n_files; file++)
		if (strcmp(file->path, path) == 0)
			return file;
	if (r->n_files == ARRAY_SIZE(r->files)) {
		fprintf(stderr, "replay: more than %zu files\n", ARRAY_SIZE(r->files));
		exit(1);
	}
	r->n_files++;
	file->path = xstrdup(path);
	file_map(path, &file->bytes, NULL);
	return file;
}

struct collector {
	struct event_sink sink;
	struct replay *replay;
};

static int collect(struct event_sink *sink, const struct event *e)
{
	struct replay *r = ((struct collector *)sink)->replay;
	struct replay_change c = { .time_ns = e->time_ns, .pid = e->pid };

	if (e->type == EVENT_ITRACE_START) {
		vec_push(&r->threads, ((struct replay_thread){ e->pid, e->tid }));
	} else if (e->type == EVENT_MAPPING) {
		c.map = (struct replay_mapping){ e->mapping.start,
						 e->mapping.start + e->mapping.size,
						 e->mapping.file_off, file_of(r, e->mapping.path) };
		vec_push(&r->changes, c);
	} else if (e->type == EVENT_FORK && e->pid != e->fork.ppid) {
		c.ppid = e->fork.ppid;
		vec_push(&r->changes, c);
	} else if (e->type == EVENT_COMM && e->comm.is_exec) {
		c.is_exec = true;
		vec_push(&r->changes, c);
	}
	return 0;
}

static struct replay_process *process(struct replay *r, int32_t pid)
{
	struct replay_process *new;

	vec_foreach (&r->processes, p)
		if (p->pid == pid)
			return p;
	new = vec_add(&r->processes);
	new->pid = pid;
	return new;
}

static void apply(struct replay *r, const struct replay_change *c)
{
	struct replay_process *p = process(r, c->pid);

	if (c->pid == r->pid && r->code)
		pt_code_forget(r->code);
	if (c->is_exec) {
		p->maps.n = 0;
	} else if (c->ppid) {
		struct replay_process *parent = process(r, c->ppid);

		p = process(r, c->pid);
		p->maps.n = 0;
		vec_foreach (&parent->maps, m)
			vec_push(&p->maps, *m);
	} else {
		vec_push(&p->maps, c->map);
	}
}

static uint64_t side_band(void *context, uint64_t tsc)
{
	struct replay *r = context;
	uint64_t now = pt_time_ns(&r->clock, tsc);

	for (; r->n_applied < r->changes.n; r->n_applied++) {
		const struct replay_change *c = &r->changes.data[r->n_applied];

		if (c->time_ns > now)
			break;
		apply(r, c);
	}
	return tsc + 1;
}

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	struct replay_process *p = process(context, (int32_t)space);

	for (size_t i = p->maps.n; i > 0; i--) {
		const struct replay_mapping *m = &p->maps.data[i - 1];
		uint64_t off;

		if (addr < m->start || addr >= m->end)
			continue;
		off = addr - m->start + m->file_off;
		if (off >= m->file->bytes.size)
			return 0;
		size = MIN(size, MIN(m->end - addr, m->file->bytes.size - off));
		memcpy(out, m->file->bytes.base + off, size);
		return size;
	}
	return 0;
}

static void read_clock(struct replay *r)
{
	const struct perfdata_info *info = perfdata_info(r->perfdata);
	uint64_t words[17] = { 0 };

	if (info->aux_type != 1 || info->aux_private_size < sizeof(words)) {
		fprintf(stderr, "replay: no Intel PT in there\n");
		exit(1);
	}
	memcpy(words, info->aux_private, sizeof(words));
	r->clock = (struct pt_clock){ .time_shift = (uint16_t)words[1],
				      .time_mult = (uint32_t)words[2],
				      .time_zero = words[3],
				      .ctc_numerator = (uint32_t)words[12],
				      .ctc_denominator = (uint32_t)words[13],
				      .max_ratio = (uint32_t)words[15] };
	vec_foreach (&info->counters, c)
		if (c->attr.type == words[0]) {
			r->has_tsc = c->attr.config & words[5];
			if (words[11])
				r->clock.mtc_shift = (uint32_t)((c->attr.config & words[11]) >>
								__builtin_ctzll(words[11]));
		}
}

void replay_open(struct replay *r, const char *path)
{
	struct perfdata_bytes file = { .name = path };
	struct collector collector = { .sink.push = collect, .replay = r };
	struct error err = { 0 };

	*r = (struct replay){ 0 };
	if (file_map(path, &r->bytes, &err) == 0) {
		file.base = r->bytes.base;
		file.size = r->bytes.size;
		if (perfdata_open(&file, 1, &r->perfdata, &err) == 0 &&
		    perfdata_read(r->perfdata, &collector.sink, &err) == 0) {
			read_clock(r);
			return;
		}
	}
	fprintf(stderr, "replay: %s: %s\n", path, err.text);
	exit(1);
}

void replay_close(struct replay *r)
{
	for (size_t i = 0; i < r->n_files; i++) {
		file_unmap(&r->files[i].bytes);
		free(r->files[i].path);
	}
	vec_foreach (&r->processes, p)
		vec_fini(&p->maps);
	vec_fini(&r->processes);
	vec_fini(&r->changes);
	vec_fini(&r->threads);
	pt_code_free(r->code);
	perfdata_free(r->perfdata);
	file_unmap(&r->bytes);
}

static int32_t pid_of(struct replay *r, int32_t tid)
{
	vec_foreach (&r->threads, t)
		if (t->tid == tid)
			return t->pid;
	return tid;
}

static void forward(void *context, const struct pt_event *events, size_t n)
{
	struct replay *r = context;

	if (r->events)
		r->events(r->context, events, n);
}

/* Back to the beginning of time: with a clock, mappings come and go while a buffer is decoded. */
static void rewind_code(struct replay *r, int32_t pid, bool all_branches)
{
	struct pt_memory memory = { read_code, r };

	if (r->code && r->pid == pid && !r->has_tsc && r->code->all_branches == all_branches)
		return;
	pt_code_free(r->code);
	r->code = NULL;
	vec_foreach (&r->processes, p)
		p->maps.n = 0;
	r->n_applied = 0;
	r->pid = pid;
	if (!r->has_tsc)
		side_band(r, UINT64_MAX);
	r->code = pt_code_new(&memory, (uint32_t)pid, 64, all_branches);
}

void replay_decode(struct replay *r, const struct perfdata_aux *aux, bool all_branches,
		   void (*events)(void *context, const struct pt_event *events, size_t n),
		   void *context, struct pt_flow_stats *stats)
{
	struct pt_flow_config config = { .clock = r->clock,
					 .events = forward,
					 .side_band = r->has_tsc ? side_band : NULL,
					 .context = r };
	struct pt_flow *flow;

	rewind_code(r, pid_of(r, aux->tid), all_branches);
	r->events = events;
	r->context = context;
	flow = pt_flow_new(&config, r->code);
	pt_flow_feed(flow, perfdata_aux_bytes(r->perfdata, aux), aux->size_bytes);
	*stats = *pt_flow_stats(flow);
	pt_flow_free(flow);
}
