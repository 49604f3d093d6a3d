/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbolizer/code_files.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "elf/elf_file.h"
#include "symbol/disasm.h"
#include "symbol/kernel/kcore.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"

struct code_file {
	const struct symbol_table *table; /* NULL: free */
	struct file_mapping file;
	struct module_file module;
	struct kcore kcore; /* if has_kcore: bytes are read from memory, … */
	bool has_kcore;
	uint64_t text_addr;            /* … offset 0 of the image */
	struct buf bytes;              /* the bytes of the last read */
	struct elf_file elf;           /* for the kernel and its modules, with headers */
	struct code_segments segments; /* of a vmlinux */
	struct disassembler *disassembler;
	uint64_t used; /* the larger the later */
};

/* An image whose code can't be read; it is tried once. */
struct refused {
	const struct symbol_table *table;
	struct error why;
};

struct code_files {
	VEC(struct refused) refused;
	struct symbolizer *symbols;
	struct code_file *files;
	uint32_t n_files;
	uint64_t clock;
};

struct code_files *code_files_new(struct symbolizer *s, uint32_t max_open)
{
	struct code_files *f = xcalloc(1, sizeof(*f));

	f->symbols = s;
	f->n_files = max_open ? max_open : DEFAULT_CODE_FILES;
	f->files = xcalloc(f->n_files, sizeof(*f->files));
	return f;
}

static void file_close(struct code_file *f)
{
	file_unmap(&f->file);
	module_file_close(&f->module);
	if (f->has_kcore)
		kcore_close(&f->kcore);
	buf_fini(&f->bytes);
	code_segments_fini(&f->segments);
	disassembler_close(f->disassembler);
	*f = (struct code_file){ 0 };
}

void code_files_free(struct code_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_files; i++)
		file_close(&f->files[i]);
	free(f->files);
	vec_fini(&f->refused);
	free(f);
}

static int open_image_file(const struct code_files *f, struct code_file *file, struct error *err)
{
	const struct image *image = &file->table->image;
	cleanup(free_at_exit) char *path = NULL;
	int r = symbolizer_map_image(f->symbols, image, &file->file, &path, err);

	/* its code is at the offsets of the image, so no header is needed to find it */
	if (r >= 0)
		r = elf_file_open_bare(&file->elf, file->file.base, file->file.size, err);
	return r < 0 ? error_wrap(err, r, "code of %s", path) : 0;
}

/* The running kernel's own text, with all patches since its start. */
static int code_files_open_kcore(const struct code_files *f, struct code_file *file,
				 const struct build_id *wanted, struct error *err)
{
	struct build_id running = { 0 };
	int r;

	if (wanted->len && running_kernel_build_id(f->symbols, &running) &&
	    !build_id_equal(&running, wanted))
		return error_set(err, -ESTALE, "another kernel runs now");
	r = kcore_open(f->symbols->kcore_path, &file->kcore, err);
	file->has_kcore = r >= 0;
	if (r >= 0 && !kernel_text_addr(f->symbols, &file->text_addr))
		return error_set(err, -EACCES, "%s hides its address", f->symbols->kallsyms_path);
	file->elf = (struct elf_file){ .machine = file->kcore.machine, .is_64 = true };
	return r;
}

static int code_files_open_kernel(const struct code_files *f, struct code_file *file,
				  struct error *err)
{
	struct build_id wanted = file->table->image.build_id;
	struct error why = { 0 };

	if (!wanted.len)
		running_kernel_build_id(f->symbols, &wanted);
	if (vmlinux_open(f->symbols, &wanted, VMLINUX_CODE, &file->file, &file->elf, NULL) &&
	    vmlinux_segments(&file->elf, &file->segments))
		return 0;
	if (code_files_open_kcore(f, file, &wanted, &why) >= 0)
		return 0;
	return error_set(
		err, -ENOENT,
		"code of the kernel: no vmlinux of its build in /usr/lib/debug, /boot and "
		"/lib/modules, and its memory is not readable (%s); install the kernel's debug "
		"package",
		why.text);
}

static int open_module_file(const struct code_files *f, struct code_file *file, struct error *err)
{
	const struct image *image = &file->table->image;

	if (!module_file_open(f->symbols, image, MODULE_CODE, file->table, &file->module))
		return error_set(err, -ENOENT,
				 "code of kernel module %s: no file of its build in /lib/modules "
				 "and /usr/lib/debug",
				 image->path);
	file->elf = file->module.elf;
	vec_foreach (&file->module.segments, s) {
		vec_push(&file->segments, *s);
	}
	return 0;
}

static int code_files_open_file(const struct code_files *f, struct code_file *file,
				struct error *err)
{
	const struct image *image = &file->table->image;
	int r;

	switch (image->kind) {
	case IMAGE_FILE:
		r = open_image_file(f, file, err);
		break;
	case IMAGE_KERNEL:
		r = code_files_open_kernel(f, file, err);
		break;
	case IMAGE_MODULE:
		r = open_module_file(f, file, err);
		break;
	default:
		return error_set(err, -ENOTSUP, "code of %s: it was in memory only", image->path);
	}
	return r < 0 ? r
		     : disassembler_open(file->elf.machine, file->elf.is_64, &file->disassembler,
					 err);
}

/* Its file, from those that are open; else it replaces the least recently used one. */
static int code_files_get_file(struct code_files *f, const struct symbol_table *t,
			       struct code_file **out, struct error *err)
{
	struct code_file *oldest = &f->files[0];
	struct error why = { 0 };
	int r;

	assert(f->n_files);
	vec_foreach (&f->refused, refused)
		if (refused->table == t)
			return error_set(err, refused->why.code, "%s", refused->why.text);
	for (size_t i = 0; i < f->n_files; i++) {
		if (f->files[i].table == t) {
			*out = &f->files[i];
			return 0;
		}
		if (f->files[i].used < oldest->used)
			oldest = &f->files[i];
	}
	file_close(oldest);
	oldest->table = t;
	r = code_files_open_file(f, oldest, &why);
	if (r < 0) {
		file_close(oldest);
		vec_push(&f->refused, (struct refused){ t, why });
		return error_set(err, r, "%s", why.text);
	}
	*out = oldest;
	return r;
}

static bool code_files_place_of(const struct code_file *file, uint64_t link_addr, uint64_t *at)
{
	return file->module.bytes ? module_file_off(&file->module, link_addr, at)
				  : elf_file_off(&file->elf, link_addr, at);
}

/* The place of an offset in the file. */
static bool place_in_file(const struct code_file *file, uint64_t offset, uint64_t *at)
{
	if (!file->segments.n) {
		*at = offset;
		return true;
	}
	vec_foreach (&file->segments, s)
		if (offset >= s->offset && offset - s->offset < s->size)
			return code_files_place_of(file, s->link_addr + (offset - s->offset), at);
	return false;
}

static int read_kernel_memory(struct code_file *file, const struct symbol_table *t, uint64_t offset,
			      uint64_t size, struct code_bytes *out, struct error *err)
{
	int n;

	file->bytes.len = 0;
	buf_reserve(&file->bytes, size);
	n = kcore_read(&file->kcore, file->text_addr + offset, file->bytes.data, size);
	if (n <= 0)
		return error_set(err, -EFAULT, "code of %s: 0x%llx can't be read from its memory",
				 t->image.path, (unsigned long long)offset);
	*out = (struct code_bytes){ .bytes = file->bytes.data,
				    .size = (size_t)n,
				    .disassembler = file->disassembler,
				    .is_64 = file->elf.is_64 };
	return 0;
}

int code_files_get(struct code_files *f, const struct symbol_table *t, uint64_t offset,
		   uint64_t size, struct code_bytes *out, struct error *err)
{
	struct code_file *file;
	uint64_t at;
	int r = code_files_get_file(f, t, &file, err);

	if (r < 0)
		return r;
	file->used = ++f->clock;
	if (file->has_kcore)
		return read_kernel_memory(file, t, offset, size, out, err);
	if (!place_in_file(file, offset, &at) || at >= file->elf.size)
		return error_set(err, -ENOENT,
				 "code of %s: 0x%llx is not in the file (a debug file has no code)",
				 t->image.path, (unsigned long long)offset);
	*out = (struct code_bytes){ .bytes = file->elf.base + at,
				    .size = MIN(size, file->elf.size - at),
				    .disassembler = file->disassembler,
				    .is_64 = file->elf.is_64,
				    .mtime_ns = file->module.bytes ? file->module.mtime_ns
								   : file->file.mtime_ns };
	return 0;
}
