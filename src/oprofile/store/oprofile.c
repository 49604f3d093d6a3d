/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store of OProfile's sample files: one file for each class and image, with counts by address;
 * arcs of the call graph are in separate files. Times are not kept.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/path.h"
#include "counter/catalog/event_files.h"
#include "oprofile/store/facts.h"
#include "oprofile/store/jit_file.h"
#include "oprofile/store/open_files.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/store/sample_name.h"
#include "pipeline/host.h"
#include "pipeline/image_files.h"
#include "store/store.h"

#define SESSION_DIR "samples/current"

/* The kernel's symbols, as operf names the kernel's image where there is no vmlinux. */
#define KERNEL_PATH "/proc/kallsyms"

/* OProfile's number of a processor that its tables do not name. */
#define CPU_GENERIC 69

/* Mapped at once; the kernel permits 65530 mappings a process (vm.max_map_count). */
#define FILES_MAX 8192

/* Anonymous code is cut into regions of 4 GiB, so that an arc's half of a key reaches it. */
#define REGION_MASK 0xffffffffULL

#define NOT_LOOKED_AT UINT64_MAX

/* An image in the names of files, and the first image of that name. */
struct image_name {
	char *text;
	uint32_t first;
};

/* A folder of a process's anonymous memory in an application: names of its code go there. */
struct jit_folder {
	int32_t pid;
	char *path;
};

struct store {
	const struct image_table *images;
	const struct strings *strings;
	char *dir; /* of the session's samples */
	char *facts_path;
	struct session_facts facts;
	bool facts_changed;
	struct open_files *files;
	uint64_t n_unwritten; /* samples that could not be written */
	VEC(struct jit_folder) jit_folders;
	struct intmap jit_owners; /* (process, process of the names): the parent's after a fork */
	VEC(struct image_name) names; /* by image; without a text: not asked for yet */
	struct strings texts;         /* of names */
	VEC(uint32_t) first_of_text;  /* by id: an image */
	VEC(uint64_t) mtimes;         /* by image, or NOT_LOOKED_AT */
	uint32_t cpu_type;            /* OProfile's number */
	double cpu_mhz;
	uint32_t *codes; /* of the counters, by event files; 0: not known */
};

/* Names. */

static bool oprofile_is_kernel_image(const struct image *image)
{
	return image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE ||
	       image->kind == IMAGE_BPF;
}

static bool oprofile_is_anonymous(const struct image *image)
{
	return image->kind == IMAGE_JIT || image->kind == IMAGE_UNKNOWN ||
	       image->kind == IMAGE_VDSO || (image->kind == IMAGE_FILE && image->path[0] != '/');
}

static const char *anonymous_label(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_VDSO:
		return "[vdso]";
	case IMAGE_UNKNOWN:
		return "unknown";
	default:
		return "anon";
	}
}

/* A module is "[ext4]" to us. */
static char *kernel_name(const char *path)
{
	size_t n = strlen(path);
	bool has_brackets = n > 2 && path[0] == '[' && path[n - 1] == ']';

	return has_brackets ? xstrndup(path + 1, n - 2) : xstrdup(path);
}

static char *plain_name(const struct image *image)
{
	if (image->kind == IMAGE_KERNEL)
		return xstrdup(KERNEL_PATH);
	if (oprofile_is_anonymous(image))
		return xstrdup(anonymous_label(image));
	return image->kind == IMAGE_FILE ? xstrdup(image->path) : kernel_name(image->path);
}

/*
 * Two images of one name would write to one file at once. Files and BPF programs that differ get
 * different names: "/usr/bin/app #2", which no reader takes for the file at that path. Anonymous
 * memory is told apart by process and region, so all of it is one image, and so are modules.
 */
static const struct image_name *name_of(struct store *s, uint32_t number)
{
	const struct image *image = image_get(s->images, (image_id){ number });
	bool is_apart = !oprofile_is_anonymous(image) &&
			(image->kind == IMAGE_FILE || image->kind == IMAGE_BPF);
	struct image_name *name;

	while (s->names.n <= number)
		vec_push(&s->names, (struct image_name){ 0 });
	name = &s->names.data[number];
	for (int copy = 1; !name->text; copy++) {
		cleanup(free_at_exit) char *plain = plain_name(image);
		cleanup(free_at_exit) char *text =
			copy == 1 ? take_ptr(plain) : xasprintf("%s #%d", plain, copy);
		string_id id = strings_add(&s->texts, text);

		if (id.n < s->first_of_text.n && is_apart)
			continue;
		if (id.n >= s->first_of_text.n)
			vec_push(&s->first_of_text, number);
		*name = (struct image_name){ take_ptr(text), s->first_of_text.data[id.n] };
	}
	return name;
}

/* Returns the part of a name for the code's image. *key: the code's offset in that image. */
static struct file_image oprofile_file_image(struct store *s, const struct code_addr *code,
					     int32_t pid, uint64_t *key)
{
	const struct image *image = image_get(s->images, code->image);
	struct file_image out = { .image = name_of(s, code->image.n)->first };

	*key = code->offset;
	if (oprofile_is_anonymous(image)) {
		/* a child goes on with its parent's image of memory that both have */
		out.pid = pid > 0 || image->kind != IMAGE_JIT ? pid : image->pid;
		out.start = code->offset & ~REGION_MASK;
		*key = code->offset & REGION_MASK;
	}
	return out;
}

static struct sample_image_name oprofile_image_name(struct store *s, const struct file_image *part,
						    bool is_main)
{
	const struct image *image = image_get(s->images, (image_id){ part->image });
	const char *text = name_of(s, part->image)->text;
	struct sample_image_name name = { .kind = *text == '/' ? SAMPLE_IMAGE_ROOT
							       : SAMPLE_IMAGE_KERN };

	if (oprofile_is_anonymous(image) && is_main) {
		text = "unknown"; /* what operf calls it */
	} else if (oprofile_is_anonymous(image)) {
		name.kind = SAMPLE_IMAGE_ANON;
		name.tgid = MAX(part->pid, 0);
		name.start = part->start;
		name.end = part->start | REGION_MASK;
	}
	name.text = xstrdup(text);
	return name;
}

static char *file_path(struct store *s, const struct file_key *key)
{
	const struct counter_info *counter = &s->facts.info.counters[key->counter];
	struct sample_name name = {
		.main = oprofile_image_name(s, &key->main, true),
		.dep = oprofile_image_name(s, &key->dep, false),
		.callee = oprofile_image_name(s, &key->callee, false),
		.is_arc = key->is_arc,
		.event = sample_name_event(counter->name),
		.count = counter->count,
		.unit_mask = counter->unit_mask,
		.tgid = key->tgid,
		.tid = key->tid,
		.cpu = key->cpu,
	};
	struct buf text = { 0 };
	char *path;

	sample_name_write(&name, &text);
	path = xasprintf("%s/%s", s->dir, buf_cstr(&text));
	buf_fini(&text);
	sample_name_fini(&name);
	return path;
}

/* Files. */

/* Of the file at an image's path, if that still is the image; else 0. Looked at once. */
static uint64_t mtime_of(struct store *s, image_id id)
{
	const struct image *image = image_get(s->images, id);
	cleanup(free_at_exit) char *path = NULL;
	struct stat st;

	while (s->mtimes.n <= id.n)
		vec_push(&s->mtimes, NOT_LOOKED_AT);
	if (s->mtimes.data[id.n] != NOT_LOOKED_AT)
		return s->mtimes.data[id.n];
	if (image->kind == IMAGE_FILE && image->path[0] == '/')
		path = image_files_find(NULL, 0, image, NULL);
	s->mtimes.data[id.n] = path && stat(path, &st) == 0 ? (uint64_t)st.st_mtime : 0;
	return s->mtimes.data[id.n];
}

/* `folder` is the folder of one region; its parent is the folder of the process. */
static void note_jit_folder(struct store *s, int32_t pid, const char *folder)
{
	size_t len = path_folder_len(folder);

	vec_foreach (&s->jit_folders, f)
		if (f->pid == pid && strlen(f->path) == len && !strncmp(f->path, folder, len))
			return;
	vec_push(&s->jit_folders, (struct jit_folder){ pid, xstrndup(folder, len) });
}

static uint64_t jit_owner(int32_t pid, int32_t image_pid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)image_pid;
}

static int oprofile_open_file(struct store *s, const struct file_key *key, struct sample_file **out,
			      struct error *err)
{
	const struct counter_info *counter = &s->facts.info.counters[key->counter];
	const struct image *dep = image_get(s->images, (image_id){ key->dep.image });
	const struct image *callee = image_get(s->images, (image_id){ key->callee.image });
	const struct sample_file_header header = {
		.cpu_type = strcmp(counter->unit, "ns") == 0 ? CPU_TYPE_TIMER : s->cpu_type,
		.cpu_mhz = s->cpu_mhz,
		.event = s->codes[key->counter],
		.unit_mask = (uint32_t)counter->unit_mask,
		.count = (uint32_t)MIN(counter->count, (uint64_t)UINT32_MAX),
		.is_kernel = oprofile_is_kernel_image(dep),
		.callee_is_kernel = key->is_arc && oprofile_is_kernel_image(callee),
		.mtime = mtime_of(s, (image_id){ key->dep.image }),
		.anon_start = key->dep.start,
		.callee_anon_start = key->callee.start,
	};
	cleanup(free_at_exit) char *path = file_path(s, key);
	cleanup(free_at_exit) char *folder = path_folder(path);
	int r = file_mkdirs(folder, 0700, err);

	if (r >= 0 && oprofile_is_anonymous(dep) && dep->kind != IMAGE_VDSO &&
	    dep->kind != IMAGE_UNKNOWN && !key->is_arc)
		note_jit_folder(s, key->dep.pid, folder);
	return r < 0 ? r : sample_file_open(path, &header, out, err);
}

static int add_to_file(struct store *s, const struct file_key *key, uint64_t address, uint64_t n,
		       uint64_t *n_unwritten, struct error *err)
{
	struct sample_file *file = open_files_find(s->files, key);
	int r, r_put = 0;

	if (!file) {
		r = oprofile_open_file(s, key, &file, err);
		if (r < 0) {
			*n_unwritten += n;
			return r;
		}
		r_put = open_files_put(s->files, key, file, &s->n_unwritten, err);
	}
	r = sample_file_add(file, address, n, n_unwritten, err);
	return r < 0 ? r : r_put;
}

/* The store. */

/* A build id may be known only after the first sample of an image: all are gone through. */
static void list_images(struct store *s)
{
	uint32_t n = image_count(s->images);

	free(s->facts.images);
	s->facts.images = xcalloc(n, sizeof(*s->facts.images));
	s->facts.n_images = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct image *image = image_get(s->images, (image_id){ i });

		if (!image->build_id.len)
			continue;
		s->facts.images[s->facts.n_images] = *image;
		if (image->kind == IMAGE_FILE)
			s->facts.images[s->facts.n_images].path = name_of(s, i)->text;
		s->facts.n_images++;
	}
}

static int write_facts(struct store *s, struct error *err)
{
	s->facts_changed = false;
	list_images(s);
	return session_facts_write(s->facts_path, &s->facts, err);
}

static int write_abi(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/abi", dir);
	struct buf text = { 0 };
	int r;

	sample_file_abi_write(&text);
	r = file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

static void free_info(struct session_info *info)
{
#define X(field) free((char *)info->field);
	SESSION_INFO_TEXTS(X)
#undef X
	for (uint32_t i = 0; i < info->n_counters; i++) {
		free((char *)info->counters[i].name);
		free((char *)info->counters[i].spec);
		free((char *)info->counters[i].unit);
	}
	free(info->counters);
}

static void copy_info(struct session_info *to, const struct session_info *from)
{
	*to = *from;
#define X(field) to->field = xstrdup(from->field ? from->field : "");
	SESSION_INFO_TEXTS(X)
#undef X
	to->counters = xcalloc(from->n_counters + 1, sizeof(*to->counters));
	for (uint32_t i = 0; i < from->n_counters; i++) {
		const struct counter_info *c = &from->counters[i];

		to->counters[i] = *c;
		to->counters[i].name = xstrdup(c->name);
		to->counters[i].spec = xstrdup(c->spec ? c->spec : "");
		to->counters[i].unit = xstrdup(c->unit ? c->unit : "");
	}
}

/* Whether the samples are of a processor like this machine's. */
static bool is_of_here(const struct session_info *info)
{
	const struct counters none = { 0 };
	struct host host;
	bool is_same;

	host_init(&host, &none, false);
	is_same = !strcmp(host.cpu_model, info->cpu_model);
	host_fini(&host);
	return is_same;
}

/* What headers have of the processor and its events: opreport looks them up in its own tables. */
static void find_codes(struct store *s)
{
	const struct session_info *info = &s->facts.info;
	/* of OProfile's files: "AMD64 generic, speed 2400 MHz (estimated)" */
	const struct cpu_type *known = cpu_type_find_pretty(info->cpu_model), *cpu;
	const char *speed = strstr(info->cpu_model, ", speed ");
	struct event_table t;

	event_files_load(NULL, known ? known->name : NULL, &t, &cpu, NULL);
	cpu = known || is_of_here(info) ? cpu : NULL;
	s->cpu_type = cpu && cpu->number != CPU_TYPE_NEW ? cpu->number : CPU_GENERIC;
	if (known && speed)
		s->cpu_mhz = strtod(speed + strlen(", speed "), NULL);
	else if (!known && cpu)
		s->cpu_mhz = cpu_type_mhz(NULL);
	s->codes = xcalloc(info->n_counters + 1, sizeof(*s->codes));
	for (uint32_t i = 0; i < info->n_counters; i++) {
		const char *name = info->counters[i].name;
		cleanup(free_at_exit) char *bare = xstrndup(name, strcspn(name, ":"));
		const struct table_event *e = cpu ? event_table_find(&t, bare) : NULL;

		s->codes[i] = e ? e->code : 0;
	}
	event_table_fini(&t);
}

static void oprofile_store_free(struct store *s)
{
	free(s->codes);
	open_files_free(s->files);
	free_info(&s->facts.info);
	free(s->facts.images);
	vec_foreach (&s->facts.symbols, symbol)
		free((char *)symbol->name);
	vec_fini(&s->facts.symbols);
	vec_foreach (&s->jit_folders, folder)
		free(folder->path);
	vec_fini(&s->jit_folders);
	intmap_fini(&s->jit_owners);
	vec_fini(&s->mtimes);
	vec_foreach (&s->names, name)
		free(name->text);
	vec_fini(&s->names);
	vec_fini(&s->first_of_text);
	strings_fini(&s->texts);
	free(s->facts_path);
	free(s->dir);
	free(s);
}

static int oprofile_open(const char *dir, const struct session_info *info,
			 const struct image_table *images, const struct strings *strings,
			 struct store **out, struct error *err)
{
	struct store *s = xcalloc(1, sizeof(*s));
	int r;

	s->images = images;
	s->strings = strings;
	s->dir = xasprintf("%s/" SESSION_DIR, dir);
	s->facts_path = xasprintf("%s/" FACTS_FILE, s->dir);
	s->files = open_files_new(FILES_MAX);
	strings_init(&s->texts);
	/* a new table has one text already, "" */
	vec_push(&s->first_of_text, IMAGE_UNKNOWN_ID.n);
	copy_info(&s->facts.info, info);
	find_codes(s);
	r = file_mkdirs(s->dir, 0700, err);
	if (!r)
		r = write_abi(dir, err);
	if (!r)
		r = write_facts(s, err);
	if (r < 0) {
		oprofile_store_free(s);
		return error_wrap(err, r, "cannot create session '%s'", dir);
	}
	*out = s;
	return 0;
}

/* What of the name is the sample's class; the application follows from the image. */
static void oprofile_set_class(const struct store *s, const struct profile_class *class,
			       const struct file_image *dep, struct file_key *key)
{
	struct profile_class merged = *class;
	image_id leaf = { dep->image };

	class_merge(&merged, image_get(s->images, leaf), leaf, s->facts.info.merged);
	key->main = (struct file_image){ .image = merged.app.n };
	key->tgid = merged.pid;
	key->tid = merged.tid;
	key->cpu = (int32_t)merged.cpu;
}

/* A lost count of an arc is not a lost sample: it is reported separately at the end. */
static int oprofile_add_arc(struct store *s, const struct sample *sample, uint32_t callee_frame,
			    uint64_t count, struct file_key *key, struct error *err)
{
	uint64_t caller, callee;

	key->is_arc = true;
	key->dep = oprofile_file_image(s, &sample->frames[callee_frame + 1], sample->class.pid,
				       &caller);
	key->callee =
		oprofile_file_image(s, &sample->frames[callee_frame], sample->class.pid, &callee);
	oprofile_set_class(s, &sample->class, &key->dep, key);
	return add_to_file(s, key, caller << 32 | (callee & REGION_MASK), count,
			   &s->facts.lost_arcs, err);
}

static int oprofile_add_arcs(struct store *s, const struct sample *sample, struct file_key *key,
			     struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i + 1 < sample->n_frames; i++) {
		int now = oprofile_add_arc(s, sample, i, sample->samples, key, r ? NULL : err);

		r = r ? r : now;
	}
	return r;
}

/* An arc that came without a stack (machine/image.h). */
static bool is_arc_alone(const struct store *s, const struct sample *sample)
{
	const struct image *marker;

	if (sample->samples || sample->n_frames != 3)
		return false;
	marker = image_get(s->images, sample->frames[2].image);
	return marker->kind == IMAGE_NAMED && !strcmp(marker->path, IMAGE_ARCS_PATH);
}

static int oprofile_add(struct store *s, const struct sample *sample, struct error *err)
{
	uint64_t address, n_unwritten = 0;
	const struct image *leaf;
	struct file_key key;
	int r, r_arcs;

	memset(&key, 0, sizeof(key));
	key.counter = sample->class.counter;
	if (is_arc_alone(s, sample))
		return oprofile_add_arc(s, sample, 0, sample->period, &key, err);
	leaf = image_get(s->images, sample->frames[0].image);
	key.dep = oprofile_file_image(s, &sample->frames[0], sample->class.pid, &address);
	if (leaf->kind == IMAGE_JIT)
		intmap_put(&s->jit_owners, jit_owner(key.dep.pid, leaf->pid), NULL);
	oprofile_set_class(s, &sample->class, &key.dep, &key);
	r = add_to_file(s, &key, address, sample->samples, &n_unwritten, err);
	s->facts.samples += sample->samples;
	s->n_unwritten += n_unwritten;
	s->facts_changed = true;
	r_arcs = oprofile_add_arcs(s, sample, &key, r ? NULL : err);
	return r ? r : r_arcs;
}

static void oprofile_lose(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)counter;
	s->facts.lost[reason] += n;
	s->facts_changed = true;
}

/* Into assay.json, for all code that has no file; of processes also into .jo files at the end. */
static void oprofile_name_code(struct store *s, const struct code_symbol *symbol)
{
	const struct image *image = image_get(s->images, symbol->image);
	const char *path =
		image->kind == IMAGE_BPF ? name_of(s, symbol->image.n)->text : image->path;

	if (symbol->line) /* sample files have no room for it */
		return;
	vec_push(&s->facts.symbols,
		 (struct facts_symbol){ image->kind, image->pid, path, symbol->offset, symbol->size,
					xstrdup(symbol->name) });
	s->facts_changed = true;
}

/* TGID.jo, which OProfile's tools look for. */
static int write_jit_names(const struct store *s, const struct jit_folder *folder,
			   struct error *err)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/%" PRId32 ".jo", folder->path, folder->pid);
	VEC(struct jit_symbol) symbols = { 0 };
	struct buf bytes = { 0 };
	int r = 0;

	vec_foreach (&s->facts.symbols, known)
		if (known->kind == IMAGE_JIT &&
		    intmap_find(&s->jit_owners, jit_owner(folder->pid, known->pid)))
			vec_push(&symbols, (struct jit_symbol){ known->offset, known->size,
								known->name, (uint32_t)symbols.n });
	if (symbols.n) {
		jit_file_write(&bytes, symbols.data, symbols.n);
		r = file_replace(path, bytes.data, bytes.len, err);
	}
	vec_fini(&symbols);
	buf_fini(&bytes);
	return r;
}

static int write_all_jit_names(const struct store *s, struct error *err)
{
	int r = 0;

	vec_foreach (&s->jit_folders, folder) {
		int now = write_jit_names(s, folder, r ? NULL : err);

		r = r ? r : now;
	}
	return r;
}

static int oprofile_flush(struct store *s, uint64_t until_ns, struct error *err)
{
	int r = open_files_flush(s->files, &s->n_unwritten, err);

	(void)until_ns;
	if (s->facts_changed) {
		int r_facts = write_facts(s, r ? NULL : err);

		r = r ? r : r_facts;
	}
	return r;
}

static int oprofile_close(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			  struct error *err)
{
	int r = open_files_flush(s->files, &s->n_unwritten, err), r_facts, r_names;

	if (end) {
		s->facts.end = *end;
		s->facts.has_end = true;
	}
	s->facts.samples -= s->n_unwritten;
	s->facts.lost[LOSS_DISK_FULL] += s->n_unwritten;
	r_facts = write_facts(s, r ? NULL : err);
	r = r ? r : r_facts;
	r_names = write_all_jit_names(s, r ? NULL : err);
	*n_unwritten = s->n_unwritten;
	oprofile_store_free(s);
	return r ? r : r_names;
}

const struct store_ops oprofile_store = {
	.name = "oprofile",
	.help = "OProfile's sample files: counts by address, without times",
	.open = oprofile_open,
	.add = oprofile_add,
	.lose = oprofile_lose,
	.name_code = oprofile_name_code,
	.flush = oprofile_flush,
	.close = oprofile_close,
};
