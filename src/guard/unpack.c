/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/fence.h"
#include "guard/sandbox.h"

#define UNPACK_BYTES ((rlim_t)1 << 30) /* of memory for each program */
#define NO_TAR       127

/* tar does not find out the compression of its standard input by itself. */
static const struct packer {
	const char *magic;
	const char *option;
} packers[] = {
	{ "\x28\xb5\x2f\xfd", "--zstd" },
	{ "\x1f\x8b", "--gzip" },
	{ "\xfd"
	  "7zXZ",
	  "--xz" },
	{ "BZh", "--bzip2" },
	{ "LZIP", "--lzip" },
};

static const char *packer_option(int archive)
{
	char head[8] = "";
	ssize_t n = pread(archive, head, sizeof(head), 0);

	for (size_t i = 0; i < ARRAY_SIZE(packers); i++) {
		size_t len = strlen(packers[i].magic);

		if (n >= (ssize_t)len && !memcmp(head, packers[i].magic, len))
			return packers[i].option;
	}
	return "--no-auto-compress";
}

static int give_up(const char *dir)
{
	const struct rlimit memory = { UNPACK_BYTES, UNPACK_BYTES }, none = { 0 };
	const char *const readable[] = { "/" };
	const char *const writable[] = { dir, "/dev/null" };
	const struct fence fence = {
		.readable = readable,
		.n_readable = ARRAY_SIZE(readable),
		.writable = writable,
		.n_writable = ARRAY_SIZE(writable),
		.may_run_and_link = true,
	};
	int r;

	unshare(CLONE_NEWNET); /* for root; no one else may */
	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CORE, &none);
	r = sandbox_give_up_rights(NULL);
	return r < 0 ? r : fence_enter(&fence, NULL);
}

/* The folder may be below one that only root may enter. tar(1) refuses names that lead out of it.
 */
static void be_tar(int archive, const char *dir)
{
	const char *option = packer_option(archive);

	if (dup2(archive, STDIN_FILENO) >= 0 && chdir(dir) == 0 && give_up(".") >= 0)
		execlp("tar", "tar", "--extract", "--file=-", option, "--no-same-owner", NULL);
	_exit(NO_TAR);
}

int unpack_archive(const char *path, const char *dir, struct error *err)
{
	cleanup(close_at_exit) int archive = open(path, O_RDONLY | O_CLOEXEC);
	int status = 0;
	uid_t user;
	gid_t group;
	pid_t pid;

	if (archive < 0)
		return error_errno(err, -errno, "%s", path);
	if (sandbox_user(&user, &group) && chown(dir, user, group) < 0)
		return error_errno(err, -errno, "cannot give %s away", dir);
	pid = fork();
	if (pid == 0)
		be_tar(archive, dir);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return error_errno(err, -errno, "cannot unpack %s", path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return error_set(err, -EBADMSG, "cannot unpack %s: %s", path,
			 WIFEXITED(status) && WEXITSTATUS(status) == NO_TAR
				 ? "tar is not installed"
				 : "tar could not read it");
}
