/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections of a block: the writer packs them, the reader unpacks them. docs/formats.md
 * describes each column.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/arcs.h"
#include "base/reader.h"
#include "store/column.h"
#include "store/format.h"
#include "store/sort.h"
#include "store/tables.h"

#define BLOCK_COLUMNS 7 /* the most columns of a part of a section */

/* Working memory of the encoders, kept from block to block. */
struct block_encoder {
	struct packer *packer;
	struct column columns[BLOCK_COLUMNS];
	struct arcs arcs;
	struct sort_item *items, *scratch; /* items_cap of each */
	uint32_t items_cap;
	bool is_modest; /* memory counts more than time; without exact times */
};

void block_encoder_init(struct block_encoder *e);
void block_encoder_fini(struct block_encoder *e);
uint64_t block_encoder_memory(const struct block_encoder *e);
void block_encoder_reserve(struct block_encoder *e, uint32_t n_items);
void block_encoder_release(struct block_encoder *e); /* frees the items */

/* A code symbol. `image` and `name` are ids of the segment. */
struct symbol_entry {
	uint32_t image, name;
	uint64_t offset, size;
	uint32_t line; /* as in struct code_symbol */
};

/* A build id that became known after its image was written. */
struct late_build_id {
	uint32_t image;
	struct build_id build_id;
};

/* The names that a block adds to its segment. The classes have ids of the segment. */
struct names_part {
	const char *const *strings;
	const struct image *images;
	const uint32_t *paths; /* of the images, by string id */
	const struct late_build_id *late;
	const struct profile_class *classes;
	const struct symbol_entry *symbols;
	uint32_t n_strings, n_images, n_late, n_classes, n_symbols;
};

void names_encode(struct block_encoder *e, struct buf *out, const struct names_part *names);

/*
 * The same for a group block (store/group.h). It has many classes, so it packs them by kind: most
 * new processes have the (event, application, name, cgroup) of an earlier one.
 */
void names_encode_group(struct block_encoder *e, struct buf *out, const struct names_part *names);

/*
 * Numbers the tree's nodes from `first` on in the order that packs best (parents first, then by
 * image and offset) and packs them. Sets disk_ids[node] for the new nodes. The entries of older
 * nodes must be set.
 */
void nodes_encode(struct block_encoder *e, struct buf *out, const struct tree *tree, uint32_t first,
		  uint32_t *disk_ids);

/*
 * The reverse: unpacks n nodes with the ids from `first` on into out[0..n). -EBADMSG: the bytes
 * don't decode, a parent comes behind its child, or an image is not below n_images.
 */
int nodes_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first, uint32_t n,
		 uint32_t n_images, struct tree_node *out);

/* Unpacked nodes in a third of the memory: by node, the id of its parent and its code in `arcs`. */
struct coded_nodes {
	uint32_t *parents, *codes;
	struct arcs arcs;
};
void coded_nodes_fini(struct coded_nodes *nodes);

/* nodes_decode() to *out, which coded_nodes_fini() frees. Untouched on failure. */
int nodes_decode_codes(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first,
		       uint32_t n, uint32_t n_images, struct coded_nodes *out);

/*
 * Fills the entries [first_id, first_id + n_ids) of the segment's tables, which hold "unknown"
 * before. Texts go to the arena. On -EBADMSG, the entries that were decoded before the error stay.
 */
int names_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		 const struct block_header *h, struct arena *arena, struct segment *seg);

/*
 * All samples of a clock have the same period. So a row stores samples * base + a difference, which
 * is mostly 0. The base of a counter is the period that most of its rows have.
 */
struct period_bases {
	uint64_t base[SESSION_COUNTERS_MAX], votes[SESSION_COUNTERS_MAX];
	uint32_t n;
};

void period_bases_find(struct period_bases *b, const struct count_row *rows, uint32_t n,
		       const struct profile_class *classes);
void period_bases_write(const struct period_bases *b, struct buf *out);
bool period_bases_read(struct period_bases *b, struct reader *r); /* false: the bytes don't
								   * decode */

/* Where the rows of a block are in its segment's tables. */
struct counts_frame {
	uint32_t n_classes;           /* including those of the block */
	uint32_t first_node, n_nodes; /* those that the block adds */
	uint32_t n_rows;
};

/*
 * Packs the tally's rows. `classes` are the classes of the rows; `disk_ids` are set by
 * nodes_encode(). Sets places[row], which a reader gives the row; NULL: nobody asks.
 */
void counts_encode(struct block_encoder *e, struct buf *out, const struct counts_frame *f,
		   const struct tally *tally, const struct profile_class *classes,
		   const uint32_t *disk_ids, uint32_t *places);

/* Appends f->n_rows rows. -EBADMSG: the bytes don't decode, and *rows is unchanged. */
int counts_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		  const struct counts_frame *f, struct count_rows *rows);
