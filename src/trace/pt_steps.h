/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TSC that goes back for good, as behind a virtual machine that was moved, or a machine that
 * slept. Time never goes back, so all later times would stand still. They go on instead, from the
 * last PSB before.
 *
 *     TSC of PSBs:   100  110  120 │ 7   17   27
 *     step                           └ + 113
 *     time:          100  110  120  120  130  140
 *
 * PSBs with an earlier TSC may be damaged, or of a guest, and then the clock returns. So it is a
 * step if there are at least two, and no PSB behind them is at or beyond the time before.
 */
#pragma once

struct queue;

/*
 * Cuts the pieces of the queue at the steps and gives them their distance (piece.tsc_shift), before
 * its decoding begins. Looks at one PSB in a megabyte, and at all if these go back. Snapshots
 * overlap, and stay as they are.
 */
void pt_steps_find(struct queue *q);
