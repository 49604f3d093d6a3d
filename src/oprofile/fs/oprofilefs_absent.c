/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oprofilefs of a build without libfuse3. */
#include <errno.h>

#include "base/error.h"
#include "oprofile/fs/oprofilefs.h"

int oprofilefs_mount(const struct oprofilefs_config *config, struct oprofilefs **out,
		     struct error *err)
{
	(void)out;
	return error_set(err, -ENOTSUP, "oprofilefs at %s: assay was built without libfuse3",
			 config->mountpoint);
}

void oprofilefs_unmount(struct oprofilefs *fs)
{
	(void)fs;
}

int oprofilefs_fd(const struct oprofilefs *fs)
{
	(void)fs;
	return -1;
}

int oprofilefs_serve(struct oprofilefs *fs)
{
	(void)fs;
	return -ENODEV;
}

void oprofilefs_turn(struct oprofilefs *fs)
{
	(void)fs;
}

void oprofilefs_set_machine(struct oprofilefs *fs, struct machine *machine)
{
	(void)fs, (void)machine;
}
