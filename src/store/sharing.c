/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sharing.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED_DIR  0750
#define SHARED_FILE 0640

struct sharing sharing_with_group(void)
{
	const struct group *group = getgrnam(SHARING_GROUP);

	return group ? (struct sharing){ true, group->gr_gid } : (struct sharing){ 0 };
}

struct sharing sharing_below(const char *dir)
{
	struct sharing s = { 0 };
	struct stat st;

	/*
	 * Looking up a group's name may need the network, so only do it for directories that may be
	 * shared.
	 */
	if (stat(dir, &st) < 0 || (st.st_mode & 07777) != SHARED_DIR)
		return s;
	s = sharing_with_group();
	s.is_shared &= s.group == st.st_gid;
	return s;
}

bool sharing_give_dir(const struct sharing *s, const char *path)
{
	return !s->is_shared ||
	       (lchown(path, (uid_t)-1, s->group) == 0 && chmod(path, SHARED_DIR) == 0);
}

bool sharing_give_file(const struct sharing *s, int fd)
{
	return !s->is_shared ||
	       (fchown(fd, (uid_t)-1, s->group) == 0 && fchmod(fd, SHARED_FILE) == 0);
}
