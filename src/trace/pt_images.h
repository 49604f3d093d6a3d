/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of the executed code of a trace, from the mapped files.
 *
 * The places of a file, in order:
 *   - the places of symbols (struct symbolizer_config): below the root of an archive or of this
 *     machine, and in the user's folders; then by build id in perf's cache (~/.debug) and in
 *     DEBUGDIR/.build-id
 *   - of the kernel: the user's vmlinux, the copy of /proc/kcore beside the recording (perf record
 *     --kcore), a copy in perf's cache (buildid-cache --kcore), a vmlinux of its build id
 *   - of a guest's kernel: see trace/pt_guests.h
 *   - of the vdso: by build id, then this process's, if it is of the same build
 *
 * A file of another build id is refused, with a note. Files are opened at the first need and stay
 * open. Any number of threads may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "machine/image.h"
#include "perfdata/perfdata.h"

struct loaded_module;
struct module_file;
struct pt_images;
struct symbolizer_config;
struct elf_file;

struct pt_images_config {
	const struct image_table *images; /* stays the caller's, and does not change any more */
	struct perfdata *data;            /* for the build ids that it has of files */
	const char *recording;            /* its path: what lies beside it; NULL: nothing */
	const struct symbolizer_config *places; /* of files; NULL: this machine's. Copied */
	/* Where recorded mappings have the kernels of guests; of the caller, until the end. */
	const struct perfdata_guest_text *guest_texts;
	size_t n_guest_texts;
	/* Of the recorded kernel; of the caller, until the end. */
	const struct loaded_module *modules;
	size_t n_modules;
	uint64_t kernel_text; /* where _text was; 0: not known */
	struct build_id kernel_build_id;
};

struct pt_images *pt_images_new(const struct pt_images_config *config);
void pt_images_free(struct pt_images *t); /* NULL is fine */

/* Copies up to `size` bytes of an image from an offset on to `out`. Returns their number. */
size_t pt_images_read(struct pt_images *t, image_id image, uint64_t offset, uint8_t *out,
		      size_t size);

/* The same for code made at run time, from an address on: its latest version in the jitdump. */
size_t pt_images_read_jit(struct pt_images *t, image_id dump, uint64_t addr, uint8_t *out,
			  size_t size);

/* The same of the kernel, from an address on. */
size_t pt_images_read_kernel(struct pt_images *t, uint64_t addr, uint8_t *out, size_t size);

/* The same of the kernel of the guest that a process runs (trace/pt_guests.h). */
size_t pt_images_read_guest(struct pt_images *t, int32_t pid, uint64_t addr, bool is_way,
			    uint8_t *out, size_t size);

/* Whether guests run code of their processes. */
bool pt_images_have_guest_code(const struct pt_images *t);

/* The vdso of this process; false where it is not of that build (len 0: any). */
bool pt_images_own_vdso(const struct build_id *wanted, const uint8_t **bytes, size_t *size);

/* The address of a function of the kernel, in the source of its code; 0: not known. */
uint64_t pt_images_kernel_function(struct pt_images *t, const char *name);

/* Beside a copy of the kernel's memory: its kallsyms. NULL: the code is from a file, or missing. */
const char *pt_images_kallsyms(struct pt_images *t);

/* The kernel's file, and the distance from its addresses to those at run time. NULL: there is none.
 */
const struct elf_file *pt_images_vmlinux(struct pt_images *t, uint64_t *slide);

/* The kernel's code as it was in memory, from its _text on; empty: only a file has it. */
struct reader pt_images_kernel_memory(struct pt_images *t, uint64_t *addr);

/*
 * The file of a module, which was recorded at `path`. image->build_id becomes that of the
 * recording, if it has one.
 */
bool pt_images_open_module(struct pt_images *t, struct image *image, const char *path,
			   struct module_file *out);

/* An error was met in an image's code: how many there were is in its note. */
void pt_images_count_error(struct pt_images *t, image_id image);

/* Whether the kernel's code is from a file, not from its memory. */
bool pt_images_find_built_kernel(struct pt_images *t);

/* Sentences: which code could not be had, and why. Not while threads read. */
void pt_images_notes(const struct pt_images *t, void (*note)(void *context, const char *sentence),
		     void *context);
