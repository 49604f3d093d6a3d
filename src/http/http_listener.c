/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "http/http_server.h"

#define UNIX_PREFIX      "unix:"
#define SYSTEMD_ADDRESS  "systemd"
#define FIRST_SYSTEMD_FD 3

static int keep_descriptor(int *fd)
{
	int kept = *fd;

	*fd = -1;
	return kept;
}

struct place {
	char host[64], port[8];
};

static int split_address(const char *address, struct place *out, struct error *err)
{
	const char *colon = strrchr(address, ':');
	const char *port = colon ? colon + 1 : address, *host = colon ? address : "";
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	} else if (memchr(host, ':', n)) {
		n = sizeof(out->host); /* without the brackets of IPv6 */
	}
	if (n >= sizeof(out->host) || !*port || strlen(port) >= sizeof(out->port) ||
	    strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) > 65535)
		return error_set(err, -EINVAL,
				 "'%s' is not an address: use PORT, ADDRESS:PORT, [ADDRESS]:PORT "
				 "or unix:PATH",
				 address);
	snprintf(out->host, sizeof(out->host), "%.*s", n ? (int)n : 9, n ? host : "127.0.0.1");
	strcpy(out->port, port);
	return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			       24 ==
		       IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* Finds the address that it listens at, with the port that the kernel chose. */
static void name_address(struct http_listener *l, int fd)
{
	struct sockaddr_storage a = { 0 };
	struct sockaddr *name = (struct sockaddr *)&a;
	socklen_t size = sizeof(a);
	char host[64], port[8];

	if (getsockname(fd, name, &size) < 0)
		return;
	if (a.ss_family == AF_UNIX) {
		snprintf(l->address, sizeof(l->address), UNIX_PREFIX "%s",
			 ((const struct sockaddr_un *)(const void *)&a)->sun_path);
		return;
	}
	if (getnameinfo(name, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(l->address, sizeof(l->address), a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
		 host, port);
	l->is_reachable = !is_loopback(name);
}

static int bind_to(const struct addrinfo *info, struct http_listener *l, const char *address,
		   struct error *err)
{
	cleanup(close_at_exit) int fd =
		socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
		if (errno == EACCES)
			return error_set(err, -EACCES,
					 "cannot listen at '%s': ports below 1024 need root; name "
					 "another one",
					 address);
		return error_errno(err, -errno, "cannot listen at '%s'", address);
	}
	name_address(l, fd);
	return keep_descriptor(&fd);
}

/* The socket that systemd opened (sd_listen_fds(3)). */
static int take_from_systemd(struct http_listener *l, struct error *err)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	int fd = FIRST_SYSTEMD_FD, is_listening = 0;
	socklen_t size = sizeof(is_listening);

	if (!pid || strtol(pid, NULL, 10) != getpid() || !n || strcmp(n, "1") != 0)
		return error_set(
			err, -EINVAL,
			"systemd passed no socket: a unit .socket must start this service");
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0 || !is_listening)
		return error_set(err, -EINVAL, "what systemd passed is no socket that listens");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	name_address(l, fd);
	if (!*l->address)
		return error_set(err, -EINVAL,
				 "what systemd passed is a socket of neither IP nor Unix");
	return fd;
}

/* The caller frees *out with freeaddrinfo(). */
static int http_resolve(const char *address, struct addrinfo **out, struct error *err)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct place place;
	int r = split_address(address, &place, err);

	if (r < 0)
		return r;
	return getaddrinfo(place.host, place.port, &hints, out)
		       ? error_set(err, -EINVAL, "'%s' is not a numeric address", place.host)
		       : 0;
}

int http_address_check(const char *address, struct error *err)
{
	struct addrinfo *info;
	int r;

	if (!strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) ||
	    !strcmp(address, SYSTEMD_ADDRESS))
		return 0;
	r = http_resolve(address, &info, err);
	if (!r)
		freeaddrinfo(info);
	return r;
}

/* Only the own user may connect: the mode of a socket counts from its first moment. */
static int bind_to_path(struct http_listener *l, const char *path, struct error *err)
{
	cleanup(close_at_exit) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int r;

	if (!*path || strlen(path) >= sizeof(name.sun_path))
		return error_set(err, -EINVAL,
				 "'%s' is not a path of a socket: it has 1 to %zu bytes", path,
				 sizeof(name.sun_path) - 1);
	strcpy(name.sun_path, path);
	if (fd < 0)
		return error_errno(err, -errno, "cannot make a socket");
	/* A socket that nobody listens at is of a server that was killed. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 && errno == ECONNREFUSED)
		unlink(path);
	mask = umask(077);
	r = bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, SOMAXCONN) < 0
		    ? -errno
		    : 0;
	umask(mask);
	if (r < 0)
		return error_errno(err, r, "cannot listen at '%s'", path);
	l->socket_path = xstrdup(path);
	snprintf(l->address, sizeof(l->address), UNIX_PREFIX "%s", path);
	return keep_descriptor(&fd);
}

int http_listen(struct http_listener *l, const char *address, struct error *err)
{
	struct addrinfo *info;
	int r;

	*l = (struct http_listener){ .fd = -1 };
	if (!strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX))) {
		l->fd = bind_to_path(l, address + strlen(UNIX_PREFIX), err);
	} else if (!strcmp(address, SYSTEMD_ADDRESS)) {
		l->fd = take_from_systemd(l, err);
	} else {
		r = http_resolve(address, &info, err);
		if (r < 0)
			return r;
		l->fd = bind_to(info, l, address, err);
		freeaddrinfo(info);
	}
	return MIN(l->fd, 0);
}

void http_listener_fini(struct http_listener *l)
{
	close_at_exit(&l->fd);
	if (l->socket_path)
		unlink(l->socket_path);
	free(l->socket_path);
}
