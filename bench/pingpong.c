/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and responses over TCP on loopback. PAIRS clients exchange ROUNDS messages of 64 bytes,
 * each with a separate server process. The processes are named "client" and "server".
 *
 * Usage: pingpong PAIRS ROUNDS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE 64

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void read_all(int fd, char *bytes)
{
	for (ssize_t have = 0; have < MESSAGE;) {
		ssize_t n = read(fd, bytes + have, (size_t)(MESSAGE - have));

		if (n <= 0)
			exit(n < 0);
		have += n;
	}
}

/* Side 0 asks first, side 1 answers. */
static void talk(int fd, int side, long rounds)
{
	char bytes[MESSAGE] = { 0 };
	int one = 1;

	prctl(PR_SET_NAME, side ? "server" : "client");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (long i = 0; i < rounds; i++) {
		if (side == 1)
			read_all(fd, bytes);
		if (write(fd, bytes, MESSAGE) != MESSAGE)
			fail("write");
		if (side == 0)
			read_all(fd, bytes);
	}
	exit(0);
}

static void start_pair(long rounds)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &size) < 0)
		fail("listen");
	if (fork() == 0)
		talk(accept(listener, NULL, NULL), 1, rounds);
	if (fork() == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&at, size) < 0)
			fail("connect");
		talk(fd, 0, rounds);
	}
	close(listener);
}

int main(int argc, char **argv)
{
	long pairs = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	int status, bad = 0;

	if (pairs < 1) {
		fprintf(stderr, "Usage: pingpong PAIRS ROUNDS\n");
		return 2;
	}
	for (long i = 0; i < pairs; i++)
		start_pair(strtol(argv[2], NULL, 10));
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
