/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OProfile's sample file, version 0x13: one histogram of (key, count) for one class and image, as
 * oprofiled, operf and the opreport family use it.
 *
 *   header        72 bytes (LP64), 64 (i386)
 *   descriptor    32 bytes: u32 slots, u32 first free node, 6 x 0
 *   node[slots]   16 bytes each: u64 key, u32 count, u32 next; node 0 is never used
 *   bucket[slots] u32 each: the newest node of the bucket, chained by `next`
 *
 * The number of slots is a power of two, at least 128. The size of the file is exactly the sum of
 * its parts. Numbers have the byte order and alignment of the writing machine. Source of the
 * format: OProfile's internals manual, and files of OProfile 1.5.
 *
 * The key of a user image is the offset in the file; of the kernel and modules, the offset from
 * their start; of anonymous memory, the offset from the region's start. The key of an arc is
 * (caller << 32 | callee), both cut to 32 bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define SAMPLE_FILE_VERSION   0x13
#define SAMPLE_FILE_MIN_SLOTS 128U

/* The header, in this machine's terms. */
struct sample_file_header {
	uint32_t version;
	uint32_t cpu_type; /* OProfile's index of processors; 4 is the timer */
	uint32_t event, unit_mask, count;
	bool is_kernel; /* keys count from the start of the kernel's image (arcs: of the caller's)
			 */
	bool callee_is_kernel;
	double cpu_mhz;      /* 0: not known */
	uint64_t mtime;      /* of the image, seconds; 0: not known */
	uint64_t anon_start; /* of the region; 0 if it is none (arcs: of the caller's) */
	uint64_t callee_anon_start;
};

/*
 * How a machine lays the file out: what its `abi` file says. Offsets are in bytes from the
 * start of header, descriptor or node.
 */
struct sample_file_abi {
	const char *name;
	bool is_big_endian;
	uint32_t header_size, descriptor_size, node_size, bucket_size;
	uint32_t version, cpu_type, event, unit_mask, count, is_kernel, cpu_mhz, mtime;
	uint32_t callee_is_kernel, anon_start, callee_anon_start;
	uint32_t slots, first_free;
	uint32_t key, value, next;
	uint32_t mtime_size; /* 4, or else 8: OProfile before 0.9.8 */
};

/* The layouts that are known without an `abi` file: LP64 and i386 in both byte orders. */
extern const struct sample_file_abi sample_file_abis[];
extern const size_t n_sample_file_abis;

/* Write the text of this machine's `abi` file, and parse such a text. -EBADMSG names the line. */
void sample_file_abi_write(struct buf *out);
int sample_file_abi_parse(const char *text, struct sample_file_abi *out, struct error *err);

/* A file's bytes, checked; they stay the caller's. */
struct sample_file_view {
	struct sample_file_header header;
	const struct sample_file_abi *abi;
	const uint8_t *nodes; /* the first that is used */
	uint32_t n_nodes;
};

/*
 * Finds the layout (or uses `abi`, if that is not NULL) and checks sizes. The hash is not checked,
 * because readers do not need it. -EBADMSG has the reason.
 */
int sample_file_parse(const void *bytes, size_t size, const struct sample_file_abi *abi,
		      struct sample_file_view *out, struct error *err);

/* Node i of the view, i < n_nodes. A key may come more than once: the counts add up. */
void sample_file_node(const struct sample_file_view *view, uint32_t i, uint64_t *key,
		      uint32_t *count);

/* A file that is written: mapped, so that what was added survives this process. */
struct sample_file;

/*
 * Makes the file, or opens one that is there to add to it (its header stays; -EBADMSG when it is
 * of another layout). Its folder must exist.
 */
int sample_file_open(const char *path, const struct sample_file_header *header,
		     struct sample_file **out, struct error *err);

/*
 * Adds to a key's count. Additions are gathered and applied together, so that cache misses overlap;
 * those of a file with very many wait in memory (hot_counts.h). sample_file_flush() applies the
 * rest; call it about once a second. A count beyond 32 bits continues in a second node of the key.
 * On -ENOSPC and other errors while the file grows, *n_unwritten counts the additions that failed,
 * of this and earlier calls.
 */
int sample_file_add(struct sample_file *f, uint64_t key, uint64_t count, uint64_t *n_unwritten,
		    struct error *err);
int sample_file_flush(struct sample_file *f, uint64_t *n_unwritten, struct error *err);

/* The bytes by which the file grew since the last call; a new file grew from nothing. */
uint64_t sample_file_take_growth(struct sample_file *f);

/* Unmaps; what was not flushed is dropped. NULL is fine. */
void sample_file_close(struct sample_file *f);
