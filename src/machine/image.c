/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/image.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/secret.h"

const char *const image_kind_keys[N_IMAGE_KINDS] = {
#define X(id, key, text) key,
	IMAGE_KINDS(X)
#undef X
};

/*
 * A slot holds id + 1, and whether the slot is for the image's build id or for its device and
 * inode. An image that got its build id later has both slots, so that either look-up finds it.
 */
#define SLOT_BY_BUILD_ID 0x80000000u

struct image_table {
	VEC(struct image) images;
	uint32_t *slots; /* open addressing, at most half full */
	uint32_t n_used, n_slots;
	struct arena *paths;
};

struct image_key {
	uint32_t kind;
	int32_t pid;
	uint64_t dev, ino, generation;
	struct build_id build_id;
};

static uint64_t key_hash(const struct image *image, bool by_build_id)
{
	struct image_key key;
	uint64_t path_hash =
		XXH3_64bits_withSeed(image->path, strlen(image->path), hash_secrets[0]);

	memset(&key, 0, sizeof(key)); /* the padding is hashed too */
	key.kind = image->kind;
	key.pid = image->pid;
	if (by_build_id)
		key.build_id = image->build_id;
	if (!by_build_id || image_has_identity(image)) {
		key.dev = image->dev;
		key.ino = image->ino;
		key.generation = image->generation;
	}
	return XXH3_64bits_withSeed(&key, sizeof(key), path_hash);
}

static bool key_equal(const struct image *a, const struct image *b, bool by_build_id)
{
	bool same =
		by_build_id
			? build_id_equal(&a->build_id, &b->build_id) && image_identity_equal(a, b)
			: a->dev == b->dev && a->ino == b->ino && a->generation == b->generation;

	return same && a->kind == b->kind && a->pid == b->pid && !strcmp(a->path, b->path);
}

/* The slot that holds the image, or the empty slot for it. */
static uint32_t *image_slot(const struct image_table *t, const struct image *image,
			    bool by_build_id)
{
	uint32_t flag = by_build_id ? SLOT_BY_BUILD_ID : 0;
	uint32_t i = (uint32_t)key_hash(image, by_build_id) & (t->n_slots - 1);

	for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
		uint32_t id = (t->slots[i] & ~SLOT_BY_BUILD_ID) - 1;

		if ((t->slots[i] & SLOT_BY_BUILD_ID) == flag &&
		    key_equal(&t->images.data[id], image, by_build_id))
			break;
	}
	return &t->slots[i];
}

static void image_grow(struct image_table *t)
{
	uint32_t *old = t->slots, n_old = t->n_slots, n = n_old ? n_old * 2 : 64;
	uint32_t *slots = mem_table(n, sizeof(*slots), t->n_used, n_old);

	if (!slots)
		return;
	t->n_slots = n;
	t->slots = slots;
	for (uint32_t i = 0; i < n_old; i++) {
		uint32_t id = (old[i] & ~SLOT_BY_BUILD_ID) - 1;

		if (old[i])
			*image_slot(t, &t->images.data[id], old[i] & SLOT_BY_BUILD_ID) = old[i];
	}
	free(old);
}

/* Enters the image under one of its keys; a used slot stays as it is. */
static void image_enter(struct image_table *t, uint32_t id, bool by_build_id)
{
	uint32_t *slot;

	if ((t->n_used + 1) * 2 > t->n_slots)
		image_grow(t);
	slot = image_slot(t, &t->images.data[id], by_build_id);
	if (*slot)
		return;
	*slot = (id + 1) | (by_build_id ? SLOT_BY_BUILD_ID : 0);
	t->n_used++;
}

struct image_table *image_table_new(void)
{
	struct image_table *t = xcalloc(1, sizeof(*t));

	t->paths = arena_new();
	image_intern(t, &(struct image){ .kind = IMAGE_UNKNOWN, .path = "[unknown]" });
	return t;
}

void image_table_free(struct image_table *t)
{
	if (!t)
		return;
	vec_fini(&t->images);
	free(t->slots);
	arena_free(t->paths);
	free(t);
}

image_id image_intern(struct image_table *t, const struct image *image)
{
	bool by_build_id = image->build_id.len > 0;
	uint32_t *slot = t->n_slots ? image_slot(t, image, by_build_id) : NULL;
	uint32_t id = (uint32_t)t->images.n;

	if (slot && *slot)
		return (image_id){ (*slot & ~SLOT_BY_BUILD_ID) - 1 };
	vec_push(&t->images, *image);
	t->images.data[id].path = arena_strndup(t->paths, image->path, strlen(image->path));
	image_enter(t, id, by_build_id);
	return (image_id){ id };
}

bool image_is_wait_mark(const struct image *image)
{
	static const char *const prefixes[] = { IMAGE_WAKER_PREFIX, IMAGE_OWNER_PREFIX,
						IMAGE_DEVICE_PREFIX };

	for (size_t i = 0; image->kind == IMAGE_NAMED && i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(image->path, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool image_is_access_mark(const struct image *image)
{
	return image->kind == IMAGE_NAMED && !strcmp(image->path, IMAGE_ACCESS_PATH);
}

bool image_is_latency_mark(const struct image *image)
{
	return image->kind == IMAGE_NAMED && !strcmp(image->path, IMAGE_LATENCY_PATH);
}

bool image_is_label_mark(const struct image *image)
{
	return image->kind == IMAGE_NAMED &&
	       !strncmp(image->path, IMAGE_LABEL_PREFIX, strlen(IMAGE_LABEL_PREFIX));
}

bool image_is_cut_mark(const struct image *image)
{
	return image->kind == IMAGE_NAMED && !strcmp(image->path, IMAGE_CUT_PATH);
}

bool image_is_known(const struct image_table *t, const struct image *image)
{
	return t->n_slots && *image_slot(t, image, image->build_id.len > 0);
}

const struct image *image_get(const struct image_table *t, image_id id)
{
	return &t->images.data[id.n < t->images.n ? id.n : 0];
}

uint32_t image_count(const struct image_table *t)
{
	return (uint32_t)t->images.n;
}

void image_set_build_id(struct image_table *t, image_id id, const struct build_id *build_id)
{
	struct image *image = id.n < t->images.n ? &t->images.data[id.n] : NULL;

	if (!image || image->build_id.len || !build_id->len)
		return;
	image->build_id = *build_id;
	image_enter(t, id.n, true);
}

bool image_is_c_library(const struct image *image)
{
	static const char *const prefixes[] = { "libc.", "libc-", "libpthread", "ld-", "ld." };
	const char *slash = strrchr(image->path, '/'), *file = slash ? slash + 1 : image->path;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(file, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}
