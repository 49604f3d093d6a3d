/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/operators.h"

#include <string.h>

#include "guard/open.h"
#include "symbol/file_functions.h"

/* A few programs, each with its libraries; programs choose the names of files and functions. */
#define LIBRARIES_MAX 64
#define OPERATORS_MAX 2048

void operators_fini(struct operators *o)
{
	vec_fini(&o->images);
	vec_fini(&o->ranges);
}

static bool is_library(const char *path)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };
	const char *base = path && *path == '/' ? strrchr(path, '/') + 1 : "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Mangled: "_Znwm" is operator new, and "_Znam" operator new[]. */
static bool is_operator(const char *name)
{
	return !strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4);
}

static void find_operators(struct operators *o, image_id image, const char *path)
{
	struct file_mapping file = { 0 };
	struct file_functions f = { 0 };

	if (guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) < 0)
		return;
	if (file_functions_ask(&file, IMAGE_AT_ITS_PATH, FUNCTIONS_ALL, NULL, &f, NULL) >= 0)
		for (uint32_t i = 0; i < f.head.n && o->ranges.n < OPERATORS_MAX; i++)
			if (is_operator(file_functions_name(&f, &f.list[i])))
				vec_push(&o->ranges,
					 ((struct operator_range){ f.list[i].file_off,
								   f.list[i].size, image }));
	file_functions_fini(&f);
	file_unmap(&file);
}

bool operators_has(struct operators *o, const struct image_table *images, struct code_addr code)
{
	const char *path = image_get(images, code.image)->path;
	bool is_known = false;

	if (!is_library(path))
		return false;
	vec_foreach (&o->images, image)
		is_known |= image->n == code.image.n;
	if (!is_known) {
		if (o->images.n >= LIBRARIES_MAX)
			return false;
		vec_push(&o->images, code.image);
		find_operators(o, code.image, path);
	}
	vec_foreach (&o->ranges, range)
		if (range->image.n == code.image.n && code.offset - range->start < range->size)
			return true;
	return false;
}
