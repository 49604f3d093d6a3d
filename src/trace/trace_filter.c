/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/trace_filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "counter/address_filter.h"
#include "symbol/function_names.h"

/* The symbols of each file are read once. */
struct resolver {
	const struct trace_filter_config *config;
	VEC(struct function_names *) names;
	VEC(char *) paths;
	struct error *err;
};

static void resolver_fini(struct resolver *r)
{
	vec_foreach (&r->names, it)
		function_names_free(*it);
	vec_fini(&r->names);
	vec_foreach (&r->paths, it)
		free(*it);
	vec_fini(&r->paths);
}

/* The kernel looks the file up by itself, so the path must be whole. */
static int full_path(struct resolver *r, const char *file, const char **out)
{
	char *path = realpath(file, NULL);

	if (!path)
		return error_errno(r->err, -errno, "%s", file);
	vec_push(&r->paths, path);
	*out = path;
	return 0;
}

static int names_of(struct resolver *r, const char *path, struct function_names **out)
{
	int e;

	vec_foreach (&r->names, it)
		if (!strcmp(function_names_of(*it), path ? path : "the kernel")) {
			*out = *it;
			return 0;
		}
	e = path ? function_names_of_file(path, out, r->err)
		 : function_names_of_kernel(r->config->kallsyms, out, r->err);
	if (!e)
		vec_push(&r->names, *out);
	return e;
}

static int find(struct resolver *r, const char *path, const struct address_point *point,
		struct function_name *out)
{
	struct function_names *names;
	int e = names_of(r, path, &names);

	return e < 0 ? e : function_names_find(names, point->symbol, point->pick, out, r->err);
}

static int resolve_all(struct resolver *r, struct address_range *range)
{
	struct function_names *names;
	int e = names_of(r, range->file, &names);

	if (!e)
		function_names_span(names, &range->start, &range->size);
	return e;
}

static int resolve_size(struct resolver *r, const struct address_filter *f,
			struct address_range *range)
{
	struct function_name last;
	int e;

	if (!f->size.symbol) {
		range->size = f->size.number;
		return 0;
	}
	e = find(r, range->file, &f->size, &last);
	if (e < 0)
		return e;
	if (last.start + last.size <= range->start)
		return error_set(r->err, -EINVAL,
				 "the region from '%s' to '%s' has no size: "
				 "'%s' is before it",
				 f->start.symbol ? f->start.symbol : "its address", f->size.symbol,
				 f->size.symbol);
	range->size = last.start + last.size - range->start;
	return 0;
}

static int resolve(struct resolver *r, const struct address_filter *f, struct address_range *range)
{
	struct function_name first;
	int e = f->file ? full_path(r, f->file, &range->file) : 0;

	if (e < 0)
		return e;
	range->action = f->action;
	if (f->is_all)
		return resolve_all(r, range);
	range->start = f->start.number;
	if (f->start.symbol) {
		e = find(r, range->file, &f->start, &first);
		if (e < 0)
			return e;
		range->start = first.start;
		if (address_action_is_region[f->action] && !f->has_size)
			range->size = first.size;
	}
	return f->has_size ? resolve_size(r, f, range) : 0;
}

int trace_filter_resolve(const struct trace_filter_config *config, const char *text,
			 struct buf *out, struct error *err)
{
	struct resolver r = { .config = config, .err = err };
	struct address_filters filters = { 0 };
	struct address_ranges ranges = { 0 };
	int e = address_filters_parse(text, &filters, err);

	for (size_t i = 0; i < filters.n && !e; i++)
		e = resolve(&r, &filters.data[i], vec_add(&ranges));
	if (!e)
		e = address_ranges_check(config->sources, config->pmu, &ranges, err);
	if (!e)
		address_ranges_text(&ranges, out);
	address_filters_fini(&filters);
	vec_fini(&ranges);
	resolver_fini(&r);
	return e;
}
