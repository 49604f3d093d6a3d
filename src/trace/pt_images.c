/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_images.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "machine/jit_code.h"
#include "symbol/finder.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/kcore_cache.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"
#include "trace/pt_guests.h"

enum { VDSO_MAX = 1 << 16 };

struct code_file {
	bool is_tried;
	struct file_mapping file;
	const uint8_t *bytes; /* of the file, or of the vdso in this process */
	size_t size;
	struct jit_code *jit; /* of a jitdump: where its code was */
	uint64_t n_errors;    /* that were met in it */
};

struct note {
	char *text;
	image_id image; /* whose errors it is about; 0: of none */
};

struct pt_images {
	struct pt_images_config config;
	char *recording;
	struct symbolizer *symbols; /* knows where files are */
	pthread_mutex_t lock;       /* of opening; what is open stays as it is */
	struct code_file *files;
	struct strings names; /* of files with a recorded build id */
	VEC(struct build_id) build_ids;
	struct code_file kernel;
	struct elf_file kernel_elf;
	char *kallsyms; /* beside kcore; NULL: it is a vmlinux */
	uint64_t slide; /* of vmlinux: from link addresses to the kernel's */
	VEC(struct note) notes;
	struct pt_guests *guests;
	bool guest_code;
};

static void keep_build_id(void *context, const char *path, const struct build_id *id)
{
	struct pt_images *t = context;
	string_id at = strings_add(&t->names, path);

	while (t->build_ids.n <= at.n)
		vec_add(&t->build_ids);
	t->build_ids.data[at.n] = *id;
}

/* No table is made of it. */
static struct symbolizer *open_places(const struct symbolizer_config *given)
{
	struct symbolizer_config config = given ? *given : (struct symbolizer_config){ 0 };

	config.cache_dir = "";
	return symbolizer_new(&config);
}

struct pt_images *pt_images_new(const struct pt_images_config *config)
{
	struct pt_images *t = xcalloc(1, sizeof(*t));

	t->config = *config;
	t->recording = config->recording ? xstrdup(config->recording) : NULL;
	t->symbols = open_places(config->places);
	t->guests = pt_guests_new(t->symbols, config->guest_texts, config->n_guest_texts);
	t->guest_code = config->places && config->places->guest_code;
	pthread_mutex_init(&t->lock, NULL);
	t->files = xcalloc(image_count(config->images) + 1, sizeof(*t->files));
	strings_init(&t->names);
	perfdata_each_build_id(config->data, keep_build_id, t);
	return t;
}

void pt_images_free(struct pt_images *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < image_count(t->config.images); i++) {
		file_unmap(&t->files[i].file);
		jit_code_free(t->files[i].jit);
	}
	file_unmap(&t->kernel.file);
	vec_foreach (&t->notes, note)
		free(note->text);
	vec_fini(&t->notes);
	vec_fini(&t->build_ids);
	strings_fini(&t->names);
	pthread_mutex_destroy(&t->lock);
	free(t->files);
	free(t->kallsyms);
	free(t->recording);
	pt_guests_free(t->guests);
	symbolizer_free(t->symbols);
	free(t);
}

void pt_images_notes(const struct pt_images *t, void (*note)(void *context, const char *sentence),
		     void *context)
{
	vec_foreach (&t->notes, n) {
		uint64_t n_errors = t->files[n->image.n].n_errors;
		cleanup(free_at_exit) char *text =
			n_errors ? xasprintf("%s, which is %" PRIu64 " errors", n->text, n_errors)
				 : xstrdup(n->text);

		note(context, text);
	}
	pt_guests_notes(t->guests, note, context);
}

void pt_images_count_error(struct pt_images *t, image_id image)
{
	t->files[image.n].n_errors++;
}

__attribute__((format(printf, 3, 4))) static void add_note(struct pt_images *t, image_id image,
							   const char *format, ...)
{
	char text[PATH_MAX + 200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&t->notes, ((struct note){ xstrdup(text), image }));
}

static struct build_id recorded_id(const struct pt_images *t, const struct image *image)
{
	string_id at;

	if (image->build_id.len)
		return image->build_id;
	return strings_find(&t->names, image->path, &at) && at.n < t->build_ids.n
		       ? t->build_ids.data[at.n]
		       : (struct build_id){ 0 };
}

/* ---- files ---- */

static bool open_image(struct pt_images *t, const struct image *image, struct code_file *f,
		       char **path, int *why)
{
	struct image wanted = *image;

	wanted.build_id = recorded_id(t, image);
	*why = symbolizer_map_image(t->symbols, &wanted, &f->file, path, NULL);
	if (*why < 0)
		return false;
	f->bytes = f->file.base;
	f->size = f->file.size;
	return true;
}

static void open_file(struct pt_images *t, image_id id, const struct image *image,
		      struct code_file *f)
{
	cleanup(free_at_exit) char *path = NULL;
	int why;

	if (!open_image(t, image, f, &path, &why))
		add_note(t, id, "%s %s: its code is not decoded", path,
			 why == -ESTALE ? "is of another build than the one that was traced"
					: "can't be read");
}

/* ---- the vdso ---- */

bool pt_images_own_vdso(const struct build_id *wanted, const uint8_t **bytes, size_t *size)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address */
	struct build_id id = { 0 };
	struct elf_segment segment;
	uint16_t n_sections, stride;
	struct elf_file elf;

	/* Its pages are one mapping, that ends behind the section headers. */
	if (!base)
		return false;
	memcpy(&elf.sections_off, base + offsetof(Elf64_Ehdr, e_shoff), sizeof(uint64_t));
	memcpy(&stride, base + offsetof(Elf64_Ehdr, e_shentsize), sizeof(stride));
	memcpy(&n_sections, base + offsetof(Elf64_Ehdr, e_shnum), sizeof(n_sections));
	*size = elf.sections_off + (size_t)n_sections * stride;
	if (*size > VDSO_MAX || elf_file_open(&elf, base, *size, NULL) < 0)
		return false;
	*bytes = base;
	for (uint32_t i = 0; i < elf.n_segments; i++)
		if (elf_segment(&elf, i, &segment) && segment.type == PT_NOTE &&
		    segment.file_off + segment.file_size <= *size &&
		    elf_build_id_in_notes(reader_over(base + segment.file_off, segment.file_size),
					  4, &id))
			break;
	return !wanted->len || build_id_equal(&id, wanted);
}

static void open_vdso(struct pt_images *t, image_id id, const struct image *image,
		      struct code_file *f)
{
	struct build_id wanted = recorded_id(t, image);
	int why;

	if (!open_image(t, image, f, NULL, &why) &&
	    !pt_images_own_vdso(&wanted, &f->bytes, &f->size)) {
		f->size = 0;
		add_note(t, id,
			 "the vdso is of another build than this machine's: its code is not "
			 "decoded");
	}
}

static struct code_file *opened(struct pt_images *t, image_id id)
{
	struct code_file *f = &t->files[id.n];
	const struct image *image;

	if (__atomic_load_n(&f->is_tried, __ATOMIC_ACQUIRE))
		return f;
	pthread_mutex_lock(&t->lock);
	image = image_get(t->config.images, id);
	if (!f->is_tried && image->kind == IMAGE_VDSO)
		open_vdso(t, id, image, f);
	else if (!f->is_tried && image->kind == IMAGE_FILE)
		open_file(t, id, image, f);
	__atomic_store_n(&f->is_tried, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&t->lock);
	return f;
}

size_t pt_images_read(struct pt_images *t, image_id image, uint64_t offset, uint8_t *out,
		      size_t size)
{
	const struct code_file *f = opened(t, image);

	if (offset >= f->size)
		return 0;
	size = MIN(size, f->size - offset);
	memcpy(out, f->bytes + offset, size);
	return size;
}

size_t pt_images_read_jit(struct pt_images *t, image_id dump, uint64_t addr, uint8_t *out,
			  size_t size)
{
	const struct image *image = image_get(t->config.images, dump);
	struct jit_code_config config = { .has_other_clock = true };
	struct code_file *f = opened(t, dump);
	uint64_t off;
	bool is_there;

	pthread_mutex_lock(&t->lock);
	if (f->size && !f->jit) {
		cleanup(free_at_exit) char *path = symbolizer_image_file(t->symbols, image);

		config.reader.path = path;
		f->jit = jit_code_open(&config);
	}
	is_there = f->jit && jit_code_find(f->jit, addr, UINT64_MAX, &off);
	pthread_mutex_unlock(&t->lock);
	return is_there ? pt_images_read(t, dump, off, out, size) : 0;
}

/* ---- the kernel ---- */

/* A copy of /proc/kcore, with kallsyms beside it. */
static bool open_kcore_in(struct pt_images *t, const char *folder)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kcore", folder);

	if (file_map(path, &t->kernel.file, NULL) == 0 &&
	    elf_file_open(&t->kernel_elf, t->kernel.file.base, t->kernel.file.size, NULL) == 0) {
		t->kallsyms = xasprintf("%s/kallsyms", folder);
		return true;
	}
	file_unmap(&t->kernel.file);
	t->kernel.file = (struct file_mapping){ 0 };
	return false;
}

static bool open_kept_kcore(struct pt_images *t, const struct build_id *wanted)
{
	cleanup(free_at_exit) char *cache = finder_perf_cache(), *folder = NULL;

	if (!cache || !wanted->len)
		return false;
	folder = kcore_cache_find(cache, wanted, t->config.kernel_text, t->config.modules,
				  t->config.n_modules);
	return folder && open_kcore_in(t, folder);
}

/* perf record --kcore makes a directory: DIR/data and DIR/kcore_dir/kcore. */
static bool open_kcore(struct pt_images *t)
{
	static const char *const folders[] = { "kcore_dir", "." };
	struct stat st;

	if (!t->recording || stat(t->recording, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		cleanup(free_at_exit) char *folder = xasprintf("%s/%s", t->recording, folders[i]);

		if (open_kcore_in(t, folder))
			return true;
	}
	return false;
}

/* The distance from the linked address to the address at run time. */
static bool find_slide(struct pt_images *t)
{
	struct code_segments segments = { 0 };
	bool ok = t->config.kernel_text && vmlinux_segments(&t->kernel_elf, &segments);

	if (ok)
		t->slide = t->config.kernel_text -
			   (segments.data[0].link_addr - segments.data[0].offset);
	code_segments_fini(&segments);
	return ok;
}

static void close_kernel(struct pt_images *t)
{
	file_unmap(&t->kernel.file);
	t->kernel.file = (struct file_mapping){ 0 };
}

/* NULL, or why the named file is of no use. */
static const char *refuse_vmlinux(struct pt_images *t, const struct build_id *wanted)
{
	bool is_elf =
		elf_file_open(&t->kernel_elf, t->kernel.file.base, t->kernel.file.size, NULL) == 0;
	struct build_id id = { 0 };

	if (is_elf)
		elf_build_id(&t->kernel_elf, &id);
	if (wanted->len && !build_id_equal(&id, wanted))
		return "is of another build than the kernel that was traced";
	if (!t->config.kernel_text)
		return "is of no use, because the recording does not have the kernel's address";
	return is_elf && find_slide(t) ? NULL : "is no vmlinux with symbols";
}

/* The one that was named: it is believed where the recording has no build id of its kernel. */
static bool open_named_vmlinux(struct pt_images *t, const struct build_id *wanted)
{
	const char *path = t->symbols->vmlinux;
	const char *why;

	if (!path)
		return false;
	why = symbolizer_map(t->symbols, path, &t->kernel.file, NULL) < 0
		      ? "can't be read"
		      : refuse_vmlinux(t, wanted);
	if (!why)
		return true;
	close_kernel(t);
	add_note(t, IMAGE_UNKNOWN_ID, "%s %s: it is not used", path, why);
	return false;
}

static bool open_vmlinux(struct pt_images *t, const struct build_id *wanted)
{
	return wanted->len &&
	       vmlinux_open(t->symbols, wanted, VMLINUX_CODE, &t->kernel.file, &t->kernel_elf,
			    NULL) &&
	       find_slide(t);
}

static void open_kernel(struct pt_images *t)
{
	struct image image = { .build_id = t->config.kernel_build_id, .path = "[kernel.kallsyms]" };
	struct build_id wanted = recorded_id(t, &image);

	if (open_named_vmlinux(t, &wanted) || open_kcore(t) || open_kept_kcore(t, &wanted) ||
	    open_vmlinux(t, &wanted))
		return;
	close_kernel(t);
	add_note(
		t, IMAGE_UNKNOWN_ID,
		"the kernel's code is missing and is not decoded: there is no copy of "
		"/proc/kcore (perf record --kcore, or buildid-cache --kcore) and no vmlinux of its "
		"build (name one by --vmlinux)");
}

static void need_kernel(struct pt_images *t)
{
	if (!__atomic_load_n(&t->kernel.is_tried, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&t->lock);
		if (!t->kernel.is_tried)
			open_kernel(t);
		__atomic_store_n(&t->kernel.is_tried, true, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&t->lock);
	}
}

size_t pt_images_read_kernel(struct pt_images *t, uint64_t addr, uint8_t *out, size_t size)
{
	struct reader bytes;

	need_kernel(t);
	if (!t->kernel.file.base)
		return 0;
	bytes = elf_bytes_at(&t->kernel_elf, addr - t->slide);
	size = MIN(size, reader_left(&bytes));
	if (size)
		memcpy(out, bytes.at, size);
	return size;
}

size_t pt_images_read_guest(struct pt_images *t, int32_t pid, uint64_t addr, bool is_way,
			    uint8_t *out, size_t size)
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = pt_guests_read(t->guests, pid, addr, is_way, out, size);
	pthread_mutex_unlock(&t->lock);
	return n;
}

bool pt_images_have_guest_code(const struct pt_images *t)
{
	return t->guest_code;
}

bool pt_images_find_built_kernel(struct pt_images *t)
{
	need_kernel(t);
	return t->kernel.file.base && !t->kallsyms;
}

const char *pt_images_kallsyms(struct pt_images *t)
{
	need_kernel(t);
	return t->kallsyms;
}

const struct elf_file *pt_images_vmlinux(struct pt_images *t, uint64_t *slide)
{
	bool is_built = pt_images_find_built_kernel(t);

	*slide = t->slide;
	return is_built ? &t->kernel_elf : NULL;
}

struct reader pt_images_kernel_memory(struct pt_images *t, uint64_t *addr)
{
	need_kernel(t);
	*addr = t->config.kernel_text;
	return t->kallsyms ? elf_bytes_at(&t->kernel_elf, *addr) : reader_over(NULL, 0);
}

bool pt_images_open_module(struct pt_images *t, struct image *image, const char *path,
			   struct module_file *out)
{
	const struct image recorded = { .build_id = image->build_id, .path = path };
	bool is_open;

	image->build_id = recorded_id(t, &recorded);
	pthread_mutex_lock(&t->lock);
	is_open = module_file_open(t->symbols, image, MODULE_CODE, NULL, out);
	pthread_mutex_unlock(&t->lock);
	return is_open;
}

static uint64_t find_in_kallsyms(const char *path, const char *name)
{
	struct kallsyms k = { 0 };
	size_t len = strlen(name);
	uint64_t addr = 0;

	if (kallsyms_read(&k, path) == 0)
		vec_foreach (&k.symbols, s)
			if (!s->module && s->name && s->name_len == len &&
			    !memcmp(s->name, name, len))
				addr = s->addr;
	kallsyms_fini(&k);
	return addr;
}

static uint64_t find_in_vmlinux(const struct pt_images *t, const char *name)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	if (t->kernel.file.base && elf_symbols_begin(&it, &t->kernel_elf, SHT_SYMTAB))
		while (elf_symbols_next(&it, &symbol))
			if (!strcmp(symbol.name, name))
				return symbol.link_addr + t->slide;
	return 0;
}

uint64_t pt_images_kernel_function(struct pt_images *t, const char *name)
{
	need_kernel(t);
	return t->kallsyms ? find_in_kallsyms(t->kallsyms, name) : find_in_vmlinux(t, name);
}
