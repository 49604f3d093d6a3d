/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "http/http_server.h"
#include "serve/answers.h"
#include "serve/policy.h"
#include "serve/reply.h"
#include "serve/worker.h"

/* Workers that were stopped and are still there: they may hang in a dead file system. */
#define MAX_STOPPED 16
_Static_assert(SERVE_WORKERS *WORKER_FDS + MAX_STOPPED <= JOBS_MAX_FDS, "each has a place");

/* The only thread parses an answer of another protocol: other requests wait meanwhile. */
#define MAX_CONVERTED ((size_t)16 << 20)

/* Requests that wait for one answer. */
struct job {
	const struct api_row *row;
	struct api_call call;
	struct worker *worker; /* NULL: it waits for its turn */
	uint64_t deadline_ns;  /* of its turn */
	uint64_t begin_ns;     /* of its worker */
	bool is_for_names;     /* an answer with names that another run left for later */
	VEC(struct http_request *) waiting;
};

struct jobs {
	struct answers answers;
	VEC(struct job *) list; /* the oldest first */
	VEC(struct worker *) stopped;
	size_t n_waiting;
	uint64_t run_ns; /* of a worker: the mean of the last ones, weighted; 0: none has ended */
};

struct jobs *jobs_new(void)
{
	struct jobs *js = xcalloc(1, sizeof(*js));

	answers_init(&js->answers, SERVE_CACHE_BYTES);
	return js;
}

static void job_free(struct job *j)
{
	worker_free(j->worker);
	api_call_fini(&j->call);
	vec_fini(&j->waiting);
	free(j);
}

void jobs_free(struct jobs *js)
{
	if (!js)
		return;
	vec_foreach (&js->list, j)
		job_free(*j);
	vec_foreach (&js->stopped, w)
		worker_free(*w);
	vec_fini(&js->list);
	vec_fini(&js->stopped);
	answers_fini(&js->answers);
	free(js);
}

static struct job *job_new(struct jobs *js, const struct api_row *row, struct api_call *call)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->row = row;
	j->deadline_ns = clock_monotonic_ns() + SERVE_TURN_S * NS_PER_SECOND;
	j->call = *call;
	*call = (struct api_call){ 0 };
	vec_push(&js->list, j);
	return j;
}

static bool buf_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* ---- the end of a job ---- */

static void job_fail(struct jobs *js, struct job *j, unsigned int status, const char *sentence)
{
	if (j->is_for_names) /* the one without names would stay */
		answers_drop(&js->answers, &j->call.key);
	vec_foreach (&j->waiting, q)
		reply_error(*q, status, sentence);
	if (!j->waiting.n && !j->is_for_names)
		log_warning("%s: %s", j->row->name, sentence);
}

/* Other protocols have an empty answer where a report is an error. */
static bool has_no_sample(const struct job *j)
{
	return j->call.convert && !j->call.is_action && worker_status(j->worker) == 422 &&
	       strstr(worker_message(j->worker), "no sample");
}

/*
 * The same command without the limit for names. Its answer is kept, and so are the names. One at a
 * time runs, so that slow files leave a worker for requests.
 */
static void jobs_add_names(struct jobs *js, struct job *of)
{
	static const char limit[] = "--names-limit=";
	struct api_call call = { .convert = of->call.convert, .put = of->call.put };

	vec_foreach (&js->list, j)
		if ((*j)->is_for_names && buf_equal(&(*j)->call.key, &of->call.key))
			return;
	vec_foreach (&of->call.words, word)
		if (!*word || strncmp(*word, limit, strlen(limit)) != 0)
			vec_push(&call.words, *word ? xstrdup(*word) : NULL);
	call.label = of->call.label ? xstrdup(of->call.label) : NULL;
	buf_bytes(&call.key, of->call.key.data, of->call.key.len);
	job_new(js, of->row, &call)->is_for_names = true;
}

/* What lacks names is kept, too: those who ask meanwhile get it at once. */
static void job_answer(struct jobs *js, struct job *j, struct http_body *body, struct buf *policy)
{
	bool is_unnamed = worker_is_without_names(j->worker) && !j->is_for_names;
	unsigned int lacks = (worker_has_warned(j->worker) ? REPLY_DAMAGED : 0) |
			     (worker_lacked_memory(j->worker) ? REPLY_FOR_NOW : 0) |
			     (is_unnamed ? REPLY_UNNAMED : 0);

	vec_foreach (&j->waiting, q)
		reply_row(*q, j->row, body, policy, lacks);
	if (is_unnamed)
		jobs_add_names(js, j);
	if (!j->call.is_action)
		answers_keep(&js->answers, &j->call.key, body, policy, lacks);
}

static void job_convert(struct jobs *js, struct job *j)
{
	static const struct buf none;
	cleanup(http_body_drop_at_exit) struct http_body *body = NULL;
	struct buf message = { 0 }, policy = { 0 };

	if (worker_output(j->worker)->len > MAX_CONVERTED) {
		job_fail(js, j, 503,
			 "The answer is too large: choose a shorter time, or more filters.");
		return;
	}
	if (!j->call.convert(&j->call, has_no_sample(j) ? &none : worker_output(j->worker),
			     &message)) {
		job_fail(js, j, 503, "The answer has another form than expected.");
		return;
	}
	body = http_body_new(message.data, message.len);
	buf_fini(&message);
	job_answer(js, j, body, &policy);
}

/* The first line of the output is the status. */
static void job_answer_with_status(struct jobs *js, struct job *j)
{
	const struct buf *output = worker_output(j->worker);
	const uint8_t *end = output->len ? memchr(output->data, '\n', output->len) : NULL;
	unsigned int status = end ? (unsigned int)strtoul((const char *)output->data, NULL, 10) : 0;

	if (worker_status(j->worker) != 200 || status < 200 || status > 599) {
		log_warning("%s: %s", j->row->name, worker_message(j->worker));
		job_fail(js, j, 503, "The server could not take it. Send it later.");
		return;
	}
	end++;
	vec_foreach (&j->waiting, q)
		reply_status(*q, status, end, output->len - (size_t)(end - output->data));
}

static void job_finish(struct jobs *js, struct job *j)
{
	const struct buf *output = worker_output(j->worker);
	unsigned int status = worker_status(j->worker);
	cleanup(http_body_drop_at_exit) struct http_body *body = NULL;
	struct buf policy = { 0 };

	if (j->call.has_status) {
		job_answer_with_status(js, j);
		return;
	}
	if (j->call.convert && (status == 200 || has_no_sample(j))) {
		job_convert(js, j);
		return;
	}
	/* The program's message may name all that there is. */
	if (status != 200) {
		job_fail(js, j, status,
			 status == 422 && j->call.is_limited
				 ? "No sample matches, or the source can't be read."
				 : worker_message(j->worker));
		return;
	}
	body = http_body_new(output->data, output->len);
	if (!strncmp(j->row->type, "text/html", 9))
		policy_of_page(output, &policy);
	job_answer(js, j, body, &policy);
	buf_fini(&policy);
}

/* Removes a job. Its worker may be still there. */
static void jobs_remove(struct jobs *js, size_t i)
{
	struct job *j = js->list.data[i];

	if (j->worker) {
		worker_stop(j->worker);
		vec_push(&js->stopped, take_ptr(j->worker));
	}
	js->n_waiting -= j->waiting.n;
	job_free(j);
	js->list.n--;
	memmove(&js->list.data[i], &js->list.data[i + 1], (js->list.n - i) * sizeof(j));
}

static void jobs_reap(struct jobs *js)
{
	for (size_t i = js->stopped.n; i-- > 0;) {
		if (!worker_has_ended(js->stopped.data[i]))
			continue;
		worker_free(js->stopped.data[i]);
		js->stopped.data[i] = js->stopped.data[--js->stopped.n];
	}
}

/* ---- the loop ---- */

static bool names_run(const struct jobs *js)
{
	vec_foreach (&js->list, j)
		if ((*j)->is_for_names && (*j)->worker)
			return true;
	return false;
}

void jobs_start(struct jobs *js)
{
	size_t n_running = 0;

	vec_foreach (&js->list, j)
		n_running += (*j)->worker != NULL;
	for (size_t i = 0; i < js->list.n && n_running < SERVE_WORKERS &&
			   js->stopped.n < MAX_STOPPED - SERVE_WORKERS;
	     i++) {
		struct job *j = js->list.data[i];
		struct error err = { 0 };

		if (j->worker || (j->is_for_names && names_run(js)))
			continue;
		if (worker_start(j->call.words.data,
				 j->call.has_body ? http_request_body(j->waiting.data[0]) : NULL,
				 &j->worker, &err) >= 0) {
			j->begin_ns = clock_monotonic_ns();
			n_running++;
			continue;
		}
		job_fail(js, j, 503, err.text);
		jobs_remove(js, i--);
	}
}

static void note_run(struct jobs *js, uint64_t ns)
{
	js->run_ns = js->run_ns ? js->run_ns - js->run_ns / 8 + ns / 8 : ns;
}

void jobs_read(struct jobs *js)
{
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < js->list.n; i++) {
		struct job *j = js->list.data[i];

		if (j->worker ? !worker_read(j->worker) : j->deadline_ns > now)
			continue;
		if (j->worker) {
			if (!j->is_for_names)
				note_run(js, now - j->begin_ns);
			job_finish(js, j);
		} else {
			job_fail(js, j, 503, "Other answers take too long. Ask again later.");
		}
		jobs_remove(js, i--);
	}
	jobs_reap(js);
}

nfds_t jobs_descriptors(const struct jobs *js, struct pollfd fds[static JOBS_MAX_FDS])
{
	nfds_t n = 0;

	vec_foreach (&js->list, j)
		for (int i = 0; (*j)->worker && i < WORKER_FDS; i++)
			fds[n++] = (struct pollfd){ .fd = worker_fd((*j)->worker, i),
						    .events = POLLIN };
	vec_foreach (&js->stopped, w)
		fds[n++] = (struct pollfd){ .fd = worker_fd(*w, WORKER_FD_END), .events = POLLIN };
	return n;
}

uint64_t jobs_deadline_ns(const struct jobs *js)
{
	uint64_t first = UINT64_MAX;

	vec_foreach (&js->list, j)
		first = MIN(first,
			    (*j)->worker ? worker_deadline_ns((*j)->worker) : (*j)->deadline_ns);
	vec_foreach (&js->stopped, w)
		first = MIN(first, worker_deadline_ns(*w));
	return first;
}

/* ---- requests ---- */

static struct job *jobs_find(const struct jobs *js, const struct buf *key)
{
	vec_foreach (&js->list, j)
		if (!(*j)->call.is_action && !(*j)->is_for_names && buf_equal(&(*j)->call.key, key))
			return *j;
	return NULL;
}

size_t jobs_count(const struct jobs *js, const struct buf *key)
{
	size_t n = 0;

	vec_foreach (&js->list, j)
		n += buf_equal(&(*j)->call.key, key);
	return n;
}

void jobs_add_own(struct jobs *js, const struct api_row *row, struct api_call *call)
{
	job_new(js, row, call);
}

/* Whether the turn of one more job would come too late. The few questions of a page always wait. */
static bool jobs_are_busy(const struct jobs *js)
{
	size_t n = 0;

	vec_foreach (&js->list, j)
		n += !(*j)->worker && !(*j)->is_for_names;
	return n >= SERVE_PATIENT_JOBS && n * js->run_ns / SERVE_WORKERS > SERVE_QUEUE_NS;
}

void jobs_add(struct jobs *js, const struct api_row *row, struct api_call *call,
	      struct http_request *q)
{
	bool is_action = call->is_action;
	const struct kept_answer *kept = is_action ? NULL : answers_find(&js->answers, &call->key);
	struct job *j = is_action ? NULL : jobs_find(js, &call->key);

	if (kept) {
		reply_row(q, row, kept->body, &kept->policy, kept->lacks);
		return;
	}
	if (js->n_waiting >= SERVE_WAITING || (!j && jobs_are_busy(js))) {
		reply_error(q, 429, "Too many requests wait. Ask again in some seconds.");
		return;
	}
	j = j ? j : job_new(js, row, call);
	vec_push(&j->waiting, q);
	js->n_waiting++;
}

/* True: the job has no request left. */
static bool job_forget(struct jobs *js, struct job *j, const struct http_request *q)
{
	for (size_t i = 0; i < j->waiting.n; i++) {
		if (j->waiting.data[i] != q)
			continue;
		j->waiting.data[i] = j->waiting.data[--j->waiting.n];
		js->n_waiting--;
		return !j->waiting.n;
	}
	return false;
}

void jobs_forget(struct jobs *js, const struct http_request *q)
{
	for (size_t i = js->list.n; i-- > 0;)
		if (job_forget(js, js->list.data[i], q))
			jobs_remove(js, i);
}
