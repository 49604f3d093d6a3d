/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store of OProfile's sample files: one file for each class and image, with counts by address;
 * arcs of the call graph are in separate files. Times are not kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "counter/catalog/event_files.h"
#include "oprofile/store/facts.h"
#include "oprofile/store/image_names.h"
#include "oprofile/store/jit_folders.h"
#include "oprofile/store/open_files.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/store/sample_name.h"
#include "pipeline/host.h"
#include "pipeline/image_files.h"
#include "store/sharing.h"
#include "store/store.h"

#define SESSION_DIR "samples/current"

/* OProfile's number of a processor that its tables do not name. */
#define CPU_GENERIC 69

/* Mapped at once; the kernel permits 65530 mappings a process (vm.max_map_count). */
#define FILES_MAX 8192

#define NOT_LOOKED_AT UINT64_MAX

/* That a new file takes on most disks: a block, and one of its folder. */
#define NEW_FILE_BYTES 8192

#define FACTS_SHARE 100

struct store {
	const struct image_table *images;
	const struct strings *strings;
	char *dir; /* of the session's samples */
	char *facts_path;
	struct session_facts facts;
	bool facts_changed, has_dir; /* has_dir: `dir` was made, as … */
	dev_t dir_dev;
	ino_t dir_ino;
	struct sharing sharing;        /* below `dir` */
	struct session_facts earlier;  /* of the session that is gone on with */
	uint64_t facts_ns, facts_cost; /* when they were written last, and how long it took */
	uint64_t n_fresh;              /* samples since the last flush */
	struct open_files *files;
	uint64_t n_unwritten, n_left; /* samples that could not be written; before leave() */
	uint64_t grown_bytes;         /* of the files that are closed */
	struct error failure;         /* code 0: all is written; … */
	bool has_failed;              /* … it is of this second */
	bool is_full;                 /* the disk, until the next flush */
	struct jit_folders jit;
	struct image_names names;
	VEC(uint64_t) mtimes; /* by image, or NOT_LOOKED_AT */
	uint32_t cpu_type;    /* OProfile's number */
	double cpu_mhz;
	uint32_t *codes; /* of the counters, by event files; 0: not known */
};

static char *file_path(struct store *s, const struct file_key *key)
{
	const struct counter_info *counter = &s->facts.info.counters[key->counter];
	struct sample_name name = {
		.main = image_names_of(&s->names, &key->main, true),
		.dep = image_names_of(&s->names, &key->dep, false),
		.callee = image_names_of(&s->names, &key->callee, false),
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

/* The group may read what a daemon keeps. `path` is a folder or a file of the session. */
static void share(const struct store *s, const char *path, bool is_file)
{
	cleanup(free_at_exit) char *folder = is_file ? path_folder(path) : xstrdup(path);
	cleanup(close_at_exit) int fd = s->sharing.is_shared && is_file
						? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
						: -1;

	if (fd >= 0)
		sharing_give_file(&s->sharing, fd);
	while (s->sharing.is_shared && strlen(folder) >= strlen(s->dir)) {
		sharing_give_dir(&s->sharing, folder);
		folder[path_folder_len(folder)] = '\0';
	}
}

/* The folder of the samples, if it is not there yet. */
static int need_dir(struct store *s, struct error *err)
{
	cleanup(free_at_exit) char *above = path_folder(s->dir);
	struct stat st;
	int r;

	if (s->has_dir)
		return 0;
	r = file_mkdirs(s->dir, 0700, err);
	if (r >= 0 && stat(s->dir, &st) < 0)
		r = error_errno(err, -errno, "cannot read %s", s->dir);
	if (r < 0)
		return r;
	s->sharing = sharing_below(above);
	share(s, s->dir, false);
	s->has_dir = true;
	s->dir_dev = st.st_dev;
	s->dir_ino = st.st_ino;
	return 0;
}

static bool is_dir_gone(const struct store *s)
{
	struct stat st;

	return s->has_dir &&
	       (stat(s->dir, &st) < 0 || st.st_dev != s->dir_dev || st.st_ino != s->dir_ino);
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
		.is_kernel = image_is_of_kernel(dep),
		.callee_is_kernel = key->is_arc && image_is_of_kernel(callee),
		.mtime = mtime_of(s, (image_id){ key->dep.image }),
		.anon_start = key->dep.start,
		.callee_anon_start = key->callee.start,
	};
	cleanup(free_at_exit) char *path = file_path(s, key);
	cleanup(free_at_exit) char *folder = path_folder(path);
	int r = need_dir(s, err);

	r = r < 0 ? r : file_mkdirs(folder, 0700, err);
	if (r >= 0 && image_is_anonymous(dep) && dep->kind != IMAGE_VDSO &&
	    dep->kind != IMAGE_UNKNOWN && !key->is_arc)
		jit_folders_note(&s->jit, key->dep.pid, folder);
	r = r < 0 ? r : sample_file_open(path, &header, out, err);
	if (r < 0)
		return r;
	if (sample_file_take_growth(*out))
		s->grown_bytes += NEW_FILE_BYTES;
	share(s, path, true);
	return 0;
}

static struct unwritten unwritten_of(struct store *s)
{
	return (struct unwritten){ &s->n_unwritten, &s->facts.lost_arcs };
}

/* A failed attempt costs as much as a thousand samples: on a full disk there is one a second. */
static int try_open_file(struct store *s, const struct file_key *key, struct sample_file **out,
			 struct error *err)
{
	int r;

	if (s->is_full)
		return error_set(err, -ENOSPC, "%s: %s", s->dir, strerror(ENOSPC));
	r = oprofile_open_file(s, key, out, err);
	s->is_full = r == -ENOSPC || r == -EDQUOT;
	return r;
}

static int add_to_file(struct store *s, const struct file_key *key, uint64_t address, uint64_t n,
		       uint64_t *n_unwritten, struct error *err)
{
	const struct unwritten u = unwritten_of(s);
	struct sample_file *file = open_files_find(s->files, key);
	int r, r_put = 0;

	if (!file) {
		r = try_open_file(s, key, &file, err);
		if (r < 0) {
			*n_unwritten += n;
			return r;
		}
		r_put = open_files_put(s->files, key, file, &u, err);
	}
	r = sample_file_add(file, address, n, n_unwritten, err);
	return r < 0 ? r : r_put;
}

/* The store. */

static bool list_has(const struct session_facts *facts, const struct image *image)
{
	for (uint32_t i = 0; i < facts->n_images; i++)
		if (facts->images[i].kind == image->kind &&
		    !strcmp(facts->images[i].path, image->path))
			return true;
	return false;
}

/* A build id may be known only after the first sample of an image: all are gone through. */
static void list_images(struct store *s)
{
	uint32_t n = image_count(s->images), n_earlier = s->earlier.n_images;

	free(s->facts.images);
	s->facts.images = xcalloc(n + n_earlier + 1, sizeof(*s->facts.images));
	s->facts.n_images = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct image *image = image_get(s->images, (image_id){ i });

		if (!image->build_id.len)
			continue;
		s->facts.images[s->facts.n_images] = *image;
		if (image->kind == IMAGE_FILE)
			s->facts.images[s->facts.n_images].path = image_names_text(&s->names, i);
		s->facts.n_images++;
	}
	for (uint32_t i = 0; i < n_earlier; i++)
		if (!list_has(&s->facts, &s->earlier.images[i]))
			s->facts.images[s->facts.n_images++] = s->earlier.images[i];
}

static int write_facts(struct store *s, struct error *err)
{
	struct session_facts now = s->facts;
	int r = need_dir(s, err);

	if (r < 0)
		return r;
	s->facts_ns = clock_monotonic_ns();
	list_images(s);
	now.images = s->facts.images;
	now.n_images = s->facts.n_images;
	now.samples -= s->n_unwritten - s->n_left;
	now.lost[LOSS_DISK_FULL] += s->n_unwritten - s->n_left;
	r = session_facts_write(s->facts_path, &now, err);
	s->facts_changed = r < 0;
	share(s, s->facts_path, true);
	s->facts_cost = clock_monotonic_ns() - s->facts_ns;
	return r;
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

/* Whether the samples are of a processor like this machine's. */
static bool is_of_here(const struct session_info *info)
{
	const struct counters none = { 0 };
	struct host host;
	bool is_same;

	host_init(&host, &none, 0, 0);
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

/* Closes all files, whatever waits for them, and forgets their counts and names. */
static void let_go(struct store *s)
{
	if (s->files)
		s->grown_bytes += open_files_grown(s->files);
	open_files_free(s->files);
	s->files = NULL;
	vec_foreach (&s->facts.symbols, symbol)
		free((char *)symbol->name);
	vec_fini(&s->facts.symbols);
	jit_folders_fini(&s->jit);
	session_facts_fini(&s->earlier);
	s->facts.samples = s->facts.lost_arcs = 0;
	memset(s->facts.lost, 0, sizeof(s->facts.lost));
	s->n_left = s->n_unwritten;
	s->has_dir = false;
}

static void oprofile_store_free(struct store *s)
{
	let_go(s);
	free(s->codes);
	session_info_free(&s->facts.info);
	free(s->facts.images);
	vec_fini(&s->mtimes);
	image_names_fini(&s->names);
	free(s->facts_path);
	free(s->dir);
	free(s);
}

/* Takes over the facts of a session that is there. Its first start counts. */
static int go_on(struct store *s, struct error *err)
{
	struct session_info *info = &s->facts.info;
	int r = session_facts_read(s->facts_path, &s->earlier, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	s->facts.samples = s->earlier.samples;
	s->facts.lost_arcs = s->earlier.lost_arcs;
	memcpy(s->facts.lost, s->earlier.lost, sizeof(s->facts.lost));
	vec_foreach (&s->earlier.symbols, symbol) {
		vec_push(&s->facts.symbols, *symbol);
		s->facts.symbols.data[s->facts.symbols.n - 1].name = xstrdup(symbol->name);
	}
	if (s->earlier.info.start_wall_ns && s->earlier.info.start_wall_ns < info->start_wall_ns) {
		info->start_ns -= info->start_wall_ns - s->earlier.info.start_wall_ns;
		info->start_wall_ns = s->earlier.info.start_wall_ns;
	}
	return 0;
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
	s->facts_changed = true;
	image_names_init(&s->names, images);
	session_info_copy(&s->facts.info, info);
	find_codes(s);
	r = need_dir(s, err);
	if (!r)
		r = go_on(s, err);
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
	key->dep = image_names_part(&s->names, &sample->frames[callee_frame + 1], sample->class.pid,
				    &caller);
	key->callee = image_names_part(&s->names, &sample->frames[callee_frame], sample->class.pid,
				       &callee);
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

/* Until the facts can be written, too. What fails on a full disk is new: the rest goes on. */
static int keep_failure(struct store *s, int r, const struct error *why)
{
	if (r >= 0)
		return r;
	s->failure = *why;
	s->failure.code = r;
	s->has_failed = true;
	return r;
}

static int add_sample(struct store *s, const struct sample *sample, struct error *err)
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
	key.dep = image_names_part(&s->names, &sample->frames[0], sample->class.pid, &address);
	if (leaf->kind == IMAGE_JIT)
		jit_folders_own(&s->jit, key.dep.pid, leaf->pid);
	oprofile_set_class(s, &sample->class, &key.dep, &key);
	r = add_to_file(s, &key, address, sample->samples, &n_unwritten, err);
	s->facts.samples += sample->samples;
	s->n_fresh += sample->samples;
	s->n_unwritten += n_unwritten;
	s->facts_changed = true;
	r_arcs = oprofile_add_arcs(s, sample, &key, r ? NULL : err);
	return r ? r : r_arcs;
}

static int oprofile_add(struct store *s, const struct sample *sample, struct error *err)
{
	struct error why = { 0 };
	int r = keep_failure(s, add_sample(s, sample, &why), &why);

	if (r < 0 && err)
		*err = why;
	return r;
}

static void oprofile_lose(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)counter;
	s->facts.lost[reason] += n;
	s->facts_changed = true;
}

/* Into assay.json; of processes into .jo files, at the end. */
static void oprofile_name_code(struct store *s, const struct code_symbol *symbol)
{
	const struct image *image = image_get(s->images, symbol->image);
	const char *path = image->kind == IMAGE_BPF ? image_names_text(&s->names, symbol->image.n)
						    : image->path;

	if (symbol->line) /* sample files have no room for it */
		return;
	vec_push(&s->facts.symbols,
		 (struct facts_symbol){ image->kind, image->pid, path, symbol->offset, symbol->size,
					xstrdup(symbol->name) });
	s->facts_changed = true;
}

static void share_names(void *context, const char *path)
{
	share(context, path, true);
}

static int write_jit_names(struct store *s, struct error *err)
{
	return jit_folders_write(&s->jit, &s->facts, share_names, s, err);
}

/* Somebody removed or moved the samples: what was added since the last flush went with them. */
static void begin_anew(struct store *s)
{
	uint64_t n_fresh = s->n_fresh;

	let_go(s);
	s->files = open_files_new(FILES_MAX);
	s->facts.samples = n_fresh;
	s->n_unwritten += n_fresh;
	s->facts_changed = true;
}

/* Facts grow with the names of code: writing them takes a hundredth of the time at most. */
static bool are_facts_due(const struct store *s, uint64_t until_ns)
{
	return s->facts_changed && (until_ns == UINT64_MAX || clock_monotonic_ns() - s->facts_ns >=
								      s->facts_cost * FACTS_SHARE);
}

static int oprofile_flush(struct store *s, uint64_t until_ns, struct error *err)
{
	const struct unwritten u = unwritten_of(s);
	struct error why = { 0 };

	if (is_dir_gone(s))
		begin_anew(s);
	keep_failure(s, open_files_flush(s->files, &u, &why), &why);
	s->n_fresh = 0;
	if (are_facts_due(s, until_ns) && !keep_failure(s, write_facts(s, &why), &why) &&
	    !s->has_failed)
		s->failure.code = 0;
	/* readers that are asked to look find names, too */
	if (until_ns == UINT64_MAX)
		keep_failure(s, write_jit_names(s, &why), &why);
	s->has_failed = s->is_full = false;
	if (s->failure.code && err)
		*err = s->failure;
	return s->failure.code;
}

static int oprofile_leave(struct store *s, struct error *err)
{
	int r = oprofile_flush(s, UINT64_MAX, err);

	let_go(s);
	s->files = open_files_new(FILES_MAX);
	s->facts.info.start_wall_ns += clock_monotonic_ns() - s->facts.info.start_ns;
	s->facts.info.start_ns = clock_monotonic_ns();
	return r;
}

static bool oprofile_is_at(const char *path)
{
	static const char *const entries[] = { FACTS_FILE, "{root}", "{kern}" };
	bool has_one = false;

	for (size_t i = 0; i < ARRAY_SIZE(entries) && !has_one; i++) {
		cleanup(free_at_exit) char *entry = xasprintf("%s/%s", path, entries[i]);

		has_one = access(entry, F_OK) == 0;
	}
	return has_one;
}

static uint64_t oprofile_unwritten(const struct store *s)
{
	return s->n_unwritten;
}

static uint64_t oprofile_grown(const struct store *s)
{
	return s->grown_bytes + open_files_grown(s->files);
}

static int oprofile_close(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			  struct error *err)
{
	const struct unwritten u = unwritten_of(s);
	int r = open_files_flush(s->files, &u, err), r_facts, r_names;

	if (end) {
		s->facts.end = *end;
		s->facts.has_end = true;
	}
	r_facts = write_facts(s, r ? NULL : err);
	r = r ? r : r_facts;
	r_names = write_jit_names(s, r ? NULL : err);
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
	.leave = oprofile_leave,
	.is_at = oprofile_is_at,
	.unwritten = oprofile_unwritten,
	.grown = oprofile_grown,
};
