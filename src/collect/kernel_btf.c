// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"

/* The kernel's BTF has 4 to 8 MB. */
#define KERNEL_BTF_LIMIT ((size_t)256 << 20)

/* Kinds that older kernel headers lack (include/uapi/linux/btf.h). */
enum { KIND_FLOAT = 16, KIND_DECL_TAG, KIND_TYPE_TAG, KIND_ENUM64 };

/* In each version. Linux 7.2 has more in it, for kinds of types that a reader does not know. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(uint32_t))

/* The bytes that follow a type's `struct btf_type`: some for the type, some for each member. */
struct kind_layout {
	uint8_t is_known, bytes, bytes_a_member;
};

static const struct kind_layout kind_layouts[128] = {
	[BTF_KIND_INT] = { 1, 4, 0 },
	[BTF_KIND_PTR] = { 1, 0, 0 },
	[BTF_KIND_ARRAY] = { 1, sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 1, 0, sizeof(struct btf_enum) },
	[BTF_KIND_FWD] = { 1, 0, 0 },
	[BTF_KIND_TYPEDEF] = { 1, 0, 0 },
	[BTF_KIND_VOLATILE] = { 1, 0, 0 },
	[BTF_KIND_CONST] = { 1, 0, 0 },
	[BTF_KIND_RESTRICT] = { 1, 0, 0 },
	[BTF_KIND_FUNC] = { 1, 0, 0 },
	[BTF_KIND_FUNC_PROTO] = { 1, 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { 1, sizeof(struct btf_var), 0 },
	[BTF_KIND_DATASEC] = { 1, 0, sizeof(struct btf_var_secinfo) },
	[KIND_FLOAT] = { 1, 0, 0 },
	[KIND_DECL_TAG] = { 1, 4, 0 },
	[KIND_TYPE_TAG] = { 1, 0, 0 },
	[KIND_ENUM64] = { 1, 0, 12 },
};

/* The kernel's BTF, and the part of it for the result. */
struct reduction {
	const uint8_t *types;
	const char *strings;
	size_t types_size, strings_size;
	VEC(uint32_t) offsets; /* by id: the type's offset in `types` */
	struct intmap wanted;  /* hashes of names */
	struct intmap new_ids; /* by old id */
	VEC(uint32_t) taken;   /* old ids, in the order of the new ones, from 1 */
	struct buf out_types, out_strings;
};

static void reduction_fini(struct reduction *r)
{
	vec_fini(&r->offsets);
	intmap_fini(&r->wanted);
	intmap_fini(&r->new_ids);
	vec_fini(&r->taken);
	buf_fini(&r->out_types);
	buf_fini(&r->out_strings);
}

static unsigned btf_kind_of(const struct btf_type *t)
{
	return t->info >> 24 & 0x7f;
}

static unsigned n_members(const struct btf_type *t)
{
	return t->info & 0xffffff;
}

static size_t type_size(const struct btf_type *t)
{
	const struct kind_layout *layout = &kind_layouts[btf_kind_of(t)];

	return sizeof(*t) + layout->bytes + (size_t)layout->bytes_a_member * n_members(t);
}

/* CO-RE finds types of these kinds by name. */
static bool is_found_by_name(const struct btf_type *t)
{
	switch (btf_kind_of(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_TYPEDEF:
	case KIND_ENUM64:
		return t->name_off != 0;
	default:
		return false;
	}
}

static uint64_t name_hash(const char *name, size_t length)
{
	return XXH3_64bits(name, length);
}

static void collect_wanted(const struct btf *program, struct intmap *wanted)
{
	const struct btf_type *t;

	for (uint32_t id = 1; (t = btf__type_by_id(program, id)); id++) {
		const char *name = btf__name_by_offset(program, t->name_off);
		const char *flavour;

		if (!is_found_by_name(t) || !name)
			continue;
		flavour = strstr(name, "___");
		intmap_put(wanted,
			   name_hash(name, flavour ? (size_t)(flavour - name) : strlen(name)),
			   NULL);
	}
}

/* The new id of a type, which joins the result if needed. */
static uint32_t add_type(struct reduction *r, uint32_t old)
{
	bool is_new;
	uint32_t *id;

	if (!old)
		return 0; /* void */
	id = intmap_put(&r->new_ids, old, &is_new);
	if (is_new) {
		vec_push(&r->taken, old);
		*id = (uint32_t)r->taken.n;
	}
	return *id;
}

static int read_btf_header(struct reduction *r, const uint8_t *bytes, size_t size)
{
	struct btf_header h;

	if (size < HEADER_BYTES)
		return -EBADMSG;
	memcpy(&h, bytes, HEADER_BYTES);
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < HEADER_BYTES ||
	    h.hdr_len > size || h.type_off > size - h.hdr_len || h.hdr_len % 4 || h.type_off % 4 ||
	    h.type_len > size - h.hdr_len - h.type_off || h.str_off > size - h.hdr_len ||
	    !h.str_len || h.str_len > size - h.hdr_len - h.str_off)
		return -EBADMSG;
	r->types = bytes + h.hdr_len + h.type_off;
	r->types_size = h.type_len;
	r->strings = (const char *)bytes + h.hdr_len + h.str_off;
	r->strings_size = h.str_len;
	return r->strings[r->strings_size - 1] ? -EBADMSG : 0;
}

/* Finds the place of each type, and adds the wanted types. */
static int index_types(struct reduction *r)
{
	size_t at = 0;

	vec_reserve(&r->offsets, r->types_size / 24);
	vec_push(&r->offsets, 0); /* void */
	while (at < r->types_size) {
		const struct btf_type *t = (const void *)(r->types + at);
		const char *name;

		if (r->types_size - at < sizeof(*t) || !kind_layouts[btf_kind_of(t)].is_known ||
		    type_size(t) > r->types_size - at || t->name_off >= r->strings_size)
			return -EBADMSG;
		name = r->strings + t->name_off;
		if (is_found_by_name(t) && intmap_find(&r->wanted, name_hash(name, strlen(name))))
			add_type(r, (uint32_t)r->offsets.n);
		vec_push(&r->offsets, (uint32_t)at);
		at += type_size(t);
	}
	return 0;
}

static int copy_name(struct reduction *r, uint32_t *name_off)
{
	const char *name;

	if (*name_off >= r->strings_size)
		return -EBADMSG;
	name = r->strings + *name_off;
	*name_off = *name ? (uint32_t)r->out_strings.len : 0;
	if (*name)
		buf_bytes(&r->out_strings, name, strlen(name) + 1);
	return 0;
}

/* Each kind's record has other numbers at other places: names, and ids of types. */
static int copy_type(struct reduction *r, const struct btf_type *old)
{
	size_t at = r->out_types.len, size = type_size(old);
	struct btf_array *array;
	struct btf_member *member;
	struct btf_type *t;
	int e;

	buf_bytes(&r->out_types, old, size);
	t = (void *)(r->out_types.data + at);
	e = copy_name(r, &t->name_off);
	switch (btf_kind_of(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_FWD:
	case KIND_FLOAT:
		return e;
	case BTF_KIND_PTR:
		t->type = 0;
		return e;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case KIND_TYPE_TAG:
		t->type = add_type(r, t->type);
		return e;
	case BTF_KIND_ARRAY:
		array = (void *)(t + 1);
		array->type = add_type(r, array->type);
		array->index_type = add_type(r, array->index_type);
		return e;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		member = (void *)(t + 1);
		for (unsigned i = 0; !e && i < n_members(t); i++) {
			e = copy_name(r, &member[i].name_off);
			member[i].type = add_type(r, member[i].type);
		}
		return e;
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
		for (size_t i = sizeof(*t); !e && i < size;
		     i += kind_layouts[btf_kind_of(t)].bytes_a_member)
			e = copy_name(r, (uint32_t *)((uint8_t *)t + i));
		return e;
	default:
		return -EBADMSG; /* no member has such a type */
	}
}

static int copy_types(struct reduction *r)
{
	buf_bytes(&r->out_strings, "", 1);
	for (size_t i = 0; i < r->taken.n; i++) {
		uint32_t id = r->taken.data[i];
		int e = id < r->offsets.n
				? copy_type(r, (const void *)(r->types + r->offsets.data[id]))
				: -EBADMSG;

		if (e < 0)
			return e;
	}
	return 0;
}

static void reduction_join(const struct reduction *r, struct buf *out)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = HEADER_BYTES,
		.type_len = (uint32_t)r->out_types.len,
		.str_off = (uint32_t)r->out_types.len,
		.str_len = (uint32_t)r->out_strings.len,
	};

	buf_bytes(out, &h, HEADER_BYTES);
	buf_bytes(out, r->out_types.data, r->out_types.len);
	buf_bytes(out, r->out_strings.data, r->out_strings.len);
}

int kernel_btf_reduce(const void *bytes, size_t size, const struct btf *program, struct buf *out)
{
	struct reduction r = { 0 };
	int e = read_btf_header(&r, bytes, size);

	if (e == 0) {
		collect_wanted(program, &r.wanted);
		e = index_types(&r);
	}
	if (e == 0)
		e = copy_types(&r);
	if (e == 0)
		reduction_join(&r, out);
	reduction_fini(&r);
	return e;
}

int kernel_btf_write(const char *path, const struct btf *program, int fd)
{
	cleanup(free_at_exit) char *bytes = NULL;
	struct buf reduced = { 0 };
	size_t size;
	int e = file_read_all(path, KERNEL_BTF_LIMIT, &bytes, &size);

	if (e < 0)
		return e;
	e = kernel_btf_reduce(bytes, size, program, &reduced) == 0
		    ? file_write_all(fd, reduced.data, reduced.len)
		    : file_write_all(fd, bytes, size);
	buf_fini(&reduced);
	return e;
}
