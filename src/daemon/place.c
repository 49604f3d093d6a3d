/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "open/lock.h"
#include "store/history/history.h"
#include "store/session.h"
#include "store/sharing.h"

/*
 * A history has five levels below its directory. Sample files have the paths of up to three images.
 * Each level holds two descriptors.
 */
#define DEPTH_MAX 128

/* ---- the owner ---- */

static bool is_name_of_daemon(const char *name)
{
	static const char *const names[] = { ".", "..", "lock", "control", "samples", ".cache" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "log", 3); /* and those that were rotated */
}

static int give_below(int dir, dev_t device, const struct daemon_user *user, int depth);

/* A program can have any number of folders in its path: below them, all is the user's already. */
static bool is_given(const struct stat *st, const struct daemon_user *user, int depth)
{
	return depth == DEPTH_MAX && st->st_uid == user->user;
}

/*
 * Another name of a file may be root's, and this name a link that a former daemon made. So only
 * files with one name get another owner.
 */
static int give_one(int dir, const char *name, dev_t device, const struct daemon_user *user,
		    int depth)
{
	cleanup(close_at_exit) int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != device || S_ISLNK(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		n = is_given(&st, user, depth) ? 0 : give_below(fd, device, user, depth + 1);
	} else if (st.st_nlink != 1) {
		return st.st_uid != user->user;
	}
	if (n >= 0 && st.st_uid != user->user &&
	    fchownat(fd, "", user->user, user->group, AT_EMPTY_PATH) < 0)
		return -errno;
	return n;
}

static int give_below(int dir, dev_t device, const struct daemon_user *user, int depth)
{
	int copy = depth > DEPTH_MAX ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	int n = 0;

	if (!d) {
		close_at_exit(&copy);
		return depth > DEPTH_MAX ? -ELOOP : -errno;
	}
	for (const struct dirent *e; n >= 0 && (e = readdir(d));) {
		int r;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (depth == 0 && !is_name_of_daemon(e->d_name)))
			continue;
		r = give_one(dir, e->d_name, device, user, depth);
		n = r < 0 ? r : n + r;
	}
	closedir(d);
	return n;
}

/*
 * Gives the directory of a daemon to the user, with all of a daemon's in it: folders, and files
 * with one name. Follows no link. Returns the number of files that keep their owner, or a negative
 * errno.
 */
static int place_give(int dir, const struct daemon_user *user)
{
	struct stat st;
	int n;

	if (fstat(dir, &st) < 0)
		return -errno;
	n = give_below(dir, st.st_dev, user, 0);
	/* Last, so that a start that was interrupted here is seen and done again. */
	if (n >= 0 && st.st_uid != user->user && fchown(dir, user->user, user->group) < 0)
		return -errno;
	return n;
}

/* ---- the directory ---- */

/* The name of a file that is no daemon's, or NULL. The caller frees it. */
static char *foreign_name(const char *dir)
{
	DIR *d = opendir(dir);
	char *found = NULL;

	for (const struct dirent *e; d && !found && (e = readdir(d));)
		if (!is_name_of_daemon(e->d_name))
			found = xstrdup(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/* A directory with other files stays with its owner: its path may be a mistake. */
static int check_owner(const struct daemon *d, uid_t owner, struct error *err)
{
	const char *dir = d->config->dir;
	cleanup(free_at_exit) char *name = NULL;

	if (owner == d->user.user)
		return 0;
	if (owner || !d->user.is_other)
		return error_set(err, -EPERM,
				 "%s belongs to user %u, and the daemon runs as user %u: give it "
				 "its own directory by --session-dir, or give it this one by "
				 "'chown -R %u:%u %s'",
				 dir, owner, d->user.user, d->user.user, d->user.group, dir);
	name = foreign_name(dir);
	if (name)
		return error_set(err, -EPERM,
				 "%s belongs to root and has other files than a daemon's, such as "
				 "'%s', and the daemon runs as user '%s': give it its own "
				 "directory by --session-dir",
				 dir, name, DAEMON_USER);
	return 0;
}

static int take_over(const struct daemon *d, int fd, struct error *err)
{
	struct stat st;
	int n;

	if (fstat(fd, &st) < 0)
		return error_errno(err, -errno, "%s", d->config->dir);
	n = check_owner(d, st.st_uid, err);
	if (n < 0 || !d->user.is_other)
		return n;
	n = place_give(fd, &d->user);
	if (n < 0)
		return error_errno(err, n, "cannot give %s to the user '%s'", d->config->dir,
				   DAEMON_USER);
	if (n)
		log_warning("%s: %d files have other names elsewhere and keep their owner",
			    d->config->dir, n);
	else if (st.st_uid == 0 && faccessat(fd, "samples", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		log_info("%s and its history belong to the user '%s' now", d->config->dir,
			 DAEMON_USER);
	return 0;
}

/* The caches of root are not this user's. */
static void choose_cache(const struct daemon *d)
{
	cleanup(free_at_exit) char *cache = xasprintf("%s/.cache", d->dir);

	if (d->user.is_other && *cache == '/')
		setenv("XDG_CACHE_HOME", cache, false);
}

/* The user may have no way to the directory, as to one below /root. */
static int choose_path(struct daemon *d, int fd, struct error *err)
{
	bool is_reached = faccessat(AT_FDCWD, d->config->dir, W_OK | X_OK, AT_EACCESS) == 0;

	if (!is_reached && fchdir(fd) < 0)
		return error_errno(err, -errno, "cannot enter %s", d->config->dir);
	d->dir = is_reached ? d->config->dir : ".";
	d->samples = xasprintf("%s/samples", d->dir);
	d->current = xasprintf("%s/samples/current", d->dir);
	d->names = xasprintf("%s/samples/" HISTORY_NAMES_DIR, d->dir);
	d->log = xasprintf("%s/log", d->dir);
	choose_cache(d);
	return 0;
}

/*
 * Gives users who may ask the daemon access to its samples. The files get the group without
 * CAP_CHOWN, which the daemon gives up, because the group becomes the daemon's own.
 */
static void share_samples(const struct daemon *d)
{
	struct sharing group = sharing_with_group();

	if (!group.is_shared)
		return;
	if (setegid(group.group) < 0 || !sharing_give_dir(&group, d->samples) ||
	    !sharing_give_dir(&group, d->current) || !sharing_give_dir(&group, d->names))
		log_warning("the samples are not readable for group " SHARING_GROUP ": %s",
			    strerror(errno));
}

/* Samples of `assay record` are no history, and the daemon does not add to them. */
static int refuse_session(const char *dir, struct error *err)
{
	int format = session_format(dir);

	/* Beside samples/current, which readers take first, segments would never be read. */
	if (session_folder_has_segments(dir))
		return error_set(err, -EEXIST,
				 "%s has segments of a session, and is not the directory of a "
				 "daemon: give another --session-dir",
				 dir);
	/* none is there, or the owner is somebody else (check_owner()) */
	if (format == -ENOENT || format == -ENOTDIR || format == -EINVAL || format == -EACCES)
		return 0;
	return error_set(err, -EEXIST,
			 "%s is a session of samples, as 'assay record' makes, and not the "
			 "directory of a daemon: give another --session-dir",
			 dir);
}

/* One session can't go on where the parts of a history are. */
static int refuse_history(const struct daemon *d, struct error *err)
{
	struct history_names parts = { 0 };
	int r = 0;

	if (daemon_keeps_one(d))
		history_list(d->current, &parts);
	if (parts.n)
		r = error_set(err, -EEXIST,
			      "%s/samples/current has a history, and --store=%s can't add to it: "
			      "rename it, or use another --session-dir",
			      d->config->dir, d->config->store->name);
	history_names_fini(&parts);
	return r;
}

/* Everybody may enter the directory, for the socket. Its content stays private. */
int place_make(struct daemon *d, struct error *err)
{
	cleanup(close_at_exit) int fd = -1;
	struct error why = { 0 };
	int r = refuse_session(d->config->dir, err);

	if (r < 0)
		return r;
	r = file_mkdirs(d->config->dir, 0755, &why);
	if (r < 0)
		return error_set(err, r, "%s%s", why.text,
				 r == -EACCES ? "; run the daemon as root, or name a directory of "
						"your own by --session-dir"
					      : "");
	fd = open(d->config->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", d->config->dir);
	r = take_over(d, fd, err);
	r = r < 0 ? r : user_step_down(&d->user, err);
	r = r < 0 ? r : choose_path(d, fd, err);
	if (r < 0)
		return r;
	d->lock_fd = lock_take(d->dir, err);
	if (d->lock_fd < 0)
		return d->lock_fd;
	r = file_mkdirs(d->current, 0700, err);
	r = r < 0 ? r : refuse_history(d, err);
	r = r < 0 ? r : file_mkdirs(d->names, 0700, err);
	if (r >= 0)
		share_samples(d);
	return r;
}
