/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/json.h"
#include "http/http_server.h"
#include "serve/access.h"
#include "serve/api.h"
#include "serve/gate.h"
#include "serve/grafana.h"
#include "serve/jobs.h"
#include "serve/loading.h"
#include "serve/page/files.h"
#include "serve/policy.h"
#include "serve/push.h"
#include "serve/reply.h"

#define CLIENTS 256
/* A thousand hosts may come at once. Their connections end when they are idle. */
#define FLEET_CLIENTS 1024
#define SLOW_S        20
#define HEADER_BYTES  ((size_t)32 << 10)
#define BODIES_BYTES  ((size_t)48 << 20)
/* Sources are listed again if the list is older: a page asks for several answers at once. */
#define SOURCES_NS NS_PER_SECOND

struct serve {
	const struct serve_options *options;
	struct http_server *http;
	struct access *access;
	struct jobs *jobs;
	struct gate *gate;        /* NULL: without --fleet */
	struct loading *loading;  /* NULL: without --clickhouse */
	struct loading *merging;  /* NULL: without --fleet */
	struct loading *steering; /* NULL: without --target-samples */
	struct loading *adopting; /* NULL: without --fleet and --push */
	struct jobs *gate_jobs;   /* of hosts, which must not wait for reports */
	struct sources sources;
	uint64_t sources_ns;  /* when they were listed */
	uint64_t retained_ns; /* when the history of pushed profiles was made smaller */
	int signals;
};

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

static const char *get_argument(const void *context, const char *name)
{
	return http_request_argument(context, name);
}

/* The file of a source as it is. Filters cannot limit it. */
static void answer_recording(const struct serve *s, struct http_request *q,
			     const struct access_right *right)
{
	const char *name = http_request_argument(q, "source");
	const struct source *source = name ? sources_find(&s->sources, name) : NULL;
	uint64_t size = 0;
	int fd;

	/* It may hold pieces of the memory of programs: copied stacks. */
	if (right->filters || right->role < ACCESS_RECORD) {
		reply_error(q, 403,
			    "The file of a recording needs a token of the role record, without "
			    "filters.");
		return;
	}
	fd = source ? source_open_recording(source, &size) : -ENOENT;
	if (fd < 0)
		reply_error(q, 404, "There is no perf.data file of that name.");
	else
		reply_file(q, "perf.data", fd, size);
}

static void answer_api(struct serve *s, struct http_request *q, const char *name,
		       const struct access_right *right)
{
	const struct api_row *row = api_find(name);
	cleanup(api_call_fini) struct api_call call = { 0 };
	struct buf text = { 0 };
	struct error err = { 0 };
	int r;

	list_sources(s);
	if (!strcmp(name, "sources")) {
		sources_put_json(&s->sources, access_role_names[right->role],
				 &s->options->cpu_price, &text);
		reply_json(q, &text);
	} else if (!strcmp(name, "labels")) {
		api_put_labels(&text);
		reply_json(q, &text);
	} else if (!strcmp(name, "recording")) {
		answer_recording(s, q, right);
	} else if (!row) {
		reply_error(q, 404, "There is no such answer. docs/api.md lists them.");
	} else {
		r = api_call(row, get_argument, q, &s->sources, right->filters, &call, &err);
		if (r < 0)
			reply_error(q, status_of_error(r), err.text);
		else
			jobs_add(s->jobs, row, &call, q);
	}
}

/* Of "[2001:db8::1]:443", the colon behind the bracket. */
static bool has_port(const char *host)
{
	const char *end = strrchr(host, ']');

	return strchr(end ? end : host, ':') != NULL;
}

/* The first name of --host is the one that others use. */
static void announce(struct serve *s)
{
	const struct serve_options *o = s->options;
	const char *address = http_server_address(s->http), *port = strrchr(address, ':');
	const char *scheme = o->tls ? "https" : "http";
	cleanup(free_at_exit) char *place = NULL;

	if (*address == 'u')
		place = xstrdup(address);
	else if (!o->n_hosts)
		place = xasprintf("%s://%s", scheme, address);
	else if (o->is_behind_proxy)
		place = xasprintf("https://%s", o->hosts[0]);
	else
		place = xasprintf("%s://%s%s", scheme, o->hosts[0],
				  has_port(o->hosts[0]) ? "" : port);
	o->announce(o->context, place, access_login_path(s->access));
}

/* Not a redirection: behind a link of another site, "/" would count as a request of that site. */
#define LOGIN_PAGE                                                                     \
	"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><link rel=\"icon\" " \
	"href=\"data:,\"><title>assay</title>"                                         \
	"<meta http-equiv=\"refresh\" content=\"0; url=/\"><p><a href=\"/\">assay</a></p>\n"

/* Gives the browser its cookie. */
static void answer_logged_in(struct http_request *q, struct buf *cookie)
{
	cleanup(http_body_drop_at_exit) struct http_body *page =
		http_body_new(LOGIN_PAGE, strlen(LOGIN_PAGE));
	const struct http_header set = { "Set-Cookie", buf_cstr(cookie) };

	reply(q, 200, "text/html; charset=utf-8", &set, page);
	buf_fini(cookie);
}

static void answer_login(struct serve *s, struct http_request *q)
{
	struct buf cookie = { 0 };

	/* HEAD, of a preview of links, does not use the address up. */
	if (!strcmp(http_request_method(q), "GET") && access_login(s->access, q, &cookie)) {
		answer_logged_in(q, &cookie);
		announce(s);
	} else {
		http_request_answer_text(
			q, 403,
			"This address was used already, or it is wrong. 'assay serve' "
			"printed another one.\n");
	}
}

/* Without a right, a browser gets the form for a token. */
static void answer_form(struct http_request *q)
{
	static const struct http_header policy = { "Content-Security-Policy", POLICY_SERVE };
	cleanup(http_body_drop_at_exit) struct http_body *page =
		http_body_new(serve_login, strlen(serve_login));

	reply(q, 401, "text/html; charset=utf-8", &policy, page);
}

/* ---- requests with a body ---- */

/* Decodes the value of a field of a form in place: "+" and "%2B". */
static char *form_decode(char *text)
{
	char *to = text;

	text[strcspn(text, "&\r\n")] = '\0';
	for (const char *at = text; *at; at++) {
		unsigned int byte;

		if (at[0] == '%' && isxdigit((unsigned char)at[1]) &&
		    isxdigit((unsigned char)at[2]) && sscanf(at + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			at += 2;
		} else {
			*to++ = *at == '+' ? ' ' : *at;
		}
	}
	*to = '\0';
	return text;
}

/* The body of a form with one field: "token=…". */
static void take_login(struct serve *s, struct http_request *q, const struct access_right *right)
{
	static const char field[] = "token=";
	const struct buf *body = http_request_body(q);
	cleanup(free_at_exit) char *text = xstrndup((const char *)body->data, body->len);
	struct buf cookie = { 0 };

	(void)right;
	if (!strncmp(text, field, strlen(field)) &&
	    access_login_by_token(s->access, form_decode(text + strlen(field)), &cookie))
		answer_logged_in(q, &cookie);
	else
		http_request_answer_text(q, 403, "There is no such token.\n");
}

/* Another once-only address, for one more browser. */
static void take_invitation(struct serve *s, struct http_request *q,
			    const struct access_right *right)
{
	struct buf text = { 0 };

	(void)right;
	buf_u8(&text, '{');
	json_put_text(&text, "path", access_login_path(s->access));
	buf_printf(&text, "}\n");
	reply_json(q, &text);
}

static void take_record(struct serve *s, struct http_request *q, const struct access_right *right)
{
	cleanup(api_call_fini) struct api_call call = { 0 };
	struct error err = { 0 };
	int r;

	list_sources(s);
	r = api_record(q, &s->sources, right->asker, &call, &err);
	if (right->filters)
		reply_error(q, 403, "This token is limited by filters, so it cannot record.");
	else if (r < 0)
		reply_error(q, status_of_error(r), err.text);
	else
		jobs_add(s->jobs, &api_record_row, &call, q);
}

/* A call of Grafana, by the Connect protocol. */
static void take_grafana(struct serve *s, struct http_request *q, const struct access_right *right)
{
	const char *type = http_request_header(q, "Content-Type");
	const char *encoding = http_request_header(q, "Content-Encoding");
	struct grafana_result result;
	struct error err = { 0 };
	int r;

	if (!type || strcmp(type, GRAFANA_TYPE) || (encoding && strcmp(encoding, "identity"))) {
		reply_error(q, 415, "Send " GRAFANA_TYPE ", not compressed.");
		return;
	}
	list_sources(s);
	r = grafana_call(http_request_path(q) + strlen(GRAFANA_PATH), http_request_body(q),
			 &s->sources, right->filters, &result, &err);
	if (r < 0)
		reply_error(q, status_of_error(r), err.text);
	else if (result.has_answer)
		reply_message(q, GRAFANA_TYPE, &result.answer);
	else
		jobs_add(s->jobs, &grafana_row, &result.call, q);
	buf_fini(&result.answer);
	api_call_fini(&result.call);
}

/* Keeps the history small, at most once in so long. */
#define RETAIN_NS (60 * NS_PER_SECOND)

static void retain_pushed(struct serve *s)
{
	uint64_t now = clock_monotonic_ns();
	cleanup(api_call_fini) struct api_call call = { 0 };

	if (s->adopting) /* nobody else may merge them (fleet/fleet_adopt.h) */
		return;
	if (s->retained_ns && now - s->retained_ns < RETAIN_NS)
		return;
	s->retained_ns = now;
	push_retain(s->options->push_dir, s->options->push_bytes, &call);
	jobs_add_own(s->jobs, &push_retain_row, &call);
}

static void take_profiles(struct serve *s, struct http_request *q, enum push_kind kind,
			  const struct access_right *right)
{
	cleanup(api_call_fini) struct api_call call = { 0 };
	const struct api_row *row;
	struct error err = { 0 };

	if (!s->options->push_dir) {
		reply_error(q, 404, "This server takes no profiles: it runs without --push DIR.");
	} else if (right->filters) {
		reply_error(q, 403, "This token is limited by filters, so it cannot push.");
	} else if (push_call(kind, q, right, s->options->push_dir, &row, &call, &err) < 0) {
		reply_error(q, 415, err.text);
	} else {
		jobs_add(s->jobs, row, &call, q);
		retain_pushed(s);
	}
}

static void take_ingest(struct serve *s, struct http_request *q, const struct access_right *right)
{
	take_profiles(s, q, PUSH_INGEST, right);
}

static void take_connect(struct serve *s, struct http_request *q, const struct access_right *right)
{
	take_profiles(s, q, PUSH_CONNECT, right);
}

static void take_otlp(struct serve *s, struct http_request *q, const struct access_right *right)
{
	take_profiles(s, q, PUSH_OTLP, right);
}

static const struct post_row {
	const char *path; /* with a '/' at the end: all paths below it */
	bool is_open;     /* to clients without a right */
	enum access_role role;
	size_t most_bytes;
	void (*take)(struct serve *s, struct http_request *q, const struct access_right *right);
} post_rows[] = {
	{ "/login", true, ACCESS_READ, 4096, take_login },
	{ API_PATH "login", false, ACCESS_ADMIN, 1, take_invitation },
	{ API_PATH "record", false, ACCESS_RECORD, 1, take_record },
	{ GRAFANA_PATH, false, ACCESS_READ, 65536, take_grafana },
	{ "/ingest", false, ACCESS_RECORD, PUSH_BYTES, take_ingest },
	{ "/push.v1.PusherService/Push", false, ACCESS_RECORD, PUSH_BYTES, take_connect },
	{ "/v1development/profiles", false, ACCESS_RECORD, PUSH_BYTES, take_otlp },
};

static bool is_path_of(const struct post_row *row, const char *path)
{
	size_t n = strlen(row->path);

	return !strncmp(row->path, path, n) && (!path[n] || row->path[n - 1] == '/');
}

static const struct post_row *find_post(const struct http_request *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(post_rows); i++)
		if (!strcmp(http_request_method(q), "POST") &&
		    is_path_of(&post_rows[i], http_request_path(q)))
			return &post_rows[i];
	return NULL;
}

/* Beside a fleet, a certificate without a line may be of a host, also of one that was forgotten. */
static struct access_right right_of_request(const struct serve *s, const struct http_request *q)
{
	struct access_right right = access_check(s->access, q);

	if (right.status == 200 && right.is_by_default && s->gate) {
		right.status = 403;
		right.reason =
			"Beside a fleet, a certificate reads by its line in the file of tokens.";
	}
	return right;
}

/* 200, or the reason why a request with a body is refused. */
static struct access_right right_to_post(const struct serve *s, const struct http_request *q,
					 const struct post_row *row)
{
	struct access_right right = access_check_origin(s->access, q);

	if (right.status != 200 || row->is_open)
		return right;
	right = right_of_request(s, q);
	if (right.status == 200 && right.role < row->role) {
		right.status = 403;
		right.reason = "This token has another role.";
	}
	return right;
}

static size_t body_limit(void *context, const struct http_request *q)
{
	const struct post_row *row = find_post(q);
	struct serve *s = context;

	if (gate_wants(s->gate, q))
		return gate_body_limit(s->gate, q);
	access_read_again(s->access);
	return row && right_to_post(context, q, row).status == 200 ? row->most_bytes : 0;
}

static void take_post(struct serve *s, struct http_request *q, const struct post_row *row)
{
	struct access_right right = right_to_post(s, q, row);

	if (right.status == 200)
		row->take(s, q, &right);
	else
		reply_error(q, right.status, right.reason);
}

/* ---- requests without a body ---- */

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
		reply(q, 200, file->type, &policy, body);
		return true;
	}
	return false;
}

static void take_request(void *context, struct http_request *q)
{
	struct serve *s = context;
	const char *path = http_request_path(q), *method = http_request_method(q);
	const struct post_row *post = find_post(q);
	struct access_right right = access_check_origin(s->access, q);

	/* Hosts have tokens of their own, and no browser has one. */
	if (gate_wants(s->gate, q)) {
		gate_take(s->gate, q, s->gate_jobs);
		return;
	}
	access_read_again(s->access);
	if (right.status == 200 && s->gate && gate_knows_certificate(s->gate, q)) {
		reply_error(q, 403, "The certificate of a host reads nothing.");
		return;
	}
	if (post) {
		take_post(s, q, post);
		return;
	}
	if (right.status != 200) {
		reply_error(q, right.status, right.reason);
		return;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		reply_error(q, 405, "Only GET is possible here.");
		return;
	}
	if (!strcmp(path, "/login")) {
		answer_login(s, q);
		return;
	}
	right = right_of_request(s, q);
	if (right.status != 200 && !strcmp(path, "/"))
		answer_form(q);
	else if (right.status != 200)
		reply_error(q, right.status, right.reason);
	else if (!strncmp(path, API_PATH, strlen(API_PATH)))
		answer_api(s, q, path + strlen(API_PATH), &right);
	else if (!answer_file(q))
		reply_error(q, 404, "There is no such page.");
}

static void forget_request(void *context, struct http_request *q)
{
	struct serve *s = context;

	jobs_forget(s->jobs, q);
	jobs_forget(s->gate_jobs, q);
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

/* Milliseconds until jobs_read() must be called; -1: it need not. */
static int next_deadline(const struct serve *s)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t first = MIN(jobs_deadline_ns(s->jobs), jobs_deadline_ns(s->gate_jobs));

	first = MIN(first, loading_deadline_ns(s->loading));
	first = MIN(first, loading_deadline_ns(s->merging));
	first = MIN(first, loading_deadline_ns(s->steering));
	first = MIN(first, loading_deadline_ns(s->adopting));
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (int)((first - now) / NS_PER_MS + 1);
}

static int wait_for_work(const struct serve *s)
{
	enum { N_OWN = 6 };
	struct pollfd fds[N_OWN + 2 * JOBS_MAX_FDS] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = http_server_fd(s->http), .events = POLLIN },
		{ .fd = loading_fd(s->loading), .events = POLLIN },
		{ .fd = loading_fd(s->merging), .events = POLLIN },
		{ .fd = loading_fd(s->steering), .events = POLLIN },
		{ .fd = loading_fd(s->adopting), .events = POLLIN },
	};
	nfds_t n = N_OWN + jobs_descriptors(s->jobs, fds + N_OWN);

	n += jobs_descriptors(s->gate_jobs, fds + n);
	if (poll(fds, n, next_deadline(s)) < 0 && errno != EINTR)
		return -errno;
	return fds[0].revents & POLLIN ? 1 : 0;
}

static void start_jobs(struct serve *s)
{
	jobs_start(s->jobs);
	jobs_start(s->gate_jobs);
}

static int serve_loop(struct serve *s)
{
	int r = 0;

	while (!r) {
		/* Answers of workers wake requests, which the server serves at once. */
		loading_run(s->loading);
		loading_run(s->merging);
		loading_run(s->steering);
		loading_run(s->adopting);
		start_jobs(s);
		http_server_serve(s->http);
		start_jobs(s);
		r = wait_for_work(s);
		jobs_read(s->jobs);
		jobs_read(s->gate_jobs);
	}
	return MIN(r, 0);
}

static int check_reachable(const struct serve *s, struct error *err)
{
	const struct serve_options *o = s->options;

	if (!http_server_is_reachable(s->http))
		return 0;
	if (!o->tls && !o->is_behind_proxy)
		return error_set(err, -EPERM,
				 "other machines could reach '%s': add --tls-certificate and "
				 "--tls-key, or --behind-proxy if a proxy speaks TLS for serve",
				 o->listen);
	if (!o->token_file && !o->fleet && !(o->tls && o->tls->client_ca))
		return error_set(err, -EPERM,
				 "other machines could reach '%s': add --token-file or --client-ca",
				 o->listen);
	return 0;
}

static int serve_open(struct serve *s, struct error *err)
{
	const struct serve_options *o = s->options;
	const struct http_options http = { .take = take_request,
					   .gone = forget_request,
					   .body_limit = body_limit,
					   .context = s,
					   .clients = o->fleet ? FLEET_CLIENTS : CLIENTS,
					   .slow_s = SLOW_S,
					   .header_bytes = HEADER_BYTES,
					   .bodies_bytes = BODIES_BYTES,
					   .tls = o->tls };
	struct access_config access = { .token_file = o->token_file,
					.hosts = o->hosts,
					.n_hosts = o->n_hosts,
					.is_secure = o->tls != NULL,
					.is_behind_proxy = o->is_behind_proxy };
	int r = o->fleet ? gate_new(o->fleet, &s->gate, err) : 0;

	file_raise_limit(); /* silent clients must not take the descriptors of workers */
	r = r < 0 ? r : http_server_open(o->listen, &http, &s->http, err);
	r = r < 0 ? r : check_reachable(s, err);
	if (r < 0)
		return r;
	access.address = http_server_address(s->http);
	r = access_new(&access, &s->access, err);
	if (r < 0)
		return r;
	r = take_signals(s);
	return r < 0 ? error_errno(err, r, "cannot wait for signals") : 0;
}

int serve_run(const struct serve_options *options, struct error *err)
{
	struct serve s = { .options = options, .signals = -1 };
	int r;

	s.jobs = jobs_new();
	s.gate_jobs = jobs_new();
	r = serve_open(&s, err);
	if (r >= 0 && options->clickhouse)
		s.loading = loading_new(options->fleet, options->clickhouse, options->login);
	if (r >= 0 && options->fleet)
		s.merging = loading_new_merge(options->fleet);
	if (r >= 0 && options->fleet && options->push_dir)
		s.adopting =
			loading_new_pushed(options->fleet, options->push_dir, options->push_bytes);
	if (r >= 0 && options->n_target_services)
		s.steering =
			loading_new_rates(options->fleet, options->target_samples,
					  options->target_services, options->n_target_services);
	if (r >= 0) {
		announce(&s);
		r = serve_loop(&s);
		if (r < 0)
			error_errno(err, r, "cannot wait for requests");
	}
	http_server_close(s.http); /* ends the requests that wait */
	jobs_free(s.jobs);
	jobs_free(s.gate_jobs);
	loading_free(s.loading);
	loading_free(s.merging);
	loading_free(s.steering);
	loading_free(s.adopting);
	gate_free(s.gate);
	access_free(s.access);
	sources_fini(&s.sources);
	close_at_exit(&s.signals);
	return r;
}
