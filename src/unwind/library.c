/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/library.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/block_cache.h"
#include "base/files/cache_dir.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/thread.h"
#include "guard/open.h"
#include "machine/image_look.h"
#include "symbol/debug_file.h"
#include "unwind/cache.h"
#include "unwind/file_unwind.h"

/* The building thread writes it, until `state` is no longer PENDING. */
struct entry {
	atomic_int state;         /* enum unwind_table_state; released after all else is written */
	struct file_mapping file; /* the image, or … */
	void *bytes;              /* … a copy of its bytes */
	size_t size;
	struct build_id build_id, key;
	bool is_key_of_file;
	enum image_found found;
	int root_fd;              /* root for the search of its debug file; -1: ours */
	char *name;               /* NULL: no debug file */
	struct finder *finder;    /* the library's */
	struct build_id found_id; /* of the file, and its debug link; they are known late */
	char *link_name;
	bool is_of_others; /* image_file_may_use() refuses a debug file that was read */

	struct unwind_table table;
	struct parser_answer built;  /* has the table, */
	struct unwind_header *block; /* here; NULL: */
	struct file_mapping cached;  /* it is from the cache */
	struct entry *next;          /* in the queue */
};

struct unwind_library {
	char *cache_dir; /* NULL: none */
	bool has_debug_files;
	struct finder *finder;
	VEC(struct entry *) entries;
	atomic_ullong generation;

	bool in_background, is_running;
	pthread_t thread;
	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t wake, done;
	struct entry *first;              /* of the queue of images to build, the smallest first */
	uint64_t start_ns, hurried_bytes; /* the thread's: of images that were built in a hurry */
	bool is_ending;
};

/* ---- debug files ---- */

/*
 * A program that is compiled without .eh_frame has .debug_frame instead. strip(1) and objcopy(1)
 * move that section to the debug file. The process's own debug files are searched first, because a
 * container may have its own debug packages; then the files of this machine.
 */
static struct debug_search search_of(const struct entry *e, const char *root)
{
	return (struct debug_search){
		.root = root,
		.debug_dir = "/usr/lib/debug",
		.image_path = e->name,
		.build_id = e->found_id,
		.link_name = e->link_name,
		.finder = e->finder,
	};
}

/* "" or a path to the root, which stays valid after the end of the process. The caller frees it. */
static char *root_of(const struct entry *e)
{
	return e->root_fd < 0 ? xstrdup("") : xasprintf("/proc/self/fd/%d", e->root_fd);
}

static bool is_own_root(const struct entry *e)
{
	struct stat root, own;

	return e->root_fd < 0 || (fstat(e->root_fd, &root) == 0 && stat("/", &own) == 0 &&
				  root.st_dev == own.st_dev && root.st_ino == own.st_ino);
}

/* The same for a process of our root, whether it lives or has ended, when its root is not known. */
static uint64_t evidence_of(const struct entry *e)
{
	cleanup(free_at_exit) char *root = root_of(e);
	struct debug_search here = search_of(e, ""), there = search_of(e, root);
	uint64_t sum = debug_file_evidence(&here);

	return is_own_root(e) ? sum : hash_u64(hash_u64(debug_file_evidence(&there)) ^ sum);
}

/* The build id and the debug link of the file. */
static bool look_at_file(struct entry *e)
{
	struct image_look look;

	if (image_look(&e->file, &(struct image_look_wish){ .found = e->found }, &look, NULL) < 0)
		return false;
	e->found_id = look.head.build_id;
	free(e->link_name);
	e->link_name = take_ptr(look.link_name);
	image_look_fini(&look);
	return true;
}

/* Whether a table from the cache equals one that would be built now. */
static bool check_cached(const struct unwind_library *lib, struct entry *e)
{
	return !unwind_is_bare(e->table.header) || !lib->has_debug_files || !e->name ||
	       !e->file.base || !look_at_file(e) || e->table.header->evidence == evidence_of(e);
}

/* A debug file for the parser. The table is kept under the image's key only if it may be. */
static int open_wish(void *context, struct reader *wish, struct file_mapping *out, bool *is_trusted)
{
	struct entry *e = context;
	enum image_found found = is_own_root(e) ? e->found : IMAGE_HIDDEN;
	cleanup(free_at_exit) char *root = root_of(e);
	struct debug_search search = search_of(e, root);
	struct reader again = *wish;
	int r = debug_file_serve(&search, wish, out, NULL);

	search.root = "";
	if (r < 0 && *root)
		r = debug_file_serve(&search, &again, out, NULL);
	if (r < 0)
		return r;
	*is_trusted = image_file_is_trusted(out, found);
	e->is_of_others |= !image_file_may_use(&e->file, out, found);
	return r;
}

static int ask_for_table(const struct unwind_library *lib, struct entry *e,
			 struct parser_answer *answer)
{
	const struct file_mapping own = { .base = e->bytes, .size = e->size };
	uint8_t bytes[sizeof(e->build_id) + 1];
	const struct buf request = { .data = bytes, .len = sizeof(bytes) };
	const struct parser_question q = {
		.row = &file_unwind_row,
		.file = e->bytes ? &own : &e->file,
		.is_trusted = image_file_is_trusted(&e->file, e->found),
		.request = &request,
		.open = open_wish,
		.context = e,
	};

	memcpy(bytes, &e->build_id, sizeof(e->build_id));
	bytes[sizeof(e->build_id)] = lib->has_debug_files && e->name;
	/* the kernel has made the bytes, and a process that has children is no stranger to it */
	return e->bytes ? parser_ask_here(&q, answer, NULL) : parser_ask(&q, answer, NULL);
}

/* ---- tables ---- */

/* Releases the memory of its pages; reading brings them back from the cache's file. */
static void release_memory(const struct entry *e)
{
	file_rest(&e->cached, 0, e->cached.size);
}

static bool open_cached_table(const struct unwind_library *lib, const struct build_id *id,
			      struct entry *e)
{
	return lib->cache_dir && id->len &&
	       unwind_cache_open(lib->cache_dir, id, &e->cached, &e->table);
}

static void forget_cached(struct entry *e)
{
	file_unmap(&e->cached);
	e->cached = (struct file_mapping){ 0 };
	e->table = (struct unwind_table){ 0 };
}

/*
 * Writes the built table to the cache, and maps it from there. Then the file's pages come and go as
 * memory is needed, and programs of the same content share them.
 */
static void turn_to_cache(const struct unwind_library *lib, struct entry *e)
{
	if (!lib->cache_dir || !e->key.len)
		return;
	e->block->build_id = e->key;
	unwind_cache_write(lib->cache_dir, e->file.uid, e->block);
	if (!open_cached_table(lib, &e->key, e))
		return;
	/* without a successful write, an older one may be there */
	if (memcmp(e->table.header, e->block, sizeof(*e->block)) != 0) {
		forget_cached(e);
		return;
	}
	parser_answer_fini(&e->built);
	e->block = NULL;
}

/* Takes over an answer: a copy of its block would be as large. */
static enum unwind_table_state adopt_table(const struct unwind_library *lib, struct entry *e,
					   const struct file_unwind *found,
					   struct parser_answer *answer)
{
	e->built = *answer;
	*answer = (struct parser_answer){ 0 };
	e->block = (struct unwind_header *)found->block;
	e->found_id = found->head.build_id;
	free(e->link_name);
	e->link_name = *found->link_name ? xstrdup(found->link_name) : NULL;
	if (lib->has_debug_files && e->name && unwind_is_bare(e->block))
		e->block->evidence = evidence_of(e);
	e->block->build_id = e->found_id;
	e->block->owner = block_owner(e->file.uid);
	if (e->bytes)
		e->key = e->found_id; /* of the kernel's vdso */
	if (e->is_of_others)
		e->key = (struct build_id){ 0 };
	turn_to_cache(lib, e);
	if (e->block)
		unwind_table_open(&e->table, e->block, (size_t)e->block->size);
	return UNWIND_TABLE_READY;
}

static enum unwind_table_state build_table(const struct unwind_library *lib, struct entry *e)
{
	enum unwind_table_state state;
	struct parser_answer answer;
	struct file_unwind found;

	if (!e->bytes && !e->file.base)
		return UNWIND_TABLE_UNREADABLE;
	if (ask_for_table(lib, e, &answer) < 0)
		return UNWIND_TABLE_UNPARSED;
	file_unwind_read(&found, answer.bytes, answer.size); /* the row has checked it */
	if (!found.head.is_elf || found.head.is_cut)
		state = UNWIND_TABLE_UNREADABLE;
	else if (found.head.is_replaced)
		state = UNWIND_TABLE_REPLACED;
	else if (!found.block)
		state = UNWIND_TABLE_UNSUPPORTED;
	else
		state = adopt_table(lib, e, &found, &answer);
	parser_answer_fini(&answer);
	return state;
}

static bool load_cached(const struct unwind_library *lib, struct entry *e)
{
	if (!open_cached_table(lib, &e->key, e))
		return false;
	if (check_cached(lib, e))
		return true;
	forget_cached(e);
	return false;
}

/* The caller's key is the image's. A new table is kept under the key of the file that is there. */
static void learn_key(struct entry *e)
{
	bool is_trusted = image_file_is_trusted(&e->file, e->found);

	if (e->bytes || e->is_key_of_file)
		return;
	if (is_trusted) /* other keys are of the content, or of the file on the disk */
		look_at_file(e);
	e->key = image_file_key(&e->file, &e->found_id, e->found);
}

static enum unwind_table_state library_load_entry(const struct unwind_library *lib, struct entry *e)
{
	struct build_id known = e->key;

	if (load_cached(lib, e))
		return UNWIND_TABLE_READY;
	if (lib->cache_dir && e->file.base)
		learn_key(e);
	if (!build_id_equal(&known, &e->key) && load_cached(lib, e))
		return UNWIND_TABLE_READY;
	return build_table(lib, e);
}

/*
 * The check of a table has read all of it. Most tables then wait for their use, or are copied soon.
 */
static void set_state(struct entry *e, enum unwind_table_state state)
{
	release_memory(e);
	atomic_store_explicit(&e->state, (int)state, memory_order_release);
}

static void finish_entry(struct unwind_library *lib, struct entry *e)
{
	enum unwind_table_state state = library_load_entry(lib, e);

	file_unmap(&e->file);
	free(e->bytes);
	e->bytes = NULL;
	if (e->root_fd >= 0)
		close(e->root_fd);
	e->root_fd = -1;
	set_state(e, state);
}

/* ---- the thread ---- */

static size_t image_bytes(const struct entry *e)
{
	return e->bytes ? e->size : e->file.size;
}

/* The time of a build grows with the file. */
static bool may_hurry(struct unwind_library *lib, const struct entry *e)
{
	uint64_t since_s = (clock_monotonic_ns() - lib->start_ns) / NS_PER_SECOND;
	uint64_t bytes = lib->hurried_bytes + image_bytes(e);

	if (bytes > UNWIND_HURRY_BYTES + since_s * UNWIND_HURRY_PER_SECOND)
		return false;
	lib->hurried_bytes = bytes;
	return true;
}

static void *build_thread(void *arg)
{
	struct unwind_library *lib = arg;

	thread_be_ordinary();
	pthread_mutex_lock(&lib->lock);
	while (!lib->is_ending) {
		struct entry *e = lib->first;

		if (!e) {
			pthread_cond_wait(&lib->wake, &lib->lock);
			continue;
		}
		lib->first = e->next;
		pthread_mutex_unlock(&lib->lock);
		thread_hurry(may_hurry(lib, e));
		finish_entry(lib, e);
		atomic_fetch_add(&lib->generation, 1);
		pthread_mutex_lock(&lib->lock);
		pthread_cond_broadcast(&lib->done);
	}
	pthread_mutex_unlock(&lib->lock);
	return NULL;
}

/* Small ones first: libc, which is in every stack, must not wait for a compiler's libraries. */
static void library_enqueue(struct unwind_library *lib, struct entry *e)
{
	struct entry **at = &lib->first;

	pthread_mutex_lock(&lib->lock);
	while (*at && image_bytes(*at) <= image_bytes(e))
		at = &(*at)->next;
	e->next = *at;
	*at = e;
	pthread_mutex_unlock(&lib->lock);
	pthread_cond_signal(&lib->wake);
}

/* ---- the caller's side ---- */

struct unwind_library *unwind_library_new(const struct unwind_library_config *config)
{
	struct unwind_library *lib = xcalloc(1, sizeof(*lib));

	if (!config->cache_dir)
		lib->cache_dir = cache_dir("unwind");
	else if (*config->cache_dir)
		lib->cache_dir = xstrdup(config->cache_dir);
	lib->in_background = config->in_background;
	lib->has_debug_files = config->has_debug_files;
	lib->finder = config->finder;
	lib->start_ns = clock_monotonic_ns();
	thread_init_lock(&lib->lock);
	pthread_cond_init(&lib->wake, NULL);
	thread_init_condition(&lib->done);
	return lib;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	file_unmap(&e->file);
	free(e->bytes);
	parser_answer_fini(&e->built);
	free(e->name);
	free(e->link_name);
	if (e->root_fd >= 0)
		close(e->root_fd);
	file_unmap(&e->cached);
	free(e);
}

void unwind_library_free(struct unwind_library *lib)
{
	if (!lib)
		return;
	if (lib->is_running) {
		pthread_mutex_lock(&lib->lock);
		lib->is_ending = true;
		pthread_cond_signal(&lib->wake);
		pthread_mutex_unlock(&lib->lock);
		pthread_join(lib->thread, NULL);
	}
	vec_foreach (&lib->entries, e)
		entry_free(*e);
	vec_fini(&lib->entries);
	pthread_cond_destroy(&lib->done);
	pthread_cond_destroy(&lib->wake);
	pthread_mutex_destroy(&lib->lock);
	free(lib->cache_dir);
	free(lib);
}

static struct entry *library_add_entry(struct unwind_library *lib, const struct unwind_image *image)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	atomic_init(&e->state, UNWIND_TABLE_PENDING);
	e->build_id = image->build_id;
	e->key = image->key;
	e->is_key_of_file = image->is_key_of_file;
	e->found = image->found;
	e->finder = lib->finder;
	e->name = image->name ? xstrdup(image->name) : NULL;
	e->root_fd = image->root ? guard_root_of(image->root) : -1;
	if (image->file) {
		e->file = *image->file;
		*image->file = (struct file_mapping){ 0 };
	} else if (image->path) {
		guard_map(GUARD_HERE, image->path, &guard_image_rules, &e->file,
			  NULL); /* while it exists */
	} else {
		e->bytes = xmalloc(image->size + 1);
		memcpy(e->bytes, image->bytes, image->size);
		e->size = image->size;
	}
	/*
	 * Without a thread (not wanted, or not possible) the caller does the work. It also
	 * does a vdso's, which costs less than waking a thread.
	 */
	if (lib->in_background && !lib->is_running && !e->bytes)
		lib->is_running = thread_start(&lib->thread, build_thread, lib);
	if (lib->is_running && !e->bytes)
		library_enqueue(lib, e);
	else
		finish_entry(lib, e);
	return e;
}

static struct entry **entry_at(struct unwind_library *lib, uint32_t number)
{
	while (lib->entries.n <= number)
		vec_push(&lib->entries, NULL);
	return &lib->entries.data[number];
}

static enum unwind_table_state state_of(const struct entry *e)
{
	return (enum unwind_table_state)atomic_load_explicit(&e->state, memory_order_acquire);
}

bool unwind_library_wait(struct unwind_library *lib, uint32_t number, uint64_t until_ns)
{
	const struct entry *e = lib->entries.data[number];
	const struct timespec until = timespec_of_ns(until_ns);
	int r = 0;

	pthread_mutex_lock(&lib->lock);
	while (!r && state_of(e) == UNWIND_TABLE_PENDING)
		r = until_ns == UINT64_MAX ? pthread_cond_wait(&lib->done, &lib->lock)
					   : pthread_cond_timedwait(&lib->done, &lib->lock, &until);
	pthread_mutex_unlock(&lib->lock);
	return !r;
}

bool unwind_library_find(struct unwind_library *lib, uint32_t number, const struct build_id *key,
			 const struct unwind_table **table)
{
	struct entry **at = entry_at(lib, number);

	if (!*at) {
		struct entry cached = { .key = *key, .root_fd = -1 };

		if (!open_cached_table(lib, key, &cached))
			return false;
		if (lib->has_debug_files && unwind_is_bare(cached.table.header)) {
			forget_cached(&cached);
			return false;
		}
		*at = xmalloc(sizeof(cached));
		**at = cached;
		set_state(*at, UNWIND_TABLE_READY);
	}
	*table = &(*at)->table;
	return state_of(*at) == UNWIND_TABLE_READY;
}

enum unwind_table_state unwind_library_get(struct unwind_library *lib, uint32_t number,
					   const struct unwind_image *image,
					   const struct unwind_table **table)
{
	struct entry **at = entry_at(lib, number), *e = *at;
	enum unwind_table_state state;

	if (!e)
		e = *at = library_add_entry(lib, image);
	state = state_of(e);
	assert(state != UNWIND_TABLE_READY || e->table.header);
	if (state == UNWIND_TABLE_READY)
		*table = &e->table;
	return state;
}

void unwind_library_rest(const struct unwind_table *table)
{
	const char *entry = (const char *)table - offsetof(struct entry, table);

	release_memory((const struct entry *)entry);
}

uint64_t unwind_library_generation(const struct unwind_library *lib)
{
	return atomic_load(&lib->generation);
}
