/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images: everything that holds code, each known once.
 *
 * An image is interned by (kind, build id, path); without a build id by (kind, content, path); and
 * if the file is not readable by (kind, device, inode, generation, path). Two binaries of one path
 * and different build ids are two images. Anybody can write a file with the build id of another.
 * So a file that is not to be trusted (machine/image_file.h) has an identity beside its build id.
 * The kind gives the zero of an image's offsets:
 *
 *   FILE, VDSO   the start of the file
 *   KERNEL       _text, so that a reboot with another KASLR slide adds up
 *   MODULE       the module's load address
 *   BPF          the program's first instruction
 *   JIT          0: absolute run-time addresses in one process (`pid`); or, if the path is a
 *                jitdump's, the start of that file
 *   UNKNOWN      0: absolute addresses that no mapping covers
 *   NAMED        nothing: an offset stands for a function's name, which is in the session
 *   LANGUAGE     likewise; the image is a source file of a language (`language`)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

typedef struct {
	uint32_t n;
} image_id;

/* The image of unmapped addresses: always id 0. */
#define IMAGE_UNKNOWN_ID ((image_id){ 0 })

/* X(id, key, text). The order is the store format. */
#define IMAGE_KINDS(X)                                             \
	X(UNKNOWN, "unknown", "no mapping covers the address")     \
	X(FILE, "file", "a file on disk")                          \
	X(KERNEL, "kernel", "the kernel's own text")               \
	X(MODULE, "module", "a kernel module")                     \
	X(VDSO, "vdso", "code the kernel maps into processes")     \
	X(BPF, "bpf", "a BPF program")                             \
	X(JIT, "jit", "code made at run time in anonymous memory") \
	X(NAMED, "named", "code that is known by name alone")      \
	X(LANGUAGE, "language", "a source file of an interpreted language")

enum image_kind {
#define X(id, key, text) IMAGE_##id,
	IMAGE_KINDS(X)
#undef X
		N_IMAGE_KINDS
};

extern const char *const image_kind_keys[N_IMAGE_KINDS];

struct image {
	enum image_kind kind;
	union {
		int32_t pid;      /* JIT: its process; else 0 */
		int32_t language; /* LANGUAGE: enum language (lang/language.h) */
	};
	struct build_id build_id;
	uint64_t dev, ino;   /* 0 where not known; see also IMAGE_DEV_MIN */
	uint64_t generation; /* of the inode while it is recorded; 0 where not known */
	const char *path; /* FILE: as the process saw it; else "[kernel]", "[vdso]", a module's name
			     … */
};

/* Of the vdso of 32-bit programs, which are below 4 GiB. */
#define IMAGE_PATH_VDSO32 "[vdso32]"

/*
 * Values of `dev` for which `ino` is an identity of the file (image_file.h). Such an image is kept
 * apart from others of its build id.
 *
 *   CONTENT  a trusted file without a build id: XXH3 of its size, beginning and end
 *   SHA256   the first eight bytes of the SHA-256 of its content; above GUARD_HASH_BYTES
 *            (guard/open.h), of its device, inode, size and times
 *   FILE     a hash of device, inode and times. The file has a build id and can be read at its path
 */
#define IMAGE_DEV_CONTENT UINT64_MAX
#define IMAGE_DEV_SHA256  (UINT64_MAX - 1)
#define IMAGE_DEV_FILE    (UINT64_MAX - 2)
#define IMAGE_DEV_MIN     IMAGE_DEV_FILE

static inline bool image_has_identity(const struct image *image)
{
	return image->dev >= IMAGE_DEV_MIN;
}

/* Whether the identities of two images of one build id do not differ. */
static inline bool image_identity_equal(const struct image *a, const struct image *b)
{
	return image_has_identity(a) == image_has_identity(b) &&
	       (!image_has_identity(a) || (a->dev == b->dev && a->ino == b->ino));
}

struct code_addr {
	image_id image;
	uint64_t offset;
};

/*
 * The image (of kind NAMED) of the outermost frame of an arc of a call graph, which is no sample.
 * Arcs come from OProfile's sample files: (callee, caller, this), without samples. The period is
 * how often the arc was in a stack.
 *
 * (function, this) has no caller: its period is the samples with the function in their stack, in a
 * session that has only the innermost frames of its samples. Such totals come from sums of a fleet.
 */
#define IMAGE_ARCS_PATH "[arcs]"

/*
 * The image (of kind NAMED) of the frame between the stack of a wait and the stack of the thread
 * that ended it: this, and the name of that thread. The outermost frame of the waker is the
 * innermost one of the chain, so all frames before the wait's own are the waker's, in their order
 * turned round.
 */
#define IMAGE_WAKER_PREFIX "[woken by] "

/*
 * Likewise, what a wait was for: the thread that had the lock, or the device of its I/O. Such a
 * frame is behind the waker's mark, next to the innermost frame of the wait.
 */
#define IMAGE_OWNER_PREFIX  "[lock of] "
#define IMAGE_DEVICE_PREFIX "[I/O on] "

/* Whether it is the image of one of the three. */
bool image_is_wait_mark(const struct image *image);

/*
 * The image (of kind NAMED) of the frame inside the innermost one of a memory access. Its offset is
 * the access's data source (event/data_source.h). The frame inside it, if there is one, is the
 * place of the data (machine_resolve_data()).
 */
#define IMAGE_ACCESS_PATH "[memory access]"

bool image_is_access_mark(const struct image *image);

/*
 * The image (of kind NAMED) of the innermost frame of a sample with a weight (PERF_SAMPLE_WEIGHT).
 * Its offset is the weight: of a memory access, the latency in cycles.
 */
#define IMAGE_LATENCY_PATH "[memory latency]"

bool image_is_latency_mark(const struct image *image);

/*
 * The images (of kind NAMED) of the innermost frames of a sample with labels: this, and the name of
 * the label. The offset stands for the value, whose text is in the session like a function's name.
 */
#define IMAGE_LABEL_PREFIX "[label] "

bool image_is_label_mark(const struct image *image);

/* Code of the kernel that is in none of its lists, such as programs of classic BPF. */
#define IMAGE_UNLISTED_PATH "[kernel.unlisted]"

/*
 * The image (of kind NAMED) of the kernel of a guest begins so; then come a space, the number of
 * the process that runs the guest, and "]".
 */
#define IMAGE_GUEST_KERNEL "[guest.kernel"

/*
 * The image (of kind NAMED) of a module of that kernel begins so. Then come a space, the number of
 * the process, a space, the name of the module, and "]". Its offsets are addresses.
 */
#define IMAGE_GUEST_MODULE "[guest.module"

/*
 * The image (of kind NAMED) of the outermost frame of a stack that was cut: the callers of the
 * frame inside it are not known. Native sessions have it alone.
 */
#define IMAGE_CUT_PATH "[cut]"

bool image_is_cut_mark(const struct image *image);

/* The image (of kind NAMED) of frames that a merge of old samples cut off rare stacks
 * (store/history/merge.h). */
#define IMAGE_OTHER_PATH "[other]"

/*
 * The image table. Ids are dense from 0 in the order of first appearance.
 * The pointers that image_get() gives move when the table grows; paths do not.
 */
struct image_table;

struct image_table *image_table_new(void); /* with [unknown] as id 0 */
void image_table_free(struct image_table *t);
image_id image_intern(struct image_table *t, const struct image *image);     /* copies the path */
bool image_is_known(const struct image_table *t, const struct image *image); /* interned already */
const struct image *image_get(const struct image_table *t, image_id id);
uint32_t image_count(const struct image_table *t);

/* The C library or the dynamic linker, by its name: its functions say less than their callers. */
bool image_is_c_library(const struct image *image);

/* Gives an image its build id, if it was unknown when the image was interned. */
void image_set_build_id(struct image_table *t, image_id id, const struct build_id *build_id);
