/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processed format of the Firefox Profiler (profiler.firefox.com), gzipped JSON. Version 61 of
 * the format (src/types/profile.ts of firefox-devtools/profiler): the viewer converts older
 * versions.
 *
 * All threads share one table of each kind. A line of a place is a frame, so inlined functions have
 * frames. Node n of the call tree is the stacks [first_stack[n], first_stack[n + 1]), outermost
 * first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/build_id.h"
#include "base/json.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "export/tracks.h"
#include "store/session.h"

#define FORMAT_VERSION "61"
#define GECKO_VERSION  "30"

/* Rows of meta.categories. */
enum { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL };

struct firefox {
	const struct export *x;
	struct sink *out;
	struct tracks tracks;
	struct strings strings; /* shared.stringArray */
	struct strings sources; /* of files; id 0 is none */
	uint32_t *first_stack;  /* by node, and one more */
};

/* Fills a column: `"key":[…]` with get() of each row. */
static void firefox_put_column(struct firefox *w, const char *key, size_t n,
			       void (*get)(struct firefox *w, struct buf *out, size_t row))
{
	struct buf *out = &w->out->buf;

	buf_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_u8(out, ',');
		get(w, out, i);
		sink_step(w->out);
	}
	buf_str(out, "],");
}

static void put_constant(struct firefox *w, const char *key, size_t n, const char *value)
{
	struct buf *out = &w->out->buf;

	buf_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_str(out, i ? "," : "");
		buf_str(out, value);
		sink_step(w->out);
	}
	buf_str(out, "],");
}

static void firefox_end_table(struct firefox *w, size_t n)
{
	buf_printf(&w->out->buf, "\"length\":%zu}", n);
}

static void put_number_or_null(struct buf *out, uint64_t number, bool is_there)
{
	if (is_there)
		text_u64(out, number);
	else
		buf_str(out, "null");
}

/* ---- stacks: frames and their parents ---- */

static uint32_t node_lines(const struct firefox *w, uint32_t node)
{
	uint32_t place = w->x->profile->node_places.data[node];

	return w->x->lines->first[place + 1] - w->x->lines->first[place];
}

static void firefox_number_stacks(struct firefox *w)
{
	size_t n = w->x->profile->nodes.n;

	w->first_stack = xcalloc(n + 2, sizeof(*w->first_stack));
	for (uint32_t i = 1; i < n; i++)
		w->first_stack[i + 1] = w->first_stack[i] + node_lines(w, i);
}

static void firefox_put_stacks(struct firefox *w)
{
	const struct profile *p = w->x->profile;
	const struct code_lines *c = w->x->lines;
	struct buf *out = &w->out->buf;
	uint32_t n = w->first_stack[p->nodes.n];
	const char *before = "";

	buf_str(out, "\"stackTable\":{\"frame\":[");
	for (uint32_t i = 1; i < p->nodes.n; i++)
		for (uint32_t k = node_lines(w, i); k-- > 0;) {
			buf_str(out, before);
			text_u64(out, c->first[p->node_places.data[i]] + k);
			before = ",";
			sink_step(w->out);
		}
	buf_str(out, "],\"prefix\":[");
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		uint32_t parent = p->nodes.data[i].parent;

		for (uint32_t s = w->first_stack[i]; s < w->first_stack[i + 1]; s++) {
			bool is_first = s == w->first_stack[i];

			buf_str(out, s ? "," : "");
			put_number_or_null(out, is_first ? w->first_stack[parent + 1] - 1 : s - 1,
					   !is_first || parent);
			sink_step(w->out);
		}
	}
	buf_str(out, "],");
	firefox_end_table(w, n);
}

/* ---- frames and functions ---- */

static const struct code_function *function_of(const struct firefox *w, size_t line)
{
	return &w->x->lines->functions.data[w->x->lines->lines.data[line].function];
}

static void get_category(struct firefox *w, struct buf *out, size_t line)
{
	const struct profile *p = w->x->profile;
	static const int categories[] = { [CODE_USER] = CATEGORY_USER,
					  [CODE_KERNEL] = CATEGORY_KERNEL,
					  [CODE_UNKNOWN] = CATEGORY_OTHER };
	const struct image *image = p->images.data[function_of(w, line)->image].image;

	text_u64(out, (uint64_t)categories[image_code_mode(image)]);
}

static void get_function(struct firefox *w, struct buf *out, size_t line)
{
	text_u64(out, w->x->lines->lines.data[line].function);
}

static void firefox_get_line(struct firefox *w, struct buf *out, size_t line)
{
	uint32_t number = w->x->lines->lines.data[line].line;

	put_number_or_null(out, number, number != 0);
}

static void put_depths(struct firefox *w)
{
	const struct code_lines *c = w->x->lines;
	struct buf *out = &w->out->buf;

	buf_str(out, "\"inlineDepth\":[");
	for (size_t i = 0; i < w->x->profile->places.n; i++)
		for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++) {
			buf_str(out, k ? "," : "");
			text_u64(out, c->first[i + 1] - 1 - k);
			sink_step(w->out);
		}
	buf_str(out, "],");
}

static void firefox_put_frames(struct firefox *w)
{
	size_t n = w->x->lines->lines.n;

	buf_str(&w->out->buf, ",\n\"frameTable\":{");
	put_depths(w);
	firefox_put_column(w, "category", n, get_category);
	firefox_put_column(w, "func", n, get_function);
	firefox_put_column(w, "line", n, firefox_get_line);
	put_constant(w, "address", n, "-1");
	put_constant(w, "subcategory", n, "0");
	put_constant(w, "nativeSymbol", n, "null");
	put_constant(w, "innerWindowID", n, "0");
	put_constant(w, "column", n, "null");
	firefox_end_table(w, n);
}

static void get_function_name(struct firefox *w, struct buf *out, size_t function)
{
	text_u64(out, strings_add(&w->strings, w->x->lines->functions.data[function].name).n);
}

static void get_function_image(struct firefox *w, struct buf *out, size_t function)
{
	text_u64(out, w->x->lines->functions.data[function].image);
}

static void get_function_source(struct firefox *w, struct buf *out, size_t function)
{
	uint32_t id = strings_add(&w->sources, w->x->lines->functions.data[function].file).n;

	put_number_or_null(out, (uint64_t)id - 1, id != 0);
}

static void firefox_put_functions(struct firefox *w)
{
	size_t n = w->x->lines->functions.n;

	buf_str(&w->out->buf, ",\n\"funcTable\":{");
	firefox_put_column(w, "name", n, get_function_name);
	firefox_put_column(w, "resource", n, get_function_image);
	firefox_put_column(w, "source", n, get_function_source);
	put_constant(w, "isJS", n, "false");
	put_constant(w, "relevantForJS", n, "false");
	put_constant(w, "lineNumber", n, "null");
	put_constant(w, "columnNumber", n, "null");
	firefox_end_table(w, n);
}

/* ---- tables that others refer to ---- */

static void get_index(struct firefox *w, struct buf *out, size_t row)
{
	(void)w;
	text_u64(out, row);
}

static void get_image_name(struct firefox *w, struct buf *out, size_t image)
{
	const char *name = frame_image_name(w->x->frames, (uint32_t)image);

	text_u64(out, strings_add(&w->strings, name).n);
}

static void get_source_name(struct firefox *w, struct buf *out, size_t row)
{
	const char *file = frame_text(w->x->frames, w->sources.text[row + 1]);

	text_u64(out, strings_add(&w->strings, file).n);
}

static void firefox_put_strings(struct firefox *w)
{
	struct buf *out = &w->out->buf;

	buf_str(out, ",\n\"stringArray\":[");
	for (uint32_t i = 0; i < w->strings.n; i++) {
		buf_str(out, i ? "," : "");
		json_put_string(out, w->strings.text[i]);
		sink_step(w->out);
	}
	buf_u8(out, ']');
}

static void put_shared(struct firefox *w)
{
	struct buf *out = &w->out->buf;
	size_t n_images = w->x->profile->images.n, n_sources;

	buf_str(out, ",\n\"shared\":{");
	firefox_put_stacks(w);
	firefox_put_frames(w);
	firefox_put_functions(w);
	buf_str(out, ",\n\"resourceTable\":{");
	firefox_put_column(w, "lib", n_images, get_index);
	firefox_put_column(w, "name", n_images, get_image_name);
	put_constant(w, "host", n_images, "null");
	put_constant(w, "type", n_images, "1"); /* a library */
	firefox_end_table(w, n_images);
	buf_str(out, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		     "\"functionSize\":[],\"length\":0},\n\"sources\":{");
	n_sources = w->sources.n - 1;
	firefox_put_column(w, "filename", n_sources, get_source_name);
	put_constant(w, "id", n_sources, "null");
	put_constant(w, "startLine", n_sources, "1");
	put_constant(w, "startColumn", n_sources, "1");
	put_constant(w, "sourceMapURL", n_sources, "null");
	firefox_end_table(w, n_sources);
	firefox_put_strings(w);
	buf_u8(out, '}');
}

/* A build id as Breakpad writes it: the first 16 bytes as a GUID, whose parts are little-endian. */
static void put_breakpad_id(struct buf *out, const struct build_id *id)
{
	static const uint8_t order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	for (size_t i = 0; i < ARRAY_SIZE(order) && id->len; i++)
		buf_printf(out, "%02X", id->bytes[order[i]]);
	buf_str(out, id->len ? "0" : "");
}

static void firefox_put_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\":", key);
	json_put_string(out, text);
	buf_u8(out, ',');
}

static void put_libraries(struct firefox *w)
{
	const struct profile *p = w->x->profile;
	struct buf *out = &w->out->buf;

	buf_str(out, ",\n\"libs\":[");
	for (uint32_t i = 0; i < p->images.n; i++) {
		const char *path = frame_image_path(w->x->frames, i);
		const char *name = frame_image_name(w->x->frames, i);
		char build_id[BUILD_ID_HEX_SIZE];

		build_id_hex(&p->images.data[i].image->build_id, build_id);
		buf_str(out, i ? ",\n{" : "\n{");
		firefox_put_text(out, "arch", p->session->info.arch);
		firefox_put_text(out, "name", name);
		firefox_put_text(out, "path", path);
		firefox_put_text(out, "debugName", name);
		firefox_put_text(out, "debugPath", path);
		buf_str(out, "\"breakpadId\":\"");
		put_breakpad_id(out, &p->images.data[i].image->build_id);
		buf_printf(out, *build_id ? "\",\"codeId\":\"%s\"}" : "\",\"codeId\":null}",
			   build_id);
		sink_step(w->out);
	}
	buf_str(out, "\n]");
}

static void put_meta(struct firefox *w)
{
	const struct session_info *info = &w->x->profile->session->info;
	uint64_t period = info->n_counters ? counter_period(&info->counters[0]) : 0;
	struct buf *out = &w->out->buf;

	buf_str(out, "{\"meta\":{\"interval\":");
	text_scaled(out, period ? period : 1000000, 1000000);
	buf_str(out, ",\"startTime\":");
	text_scaled(out, info->start_wall_ns, 1000000);
	buf_printf(out,
		   ",\"processType\":0,\"stackwalk\":1,\"version\":" GECKO_VERSION
		   ",\"preprocessedProfileVersion\":" FORMAT_VERSION ",\"logicalCPUs\":%" PRIu32
		   ",",
		   info->n_cpus);
	firefox_put_text(out, "product", info->command[0] ? info->command : info->target);
	firefox_put_text(out, "arguments", info->command);
	firefox_put_text(out, "oscpu", info->os_release);
	firefox_put_text(out, "platform", "Linux");
	firefox_put_text(out, "CPUName", info->cpu_model);
	firefox_put_text(out, "importedFrom", "assay");
	buf_str(out, "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		     "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],\"categories\":["
		     "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		     "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		     "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}]}");
}

/* ---- threads ---- */

static void firefox_put_stack(struct firefox *w, const struct profile_sample *sample)
{
	text_u64(&w->out->buf, w->first_stack[sample->node + 1] - 1);
}

static void firefox_put_time(struct firefox *w, const struct profile_sample *sample)
{
	uint64_t start = w->x->profile->session->info.start_ns;

	text_scaled(&w->out->buf, sample->time_ns > start ? sample->time_ns - start : 0, 1000000);
}

static void firefox_put_weight(struct firefox *w, const struct profile_sample *sample)
{
	text_u64(&w->out->buf, weight_value(&sample->weight, w->x->options->by_period));
}

static int firefox_put_samples(struct firefox *w, const struct track *track, struct error *err)
{
	static const struct {
		const char *key;
		void (*put)(struct firefox *w, const struct profile_sample *sample);
	} columns[] = { { "stack", firefox_put_stack },
			{ "time", firefox_put_time },
			{ "weight", firefox_put_weight } };
	struct buf *out = &w->out->buf;
	size_t n = 0;
	int r = 0;

	buf_str(out, "\"samples\":{\"weightType\":\"samples\",");
	for (size_t i = 0; i < ARRAY_SIZE(columns) && r >= 0; i++) {
		struct pile_reader reader;

		buf_printf(out, "\"%s\":[", columns[i].key);
		track_open(&w->tracks, track, &reader);
		for (n = 0; pile_next(&reader); n++) {
			buf_str(out, n ? "," : "");
			columns[i].put(w, &reader.sample);
			sink_step(w->out);
		}
		buf_str(out, "],");
		r = pile_close(&reader, err);
	}
	firefox_end_table(w, n);
	return r;
}

/* A thread has one kind of samples: with several events, each gets its own thread. */
static int firefox_put_thread(struct firefox *w, const struct track *track, struct error *err)
{
	const struct profile *p = w->x->profile;
	const struct session_info *info = &p->session->info;
	const struct profile_process *thread = &p->threads.data[track->thread];
	const char *comm = strings_get(&p->comms, thread->comm);
	cleanup(free_at_exit) char *name =
		info->n_counters > 1
			? xasprintf("%s (%s)", comm, info->counters[track->counter].name)
			: xstrdup(comm);
	struct buf *out = &w->out->buf;
	int r;

	buf_u8(out, '{');
	firefox_put_text(out, "name", name);
	firefox_put_text(out, "processName", comm);
	buf_printf(out, "\"pid\":\"%" PRId32 "\",\"tid\":%" PRId32 ",\"isMainThread\":%s,",
		   thread->pid, thread->tid, thread->pid == thread->tid ? "true" : "false");
	buf_str(out,
		"\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
		"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
		"\"phase\":[],\"category\":[],\"length\":0},\n");
	r = firefox_put_samples(w, track, err);
	buf_u8(out, '}');
	return r;
}

static int write_firefox(const struct export *x, struct sink *out, struct error *err)
{
	struct firefox w = { .x = x, .out = out };
	int r;

	strings_init(&w.strings);
	strings_init(&w.sources);
	r = tracks_init(&w.tracks, x->profile, err);
	firefox_number_stacks(&w);
	put_meta(&w);
	put_libraries(&w);
	put_shared(&w);
	buf_str(&out->buf, ",\n\"threads\":[");
	vec_foreach (&w.tracks.list, track) {
		buf_str(&out->buf, track == w.tracks.list.data ? "\n" : ",\n");
		r = r < 0 ? r : firefox_put_thread(&w, track, err);
	}
	buf_str(&out->buf, "\n]}\n");
	free(w.first_stack);
	tracks_fini(&w.tracks);
	strings_fini(&w.sources);
	strings_fini(&w.strings);
	return r;
}

const struct export_ops export_firefox = {
	.target = EXPORT_STREAM,
	.is_binary = true,
	.is_gzip = true,
	.keys = TRACK_KEYS,
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.with_samples = true,
	.write = write_firefox,
};
