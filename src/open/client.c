/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open/client.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "open/lock.h"
#include "open/unix_socket.h"

#define ANSWER_MAX  (64 << 20)
#define READ_BYTES  65536
#define SOCKETS_MAX (16 << 20)
#define AGAIN_NS    50000000 /* before a request is repeated */

static double now_s(void)
{
	return (double)clock_monotonic_ns() / (double)NS_PER_SECOND;
}

/* ---- who runs ---- */

struct dirs {
	char **data;
	size_t n, cap;
};

static void dirs_fini(struct dirs *dirs)
{
	vec_foreach (dirs, dir)
		free(*dir);
	vec_fini(dirs);
}

static void name_dirs(const struct dirs *dirs, struct buf *out)
{
	vec_foreach (dirs, dir)
		buf_printf(out, "%s'%s'", dir == dirs->data ? "" : ", ", *dir);
}

/* A daemon's, of somebody who may be trusted with a request: anybody can make a socket. */
static bool client_is_daemon_dir(const char *dir)
{
	cleanup(free_at_exit) char *lock = xasprintf("%s/lock", dir);
	struct stat st;

	const struct passwd *user;

	if (stat(lock, &st) < 0)
		return false;
	if (st.st_uid == 0 || st.st_uid == geteuid())
		return true;
	user = getpwnam(DAEMON_USER);
	return user && user->pw_uid == st.st_uid;
}

/* proc(5), /proc/net/unix: "Num: RefCount Protocol Flags Type St Inode Path"; flags in hex. */
#define FLAG_LISTENS 0x10000

static void find_daemons(struct dirs *out)
{
	cleanup(free_at_exit) char *text = NULL;
	char *rest, *line;
	size_t size;

	if (file_read_all("/proc/net/unix", SOCKETS_MAX, &text, &size) < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		unsigned long flags;
		int path = 0;

		if (sscanf(line, "%*s %*s %*s %lx %*s %*s %*s %n", &flags, &path) != 1 || !path ||
		    !(flags & FLAG_LISTENS) || line[path] != '/')
			continue;
		line += path;
		size = strlen(line);
		if (size <= strlen("/control") || strcmp(line + size - 8, "/control"))
			continue;
		line[size - 8] = '\0';
		if (client_is_daemon_dir(line))
			vec_push(out, xstrdup(line));
	}
}

/* Of several, those below the working directory are meant, if there are any. */
static void prefer_here(struct dirs *dirs)
{
	cleanup(free_at_exit) char *here = getcwd(NULL, 0);
	size_t len = here ? strlen(here) : 0, n = 0;

	for (size_t i = 0; len && i < dirs->n; i++) {
		char *dir = dirs->data[i];

		if (strncmp(dir, here, len) || dir[len] != '/')
			continue;
		dirs->data[i] = dirs->data[n];
		dirs->data[n++] = dir;
	}
	while (n && dirs->n > n)
		free(dirs->data[--dirs->n]);
}

int client_choose_dir(const char *given, const char *usual, char **dir, struct error *err)
{
	cleanup(free_at_exit) char *socket = xasprintf("%s/control", usual);
	struct dirs dirs = { 0 };
	struct buf names = { 0 };
	int r = 0;

	/* Also one that may not be looked at is one. */
	if (!given && access(socket, F_OK) < 0 && errno != EACCES)
		find_daemons(&dirs);
	prefer_here(&dirs);
	name_dirs(&dirs, &names);
	if (dirs.n > 1)
		r = error_set(err, -EINVAL, "several daemons run: choose by --session-dir %s",
			      buf_cstr(&names));
	else
		*dir = xstrdup(given ? given : dirs.n ? dirs.data[0] : usual);
	buf_fini(&names);
	dirs_fini(&dirs);
	return r;
}

/* ---- what can be wrong ---- */

static int nobody_there(const char *dir, struct error *err)
{
	struct dirs dirs = { 0 };
	struct buf names = { 0 };
	int r;

	find_daemons(&dirs);
	name_dirs(&dirs, &names);
	if (dirs.n)
		r = error_set(err, -ESRCH,
			      "no daemon runs with the session directory '%s', but with %s", dir,
			      buf_cstr(&names));
	else
		r = error_set(err, -ESRCH,
			      "no daemon runs with the session directory '%s'; start one: assay "
			      "daemon --detach --session-dir %s",
			      dir, dir);
	buf_fini(&names);
	dirs_fini(&dirs);
	return r;
}

static int not_permitted(const char *path, struct error *err)
{
	struct group *group = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, -EACCES, "'%s': permission denied; ask as root", path);
	group = st.st_gid ? getgrgid(st.st_gid) : NULL;
	if (!group)
		return error_set(err, -EACCES,
				 "'%s': permission denied: only root may ask this daemon; if there "
				 "is a group 'assay' when it starts, its members may, too",
				 path);
	return error_set(err, -EACCES,
			 "'%s': permission denied: only root and members of group '%s' may ask "
			 "this daemon (usermod -aG %s USER)",
			 path, group->gr_name, group->gr_name);
}

static int refused(int code, const char *dir, const char *path, struct error *err)
{
	if (code == -ENOENT || code == -ECONNREFUSED || code == -ENOTDIR)
		return nobody_there(dir, err);
	if (code == -EACCES || code == -EPERM)
		return not_permitted(path, err);
	return error_errno(err, code, "cannot connect to '%s'", path);
}

/* SO_PEERCRED of a listening socket is the process that listens; 0: not known. */
static int no_answer(int fd, const char *dir, double patience_s, struct error *err)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	return error_set(err, -ETIMEDOUT,
			 "the daemon of '%s' (process %d) does not answer within %g s; is it "
			 "stopped, or the machine overloaded?",
			 dir, (int)peer.pid, patience_s);
}

/* ---- the conversation ---- */

/* 0 when it is ready; -ETIMEDOUT. */
static int client_wait_for(int fd, short events, double until_s)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		double left_s = until_s - now_s();
		int n = left_s > 0 ? poll(&p, 1, (int)(left_s * 1000) + 1) : 0;

		if (n > 0)
			return 0;
		if (!n)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/* A daemon that is busy with many has a full queue of connections: EAGAIN. */
static int connect_to(int fd, const struct unix_address *a, double until_s)
{
	while (connect(fd, (const struct sockaddr *)&a->name, a->size) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (now_s() > until_s)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return 0;
}

/* Even if the request can't be sent, an answer may be there ("too many clients"). */
static int send_all(int fd, const struct buf *line, double until_s)
{
	for (size_t at = 0; at < line->len;) {
		ssize_t n = send(fd, line->data + at, line->len - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			at += (size_t)n;
		else if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if (client_wait_for(fd, POLLOUT, until_s) < 0)
			return -ETIMEDOUT;
	}
	return 0;
}

static int receive_line(int fd, struct buf *line, double until_s)
{
	while (line->len < ANSWER_MAX) {
		int r = client_wait_for(fd, POLLIN, until_s);
		ssize_t n;

		if (r < 0)
			return r;
		buf_reserve(line, READ_BYTES);
		n = recv(fd, line->data + line->len, READ_BYTES, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -ECONNRESET;
		line->len += (size_t)n;
		if (line->data[line->len - 1] == '\n')
			return 0;
	}
	return -EMSGSIZE;
}

static int client_append(const char *bytes, size_t n, void *data)
{
	buf_bytes(data, bytes, n);
	return 0;
}

static int converse(int fd, const struct unix_address *a, const json_t *request, double until_s,
		    struct buf *answer)
{
	struct buf line = { 0 };
	int r;

	json_dump_callback(request, client_append, &line, JSON_COMPACT);
	buf_u8(&line, '\n');
	r = connect_to(fd, a, until_s);
	r = r < 0 ? r : send_all(fd, &line, until_s);
	/* From here on there was somebody. */
	if (r >= 0 && receive_line(fd, answer, until_s) < 0)
		r = now_s() >= until_s ? -ETIMEDOUT : -ECONNRESET;
	buf_fini(&line);
	return r;
}

static int take_answer(const struct buf *line, const char *path, json_t **reply, struct error *err)
{
	json_t *answer = json_loadb((const char *)line->data, line->len, 0, NULL);
	const char *why = json_string_value(json_object_get(answer, "error"));
	int r = 0;

	if (json_is_true(json_object_get(answer, "ok")))
		*reply = json_incref(answer);
	else if (why)
		r = error_set(err,
			      json_is_true(json_object_get(answer, "again")) ? -EAGAIN : -EREMOTEIO,
			      "%s", why);
	else
		r = error_set(err, -EPROTO,
			      "the program that answers at '%s' is not assay's "
			      "daemon",
			      path);
	json_decref(answer);
	return r;
}

/* -EAGAIN: it refused for now. */
static int ask_once(const char *session_dir, const json_t *request, double patience_s,
		    double until_s, json_t **reply, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/control", session_dir);
	cleanup(close_at_exit) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct buf line = { 0 };
	struct unix_address a;
	int r;

	if (fd < 0)
		return error_errno(err, -errno, "cannot make a socket");
	r = unix_address_of(path, &a, NULL);
	if (r >= 0) {
		r = converse(fd, &a, request, until_s, &line);
		unix_address_fini(&a);
	}
	if (r == -ETIMEDOUT)
		r = no_answer(fd, session_dir, patience_s, err);
	else if (r == -ECONNRESET)
		r = error_set(err, r, "the daemon of '%s' ended before it answered", session_dir);
	else
		r = r < 0 ? refused(r, session_dir, path, err)
			  : take_answer(&line, path, reply, err);
	buf_fini(&line);
	return r;
}

int client_ask(const char *session_dir, const json_t *request, double patience_s, json_t **reply,
	       struct error *err)
{
	double until_s = now_s() + patience_s;
	struct error refusal = { 0 }; /* of before */

	for (;;) {
		int r = ask_once(session_dir, request, patience_s, until_s, reply, err);

		if (r == -ETIMEDOUT && refusal.text[0])
			return error_set(err, -EREMOTEIO, "%s", refusal.text);
		if (r != -EAGAIN)
			return r;
		if (now_s() + AGAIN_NS / 1e9 >= until_s)
			return -EREMOTEIO;
		if (err)
			refusal = *err;
		nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	}
}
