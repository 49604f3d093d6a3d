/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/function_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/nearest.h"
#include "counter/address_filter.h"
#include "guard/open.h"
#include "symbol/debug_file.h"
#include "demangle/demangle.h"
#include "symbol/file_functions.h"
#include "symbol/kallsyms.h"

#define N_LISTED 12 /* of functions of one name */

struct function_names {
	VEC(struct function_name) list; /* by start */
	char *path;                     /* "the kernel" */
	struct file_functions functions;
	struct kallsyms kallsyms;
	VEC(char *) owned; /* names that are in no table */
	uint64_t file_size;
};

static int function_names_by_start(const void *a, const void *b)
{
	const struct function_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* One symbol in the tables of both the file and its debug file counts once. */
static void sort_functions(struct function_names *f)
{
	size_t n = 0;

	if (f->list.n)
		qsort(f->list.data, f->list.n, sizeof(*f->list.data), function_names_by_start);
	vec_foreach (&f->list, it)
		if (!n || function_names_by_start(&f->list.data[n - 1], it) != 0)
			f->list.data[n++] = *it;
	f->list.n = n;
}

/* A symbol without a size ends at the next one; nameless entries (data) are only such ends. */
static void fill_sizes(struct function_names *f)
{
	uint64_t next = f->file_size;
	size_t n = 0;

	for (size_t i = f->list.n; i-- > 0;) {
		struct function_name *it = &f->list.data[i];

		if (i + 1 < f->list.n && f->list.data[i + 1].start > it->start)
			next = f->list.data[i + 1].start;
		if (!it->size && next > it->start)
			it->size = next - it->start;
	}
	vec_foreach (&f->list, it)
		if (*it->name)
			f->list.data[n++] = *it;
	f->list.n = n;
}

/* Names of versions ("memcpy@@GLIBC_2.14") count without them. */
int function_names_of_file(const char *path, struct function_names **out, struct error *err)
{
	cleanup(function_names_free_at_exit) struct function_names *f = xcalloc(1, sizeof(*f));
	const struct debug_search search = { .root = "",
					     .debug_dir = "/usr/lib/debug",
					     .image_path = path };
	struct file_mapping file = { 0 };
	int r = guard_map(GUARD_HERE, path, &guard_image_rules, &file, err);

	f->path = xstrdup(path);
	if (r < 0)
		return r;
	f->file_size = file.size;
	r = file_functions_ask(&file, IMAGE_AT_ITS_PATH, FUNCTIONS_ALL, &search, &f->functions,
			       err);
	file_unmap(&file);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	for (uint32_t i = 0; i < f->functions.head.n; i++) {
		const struct file_function *it = &f->functions.list[i];

		vec_push(&f->list, (struct function_name){
					   .start = it->file_off,
					   .size = it->size,
					   .name = file_functions_name(&f->functions, it),
					   .is_global = it->is_global,
				   });
	}
	sort_functions(f);
	fill_sizes(f);
	if (!f->list.n)
		return error_set(err, -ENODATA,
				 "%s has no symbols of functions: it is stripped; install its "
				 "debug symbols, or give an address",
				 path);
	*out = take_ptr(f);
	return 0;
}

int function_names_of_kernel(const char *path, struct function_names **out, struct error *err)
{
	cleanup(function_names_free_at_exit) struct function_names *f = xcalloc(1, sizeof(*f));
	const char *from = path ? path : "/proc/kallsyms";
	int r = kallsyms_read(&f->kallsyms, from);

	f->path = xstrdup("the kernel");
	if (r < 0)
		return error_errno(err, r, "%s", from);
	if (f->kallsyms.is_hidden)
		return error_set(err, -EACCES,
				 "%s hides the kernel's addresses (kernel.kptr_restrict): run as "
				 "root, or give a file with @FILE",
				 from);
	vec_foreach (&f->kallsyms.symbols, s) {
		char *name = s->name ? xstrndup(s->name, s->name_len) : NULL;

		if (name)
			vec_push(&f->owned, name);
		vec_push(&f->list, (struct function_name){ .start = s->addr,
							   .name = name ? name : "",
							   .is_global = s->type < 'a' });
	}
	sort_functions(f);
	fill_sizes(f);
	if (!f->list.n)
		return error_set(err, -ENODATA, "%s has no functions", from);
	*out = take_ptr(f);
	return 0;
}

void function_names_free(struct function_names *f)
{
	if (!f)
		return;
	file_functions_fini(&f->functions);
	kallsyms_fini(&f->kallsyms);
	vec_foreach (&f->owned, name)
		free(*name);
	vec_fini(&f->owned);
	vec_fini(&f->list);
	free(f->path);
	free(f);
}

const char *function_names_of(const struct function_names *f)
{
	return f->path;
}

int32_t function_pick_cut(char *name)
{
	char *hash = strrchr(name, '#'), *end;
	int32_t pick = PICK_ONLY;

	if (!hash)
		return PICK_ONLY;
	if (!strcasecmp(hash + 1, "g")) {
		pick = PICK_GLOBAL;
	} else if (isdigit((unsigned char)hash[1])) {
		pick = (int32_t)MIN(strtoul(hash + 1, &end, 10), INT32_MAX);
		if (*end)
			return PICK_ONLY;
	} else {
		return PICK_ONLY;
	}
	while (hash > name && isspace((unsigned char)hash[-1]))
		hash--;
	*hash = '\0';
	return pick;
}

void function_names_span(const struct function_names *f, uint64_t *start, uint64_t *size)
{
	const struct function_name *last = &f->list.data[f->list.n - 1];

	*start = f->file_size ? 0 : f->list.data[0].start;
	*size = f->file_size ? f->file_size : last->start + last->size - *start;
}

/* The length of a name up to its version. */
static size_t name_len(const char *name)
{
	const char *version = strchr(name, '@');

	return version && version != name ? (size_t)(version - name) : strlen(name);
}

static bool is_demangled_so(const struct function_name *f, const char *name, size_t len,
			    struct buf *scratch)
{
	if (strncmp(f->name, "_Z", 2) != 0 && strncmp(f->name, "_R", 2) != 0 &&
	    strncmp(f->name, "_D", 2) != 0)
		return false;
	if (demangle_short(f->name, scratch) && !strcmp(buf_cstr(scratch), name))
		return true;
	return strchr(name, '(') && demangle(f->name, scratch) &&
	       !strncmp(buf_cstr(scratch), name, len + 1);
}

static bool function_names_has_name(const struct function_name *f, const char *name, size_t len,
				    struct buf *scratch)
{
	size_t n = name_len(f->name);

	if (n == len && !strncmp(f->name, name, len))
		return true;
	return is_demangled_so(f, name, len, scratch);
}

static int explain_absence(const struct function_names *f, const char *name, struct error *err)
{
	struct buf scratch = { 0 };
	struct nearest near;
	char text[320];

	nearest_begin(&near, name);
	vec_foreach (&f->list, it) {
		nearest_offer(&near, it->name, it->name);
		if (!strncmp(it->name, "_Z", 2) && demangle_short(it->name, &scratch))
			nearest_offer(&near, buf_cstr(&scratch), buf_cstr(&scratch));
	}
	nearest_end(&near, text, sizeof(text));
	buf_fini(&scratch);
	return error_set(err, -ENOENT, "no function '%.100s' in %s%s%s", name, f->path,
			 *text ? "; nearest: " : "", text);
}

struct found {
	struct function_name *data;
	size_t n, cap;
};

static int explain_choice(const struct function_names *f, const char *name,
			  const struct found *found, const char *what, struct error *err)
{
	struct buf list = { 0 };
	int r;

	for (size_t i = 0; i < found->n && i < N_LISTED; i++)
		buf_printf(&list, "%s#%zu at 0x%" PRIx64 " (%s)", i ? ", " : "", i + 1,
			   found->data[i].start, found->data[i].is_global ? "global" : "local");
	if (found->n > N_LISTED)
		buf_printf(&list, ", and %zu more", found->n - N_LISTED);
	r = error_set(err, -ENOTUNIQ, "%s '%.100s' in %s: %s; choose one as '%.60s #1', or '#g'",
		      what, name, f->path, buf_cstr(&list), name);
	buf_fini(&list);
	return r;
}

static int choose_function(const struct function_names *f, const char *name, int32_t pick,
			   const struct found *found, struct function_name *out, struct error *err)
{
	size_t n_global = 0, global = 0;

	for (size_t i = 0; i < found->n; i++) {
		global = found->data[i].is_global && !n_global ? i : global;
		n_global += found->data[i].is_global;
	}
	if (pick == PICK_GLOBAL && n_global != 1)
		return explain_choice(f, name, found,
				      n_global ? "there is more than one global"
					       : "there is no global",
				      err);
	if (pick == PICK_ONLY && found->n > 1)
		return explain_choice(f, name, found, "there is more than one", err);
	if (pick > 0 && (size_t)pick > found->n)
		return explain_choice(f, name, found, "there are not so many", err);
	*out = found->data[pick == PICK_ONLY ? 0 : pick == PICK_GLOBAL ? global : (size_t)pick - 1];
	return 0;
}

int function_names_find(const struct function_names *f, const char *name, int32_t pick,
			struct function_name *out, struct error *err)
{
	size_t len = name_len(name);
	struct buf scratch = { 0 };
	struct found found = { 0 };
	int r;

	/* two matching names of one place (a C++ constructor's) are that place */
	vec_foreach (&f->list, it)
		if (function_names_has_name(it, name, len, &scratch) &&
		    (!found.n || found.data[found.n - 1].start != it->start))
			vec_push(&found, *it);
	r = found.n ? choose_function(f, name, pick, &found, out, err)
		    : explain_absence(f, name, err);
	vec_fini(&found);
	buf_fini(&scratch);
	return r;
}
