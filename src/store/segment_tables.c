/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/segment_tables.h"

#include <assert.h>

#include "base/reserve.h"

/* Ids that one sample or name may need before the limit is checked again. */
#define IDS_MARGIN (2 * FRAMES_MAX)

void segment_tables_init(struct segment_tables *t, const struct image_table *images,
			 const struct strings *strings)
{
	*t = (struct segment_tables){ .from_images = images, .from_strings = strings };
	strings_init(&t->strings);
	vec_push(&t->images, 0);
	vec_push(&t->disk_ids, 0);
	tree_init(&t->tree);
	/* Every segment has "", [unknown] and the root without writing them. */
	t->done[TABLE_STRINGS] = 1;
	t->done[TABLE_IMAGES] = 1;
	t->done[TABLE_NODES] = 1;
}

void segment_tables_fini(struct segment_tables *t)
{
	strings_fini(&t->strings);
	vec_fini(&t->string_map);
	vec_fini(&t->image_map);
	vec_fini(&t->images);
	vec_fini(&t->unidentified);
	classes_fini(&t->classes);
	vec_fini(&t->written);
	tree_fini(&t->tree);
	listed_tree_fini(&t->listed);
	vec_fini(&t->disk_ids);
	vec_fini(&t->symbols);
}

uint64_t segment_tables_memory(const struct segment_tables *t)
{
	return tree_memory(&t->tree) + listed_tree_memory(&t->listed) +
	       classes_memory(&t->classes) + strings_memory(&t->strings) +
	       (t->string_map.cap + t->image_map.cap + t->images.cap + t->disk_ids.cap +
		t->unidentified.cap) *
		       sizeof(uint32_t) +
	       t->written.cap * sizeof(struct profile_class) +
	       t->symbols.cap * sizeof(struct symbol_entry);
}

/* More than encoding takes: for each row or node of the block, and for all bytes of its tables. */
#define ENCODE_BYTES_ITEM  160
#define ENCODE_BYTES_TABLE 2

int segment_tables_reserve(const struct segment_tables *t, size_t n_rows, struct reserve *room)
{
	int r = reserve_take(room, n_rows + segment_tables_nodes(t), ENCODE_BYTES_ITEM);

	return r < 0 ? r : reserve_take(room, segment_tables_memory(t), ENCODE_BYTES_TABLE);
}

/*
 * The memory that counts against the limit. It grows with the entries, not with the reserved room.
 */
static uint64_t segment_tables_used(const struct segment_tables *t)
{
	return (uint64_t)segment_tables_nodes(t) *
		       (sizeof(struct tree_entry) + 3 * sizeof(uint32_t)) +
	       (uint64_t)t->classes.n * (2 * sizeof(struct profile_class) + 2 * sizeof(uint32_t)) +
	       t->symbols.n * sizeof(struct symbol_entry) + (uint64_t)t->strings.n * 64;
}

bool segment_tables_full(const struct segment_tables *t, uint64_t table_bytes)
{
	uint64_t most =
		MAX(MAX(segment_tables_nodes(t), t->classes.n), MAX(t->symbols.n, t->strings.n));

	return segment_tables_used(t) > table_bytes || most > SEGMENT_IDS_MAX - IDS_MARGIN;
}

static uint32_t *segment_map_entry(struct id_map *map, uint32_t id)
{
	while (map->n <= id)
		vec_push(map, 0);
	return &map->data[id];
}

static uint32_t segment_tables_string(struct segment_tables *t, string_id id)
{
	uint32_t *entry = segment_map_entry(&t->string_map, id.n);

	if (!*entry)
		*entry = strings_add(&t->strings, strings_get(t->from_strings, id)).n + 1;
	return *entry - 1;
}

uint32_t segment_tables_add_image(struct segment_tables *t, image_id id)
{
	uint32_t *entry;

	if (!id.n || id.n >= image_count(t->from_images) || t->images.n >= SEGMENT_IMAGES_MAX)
		return 0;
	entry = segment_map_entry(&t->image_map, id.n);
	*entry = (uint32_t)t->images.n + 1;
	vec_push(&t->images, id.n);
	return *entry - 1;
}

uint32_t segment_tables_class(struct segment_tables *t, const struct profile_class *class)
{
	uint32_t id = classes_intern(&t->classes, class);

	if (id == t->written.n) {
		struct profile_class mapped = *class;

		mapped.app.n = segment_tables_image(t, class->app);
		mapped.comm.n = segment_tables_string(t, class->comm);
		mapped.cgroup.n = segment_tables_string(t, class->cgroup);
		mapped.counter = MIN(class->counter, SESSION_COUNTERS_MAX - 1);
		vec_push(&t->written, mapped);
	}
	assert(id < t->written.n); /* each class of the caller has its row here */
	return id;
}

void segment_tables_encode(struct segment_tables *t, struct block_encoder *e, enum block_kind kind,
			   struct buf *out)
{
	uint32_t first = t->done[TABLE_IMAGES], n = (uint32_t)t->images.n - first;
	cleanup(free_at_exit) struct image *images = xcalloc(n + 1, sizeof(*images));
	cleanup(free_at_exit) uint32_t *paths = xcalloc(n + 1, sizeof(*paths));
	VEC(struct late_build_id) late = { 0 };
	struct names_part part;

	for (uint32_t i = 0; i < n; i++) {
		images[i] = *image_get(t->from_images, (image_id){ t->images.data[first + i] });
		paths[i] = strings_add(&t->strings, images[i].path).n;
	}
	vec_foreach (&t->unidentified, id) {
		const struct image *image =
			image_get(t->from_images, (image_id){ t->images.data[*id] });

		if (image->build_id.len)
			vec_push(&late, (struct late_build_id){ *id, image->build_id });
	}
	part = (struct names_part){
		.strings = t->strings.text + t->done[TABLE_STRINGS],
		.n_strings = t->strings.n - t->done[TABLE_STRINGS],
		.images = images,
		.paths = paths,
		.n_images = n,
		.late = late.data,
		.n_late = (uint32_t)late.n,
		.classes = t->written.data + t->done[TABLE_CLASSES],
		.n_classes = (uint32_t)t->written.n - t->done[TABLE_CLASSES],
		.symbols = t->symbols.data + t->done[TABLE_SYMBOLS],
		.n_symbols = (uint32_t)t->symbols.n - t->done[TABLE_SYMBOLS],
	};
	/*
	 * An empty section is left out: a block of a daemon's second has only a few hundred bytes.
	 */
	if (is_group(kind))
		names_encode_group(e, out, &part);
	else if (part.n_strings || n || part.n_late || part.n_classes || part.n_symbols)
		names_encode(e, out, &part);
	vec_fini(&late);
}

void segment_tables_count(const struct segment_tables *t, segment_table_sizes now)
{
	now[TABLE_STRINGS] = t->strings.n;
	now[TABLE_IMAGES] = (uint32_t)t->images.n;
	now[TABLE_CLASSES] = (uint32_t)t->written.n;
	now[TABLE_NODES] = segment_tables_nodes(t);
	now[TABLE_SYMBOLS] = (uint32_t)t->symbols.n;
}

void segment_tables_settle(struct segment_tables *t)
{
	size_t kept = 0;

	vec_foreach (&t->unidentified, id)
		if (!image_get(t->from_images, (image_id){ t->images.data[*id] })->build_id.len)
			t->unidentified.data[kept++] = *id;
	t->unidentified.n = kept;
	for (uint32_t i = t->done[TABLE_IMAGES]; i < t->images.n; i++)
		if (!image_get(t->from_images, (image_id){ t->images.data[i] })->build_id.len)
			vec_push(&t->unidentified, i);
	segment_tables_count(t, t->done);
}
