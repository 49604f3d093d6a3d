/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket. The input arrives in two pieces; its first byte is the length of the first.
 * Every line that comes back must be an answer.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOCKET_PATH_SIZE 64
#define INPUT_MAX        40000

static int on_request(void *context, json_t *request, json_t *reply, struct error *err)
{
	const char *name = json_string_value(json_object_get(request, "name"));

	(void)context;
	if (name && name[0] == 'x')
		return error_set(err, -1, "not '%s'", name);
	if (name)
		request_put_text(reply, "name", name);
	return 0;
}

static struct control *open_once(void)
{
	static struct control_handlers handlers = {
#define REQUEST(name, ...) .name = on_request,
#include "daemon/requests.def"
#undef REQUEST
	};
	static struct control *control;
	char path[SOCKET_PATH_SIZE];

	if (control)
		return control;
	log_set_level(LOG_QUIET);
	snprintf(path, sizeof(path), "/tmp/assay-fuzz-%d", (int)getpid());
	if (control_open(path, &handlers, NULL, &control, NULL) < 0)
		abort();
	unlink(path);
	return control;
}

static void check_answers(const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		const char *line = (const char *)text->data + at;
		const char *end = memchr(line, '\n', text->len - at);
		json_t *answer = end ? json_loadb(line, (size_t)(end - line), 0, NULL) : NULL;
		json_t *ok = json_object_get(answer, "ok");

		if (!json_is_boolean(ok) ||
		    (json_is_false(ok) && !json_string_value(json_object_get(answer, "error"))))
			abort();
		json_decref(answer);
		at += (size_t)(end - line) + 1;
	}
}

static void exchange(struct control *c, int fd, const uint8_t *data, size_t size, struct buf *heard)
{
	ssize_t n;

	/* A client that was dropped for its long line hears no more. */
	if (send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && size)
		size = 0;
	for (int i = 0; i < 4; i++) {
		control_serve(c, 1);
		buf_reserve(heard, 1 << 16);
		n = recv(fd, heard->data + heard->len, 1 << 16, MSG_DONTWAIT);
		heard->len += n > 0 ? (size_t)n : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control *c = open_once();
	struct buf heard = { 0 };
	size_t cut = size ? MIN(size, (size_t)data[0] * 8) : 0;
	int pair[2];

	if (size > INPUT_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	control_adopt(c, pair[0], 1);
	exchange(c, pair[1], data, cut, &heard);
	exchange(c, pair[1], data + cut, size - cut, &heard);
	shutdown(pair[1], SHUT_WR);
	for (int i = 0; i < 1000 && control_clients(c); i++)
		exchange(c, pair[1], NULL, 0, &heard);
	check_answers(&heard);
	if (control_clients(c))
		abort(); /* a client that has ended is still there */
	close(pair[1]);
	buf_fini(&heard);
	return 0;
}
