/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether this kernel's verifier takes sampler.bpf.o, as a compiler made it: load_sampler OBJECT.
 * Each way to walk stacks is loaded, as the verifier does not look at code of the others.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RING_BYTES = 1 << 16, ENTRIES = 16 };

struct way {
	const char *name;
	unsigned int with_stacks, by_frame_pointer;
};

/* A constant of the program. 0: it has none of this name. */
static int set_constant(struct bpf_object *object, const char *name, unsigned int value)
{
	struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *type = section < 0 ? NULL : btf__type_by_id(btf, (__u32)section);
	size_t size;
	char *bytes = constants ? (char *)bpf_map__initial_value(constants, &size) : NULL;

	if (!type || !bytes)
		return 0;
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *at = btf_var_secinfos(type) + i;
		const struct btf_type *variable = btf__type_by_id(btf, at->type);

		if (strcmp(btf__name_by_offset(btf, variable->name_off), name) != 0)
			continue;
		memcpy(bytes + at->offset, &value, at->size < sizeof(value) ? at->size : 4);
		return 1;
	}
	return 0;
}

static void size_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__max_entries(map))
			continue;
		bpf_map__set_max_entries(map, bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF
						      ? RING_BYTES
						      : ENTRIES);
	}
}

static int load(const char *path, const struct way *way)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	int r;

	if (!object) {
		perror(path);
		return -1;
	}
	size_maps(object);
	if (!set_constant(object, "with_stacks", way->with_stacks) ||
	    !set_constant(object, "by_frame_pointer", way->by_frame_pointer) ||
	    !set_constant(object, "page_shift",
			  (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)))) {
		fprintf(stderr, "%s: a constant is not there\n", path);
		return -1;
	}
	r = bpf_object__load(object);
	printf("%s: %s: %s\n", path, way->name, r ? strerror(-r) : "loaded");
	bpf_object__close(object);
	return r;
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{ "without stacks", 0, 0 },
		{ "by unwind tables", 1, 0 },
		{ "by frame pointers", 1, 1 },
	};
	int status = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: load_sampler OBJECT\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (load(argv[1], &ways[i]))
			status = 1;
	return status;
}
