/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/sample_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "oprofile/store/hot_counts.h"

static const uint8_t magic[4] = { 'D', 'A', 'E', '\n' };

/* Bytes: 64-bit numbers are aligned to 8 on LP64, to 4 on i386. */
#define LP64_FIELDS                                                                                \
	.header_size = 72, .descriptor_size = 32, .node_size = 16, .bucket_size = 4, .version = 4, \
	.cpu_type = 8, .event = 12, .unit_mask = 16, .count = 20, .is_kernel = 24, .cpu_mhz = 32,  \
	.mtime = 40, .callee_is_kernel = 48, .anon_start = 56, .callee_anon_start = 64,            \
	.slots = 0, .first_free = 4, .key = 0, .value = 8, .next = 12
#define I386_FIELDS                                                                                \
	.header_size = 64, .descriptor_size = 32, .node_size = 16, .bucket_size = 4, .version = 4, \
	.cpu_type = 8, .event = 12, .unit_mask = 16, .count = 20, .is_kernel = 24, .cpu_mhz = 28,  \
	.mtime = 36, .callee_is_kernel = 44, .anon_start = 48, .callee_anon_start = 56,            \
	.slots = 0, .first_free = 4, .key = 0, .value = 8, .next = 12

const struct sample_file_abi sample_file_abis[] = {
	{ .name = "64-bit", LP64_FIELDS },
	{ .name = "32-bit x86", I386_FIELDS },
	{ .name = "64-bit big-endian", .is_big_endian = true, LP64_FIELDS },
	{ .name = "32-bit big-endian", .is_big_endian = true, I386_FIELDS },
};
const size_t n_sample_file_abis = ARRAY_SIZE(sample_file_abis);

#define NATIVE_ABI (&sample_file_abis[__BYTE_ORDER == __BIG_ENDIAN ? 2 : 0])

/* The abi file: one "key value" a line. */

/* X(key, field): what differs between layouts, and has a place in struct sample_file_abi. */
#define ABI_FIELDS(X)                                          \
	X("sizeof_struct_opd_header", header_size)             \
	X("sizeof_odb_descr_t", descriptor_size)               \
	X("sizeof_odb_node_t", node_size)                      \
	X("sizeof_odb_index_t", bucket_size)                   \
	X("offsetof_node_key", key)                            \
	X("offsetof_node_value", value)                        \
	X("offsetof_node_next", next)                          \
	X("offsetof_descr_size", slots)                        \
	X("offsetof_descr_current_size", first_free)           \
	X("offsetof_header_version", version)                  \
	X("offsetof_header_cpu_type", cpu_type)                \
	X("offsetof_header_ctr_event", event)                  \
	X("offsetof_header_ctr_um", unit_mask)                 \
	X("offsetof_header_ctr_count", count)                  \
	X("offsetof_header_is_kernel", is_kernel)              \
	X("offsetof_header_cpu_speed", cpu_mhz)                \
	X("offsetof_header_mtime", mtime)                      \
	X("offsetof_header_cg_to_is_kernel", callee_is_kernel) \
	X("offsetof_header_anon_start", anon_start)            \
	X("offsetof_header_cg_to_anon_start", callee_anon_start)

#define OLDEST_VERSION 0x11 /* 0.9.4 */

/* What every layout has alike; a file that says otherwise can't be read. */
static const struct {
	const char *key;
	uint32_t value;
} abi_constants[] = {
	{ "sizeof_double", 8 },
	{ "sizeof_u64", 8 },
	{ "sizeof_u8", 1 },
	{ "sizeof_u32", 4 },
	{ "sizeof_int", 4 },
	{ "sizeof_unsigned_int", 4 },
	{ "sizeof_odb_key_t", 8 },
	{ "sizeof_odb_value_t", 4 },
	{ "sizeof_odb_node_nr_t", 4 },
	{ "offsetof_header_magic", 0 },
};

static const struct {
	const char *key;
	size_t field;
} abi_fields[] = {
#define X(key, field) { key, offsetof(struct sample_file_abi, field) },
	ABI_FIELDS(X)
#undef X
};

static uint32_t *abi_field(struct sample_file_abi *abi, size_t i)
{
	return (uint32_t *)(void *)((char *)abi + abi_fields[i].field);
}

void sample_file_abi_write(struct buf *out)
{
	struct sample_file_abi native = *NATIVE_ABI;

	for (size_t i = 0; i < ARRAY_SIZE(abi_constants); i++)
		buf_printf(out, "%s %" PRIu32 "\n", abi_constants[i].key, abi_constants[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(abi_fields); i++)
		buf_printf(out, "%s %" PRIu32 "\n", abi_fields[i].key, *abi_field(&native, i));
	buf_printf(out, "little_endian %d\n", !native.is_big_endian);
}

/* Takes one line's value. False: the key is not known, or the value is one we can't read. */
static bool take_abi_value(struct sample_file_abi *abi, uint32_t *seen, const char *key,
			   uint32_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(abi_constants); i++)
		if (!strcmp(key, abi_constants[i].key))
			return value == abi_constants[i].value;
	for (size_t i = 0; i < ARRAY_SIZE(abi_fields); i++) {
		if (strcmp(key, abi_fields[i].key) != 0)
			continue;
		*abi_field(abi, i) = value;
		*seen |= 1U << i;
		return value <= 4096;
	}
	if (!strcmp(key, "sizeof_time_t")) { /* of mtime, until 0.9.7 */
		abi->mtime_size = value;
		return value == 4 || value == 8;
	}
	if (strcmp(key, "little_endian") != 0)
		return false;
	abi->is_big_endian = !value;
	*seen |= 1U << ARRAY_SIZE(abi_fields);
	return value <= 1;
}

/* Every field lies inside its record, and a record has a size. */
static bool abi_is_sound(const struct sample_file_abi *a)
{
	const uint32_t words[] = { a->version, a->cpu_type,  a->event,           a->unit_mask,
				   a->count,   a->is_kernel, a->callee_is_kernel };
	const uint32_t longs[] = { a->cpu_mhz, a->mtime, a->anon_start, a->callee_anon_start };
	bool sound = a->slots + 4 <= a->descriptor_size &&
		     a->first_free + 4 <= a->descriptor_size && a->key + 8 <= a->node_size &&
		     a->value + 4 <= a->node_size && a->next + 4 <= a->node_size &&
		     a->bucket_size >= 4;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		sound = sound && words[i] + 4 <= a->header_size;
	for (size_t i = 0; i < ARRAY_SIZE(longs); i++)
		sound = sound &&
			longs[i] + (longs[i] == a->mtime && a->mtime_size ? a->mtime_size : 8) <=
				a->header_size;
	return sound;
}

int sample_file_abi_parse(const char *text, struct sample_file_abi *out, struct error *err)
{
	struct sample_file_abi abi = { .name = "the abi file's" };
	uint32_t seen = 0, n_line = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		char key[64];
		uint32_t value;
		int used = 0;

		n_line++;
		if (len && (sscanf(text, "%63s %" SCNu32 "%n", key, &value, &used) != 2 ||
			    (size_t)used > len || !take_abi_value(&abi, &seen, key, value)))
			return error_set(err, -EBADMSG,
					 "line %" PRIu32 ": '%.*s' is not of an abi file", n_line,
					 (int)MIN(len, (size_t)60), text);
		text += len + (text[len] == '\n');
	}
	if (seen != (2U << ARRAY_SIZE(abi_fields)) - 1 || !abi_is_sound(&abi))
		return error_set(err, -EBADMSG,
				 "the abi file does not describe a sample file: is it whole?");
	*out = abi;
	return 0;
}

/* Reading. */

static uint32_t sample_file_get_u32(const struct sample_file_abi *abi, const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return abi->is_big_endian ? be32toh(v) : le32toh(v);
}

static uint64_t sample_file_get_u64(const struct sample_file_abi *abi, const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return abi->is_big_endian ? be64toh(v) : le64toh(v);
}

static uint64_t file_bytes(const struct sample_file_abi *abi, uint64_t slots)
{
	return abi->header_size + abi->descriptor_size +
	       slots * ((uint64_t)abi->node_size + abi->bucket_size);
}

static bool fits(const struct sample_file_abi *abi, const uint8_t *bytes, size_t size)
{
	uint32_t slots;

	if (size < file_bytes(abi, SAMPLE_FILE_MIN_SLOTS))
		return false;
	slots = sample_file_get_u32(abi, bytes + abi->header_size + abi->slots);
	return slots >= SAMPLE_FILE_MIN_SLOTS && !(slots & (slots - 1)) &&
	       file_bytes(abi, slots) == size;
}

static const struct sample_file_abi *guess_abi(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(sample_file_abis); i++)
		if (fits(&sample_file_abis[i], bytes, size))
			return &sample_file_abis[i];
	return NULL;
}

static void sample_file_read_header(const struct sample_file_abi *abi, const uint8_t *bytes,
				    struct sample_file_header *out)
{
	uint64_t mhz = sample_file_get_u64(abi, bytes + abi->cpu_mhz);

	*out = (struct sample_file_header){
		.version = sample_file_get_u32(abi, bytes + abi->version),
		.cpu_type = sample_file_get_u32(abi, bytes + abi->cpu_type),
		.event = sample_file_get_u32(abi, bytes + abi->event),
		.unit_mask = sample_file_get_u32(abi, bytes + abi->unit_mask),
		.count = sample_file_get_u32(abi, bytes + abi->count),
		.is_kernel = sample_file_get_u32(abi, bytes + abi->is_kernel) != 0,
		.callee_is_kernel = sample_file_get_u32(abi, bytes + abi->callee_is_kernel) != 0,
		.mtime = abi->mtime_size == 4 ? sample_file_get_u32(abi, bytes + abi->mtime)
					      : sample_file_get_u64(abi, bytes + abi->mtime),
		.anon_start = sample_file_get_u64(abi, bytes + abi->anon_start),
		.callee_anon_start = sample_file_get_u64(abi, bytes + abi->callee_anon_start),
	};
	memcpy(&out->cpu_mhz, &mhz, sizeof(mhz));
}

/* Why no layout fits: the commonest reasons, by name. */
static int sample_file_refuse(const uint8_t *bytes, size_t size, struct error *err)
{
	uint32_t version;

	if (size < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return error_set(err, -EBADMSG,
				 "not a sample file of OProfile (it does not begin with \"DAE\")");
	if (size < 8)
		return error_set(err, -EBADMSG, "cut off after %zu bytes", size);
	memcpy(&version, bytes + 4, sizeof(version));
	if (version != SAMPLE_FILE_VERSION && __builtin_bswap32(version) != SAMPLE_FILE_VERSION)
		return error_set(err, -EBADMSG,
				 "version 0x%" PRIx32
				 " of the format; 0x%x (OProfile 1.0 and later) can be read, and "
				 "0x%x and later beside their abi file",
				 MIN(version, __builtin_bswap32(version)), SAMPLE_FILE_VERSION,
				 OLDEST_VERSION);
	return error_set(
		err, -EBADMSG,
		"its %zu bytes do not fit the number of entries in its header: it is cut off, or "
		"of a machine with another layout (give its abi file)",
		size);
}

/* The abi file of an older OProfile says where its fields are, and no field has another meaning. */
static bool can_read(const struct sample_file_view *view, bool has_abi)
{
	uint32_t version = view->header.version;

	return version == SAMPLE_FILE_VERSION ||
	       (has_abi && version >= OLDEST_VERSION && version < SAMPLE_FILE_VERSION);
}

int sample_file_parse(const void *data, size_t size, const struct sample_file_abi *abi,
		      struct sample_file_view *out, struct error *err)
{
	const uint8_t *bytes = data;
	struct sample_file_view view = { .abi = abi };
	uint32_t first_free, slots;

	if (!view.abi && size >= 8 && !memcmp(bytes, magic, sizeof(magic)))
		view.abi = guess_abi(bytes, size);
	if (!view.abi || size < 8 || memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    !fits(view.abi, bytes, size))
		return sample_file_refuse(bytes, size, err);
	sample_file_read_header(view.abi, bytes, &view.header);
	if (!can_read(&view, abi != NULL))
		return sample_file_refuse(bytes, size, err);
	bytes += view.abi->header_size;
	slots = sample_file_get_u32(view.abi, bytes + view.abi->slots);
	first_free = sample_file_get_u32(view.abi, bytes + view.abi->first_free);
	if (!first_free || first_free > slots)
		return error_set(err, -EBADMSG,
				 "its header claims %" PRIu32 " of %" PRIu32 " entries", first_free,
				 slots);
	view.n_nodes = first_free - 1;
	view.nodes = bytes + view.abi->descriptor_size + view.abi->node_size;
	*out = view;
	return 0;
}

void sample_file_node(const struct sample_file_view *view, uint32_t i, uint64_t *key,
		      uint32_t *count)
{
	const uint8_t *at = view->nodes + (size_t)i * view->abi->node_size;

	*key = sample_file_get_u64(view->abi, at + view->abi->key);
	*count = sample_file_get_u32(view->abi, at + view->abi->value);
}

/* Writing, in this machine's layout. */

struct node {
	uint64_t key;
	uint32_t count, next;
};
_Static_assert(sizeof(struct node) == 16, "the format's node");

struct descriptor {
	uint32_t slots, first_free, zero[6];
};
_Static_assert(sizeof(struct descriptor) == 32, "the format's descriptor");

/*
 * Additions wait here until there are enough. Then the buckets and nodes of all are prefetched
 * before the first is read, so the cache misses overlap.
 */
#define GATHERED 64

/* So many rounds of them between two flushes: counts then wait in front of the file. */
#define HOT_ROUNDS 1024

struct gathered {
	uint64_t key;
	uint32_t count, bucket;
};

struct sample_file {
	uint8_t *map;
	size_t map_size;
	struct descriptor *descriptor;
	struct node *nodes;
	uint32_t *buckets;
	uint32_t mask;
	uint32_t n_gathered;
	struct gathered gathered[GATHERED];
	uint32_t n_rounds;     /* that were applied since the last flush */
	uint64_t grown_bytes;  /* not told yet */
	int grow_error;        /* of this second: it costs too much to try for each address */
	struct hot_counts hot; /* that takes nothing if it is not added to that often */
	char *path;
};

static uint32_t sample_file_bucket_of(uint64_t key, uint32_t mask)
{
	uint32_t t = (uint32_t)((key >> 32) ^ key);

	return (t ^ (t >> 8)) & mask;
}

static void set_pointers(struct sample_file *f, uint32_t slots)
{
	f->descriptor = (struct descriptor *)(void *)(f->map + NATIVE_ABI->header_size);
	f->nodes = (struct node *)(f->descriptor + 1);
	f->buckets = (uint32_t *)(f->nodes + slots);
	f->mask = slots - 1;
}

static void link_node(struct sample_file *f, uint32_t n, uint32_t bucket)
{
	f->nodes[n].next = f->buckets[bucket];
	f->buckets[bucket] = n;
}

/* Room for `slots`: the blocks are taken now, as a full disk would otherwise be a SIGBUS later. */
static int take_room(struct sample_file *f, int fd, uint32_t slots, struct error *err)
{
	size_t size = file_bytes(NATIVE_ABI, slots);
	int r = -posix_fallocate(fd, 0, (off_t)size);
	void *map;

	if (r < 0) {
		/* A size that no reader knows would cost the whole file. */
		if (ftruncate(fd, (off_t)f->map_size) < 0)
			errno = 0;
		return error_errno(err, r, "cannot grow %s", f->path);
	}
	map = f->map ? mremap(f->map, f->map_size, size, MREMAP_MAYMOVE)
		     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return error_errno(err, -errno, "cannot map %s", f->path);
	f->map = map;
	f->grown_bytes += size - f->map_size;
	f->map_size = size;
	set_pointers(f, slots);
	return 0;
}

/*
 * Doubles the file. The buckets move to the zeroed end of the file, and the old ones become unused
 * nodes. Then all nodes are linked again, in their order.
 */
static int sample_file_grow(struct sample_file *f, struct error *err)
{
	cleanup(close_at_exit) int fd = open(f->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	uint32_t slots = f->mask + 1;
	int r;

	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", f->path);
	if (slots > UINT32_MAX / 4)
		return error_set(err, -EFBIG, "%s has no room for more addresses", f->path);
	r = take_room(f, fd, slots * 2, err);
	if (r < 0)
		return r;
	memset(f->nodes + slots, 0, (size_t)slots * NATIVE_ABI->bucket_size);
	f->descriptor->slots = slots * 2;
	for (uint32_t n = 1; n < f->descriptor->first_free; n++)
		link_node(f, n, sample_file_bucket_of(f->nodes[n].key, f->mask));
	return 0;
}

/* A reader may look at any time: the node is whole before it counts. */
static int sample_file_new_node(struct sample_file *f, uint64_t key, uint32_t count,
				struct error *err)
{
	uint32_t n = f->descriptor->first_free;
	int r = 0;

	if (n > f->mask)
		r = f->grow_error ? error_errno(err, f->grow_error, "cannot grow %s", f->path)
				  : sample_file_grow(f, err);
	f->grow_error = r;
	if (r < 0)
		return r;
	f->nodes[n] = (struct node){ .key = key, .count = count };
	link_node(f, n, sample_file_bucket_of(key, f->mask));
	__atomic_store_n(&f->descriptor->first_free, n + 1, __ATOMIC_RELEASE);
	return 0;
}

static int sample_file_apply(struct sample_file *f, const struct gathered *g, struct error *err)
{
	uint32_t n = f->buckets[g->bucket & f->mask], room;

	while (n && f->nodes[n].key != g->key)
		n = f->nodes[n].next;
	if (!n)
		return sample_file_new_node(f, g->key, g->count, err);
	room = UINT32_MAX - f->nodes[n].count;
	if (g->count <= room) {
		f->nodes[n].count += g->count;
		return 0;
	}
	/* The newest node of a key is found first: it takes what comes from now on. */
	f->nodes[n].count = UINT32_MAX;
	return sample_file_new_node(f, g->key, g->count - room, err);
}

static int apply_to_file(struct sample_file *f, uint64_t *n_unwritten, struct error *err)
{
	uint32_t mask = f->mask;
	int first_error = 0;

	for (uint32_t i = 0; i < f->n_gathered; i++) {
		uint32_t n = f->buckets[f->gathered[i].bucket];

		__builtin_prefetch(&f->nodes[n], 1);
	}
	for (uint32_t i = 0; i < f->n_gathered; i++) {
		int r;

		if (f->mask != mask) /* the file has grown since the bucket was chosen */
			f->gathered[i].bucket = sample_file_bucket_of(f->gathered[i].key, f->mask);
		r = sample_file_apply(f, &f->gathered[i], first_error ? NULL : err);
		if (r < 0) {
			*n_unwritten += f->gathered[i].count;
			first_error = first_error ? first_error : r;
		}
	}
	f->n_gathered = 0;
	return first_error;
}

static int apply_gathered(struct sample_file *f, uint64_t *n_unwritten, struct error *err)
{
	int r = apply_to_file(f, n_unwritten, err);

	if (++f->n_rounds == HOT_ROUNDS && !f->hot.n_directory)
		hot_counts_init(&f->hot);
	return r;
}

__attribute__((noinline)) static int gather(struct sample_file *f, uint64_t key, uint64_t count,
					    uint64_t *n_unwritten, struct error *err)
{
	int r = 0;

	do {
		struct gathered *g = &f->gathered[f->n_gathered++];

		g->key = key;
		g->count = (uint32_t)MIN(count, (uint64_t)UINT32_MAX);
		g->bucket = sample_file_bucket_of(key, f->mask);
		count -= g->count;
		__builtin_prefetch(&f->buckets[g->bucket]);
		if (f->n_gathered == GATHERED) {
			int now = apply_gathered(f, n_unwritten, r ? NULL : err);

			r = r ? r : now;
		}
	} while (count);
	return r;
}

int sample_file_add(struct sample_file *f, uint64_t key, uint64_t count, uint64_t *n_unwritten,
		    struct error *err)
{
	/* Nothing makes no node; in the file it would. */
	if (!count)
		return 0;
	count = hot_counts_add(&f->hot, key, count);
	return count ? gather(f, key, count, n_unwritten, err) : 0;
}

/* All that waits, from the table in front to the file. */
struct drain {
	struct sample_file *file;
	uint64_t *n_unwritten;
	struct error *err;
	int result;
};

static void take_hot(void *context, uint64_t key, uint32_t count)
{
	struct drain *d = context;
	struct sample_file *f = d->file;
	int r = 0;

	f->gathered[f->n_gathered++] =
		(struct gathered){ key, count, sample_file_bucket_of(key, f->mask) };
	if (f->n_gathered == GATHERED)
		r = apply_to_file(f, d->n_unwritten, d->result ? NULL : d->err);
	d->result = d->result ? d->result : r;
}

int sample_file_flush(struct sample_file *f, uint64_t *n_unwritten, struct error *err)
{
	struct drain drain = { f, n_unwritten, err, 0 };
	int r = apply_to_file(f, n_unwritten, err);
	uint64_t n_hot;

	drain.result = r;
	n_hot = hot_counts_drain(&f->hot, take_hot, &drain);
	r = apply_to_file(f, n_unwritten, drain.result ? NULL : err);
	if (n_hot < HOT_ROUNDS * GATHERED) /* cooled down: its memory is given back */
		hot_counts_fini(&f->hot);
	f->n_rounds = 0;
	f->grow_error = 0;
	return drain.result ? drain.result : r;
}

static void write_header(const struct sample_file_header *h, uint8_t *out)
{
	const struct sample_file_abi *abi = NATIVE_ABI;
	const struct {
		uint32_t at, value;
	} words[] = {
		{ abi->version, SAMPLE_FILE_VERSION },
		{ abi->cpu_type, h->cpu_type },
		{ abi->event, h->event },
		{ abi->unit_mask, h->unit_mask },
		{ abi->count, h->count },
		{ abi->is_kernel, h->is_kernel },
		{ abi->callee_is_kernel, h->callee_is_kernel },
	};

	memcpy(out, magic, sizeof(magic));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		memcpy(out + words[i].at, &words[i].value, sizeof(words[i].value));
	memcpy(out + abi->cpu_mhz, &h->cpu_mhz, sizeof(h->cpu_mhz));
	memcpy(out + abi->mtime, &h->mtime, sizeof(h->mtime));
	memcpy(out + abi->anon_start, &h->anon_start, sizeof(h->anon_start));
	memcpy(out + abi->callee_anon_start, &h->callee_anon_start, sizeof(h->callee_anon_start));
}

static int sample_file_make_file(struct sample_file *f, int fd,
				 const struct sample_file_header *header, struct error *err)
{
	int r = take_room(f, fd, SAMPLE_FILE_MIN_SLOTS, err);

	if (r < 0) {
		unlink(f->path);
		return r;
	}
	write_header(header, f->map);
	f->descriptor->slots = SAMPLE_FILE_MIN_SLOTS;
	f->descriptor->first_free = 1;
	return 0;
}

/* An existing file's hash may be anything, even a loop: it is made anew from the nodes. */
static int adopt_file(struct sample_file *f, int fd, size_t size, struct error *err)
{
	struct sample_file_view view;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int r;

	if (map == MAP_FAILED)
		return error_errno(err, -errno, "cannot map %s", f->path);
	f->map = map;
	f->map_size = size;
	r = sample_file_parse(map, size, NATIVE_ABI, &view, err);
	if (r < 0)
		return error_wrap(err, r, "%s", f->path);
	set_pointers(f, ((struct descriptor *)(void *)(f->map + NATIVE_ABI->header_size))->slots);
	memset(f->buckets, 0, ((size_t)f->mask + 1) * NATIVE_ABI->bucket_size);
	for (uint32_t n = 1; n <= view.n_nodes; n++)
		link_node(f, n, sample_file_bucket_of(f->nodes[n].key, f->mask));
	return 0;
}

int sample_file_open(const char *path, const struct sample_file_header *header,
		     struct sample_file **out, struct error *err)
{
	cleanup(close_at_exit) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct sample_file *f;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	r = st.st_size ? adopt_file(f, fd, (size_t)st.st_size, err)
		       : sample_file_make_file(f, fd, header, err);
	if (r < 0)
		sample_file_close(f);
	else
		*out = f;
	return r;
}

uint64_t sample_file_take_growth(struct sample_file *f)
{
	uint64_t grown = f->grown_bytes;

	f->grown_bytes = 0;
	return grown;
}

void sample_file_close(struct sample_file *f)
{
	if (!f)
		return;
	if (f->map)
		munmap(f->map, f->map_size);
	hot_counts_fini(&f->hot);
	free(f->path);
	free(f);
}
