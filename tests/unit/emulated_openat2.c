/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qemu-user knows no openat2(2). Without that call assay opens no file of a profiled program, so
 * the tests of the AArch64 build get this substitute. It does not keep a path below its root;
 * test_guard tests that, where the call is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard/open.h"

static int plain_openat(int dir, const char *path, const struct open_how *how)
{
	if (how->resolve & RESOLVE_IN_ROOT)
		path += strspn(path, "/");
	return openat(dir, *path ? path : ".", (int)how->flags);
}

__attribute__((constructor)) static void emulate_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		close(fd);
	else if (errno == ENOSYS)
		guard_set_openat2(plain_openat);
}
