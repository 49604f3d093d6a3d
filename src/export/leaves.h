/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of one file that samples fell on, out of a profile: what compilers and linkers take
 * if there are no branch stacks. With branch stacks: export/branches.h.
 */
#pragma once

#include "export/branches.h"

struct error;
struct export;

/*
 * Takes the profile's file with the build id of the options, or by their glob, or else the one with
 * most samples. `out` gets its places in out->addresses, by offset, and no branches.
 *
 * The counts are samples, or events if the options say so. With options->by_rate, a sample counts
 * as many as its events say, and the counts still add up to the samples, but for rounding: hosts
 * may sample at different rates. No place with samples has 0.
 *
 * -ENODATA: the profile has no such file. -EINVAL: it has more than one event, or functions without
 * addresses. Free with branches_fini().
 */
int leaves_load(const struct export *x, struct branches *out, struct error *err);

/* Branches of x->replay, or else the places of x->profile. */
int branches_of_export(const struct export *x, struct branches *out, struct error *err);
