/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP client against our own server, and against peers that behave badly. */
#include "scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "config.h"
#include "http/http_client.h"
#include "http/http_server.h"

/*
 * A thread with our server. Its answer to /echo is the body; to /busy and /never, 429; to /long,
 * 5,000 bytes.
 */
struct site {
	struct http_server *server;
	pthread_t thread;
	atomic_bool ends;
};

static void answer_request(void *context, struct http_request *q)
{
	static const struct http_header later[] = { { "Retry-After", "7" } };
	static const struct http_header never[] = { { "Retry-After", "4000000000" } };
	const char *path = http_request_path(q), *mark = http_request_header(q, "X-Mark");
	struct buf text = { 0 };
	struct http_answer answer = { .status = 200 };

	(void)context;
	if (strcmp(path, "/busy") == 0) {
		answer = (struct http_answer){ .status = 429, .headers = later, .n_headers = 1 };
	} else if (strcmp(path, "/never") == 0) {
		answer = (struct http_answer){ .status = 429, .headers = never, .n_headers = 1 };
	} else if (strcmp(path, "/long") == 0) {
		for (int i = 0; i < 1000; i++)
			buf_str(&text, "12345");
	} else {
		buf_printf(&text, "%s %s ", http_request_method(q), mark ? mark : "-");
		buf_bytes(&text, http_request_body(q)->data, http_request_body(q)->len);
	}
	answer.body = http_body_new(text.data, text.len);
	http_request_answer(q, &answer);
	http_body_drop(answer.body);
	buf_fini(&text);
}

/* /busy refuses a body before it comes. */
static size_t body_limit(void *context, const struct http_request *q)
{
	(void)context;
	return strcmp(http_request_path(q), "/busy") != 0 ? (size_t)8 << 20 : 0;
}

static void *serve(void *context)
{
	struct site *site = context;

	while (!site->ends) {
		struct pollfd p = { .fd = http_server_fd(site->server), .events = POLLIN };

		if (poll(&p, 1, 10) > 0)
			http_server_serve(site->server);
	}
	return NULL;
}

static void site_open(struct site *site)
{
	static const struct http_options options = { .take = answer_request,
						     .body_limit = body_limit,
						     .clients = 8,
						     .slow_s = 30,
						     .header_bytes = 8192 };
	int r = http_server_open("0", &options, &site->server, NULL);

	if (r == -ENOTSUP || r == -ENOENT)
		skip_because("there is no libmicrohttpd");
	assert_int_equal(r, 0);
	site->ends = false;
	assert_int_equal(pthread_create(&site->thread, NULL, serve, site), 0);
}

static void site_close(struct site *site)
{
	site->ends = true;
	pthread_join(site->thread, NULL);
	http_server_close(site->server);
}

static struct http_client *client_open(const struct http_client_options *options)
{
	struct http_client *c = NULL;
	struct error err = { 0 };
	int r = http_client_new(options, &c, &err);

	if (!WITH_CURL)
		skip_because("built without libcurl");
	if (r == -ENOENT && strstr(err.text, "libcurl"))
		skip_because("libcurl is not installed");
	assert_int_equal(r, 0);
	return c;
}

/* A socket that listens at loopback; `*port` is its port. */
static int listen_at_loopback(uint16_t *port)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
	*port = ntohs(name.sin_port);
	return fd;
}

static void requests_have_answers(void **state)
{
	static const struct http_field mark[] = { { "X-Mark", "m1" }, { "Content-Type", "x/y" } };
	struct http_client *c = client_open(&(struct http_client_options){ .answer_bytes = 4096 });
	struct http_reply reply = { 0 };
	struct error err = { 0 };
	struct site site;
	char url[256];
	int n;

	(void)state;
	site_open(&site);
	n = snprintf(url, sizeof(url), "http://%s/echo", http_server_address(site.server));
	struct http_question put = { .method = "PUT",
				     .url = url,
				     .headers = mark,
				     .n_headers = 2,
				     .body = "a\0b",
				     .body_size = 3 };
	struct http_question get = { .method = "GET", .url = url };
	struct http_question post = { .method = "POST", .url = url };

	for (int i = 0; i < 3; i++) {
		assert_int_equal(http_client_ask(c, &put, &reply, &err), 0);
		assert_int_equal(reply.status, 200);
		assert_int_equal(reply.body.len, 10);
		assert_memory_equal(reply.body.data, "PUT m1 a\0b", 10);
		assert_int_equal(http_client_ask(c, &get, &reply, &err), 0);
		assert_int_equal(reply.body.len, 6);
		assert_memory_equal(reply.body.data, "GET - ", 6);
		assert_int_equal(http_client_ask(c, &post, &reply, &err), 0);
		assert_int_equal(reply.body.len, 7);
		assert_memory_equal(reply.body.data, "POST - ", 7);
	}
	assert_true((size_t)n > strlen("/echo"));
	memcpy(url + n - strlen("/echo"), "/busy", 5);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), 0);
	assert_int_equal(reply.status, 429);
	assert_int_equal(reply.retry_after_s, 7);
	strcpy(url + n - strlen("/echo"), "/never");
	assert_int_equal(http_client_ask(c, &get, &reply, &err), 0);
	assert_int_equal(reply.retry_after_s, HTTP_RETRY_AFTER_MOST_S);
	strcpy(url + n - strlen("/echo"), "/long");
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "more than 4096 bytes"));
	memcpy(url + n - strlen("/echo"), "/echo", 5);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), 0);
	assert_int_equal(reply.retry_after_s, 0);
	site_close(&site);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -ECONNREFUSED);
	http_client_free(c);
	http_reply_fini(&reply);
}

/* More than the buffers of a connection hold. */
#define LARGE_BYTES ((size_t)8 << 20)

static void a_refusal_before_the_body_is_read(void **state)
{
	struct http_client_options options = { .answer_bytes = LARGE_BYTES + 64 };
	struct http_client *c = client_open(&options);
	struct http_reply reply = { 0 };
	struct error err = { 0 };
	struct site site;
	char busy[256], echo[256];

	(void)state;
	site_open(&site);
	snprintf(busy, sizeof(busy), "http://%s/busy", http_server_address(site.server));
	snprintf(echo, sizeof(echo), "http://%s/echo", http_server_address(site.server));
	struct http_question put = { .method = "PUT",
				     .url = busy,
				     .body = calloc(1, LARGE_BYTES),
				     .body_size = LARGE_BYTES,
				     .asks_first = true };

	for (int i = 0; i < 3; i++) { /* a new connection each time */
		put.url = busy;
		assert_int_equal(http_client_ask(c, &put, &reply, &err), 0);
		assert_int_equal(reply.status, 429);
		assert_int_equal(reply.retry_after_s, 7);
		put.url = echo;
		assert_int_equal(http_client_ask(c, &put, &reply, &err), 0);
		assert_int_equal(reply.status, 200);
		assert_int_equal(reply.body.len, strlen("PUT - ") + LARGE_BYTES);
	}
	free((void *)put.body);
	site_close(&site);
	http_client_free(c);
	http_reply_fini(&reply);
}

static bool stops_at_third(void *context)
{
	return ++*(int *)context > 2;
}

/* Servers that never answer, and that end in the middle of an answer. */
static void bad_servers_cost_a_limited_time(void **state)
{
	static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc";
	int asked = 0;
	struct http_client_options options = { .whole_s = 1 };
	struct http_client *c = client_open(&options);
	struct http_reply reply = { 0 };
	struct error err = { 0 };
	uint16_t port;
	int fd = listen_at_loopback(&port), peer;
	char url[64];
	struct http_question get = { .method = "GET", .url = url };

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -ETIMEDOUT);
	http_client_free(c);

	c = client_open(&(struct http_client_options){ .silent_s = 1 });
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "sent nothing for 1 seconds"));
	http_client_free(c);

	options = (struct http_client_options){ .stops = stops_at_third, .context = &asked };
	c = client_open(&options);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -EINTR);
	assert_int_equal(asked, 3);
	http_client_free(c);
	close(fd);

	fd = listen_at_loopback(&port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	if (fork() == 0) {
		peer = accept(fd, NULL, NULL);
		_exit(write(peer, half, sizeof(half) - 1) < 0);
	}
	c = client_open(&(struct http_client_options){ 0 });
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -EIO);
	http_client_free(c);
	http_reply_fini(&reply);
	close(fd);
}

/* Answers the first request of a connection, and drops the connection at the second one. */
static void serve_one_request_each(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char text[4096];

	for (;;) {
		int peer = accept(fd, NULL, NULL);

		if (read(peer, text, sizeof(text)) > 0 &&
		    write(peer, answer, sizeof(answer) - 1) > 0)
			text[0] = (char)read(peer, text, sizeof(text));
		close(peer);
	}
}

static void connections_may_die_between_requests(void **state)
{
	struct http_client *c = client_open(&(struct http_client_options){ 0 });
	struct http_reply reply = { 0 };
	struct error err = { 0 };
	uint16_t port;
	int fd = listen_at_loopback(&port);
	pid_t server = fork();
	char url[64];
	struct http_question get = { .method = "GET", .url = url };

	(void)state;
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* as when this test fails */
		serve_one_request_each(fd);
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(http_client_ask(c, &get, &reply, &err), 0);
		assert_int_equal(reply.body.len, 2);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	close(fd);
	http_client_free(c);
	http_reply_fini(&reply);
}

static void bad_questions_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "ftp://a/",
					   "https://",
					   "https:///x",
					   "http://u:p@h/",
					   "http://h/ x",
					   "http://h/\n",
					   "http://h/#a",
					   "file:///etc/passwd" };
	static const char *const good[] = { "http://h", "https://h:1/x?a=b@c", "http://[::1]:80/",
					    "http://127.0.0.1:8123" };
	static const struct http_field broken[] = { { "X-Mark", "a\r\nX-Other: b" } };
	struct http_client *c = client_open(&(struct http_client_options){ 0 });
	struct http_question get = {
		.method = "GET", .url = "http://127.0.0.1:1/", .headers = broken, .n_headers = 1
	};
	struct http_reply reply = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(http_url_check(bad[i], &err), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(http_url_check(good[i], &err), 0);
	assert_int_equal(http_client_ask(c, &get, &reply, &err), -EINVAL);
	http_client_free(c);
	assert_int_equal(http_client_new(&(struct http_client_options){ .ca = "/nowhere/ca.pem" },
					 &c, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/ca.pem"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_have_answers),
		cmocka_unit_test(a_refusal_before_the_body_is_read),
		cmocka_unit_test(bad_servers_cost_a_limited_time),
		cmocka_unit_test(connections_may_die_between_requests),
		cmocka_unit_test(bad_questions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
