/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/replay_script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/files/file.h"
#include "foreign/script_branches.h"
#include "foreign/sniff.h"
#include "perfdata/writer.h"
#include "replay/replay.h"

#define MISPREDICTED 1 /* of perf_branch_entry's flags … */
#define PREDICTED    2

struct making {
	struct script_branches_sink sink; /* first: the sink is also this */
	struct buf file;
	struct buf path; /* NUL-terminated */
	struct branch branches[SCRIPT_MAX_BRANCHES];
	uint64_t n_mappings, n_samples;
};

static const struct perf_event_attr attr = {
	.type = PERF_TYPE_HARDWARE,
	.size = sizeof(attr),
	.config = PERF_COUNT_HW_CPU_CYCLES,
	.sample_period = 1,
	.sample_type =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK,
	.sample_id_all = 1,
};

static void replay_script_put_mapping(struct script_branches_sink *sink,
				      const struct script_mapping *m)
{
	struct making *w = (struct making *)sink;
	struct event e = {
		.type = EVENT_MAPPING, .pid = m->pid, .tid = m->tid, .time_ns = m->time_ns
	};

	w->path.len = 0;
	buf_bytes(&w->path, m->path.at, m->path.len);
	e.mapping = (struct mapping_event){ .start = m->start,
					    .size = m->size,
					    .file_off = m->file_off,
					    .path = buf_cstr(&w->path),
					    .is_kernel = m->pid < 0,
					    .is_executable = true };
	w->n_mappings += writer_record(&attr, &e, &w->file);
}

static void put_sample(struct script_branches_sink *sink, const struct script_sample *s)
{
	struct making *w = (struct making *)sink;
	struct sample_extra extra = { .branches = w->branches, .n_branches = s->n_branches };
	struct event e = {
		.type = EVENT_SAMPLE, .pid = s->pid, .tid = s->tid, .time_ns = s->time_ns
	};

	for (uint32_t i = 0; i < s->n_branches; i++) {
		const struct script_branch *b = &s->branches[i];

		w->branches[i] = (struct branch){ b->from, b->to,
						  b->is_mispredicted ? MISPREDICTED : PREDICTED };
	}
	e.sample = (struct sample_event){ .mode = s->ip >> 63 ? MODE_KERNEL : MODE_USER,
					  .ip = s->ip,
					  .period = 1,
					  .extra = &extra };
	w->n_samples += writer_sample(&attr, 0, &e, &w->file);
}

static int make_file(struct making *w, const struct file_mapping *text, const char *path,
		     struct error *err)
{
	struct slice all = { (const char *)text->base, text->size };
	struct writer_event event = { .attr = attr, .name = "cycles" };
	uint64_t n_named;

	writer_head(&event, 1, &w->file);
	n_named = script_branches_read(all, &w->sink);
	if (!w->n_samples && n_named)
		return error_set(err, -ENODATA,
				 "%s: its branches have names and no addresses: make it with perf "
				 "script's field brstack instead of brstacksym",
				 path);
	if (!w->n_samples)
		return error_set(err, -ENODATA,
				 "%s: there are no branch stacks in it: make it with 'perf script "
				 "--show-mmap-events -F comm,pid,tid,time,event,ip,dso,brstack'",
				 path);
	if (!w->n_mappings)
		return error_set(
			err, -ENODATA,
			"%s: it has no places of branches in files: make it with perf script's "
			"--show-mmap-events",
			path);
	return 0;
}

/* Writes the header, which has the end of the records. */
static void finish_file(struct making *w)
{
	struct writer_event event = { .attr = attr, .name = "cycles" };
	struct writer_sections sections = { 0 };
	struct buf tail = { 0 }, header = { 0 };

	writer_tail(&event, 1, &sections, w->file.len, &tail, &header);
	memcpy(w->file.data, header.data, header.len);
	buf_bytes(&w->file, tail.data, tail.len);
	writer_sections_fini(&sections);
	buf_fini(&tail);
	buf_fini(&header);
}

static int open_made(const struct buf *file, const char *path, struct replay **out,
		     struct error *err)
{
	struct file_mapping map = { .size = file->len };
	void *at =
		mmap(NULL, file->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return error_set(err, -errno, "%s: no memory for its branches: %s", path,
				 strerror(errno));
	memcpy(at, file->data, file->len);
	map.base = at;
	return replay_open_mapped(path, &map, out, err);
}

bool replay_is_script(const char *path)
{
	struct file_mapping text;
	bool is_script;

	if (!strcmp(path, "-") || file_map(path, &text, NULL) < 0)
		return false;
	is_script = foreign_sniff(text.base, text.size, true) == FOREIGN_PERF_SCRIPT;
	file_unmap(&text);
	return is_script;
}

int replay_open_script(const char *path, struct replay **out, struct error *err)
{
	cleanup(free_at_exit) struct making *w = xcalloc(1, sizeof(*w));
	struct file_mapping text;
	int r = file_map(path, &text, err);

	if (r < 0)
		return r;
	w->sink = (struct script_branches_sink){ replay_script_put_mapping, put_sample };
	r = make_file(w, &text, path, err);
	file_unmap(&text);
	if (r >= 0)
		finish_file(w);
	if (r >= 0)
		r = open_made(&w->file, path, out, err);
	buf_fini(&w->file);
	buf_fini(&w->path);
	return r;
}
