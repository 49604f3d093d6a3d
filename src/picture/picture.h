/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture: a profile as what the HTML page and the SVG draw, one tree of frames
 * with the weights of every bucket of time, and those of a baseline beside them.
 *
 *     root ─ groups (one level a class key) ─ call chains
 *
 * A frame is what a box of the graph stands for: a group's name, or a function told by
 * its image and name, so that two sessions of two builds share frames. Nodes stand in
 * preorder, the heaviest child first; nodes[0] is the root and has no frame.
 *
 * A bucket of time is a second of the session, or a few where the cells of so many would
 * be more than a page can hold.
 *
 * A tree of more nodes than a page can hold has its lightest ones joined: each node keeps
 * one child "other" for all that is hidden below it, so that every sum stays what it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "report/report.h"

#define PICTURE_MAX_NODES   250000
#define PICTURE_MAX_CELLS   1500000
#define PICTURE_MAX_BUCKETS 16384

/* The image of frames that are no code. */
#define PICTURE_GROUP (UINT32_MAX - 1)
#define PICTURE_OTHER (UINT32_MAX - 2)

struct picture_image {
	const char *name, *path;
	const struct image *image;
};

struct picture_frame {
	uint32_t image; /* index, PICTURE_GROUP or PICTURE_OTHER */
	string_id name;
};

struct picture_node {
	uint32_t parent, frame, depth;
	double share; /* of all weights, of both sessions: what children are ordered by */
};

struct picture_cell {
	uint32_t bucket, node;
	struct weight weight; /* of the node itself */
};

/* Samples that were lost in a bucket. */
struct picture_lost {
	uint32_t bucket;
	uint64_t n;
};

struct picture_lane {
	VEC(struct picture_cell) cells; /* by bucket, then by node */
	VEC(struct picture_cell) base;  /* of the baseline, all in bucket 0 */
};

struct picture {
	const struct report *report;
	const struct profile *baseline; /* NULL: none */
	struct strings names;
	VEC(struct picture_image) images;
	VEC(struct picture_frame) frames;
	VEC(struct picture_node) nodes;
	struct picture_lane *lanes; /* as the profile's */
	VEC(struct picture_lost) lost;
	uint32_t bucket_s; /* seconds since the session's start that a bucket is */
	uint32_t max_cells;
	uint32_t n_hidden;   /* nodes that are in "other" */
	double hidden_below; /* the share that they are below, in percent */
};

/* What a picture is made of: the report of picture_view and what was loaded for it. */
struct picture_source {
	const struct report *report;
	const struct profile *baseline; /* NULL: none; loaded by the same request */
	uint32_t max_nodes, max_cells;  /* 0: PICTURE_MAX_… */
};

/* The view to make the report with: it has no rows, only what a header needs. */
extern const struct view picture_view;

/* The profile must have been loaded with slices. */
struct picture *picture_new(const struct picture_source *source);
void picture_free(struct picture *pic); /* NULL is fine */
DEFINE_AT_EXIT(picture_free, struct picture)

/* The formats. A write that fails is left to the stream's error flag. */
void picture_print_html(const struct picture *pic, FILE *out);
void picture_print_svg(const struct picture *pic, FILE *out);
