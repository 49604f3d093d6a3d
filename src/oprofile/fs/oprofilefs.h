/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oprofilefs: the daemon's controls, statistics and event stream as a file system (libfuse3,
 * loaded when it is used). The files are those of oprofile/fs/oprofile_tree.h.
 *
 * The recorder's thread serves it, from a descriptor that never blocks: what is asked of the
 * daemon there must be done by that thread anyway, nothing needs a lock, and a reader of `buffer`
 * that has to wait is no more than a request that is answered later. Nobody who reads slowly, or
 * not at all, holds up the recording; what they miss is lost to them, and counted.
 */
#pragma once

#include "base/mem.h"
#include "oprofile/fs/oprofile_tree.h"
#include "pipeline/pipeline.h"

struct error;
struct machine;
struct oprofilefs;

struct oprofilefs_config {
	const char *mountpoint; /* made if it is not there */
	/*
	 * Its `cookies` is not asked, and of its stats what the event stream loses is filled in:
	 * both are the stream's own.
	 */
	struct oprofile_host host;
	size_t n_cpus;
	/* Called with a tap when somebody opens `buffer`, and with NULL when it is closed. */
	void (*set_tap)(void *context, const struct sample_tap *tap);
};

/*
 * Mounts. Without libfuse3, /dev/fuse, or the permission, an error that says which and what to do;
 * the daemon does without. What a killed daemon left mounted there is unmounted before.
 */
int oprofilefs_mount(const struct oprofilefs_config *config, struct oprofilefs **out,
		     struct error *err);

/* Readers get the end of the file, and it is unmounted, whoever still uses it. NULL is fine. */
void oprofilefs_unmount(struct oprofilefs *fs);
DEFINE_AT_EXIT(oprofilefs_unmount, struct oprofilefs)

/* Readable when oprofilefs_serve() has something to do. */
int oprofilefs_fd(const struct oprofilefs *fs);

/* Does a bounded part of it. -ENODEV: somebody has unmounted it; only oprofilefs_unmount() is left.
 */
int oprofilefs_serve(struct oprofilefs *fs);

/* Samples may have come: those who wait for them get them. To be called about once a second. */
void oprofilefs_turn(struct oprofilefs *fs);

/*
 * Whose samples come from now on; NULL before a machine goes. Of a new recording set_tap() is
 * called again, if somebody reads.
 */
void oprofilefs_set_machine(struct oprofilefs *fs, struct machine *machine);
