/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oprofilefs: the daemon's controls, statistics and event stream as a file system (libfuse3, loaded
 * at its first use). oprofile/fs/oprofile_tree.h has the files.
 *
 * The recorder's thread serves it, from a descriptor that never blocks. That thread has to handle
 * the requests anyway, nothing needs a lock, and a waiting reader of `buffer` is only a request
 * with a later answer. Slow readers do not hold up the recording: their missed samples are lost to
 * them, and counted.
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
 * Mounts the file system. On failure (no libfuse3, no /dev/fuse, no permission), the error has the
 * reason and the remedy, and the daemon does without. Unmounts the remains of a killed daemon
 * first.
 */
int oprofilefs_mount(const struct oprofilefs_config *config, struct oprofilefs **out,
		     struct error *err);

/*
 * Gives readers the end of the file and unmounts, even if the file system is in use. NULL is fine.
 */
void oprofilefs_unmount(struct oprofilefs *fs);
DEFINE_AT_EXIT(oprofilefs_unmount, struct oprofilefs)

/* Readable when oprofilefs_serve() has something to do. */
int oprofilefs_fd(const struct oprofilefs *fs);

/* Does a bounded amount of work. -ENODEV: it was unmounted; then call oprofilefs_unmount(). */
int oprofilefs_serve(struct oprofilefs *fs);

/* Gives waiting readers the new samples. Call it about once a second. */
void oprofilefs_turn(struct oprofilefs *fs);

/*
 * Sets the machine of the samples; NULL before a machine is freed. For a new recording, set_tap()
 * is called again if there is a reader.
 */
void oprofilefs_set_machine(struct oprofilefs *fs, struct machine *machine);
