/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIGUSR2 asks `assay record` for a snapshot: the handler writes to an eventfd. */
#pragma once

struct error;

/* *fd is an eventfd that counts the signals, until snapshot_signal_end(). Once at a time. */
int snapshot_signal_begin(int *fd, struct error *err);
void snapshot_signal_end(void); /* fine without begin */
