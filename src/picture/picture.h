/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture: a profile in the form that the HTML page and the SVG draw. It is one tree of frames
 * with the weights of every bucket of time, and with those of a baseline.
 *
 *     root ─ groups (one level a class key) ─ call chains
 *
 * Each box of the graph has a frame: the name of a group, or a function. A function is identified
 * by its image and name, so sessions of two builds share frames. Nodes are in preorder, the
 * heaviest child first. nodes[0] is the root and has no frame.
 *
 * A bucket of time is a second of the session, or several seconds if a page can't hold so many
 * cells. Samples with exact times are moments instead, of a thread each.
 *
 * Where there are too many boxes, the lightest nodes have none. An image has one child "other"
 * instead of the light children of a node, so every sum stays the same. A page keeps them, but for
 * the very lightest, and opens its "other" boxes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "report/report.h"

#define PICTURE_MAX_BOXES   250000
#define PICTURE_MAX_NODES   1000000 /* with those that have no box */
#define PICTURE_MAX_CELLS   1500000
#define PICTURE_MAX_BUCKETS 16384
#define PICTURE_MAX_MOMENTS 2000000

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
	bool is_go; /* a function of Go; else its language is that of the image */
};

struct picture_node {
	uint32_t parent, frame, depth;
	bool is_light; /* the page draws it only in an "other" that was opened */
	double share;  /* of all weights, of both sessions; the order of children */
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

/* A sample with its own time, in microseconds since the session began. */
struct picture_moment {
	uint64_t at_us;
	uint32_t thread, node; /* thread: of the profile */
	uint32_t reason;       /* enum wait_reason */
	struct weight weight;
};

struct picture_lane {
	VEC(struct picture_cell) cells;     /* by bucket, then by node */
	VEC(struct picture_cell) base;      /* of the baseline, all in bucket 0 */
	VEC(struct picture_moment) moments; /* by thread, then by time */
};

struct picture {
	const struct report *report;
	const struct profile *baseline; /* NULL: none */
	const char *code;               /* as of the source */
	struct strings names;
	VEC(struct picture_image) images;
	VEC(struct picture_frame) frames;
	VEC(struct picture_node) nodes;
	struct picture_lane *lanes; /* as the profile's */
	VEC(struct picture_lost) lost;
	uint32_t bucket_s;    /* length of a bucket in seconds */
	bool is_of_overviews; /* it has blocks of minutes or hours */
	uint32_t max_cells;
	uint32_t n_hidden;    /* nodes that are in "other" */
	uint32_t n_joined;    /* those of them that are not kept */
	double hidden_below;  /* the share that they are below, in percent */
	uint32_t other_frame; /* where there are hidden nodes */
};

/* The source of a picture: the report of picture_view, and the profiles loaded for it. */
struct picture_source {
	const struct report *report;
	/* NULL: none; loaded by the same request, but for most_moments, which is 0 */
	const struct profile *baseline;
	uint32_t max_boxes, max_nodes, max_cells; /* 0: PICTURE_MAX_… */
	bool keeps_light;                         /* for a page: max_nodes counts, too */
	const char *code; /* source and assembly, as JSON (annotate/annotate.h); NULL: none */
};

/* The view for the report. It has no rows, and only the facts of a header. */
extern const struct view picture_view;

/* A profile that was loaded without slices is one bucket, which is enough for an image. */
struct picture *picture_new(const struct picture_source *source);
void picture_free(struct picture *pic); /* NULL is fine */
DEFINE_AT_EXIT(picture_free, struct picture)

/* The formats. A write that fails is left to the stream's error flag. */
void picture_print_html(const struct picture *pic, FILE *out);
void picture_print_svg(const struct picture *pic, FILE *out);
