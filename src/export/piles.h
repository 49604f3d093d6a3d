/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a profile in piles, each in the order of time. A pile is all samples that a format
 * writes together, such as those of one thread.
 *
 * Few bytes a sample are kept. Beyond some megabytes, they go into a file without a name in
 * $TMPDIR. So memory does not grow with the recording.
 */
#pragma once

#include "base/buf.h"
#include "base/reader.h"
#include "profile/profile.h"

struct error;

/* Some samples of one pile that were put away together. */
struct pile_piece {
	uint32_t pile, n;
	uint64_t at, size; /* of its bytes */
};

struct pile_sample {
	uint32_t pile;
	struct profile_sample sample;
};

struct piles {
	uint32_t n;
	VEC(struct pile_sample) batch; /* not put away yet */
	VEC(struct pile_piece) pieces; /* at last by pile, and in the order of time */
	uint32_t *first_piece;         /* by pile, and one more */
	struct buf bytes;              /* what is not in the file */
	uint64_t in_file;              /* how many bytes are */
	int fd;                        /* -1: no file */
};

/* The pile of a sample; NO_INDEX: none. */
typedef uint32_t pile_chooser(void *context, const struct profile_sample *sample);

/*
 * Reads the profile's samples, which must have been loaded with_samples, into n piles. Call
 * piles_fini() also after a failure.
 */
int piles_init(struct piles *piles, uint32_t n, struct profile *p, pile_chooser *choose,
	       void *context, struct error *err);
void piles_fini(struct piles *piles);

/* Reads a pile. `sample` is the one at hand. */
struct pile_reader {
	const struct piles *piles;
	struct profile_sample sample;
	uint32_t piece, end, left; /* left: samples of the piece before `piece` */
	struct reader bytes;
	struct buf copy; /* of the piece in the file */
	int code;        /* negative errno of the first failure */
};

void pile_open(const struct piles *piles, uint32_t pile, struct pile_reader *out);
/* Goes on to the next sample. False: there is none, or the file could not be read. */
bool pile_next(struct pile_reader *r);
/* 0, or the failure. */
int pile_close(struct pile_reader *r, struct error *err);
