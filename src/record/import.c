/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "perfdata/perfdata.h"

#define MAX_FILES 65536

struct import {
	struct event_sink sink; /* first: the sink is also this */
	const struct import_config *config;
	struct import_result *result;
	struct file_mapping *maps;
	struct perfdata_bytes *files;
	size_t n_files;
	struct perfdata *data;
	struct machine *machine;
	struct pipeline *pipeline; /* NULL until the first sample: its time is the start */
	uint64_t start_ns, latest_ns;
	struct error *err;
};

void import_result_fini(struct import_result *r)
{
	vec_foreach (&r->notes, note)
		free(*note);
	vec_fini(&r->notes);
}

/* Opening the files. */

static bool has_magic(const char *path)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t magic;

	return fd >= 0 && read(fd, &magic, sizeof(magic)) == sizeof(magic) &&
	       perfdata_has_magic(&magic, sizeof(magic));
}

bool import_is_perfdata(const char *path)
{
	cleanup(free_at_exit) char *inside = xasprintf("%s/data", path);
	struct stat st;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return has_magic(inside);
	/* Of what can be read once only, nothing may be taken for a look. */
	return !S_ISREG(st.st_mode) || has_magic(path);
}

/* A pipe is kept in a file without a name: a recording is read twice, its middle at any time. */
static int spool(const char *path, struct file_mapping *out, struct error *err)
{
	bool is_stdin = !strcmp(path, "-");
	cleanup(close_at_exit) int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	const char *tmp = getenv("TMPDIR");
	FILE *file = NULL;
	cleanup(free_at_exit) char *buffer = xmalloc(1 << 20);
	int in = is_stdin ? STDIN_FILENO : opened, fd, r;
	cleanup(free_at_exit) char *proc = NULL;
	ssize_t n;

	if (in < 0)
		return error_errno(err, -errno, "%s", path);
	fd = open(tmp && *tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (file = tmpfile()))
		fd = fileno(file);
	if (fd < 0)
		return error_errno(err, -errno, "a temporary file to keep %s in", path);
	while ((n = read(in, buffer, 1 << 20)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : file_write_all(fd, buffer, (size_t)n);
		if (r < 0) {
			file ? fclose(file) : close(fd);
			return error_errno(err, r, n < 0 ? "reading %s" : "keeping %s", path);
		}
	}
	proc = xasprintf("/proc/self/fd/%d", fd);
	r = file_map(proc, out, err);
	file ? fclose(file) : close(fd);
	return r;
}

static int add_file(struct import *im, const char *path, struct error *err)
{
	struct stat st;
	struct file_mapping *map = &im->maps[im->n_files];
	bool is_regular = strcmp(path, "-") && stat(path, &st) == 0 && S_ISREG(st.st_mode);
	int r = is_regular || (strcmp(path, "-") && stat(path, &st) < 0) ? file_map(path, map, err)
									 : spool(path, map, err);

	if (r < 0)
		return r;
	if (map->base)
		madvise((void *)map->base, map->size, MADV_SEQUENTIAL);
	im->files[im->n_files] =
		(struct perfdata_bytes){ map->base, map->size, strrchr(path, '/') };
	if (im->files[im->n_files].name)
		im->files[im->n_files].name++;
	im->n_files++;
	return 0;
}

/* A directory has "data" with the header, and data.0, data.1 … with records alone. */
static int open_files(struct import *im, struct error *err)
{
	const char *path = im->config->path;
	struct stat st;
	int r;

	im->maps = xcalloc(MAX_FILES, sizeof(*im->maps));
	im->files = xcalloc(MAX_FILES, sizeof(*im->files));
	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return add_file(im, path, err);
	for (size_t i = 0; i < MAX_FILES; i++) {
		cleanup(free_at_exit) char *name =
			i ? xasprintf("%s/data.%zu", path, i - 1) : xasprintf("%s/data", path);

		if (i && access(name, F_OK) < 0)
			break;
		r = add_file(im, name, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void close_files(struct import *im)
{
	for (size_t i = 0; i < im->n_files; i++)
		file_unmap(&im->maps[i]);
	free(im->maps);
	free(im->files);
}

/* What has been read is given back, so that memory does not grow with the file. */
static void consumed(void *context, uint32_t file, uint64_t until_off)
{
	const struct import *im = context;
	size_t size = until_off & ~(uint64_t)0xffff;

	madvise((void *)im->maps[file].base, size, MADV_DONTNEED);
}

/* What the session says of itself. */

static struct counter_info describe(const struct perfdata_counter *c)
{
	const struct perf_event_attr *a = &c->attr;

	return (struct counter_info){
		.name = c->name,
		.spec = c->name,
		.unit = c->unit,
		.freq_hz = a->freq ? a->sample_freq : 0,
		.count = a->freq ? 0 : a->sample_period,
		.in_user = !a->exclude_user,
		.in_kernel = !a->exclude_kernel,
	};
}

static const char *describe_stacks(const struct perfdata_info *info)
{
	uint64_t types = 0;

	vec_foreach (&info->counters, c)
		types |= c->attr.sample_type;
	if (types & PERF_SAMPLE_STACK_USER)
		return "copied stacks";
	if (types & PERF_SAMPLE_CALLCHAIN)
		return "frame pointers";
	return types & PERF_SAMPLE_BRANCH_STACK ? "none; branch stacks" : "none";
}

/* The time of day at the start: by the two clocks of the recording, else by the file's date. */
static uint64_t start_wall_ns(const struct import *im, const struct perfdata_info *info)
{
	if (info->has_clock)
		return info->wall_ns + (im->start_ns - info->clock_ns);
	if (info->last_ns > im->start_ns && info->last_ns - im->start_ns < im->maps[0].mtime_ns)
		return im->maps[0].mtime_ns - (info->last_ns - im->start_ns);
	return im->maps[0].mtime_ns;
}

static int open_pipeline(struct import *im)
{
	const struct perfdata_info *d = perfdata_info(im->data);
	const struct import_config *c = im->config;
	cleanup(free_at_exit) char *release = xasprintf("Linux %s", d->os_release);
	cleanup(free_at_exit) char *collector = xasprintf("perf %s", d->version);
	struct session_info info = {
		.version = c->version,
		.command = d->command,
		.target = "perf.data",
		.hostname = d->hostname,
		.os_release = d->os_release[0] ? release : "",
		.arch = d->arch,
		.cpu_model = d->cpu_desc,
		.collector = d->version[0] ? collector : "perf",
		.stacks = describe_stacks(d),
		.note = "",
		.n_cpus = d->n_cpus,
		.n_counters = (uint32_t)d->counters.n,
	};
	struct pipeline_config pipeline = {
		.ops = c->ops,
		.dir = c->dir,
		.info = &info,
		.is_offline = true,
		.machine = im->machine,
	};

	if (d->first_ns && d->first_ns < im->start_ns)
		im->start_ns = d->first_ns;
	info.start_ns = im->start_ns;
	info.start_wall_ns = start_wall_ns(im, d);
	info.counters = xcalloc(d->counters.n, sizeof(*info.counters));
	for (size_t i = 0; i < d->counters.n; i++)
		info.counters[i] = describe(&d->counters.data[i]);
	im->pipeline = pipeline_open(&pipeline, im->err);
	free(info.counters);
	return im->pipeline ? 0 : im->err->code;
}

/* What comes before the first sample needs the machine alone. */
static bool is_for_session(const struct event *e)
{
	return e->type == EVENT_SAMPLE || e->type == EVENT_LOST || e->type == EVENT_LOST_SAMPLES ||
	       e->type == EVENT_THROTTLE;
}

static int push(struct event_sink *sink, const struct event *e)
{
	struct import *im = (struct import *)sink;
	int r;

	im->latest_ns = MAX(im->latest_ns, e->time_ns);
	if (!im->pipeline && !is_for_session(e)) {
		machine_event(im->machine, e);
		return 0;
	}
	if (!im->pipeline) {
		im->start_ns = e->time_ns;
		r = open_pipeline(im);
		if (r < 0)
			return r;
	}
	return event_push(pipeline_sink(im->pipeline), e);
}

/* The end. */

__attribute__((format(printf, 2, 3))) static void note(struct import *im, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&im->result->notes, xstrdup(text));
}

static void note_sections(struct import *im)
{
	vec_foreach (&perfdata_info(im->data)->sections, s)
		if (!s->name)
			note(im,
			     "feature section %u (%" PRIu64 " bytes) is not known to this version",
			     s->feature, s->size_bytes);
}

static void tell_stats(struct import *im)
{
	const struct perfdata_stats *s = perfdata_stats(im->data);

	im->result->bytes = s->bytes;
	if (s->bad_records)
		pipeline_lose(im->pipeline, LOSS_BAD_RECORD, UINT32_MAX, s->bad_records);
	if (s->late)
		pipeline_lose(im->pipeline, LOSS_OUT_OF_ORDER, UINT32_MAX, s->late);
	if (s->unknown_ids) {
		pipeline_lose(im->pipeline, LOSS_BAD_RECORD, UINT32_MAX, s->unknown_ids);
		note(im, "%" PRIu64 " samples have an id that no event of the file has",
		     s->unknown_ids);
	}
	if (s->unknown_types)
		note(im, "%" PRIu64 " records of types not known to this version (%u, for one)",
		     s->unknown_types, s->an_unknown_type);
	if (s->text_bytes)
		note(im, "%" PRIu64 " bytes at its end are messages of perf record, left out",
		     s->text_bytes);
	if (s->aux.n)
		note(im, "%" PRIu64 " bytes of AUX data (processor trace) are not decoded",
		     s->aux_bytes);
	if (perfdata_info(im->data)->is_stat)
		note(im, "the file is of perf stat: it has counts, no samples");
	note_sections(im);
}

/* Zeros instead of records: whatever the reader said of them, this is why. */
static void tell_cut(struct import *im)
{
	for (size_t i = 0; i < im->n_files; i++)
		if (file_is_cut(&im->maps[i]))
			error_set(&im->result->damage, -EBADMSG,
				  "was cut short while it was read: what it had beyond is missing");
}

static int finish(struct import *im, struct error *err)
{
	struct session_end end = { .end_ns = im->latest_ns, .exit_status = -1 };
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	end.own_cpu_ns = ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
			 ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	end.own_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
	im->result->duration_ns = im->latest_ns > im->start_ns ? im->latest_ns - im->start_ns : 0;
	return pipeline_close(take_ptr(im->pipeline), &end, &im->result->counts, err);
}

static int run(struct import *im, struct error *err)
{
	int r = perfdata_read(im->data, &im->sink, &im->result->damage);

	if (r < 0 && !im->result->damage.code)
		return r; /* the session could not be made */
	if (!im->pipeline && (r = open_pipeline(im)) < 0)
		return r;
	tell_cut(im);
	tell_stats(im);
	return finish(im, err);
}

int import_file(const struct import_config *config, struct import_result *out, struct error *err)
{
	struct machine_config offline = { .is_offline = true };
	struct error own = { 0 };
	struct import im = { .sink = { push }, .config = config, .result = out };
	int r;

	*out = (struct import_result){ 0 };
	im.err = err ? err : &own;
	r = open_files(&im, im.err);
	if (r >= 0) {
		r = perfdata_open(im.files, im.n_files, &im.data, im.err);
		if (r < 0)
			error_wrap(im.err, r, "%s", config->path);
	}
	if (r >= 0) {
		perfdata_on_consumed(im.data, consumed, &im);
		offline.release = perfdata_info(im.data)->os_release;
		im.machine = machine_new(&offline);
		r = run(&im, im.err);
		if (im.pipeline)
			pipeline_close(im.pipeline, NULL, NULL, NULL);
		machine_free(im.machine);
	}
	perfdata_free(im.data);
	close_files(&im);
	return r;
}
