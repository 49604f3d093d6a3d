/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/secret_file.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_own_group(gid_t group)
{
	gid_t groups[256];
	int n = getgroups(ARRAY_SIZE(groups), groups);

	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return group == getegid();
}

mode_t secret_file_forbidden_bits(const struct stat *st)
{
	return !st->st_uid && (!st->st_gid || is_own_group(st->st_gid)) ? 07 : 077;
}
