/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/reader.h"
#include "store/history/blocks.h"
#include "store/history/containers.h"
#include "store/history/retention.h"

#define MARK          ".fleet"
#define MARK_WORD     "assay-fleet "
#define FLEET_VERSION 1
#define HIDDEN_PREFIX ".block-"
#define KNOWN_SUFFIX  ".known" /* recover() finds no key of this name */
#define KEYS_MAX      (256u << 20)
#define KEY_LINE_MAX  200
#define LABELS_MAX    (64u << 10)
#define LOCK_PAUSE_MS 100

struct fleet_host {
	char *dir;
	int lock;
	int keys_fd;
	uint64_t keys_size; /* up to the last whole line */
	struct fleet_keys keys;
};

void (*fleet_at_step)(enum fleet_step step);

static void at_step(enum fleet_step step)
{
	if (fleet_at_step)
		fleet_at_step(step);
}

bool fleet_host_is_valid(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > FLEET_HOST_MAX || *name == '.' || *name == '-')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
			return false;
	return true;
}

int fleet_sync(const char *path, struct error *err)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return error_errno(err, -errno, "cannot write %s to the disk", path);
	return 0;
}

/* ---- the directory ---- */

bool fleet_identify(const char *path, struct fleet_id *out)
{
	cleanup(free_at_exit) char *mark = xasprintf("%s/" MARK, path);
	struct stat st;

	if (stat(mark, &st) < 0)
		return false;
	*out = (struct fleet_id){ st.st_dev, st.st_ino,
				  (uint64_t)st.st_ctim.tv_sec * NS_PER_SECOND +
					  (uint64_t)st.st_ctim.tv_nsec };
	return true;
}

char *fleet_leaves(const char *dir)
{
	return xasprintf("%s/.leaves", dir);
}

bool fleet_is_at(const char *path)
{
	return fleet_identify(path, &(struct fleet_id){ 0 });
}

static int make_above(const char *dir, struct error *err)
{
	const char *slash = strrchr(dir, '/');
	cleanup(free_at_exit) char *above =
		slash && slash > dir ? xstrndup(dir, (size_t)(slash - dir)) : NULL;

	return above ? file_mkdirs(above, 0755, err) : 0;
}

static int fill_fleet(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *mark = xasprintf("%s/" MARK, dir);
	cleanup(free_at_exit) char *names = xasprintf("%s/" HISTORY_NAMES_DIR, dir);
	cleanup(free_at_exit) char *line = xasprintf(MARK_WORD "%d\n", FLEET_VERSION);
	int r = file_mkdirs(names, 0750, err);

	return r < 0 ? r : file_replace(mark, line, strlen(line), err);
}

int fleet_check_version(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *mark = xasprintf("%s/" MARK, dir);
	char line[64];
	unsigned long version = 0;

	if (file_is_regular(mark) && file_read_line(mark, line, sizeof(line)) &&
	    !strncmp(line, MARK_WORD, strlen(MARK_WORD)))
		version = strtoul(line + strlen(MARK_WORD), NULL, 10);
	if (version <= FLEET_VERSION)
		return 0;
	return error_set(err, -EPROTONOSUPPORT,
			 "the fleet %s was made by a newer assay (format %lu; this one reads up to "
			 "%d): update assay to use it",
			 dir, version, FLEET_VERSION);
}

int fleet_require(const char *dir, struct error *err)
{
	if (!fleet_is_at(dir))
		return error_set(err, -ENODEV,
				 "%s is no fleet: name a directory that 'assay ship --to "
				 "dir:DIRECTORY' made",
				 dir);
	return fleet_check_version(dir, err);
}

/* Made under another name, so that hosts that begin together see a whole one, or none. */
int fleet_make(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *made = xasprintf("%s.new-XXXXXX", dir);
	struct stat st;
	int r;

	if (fleet_is_at(dir))
		return fleet_check_version(dir, err);
	if (lstat(dir, &st) == 0)
		return error_set(
			err, -ENOTEMPTY,
			"%s is no fleet: name another directory, or one that is not there "
			"yet, to make a fleet (if its file system is not mounted, mount it)",
			dir);
	r = make_above(dir, err);
	if (r >= 0 && !mkdtemp(made))
		r = error_errno(err, -errno, "cannot make %s", made);
	if (r < 0)
		return r;
	r = fill_fleet(made, err);
	if (r >= 0 && (chmod(made, 0750) < 0 || rename(made, dir) < 0) && !fleet_is_at(dir))
		r = error_errno(err, -errno, "cannot make %s", dir);
	file_remove_tree(made, NULL);
	return r;
}

bool fleet_id_is_valid(const char *id)
{
	return strspn(id, "0123456789abcdef") == FLEET_ID_SIZE - 1 && !id[FLEET_ID_SIZE - 1];
}

int fleet_id_text(const char *dir, char id[static FLEET_ID_SIZE], struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.id", dir);
	cleanup(free_at_exit) char *made = xasprintf("%s.%d", path, (int)getpid());
	cleanup(free_at_exit) char *line = NULL;
	uint64_t random;
	int r = 0;

	if (file_read_line(path, id, FLEET_ID_SIZE) && fleet_id_is_valid(id))
		return 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, -errno, "there are no random bytes");
	line = xasprintf("%016" PRIx64 "\n", random);
	r = file_replace(made, line, strlen(line), err);
	r = r < 0 ? r : fleet_sync(made, err);
	/* The first of several processes makes it. One that a crash tore is made anew. */
	if (r >= 0 && link(made, path) < 0 &&
	    (errno != EEXIST ||
	     (!(file_read_line(path, id, FLEET_ID_SIZE) && fleet_id_is_valid(id)) &&
	      rename(made, path) < 0)))
		r = error_errno(err, -errno, "cannot make %s", path);
	unlink(made);
	r = r < 0 ? r : fleet_sync(dir, err);
	if (r >= 0 && !(file_read_line(path, id, FLEET_ID_SIZE) && fleet_id_is_valid(id)))
		r = error_set(err, -EBADMSG, "%s is damaged", path);
	return r;
}

bool fleet_has_host(const char *dir, const char *host)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, host);
	struct stat st;

	return fleet_host_is_valid(host) && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int fleet_hosts(const char *dir, struct history_names *out, struct error *err)
{
	int r = fleet_check_version(dir, err);
	DIR *d = r < 0 ? NULL : opendir(dir);
	const struct dirent *entry;

	if (r < 0)
		return r;
	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while ((entry = readdir(d)))
		if (fleet_has_host(dir, entry->d_name))
			vec_push(out, xstrdup(entry->d_name));
	closedir(d);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), history_by_name);
	return 0;
}

/* ---- keys ---- */

static int by_key(const void *a, const void *b)
{
	const struct fleet_key *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return strcmp(x->part, y->part);
}

/* A line: PART BUCKET HASH SAMPLES LOST. False: it is damaged. */
static bool parse_key(const char *line, struct fleet_key *key)
{
	uint64_t time_ns;
	int end = 0;

	*key = (struct fleet_key){ 0 };
	if (sscanf(line, "%39s %" SCNu64 " %" SCNx64 " %" SCNu64 " %" SCNu64 "%n", key->part,
		   &key->bucket, &key->hash, &key->samples, &key->lost, &end) != 5)
		return false;
	return !line[end] && history_part_time(key->part, &time_ns);
}

/*
 * Parses whole lines, and returns their bytes, or -EBADMSG. A line that was being written when the
 * machine stopped has no end: its block was not stored.
 */
static int64_t parse_keys(char *text, size_t size, const char *path, struct fleet_keys *keys,
			  struct error *err)
{
	char *line = text, *end;

	for (; (end = memchr(line, '\n', size - (size_t)(line - text))); line = end + 1) {
		struct fleet_key key;

		*end = '\0';
		if (!parse_key(line, &key))
			return error_set(err, -EBADMSG, "%s: line %zu is damaged", path,
					 keys->n + 1);
		vec_push(keys, key);
	}
	if (keys->n)
		qsort(keys->data, keys->n, sizeof(*keys->data), by_key);
	return line - text;
}

static int read_keys(struct fleet_host *h, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.keys", h->dir);
	cleanup(free_at_exit) char *text = NULL;
	size_t size;
	int64_t whole;
	int r;

	h->keys_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (h->keys_fd < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	r = file_read_fd(h->keys_fd, KEYS_MAX, &text, &size);
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	whole = parse_keys(text, size, path, &h->keys, err);
	h->keys_size = (uint64_t)MAX(whole, 0);
	return (int)MIN(whole, 0);
}

int fleet_keys_read(const char *dir, const char *host, struct fleet_keys *out, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/.keys", dir, host);
	cleanup(free_at_exit) char *text = NULL;
	size_t size;
	int r = file_read_all(path, KEYS_MAX, &text, &size);

	*out = (struct fleet_keys){ 0 };
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	r = (int)MIN(parse_keys(text, size, path, out, err), 0);
	if (r < 0)
		vec_fini(out);
	return r;
}

const struct fleet_keys *fleet_host_keys(const struct fleet_host *h)
{
	return &h->keys;
}

const struct fleet_key *fleet_host_find(const struct fleet_host *h, const char *part,
					uint64_t bucket)
{
	struct fleet_key key = { .bucket = bucket };

	if (!h->keys.n || strlen(part) >= sizeof(key.part))
		return NULL;
	memcpy(key.part, part, strlen(part));
	return bsearch(&key, h->keys.data, h->keys.n, sizeof(*h->keys.data), by_key);
}

static int print_key(const struct fleet_key *key, char line[static KEY_LINE_MAX])
{
	return snprintf(line, KEY_LINE_MAX,
			"%s %" PRIu64 " %016" PRIx64 " %" PRIu64 " %" PRIu64 "\n", key->part,
			key->bucket, key->hash, key->samples, key->lost);
}

static int append_key(struct fleet_host *h, const struct fleet_key *key, struct error *err)
{
	char line[KEY_LINE_MAX];
	int len = print_key(key, line);
	size_t at = h->keys.n;

	errno = 0;
	if (pwrite(h->keys_fd, line, (size_t)len, (off_t)h->keys_size) != len ||
	    fdatasync(h->keys_fd) < 0) {
		int code = errno ? -errno : -ENOSPC;

		/* What is behind the last whole line must not become one. */
		if (ftruncate(h->keys_fd, (off_t)h->keys_size) < 0)
			code = -errno;
		return error_errno(err, code, "cannot write %s/.keys", h->dir);
	}
	h->keys_size += (uint64_t)len;
	vec_push(&h->keys, *key);
	for (; at && by_key(key, &h->keys.data[at - 1]) < 0; at--)
		h->keys.data[at] = h->keys.data[at - 1];
	h->keys.data[at] = *key;
	return 0;
}

/* ---- a host ---- */

static char *named_path(const struct fleet_host *h, const char *prefix, const char *name)
{
	return xasprintf("%s/%s%s", h->dir, prefix, name);
}

static bool has_key_of(const struct fleet_host *h, const char *name)
{
	vec_foreach (&h->keys, key) {
		char other[HISTORY_NAME_SIZE];

		if (!key->hash)
			continue;
		block_name(key->bucket, key->part, other);
		if (!strcmp(other, name))
			return true;
	}
	return false;
}

/* Ends the steps of a process that stopped between them. */
static int recover(const struct fleet_host *h, struct error *err)
{
	DIR *d = opendir(h->dir);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return error_errno(err, -errno, "cannot read %s", h->dir);
	while (!r && (entry = readdir(d))) {
		const char *name = entry->d_name + strlen(HIDDEN_PREFIX);
		cleanup(free_at_exit) char *hidden = NULL, *to = NULL;

		if (strncmp(entry->d_name, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX)) != 0)
			continue;
		hidden = named_path(h, HIDDEN_PREFIX, name);
		to = named_path(h, "", name);
		/* Where the named one is, this one is a second. */
		if (!has_key_of(h, name) || access(to, F_OK) == 0)
			r = file_remove_tree(hidden, err);
		else if (rename(hidden, to) < 0)
			r = error_errno(err, -errno, "cannot rename %s", hidden);
	}
	closedir(d);
	return r;
}

/*
 * Another process may remove the folder (fleet_host_drop(), `forget`) before it is locked: then the
 * lock is of a folder that nobody sees.
 */
static int lock_host(struct fleet_host *h, struct error *err)
{
	struct stat own, there;
	int r = history_lock(h->dir, false, err);

	h->lock = MAX(r, -1);
	if (r == -ENOENT || (r >= 0 && (fstat(r, &own) < 0 || stat(h->dir, &there) < 0 ||
					own.st_dev != there.st_dev || own.st_ino != there.st_ino)))
		return error_set(err, -EBUSY, "%s: another process removed it just now", h->dir);
	return MIN(r, 0);
}

int fleet_host_open(const char *dir, const char *host, struct fleet_host **out, struct error *err)
{
	struct fleet_host *h = xcalloc(1, sizeof(*h));
	int r = 0;

	*h = (struct fleet_host){ .lock = -1, .keys_fd = -1 };
	if (!fleet_host_is_valid(host))
		r = error_set(err, -EINVAL,
			      "'%s' can't be the name of a host: letters, digits, '-', '_' and '.' "
			      "make one, %d at most",
			      host, FLEET_HOST_MAX);
	h->dir = xasprintf("%s/%s", dir, host);
	if (r >= 0 && !fleet_is_at(dir))
		r = error_set(err, -ENODEV, "%s is no fleet (any longer)", dir);
	r = r < 0 ? r : fleet_check_version(dir, err);
	if (r >= 0 && mkdir(h->dir, 0750) < 0 && errno != EEXIST)
		r = error_errno(err, -errno, "cannot make %s", h->dir);
	if (r >= 0)
		r = lock_host(h, err);
	r = r < 0 ? r : read_keys(h, err);
	r = r < 0 ? r : recover(h, err);
	if (r < 0) {
		fleet_host_close(h);
		return r;
	}
	*out = h;
	return 0;
}

int fleet_host_await(const char *dir, const char *host, uint32_t ms, struct fleet_host **out,
		     struct error *err)
{
	const struct timespec pause = timespec_of_ns(LOCK_PAUSE_MS * NS_PER_MS);
	int r = fleet_host_open(dir, host, out, err);

	for (uint32_t i = 0; i < ms / LOCK_PAUSE_MS && r == -EBUSY; i++) {
		nanosleep(&pause, NULL);
		r = fleet_host_open(dir, host, out, err);
	}
	return r;
}

void fleet_host_close(struct fleet_host *h)
{
	if (!h)
		return;
	close_at_exit(&h->lock);
	close_at_exit(&h->keys_fd);
	vec_fini(&h->keys);
	free(h->dir);
	free(h);
}

void fleet_host_drop(struct fleet_host *h)
{
	cleanup(free_at_exit) char *keys = h ? xasprintf("%s/.keys", h->dir) : NULL;

	if (h && !h->keys_size && unlink(keys) == 0)
		rmdir(h->dir);
	fleet_host_close(h);
}

char *fleet_host_place(const struct fleet_host *h, const char *part, uint64_t bucket)
{
	char name[HISTORY_NAME_SIZE];

	block_name(bucket, part, name);
	if (fleet_host_find(h, part, bucket))
		return xasprintf("%s/" HIDDEN_PREFIX "%s" KNOWN_SUFFIX, h->dir, name);
	return named_path(h, HIDDEN_PREFIX, name);
}

int fleet_block_hash(const char *block, uint64_t *hash, struct error *err)
{
	cleanup(free_at_exit) char *segment = block_segment(block);
	struct file_mapping file;
	int r = file_map(segment, &file, err);

	if (r < 0)
		return r;
	*hash = XXH3_64bits(file.base, file.size);
	*hash += !*hash;
	file_unmap(&file);
	return 0;
}

static int sync_block(const char *block, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", block);
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", block);
	cleanup(free_at_exit) char *segment = block_segment(block);
	const char *const paths[] = { segment, current, samples, block };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths) && r >= 0; i++)
		r = fleet_sync(paths[i], err);
	return r;
}

static int store_block(struct fleet_host *h, struct fleet_key *key, const char *hidden,
		       const char *to, struct error *err)
{
	int r = sync_block(hidden, err);

	r = r < 0 ? r : fleet_sync(h->dir, err);
	if (r < 0)
		return r;
	at_step(FLEET_WRITTEN);
	/* With a key, this block would keep everybody from opening the host. */
	if (access(to, F_OK) == 0)
		return error_set(err, -EEXIST, "another block has the name of part %s", key->part);
	r = append_key(h, key, err);
	if (r < 0)
		return r;
	at_step(FLEET_KEYED);
	/* It is stored. Without its name, recover() gives it. */
	if (rename(hidden, to) < 0)
		return error_errno(err, -errno, "cannot rename %s", hidden);
	at_step(FLEET_NAMED);
	return fleet_sync(h->dir, err);
}

int fleet_host_take(struct fleet_host *h, struct fleet_key *key, struct error *err)
{
	cleanup(free_at_exit) char *hidden = fleet_host_place(h, key->part, key->bucket);
	cleanup(free_at_exit) char *to = NULL;
	bool is_known = fleet_host_find(h, key->part, key->bucket) != NULL;
	char name[HISTORY_NAME_SIZE];
	int r = is_known ? 0 : fleet_block_hash(hidden, &key->hash, err);

	block_name(key->bucket, key->part, name);
	to = named_path(h, "", name);
	if (!is_known && r >= 0)
		r = store_block(h, key, hidden, to, err);
	if (is_known || (r < 0 && !fleet_host_find(h, key->part, key->bucket)))
		file_remove_tree(hidden, NULL);
	return r < 0 ? r : !is_known;
}

int fleet_host_mark(struct fleet_host *h, struct fleet_key *key, struct error *err)
{
	cleanup(free_at_exit) char *place = fleet_host_place(h, key->part, key->bucket);
	int r = fleet_host_find(h, key->part, key->bucket)
			? 0
			: fleet_block_hash(place, &key->hash, err);

	/* A block with a key would count as stored here. */
	file_remove_tree(place, NULL);
	return r < 0 || !key->hash ? r : append_key(h, key, err);
}

int fleet_host_cover(struct fleet_host *h, const struct fleet_key *key, struct error *err)
{
	return fleet_host_find(h, key->part, key->bucket) ? 0 : append_key(h, key, err);
}

bool fleet_host_rehash(struct fleet_host *h, const char *name, uint64_t hash)
{
	vec_foreach (&h->keys, key) {
		char other[HISTORY_NAME_SIZE];

		block_name(key->bucket, key->part, other);
		if (!key->hash || strcmp(other, name) != 0)
			continue;
		key->hash = hash;
		return true;
	}
	return false;
}

int fleet_host_write_keys(struct fleet_host *h, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.keys", h->dir);
	struct buf text = { 0 };
	int r;

	vec_foreach (&h->keys, key) {
		char line[KEY_LINE_MAX];

		buf_bytes(&text, line, (size_t)print_key(key, line));
	}
	r = file_replace_mode(path, 0640, text.data, text.len, err);
	buf_fini(&text);
	r = r < 0 ? r : fleet_sync(path, err);
	if (r < 0)
		return r;
	vec_fini(&h->keys);
	close_at_exit(&h->keys_fd);
	return read_keys(h, err);
}

bool fleet_label_is_valid(const char *text)
{
	size_t name = 0;

	while (isalnum((unsigned char)text[name]) || (text[name] && strchr("_.-", text[name])))
		name++;
	return name && text[name] == '=' && text[name + 1] && !strpbrk(text, "\n\r") &&
	       strlen(text) <= FLEET_LABEL_BYTES_MAX;
}

char *fleet_labels_read(const char *dir, const char *host)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/.labels", dir, host);
	char *text;
	size_t size;

	return file_read_all(path, LABELS_MAX, &text, &size) < 0 ? xstrdup("") : text;
}

char *fleet_containers_file(const char *dir, const char *host)
{
	return xasprintf("%s/%s/containers", dir, host);
}

int fleet_host_name_containers(struct fleet_host *h, char *lines, struct error *err)
{
	cleanup(free_at_exit) char *file = xasprintf("%s/containers", h->dir);

	return containers_merge(file, lines, err);
}

int fleet_host_label(struct fleet_host *h, const char *lines, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.labels", h->dir);

	return file_replace(path, lines, strlen(lines), err);
}
