/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of a fleet whose share grew after a new build.
 *
 * A *change* is the first sample of a build of a file in a service of a host that had another build
 * of this file before. From then on, the service must have more samples of the new build than of
 * the old one. The old side has the samples of that service on that host since its change before;
 * the new side has those until its next change. The slice of the change itself counts on neither
 * side, because it has both builds.
 *
 * Equal changes of several hosts add up, host by host: a host is compared with itself alone. The
 * test is that of Cochran, Mantel and Haenszel. Of each host it takes these numbers of samples:
 *
 *   n_n, n_o   on the new and on the old side; n is their sum
 *   x_n        of the function on the new side
 *   x          of the function on both sides
 *
 * Their sums over all hosts give z:
 *
 *   z = sum(x_n - n_n x / n) / sqrt(sum(x (n - x) n_n n_o / (n^2 (n - 1))))
 *
 * A function is reported if all of this is true:
 * - Chance reports any function less than once in a hundred answers (Bonferroni).
 * - Its share grew by half a point or more, and on more than half of the hosts.
 * - It has ten samples or more on the new side.
 *
 * Shares are means of the hosts with the weights n_n n_o / n.
 *
 * Files of one update change together. A function is reported once for each service: with its own
 * file, if that changed, else with the file whose change has the largest z.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "profile/profile.h"

/* A service of a host that changed more often is left out: it would take too much time. */
#define REGRESSIONS_MAX_CHANGES 64

/* Longer slices hide changes. */
#define REGRESSIONS_LONGEST_SLICE_S (24 * 3600)

/* Texts hold until regression_sums_free(). */
struct regression {
	const char *service, *symbol, *image; /* the function; image: the path of its file */
	const char *file;                     /* that changed: its path */
	const char *old_build, *new_build;    /* hexadecimal */
	bool is_of_own_file;                  /* the function's file is the one that changed */
	uint64_t since_ns;                    /* of the clock: the first change */
	double old_share, new_share;          /* 0 … 1 */
	double z;
	uint64_t samples; /* of the function on the new side */
	uint32_t n_hosts, n_grew;
};

struct regressions {
	VEC(struct regression) list; /* the largest growth first */
	uint32_t n_changes;          /* of builds, on all hosts */
	uint32_t n_left_out;         /* services of hosts with too many changes */
	uint64_t n_tests;
};

/* What equal changes of several hosts add up to. For one thread. */
struct regression_sums;

/* The caller frees. */
struct regression_sums *regression_sums_new(void);
void regression_sums_free(struct regression_sums *s);

/*
 * Adds the changes of one host, or of several. The profile has the keys HOST and SERVICE alone,
 * functions and slices, and is of a fleet; it is not needed any more behind. `lane` is the event.
 */
void regression_sums_add(struct regression_sums *s, const struct profile *p, uint32_t lane);

/* The answer. The caller frees by regressions_fini(). */
void regression_sums_find(const struct regression_sums *s, struct regressions *out);
void regressions_fini(struct regressions *r);
