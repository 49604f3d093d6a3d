/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the kernel and its modules. */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc_modules.h"
#include "machine/guest_modules.h"
#include "machine/kernel_map.h"
#include "symbol/elf_draft.h"
#include "symbol/kernel/kernel_symbols.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"

#define MAX_MODULE_SPAN (1ULL << 28)

enum { MAX_GUEST_LISTS = 8, MAX_GUEST_BYTES = 1 << 28 };

void table_fail_hidden(struct symbol_table *t)
{
	table_fail(t, SYMBOL_HIDDEN,
		   "kernel symbols are hidden from this user; run as root, or set "
		   "kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1");
}

void table_fail_textless(struct symbol_table *t, const char *path)
{
	table_fail(t, SYMBOL_DAMAGED, "kernel symbols: %s has no _text", path);
}

/* Whether the parser makes tables of the kernel, so that this process stays small. */
static bool are_made_apart(const struct symbolizer *s)
{
	return s->is_small && parser_uses_children();
}

/* Read once; again only for a second image of the kernel, when the first one's symbols are gone. */
static bool load_kallsyms(struct symbolizer *s, struct symbol_table *t, bool for_kernel)
{
	if (s->kallsyms_result == 1 || (for_kernel && !s->kallsyms.has_kernel)) {
		kallsyms_fini(&s->kallsyms);
		s->kallsyms_result = kallsyms_read(&s->kallsyms, s->kallsyms_path);
	}
	if (s->kallsyms_result < 0)
		table_fail(t, SYMBOL_UNREADABLE, "kernel symbols: %s: %s", s->kallsyms_path,
			   strerror(-s->kallsyms_result));
	else if (s->kallsyms.is_hidden)
		table_fail_hidden(t);
	else
		return true;
	return false;
}

bool kernel_text_addr(struct symbolizer *s, uint64_t *addr)
{
	struct kallsyms all = { 0 };

	*addr = s->kallsyms.text_addr;
	if (!*addr && kallsyms_read(&all, s->kallsyms_path) == 0)
		*addr = all.text_addr;
	kallsyms_fini(&all);
	return *addr != 0;
}

static bool make_from_vmlinux(const struct symbolizer *s, struct symbol_table *t,
			      const struct build_id *wanted)
{
	struct code_segments segments = { 0 };
	struct file_mapping file = { 0 };
	struct index_draft d = { 0 };
	struct elf_file elf;
	bool ok;

	if (!vmlinux_open(s, wanted, VMLINUX_NAMES, &file, &elf, NULL))
		return false;
	ok = t->is_of_objects ? vmlinux_all_segments(&elf, &segments)
			      : vmlinux_segments(&elf, &segments);
	if (ok) {
		if (t->is_of_objects) {
			elf_draft_objects(&d, &elf, SHT_SYMTAB, &segments);
		} else {
			elf_draft_code(&d, &elf, &segments);
			elf_draft_symbols(&d, &elf, SHT_SYMTAB, &segments);
		}
		table_adopt(t, &d, SYMBOL_DEBUG_FILE);
	}
	code_segments_fini(&segments);
	file_unmap(&file);
	return ok;
}

/* Of one file, functions or variables; not cached: the cache only holds the kernel's own. */
static bool make_from_map(struct symbol_table *t, const char *path)
{
	struct kallsyms map = { .of_objects = t->is_of_objects };
	struct index_draft d = { 0 };
	int r = kallsyms_read(&map, path);

	if (r < 0) {
		table_fail(t, SYMBOL_UNREADABLE, "kernel symbols: %s: %s", path, strerror(-r));
	} else if (!map.text_addr) {
		table_fail_textless(t, path);
	} else {
		draft_kernel_symbols(&d, &map, 0, map.text_addr, KERNEL_SPAN_MAX);
		table_adopt(t, &d, SYMBOL_KALLSYMS);
	}
	kallsyms_fini(&map);
	return t->index.n > 0;
}

static bool make_from_kallsyms(struct symbolizer *s, struct symbol_table *t)
{
	struct index_draft d = { 0 };

	if (t->is_of_objects)
		return make_from_map(t, s->kallsyms_path);
	if (are_made_apart(s))
		return ask_kernel_symbols(s, t, &(struct kernel_symbols_question){ 0 }) ==
		       KERNEL_SYMBOLS_FOUND;
	if (!load_kallsyms(s, t, true))
		return false;
	if (!s->kallsyms.text_addr) {
		table_fail_textless(t, s->kallsyms_path);
		return false;
	}
	draft_kernel_symbols(&d, &s->kallsyms, 0, s->kallsyms.text_addr, KERNEL_SPAN_MAX);
	table_adopt(t, &d, SYMBOL_KALLSYMS);
	kallsyms_drop_kernel(&s->kallsyms);
	return true;
}

/* An index of the parser leaves memory once it is on disk. */
static void keep_kernel_table(const struct symbolizer *s, struct symbol_table *t,
			      const struct build_id *key)
{
	table_to_cache(s, t, key, 0);
	if (t->answer.is_mapped)
		table_lay_down(s, t, key);
}

/*
 * The running kernel gives its own symbols. Those of another kernel are in the cache if they were
 * needed while it ran; else in a vmlinux with that build id.
 */
void make_kernel_table(struct symbolizer *s, struct symbol_table *t)
{
	struct build_id running = { 0 }, wanted = t->image.build_id;
	bool is_running;

	/* an unknown build of a kernel, and not this kernel: machine/kernel_map.h */
	if (!wanted.len && strcmp(t->image.path, "[kernel]")) {
		table_fail(t, SYMBOL_CHANGED,
			   "the profile is of another kernel, and its build id was not recorded");
		return;
	}
	if (!running_kernel_build_id(s, &running))
		is_running = true; /* nothing to compare with */
	else
		is_running = !wanted.len || build_id_equal(&running, &wanted);
	if (!wanted.len)
		wanted = running;
	if (s->system_map) {
		make_from_map(t, s->system_map);
		return;
	}
	/* as of files, the cache has functions alone */
	if (!t->is_of_objects && table_from_cache(s, t, &wanted))
		return;
	if ((is_running && make_from_kallsyms(s, t)) || make_from_vmlinux(s, t, &wanted))
		keep_kernel_table(s, t, t->is_of_objects ? &(struct build_id){ 0 } : &wanted);
	else if (!is_running && !table_from_kept(s, t, &wanted))
		table_fail(t, SYMBOL_CHANGED,
			   "the profile is of another kernel than the running one, and no vmlinux "
			   "of it was found");
}

/* ---- guests ---- */

static void guest_lists_free_one(struct guest_lists *l)
{
	kallsyms_fini(&l->symbols);
	guest_modules_free(l->modules);
	vec_fini(&l->spans);
	free(l->symbols_path);
	free(l->modules_path);
}

void guest_lists_fini(struct guest_lists_kept *l)
{
	vec_foreach (&l->all, one)
		guest_lists_free_one(one);
	vec_fini(&l->all);
}

static void guest_lists_find_spans(struct guest_lists *l)
{
	const struct kallsyms *k = &l->symbols;

	for (size_t i = 0; i < k->modules.n; i++)
		vec_push(&l->spans, ((struct symbol_span){ k->symbols.n, 0 }));
	for (size_t i = 0; i < k->symbols.n; i++) {
		struct symbol_span *span = &l->spans.data[k->symbols.data[i].module];

		span->from = MIN(span->from, i);
		span->to = i + 1;
	}
}

static uint64_t guest_list_size(const char *path)
{
	struct stat st;

	return *path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void guest_lists_read(struct guest_lists *l, const char *symbols, const char *modules)
{
	l->symbols_path = xstrdup(symbols);
	l->modules_path = xstrdup(modules);
	l->result = kallsyms_read(&l->symbols, symbols);
	l->modules = guest_modules_read(*modules ? modules : NULL);
	guest_lists_find_spans(l);
	l->n_bytes = guest_list_size(symbols) +
		     l->symbols.symbols.cap * sizeof(*l->symbols.symbols.data) +
		     l->spans.cap * sizeof(*l->spans.data) + guest_modules_bytes(l->modules);
}

static void guest_lists_drop_oldest(struct guest_lists_kept *kept)
{
	guest_lists_free_one(&kept->all.data[0]);
	memmove(kept->all.data, kept->all.data + 1, --kept->all.n * sizeof(*kept->all.data));
}

/* The last one stays, whatever its size. */
static void guest_lists_limit(struct guest_lists_kept *kept)
{
	uint64_t n_bytes = 0;

	vec_foreach (&kept->all, l)
		n_bytes += l->n_bytes;
	while (kept->all.n > 1 && (kept->all.n > MAX_GUEST_LISTS || n_bytes > MAX_GUEST_BYTES)) {
		n_bytes -= kept->all.data[0].n_bytes;
		guest_lists_drop_oldest(kept);
	}
}

/*
 * Each module has a table, and all of a guest are made of the same two lists. Tables of several
 * guests are made in turn. So the lists of the last guests are kept.
 */
static const struct guest_lists *guest_lists_of(struct symbolizer *s, const char *symbols,
						const char *modules)
{
	struct guest_lists_kept *kept = &s->guest_lists;

	vec_foreach (&kept->all, l) {
		struct guest_lists found = *l;
		size_t n_behind = (size_t)(kept->all.data + kept->all.n - l) - 1;

		if (strcmp(l->symbols_path, symbols) != 0 || strcmp(l->modules_path, modules) != 0)
			continue;
		memmove(l, l + 1, n_behind * sizeof(*l));
		l[n_behind] = found;
		return &l[n_behind];
	}
	guest_lists_read(vec_add(&kept->all), symbols, modules);
	guest_lists_limit(kept);
	return &kept->all.data[kept->all.n - 1];
}

/* Where modules begin and end: no function goes on into the space between them. */
static void draft_module_ends(struct index_draft *d, const struct guest_modules *modules)
{
	size_t n;
	const struct guest_module *all = guest_modules_all(modules, &n);

	for (size_t i = 0; i < 2 * n; i++)
		vec_push(&d->symbols, (struct index_draft_symbol){
					      .offset = i & 1 ? all[i / 2].end : all[i / 2].start,
					      .rank = UINT8_MAX,
					      .is_end = true,
					      .is_bound = true });
}

/*
 * The offsets of a guest's kernel and of its modules are addresses, and all are in one list of
 * symbols. Without a list of modules, all code is the kernel's. So its table (`module` "") has all.
 */
static void make_from_guest_lists(struct symbol_table *t, const char *module,
				  const struct guest_lists *l)
{
	const struct kallsyms *map = &l->symbols;
	cleanup(free_at_exit) char *name = guest_files_name(l->symbols_path);
	struct index_draft d = { 0 };
	int number = l->result == 0 && *module ? kallsyms_module(map, module) : EVERY_MODULE;

	if (l->result < 0) {
		table_fail(t, SYMBOL_UNREADABLE, "symbols of the guest's kernel: %s: %s", name,
			   strerror(-l->result));
	} else if (map->is_hidden || !map->symbols.n) {
		table_fail(t, SYMBOL_DAMAGED,
			   "symbols of the guest's kernel: %s has no addresses: copy it as root",
			   name);
	} else if (*module && number < 0) {
		table_fail(t, SYMBOL_NO_FILE, "%s has no symbols of the module %s", name, module);
	} else {
		const struct symbol_span all = { 0, map->symbols.n };

		draft_symbols_of(&d, map, number < 0 ? all : l->spans.data[number], number, 0,
				 UINT64_MAX);
		draft_module_ends(&d, l->modules);
		table_adopt(t, &d, SYMBOL_KALLSYMS);
	}
}

/* A guest that shares its files may have a FIFO there. */
static bool is_in_the_way(const char *path)
{
	return access(path, F_OK) == 0 && !file_is_regular(path);
}

void make_guest_table(struct symbolizer *s, struct symbol_table *t)
{
	cleanup(free_at_exit) char *symbols = NULL, *modules = NULL;
	const struct guest_files files = { s->guest_kallsyms, s->guest_modules, s->guest_mount };
	char module[PROC_MODULE_NAME] = "";
	int32_t pid;

	if (sscanf(t->image.path, IMAGE_GUEST_KERNEL " %" SCNd32 "]", &pid) != 1 &&
	    sscanf(t->image.path, IMAGE_GUEST_MODULE " %" SCNd32 " %127[^]]", &pid, module) != 2)
		return;
	symbols = guest_files_list(&files, pid, "kallsyms");
	modules = guest_files_list(&files, pid, "modules");
	if (symbols && (is_in_the_way(symbols) || (modules && is_in_the_way(modules))))
		table_fail(t, SYMBOL_UNREADABLE,
			   "symbols of the guest's kernel: %s, or modules beside it, is no file",
			   symbols);
	else if (symbols)
		make_from_guest_lists(t, module,
				      guest_lists_of(s, symbols, modules ? modules : ""));
	else
		table_fail(t, SYMBOL_NO_FILE,
			   "the kernel of a guest: copy the guest's /proc/kallsyms, and give the "
			   "copy with --guestkallsyms");
}

/* ---- modules ---- */

/* A line of /proc/modules: name size users dependents state address. */
static bool module_addr(const struct symbolizer *s, const char *name, uint64_t *addr)
{
	cleanup(free_at_exit) char *text = NULL;
	char *save = NULL;

	if (file_read_all(s->modules_path, 16 << 20, &text, NULL) < 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char found[64];

		if (sscanf(line, "%63s %*s %*s %*s %*s %" SCNx64, found, addr) == 2 &&
		    !strcmp(found, name))
			return true;
	}
	return false;
}

static bool module_build_id(const struct symbolizer *s, const char *name, struct build_id *out)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/%s/notes/.note.gnu.build-id", s->sys_module_dir, name);
	cleanup(free_at_exit) char *notes = NULL;
	size_t size;

	return file_read_all(path, 1 << 16, &notes, &size) == 0 &&
	       elf_build_id_in_notes(reader_over(notes, size), 4, out);
}

static void fail_unloaded(struct symbol_table *t, const char *name)
{
	table_fail(t, SYMBOL_MISSING, "kernel module %s is not loaded now", name);
}

static void make_loaded_module_table(struct symbolizer *s, struct symbol_table *t, const char *name)
{
	struct kernel_symbols_question question = { .span = MAX_MODULE_SPAN };
	bool is_apart = are_made_apart(s), is_loaded = module_addr(s, name, &question.base);
	struct index_draft d = { 0 };
	int module = 0;

	snprintf(question.module, sizeof(question.module), "%s", name);
	if (!is_apart) {
		if (!load_kallsyms(s, t, false))
			return;
		module = kallsyms_module(&s->kallsyms, name);
	}
	if (module < 0 || !is_loaded) {
		fail_unloaded(t, name);
	} else if (!question.base) {
		table_fail(t, SYMBOL_HIDDEN,
			   "the address of kernel module %s is hidden from this user", name);
	} else if (!is_apart) {
		draft_kernel_symbols(&d, &s->kallsyms, module, question.base, MAX_MODULE_SPAN);
		table_adopt(t, &d, SYMBOL_KALLSYMS);
	} else if (ask_kernel_symbols(s, t, &question) == KERNEL_SYMBOLS_NO_MODULE) {
		fail_unloaded(t, name);
	}
}

/* For a module that is no longer loaded: with the layout that the kernel would choose. */
static bool make_from_module_file(struct symbolizer *s, struct symbol_table *t)
{
	struct index_draft d = { 0 };
	struct module_file file;

	if (!module_file_open(s, &t->image, MODULE_SYMBOLS, NULL, &file))
		return false;
	elf_draft_code(&d, &file.elf, &file.segments);
	elf_draft_symbols(&d, &file.elf, SHT_SYMTAB, &file.segments);
	table_adopt(t, &d, SYMBOL_SYMTAB);
	module_file_close(&file);
	return true;
}

void make_module_table(struct symbolizer *s, struct symbol_table *t)
{
	cleanup(free_at_exit) char *name = kernel_module_name(t->image.path);
	struct build_id loaded = { 0 };

	if (table_from_cache(s, t, &t->image.build_id))
		return;
	module_build_id(s, name, &loaded);
	if (t->image.build_id.len && loaded.len && !build_id_equal(&loaded, &t->image.build_id)) {
		if (!make_from_module_file(s, t) && !table_from_kept(s, t, &t->image.build_id))
			table_fail(t, SYMBOL_CHANGED,
				   "kernel module %s is loaded in another build than the profiled "
				   "one, and no file of that one was found",
				   name);
		return;
	}
	make_loaded_module_table(s, t, name);
	if (!t->index.n &&
	    (make_from_module_file(s, t) || table_from_kept(s, t, &t->image.build_id))) {
		/* the offsets are only computed: the kernel's own, later, are better */
		free(t->detail);
		t->detail = NULL;
		return;
	}
	keep_kernel_table(s, t, &t->image.build_id);
}
