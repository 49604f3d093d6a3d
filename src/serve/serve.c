/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "http/http_server.h"
#include "serve/access.h"
#include "serve/answers.h"
#include "serve/api.h"
#include "serve/page/files.h"
#include "serve/policy.h"
#include "serve/worker.h"

#define CLIENTS      256
#define SLOW_S       20
#define HEADER_BYTES ((size_t)32 << 10)
/* Sources are listed again if the list is older: a page asks for several answers at once. */
#define SOURCES_NS NS_PER_SECOND

/* Requests that wait for one answer. */
struct job {
	const struct api_row *row;
	struct api_call call;
	struct worker *worker; /* NULL: it waits for its turn */
	VEC(struct http_request *) waiting;
};

struct serve {
	const struct serve_options *options;
	struct http_server *http;
	struct access *access;
	struct answers answers;
	struct sources sources;
	uint64_t sources_ns; /* when they were listed */
	VEC(struct job *) jobs;
	size_t n_waiting;
	int signals;
};

/* ---- answers ---- */

/* Every answer has these: only this browser keeps it, and only as its type. */
#define COMMON_HEADERS                                                            \
	{ "Cache-Control", "no-store" }, { "X-Content-Type-Options", "nosniff" }, \
		{ "Referrer-Policy", "no-referrer" },                             \
	{                                                                         \
		"Cross-Origin-Resource-Policy", "same-origin"                     \
	}

static void answer_with_warning(struct http_request *q, unsigned int status, const char *type,
				const struct http_header *more, struct http_body *body,
				const char *warning)
{
	const struct http_header headers[] = {
		{ "Content-Type", type },
		COMMON_HEADERS,
		more ? *more : (struct http_header){ "X-Frame-Options", "SAMEORIGIN" },
		{ "X-Assay-Warning", warning },
	};
	const struct http_answer a = { status, headers, ARRAY_SIZE(headers) - !warning, body };

	http_request_answer(q, &a);
}

static void answer(struct http_request *q, unsigned int status, const char *type,
		   const struct http_header *more, struct http_body *body)
{
	answer_with_warning(q, status, type, more, body, NULL);
}

static void answer_error(struct http_request *q, unsigned int status, const char *sentence)
{
	static const struct http_header retry = { "Retry-After", "2" };
	cleanup(http_body_drop_at_exit) struct http_body *body = NULL;
	struct buf text = { 0 };

	buf_u8(&text, '{');
	json_put_text(&text, "error", sentence);
	buf_printf(&text, "}\n");
	body = http_body_new(text.data, text.len);
	answer(q, status, "application/json", status == 429 ? &retry : NULL, body);
	buf_fini(&text);
}

static void answer_buf(struct http_request *q, struct buf *text)
{
	cleanup(http_body_drop_at_exit) struct http_body *body =
		http_body_new(text->data, text->len);

	answer(q, 200, "application/json", NULL, body);
	buf_fini(text);
}

#define WARNING "The source is damaged, or memory ran out: something is missing."

static void answer_row(struct http_request *q, const struct api_row *row, struct http_body *body,
		       const struct buf *policy, bool has_warned)
{
	char attachment[128];
	struct http_header more = { "Content-Security-Policy", POLICY_NOTHING };

	snprintf(attachment, sizeof(attachment), "attachment; filename=\"%s\"", row->file);
	if (row->file)
		more = (struct http_header){ "Content-Disposition", attachment };
	else if (policy->len)
		more.value = (const char *)policy->data;
	answer_with_warning(q, 200, row->type, &more, body, has_warned ? WARNING : NULL);
}

/* ---- jobs ---- */

static void job_free(struct job *j)
{
	worker_free(j->worker);
	api_call_fini(&j->call);
	vec_fini(&j->waiting);
	free(j);
}

static void fail_job(struct job *j, unsigned int status, const char *sentence)
{
	vec_foreach (&j->waiting, q)
		answer_error(*q, status, sentence);
}

static void finish_job(struct serve *s, struct job *j)
{
	const struct buf *output = worker_output(j->worker);
	unsigned int status = worker_status(j->worker);
	cleanup(http_body_drop_at_exit) struct http_body *body = NULL;
	struct buf policy = { 0 };

	/* The program's message may name all that there is. */
	if (status != 200) {
		fail_job(j, status,
			 status == 422 && j->call.is_limited
				 ? "No sample matches, or the source can't be read."
				 : worker_message(j->worker));
		return;
	}
	body = http_body_new(output->data, output->len);
	if (!strncmp(j->row->type, "text/html", 9))
		policy_of_page(output, &policy);
	vec_foreach (&j->waiting, q)
		answer_row(*q, j->row, body, &policy, worker_has_warned(j->worker));
	if (!worker_has_warned(j->worker))
		answers_keep(&s->answers, &j->call.key, body, &policy);
	buf_fini(&policy);
}

static void start_jobs(struct serve *s)
{
	size_t n_running = 0;

	vec_foreach (&s->jobs, j)
		n_running += (*j)->worker != NULL;
	for (size_t i = 0; i < s->jobs.n && n_running < SERVE_WORKERS; i++) {
		struct job *j = s->jobs.data[i];
		struct error err = { 0 };

		if (j->worker)
			continue;
		if (worker_start(j->call.words.data, &j->worker, &err) >= 0) {
			n_running++;
			continue;
		}
		fail_job(j, 503, err.text);
		s->n_waiting -= j->waiting.n;
		job_free(j);
		s->jobs.n--;
		memmove(&s->jobs.data[i], &s->jobs.data[i + 1], (s->jobs.n - i) * sizeof(j));
		i--;
	}
}

static void read_jobs(struct serve *s)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.data[i];

		if (!j->worker || !worker_read(j->worker))
			continue;
		finish_job(s, j);
		s->n_waiting -= j->waiting.n;
		job_free(j);
		s->jobs.n--;
		memmove(&s->jobs.data[i], &s->jobs.data[i + 1], (s->jobs.n - i) * sizeof(j));
		i--;
	}
}

static struct job *find_job(const struct serve *s, const struct buf *key)
{
	vec_foreach (&s->jobs, j)
		if ((*j)->call.key.len == key->len &&
		    !memcmp((*j)->call.key.data, key->data, key->len))
			return *j;
	return NULL;
}

/* Takes the call. */
static void add_request(struct serve *s, const struct api_row *row, struct api_call *call,
			struct http_request *q)
{
	const struct kept_answer *kept = answers_find(&s->answers, &call->key);
	struct job *j = find_job(s, &call->key);

	if (kept) {
		answer_row(q, row, kept->body, &kept->policy, false);
		return;
	}
	if (s->n_waiting >= SERVE_WAITING) {
		answer_error(q, 429, "Too many requests wait. Ask again in some seconds.");
		return;
	}
	if (!j) {
		j = xcalloc(1, sizeof(*j));
		j->row = row;
		j->call = *call;
		*call = (struct api_call){ 0 };
		vec_push(&s->jobs, j);
	}
	vec_push(&j->waiting, q);
	s->n_waiting++;
}

/* ---- requests ---- */

static void list_sources(struct serve *s)
{
	uint64_t now = clock_monotonic_ns();

	if (s->sources_ns && now - s->sources_ns < SOURCES_NS)
		return;
	sources_read(&s->sources, s->options->paths, s->options->n_paths);
	s->sources_ns = now;
}

static unsigned int status_of_error(int code)
{
	return code == -ENOENT ? 404 : code == -EACCES ? 403 : 400;
}

static void answer_api(struct serve *s, struct http_request *q, const char *name,
		       const char *filters)
{
	const struct api_row *row = api_find(name);
	cleanup(api_call_fini) struct api_call call = { 0 };
	struct buf text = { 0 };
	struct error err = { 0 };
	int r;

	list_sources(s);
	if (!strcmp(name, "sources")) {
		sources_put_json(&s->sources, &text);
		answer_buf(q, &text);
	} else if (!strcmp(name, "labels")) {
		api_put_labels(&text);
		answer_buf(q, &text);
	} else if (!row) {
		answer_error(q, 404, "There is no such answer. docs/api.md lists them.");
	} else {
		r = api_call(row, q, &s->sources, filters, &call, &err);
		if (r < 0)
			answer_error(q, status_of_error(r), err.text);
		else
			add_request(s, row, &call, q);
	}
}

static void announce(struct serve *s)
{
	s->options->announce(s->options->context, http_server_address(s->http),
			     access_login_path(s->access));
}

/* Not a redirection: behind a link of another site, "/" would count as a request of that site. */
#define LOGIN_PAGE                                                                      \
	"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>assay</title>" \
	"<meta http-equiv=\"refresh\" content=\"0; url=/\"><p><a href=\"/\">assay</a></p>\n"

static void answer_login(struct serve *s, struct http_request *q)
{
	cleanup(http_body_drop_at_exit) struct http_body *page =
		http_body_new(LOGIN_PAGE, strlen(LOGIN_PAGE));
	struct buf cookie = { 0 };

	/* HEAD, of a preview of links, does not use the address up. */
	if (!strcmp(http_request_method(q), "GET") && access_login(s->access, q, &cookie)) {
		const struct http_header set = { "Set-Cookie", buf_cstr(&cookie) };

		answer(q, 200, "text/html; charset=utf-8", &set, page);
		announce(s);
	} else {
		http_request_answer_text(
			q, 403,
			"This address was used already, or it is wrong. 'assay serve' "
			"printed another one.\n");
	}
	buf_fini(&cookie);
}

static bool answer_file(struct http_request *q)
{
	for (size_t i = 0; i < n_serve_files; i++) {
		const struct serve_file *file = &serve_files[i];
		static const struct http_header policy = { "Content-Security-Policy",
							   POLICY_SERVE };
		cleanup(http_body_drop_at_exit) struct http_body *body = NULL;

		if (strcmp(file->path, http_request_path(q)))
			continue;
		body = http_body_new(file->text, strlen(file->text));
		answer(q, 200, file->type, &policy, body);
		return true;
	}
	return false;
}

static void take_request(void *context, struct http_request *q)
{
	struct serve *s = context;
	const char *path = http_request_path(q), *method = http_request_method(q);
	struct access_right right = access_check_origin(s->access, q);

	if (right.status != 200) {
		answer_error(q, right.status, right.reason);
		return;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		answer_error(q, 405, "Only GET is possible.");
		return;
	}
	if (!strcmp(path, "/login")) {
		answer_login(s, q);
		return;
	}
	right = access_check(s->access, q);
	if (right.status != 200)
		answer_error(q, right.status, right.reason);
	else if (!strncmp(path, API_PATH, strlen(API_PATH)))
		answer_api(s, q, path + strlen(API_PATH), right.filters);
	else if (!answer_file(q))
		answer_error(q, 404, "There is no such page.");
}

/* ---- the loop ---- */

static int take_signals(struct serve *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

/* Milliseconds until the first worker must end; -1: none runs. */
static int next_deadline(const struct serve *s)
{
	uint64_t now = clock_monotonic_ns(), first = UINT64_MAX;

	vec_foreach (&s->jobs, j)
		if ((*j)->worker)
			first = MIN(first, worker_deadline_ns((*j)->worker));
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (int)((first - now) / NS_PER_MS + 1);
}

static int wait_for_work(const struct serve *s)
{
	struct pollfd fds[2 + SERVE_WORKERS * WORKER_FDS] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = http_server_fd(s->http), .events = POLLIN },
	};
	nfds_t n = 2;

	vec_foreach (&s->jobs, j)
		for (int i = 0; (*j)->worker && i < WORKER_FDS; i++)
			fds[n++] = (struct pollfd){ .fd = worker_fd((*j)->worker, i),
						    .events = POLLIN };
	if (poll(fds, n, next_deadline(s)) < 0 && errno != EINTR)
		return -errno;
	return fds[0].revents & POLLIN ? 1 : 0;
}

static int serve_loop(struct serve *s)
{
	int r = 0;

	while (!r) {
		/* Answers of workers wake requests, which the server serves at once. */
		start_jobs(s);
		http_server_serve(s->http);
		start_jobs(s);
		r = wait_for_work(s);
		read_jobs(s);
	}
	return MIN(r, 0);
}

static int serve_open(struct serve *s, struct error *err)
{
	const struct http_options http = { .take = take_request,
					   .context = s,
					   .clients = CLIENTS,
					   .slow_s = SLOW_S,
					   .header_bytes = HEADER_BYTES };
	int r = http_server_open(s->options->listen, &http, &s->http, err);

	if (r < 0)
		return r;
	if (http_server_is_reachable(s->http))
		return error_set(
			err, -EPERM,
			"other machines could reach '%s', and this version of serve has no "
			"TLS. Listen at 127.0.0.1, [::1] or unix:PATH, and let ssh or a "
			"proxy forward it",
			s->options->listen);
	r = access_new(http_server_address(s->http), s->options->token_file, &s->access, err);
	if (r < 0)
		return r;
	r = take_signals(s);
	return r < 0 ? error_errno(err, r, "cannot wait for signals") : 0;
}

int serve_run(const struct serve_options *options, struct error *err)
{
	struct serve s = { .options = options, .signals = -1 };
	int r;

	answers_init(&s.answers, SERVE_CACHE_BYTES);
	r = serve_open(&s, err);
	if (r >= 0) {
		announce(&s);
		r = serve_loop(&s);
		if (r < 0)
			error_errno(err, r, "cannot wait for requests");
	}
	http_server_close(s.http); /* ends the requests that wait */
	vec_foreach (&s.jobs, j)
		job_free(*j);
	vec_fini(&s.jobs);
	access_free(s.access);
	answers_fini(&s.answers);
	sources_fini(&s.sources);
	close_at_exit(&s.signals);
	return r;
}
