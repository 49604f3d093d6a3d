/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "profile/index.h"

static const char *image_base_name(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* More images than this are not compared with each other: they get their paths. */
#define MAX_IMAGES_COMPARED 4096

static bool is_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n >= m && !strcmp(path + n - m, suffix) && (n == m || path[n - m - 1] == '/');
}

/* Images by the last component of their path: only those of one can be taken for each other. */
struct namesakes {
	struct strings last;
	VEC(uint32_t) first; /* by string: image + 1, or 0 */
	uint32_t *next;      /* by image: likewise */
};

static void namesakes_init(struct namesakes *n, const struct profile *p)
{
	*n = (struct namesakes){ .next = xcalloc(p->images.n + 1, sizeof(*n->next)) };
	strings_init(&n->last);
	for (uint32_t i = 0; i < p->images.n; i++) {
		uint32_t id =
			strings_add(&n->last, path_file_name(p->images.data[i].image->path)).n;

		while (n->first.n <= id)
			vec_push(&n->first, 0);
		n->next[i] = n->first.data[id];
		n->first.data[id] = i + 1;
	}
}

static void namesakes_fini(struct namesakes *n)
{
	strings_fini(&n->last);
	vec_fini(&n->first);
	free(n->next);
}

/* Of the path: image + 1; then those behind it by `next`. */
static uint32_t first_namesake(struct namesakes *n, const char *path)
{
	return n->first.data[strings_add(&n->last, path_file_name(path)).n];
}

/* Whether another path ends in the same components. */
static bool is_shared(const struct profile *p, struct namesakes *n, const struct image *image,
		      const char *suffix)
{
	for (uint32_t i = first_namesake(n, image->path); i; i = n->next[i - 1]) {
		const struct profile_image *other = &p->images.data[i - 1];

		if (!other->is_merged && strcmp(other->image->path, image->path) != 0 &&
		    is_suffix(other->image->path, suffix))
			return true;
	}
	return false;
}

/* Whether another binary had the same path. */
static bool has_namesake(const struct profile *p, struct namesakes *n, const struct image *image)
{
	for (uint32_t i = first_namesake(n, image->path); i; i = n->next[i - 1]) {
		const struct profile_image *other = &p->images.data[i - 1];

		if (!other->is_merged && other->image->build_id.len &&
		    !strcmp(other->image->path, image->path) &&
		    !build_id_equal(&other->image->build_id, &image->build_id))
			return true;
	}
	return false;
}

/* The last component of a path, with as many before it as make it unique. */
static const char *short_path(const struct profile *p, struct namesakes *n,
			      const struct image *image)
{
	const char *name = image_base_name(image->path);

	while (name > image->path && is_shared(p, n, image, name)) {
		name--; /* onto the slash */
		while (name > image->path && name[-1] != '/')
			name--;
	}
	return name;
}

/* An image of a path that has two gets its build id; JIT code of one process, its process. */
static const char *short_name(const struct profile *p, struct namesakes *n,
			      const struct profile_image *image)
{
	char hex[BUILD_ID_HEX_SIZE], text[4096];
	const char *name = short_path(p, n, image->image);

	if (image->image->kind == IMAGE_JIT && image->image->pid) {
		snprintf(text, sizeof(text), "%s (%d)", name, image->image->pid);
	} else if (image->image->build_id.len && has_namesake(p, n, image->image)) {
		build_id_hex(&image->image->build_id, hex);
		snprintf(text, sizeof(text), "%s (%.8s)", name, hex);
	} else {
		return name;
	}
	return arena_strndup(p->arena, text, strlen(text));
}

void index_name_images(struct profile *p)
{
	struct namesakes n;

	namesakes_init(&n, p);
	vec_foreach (&p->images, i)
		i->name =
			p->images.n <= MAX_IMAGES_COMPARED ? short_name(p, &n, i) : i->image->path;
	namesakes_fini(&n);
}

/* The one image of this path that has a build id, or NO_INDEX. */
static uint32_t identified_image(const struct profile *p, const struct image *image)
{
	uint32_t found = NO_INDEX;

	for (uint32_t i = 0; i < p->images.n; i++) {
		const struct image *other = p->images.data[i].image;

		if (other->kind != IMAGE_FILE || !other->build_id.len ||
		    strcmp(other->path, image->path) != 0)
			continue;
		if (found != NO_INDEX)
			return NO_INDEX;
		found = i;
	}
	return found;
}

/*
 * Finds the first image of a build id, identity and file name, or where files are chosen (struct
 * query) of a path; `firsts` maps string ids to images.
 */
static uint32_t first_of_binary(const struct profile *p, struct strings *binaries,
				struct intmap *firsts, uint32_t i)
{
	const struct image *image = p->images.data[i].image;
	struct buf key = { 0 };
	uint32_t *first;
	bool is_new;

	buf_bytes(&key, &image->build_id, sizeof(image->build_id));
	if (image_has_identity(image)) {
		buf_u64(&key, image->dev);
		buf_u64(&key, image->ino);
	}
	buf_str(&key, p->index->query->by_files ? image->path : image_base_name(image->path));
	first = intmap_put(firsts, strings_add_n(binaries, (const char *)key.data, key.len).n,
			   &is_new);
	if (is_new)
		*first = i;
	buf_fini(&key);
	return *first;
}

static void merge_image(struct profile *p, uint32_t from, uint32_t to)
{
	const struct image_takes *takes = &p->index->image_takes.data[from];
	struct image_takes *all = &p->index->image_takes.data[to];

	p->images.data[from].is_merged = true;
	all->app |= takes->app;
	all->image |= takes->image;
	all->lib_image |= takes->lib_image;
	all->excluded |= takes->excluded;
	all->binary |= takes->binary;
}

uint32_t *index_merged_images(struct profile *p)
{
	uint32_t *merged = xcalloc(p->images.n + 1, sizeof(*merged));
	struct intmap firsts = { 0 };
	struct strings binaries;

	strings_init(&binaries);
	for (uint32_t i = 0; i < p->images.n; i++) {
		const struct image *image = p->images.data[i].image;

		merged[i] = i;
		if (image->kind == IMAGE_FILE && image->build_id.len)
			merged[i] = first_of_binary(p, &binaries, &firsts, i);
	}
	for (uint32_t i = 0; i < p->images.n; i++) {
		const struct image *image = p->images.data[i].image;
		uint32_t same = NO_INDEX;

		if (image->kind == IMAGE_FILE && !image->build_id.len &&
		    !image_has_identity(image) && p->images.n <= MAX_IMAGES_COMPARED)
			same = identified_image(p, image);
		if (same != NO_INDEX)
			merged[i] = merged[same];
		if (merged[i] != i)
			merge_image(p, i, merged[i]);
	}
	strings_fini(&binaries);
	intmap_fini(&firsts);
	return merged;
}

static void name_heaviest(const struct comm_weights *w, struct profile_process *holders, size_t n)
{
	uint64_t *best = xcalloc(n + 1, sizeof(*best));

	vec_foreach (&w->rows, row) {
		if (row->samples <= best[row->holder])
			continue;
		best[row->holder] = row->samples;
		holders[row->holder].comm = (string_id){ row->comm };
	}
	free(best);
}

void index_name_processes(struct profile *p)
{
	/* The last that there is decides. */
	name_heaviest(&p->index->other_comms, p->processes.data, p->processes.n);
	name_heaviest(&p->index->process_apps, p->processes.data, p->processes.n);
	name_heaviest(&p->index->process_comms, p->processes.data, p->processes.n);
	name_heaviest(&p->index->thread_comms, p->threads.data, p->threads.n);
}
