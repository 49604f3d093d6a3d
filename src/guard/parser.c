/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/parser.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "guard/parser_child.h"

/* A class of files: all trusted ones, or those of a user. */
struct parser_class {
	uint32_t lane, user;
	bool is_trusted;
};

/* More are alive only while more threads ask at once. */
#define MAX_CHILDREN 6

struct parser_slot {
	struct parser_class class;
	struct parser_child *child;
	uint32_t n_users;        /* threads that use it now */
	uint64_t used;           /* the larger the later */
	struct parser_cost seen; /* of the child, when it was looked at last */
};

/* What the files of a user have done to children. */
struct parser_debt {
	uint32_t user, n;  /* failures that count */
	uint64_t since_ns; /* one of them is forgotten every PARSER_FAILURE_MS from then on */
};

static struct {
	bool is_on;
	struct parser_limits limits; /* of a child for trusted files, */
	uint64_t stranger_bytes;     /* and the memory of one for others */
	pthread_mutex_t lock;        /* of the rest */
	VEC(struct parser_slot *) slots;
	VEC(struct parser_debt) debts;
	uint64_t clock;
	struct parser_cost ended; /* of children that are free */
} parsers = { .lock = PTHREAD_MUTEX_INITIALIZER };

void parser_use_children(uint64_t memory_bytes)
{
	parsers.is_on = true;
	parsers.limits.memory_bytes = parsers.stranger_bytes = memory_bytes;
}

void parser_be_modest(void)
{
	parsers.limits.kept_bytes = PARSER_KEPT_BYTES;
	parsers.stranger_bytes = MIN(parsers.stranger_bytes, PARSER_STRANGER_BYTES);
}

bool parser_uses_children(void)
{
	return parsers.is_on;
}

/* ---- the child of a class ---- */

static struct parser_class class_of(const struct parser_question *q)
{
	return (struct parser_class){
		.lane = q->row->lane,
		.user = q->is_trusted || !q->file ? 0 : q->file->uid,
		.is_trusted = q->is_trusted,
	};
}

static bool is_same_class(const struct parser_class *a, const struct parser_class *b)
{
	return a->lane == b->lane && a->user == b->user && a->is_trusted == b->is_trusted;
}

static void add_cost(struct parser_cost *sum, const struct parser_cost *more)
{
	sum->n_started += more->n_started;
	sum->n_died += more->n_died;
	sum->n_late += more->n_late;
	sum->n_questions += more->n_questions;
	sum->n_refused += more->n_refused;
	sum->n_running += more->n_running;
	sum->cpu_ns += more->cpu_ns;
	sum->peak_bytes = MAX(sum->peak_bytes, more->peak_bytes);
}

static void slot_free(struct parser_slot *s)
{
	struct parser_cost cost;

	parser_child_end(s->child);
	cost = parser_child_cost(s->child);
	add_cost(&parsers.ended, &cost);
	parser_child_free(s->child);
	free(s);
}

/* Makes room for one more. False: no child is idle. */
static bool end_oldest(void)
{
	struct parser_slot **oldest = NULL;

	vec_foreach (&parsers.slots, s)
		if (!(*s)->n_users && (!oldest || (*s)->used < (*oldest)->used))
			oldest = s;
	if (!oldest)
		return false;
	slot_free(*oldest);
	*oldest = parsers.slots.data[--parsers.slots.n];
	return true;
}

static struct parser_slot *take_slot(const struct parser_class *class)
{
	struct parser_limits limits = parsers.limits;
	struct parser_slot *found = NULL;

	if (!class->is_trusted)
		limits.memory_bytes = parsers.stranger_bytes;
	pthread_mutex_lock(&parsers.lock);
	vec_foreach (&parsers.slots, s)
		if (is_same_class(&(*s)->class, class))
			found = *s;
	if (!found) {
		if (parsers.slots.n >= MAX_CHILDREN)
			end_oldest();
		found = xcalloc(1, sizeof(*found));
		found->class = *class;
		found->child = parser_child_new(&limits);
		vec_push(&parsers.slots, found);
	}
	found->n_users++;
	found->used = ++parsers.clock;
	pthread_mutex_unlock(&parsers.lock);
	return found;
}

static void give_slot(struct parser_slot *s)
{
	pthread_mutex_lock(&parsers.lock);
	s->n_users--;
	pthread_mutex_unlock(&parsers.lock);
}

void parser_end_children(void)
{
	pthread_mutex_lock(&parsers.lock);
	vec_foreach (&parsers.slots, s)
		slot_free(*s);
	vec_fini(&parsers.slots);
	pthread_mutex_unlock(&parsers.lock);
}

uint32_t parser_end_idle(void)
{
	uint32_t n = 0;

	pthread_mutex_lock(&parsers.lock);
	while (end_oldest())
		n++;
	pthread_mutex_unlock(&parsers.lock);
	return n;
}

struct parser_cost parser_cost(void)
{
	struct parser_cost sum;

	pthread_mutex_lock(&parsers.lock);
	sum = parsers.ended;
	vec_foreach (&parsers.slots, s) {
		struct parser_cost cost = parser_child_cost((*s)->child);

		add_cost(&sum, &cost);
	}
	pthread_mutex_unlock(&parsers.lock);
	return sum;
}

struct parser_cost parser_cost_so_far(void)
{
	struct parser_cost sum;

	pthread_mutex_lock(&parsers.lock);
	sum = parsers.ended;
	vec_foreach (&parsers.slots, s) {
		parser_child_look((*s)->child, &(*s)->seen);
		add_cost(&sum, &(*s)->seen);
		sum.bytes += parser_child_own_bytes((*s)->child);
	}
	pthread_mutex_unlock(&parsers.lock);
	return sum;
}

/* ---- failures ---- */

/* The place of a user's debt; -1: none is left. */
static int find_debt(uint32_t user)
{
	uint64_t now_ns = clock_monotonic_ns(), each_ns = PARSER_FAILURE_MS * UINT64_C(1000000);

	for (size_t i = 0; i < parsers.debts.n; i++) {
		struct parser_debt *d = &parsers.debts.data[i];
		uint64_t n;

		if (d->user != user)
			continue;
		n = MIN((now_ns - d->since_ns) / each_ns, (uint64_t)d->n);
		d->n -= (uint32_t)n;
		d->since_ns += n * each_ns;
		if (d->n)
			return (int)i;
		*d = parsers.debts.data[--parsers.debts.n];
		return -1;
	}
	return -1;
}

/* Nobody but root and the user himself makes trusted files. */
static bool is_refused(const struct parser_class *class)
{
	bool is_refused;
	int i;

	if (class->is_trusted)
		return false;
	pthread_mutex_lock(&parsers.lock);
	i = find_debt(class->user);
	is_refused = i >= 0 && parsers.debts.data[i].n >= PARSER_FAILURES;
	parsers.ended.n_refused += is_refused;
	pthread_mutex_unlock(&parsers.lock);
	return is_refused;
}

static void count_failure(const struct parser_class *class)
{
	int i;

	if (class->is_trusted)
		return;
	pthread_mutex_lock(&parsers.lock);
	i = find_debt(class->user);
	if (i >= 0)
		parsers.debts.data[i].n++;
	else
		vec_push(&parsers.debts,
			 (struct parser_debt){ class->user, 1, clock_monotonic_ns() });
	pthread_mutex_unlock(&parsers.lock);
}

/* ---- in this process ---- */

struct own_files {
	const struct parser_question *q;
	pthread_mutex_t lock; /* threads of a row's function come one at a time */
};

static int open_own(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	struct own_files *own = job->context;
	struct reader r = reader_over(wish->data, wish->len);
	bool is_trusted;
	int result;

	if (!own->q->open)
		return -EACCES;
	pthread_mutex_lock(&own->lock);
	result = own->q->open(own->q->context, &r, out, &is_trusted);
	pthread_mutex_unlock(&own->lock);
	return result;
}

static void parse_here(const struct parser_question *q, struct parser_answer *answer)
{
	static const struct file_mapping no_file;
	struct own_files own = { q, PTHREAD_MUTEX_INITIALIZER };
	struct buf bytes = { 0 };
	struct parser_job job = {
		.file = q->file ? q->file : &no_file,
		.request = reader_over(q->request->data, q->request->len),
		.answer = &bytes,
		.open = open_own,
		.context = &own,
	};

	q->row->run(&job);
	*answer = (struct parser_answer){ bytes.data, bytes.len, false };
}

/* ---- asking ---- */

int parser_open(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	*out = (struct file_mapping){ 0 };
	return job && job->open ? job->open(job, wish, out) : -ENOENT;
}

/* How many questions from the first on are of its class. */
static size_t run_of_class(const struct parser_question *q, size_t n)
{
	const struct parser_class first = class_of(q);
	size_t i = 1;

	for (; i < n; i++) {
		const struct parser_class other = class_of(&q[i]);

		if (!is_same_class(&first, &other))
			break;
	}
	return i;
}

/* Asks a child for the first results, at least one; returns their number. */
static size_t ask_a_child(const struct parser_question *q, size_t n, struct parser_result *results)
{
	struct parser_class class = class_of(q);
	struct parser_slot *slot;
	size_t done;
	int r;

	if (is_refused(&class)) {
		results->error = error_set(&results->why, -EBUSY,
					   "files of user %u have made the parser fail %u times, "
					   "so it reads no more of them for now",
					   class.user, PARSER_FAILURES);
		return 1;
	}
	slot = take_slot(&class);
	done = parser_child_ask_all(slot->child, q, run_of_class(q, n), results);
	give_slot(slot);
	r = results[done - 1].error;
	if (r == -ETIMEDOUT || r == -EPIPE || r == -EPROTO)
		count_failure(&class);
	return done;
}

static int check_answer(const struct parser_question *q, struct parser_answer *answer,
			struct error *err)
{
	bool is_right = q->row->check(answer->bytes, answer->size);

	/* A large one is seldom needed at once. */
	if (answer->is_mapped && answer->size > PIECE_BYTES)
		piece_rest(answer->bytes, answer->size);
	if (is_right)
		return 0;
	parser_answer_fini(answer);
	return error_set(err, -EPROTO, "the parser's answer is damaged");
}

int parser_ask_here(const struct parser_question *q, struct parser_answer *answer,
		    struct error *err)
{
	parse_here(q, answer);
	return check_answer(q, answer, err);
}

void parser_ask_all(const struct parser_question *questions, size_t n,
		    struct parser_result *results)
{
	memset(results, 0, n * sizeof(*results));
	for (size_t i = 0; parsers.is_on && i < n;)
		i += ask_a_child(questions + i, n - i, results + i);
	for (size_t i = 0; i < n; i++) {
		struct parser_result *r = &results[i];

		if (!parsers.is_on)
			parse_here(&questions[i], &r->answer);
		if (r->error == 0)
			r->error = check_answer(&questions[i], &r->answer, &r->why);
	}
}

int parser_ask(const struct parser_question *q, struct parser_answer *answer, struct error *err)
{
	struct parser_result result;

	parser_ask_all(q, 1, &result);
	*answer = result.answer;
	if (err && result.error < 0)
		*err = result.why;
	return result.error;
}

void parser_answer_fini(struct parser_answer *a)
{
	if (a->is_mapped)
		munmap(a->bytes, a->size);
	else
		free(a->bytes);
	*a = (struct parser_answer){ 0 };
}
