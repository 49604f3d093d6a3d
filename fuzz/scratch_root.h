/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for a target that needs files: in memory where that is possible, removed at the end. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/log.h"

static char scratch_root[128]; /* "" until scratch_root_make() */

static void scratch_root_remove(void)
{
	file_remove_tree(scratch_root, NULL);
}

/* True: it is new. The program is quiet from then on. */
static bool scratch_root_make(void)
{
	if (*scratch_root)
		return false;
	log_set_level(LOG_QUIET);
	snprintf(scratch_root, sizeof(scratch_root), "%s/assay-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(scratch_root))
		abort();
	atexit(scratch_root_remove);
	return true;
}
