/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of `assay serve` that wait, with workers that end when a test says so, or never. */
#include "scratch.h"

#include "base/clock.h"
#include "base/error.h"
#include "serve/answers.h"
#include "serve/jobs.h"
#include "serve/reply.h"
#include "serve/worker.h"

#define MOST 64

/* ---- the clock, the workers and the answers ---- */

static uint64_t now_ns = NS_PER_SECOND;

uint64_t __wrap_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void)
{
	return now_ns;
}

struct worker {
	char *word; /* the last one of its command */
	bool has_limit, has_ended, is_stopped, is_without_names, has_warned, lacked_memory;
	unsigned int status; /* 0: 200 */
	struct buf output;
};

static struct worker *workers[MOST];
static size_t n_workers;
static bool can_end; /* workers that were stopped */

int worker_start(char *const *words, const struct buf *input, struct worker **out,
		 struct error *err)
{
	struct worker *w = xcalloc(1, sizeof(*w));

	(void)input, (void)err;
	for (size_t i = 0; words[i]; i++) {
		w->has_limit |= !strncmp(words[i], "--names-limit", 13);
		w->word = words[i];
	}
	buf_str(&w->output, w->word);
	w->word = xstrdup(w->word);
	assert_true(n_workers < MOST);
	*out = workers[n_workers++] = w;
	return 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < n_workers; i++)
		if (workers[i] == w)
			workers[i] = NULL;
	buf_fini(&w->output);
	free(w->word);
	free(w);
}

int worker_fd(const struct worker *w, int i)
{
	(void)w, (void)i;
	return -1;
}

bool worker_read(struct worker *w)
{
	return w->has_ended;
}

void worker_stop(struct worker *w)
{
	w->is_stopped = true;
}

bool worker_has_ended(struct worker *w)
{
	return w->has_ended || can_end;
}

uint64_t worker_deadline_ns(const struct worker *w)
{
	(void)w;
	return UINT64_MAX;
}

unsigned int worker_status(const struct worker *w)
{
	return w->status ? w->status : 200;
}

bool worker_has_warned(const struct worker *w)
{
	return w->has_warned;
}

bool worker_lacked_memory(const struct worker *w)
{
	return w->lacked_memory;
}

bool worker_is_without_names(const struct worker *w)
{
	return w->is_without_names;
}

const struct buf *worker_output(const struct worker *w)
{
	return &w->output;
}

const char *worker_message(const struct worker *w)
{
	(void)w;
	return "";
}

/* Requests are numbers. */
static int requests[MOST];
static struct {
	unsigned int status;
	unsigned int lacks;
} answers[MOST];

static struct http_request *request(size_t i)
{
	return (struct http_request *)(void *)&requests[i];
}

static size_t number_of(const struct http_request *q)
{
	return (size_t)((const int *)(const void *)q - requests);
}

void reply_error(struct http_request *q, unsigned int status, const char *sentence)
{
	(void)sentence;
	answers[number_of(q)].status = status;
}

void reply_status(struct http_request *q, unsigned int status, const void *json, size_t size)
{
	(void)json, (void)size;
	answers[number_of(q)].status = status;
}

void reply_row(struct http_request *q, const struct api_row *row, struct http_body *body,
	       const struct buf *policy, unsigned int lacks)
{
	(void)row, (void)body, (void)policy;
	answers[number_of(q)].status = 200;
	answers[number_of(q)].lacks = lacks;
}

static const struct api_row row = { .name = "top", .type = "application/json" };

/* A request for the answer `word`. */
static void ask(struct jobs *js, size_t number, const char *word)
{
	struct api_call call = { 0 };

	answers[number].status = 0;
	vec_push(&call.words, xstrdup("assay"));
	vec_push(&call.words, xstrdup("--names-limit=1"));
	vec_push(&call.words, xstrdup(word));
	vec_push(&call.words, NULL);
	buf_str(&call.key, word);
	jobs_add(js, &row, &call, request(number));
	api_call_fini(&call);
	jobs_start(js);
}

static struct jobs *jobs_begin(void)
{
	memset(workers, 0, sizeof(workers));
	memset(answers, 0, sizeof(answers));
	n_workers = 0;
	can_end = false;
	return jobs_new();
}

static size_t n_running(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_workers; i++)
		n += workers[i] && !workers[i]->is_stopped;
	return n;
}

static void pass(struct jobs *js, uint64_t seconds)
{
	now_ns += seconds * NS_PER_SECOND;
	jobs_read(js);
	jobs_start(js);
}

/* ---- tests ---- */

static void a_request_whose_turn_does_not_come_gets_503(void **state)
{
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	ask(js, 1, "b");
	ask(js, 2, "c");
	ask(js, 3, "c");
	assert_int_equal(n_running(), SERVE_WORKERS);
	assert_int_equal(jobs_deadline_ns(js), now_ns + SERVE_TURN_S * NS_PER_SECOND);
	pass(js, SERVE_TURN_S - 1);
	assert_int_equal(answers[2].status, 0);
	pass(js, 1);
	assert_int_equal(answers[0].status, 0); /* its worker has a deadline of its own */
	assert_int_equal(answers[2].status, 503);
	assert_int_equal(answers[3].status, 503);
	assert_int_equal(jobs_deadline_ns(js), UINT64_MAX);
	workers[0]->has_ended = workers[1]->has_ended = true;
	pass(js, 0);
	assert_int_equal(answers[1].status, 200);
	ask(js, 4, "c"); /* it was not kept */
	assert_int_equal(n_running(), 1);
	jobs_forget(js, request(4));
	jobs_free(js);
}

/* As in a dead file system. */
static void workers_that_no_signal_ends_are_few(void **state)
{
	struct jobs *js = jobs_begin();
	size_t i = 0, n;

	(void)state;
	for (n = 0; n < 40; n++) {
		char word[8];

		snprintf(word, sizeof(word), "%zu", n);
		ask(js, i, word);
		jobs_forget(js, request(i));
	}
	assert_true(n_workers < 20);
	assert_int_equal(n_running(), 0);
	ask(js, i, "last");
	assert_int_equal(n_running(), 0);
	pass(js, SERVE_TURN_S);
	assert_int_equal(answers[i].status, 503);
	can_end = true;
	pass(js, 0);
	ask(js, i, "last");
	assert_int_equal(n_running(), 1);
	workers[n_workers - 1]->has_ended = true;
	pass(js, 0);
	assert_int_equal(answers[i].status, 200);
	jobs_free(js);
}

static void names_that_come_later_are_read_meanwhile(void **state)
{
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	assert_true(workers[0]->has_limit);
	workers[0]->has_ended = workers[0]->is_without_names = true;
	pass(js, 0);
	assert_int_equal(answers[0].lacks, REPLY_UNNAMED);
	assert_int_equal(n_running(), 1);
	assert_false(workers[1]->has_limit);
	assert_string_equal(workers[1]->word, "a");
	/* Nobody waits for it: the same question gets what there is, at once. */
	ask(js, 1, "a");
	assert_int_equal(answers[1].lacks, REPLY_UNNAMED);
	assert_int_equal(n_running(), 1);
	workers[1]->has_ended = true;
	pass(js, 0);
	ask(js, 2, "a"); /* kept */
	assert_int_equal(answers[2].status, 200);
	assert_int_equal(answers[2].lacks, REPLY_WHOLE);
	assert_int_equal(n_running(), 0);
	jobs_free(js);
}

/* Requests learn both. The answer with names is kept, too. */
static void a_damaged_source_gets_its_late_names(void **state)
{
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	workers[0]->has_ended = workers[0]->is_without_names = workers[0]->has_warned = true;
	pass(js, 0);
	assert_int_equal(answers[0].lacks, REPLY_DAMAGED | REPLY_UNNAMED);
	workers[1]->has_ended = workers[1]->has_warned = true;
	pass(js, 0);
	ask(js, 1, "a");
	assert_int_equal(answers[1].lacks, REPLY_DAMAGED);
	assert_int_equal(n_running(), 0);
	jobs_free(js);
}

/* But not at once: a page asks every two seconds for names that come later. */
static void an_answer_that_lacked_memory_is_made_again(void **state)
{
	const uint64_t life_s = ANSWER_FOR_NOW_NS / NS_PER_SECOND;
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	workers[0]->has_ended = workers[0]->has_warned = workers[0]->lacked_memory = true;
	pass(js, 0);
	assert_int_equal(answers[0].lacks & REPLY_DAMAGED, REPLY_DAMAGED);
	pass(js, life_s - 1);
	ask(js, 1, "a");
	assert_int_equal(answers[1].status, 200);
	assert_int_equal(n_workers, 1);
	pass(js, 1);
	ask(js, 2, "a");
	assert_int_equal(n_workers, 2);
	workers[1]->has_ended = true;
	pass(js, 0);
	assert_int_equal(answers[2].lacks, REPLY_WHOLE);
	pass(js, life_s);
	ask(js, 3, "a");
	assert_int_equal(answers[3].status, 200);
	assert_int_equal(n_workers, 2);
	jobs_free(js);
}

static void an_answer_whose_names_fail_is_not_kept_without_them(void **state)
{
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	workers[0]->has_ended = workers[0]->is_without_names = true;
	pass(js, 0);
	workers[1]->has_ended = true;
	workers[1]->status = 504;
	pass(js, 0);
	ask(js, 1, "a");
	assert_int_equal(answers[1].status, 0);
	assert_true(workers[2]->has_limit);
	workers[2]->has_ended = true;
	pass(js, 0);
	assert_int_equal(answers[1].lacks, REPLY_WHOLE);
	jobs_free(js);
}

static void names_of_slow_files_leave_a_worker_for_requests(void **state)
{
	struct jobs *js = jobs_begin();

	(void)state;
	ask(js, 0, "a");
	ask(js, 1, "b");
	for (size_t i = 0; i < 2; i++)
		workers[i]->has_ended = workers[i]->is_without_names = true;
	pass(js, 0);
	assert_int_equal(n_running(), 1);
	ask(js, 2, "c");
	assert_int_equal(n_running(), 2);
	workers[n_workers - 1]->has_ended = true;
	pass(js, 0);
	assert_int_equal(answers[2].status, 200);
	can_end = true;
	jobs_free(js);
}

/* Workers that take a second each: nine jobs wait 4 s or more, so one more is refused. */
static void a_turn_that_would_come_late_is_refused_at_once(void **state)
{
	struct jobs *js = jobs_begin();
	char word[] = "a";

	(void)state;
	ask(js, 0, "first");
	workers[0]->has_ended = true;
	pass(js, 1);
	assert_int_equal(answers[0].status, 200);
	for (size_t i = 1; i <= SERVE_WORKERS + SERVE_PATIENT_JOBS; i++, word[0]++)
		ask(js, i, word);
	for (size_t i = 1; i <= SERVE_WORKERS + SERVE_PATIENT_JOBS; i++)
		assert_int_equal(answers[i].status, 0);
	ask(js, 20, "another");
	assert_int_equal(answers[20].status, 429);
	ask(js, 21, "b"); /* an answer that is coming costs nothing */
	assert_int_equal(answers[21].status, 0);
	can_end = true;
	jobs_free(js);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_whose_turn_does_not_come_gets_503),
		cmocka_unit_test(workers_that_no_signal_ends_are_few),
		cmocka_unit_test(names_that_come_later_are_read_meanwhile),
		cmocka_unit_test(a_damaged_source_gets_its_late_names),
		cmocka_unit_test(an_answer_that_lacked_memory_is_made_again),
		cmocka_unit_test(an_answer_whose_names_fail_is_not_kept_without_them),
		cmocka_unit_test(names_of_slow_files_leave_a_worker_for_requests),
		cmocka_unit_test(a_turn_that_would_come_late_is_refused_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
