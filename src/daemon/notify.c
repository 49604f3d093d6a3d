/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

/* A path, or with a leading @ a name in the abstract namespace. */
static bool notify_address(const char *path, struct sockaddr_un *address, socklen_t *size)
{
	size_t n = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(address->sun_path))
		return false;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, path, n);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	return true;
}

bool notify_service(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	cleanup(close_at_exit) int fd = -1;
	struct sockaddr_un address;
	socklen_t size;
	char text[512];
	va_list ap;
	int n;

	if (!path || !notify_address(path, &address, &size))
		return false;
	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && n > 0 &&
	       sendto(fd, text, MIN((size_t)n, sizeof(text) - 1), MSG_NOSIGNAL,
		      (struct sockaddr *)&address, size) == MIN((ssize_t)n, 511);
}

bool notify_reloading(uint64_t mono_ns)
{
	return notify_service("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, mono_ns / 1000);
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000 / 2;
}
