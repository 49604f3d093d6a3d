/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/reserve.h"
#include "oprofile/oprofile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/intmap.h"
#include "counter/catalog/cpu_type.h"
#include "guard/open.h"
#include "import/importer.h"
#include "oprofile/store/facts.h"
#include "oprofile/store/oprofile_files.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/store/sample_name.h"
#include "pipeline/host.h"
#include "pipeline/image_files.h"
#include "symbol/file_functions.h"

#define READ_BYTES (256 << 10)
#define KALLSYMS   "/proc/kallsyms"

struct found_file {
	char *path;
	struct sample_name name;
	uint32_t counter;
};

struct jit_file {
	char *path; /* of the .jo */
	int32_t pid;
};

/* Anonymous memory of a process, or where a .jo file has its names, all of it. */
struct jit_image {
	int32_t pid;
	image_id image;
	uint64_t start, end; /* end: the last byte */
};

/* A kernel's file: offsets in samples count from its .text. */
struct kernel_file {
	char *path;
	uint64_t text; /* where .text lies in the file */
};

struct oprofile_import {
	const struct import_config *config;
	struct import_result *result;
	char *samples, *root; /* root: of an archive, "" for this machine */
	VEC(struct found_file) files;
	VEC(struct jit_file) jit;
	VEC(struct jit_image) jit_images;
	VEC(struct kernel_file) kernels;
	struct session_facts facts;
	bool has_abi;
	struct sample_file_abi abi;
	VEC(struct counter_info) counters;
	uint32_t merged;
	struct image_table *images;
	struct strings strings;
	struct intmap checked; /* image: its file was compared with the header's mtime */
	struct store *store;
	uint64_t start_ns, wall_ns, n_changed;
	char cpu_model[128];
	uint8_t *buffer; /* READ_BYTES */
};

/* Finding the files. */

static bool import_oprofile_has_samples(const char *path)
{
	cleanup(free_at_exit) char *samples = oprofile_files_find(path);

	return samples != NULL;
}

__attribute__((format(printf, 2, 3))) static void note(struct oprofile_import *im,
						       const char *format, ...)
{
	va_list args;
	char line[512];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	vec_push(&im->result->notes, xstrdup(line));
}

static void keep_damage(void *context, const struct error *err)
{
	struct oprofile_import *im = context;

	if (!im->result->damage.code)
		im->result->damage = *err;
}

static void found(void *context, const char *path)
{
	struct oprofile_import *im = context;
	const char *name = path + strlen(im->samples) + 1;
	size_t n = strlen(path);
	struct found_file file = { 0 };
	struct error err = { 0 };

	if (reserve_check() < 0)
		return;
	if (strncmp(name, "{root}", 6) != 0 && strncmp(name, "{kern}", 6) != 0)
		return; /* stats/ and the like */
	if (n > 3 && !strcmp(path + n - 3, ".jo")) {
		const char *slash = strrchr(path, '/');
		char *real = realpath(path, NULL);

		vec_push(&im->jit,
			 (struct jit_file){ real ? real : xstrdup(path), atoi(slash + 1) });
		return;
	}
	if (sample_name_parse(name, &file.name, &err) < 0) {
		keep_damage(im, &err);
		return;
	}
	file.path = xstrdup(path);
	vec_push(&im->files, file);
}

static int find_files(struct oprofile_import *im, struct error *err)
{
	const struct oprofile_walker walker = { found, keep_damage, im };

	oprofile_files_walk(im->samples, &walker);
	if (reserve_check() < 0)
		return reserve_error(err);
	return im->files.n ? 0 : error_set(err, -ENOENT, "no sample files in %s", im->samples);
}

/* ---- events and separation ---- */

/* The names of events in our own facts are as the user typed them. */
static struct counter_info describe_event(const struct oprofile_import *im,
					  const struct sample_name *name)
{
	for (uint32_t i = 0; i < im->facts.info.n_counters; i++) {
		const struct counter_info *c = &im->facts.info.counters[i];
		cleanup(free_at_exit) char *event = sample_name_event(c->name);

		if (!strcmp(event, name->event) && c->count == name->count &&
		    c->unit_mask == name->unit_mask)
			return *c;
	}
	return (struct counter_info){ .name = name->event,
				      .spec = name->event,
				      .unit = "events",
				      .count = name->count,
				      .unit_mask = name->unit_mask,
				      .in_user = true,
				      .in_kernel = true };
}

static uint32_t find_event(struct oprofile_import *im, const struct sample_name *name)
{
	struct counter_info wanted = describe_event(im, name);

	for (uint32_t i = 0; i < im->counters.n; i++) {
		const struct counter_info *c = &im->counters.data[i];

		if (!strcmp(c->name, wanted.name) && c->count == wanted.count &&
		    c->unit_mask == wanted.unit_mask)
			return i;
	}
	vec_push(&im->counters, wanted);
	return (uint32_t)im->counters.n - 1;
}

/*
 * A name has the application, also where libraries or the kernel were not kept apart. A merge would
 * take the code's image: the wrong one for an arc into a library.
 */
static void find_classes(struct oprofile_import *im)
{
	uint32_t kept = SEPARATE_LIB | SEPARATE_KERNEL;

	vec_foreach (&im->files, f) {
		const struct sample_name *n = &f->name;

		f->counter = find_event(im, n);
		kept |= n->tgid != SAMPLE_NAME_ALL ? SEPARATE_PROCESS : 0;
		kept |= n->tid != SAMPLE_NAME_ALL ? SEPARATE_THREAD : 0;
		kept |= n->cpu != SAMPLE_NAME_ALL ? SEPARATE_CPU : 0;
	}
	im->merged = (im->facts.owner ? im->facts.info.merged : SEPARATE_ALL) & ~kept;
}

/* Images. */

static void restore_build_id(const struct oprofile_import *im, struct image *image)
{
	for (uint32_t i = 0; i < im->facts.n_images; i++) {
		const struct image *known = &im->facts.images[i];

		if (known->kind == image->kind && !strcmp(known->path, image->path)) {
			image->build_id = known->build_id;
			return;
		}
	}
}

static const char *jit_file_of(const struct oprofile_import *im, int64_t pid)
{
	vec_foreach (&im->jit, jit)
		if (jit->pid == pid)
			return jit->path;
	return NULL;
}

/* Memory without a file is an image for each region, or for each file of names of its process. */
static image_id find_jit_image(struct oprofile_import *im, const struct sample_image_name *name)
{
	const char *named = jit_file_of(im, name->tgid);
	cleanup(free_at_exit) char *path =
		named ? xstrdup(named)
		      : xasprintf("%s (tgid:%" PRId64 " range:0x%" PRIx64 "-0x%" PRIx64 ")",
				  name->text, name->tgid, name->start, name->end);
	struct image image = { .kind = IMAGE_JIT, .pid = (int32_t)name->tgid, .path = path };
	struct jit_image known = { .pid = image.pid,
				   .start = named ? 0 : name->start,
				   .end = named ? UINT64_MAX : name->end };

	if (image_is_known(im->images, &image))
		return image_intern(im->images, &image);
	known.image = image_intern(im->images, &image);
	vec_push(&im->jit_images, known);
	return known.image;
}

/* Where the zero of a kernel's samples is in its file, which is opened once. */
static uint64_t kernel_text(struct oprofile_import *im, const char *path)
{
	vec_foreach (&im->kernels, kernel)
		if (!strcmp(kernel->path, path))
			return kernel->text;
	vec_push(&im->kernels, (struct kernel_file){ xstrdup(path), oprofile_files_text(path) });
	return im->kernels.data[im->kernels.n - 1].text;
}

static image_id find_image(struct oprofile_import *im, const struct sample_image_name *name,
			   bool is_kernel)
{
	cleanup(free_at_exit) char *path = NULL;
	struct image image = { .kind = IMAGE_FILE, .path = name->text };

	if (name->kind == SAMPLE_IMAGE_ANON && !strcmp(name->text, "[vdso]")) {
		image.kind = IMAGE_VDSO;
	} else if (name->kind == SAMPLE_IMAGE_ANON && strcmp(name->text, "unknown") != 0) {
		return find_jit_image(im, name);
	} else if (name->kind == SAMPLE_IMAGE_ANON ||
		   (name->kind == SAMPLE_IMAGE_KERN && !strcmp(name->text, "unknown"))) {
		return IMAGE_UNKNOWN_ID;
	} else if (name->kind == SAMPLE_IMAGE_KERN && !strncmp(name->text, "bpf_prog_", 9)) {
		image.kind = IMAGE_BPF;
	} else if (name->kind == SAMPLE_IMAGE_KERN) {
		path = xasprintf("[%s]", name->text);
		image = (struct image){ .kind = IMAGE_MODULE, .path = path };
	} else if (!strcmp(name->text, KALLSYMS) || (is_kernel && im->facts.owner)) {
		image = (struct image){ .kind = IMAGE_KERNEL, .path = "[kernel]" };
	} else if (im->root[0] && !im->config->keeps_paths) {
		path = xasprintf("%s%s", im->root, name->text);
		if (access(path, F_OK) == 0)
			image.path = path;
	}
	restore_build_id(im, &image);
	return image_intern(im->images, &image);
}

/*
 * If the present file has the modification time in the samples' header, it is the file that ran,
 * and its build id is used.
 */
static void import_oprofile_check_file(struct oprofile_import *im, image_id id, uint64_t mtime)
{
	const struct image *image = image_get(im->images, id);
	bool is_below_root = im->config->keeps_paths && im->root[0];
	cleanup(free_at_exit) char *here =
		xasprintf("%s%s", is_below_root ? im->root : "", image->path);
	cleanup(free_at_exit) char *path = NULL;
	struct image there = *image;
	struct build_id build_id = { 0 };
	struct stat st;
	bool is_new;

	there.path = here;
	intmap_put(&im->checked, id.n, &is_new);
	if (!is_new || image->kind != IMAGE_FILE || image->build_id.len || stat(here, &st) < 0)
		return;
	if (mtime && (uint64_t)st.st_mtime != mtime) {
		im->n_changed++;
		return;
	}
	path = image_files_find(NULL, 0, &there, &build_id);
	if (path && build_id.len)
		image_set_build_id(im->images, id, &build_id);
}

/* Samples. */

/*
 * Code of no file is at its absolute address; the vdso counts from its start, as a file. A kernel's
 * file counts from its .text.
 */
static uint64_t offset_of(struct oprofile_import *im, const struct sample_image_name *name,
			  image_id id, bool is_kernel, uint64_t key)
{
	if (is_kernel && image_get(im->images, id)->kind == IMAGE_FILE)
		return key + kernel_text(im, image_get(im->images, id)->path);
	if (name->kind != SAMPLE_IMAGE_ANON || image_get(im->images, id)->kind == IMAGE_VDSO)
		return key;
	return name->start + key;
}

static struct sample sample_of(struct oprofile_import *im, const struct found_file *f,
			       const struct code_addr *frames, uint32_t n_frames)
{
	return (struct sample){ .class = { .counter = f->counter,
					   .app = find_image(im, &f->name.main, false),
					   .pid = (int32_t)f->name.tgid,
					   .tid = (int32_t)f->name.tid,
					   .cpu = (uint32_t)f->name.cpu },
				.time_ns = im->start_ns,
				.frames = frames,
				.n_frames = n_frames };
}

static int import_oprofile_add_samples(struct oprofile_import *im, const struct found_file *f,
				       const struct sample_file_view *view, struct error *err)
{
	image_id dep = find_image(im, &f->name.dep, view->header.is_kernel);
	struct code_addr frame = { .image = dep };
	struct sample sample = sample_of(im, f, &frame, 1);

	import_oprofile_check_file(im, dep, view->header.mtime);
	for (uint32_t i = 0; i < view->n_nodes; i++) {
		uint64_t key;
		uint32_t n;
		int r;

		if (reserve_check() < 0)
			return reserve_error(err);
		sample_file_node(view, i, &key, &n);
		if (!n)
			continue;
		frame.offset = offset_of(im, &f->name.dep, dep, view->header.is_kernel, key);
		sample.samples = n;
		sample.period = n * MAX(f->name.count, (uint64_t)1);
		im->result->counts.samples += n;
		r = im->config->ops->add(im->store, &sample, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Half of a key is the caller's offset, half the callee's (machine/image.h says how arcs are kept).
 */
static int import_oprofile_add_arcs(struct oprofile_import *im, const struct found_file *f,
				    const struct sample_file_view *view, struct error *err)
{
	image_id caller = find_image(im, &f->name.dep, view->header.is_kernel);
	image_id callee = find_image(im, &f->name.callee, view->header.callee_is_kernel);
	struct code_addr frames[] = {
		{ .image = callee },
		{ .image = caller },
		{ .image = image_intern(im->images, &(struct image){ .kind = IMAGE_NAMED,
								     .path = IMAGE_ARCS_PATH }) }
	};
	struct sample arc = sample_of(im, f, frames, ARRAY_SIZE(frames));

	for (uint32_t i = 0; i < view->n_nodes; i++) {
		uint64_t key;
		uint32_t n;
		int r;

		if (reserve_check() < 0)
			return reserve_error(err);
		sample_file_node(view, i, &key, &n);
		if (!n)
			continue;
		frames[0].offset = offset_of(im, &f->name.callee, callee,
					     view->header.callee_is_kernel, (uint32_t)key);
		frames[1].offset =
			offset_of(im, &f->name.dep, caller, view->header.is_kernel, key >> 32);
		arc.period = n;
		r = im->config->ops->add(im->store, &arc, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Reads a file. Most files are small, and reading is cheaper than mapping them; only files larger
 * than the buffer are mapped. *size: the number of bytes.
 */
static const uint8_t *read_bytes(struct oprofile_import *im, const char *path,
				 struct file_mapping *map, size_t *size, struct error *err)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0) {
		error_errno(err, -errno, "%s", path);
		return NULL;
	}
	if (!im->buffer)
		im->buffer = xmalloc(READ_BYTES);
	n = read(fd, im->buffer, READ_BYTES);
	if (n >= 0 && n < READ_BYTES) {
		*size = (size_t)n;
		return im->buffer;
	}
	if (n < 0 || file_map(path, map, err) < 0) {
		if (n < 0)
			error_errno(err, -errno, "%s", path);
		return NULL;
	}
	*size = map->size;
	return map->base;
}

static int import_oprofile_read_file(struct oprofile_import *im, const struct found_file *f,
				     struct error *err)
{
	struct file_mapping map = { 0 };
	struct sample_file_view view;
	struct error damage = { 0 };
	size_t size = 0;
	const uint8_t *bytes = read_bytes(im, f->path, &map, &size, &damage);
	int r = bytes ? 0 : -EIO;

	if (r >= 0) {
		r = sample_file_parse(bytes, size, im->has_abi ? &im->abi : NULL, &view, &damage);
		if (r < 0)
			error_wrap(&damage, r, "%s", f->path);
	}
	if (r < 0) {
		keep_damage(im, &damage);
		file_unmap(&map);
		return 0;
	}
	im->result->bytes += size;
	r = (f->name.is_arc ? import_oprofile_add_arcs : import_oprofile_add_samples)(im, f, &view,
										      err);
	file_unmap(&map);
	return r;
}

/* Code of a process, in each image of its memory that has the code. */
static void name_code_of(struct oprofile_import *im, int32_t pid, uint64_t offset, uint64_t size,
			 const char *name)
{
	vec_foreach (&im->jit_images, jit)
		if (jit->pid == pid && offset <= jit->end && offset + size > jit->start)
			im->config->ops->name_code(im->store,
						   &(struct code_symbol){ jit->image, offset, size,
									  name });
}

/* opjitconv's ELF files: symbols at the addresses where the code was. */
static void name_jit_code(struct oprofile_import *im, const struct jit_file *jit)
{
	struct file_functions functions = { 0 };
	struct file_mapping map = { 0 };
	struct error err = { 0 };
	int r = guard_map(GUARD_HERE, jit->path, &guard_image_rules, &map, &err);

	if (r >= 0)
		r = file_functions_ask(&map, IMAGE_HIDDEN, FUNCTIONS_NAMES, NULL, &functions, &err);
	file_unmap(&map);
	if (r < 0) {
		error_wrap(&err, err.code, "%s", jit->path);
		keep_damage(im, &err);
	}
	for (uint32_t i = 0; i < functions.head.n && reserve_check() >= 0; i++) {
		const struct file_function *f = &functions.list[i];

		name_code_of(im, jit->pid, f->link_addr, f->size,
			     file_functions_name(&functions, f));
	}
	file_functions_fini(&functions);
}

/* Names that our own store kept beside the samples; the image is the one that find_image() makes.
 */
static void name_known_code(struct oprofile_import *im)
{
	vec_foreach (&im->facts.symbols, known) {
		size_t n = strlen(known->path);
		bool has_brackets = n > 2 && known->path[0] == '[';
		cleanup(free_at_exit) char *bare =
			has_brackets ? xstrndup(known->path + 1, n - 2) : xstrdup(known->path);
		struct image image = { .kind = known->kind, .path = bare };

		if (known->kind == IMAGE_JIT)
			name_code_of(im, known->pid, known->offset, known->size, known->name);
		if (known->kind != IMAGE_BPF)
			continue;
		im->config->ops->name_code(im->store,
					   &(struct code_symbol){ image_intern(im->images, &image),
								  known->offset, known->size,
								  known->name });
	}
}

/* What was lost. */

static void import_oprofile_tell_losses(struct oprofile_import *im)
{
	uint64_t lost = im->facts.owner ? 0 : oprofile_files_lost(im->samples);

	for (int i = 0; i < N_LOSS_REASONS; i++) {
		im->config->ops->lose(im->store, (enum loss_reason)i, UINT32_MAX,
				      im->facts.lost[i]);
		if (loss_texts[i].kind == LOSS_LOST)
			im->result->counts.lost += im->facts.lost[i];
		else if (loss_texts[i].kind == LOSS_UNATTRIBUTED)
			im->result->counts.unattributed += im->facts.lost[i];
	}
	im->config->ops->lose(im->store, LOSS_SOURCE, UINT32_MAX, lost);
	im->result->counts.lost += lost;
}

static void tell_rest(struct oprofile_import *im)
{
	if (im->facts.lost_arcs)
		note(im, "%" PRIu64 " counts of arcs could not be written while recording",
		     im->facts.lost_arcs);
	if (im->n_changed)
		note(im,
		     "%" PRIu64 " binaries have changed since the samples were taken: their "
		     "symbols may be wrong",
		     im->n_changed);
}

/* The session. */

/* "AMD64 generic, speed 2400 MHz (estimated)": as opreport has it, of the first file's header. */
static const char *import_oprofile_read_cpu_model(struct oprofile_import *im)
{
	for (size_t i = 0; i < im->files.n && !*im->cpu_model; i++) {
		struct file_mapping map = { 0 };
		const struct cpu_type *cpu = NULL;
		struct sample_file_view view;

		if (file_map(im->files.data[i].path, &map, NULL) == 0 &&
		    sample_file_parse(map.base, map.size, im->has_abi ? &im->abi : NULL, &view,
				      NULL) >= 0)
			cpu = cpu_type_by_number(view.header.cpu_type);
		if (cpu && view.header.cpu_mhz > 0)
			snprintf(im->cpu_model, sizeof(im->cpu_model),
				 "%s, speed %g MHz (estimated)", cpu->pretty, view.header.cpu_mhz);
		else if (cpu)
			snprintf(im->cpu_model, sizeof(im->cpu_model), "%s", cpu->pretty);
		file_unmap(&map);
	}
	return im->cpu_model;
}

static int import_oprofile_read_abi(struct oprofile_import *im, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/../../abi", im->samples);
	cleanup(free_at_exit) char *text = NULL;
	int r = file_read_all(path, 1 << 16, &text, NULL);

	if (r < 0)
		return r == -ENOENT ? 0 : error_errno(err, r, "%s", path);
	r = sample_file_abi_parse(text, &im->abi, err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	im->has_abi = true;
	return 0;
}

static int import_oprofile_open_session(struct oprofile_import *im, struct error *err)
{
	struct session_info info = im->facts.info;
	struct stat st;

#define X(field)         \
	if (!info.field) \
		info.field = "";
	SESSION_INFO_TEXTS(X)
#undef X
	info.version = im->config->version;
	if (!im->facts.owner) {
		info.target = "OProfile's sample files";
		info.collector = "OProfile";
		info.stacks = "none";
		info.cpu_model = import_oprofile_read_cpu_model(im);
	}
	if (!info.start_wall_ns && stat(im->samples, &st) == 0)
		info.start_wall_ns = (uint64_t)st.st_mtime * NS_PER_SECOND;
	info.counters = im->counters.data;
	info.n_counters = (uint32_t)im->counters.n;
	info.merged = im->merged;
	im->start_ns = info.start_ns;
	return im->config->ops->open(im->config->dir, &info, im->images, &im->strings, &im->store,
				     err);
}

static int import_oprofile_fill_session(struct oprofile_import *im, struct error *err)
{
	struct session_end end = { .end_ns = im->start_ns, .exit_status = -1 };
	uint64_t n_unwritten = 0;
	int r = 0, r_close;

	for (size_t i = 0; i < im->files.n && r >= 0; i++)
		r = import_oprofile_read_file(im, &im->files.data[i], err);
	vec_foreach (&im->jit, jit)
		name_jit_code(im, jit);
	name_known_code(im);
	import_oprofile_tell_losses(im);
	if (im->facts.has_end)
		end = im->facts.end;
	im->result->duration_ns = end.end_ns > im->start_ns ? end.end_ns - im->start_ns : 0;
	r_close = im->config->ops->close(im->store, &end, &n_unwritten, r < 0 ? NULL : err);
	im->result->counts.samples -= n_unwritten;
	im->result->counts.lost += n_unwritten;
	tell_rest(im);
	return r < 0 ? r : r_close;
}

static void import_fini(struct oprofile_import *im)
{
	vec_foreach (&im->files, f) {
		free(f->path);
		sample_name_fini(&f->name);
	}
	vec_foreach (&im->jit, jit)
		free(jit->path);
	vec_fini(&im->files);
	vec_foreach (&im->kernels, kernel)
		free(kernel->path);
	vec_fini(&im->jit);
	vec_fini(&im->jit_images);
	vec_fini(&im->kernels);
	vec_fini(&im->counters);
	intmap_fini(&im->checked);
	session_facts_fini(&im->facts);
	image_table_free(im->images);
	strings_fini(&im->strings);
	free(im->samples);
	free(im->root);
	free(im->buffer);
}

static int import_oprofile(const struct import_config *config, struct import_result *out,
			   struct error *err)
{
	struct oprofile_import im = { .config = config, .result = out };
	cleanup(free_at_exit) char *facts_path = NULL;
	int r;

	*out = (struct import_result){ 0 };
	im.samples = oprofile_files_find(config->path);
	if (!im.samples)
		return error_set(err, -ENOENT, "%s has no sample files of OProfile", config->path);
	im.root = oprofile_files_root(config->path);
	im.root = im.root ? im.root : xstrdup("");
	im.images = image_table_new();
	strings_init(&im.strings);
	facts_path = xasprintf("%s/" FACTS_FILE, im.samples);
	r = session_facts_read(facts_path, &im.facts, err);
	if (r == -ENOENT)
		r = 0;
	if (r >= 0)
		r = import_oprofile_read_abi(&im, err);
	if (r >= 0)
		r = find_files(&im, err);
	if (r >= 0) {
		find_classes(&im);
		r = import_oprofile_open_session(&im, err);
	}
	if (r >= 0)
		r = import_oprofile_fill_session(&im, err);
	import_fini(&im);
	return r;
}

const struct importer oprofile_importer = { import_oprofile_has_samples, import_oprofile,
					    oprofile_files_root };
