/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics port. The input has the address that it listens at, a NUL, and the bytes of a
 * client, which arrive in two pieces. Every answer must be one of HTTP, and the client must be gone
 * after it has ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/metrics_http.h"

#define PAGE        "assay_up 1\n"
#define TURNS_MAX   64
#define ADDRESS_MAX 100

static void print_page(void *context, struct buf *out)
{
	(void)context;
	buf_str(out, PAGE);
}

/* NULL: without libmicrohttpd. */
static struct metrics_http *open_once(void)
{
	static struct metrics_http *server;
	static bool is_tried;

	if (!is_tried)
		metrics_http_open("0", print_page, NULL, &server, NULL);
	is_tried = true;
	return server;
}

static void check_address(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	char address[ADDRESS_MAX + 1];
	int r;

	memcpy(address, data, size);
	address[size] = '\0';
	r = metrics_http_check(address, &err);
	if (r < 0 && !*err.text)
		abort();
}

static int connect_to(const struct metrics_http *server)
{
	const char *port = strrchr(metrics_http_address(server), ':') + 1;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		abort();
	return fd;
}

/* Serves until nothing happens, and takes the answers. True: the server has closed the socket. */
static bool exchange(struct metrics_http *server, int fd, struct buf *heard)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		struct pollfd fds[] = { { metrics_http_fd(server), POLLIN, 0 }, { fd, POLLIN, 0 } };
		ssize_t n;

		if (poll(fds, 2, 0) <= 0)
			return false;
		metrics_http_serve(server);
		buf_reserve(heard, 1 << 16);
		n = recv(fd, heard->data + heard->len, 1 << 16, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return true;
		heard->len += n > 0 ? (size_t)n : 0;
	}
	return false;
}

static void check_answers(struct buf *heard)
{
	if (!heard->len)
		return;
	buf_u8(heard, 0);
	if (strncmp((char *)heard->data, "HTTP/1.", 7) || !strstr((char *)heard->data, "\r\n\r\n"))
		abort();
}

static void talk(struct metrics_http *server, const uint8_t *data, size_t size)
{
	const struct linger at_once = { .l_onoff = 1 }; /* leaves no socket in TIME_WAIT */
	int fd = connect_to(server);
	size_t cut = size / 2;
	struct buf heard = { 0 };
	bool is_over = false;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (cut)
		send(fd, data, cut, MSG_NOSIGNAL | MSG_DONTWAIT);
	is_over = exchange(server, fd, &heard);
	if (!is_over && size)
		send(fd, data + cut, size - cut, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (!is_over)
		exchange(server, fd, &heard);
	check_answers(&heard);
	close(fd);
	metrics_http_serve(server);
	buf_fini(&heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metrics_http *server = open_once();
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t used = end ? (size_t)(end - data) : size;

	log_set_level(LOG_QUIET);
	if (used <= ADDRESS_MAX)
		check_address(data, used);
	if (server && end)
		talk(server, end + 1, size - used - 1);
	return 0;
}
