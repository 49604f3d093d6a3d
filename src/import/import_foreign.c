/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/import_foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/reserve.h"
#include "base/strings.h"
#include "foreign/folded.h"
#include "foreign/foreign.h"
#include "foreign/gunzip.h"
#include "foreign/otlp.h"
#include "foreign/perf_script.h"
#include "foreign/pprof.h"
#include "foreign/push.h"
#include "import/import.h"

#define UNPACKED_MAX ((size_t)4 << 30)

/* More events than any tool counts at once: a text that has them is no recording. */
#define EVENTS_MAX 1024

/* A program that pushes a profile has fewer. */
#define PUSHED_EVENTS_MAX   64
#define PUSHED_SERVICES_MAX 64

/*
 * The place of a name: a slot of 1 MiB by a hash of 43 bits. It is in the upper half of the
 * offsets, where no file has code. A frame lies behind its slot's first byte, because the look-up
 * of a caller goes one byte back.
 *
 * The upper half of a slot is for frames with a source line. Each line has two bytes there, by a
 * hash of the file's name and the line. So all recordings of one program agree.
 */
#define SLOT_BITS  20
#define SLOT_SIZE  ((uint64_t)1 << SLOT_BITS)
#define LINES_OFF  (SLOT_SIZE / 2)
#define LINE_SIZE  2
#define SLOT_LINES ((SLOT_SIZE - LINES_OFF) / LINE_SIZE)
#define LINE_TRIES 64 /* places that another line may have */

/* Of the name of a service. */
#define SERVICE_BYTES 128

/* A place of a line, as the key of line_places. */
struct line_place {
	uint64_t offset;
	uint32_t image, zero;
};
struct source_line {
	string_id file;
	uint32_t line;
};

struct known_event {
	string_id name;
	bool is_ns;
};

struct importer {
	struct foreign_sink sink; /* first: the sink is also this */
	const struct import_config *config;
	struct import_result *result;
	enum foreign_format format;
	struct slice bytes;
	uint64_t mtime_ns;
	struct foreign_facts facts;

	/* The first pass. */
	struct strings event_names; /* string i + 1 is of event i */
	struct strings services;    /* of a request */
	VEC(struct known_event) events;
	uint64_t first_ns, last_ns;
	bool has_chains, has_samples;

	/* The second. */
	struct machine *machine;
	struct pipeline *pipeline;
	struct strings symbols;
	struct intmap named; /* image << 32 | symbol: told to the store */
	struct strings files;
	struct strings line_places;    /* the bytes of line_places … */
	VEC(struct source_line) lines; /* … and the lines there; [0] is unused */
	struct code_addr frames[FOREIGN_LABELS_MAX + FOREIGN_MAX_FRAMES];
	struct buf text;  /* a NUL-terminated path */
	struct buf label; /* the same, of an image that stands for a label */
};

static string_id import_foreign_add_text(struct strings *to, struct slice s)
{
	return strings_add_n(to, s.len ? s.at : "", s.len);
}

static int read_samples(struct importer *im, struct error *err)
{
	switch (im->format) {
	case FOREIGN_PERF_SCRIPT:
		return perf_script_read(im->bytes, &im->sink, &im->facts);
	case FOREIGN_FOLDED:
		return folded_read(im->bytes, &im->sink, &im->facts);
	case FOREIGN_OTLP:
		return otlp_read(im->bytes.at, im->bytes.len, &im->sink, &im->facts, err);
	case FOREIGN_INGEST:
		return push_read_form(im->bytes, &im->sink, &im->facts, err);
	case FOREIGN_PUSH:
		return push_read_request(im->bytes, &im->sink, &im->facts, err);
	default:
		return pprof_read(im->bytes.at, im->bytes.len, &im->sink, &im->facts, err);
	}
}

/* The first pass: which events there are, and when. */

static bool is_request(const struct importer *im)
{
	return im->format == FOREIGN_OTLP || im->format == FOREIGN_INGEST ||
	       im->format == FOREIGN_PUSH;
}

static uint32_t events_most(const struct importer *im)
{
	return is_request(im) ? PUSHED_EVENTS_MAX : EVENTS_MAX;
}

/* The service of a sample; empty: its program has none. */
static struct slice service_of(const struct importer *im, const struct foreign_sample *s)
{
	struct slice name = s->service;

	if (!name.len && im->format == FOREIGN_INGEST && im->config->name)
		name = slice_of(im->config->name);
	return slice_head(name, MIN(name.len, (size_t)SERVICE_BYTES));
}

/* False: there are too many. */
static bool survey_service(struct importer *im, const struct foreign_sample *s)
{
	struct slice name = service_of(im, s);

	return !is_request(im) || !name.len ||
	       import_foreign_add_text(&im->services, name).n <= PUSHED_SERVICES_MAX;
}

static int survey(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct importer *im = (struct importer *)sink;
	string_id name = import_foreign_add_text(&im->event_names, s->event);

	if (name.n > events_most(im) || !survey_service(im, s))
		return -E2BIG;
	if (reserve_check() < 0)
		return -ENOMEM;
	if (name.n > im->events.n)
		vec_push(&im->events,
			 (struct known_event){ name, slice_equal(s->unit, SLICE("ns")) });
	im->first_ns = im->has_samples ? MIN(im->first_ns, s->time_ns) : s->time_ns;
	im->last_ns = MAX(im->last_ns, s->time_ns);
	im->has_chains |= s->n_frames > 1;
	im->has_samples = true;
	return 0;
}

/* Images and places. */

static const char *path_text(struct importer *im, struct slice path)
{
	im->text.len = 0;
	buf_bytes(&im->text, path.at, path.len);
	return buf_cstr(&im->text);
}

static image_id intern(struct importer *im, const struct image *image)
{
	return image_intern(machine_images(im->machine), image);
}

/* A guest's kernel, or its module, is none of this machine: it has its name alone. */
static image_id guest_image(struct importer *im, struct slice path)
{
	struct image image = { .kind = IMAGE_NAMED, .path = path_text(im, path) };

	return intern(im, &image);
}

/* "[kernel.kallsyms]", "[nf_tables]", "/lib/modules/…/nf_tables.ko.xz", "bpf_prog_0123…". */
static image_id kernel_image(struct importer *im, struct slice path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL, *dot;
	struct image image = { .kind = IMAGE_KERNEL, .path = "[kernel]" };

	if (slice_starts(path, SLICE("[guest.")))
		return guest_image(im, path);
	if (!path.len || slice_starts(path, SLICE("[kernel")) || slice_ends(path, SLICE("vmlinux")))
		return intern(im, &image);
	if (slash)
		path = slice_from(path, (size_t)(slash - path.at) + 1);
	dot = memmem(path.at, path.len, ".ko", 3);
	image.kind = slice_starts(path, SLICE("bpf_")) ? IMAGE_BPF : IMAGE_MODULE;
	if (dot) {
		path.len = (size_t)(dot - path.at);
		im->text.len = 0;
		buf_printf(&im->text, "[%.*s]", (int)MIN(path.len, (size_t)255), path.at);
		image.path = buf_cstr(&im->text);
	} else {
		image.path = path_text(im, path);
	}
	return intern(im, &image);
}

static image_id frame_image(struct importer *im, const struct foreign_frame *f)
{
	struct image image = { .kind = IMAGE_NAMED, .build_id = f->build_id };

	if (f->is_kernel)
		return kernel_image(im, f->image);
	image.path = f->image.len ? path_text(im, f->image) : "[no image]";
	return intern(im, &image);
}

/* Where the frame's line is in the slot; 0 if all that it might be at is taken. */
static uint64_t line_place(struct importer *im, const struct foreign_frame *f, image_id image,
			   uint64_t slot)
{
	const struct source_line want = { import_foreign_add_text(&im->files, f->file), f->line };
	uint64_t at = XXH3_64bits(f->file.at, f->file.len) + f->line;

	for (unsigned int i = 0; i < LINE_TRIES; i++, at++) {
		struct line_place place = { slot + LINES_OFF + at % SLOT_LINES * LINE_SIZE, image.n,
					    0 };
		uint32_t id =
			strings_add_n(&im->line_places, (const char *)&place, sizeof(place)).n;
		const struct source_line *there;

		if (id == im->lines.n) {
			vec_push(&im->lines, want);
			pipeline_name_code(im->pipeline,
					   &(struct code_symbol){
						   .image = image,
						   .offset = place.offset,
						   .size = LINE_SIZE,
						   .name = strings_get(&im->files, want.file),
						   .line = want.line });
			return place.offset + 1;
		}
		there = &im->lines.data[id];
		if (there->file.n == want.file.n && there->line == want.line)
			return place.offset + 1;
	}
	im->facts.n_lines++;
	return 0;
}

static struct code_addr named_place(struct importer *im, const struct foreign_frame *f)
{
	uint64_t slot = (uint64_t)1 << 63 |
			XXH3_64bits(f->symbol.at, f->symbol.len) >> (SLOT_BITS + 1) << SLOT_BITS;
	struct code_addr at = { frame_image(im, f), slot + 1 };
	string_id symbol = import_foreign_add_text(&im->symbols, f->symbol);
	struct code_symbol name = { .image = at.image,
				    .offset = slot,
				    .size = SLOT_SIZE,
				    .name = strings_get(&im->symbols, symbol) };
	uint64_t line;
	bool is_new;

	intmap_put(&im->named, (uint64_t)at.image.n << 32 | symbol.n, &is_new);
	if (is_new)
		pipeline_name_code(im->pipeline, &name);
	line = f->line ? line_place(im, f, at.image, slot) : 0;
	at.offset = line ? line : at.offset + MIN(f->symbol_off, LINES_OFF - 2);
	return at;
}

/* False where nothing is known of the frame but an address. */
static bool import_foreign_place(struct importer *im, const struct foreign_frame *f,
				 struct code_addr *out)
{
	struct image image = { .kind = IMAGE_FILE, .build_id = f->build_id };

	if (f->symbol.len) {
		*out = named_place(im, f);
		return true;
	}
	if (f->image.len && f->build_id.len && f->has_file_off && !f->is_kernel) {
		image.path = path_text(im, f->image);
		*out = (struct code_addr){ intern(im, &image), f->file_off };
		return true;
	}
	*out = (struct code_addr){ IMAGE_UNKNOWN_ID, f->addr };
	if (f->image.len || f->is_kernel)
		*out = (struct code_addr){ frame_image(im, f), f->addr };
	return out->image.n != 0;
}

/* The second pass. */

/*
 * The pipeline does the same with addresses. It leaves out unknown callers. In the user's part it
 * also leaves out all frames above the first unknown one, because they are not reliable.
 */
static void place_chain(struct importer *im, const struct foreign_sample *s,
			struct pipeline_sample *out)
{
	uint32_t n_labels = out->n_frames;

	for (uint32_t i = 0; i < s->n_frames; i++) {
		bool is_known = import_foreign_place(im, &s->frames[i], &im->frames[out->n_frames]);

		if (is_known || out->n_frames == n_labels) {
			out->leaf_loss = is_known ? out->leaf_loss : LOSS_UNMAPPED;
			out->n_frames++;
			continue;
		}
		out->n_unmapped++;
		if (!s->frames[i].is_kernel)
			return;
	}
}

/* Labels are frames below the innermost one (machine/image.h). */
static void place_labels(struct importer *im, const struct foreign_sample *s,
			 struct pipeline_sample *out)
{
	struct foreign_labels all = s->labels;

	for (size_t i = 0; i < im->config->n_labels; i++) {
		struct slice value = slice_of(im->config->labels[i]), name;

		name = slice_head(value, strcspn(value.at, "="));
		value = slice_from(value, MIN(name.len + 1, value.len));
		foreign_labels_add(&all, name, value, &im->facts);
	}
	for (uint32_t i = 0; i < all.n; i++) {
		struct foreign_frame frame = { .symbol = all.label[i].value };

		im->label.len = 0;
		buf_str(&im->label, IMAGE_LABEL_PREFIX);
		buf_bytes(&im->label, all.label[i].name.at, all.label[i].name.len);
		frame.image = slice_of(buf_cstr(&im->label));
		im->frames[out->n_frames++] = named_place(im, &frame);
	}
}

/*
 * The program of a profile that was pushed has the name of its service, so that the key `service`
 * finds it (profile/key.h).
 */
static image_id import_foreign_program(struct importer *im, const struct foreign_sample *s)
{
	struct slice name = service_of(im, s);
	struct image image = { .kind = IMAGE_NAMED };

	if (!name.len)
		return IMAGE_UNKNOWN_ID;
	image.path = path_text(im, name);
	return intern(im, &image);
}

static int import_foreign_keep(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct importer *im = (struct importer *)sink;
	string_id event = import_foreign_add_text(&im->event_names, s->event);
	struct pipeline_sample sample = {
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.counter = event.n - 1,
		.app = import_foreign_program(im, s),
		.comm = import_foreign_add_text(machine_strings(im->machine),
						s->comm.len || !im->config->name
							? s->comm
							: slice_of(im->config->name)),
		.time_ns = s->time_ns,
		.is_timed = true, /* 0: the store knows that this is no time */
		.frames = im->frames,
		.leaf_loss = -1,
		.samples = s->samples,
		.period = s->period,
	};
	uint32_t n_labels;

	if (reserve_check() < 0)
		return -ENOMEM;
	place_labels(im, s, &sample);
	n_labels = sample.n_frames;
	place_chain(im, s, &sample);
	if (sample.n_frames == n_labels) {
		im->frames[sample.n_frames++] = (struct code_addr){ IMAGE_UNKNOWN_ID, 0 };
		sample.leaf_loss = LOSS_UNMAPPED;
	}
	pipeline_add(im->pipeline, &sample);
	return 0;
}

static int import_foreign_open_pipeline(struct importer *im, struct error *err)
{
	const struct foreign_facts *f = &im->facts;
	cleanup(free_at_exit) char *release = xasprintf("Linux %s", f->release ? f->release : "");
	cleanup(free_at_exit) char *tool = xasprintf("perf %s", f->tool ? f->tool : "");
	cleanup(free_at_exit) struct counter_info *counters =
		xcalloc(im->events.n, sizeof(*counters));
	struct session_info info = {
		.version = im->config->version,
		.command = f->command ? f->command : "",
		.target = foreign_format_texts[im->format],
		.hostname = f->hostname ? f->hostname : "",
		.os_release = f->release ? release : "",
		.arch = f->arch ? f->arch : "",
		.cpu_model = f->cpu_model ? f->cpu_model : "",
		.collector = f->tool ? tool : foreign_format_texts[im->format],
		.stacks = im->has_chains ? "as told by the file" : "none",
		.note = "",
		.n_cpus = f->n_cpus,
		.start_ns = im->first_ns,
		.start_wall_ns = f->wall_ns ? f->wall_ns : im->mtime_ns,
		.counters = counters,
		.n_counters = (uint32_t)im->events.n,
		.exact_times = im->first_ns > 0,
	};
	struct pipeline_config pipeline = {
		.ops = im->config->ops,
		.dir = im->config->dir,
		.info = &info,
		.is_offline = true,
		.machine = im->machine,
	};

	for (size_t i = 0; i < im->events.n; i++) {
		const char *name = strings_get(&im->event_names, im->events.data[i].name);

		counters[i] =
			(struct counter_info){ .name = name,
					       .spec = name,
					       .unit = im->events.data[i].is_ns ? "ns" : "events",
					       .in_user = true,
					       .in_kernel = true };
	}
	im->pipeline = pipeline_open(&pipeline, err);
	return im->pipeline ? 0 : err->code;
}

/* The end. */

static void tell_facts(struct importer *im)
{
	const struct foreign_facts *f = &im->facts;
	const struct {
		uint64_t n;
		const char *text;
	} left_out[] = {
		{ f->n_extra, "samples have fields that are not kept (payloads, branches …)" },
		{ f->n_lines, "source lines are not kept: their code has no name" },
		{ f->n_cut, "call chains are cut: they have more frames than are kept" },
		{ f->n_rounded, "counts are not whole numbers: rounded, so that their sum is not" },
		{ f->n_labels,
		  "labels are not kept: they have no value, their names are not 1 to 32 "
		  "characters of a filter, or there are more than 16" },
		{ f->n_negative, "values are below zero, as in a difference: left out" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (left_out[i].n)
			import_note(im->result, "%" PRIu64 " %s", left_out[i].n, left_out[i].text);
	if (f->n_bad && f->bad_line)
		import_note(im->result,
			    "%" PRIu64 " lines are not understood (line %" PRIu64
			    ", for one: \"%s\")",
			    f->n_bad, f->bad_line, f->bad_text);
	else if (f->n_bad)
		import_note(im->result,
			    "%" PRIu64 " messages or references in it are not understood",
			    f->n_bad);
	pipeline_lose(im->pipeline, LOSS_BAD_RECORD, UINT32_MAX, f->n_bad);
	pipeline_lose(im->pipeline, LOSS_CHAIN_CUT, UINT32_MAX, f->n_cut);
	pipeline_lose(im->pipeline, LOSS_RING_FULL, UINT32_MAX, f->lost);
}

static int import_foreign_finish(struct importer *im, struct error *err)
{
	struct session_end end = { .end_ns = im->last_ns, .exit_status = -1 };

	tell_facts(im);
	if (im->facts.duration_ns > end.end_ns - im->first_ns &&
	    im->facts.duration_ns < INT64_MAX - im->first_ns)
		end.end_ns = im->first_ns + im->facts.duration_ns;
	import_own_cost(&end);
	im->result->duration_ns = end.end_ns - im->first_ns;
	im->result->bytes = im->bytes.len;
	return pipeline_close(take_ptr(im->pipeline), &end, &im->result->counts, err);
}

/* What the source says of itself is known after the first pass; what it lacks is counted in both.
 */
static void forget_counts(struct foreign_facts *f)
{
	struct foreign_facts kept = {
		.hostname = f->hostname,
		.release = f->release,
		.arch = f->arch,
		.cpu_model = f->cpu_model,
		.command = f->command,
		.tool = f->tool,
		.n_cpus = f->n_cpus,
		.wall_ns = f->wall_ns,
		.duration_ns = f->duration_ns,
	};

	*f = kept;
}

static void put_names(struct import_names *to, const struct strings *from)
{
	for (uint32_t i = 1; i < from->n; i++) /* 0 is the empty text */
		vec_push(to, xstrdup(strings_get(from, (string_id){ i })));
}

static int import_samples(struct importer *im, struct error *err)
{
	const char *path = im->config->path, *format = foreign_format_texts[im->format];
	struct error *damage = &im->result->damage;
	int r;

	im->sink.sample = survey;
	r = read_samples(im, damage);
	if (r == -E2BIG && im->services.n > PUSHED_SERVICES_MAX + 1) /* and the empty text */
		return error_set(err, r, "%s: it has more than %d services", path,
				 PUSHED_SERVICES_MAX);
	if (r == -E2BIG)
		return error_set(err, r, "%s: it has more than %" PRIu32 " events; is it %s?", path,
				 events_most(im), format);
	if (!im->has_samples)
		return error_set(err, im->facts.n_bad ? -EBADMSG : -ENODATA,
				 "%s: there is no sample in it%s, read as %s%s%s", path,
				 im->facts.n_bad ? " that is understood" : "", format,
				 damage->code ? ": " : "", damage->text);
	if (is_request(im)) {
		put_names(&im->result->services, &im->services);
		put_names(&im->result->events, &im->event_names);
	}
	forget_counts(&im->facts);
	r = import_foreign_open_pipeline(im, err);
	if (r < 0)
		return r;
	im->sink.sample = import_foreign_keep;
	read_samples(im, damage);
	return import_foreign_finish(im, err);
}

static void importer_fini(struct importer *im)
{
	if (im->pipeline)
		pipeline_close(im->pipeline, NULL, NULL, NULL);
	machine_free(im->machine);
	foreign_facts_fini(&im->facts);
	strings_fini(&im->event_names);
	strings_fini(&im->services);
	strings_fini(&im->symbols);
	strings_fini(&im->files);
	strings_fini(&im->line_places);
	vec_fini(&im->lines);
	vec_fini(&im->events);
	intmap_fini(&im->named);
	buf_fini(&im->text);
	buf_fini(&im->label);
	free(im);
}

/* Unpacks what is gzipped, and looks again. */
static int import_foreign_unpack(struct importer *im, struct buf *unpacked, struct error *err)
{
	struct error *damage = &im->result->damage;

	im->format = foreign_sniff(im->bytes.at, im->bytes.len, true);
	/* A body may be compressed, and so may the profile that it is. */
	if (im->format == FOREIGN_GZIP) {
		gunzip(im->bytes.at, im->bytes.len, UNPACKED_MAX, unpacked, damage);
		if (damage->code == -EFBIG || !unpacked->len)
			return error_set(err, damage->code ? damage->code : -ENODATA, "%s: %s",
					 im->config->path,
					 damage->code ? damage->text : "it is empty");
		im->bytes = (struct slice){ (const char *)unpacked->data, unpacked->len };
		im->format = foreign_sniff(im->bytes.at, im->bytes.len, true);
	}
	if (im->config->body) {
		im->format = (enum foreign_format)im->config->body;
		return 0;
	}
	if (im->format == FOREIGN_JITDUMP)
		return error_set(err, -EINVAL,
				 "%s: a jitdump names code and has no samples; give the perf.data "
				 "that was recorded with it, which refers to it",
				 im->config->path);
	if (im->format == FOREIGN_NONE || im->format == FOREIGN_GZIP)
		return error_set(err, -EINVAL,
				 "%s: its gzipped content is neither pprof nor a known text",
				 im->config->path);
	return 0;
}

int import_foreign(const struct import_config *config, const struct file_mapping *map,
		   struct import_result *out, struct error *err)
{
	struct machine_config offline = { .is_offline = true };
	struct importer *im = xcalloc(1, sizeof(*im));
	struct buf unpacked = { 0 };
	int r;

	im->config = config;
	im->result = out;
	im->bytes = (struct slice){ (const char *)map->base, map->size };
	im->mtime_ns = config->start_wall_ns ? config->start_wall_ns : map->mtime_ns;
	im->machine = machine_new(&offline);
	strings_init(&im->event_names);
	strings_init(&im->services);
	strings_init(&im->symbols);
	strings_init(&im->files);
	strings_init(&im->line_places);
	vec_push(&im->lines, (struct source_line){ 0 });
	r = import_foreign_unpack(im, &unpacked, err);
	if (r >= 0)
		r = import_samples(im, err);
	if (file_is_cut(map))
		error_set(&out->damage, -EBADMSG, "was cut short while it was read");
	importer_fini(im);
	buf_fini(&unpacked);
	return r;
}
