/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of probes: functions and static probes of a file (counter/uprobe.h). */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/nearest.h"
#include "counter/address_filter.h"
#include "counter/uprobe.h"
#include "guard/open.h"
#include "symbol/file_functions.h"
#include "symbol/function_names.h"

static int find_function_place(const char *path, const char *text, struct uprobe_places *out,
			       struct error *err)
{
	cleanup(function_names_free_at_exit) struct function_names *names = NULL;
	cleanup(free_at_exit) char *name = xstrdup(text);
	struct function_name f;
	int32_t pick = function_pick_cut(name);
	int r = function_names_of_file(path, &names, err);

	if (r >= 0)
		r = function_names_find(names, name, pick, &f, err);
	if (r >= 0)
		vec_push(out, ((struct uprobe_place){ .file_off = f.start }));
	return MIN(r, 0);
}

static int ask_probes(const char *path, struct file_functions *out, struct error *err)
{
	struct file_mapping file = { 0 };
	int r = guard_map(GUARD_HERE, path, &guard_image_rules, &file, err);

	if (r < 0)
		return r;
	r = file_functions_ask(&file, IMAGE_AT_ITS_PATH, FUNCTIONS_PROBES, NULL, out, err);
	file_unmap(&file);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

static int explain_no_probe(const char *path, const char *wanted, const struct file_functions *f,
			    struct error *err)
{
	struct nearest near;
	char text[320];

	if (!f->head.n)
		return error_set(err, -ENODATA, "%s has no static probes (USDT)", path);
	nearest_begin(&near, wanted);
	for (uint32_t i = 0; i < f->head.n; i++) {
		const char *name = file_functions_name(f, &f->list[i]);

		nearest_offer(&near, name, name);
	}
	nearest_end(&near, text, sizeof(text));
	return error_set(err, -ENOENT, "no static probe '%.100s' in %s%s%s", wanted, path,
			 *text ? "; nearest: " : "; the first of its probes: ",
			 *text ? text : file_functions_name(f, &f->list[0]));
}

static int find_static_places(const char *path, const char *provider, const char *name,
			      struct uprobe_places *out, struct error *err)
{
	cleanup(free_at_exit) char *wanted = xasprintf("%s:%s", provider, name);
	struct file_functions f;
	int r = ask_probes(path, &f, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < f.head.n; i++)
		if (!strcmp(file_functions_name(&f, &f.list[i]), wanted))
			vec_push(out,
				 ((struct uprobe_place){ f.list[i].file_off, f.list[i].size }));
	if (!out->n)
		r = explain_no_probe(path, wanted, &f, err);
	file_functions_fini(&f);
	return r;
}

const struct uprobe_finder uprobe_finder = { find_function_place, find_static_places };
