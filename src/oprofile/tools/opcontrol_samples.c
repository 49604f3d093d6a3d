/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/tools/opcontrol_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "oprofile/store/oprofile_files.h"
#include "store/history/history.h"
#include "store/session_join.h"

bool opcontrol_has_samples(const char *dir)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", dir);

	return oprofile_files_any(current);
}

static bool has_parts(const char *current)
{
	struct history_names parts = { 0 };
	bool has_any;

	history_list(current, &parts);
	has_any = parts.n > 0;
	history_names_fini(&parts);
	return has_any;
}

static bool has_sample_files(const char *current)
{
	static const char *const marks[] = { "{root}", "{kern}" };
	bool has_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", current, marks[i]);

		has_any |= access(path, F_OK) == 0;
	}
	return has_any;
}

int opcontrol_make_room(const char *dir, bool for_files, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", dir);
	char name[32] = "previous";

	if (!(for_files ? has_parts : has_sample_files)(current))
		return 0;
	for (int i = 2; session_save(dir, name, err) < 0; i++) {
		if (err->code != -EEXIST)
			return err->code;
		snprintf(name, sizeof(name), "previous-%d", i);
	}
	*err = (struct error){ 0 };
	log_info("the %s there %s session:%s now",
		 for_files ? "history that was" : "sample files that were",
		 for_files ? "is" : "are", name);
	return 0;
}
