/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections of a block: what the writer packs and the reader unpacks.
 * docs/formats.md says how, column by column.
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

#define BLOCK_COLUMNS 7 /* that a part of a section has at the most */

/* Working memory of the encoders, kept from block to block. */
struct block_encoder {
	struct packer *packer;
	struct column columns[BLOCK_COLUMNS];
	struct arcs arcs;
	struct sort_item *items, *scratch; /* items_cap of each */
	uint32_t items_cap;
};

void block_encoder_init(struct block_encoder *e);
void block_encoder_fini(struct block_encoder *e);
uint64_t block_encoder_memory(const struct block_encoder *e);
void block_encoder_reserve(struct block_encoder *e, uint32_t n_items);

/* A code symbol with its image's id and its name's in the segment. */
struct symbol_entry {
	uint32_t image, name;
	uint64_t offset, size;
	uint32_t line; /* as struct code_symbol's */
};

/* A build id that became known after its image was written. */
struct late_build_id {
	uint32_t image;
	struct build_id build_id;
};

/* What a block adds to the names of its segment; classes have the segment's ids. */
struct names_part {
	const char *const *strings;
	const struct image *images;
	const uint32_t *paths; /* of the images, as string ids */
	const struct late_build_id *late;
	const struct profile_class *classes;
	const struct symbol_entry *symbols;
	uint32_t n_strings, n_images, n_late, n_classes, n_symbols;
};

void names_encode(struct block_encoder *e, struct buf *out, const struct names_part *names);

/*
 * The same for a group block (store/group.h): its classes are many, and told by kind. Most
 * processes are of a kind (event, application, name, cgroup) that came before.
 */
void names_encode_group(struct block_encoder *e, struct buf *out, const struct names_part *names);

/*
 * Numbers the tree's nodes from `first` on in the order that packs best
 * (parents first; then by image and offset) and packs them. disk_ids[node] is
 * set for the new ones, and has been set by earlier calls for the others.
 */
void nodes_encode(struct block_encoder *e, struct buf *out, const struct tree *tree, uint32_t first,
		  uint32_t *disk_ids);

/*
 * The reverse: n nodes with the ids from `first` on, into out[0..n). Parents
 * come before children and images are below n_images, or it is -EBADMSG.
 */
int nodes_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first, uint32_t n,
		 uint32_t n_images, struct tree_node *out);

/*
 * Fills the entries [first_id, first_id + n_ids) of the segment's tables, which
 * are there and say "unknown" so far. Texts go to the arena. -EBADMSG: what
 * was decoded up to the error stays.
 */
int names_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		 const struct block_header *h, struct arena *arena, struct segment *seg);

/*
 * A clock's samples all stand for the same period, so a row's period is samples * base + a
 * difference that is mostly 0. The base of a counter is the period that most of its rows have.
 */
struct period_bases {
	uint64_t base[SESSION_COUNTERS_MAX], votes[SESSION_COUNTERS_MAX];
	uint32_t n;
};

void period_bases_find(struct period_bases *b, const struct count_row *rows, uint32_t n,
		       const struct profile_class *classes);
void period_bases_write(const struct period_bases *b, struct buf *out);
bool period_bases_read(struct period_bases *b, struct reader *r); /* false: they don't decode */

/* The place of a block's rows in its segment's tables. */
struct counts_frame {
	uint32_t n_classes;           /* with the block's own */
	uint32_t first_node, n_nodes; /* the block's own */
	uint32_t n_rows;
};

/* `classes` are those of the tally's rows. */
void counts_encode(struct block_encoder *e, struct buf *out, const struct counts_frame *f,
		   const struct tally *tally, const struct profile_class *classes,
		   const uint32_t *disk_ids);

/* Appends f->n_rows rows. -EBADMSG when they don't decode; *rows is then as before. */
int counts_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		  const struct counts_frame *f, struct count_rows *rows);
