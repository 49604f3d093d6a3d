/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "collect/rings.h"
#include "elf/elf_file.h"
#include "perfdata/format.h"
#include "perfdata/record.h"
#include "pipeline/host.h"
#include "pipeline/image_files.h"
#include "record/raw_trace.h"
#include "record/record_ring.h"
#include "replay/perfdata_file.h"

#define MAX_FORMAT (1 << 20)

/* Trace that waits for the disk: a quarter of a second of each CPU at 500 MB/s. */
#define WAITING_BYTES ((uint64_t)128 << 20)

struct raw_recording {
	struct event_sink sink; /* first: the sink is also this */
	struct event_sink *next;
	struct perfdata_file *file;
	struct rings *rings;
	const struct counters *counters;
	char *const *argv;
	char *version, *cpu_model;
	struct strings paths; /* files with known build ids */
	struct buf build_ids; /* bytes of the section */
	uint32_t n_cpus;
	uint64_t n_truncated;
	struct record_ring *ring; /* of samples; NULL: they are written as they come */
	struct record_format format;
	bool is_scanning;
};

/* The store that keeps nothing. */

static int open_nothing(const char *dir, const struct session_info *info,
			const struct image_table *images, const struct strings *strings,
			struct store **out, struct error *err)
{
	(void)dir, (void)info, (void)images, (void)strings, (void)err;
	*out = NULL;
	return 0;
}

static int add_nothing(struct store *s, const struct sample *sample, struct error *err)
{
	(void)s, (void)sample, (void)err;
	return 0;
}

static void lose_nothing(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)s, (void)reason, (void)counter, (void)n;
}

static void name_nothing(struct store *s, const struct code_symbol *symbol)
{
	(void)s, (void)symbol;
}

static int flush_nothing(struct store *s, uint64_t until_ns, struct error *err)
{
	(void)s, (void)until_ns, (void)err;
	return 0;
}

static int close_nothing(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			 struct error *err)
{
	(void)s, (void)end, (void)err;
	if (n_unwritten)
		*n_unwritten = 0;
	return 0;
}

const struct store_ops no_store = {
	.name = "none",
	.help = "keeps nothing",
	.open = open_nothing,
	.add = add_nothing,
	.lose = lose_nothing,
	.name_code = name_nothing,
	.flush = flush_nothing,
	.close = close_nothing,
};

/* Events. */

/* Files have a section of build ids at their end, pipes a record for each. */
static void put_build_id(struct raw_recording *r, const char *path, const struct build_id *id,
			 bool is_kernel)
{
	size_t start = r->build_ids.len;
	struct perf_event_header h;

	writer_build_id(&r->build_ids, path, id, is_kernel);
	if (!perfdata_file_is_pipe(r->file) || r->build_ids.len == start)
		return;
	while (r->build_ids.len % 8) /* as records must be */
		buf_u8(&r->build_ids, 0);
	memcpy(&h, r->build_ids.data, sizeof(h));
	h.type = USER_BUILD_ID;
	h.size = (uint16_t)r->build_ids.len;
	memcpy(r->build_ids.data, &h, sizeof(h));
	perfdata_file_record(r->file, r->build_ids.data, r->build_ids.len);
	r->build_ids.len = 0;
}

/* A file's build id: from the kernel's record, or from the file's note. */
static void note_build_id(struct raw_recording *r, const struct event *e)
{
	const struct mapping_event *m = &e->mapping;
	struct image image = { .kind = IMAGE_FILE,
			       .build_id = m->build_id,
			       .dev = m->dev,
			       .ino = m->ino,
			       .path = m->path };
	static const struct image_finder finder = { .proc = "/proc" };
	struct lang_runtime runtime;
	enum loss_reason loss;
	bool lacks_names;
	string_id known;

	if (!m->is_executable || m->path[0] != '/' || strings_find(&r->paths, m->path, &known))
		return;
	strings_add(&r->paths, m->path);
	if (!image.build_id.len)
		image_files_look(&finder, e->pid, &image, &runtime, &loss, &lacks_names);
	if (image.build_id.len)
		put_build_id(r, m->path, &image.build_id, false);
}

static int raw_push(struct event_sink *sink, const struct event *e)
{
	struct raw_recording *r = (struct raw_recording *)sink;

	if (e->type == EVENT_SAMPLE)
		return 0;
	if (r->is_scanning)
		perfdata_file_event(r->file, e);
	if (e->type == EVENT_MAPPING)
		note_build_id(r, e);
	r->n_truncated += e->type == EVENT_AUX && e->aux.flags & PERF_AUX_FLAG_TRUNCATED;
	return event_push(r->next, e);
}

struct event_sink *raw_sink(struct raw_recording *r)
{
	return &r->sink;
}

static void keep_record(void *context, const void *record, size_t size)
{
	struct raw_recording *r = context;

	perfdata_file_record(r->file, record, size);
}

static void raw_add_record(void *context, const void *record, size_t size)
{
	struct raw_recording *r = context;
	const struct perf_event_header *h = record;

	if (r->ring && h->type == PERF_RECORD_SAMPLE) {
		record_ring_push(r->ring, record, size, record_time(&r->format, record, size));
		return;
	}
	perfdata_file_record(r->file, record, size);
}

void raw_set_scanning(struct raw_recording *r, bool is_scanning)
{
	r->is_scanning = is_scanning;
}

/* The kernel. */

/*
 * The kernel's text, from its list of symbols, which is in order of address. `reference` is the
 * symbol at its start, which not every kernel lists: _text or else _stext.
 */
static void find_kernel_text(uint64_t *start, uint64_t *end, const char **reference)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256];

	*start = *end = 0;
	while (f && !*end && fgets(line, sizeof(line), f)) {
		uint64_t addr;

		if (sscanf(line, "%" SCNx64 " %*c %255s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "_text") || (!*start && !strcmp(name, "_stext"))) {
			*start = addr;
			*reference = name[1] == 's' ? "_stext" : "_text";
		} else if (!strcmp(name, "_etext")) {
			*end = addr;
		}
	}
	if (f)
		fclose(f);
}

static void put_kernel_mapping(struct raw_recording *r, uint64_t start, uint64_t size,
			       uint64_t file_off, const char *path)
{
	struct event e = {
		.type = EVENT_MAPPING,
		.pid = -1,
		.mapping = { .start = start,
			     .size = size,
			     .file_off = file_off,
			     .path = path,
			     .is_kernel = true,
			     .is_executable = true },
	};

	perfdata_file_event(r->file, &e);
}

static void put_modules(struct raw_recording *r)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[4096], name[128], path[160];

	while (f && fgets(line, sizeof(line), f)) {
		uint64_t size, addr;

		if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &addr) ==
			    3 &&
		    addr) {
			snprintf(path, sizeof(path), "[%s]", name);
			put_kernel_mapping(r, addr, size, 0, path);
		}
	}
	if (f)
		fclose(f);
}

/* The running kernel's note: name size, description size, type; then both. */
static void put_kernel_build_id(struct raw_recording *r)
{
	struct build_id id;
	char *notes;
	size_t size;

	if (file_read_all("/sys/kernel/notes", 65536, &notes, &size) < 0)
		return;
	if (elf_build_id_in_notes(reader_over(notes, size), 4, &id))
		put_build_id(r, "[kernel.kallsyms]", &id, true);
	free(notes);
}

static void put_kernel(struct raw_recording *r)
{
	const char *reference = "";
	uint64_t start, end;
	char path[32];

	find_kernel_text(&start, &end, &reference);
	snprintf(path, sizeof(path), "[kernel.kallsyms]%s", reference);
	if (start && end > start)
		put_kernel_mapping(r, start, end - start, start, path);
	put_modules(r);
	put_kernel_build_id(r);
}

/* Opening. */

static void keep_event(void *context, const char *name, const struct perf_event_attr *attr,
		       const uint64_t *ids, size_t n_ids)
{
	struct {
		struct writer_event *data;
		size_t n, cap;
	} *events = context;

	vec_push(events, (struct writer_event){ *attr, name, ids, n_ids });
}

static int open_pipe(const struct writer_event *events, size_t n, struct perfdata_file **out,
		     struct error *err)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd < 0)
		return error_errno(err, -errno, "standard output");
	return perfdata_pipe_open(fd, events, n, out, err);
}

static int raw_open_file(struct raw_recording *r, const char *path, struct error *err)
{
	struct {
		struct writer_event *data;
		size_t n, cap;
	} events = { 0 };
	int e;

	rings_each_event(r->rings, keep_event, &events);
	r->format = (struct record_format){ .sample_type = events.data[0].attr.sample_type,
					    .sample_id_all = true };
	if (!strcmp(path, "-"))
		e = open_pipe(events.data, events.n, &r->file, err);
	else
		e = perfdata_file_open(path, events.data, events.n, &r->file, err);
	vec_fini(&events);
	return e;
}

/* No more than an eighth of the machine's memory. */
static uint64_t waiting_bytes(const struct raw_recording *r)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return MIN(rings_count(r->rings) * WAITING_BYTES, all / 8);
}

/* In front of all records that need it. */
static void put_trace(struct raw_recording *r, const struct raw_trace *trace)
{
	struct buf info = { 0 };

	raw_trace_info(trace, &info);
	for (size_t at = 0; at < info.len;) {
		struct perf_event_header h;

		memcpy(&h, info.data + at, sizeof(h));
		perfdata_file_record(r->file, info.data + at, h.size);
		at += h.size;
	}
	buf_fini(&info);
	perfdata_file_write_directly(r->file, waiting_bytes(r));
}

int raw_add_aux(struct raw_recording *r, const struct aux_piece *p)
{
	static const uint8_t zeros[8]; /* PAD packets */
	const uint64_t padded = (p->size + 7) & ~(uint64_t)7;
	const struct writer_aux aux = { .size = padded,
					.offset = p->offset,
					.reference = clock_monotonic_ns(),
					.index = p->index,
					.cpu = p->cpu,
					.tid = p->tid };
	struct buf record = { 0 };

	writer_aux(&aux, &record);
	perfdata_file_aux(r->file,
			  (const struct iovec[]){ { record.data, record.len },
						  { (void *)p->part[0], p->part_size[0] },
						  { (void *)p->part[1], p->part_size[1] },
						  { (void *)zeros, padded - p->size } },
			  4);
	buf_fini(&record);
	return 0;
}

uint64_t raw_waited_ns(const struct raw_recording *r)
{
	return perfdata_file_waited_ns(r->file);
}

uint64_t raw_truncated(const struct raw_recording *r)
{
	return r->n_truncated;
}

static void raw_free(struct raw_recording *r)
{
	if (!r)
		return;
	record_ring_free(r->ring);
	strings_fini(&r->paths);
	buf_fini(&r->build_ids);
	free(r->version);
	free(r->cpu_model);
	free(r);
}

/* Sections. */

static void raw_put_u32(struct buf *out, uint32_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void raw_put_u64(struct buf *out, uint64_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void put_command(struct raw_recording *r, struct writer_sections *s)
{
	struct buf *out;
	uint32_t n = 0;

	while (r->argv && r->argv[n])
		n++;
	if (!n)
		return;
	out = writer_section(s, FEATURE_CMDLINE);
	raw_put_u32(out, n);
	for (uint32_t i = 0; i < n; i++)
		writer_text(out, r->argv[i]);
}

/* One moment on the recording's clock and as the time of day (perf record -k). */
static void put_clock(struct writer_sections *s)
{
	struct buf *out = writer_section(s, FEATURE_CLOCKID);
	struct timespec resolution = { 0, 1 };

	clock_getres(CLOCK_MONOTONIC, &resolution);
	raw_put_u64(out, (uint64_t)resolution.tv_nsec);
	out = writer_section(s, FEATURE_CLOCK_DATA);
	raw_put_u32(out, 1);
	raw_put_u32(out, CLOCK_MONOTONIC);
	raw_put_u64(out, clock_wall_ns());
	raw_put_u64(out, clock_monotonic_ns());
}

/* Numbers may have gaps. perf only accepts samples of CPUs with numbers below this one. */
static uint32_t n_cpu_numbers(void)
{
	uint32_t n = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	struct cpu_list present = { 0 };

	if (cpu_list_present(NULL, &present, NULL) >= 0)
		vec_foreach (&present, cpu)
			n = MAX(n, *cpu + 1);
	vec_fini(&present);
	return n;
}

static void put_machine(struct raw_recording *r, struct writer_sections *s)
{
	struct utsname u;
	char cpuid[64];
	uint64_t kib = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	struct buf *out;

	uname(&u);
	writer_text_section(s, FEATURE_HOSTNAME, u.nodename);
	writer_text_section(s, FEATURE_OSRELEASE, u.release);
	writer_text_section(s, FEATURE_VERSION, r->version);
	writer_text_section(s, FEATURE_ARCH, u.machine);
	writer_text_section(s, FEATURE_CPUDESC, r->cpu_model);
	raw_trace_cpuid(cpuid, sizeof(cpuid));
	writer_text_section(s, FEATURE_CPUID, cpuid);
	out = writer_section(s, FEATURE_NRCPUS);
	raw_put_u32(out, n_cpu_numbers());
	raw_put_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	raw_put_u64(writer_section(s, FEATURE_TOTAL_MEM), kib);
}

/* A tracepoint's file in tracefs, with its size before it. */
static bool put_trace_file(struct buf *out, const char *tracefs, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/events/%s", tracefs, name), *text = NULL;
	size_t size;

	if (file_read_all(path, MAX_FORMAT, &text, &size) < 0)
		return false;
	raw_put_u64(out, size);
	buf_bytes(out, text, size);
	return true;
}

static void put_tracepoint(struct buf *out, const char *tracefs, const char *name)
{
	size_t len = strcspn(name, ":");
	cleanup(free_at_exit) char *file =
		xasprintf("%.*s/%s/format", (int)len, name, name[len] ? name + len + 1 : "");
	size_t start = out->len;

	/* each has its own system: readers go by the id in the format */
	buf_bytes(out, name, len);
	buf_u8(out, 0);
	raw_put_u32(out, 1);
	if (!put_trace_file(out, tracefs, file)) {
		out->len = start;
		buf_bytes(out, name, len);
		buf_u8(out, 0);
		raw_put_u32(out, 0);
	}
}

/* tracing.c has the layout. Version 0.5 has no threads' names at its end. */
static void put_tracing(struct raw_recording *r, struct writer_sections *s)
{
	static const char magic[] = "\x17\x08\x44tracing0.5";
	const char *tracefs = access("/sys/kernel/tracing/events", R_OK) == 0
				      ? "/sys/kernel/tracing"
				      : "/sys/kernel/debug/tracing";
	uint32_t n = 0;
	struct buf *out;

	vec_foreach (r->counters, c)
		n += c->attr.type == PERF_TYPE_TRACEPOINT;
	if (!n)
		return;
	out = writer_section(s, FEATURE_TRACING_DATA);
	buf_bytes(out, magic, sizeof(magic));
	buf_u8(out, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	buf_u8(out, sizeof(long));
	raw_put_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	buf_cstr0(out, "header_page");
	if (!put_trace_file(out, tracefs, "header_page"))
		raw_put_u64(out, 0);
	buf_cstr0(out, "header_event");
	if (!put_trace_file(out, tracefs, "header_event"))
		raw_put_u64(out, 0);
	raw_put_u32(out, 0); /* ftrace's own */
	raw_put_u32(out, n);
	vec_foreach (r->counters, c)
		if (c->attr.type == PERF_TYPE_TRACEPOINT)
			put_tracepoint(out, tracefs, c->name);
	raw_put_u32(out, 0); /* kernel symbols */
	raw_put_u32(out, 0); /* printk formats */
}

/* They come first in a pipe, and at the end of a file. */
static void put_sections(struct raw_recording *r, bool has_trace)
{
	struct writer_sections *s = perfdata_file_sections(r->file);

	put_machine(r, s);
	put_command(r, s);
	if (!has_trace) /* whose times are the kernel's own */
		put_clock(s);
	put_tracing(r, s);
	if (r->counters->n && r->counters->data[0].attr.branch_sample_type)
		writer_section(s, FEATURE_BRANCH_STACK); /* has no bytes */
	perfdata_file_send_sections(r->file);
}

int raw_open(const struct raw_config *c, struct raw_recording **out, struct error *err)
{
	struct raw_recording *r = xcalloc(1, sizeof(*r));
	int e;

	*r = (struct raw_recording){
		.sink = { raw_push },
		.next = c->next,
		.rings = c->rings,
		.counters = c->counters,
		.argv = c->argv,
		.n_cpus = c->n_cpus,
		.version = xasprintf("assay-%s", c->version),
		.cpu_model = xstrdup(c->cpu_model),
		.is_scanning = true,
		.ring = c->keep_ns ? record_ring_new(c->keep_ns, c->keep_bytes) : NULL,
	};
	strings_init(&r->paths);
	e = raw_open_file(r, c->path, err);
	if (e < 0) {
		raw_free(r);
		return e;
	}
	put_sections(r, c->trace != NULL);
	if (c->trace)
		put_trace(r, c->trace);
	put_kernel(r);
	rings_on_record(r->rings, raw_add_record, r);
	*out = r;
	return 0;
}

/* The end. */

int raw_advance(struct raw_recording *r)
{
	/* the held samples come last, whatever their age: a round would be wrong */
	if (!r->ring)
		perfdata_file_round(r->file);
	return perfdata_file_flush(r->file);
}

int raw_close(struct raw_recording *r, uint64_t *samples, uint64_t *n_bytes, struct error *err)
{
	struct buf *section;
	int e;

	if (r->ring)
		record_ring_take(r->ring, keep_record, r);
	if (r->build_ids.len) {
		section = writer_section(perfdata_file_sections(r->file), FEATURE_BUILD_ID);
		buf_bytes(section, r->build_ids.data, r->build_ids.len);
	}
	*samples = perfdata_file_samples(r->file);
	rings_on_record(r->rings, NULL, NULL);
	e = perfdata_file_close(r->file, n_bytes, err);
	raw_free(r);
	return e;
}

void raw_abandon(struct raw_recording *r)
{
	if (!r)
		return;
	rings_on_record(r->rings, NULL, NULL);
	perfdata_file_abandon(r->file);
	raw_free(r);
}
