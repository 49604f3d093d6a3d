/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that the user's files are those of the running kernel. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"

/* A share of its symbols may be elsewhere: kernels patch and relocate some. */
#define MAX_OFF_PERCENT 1

/* Names of functions with their offsets from _text; UINT64_MAX for a name with several. */
struct places {
	struct strings names;
	VEC(uint64_t) offsets; /* by string id */
};

static void places_init(struct places *p, const struct kallsyms *k)
{
	strings_init(&p->names);
	vec_push(&p->offsets, UINT64_MAX);
	vec_foreach (&k->symbols, s) {
		uint32_t id;

		if (!s->name || s->module || s->addr < k->text_addr)
			continue;
		id = strings_add_n(&p->names, s->name, s->name_len).n;
		if (id < p->offsets.n)
			p->offsets.data[id] = UINT64_MAX;
		else
			vec_push(&p->offsets, s->addr - k->text_addr);
	}
}

static void places_fini(struct places *p)
{
	strings_fini(&p->names);
	vec_fini(&p->offsets);
}

/* Counts the functions that both have, and those of them at different places. */
static void compare_places(struct places *a, const struct places *b, size_t *n_both, size_t *n_off)
{
	*n_both = *n_off = 0;
	for (uint32_t i = 1; i < b->names.n; i++) {
		string_id id;

		if (b->offsets.data[i] == UINT64_MAX ||
		    !strings_find(&a->names, strings_get(&b->names, (string_id){ i }), &id) ||
		    a->offsets.data[id.n] == UINT64_MAX)
			continue;
		++*n_both;
		*n_off += a->offsets.data[id.n] != b->offsets.data[i];
	}
}

static int check_system_map(const struct symbolizer *s, const char *path, struct error *err)
{
	struct kallsyms map = { 0 }, running = { 0 };
	struct places a = { 0 }, b = { 0 };
	size_t n_both, n_off;
	int r = kallsyms_read(&map, path);

	if (r < 0)
		r = error_set(err, r, "%s: %s", path, strerror(-r));
	else if (!map.text_addr)
		r = error_set(err, -EBADMSG,
			      "%s is no System.map: lines of address, type and name, one of them "
			      "_text",
			      path);
	else if (kallsyms_read(&running, s->kallsyms_path) < 0 || running.is_hidden)
		r = 0;
	else {
		places_init(&a, &map);
		places_init(&b, &running);
		compare_places(&a, &b, &n_both, &n_off);
		places_fini(&a);
		places_fini(&b);
		r = 1;
		if (!n_both || n_off * 100 > n_both * MAX_OFF_PERCENT)
			r = error_set(err, -ESTALE,
				      "%s does not belong to the running kernel: %zu of %zu "
				      "functions have other addresses; without this option, assay "
				      "reads the kernel's own symbols",
				      path, n_off, n_both);
	}
	kallsyms_fini(&map);
	kallsyms_fini(&running);
	return r;
}

static int check_vmlinux(const struct symbolizer *s, const char *path, struct error *err)
{
	struct build_id running = { 0 }, found = { 0 };
	char hex[BUILD_ID_HEX_SIZE], wanted[BUILD_ID_HEX_SIZE];
	struct file_mapping file = { 0 };
	struct elf_file elf;
	int r = symbolizer_map(s, path, &file, err);

	if (r < 0)
		return r;
	r = elf_file_open(&elf, file.base, file.size, err);
	if (r < 0) {
		r = error_wrap(err, r, "%s", path);
	} else if (!running_kernel_build_id(s, &running)) {
		r = 0;
	} else {
		elf_build_id(&elf, &found);
		build_id_hex(&found, hex);
		build_id_hex(&running, wanted);
		r = build_id_equal(&found, &running)
			    ? 1
			    : error_set(err, -ESTALE,
					"%s does not belong to the running kernel: its build id is "
					"%s, the "
					"kernel's %s",
					path, *hex ? hex : "not there", wanted);
	}
	file_unmap(&file);
	return r;
}

int symbolizer_check_kernel(struct symbolizer *s, const char *system_map, const char *vmlinux,
			    struct error *err)
{
	int map = system_map ? check_system_map(s, system_map, err) : 1, file;

	if (map < 0)
		return map;
	file = vmlinux ? check_vmlinux(s, vmlinux, err) : 1;
	return MIN(map, file);
}
