/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket, with handlers that only remember what they were asked. */
#include "scratch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/control.h"
#include "open/client.h"
#include "open/unix_socket.h"

struct world {
	struct control *control;
	char said[256];      /* what the last handler was asked */
	size_t answer_bytes; /* of metrics */
	int n_asked;
	bool is_busy; /* save is refused for now */
	uint64_t now_ns;
};

static int remember(struct world *w, json_t *request)
{
	cleanup(free_at_exit) char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(w->said, sizeof(w->said), "%s", text);
	w->n_asked++;
	return 0;
}

static int on_status(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)err;
	request_put_text(reply, "state", "running\xff");
	return remember(context, request);
}

static int on_save(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)reply;
	remember(context, request);
	if (((struct world *)context)->is_busy)
		return error_set(err, -EAGAIN, "the disk is behind");
	return error_set(err, -EEXIST, "there is a session \"%s\" already",
			 json_string_value(json_object_get(request, "name")));
}

static int on_set(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)reply, (void)err;
	return remember(context, request);
}

/* As much text as the test wants. */
static int on_metrics(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct world *w = context;
	char *text = xmalloc(w->answer_bytes + 1);

	(void)err;
	memset(text, 'x', w->answer_bytes);
	text[w->answer_bytes] = '\0';
	request_put_text(reply, "text", text);
	free(text);
	return remember(w, request);
}

static const struct control_handlers handlers = {
	.status = on_status, .save = on_save, .set = on_set, .metrics = on_metrics
};

static int open_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct error err = { 0 };

	w->now_ns = 1000000000000;
	log_set_level(LOG_QUIET);
	*state = w;
	return control_open("control", &handlers, w, &w->control, &err);
}

static int close_world(void **state)
{
	struct world *w = *state;

	control_close(w->control);
	free(w);
	return access("control", F_OK) < 0 ? 0 : -1;
}

static int join(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "control" };

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* Serves until there is nothing to do. */
static void serve(struct world *w)
{
	struct pollfd p = { .fd = control_fd(w->control), .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		control_serve(w->control, w->now_ns);
}

/*
 * The text that has come for a client; "" at the end of the connection, NULL for nothing. Valid
 * until the next call.
 */
static const char *hear(int fd)
{
	static char text[4096];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Sends one line on a separate connection and returns the answer. */
static const char *ask(struct world *w, const char *line)
{
	int fd = join();
	const char *answer;

	say(fd, line);
	serve(w);
	answer = hear(fd);
	assert_non_null(answer);
	close(fd);
	serve(w);
	return answer;
}

#define refused(w, line, text)                                                \
	do {                                                                  \
		const char *answer_ = ask(w, line);                           \
		assert_memory_equal(answer_, "{\"ok\":false,\"error\":", 20); \
		assert_non_null(strstr(answer_, text));                       \
	} while (0)

static void a_request_gets_its_answer_line(void **state)
{
	struct world *w = *state;

	assert_string_equal(ask(w, "{\"request\":\"status\"}\n"),
			    "{\"ok\":true,\"state\":\"running\xef\xbf\xbd\"}\n");
	assert_string_equal(w->said, "{\"request\":\"status\"}");
	assert_string_equal(ask(w, " {\"rate\" : 99, \"request\":\"set\"} \r\n"),
			    "{\"ok\":true}\n");
	assert_string_equal(w->said, "{\"rate\":99,\"request\":\"set\"}");
	/* what the handler says stands in the answer as JSON text */
	assert_string_equal(ask(w, "{\"request\":\"save\",\"name\":\"a\"}\n"),
			    "{\"ok\":false,\"error\":\"there is a session \\\"a\\\" already\"}\n");
	w->is_busy = true;
	assert_string_equal(ask(w, "{\"request\":\"save\",\"name\":\"a\"}\n"),
			    "{\"ok\":false,\"error\":\"the disk is behind\",\"again\":true}\n");
}

static void read_only_answers_are_repeated_for_a_moment(void **state)
{
	static const char status[] = "{\"request\":\"status\"}\n";
	struct world *w = *state;
	char first[256];

	snprintf(first, sizeof(first), "%s", ask(w, status));
	w->now_ns += 19000000;
	assert_string_equal(ask(w, status), first);
	assert_int_equal(w->n_asked, 1);
	w->now_ns += 1000000;
	assert_string_equal(ask(w, status), first);
	assert_int_equal(w->n_asked, 2);
	/*
	 * A request that may change it, done or refused, drops the cached answer. Another line is
	 * another request.
	 */
	ask(w, "{\"request\":\"set\",\"rate\":1}\n");
	ask(w, status);
	assert_int_equal(w->n_asked, 4);
	ask(w, "{\"request\":\"save\",\"name\":\"a\"}\n");
	ask(w, status);
	assert_int_equal(w->n_asked, 6);
	ask(w, "{\"request\":\"metrics\"}\n");
	assert_string_equal(ask(w, status), first);
	assert_int_equal(w->n_asked, 8);
	/* Requests that change something are never answered from the cache. */
	ask(w, "{\"request\":\"set\",\"rate\":1}\n");
	ask(w, "{\"request\":\"set\",\"rate\":1}\n");
	assert_int_equal(w->n_asked, 10);
}

static void requests_in_one_go_are_answered_in_order(void **state)
{
	struct world *w = *state;
	struct buf text = { 0 };
	int fd = join(), n = 0;

	for (int i = 0; i < 100; i++)
		buf_printf(&text, "{\"request\":\"set\",\"rate\":%d}\n\n", i + 1);
	say(fd, buf_cstr(&text));
	/* no line without its newline, unless nothing more comes */
	say(fd, "{\"request\":\"status\"}");
	serve(w);
	assert_int_equal(w->n_asked, 100);
	assert_string_equal(w->said, "{\"rate\":100,\"request\":\"set\"}");
	shutdown(fd, SHUT_WR);
	serve(w);
	assert_int_equal(w->n_asked, 101);
	for (const char *at = hear(fd); (at = strchr(at, '\n')); at++)
		n++;
	assert_int_equal(n, 101);
	assert_int_equal(control_clients(w->control), 0);
	close(fd);
	buf_fini(&text);
}

static void what_is_no_request_is_refused_with_the_reason(void **state)
{
	struct world *w = *state;

	refused(w, "garbage\n", "no JSON");
	refused(w, "\x01\xff\xfe\n", "no JSON");
	refused(w, "[]\n", "a request is a JSON object");
	refused(w, "{\"request\":7}\n", "a request is a JSON object");
	refused(w, "{\"request\":\"sav\"}\n", "no request 'sav'; there are status, start");
	refused(w, "{\"request\":\"status\",\"request\":\"stop\"}\n", "duplicate");
	refused(w, "{\"request\":\"status\",\"x\":1}\n", "it takes none");
	refused(w, "{\"request\":\"save\"}\n", "an argument is missing; it takes name=NAME");
	refused(w, "{\"request\":\"save\",\"name\":\"\"}\n", "must be a text");
	refused(w, "{\"request\":\"save\",\"name\":\"a\\nb\"}\n", "control characters");
	refused(w, "{\"request\":\"save\",\"name\":7}\n", "must be a text");
	refused(w, "{\"request\":\"set\"}\n", "it takes rate=HZ or events=EVENTS");
	refused(w, "{\"request\":\"set\",\"rate\":0}\n", "whole number");
	refused(w, "{\"request\":\"set\",\"rate\":4.5}\n", "whole number");
	refused(w, "{\"request\":\"set\",\"rate\":\"4\"}\n", "whole number");
	assert_int_equal(w->n_asked, 0);
	refused(w, "{\"request\":\"shutdown\"}\n", "does not support 'shutdown'");
}

static void a_line_of_a_megabyte_ends_the_conversation(void **state)
{
	struct world *w = *state;
	char *line = xmalloc(1 << 20);
	int fd = join();
	size_t sent = 0;

	memset(line, '[', 1 << 20);
	for (ssize_t n; sent < 1 << 20; sent += (size_t)n) {
		n = send(fd, line + sent, (1 << 20) - sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			n = 0;
		else if (n < 0)
			break;
		control_serve(w->control, w->now_ns);
	}
	assert_true(sent < 1 << 20);
	assert_non_null(strstr(hear(fd), "at most 16384 bytes"));
	assert_int_equal(control_clients(w->control), 0);
	free(line);
	close(fd);
}

static void who_does_not_read_is_not_served_further(void **state)
{
	struct world *w = *state;
	int slow = join(), n_before;

	w->answer_bytes = 1000000;
	for (int i = 0; i < 20; i++)
		say(slow, "{\"request\":\"metrics\"}\n");
	serve(w);
	n_before = w->n_asked;
	assert_true(n_before < 20);
	for (int i = 0; i < 10; i++)
		control_serve(w->control, w->now_ns);
	assert_int_equal(w->n_asked, n_before);
	/* others are */
	assert_non_null(strstr(ask(w, "{\"request\":\"status\"}\n"), "true"));
	/* and it is, when it reads: every answer whole */
	size_t lines = 0;
	for (int rounds = 0; lines < 20 && rounds < 100000; rounds++) {
		const char *at = hear(slow);

		for (; at && (at = strchr(at, '\n')); at++)
			lines++;
		serve(w);
	}
	assert_int_equal(lines, 20);
	close(slow);
}

static void after_seconds(struct world *w, uint64_t seconds)
{
	w->now_ns += seconds * 1000000000;
	control_serve(w->control, w->now_ns);
}

static void the_slow_and_the_silent_are_dropped(void **state)
{
	struct world *w = *state;
	int silent = join(), half = join(), deaf;

	say(half, "{\"request\":");
	serve(w);
	after_seconds(w, CONTROL_SLOW_S);
	assert_int_equal(control_clients(w->control), 2);
	after_seconds(w, 1);
	assert_int_equal(control_clients(w->control), 1);
	assert_string_equal(hear(half), "");
	/* one that takes no answer */
	w->answer_bytes = 1000000;
	deaf = join();
	say(deaf, "{\"request\":\"metrics\"}\n");
	serve(w);
	assert_int_equal(control_clients(w->control), 2);
	after_seconds(w, CONTROL_SLOW_S + 1);
	assert_int_equal(control_clients(w->control), 1);
	/* a request now and then is enough */
	say(silent, "{\"request\":\"status\"}\n");
	serve(w);
	after_seconds(w, CONTROL_IDLE_S);
	assert_int_equal(control_clients(w->control), 1);
	assert_non_null(strstr(hear(silent), "true"));
	after_seconds(w, 1);
	assert_int_equal(control_clients(w->control), 0);
	assert_string_equal(hear(silent), "");
	close(silent);
	close(half);
	close(deaf);
}

static void an_answer_that_is_too_large_is_refused(void **state)
{
	struct world *w = *state;

	w->answer_bytes = REQUEST_ANSWER_MAX;
	refused(w, "{\"request\":\"metrics\"}\n", "the answer has more than");
}

static void a_client_may_die_at_any_time(void **state)
{
	struct world *w = *state;

	w->answer_bytes = 1000000;
	for (int i = 0; i < 4; i++) {
		int fd = join();

		if (i)
			say(fd, i == 1 ? "{\"requ" : "{\"request\":\"metrics\"}\n");
		if (i > 2)
			serve(w);
		close(fd);
		serve(w);
		assert_int_equal(control_clients(w->control), 0);
	}
}

/* As the daemon's upkeep is, which it forks while clients are connected. */
static void a_client_that_a_child_inherited_is_forgotten_when_it_goes(void **state)
{
	struct world *w = *state;
	int pair[2], inherited;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	inherited = dup(pair[1]);
	control_adopt(w->control, pair[1], w->now_ns);
	say(pair[0], "{\"request\":\"status\"}\n");
	serve(w);
	assert_int_equal(w->n_asked, 1);
	close(pair[0]);
	for (int i = 0; i < 3; i++)
		control_serve(w->control, ++w->now_ns);
	assert_int_equal(control_clients(w->control), 0);
	close(inherited);
}

static void clients_beyond_256_are_refused(void **state)
{
	struct world *w = *state;
	struct rlimit limit = { 2048, 2048 };
	int fds[1000], n_refused = 0;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = join();
		if (i % 32 == 31)
			serve(w);
	}
	serve(w);
	assert_int_equal(control_clients(w->control), CONTROL_MAX_CLIENTS);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		const char *text = hear(fds[i]);

		n_refused += text && strstr(text, "too many clients");
	}
	assert_int_equal(n_refused, 1000 - CONTROL_MAX_CLIENTS);
	say(fds[0], "{\"request\":\"status\"}\n");
	serve(w);
	assert_non_null(strstr(hear(fds[0]), "\"ok\":true"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	serve(w);
	assert_int_equal(control_clients(w->control), 0);
	assert_non_null(strstr(ask(w, "{\"request\":\"status\"}\n"), "true"));
}

static uint32_t clients_after(struct world *w, uid_t uid, int fds[static 256])
{
	int pair[2];

	for (int i = 0; i < 256; i++) {
		/* the kernel notes who makes the pair */
		assert_int_equal(seteuid(uid), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(seteuid(0), 0);
		control_adopt(w->control, pair[1], w->now_ns);
		fds[i] = pair[0];
	}
	return control_clients(w->control);
}

static void users_leave_places_for_root(void **state)
{
	static const struct rlimit limit = { 4096, 4096 };
	struct world *w = *state;
	int fds[3][256];

	if (geteuid() != 0)
		skip_because("needs root, to be two users");
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(clients_after(w, 1001, fds[0]), CONTROL_MAX_CLIENTS / 2);
	assert_int_equal(clients_after(w, 1002, fds[1]), CONTROL_MAX_CLIENTS / 4 * 3);
	assert_int_equal(clients_after(w, 0, fds[2]), CONTROL_MAX_CLIENTS);
	for (int i = 0; i < 3 * 256; i++)
		close(fds[i / 256][i % 256]);
	serve(w);
}

static void only_the_owner_and_the_group_may_ask(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat("control", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
}

static void the_socket_of_a_killed_daemon_is_replaced(void **state)
{
	struct control *c = NULL;
	struct error err = { 0 };
	struct world w = { .now_ns = 1 };

	(void)state;
	assert_int_equal(control_open("old", &handlers, &w, &c, &err), 0);
	assert_int_equal(link("old", "left"), 0);
	control_close(c);
	assert_int_equal(rename("left", "old"), 0);
	assert_int_equal(control_open("old", &handlers, &w, &c, &err), 0);
	control_close(c);
	assert_true(access("old", F_OK) < 0);
	write_file("old", "text");
	assert_int_equal(control_open("old", &handlers, &w, &c, &err), -EEXIST);
	assert_string_equal(err.text, "'old' is not a socket; please move it away");
	assert_int_equal(access("old", F_OK), 0);
}

/* ---- the client ---- */

static void *serve_for_a_while(void *data)
{
	struct world *w = data;
	struct pollfd p = { .fd = control_fd(w->control), .events = POLLIN };

	while (!w->n_asked) {
		poll(&p, 1, 100);
		control_serve(w->control, w->now_ns);
	}
	serve(w);
	return NULL;
}

static void a_path_of_any_length_does(void **state)
{
	char dir[201];
	cleanup(free_at_exit) char *path = NULL;
	json_t *request = json_pack("{s:s}", "request", "status"), *reply = NULL;
	struct error err = { 0 };
	struct world w = { .now_ns = 1 };
	pthread_t server;

	(void)state;
	memset(dir, 'd', 200);
	dir[200] = '\0';
	path = xasprintf("%s/control", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(control_open(path, &handlers, &w, &w.control, &err), 0);
	pthread_create(&server, NULL, serve_for_a_while, &w);
	assert_int_equal(client_ask(dir, request, test_deadline_s(), &reply, &err), 0);
	pthread_join(server, NULL);
	assert_string_equal(json_string_value(json_object_get(reply, "state")),
			    "running\xef\xbf\xbd");
	json_decref(reply);
	json_decref(request);
	control_close(w.control);
	assert_true(access(path, F_OK) < 0);
}

static int ask_dir(const char *dir, double patience_s, struct error *err)
{
	json_t *request = json_pack("{s:s}", "request", "status"), *reply = NULL;
	int r = client_ask(dir, request, patience_s, &reply, err);

	json_decref(reply);
	json_decref(request);
	return r;
}

static void the_client_reports_errors(void **state)
{
	struct error err = { 0 };
	struct unix_address a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), other;

	(void)state;
	assert_int_equal(ask_dir("none", 1, &err), -ESRCH);
	/* another test, or the machine, may have one somewhere else */
	assert_non_null(strstr(err.text, "no daemon runs with the session directory 'none'"));
	/* somebody listens and says nothing, and then hangs up, and then has died */
	mkdir("mute", 0755);
	assert_int_equal(unix_address_of("mute/control", &a, &err), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a.name, a.size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(ask_dir("mute", 0.01, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "does not answer within 0.01 s"));
	other = accept(fd, NULL, NULL);
	close(other);
	close(fd);
	assert_int_equal(ask_dir("mute", 1, &err), -ESRCH);
}

/* By the sockets of the machine: ours is one of them, and others may be. */
static void running_daemons_are_found(void **state)
{
	cleanup(free_at_exit) char *dir = NULL, *path = NULL;
	struct world w = { .now_ns = 1 };
	struct error err = { 0 };

	(void)state;
	if (strlen(scratch_dir) > 90)
		skip_because("TMPDIR is too long for the name of a socket");
	assert_int_equal(mkdir("found", 0755), 0);
	path = xasprintf("%s/found/control", scratch_dir);
	assert_int_equal(control_open(path, &handlers, &w, &w.control, &err), 0);
	/* without a lock it is something else's */
	if (ask_dir("nowhere", 1, &err) < 0)
		assert_null(strstr(err.text, scratch_dir));
	write_file("found/lock", "1\n");
	assert_int_equal(ask_dir("nowhere", 1, &err), -ESRCH);
	/* where so many run that the message is full, it may be among those left out */
	assert_true(strstr(err.text, scratch_dir) || strlen(err.text) > sizeof(err.text) - 150);
	/* what is given, or usual and there, is not looked for */
	assert_int_equal(client_choose_dir("given", "usual", &dir, &err), 0);
	assert_string_equal(dir, "given");
	free(dir);
	assert_int_equal(client_choose_dir(NULL, "found", &dir, &err), 0);
	assert_string_equal(dir, "found");
	free(take_ptr(dir));
	/* whatever else runs, it is the only one below the working directory */
	assert_int_equal(client_choose_dir(NULL, "usual", &dir, &err), 0);
	assert_memory_equal(dir, scratch_dir, strlen(scratch_dir));
	assert_string_equal(dir + strlen(scratch_dir), "/found");
	control_close(w.control);
}

static void words_become_arguments(void **state)
{
	const struct {
		const char *request, *words[3], *want;
	} cases[] = {
		{ "status", { NULL }, "{\"request\":\"status\"}" },
		{ "status", { "x" }, NULL },
		{ "save", { "before" }, "{\"name\":\"before\",\"request\":\"save\"}" },
		{ "save", { "a=b" }, "{\"name\":\"a=b\",\"request\":\"save\"}" },
		{ "save", { "name=before" }, "{\"name\":\"before\",\"request\":\"save\"}" },
		{ "save", { NULL }, NULL },
		{ "save", { "a", "b" }, NULL },
		{ "set",
		  { "rate=99", "events=cycles:u" },
		  "{\"events\":\"cycles:u\",\"rate\":99,\"request\":\"set\"}" },
		{ "set", { "99" }, NULL },
		{ "set", { "rate=99", "rate=98" }, NULL },
		{ "set", { "rate=many" }, NULL },
		{ "set", { "rate=" }, NULL },
		{ "set", { "rate=0" }, NULL },
		{ "set", { "rate=99999999999999999999" }, NULL },
		{ "set", { NULL }, NULL },
		{ "save", { "\xff" }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct request_row *row = request_find(cases[i].request);
		json_t *request = NULL;
		struct error err = { 0 };
		size_t n = 0;
		int r;

		while (cases[i].words[n])
			n++;
		r = request_from_words(row, cases[i].words, n, &request, &err);
		assert_int_equal(r < 0, !cases[i].want);
		if (r >= 0) {
			cleanup(free_at_exit) char *text =
				json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);

			assert_string_equal(text, cases[i].want);
			json_decref(request);
		} else {
			assert_true(err.text[0]);
		}
	}
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_world(a_request_gets_its_answer_line),
		in_world(read_only_answers_are_repeated_for_a_moment),
		in_world(requests_in_one_go_are_answered_in_order),
		in_world(what_is_no_request_is_refused_with_the_reason),
		in_world(a_line_of_a_megabyte_ends_the_conversation),
		in_world(who_does_not_read_is_not_served_further),
		in_world(the_slow_and_the_silent_are_dropped),
		in_world(an_answer_that_is_too_large_is_refused),
		in_world(a_client_may_die_at_any_time),
		in_world(a_client_that_a_child_inherited_is_forgotten_when_it_goes),
		in_world(clients_beyond_256_are_refused),
		in_world(users_leave_places_for_root),
		in_world(only_the_owner_and_the_group_may_ask),
		cmocka_unit_test(the_socket_of_a_killed_daemon_is_replaced),
		cmocka_unit_test(a_path_of_any_length_does),
		cmocka_unit_test(the_client_reports_errors),
		cmocka_unit_test(running_daemons_are_found),
		cmocka_unit_test(words_become_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
