/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of guests that the user names. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "machine/guest_modules.h"
#include "open/input_state.h"

enum { MAX_LIST_BYTES = 1 << 28 };

/*
 * A pipe (--guestkallsyms <(ssh …)) can be read once only, but each table of symbols reads the
 * list. So the path becomes that of a copy in memory, which is open as *fd. The copy has the name
 * of the pipe, for messages (guest_files_name()).
 */
static int input_copy_pipe(const char *name, const char **path, int *fd, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL, *title = NULL;
	struct stat st;
	size_t size;
	int r;

	if (!*path || stat(*path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return 0;
	r = file_read_all(*path, MAX_LIST_BYTES, &text, &size);
	if (r < 0)
		return error_errno(err, r, "%s: %s", name, *path);
	title = xasprintf("%.*s", GUEST_COPY_NAME, *path);
	*fd = memfd_create(title, MFD_CLOEXEC);
	r = *fd < 0 ? -errno : file_write_all(*fd, text, size);
	if (r < 0)
		return error_errno(err, r, "%s: a copy in memory", name);
	free((char *)*path);
	*path = xasprintf("/proc/self/fd/%d", *fd);
	return 0;
}

int input_take_guests(struct input *in, struct error *err)
{
	struct open_config *c = &in->config;
	const struct {
		const char *name, *path;
	} files[] = { { "guestkallsyms", c->guest_kallsyms },
		      { "guestmodules", c->guest_modules },
		      { "guestmount", c->guest_mount },
		      { "guestvmlinux", c->guest_vmlinux } };
	int r;

	/* The names of guests are wrong without any word if a file was mistyped. */
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].path && access(files[i].path, R_OK) < 0)
			return error_errno(err, -errno, "%s: %s", files[i].name, files[i].path);
	r = input_copy_pipe("guestkallsyms", &c->guest_kallsyms, &in->guest_kallsyms_fd, err);
	if (r >= 0)
		r = input_copy_pipe("guestmodules", &c->guest_modules, &in->guest_modules_fd, err);
	return r;
}
