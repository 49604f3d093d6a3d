/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/snapshot_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

/*
 * A handler, as commands start with the default action then; what is ignored or blocked would
 * be so for them, too.
 */
static volatile sig_atomic_t snapshot_fd = -1;
static struct sigaction snapshot_before;

static void snapshot_on_signal(int number)
{
	static const uint64_t one = 1;
	int saved = errno;

	(void)number;
	if (snapshot_fd >= 0)
		(void)!write(snapshot_fd, &one, sizeof(one));
	errno = saved;
}

int snapshot_signal_begin(int *fd, struct error *err)
{
	struct sigaction action = { .sa_handler = snapshot_on_signal, .sa_flags = SA_RESTART };

	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (*fd < 0)
		return error_errno(err, -errno, "eventfd");
	snapshot_fd = *fd;
	if (sigaction(SIGUSR2, &action, &snapshot_before) < 0)
		return error_errno(err, -errno, "sigaction");
	return 0;
}

void snapshot_signal_end(void)
{
	int fd = snapshot_fd;

	if (fd < 0)
		return;
	sigaction(SIGUSR2, &snapshot_before, NULL);
	snapshot_fd = -1;
	close(fd);
}
