/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several questions to the parser at once: parser_ask_all(). */
#include "guard/parser.h"

#include <sys/prctl.h>

#include "parser_rows.h"

#define SEVERAL 100

struct several {
	struct parser_question questions[SEVERAL];
	struct parser_result results[SEVERAL];
	struct buf requests[SEVERAL];
	uint32_t n_started, n_died; /* before */
};

static struct several *new_several(uint32_t row)
{
	struct several *s = xcalloc(1, sizeof(*s));

	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	for (uint64_t i = 0; i < SEVERAL; i++) {
		buf_u64(&s->requests[i], i);
		s->questions[i] = (struct parser_question){ .row = &rows[row],
							    .request = &s->requests[i],
							    .is_trusted = true };
	}
	s->n_started = parser_cost().n_started;
	s->n_died = parser_cost().n_died;
	return s;
}

static void free_several(struct several *s)
{
	for (size_t i = 0; i < SEVERAL; i++) {
		parser_answer_fini(&s->results[i].answer);
		buf_fini(&s->requests[i]);
	}
	free(s);
	parser_end_children();
}

static void check_echo_of(const struct several *s, uint64_t i)
{
	const struct parser_result *r = &s->results[i];

	assert_int_equal(r->error, 0);
	assert_int_equal(r->answer.size, 8);
	assert_int_equal(*(const uint64_t *)(const void *)r->answer.bytes, i);
}

static void questions_at_once_have_their_own_answers(void **state)
{
	struct several *s = new_several(ECHO_BYTES);

	(void)state;
	parser_ask_all(s->questions, SEVERAL, s->results);
	for (uint64_t i = 0; i < SEVERAL; i++)
		check_echo_of(s, i);
	assert_int_equal(parser_cost().n_started, s->n_started + 1);
	free_several(s);
}

/* Together, they are larger than the buffers of a socket. */
static void many_large_answers_at_once_arrive(void **state)
{
	struct several *s = new_several(REPEAT);

	(void)state;
	for (uint64_t i = 0; i < SEVERAL; i++) {
		uint64_t n = i % 8 ? 60000 : 200000;

		memcpy(s->requests[i].data, &n, sizeof(n));
	}
	parser_ask_all(s->questions, SEVERAL, s->results);
	for (uint64_t i = 0; i < SEVERAL; i++) {
		assert_int_equal(s->results[i].error, 0);
		assert_int_equal(s->results[i].answer.size, i % 8 ? 60000 : 200000);
	}
	assert_int_equal(parser_cost().n_started, s->n_started + 1);
	free_several(s);
}

static void a_question_that_fails_harms_none_beside_it(void **state)
{
	static const uint64_t deadly[] = { 3, 4, 40, SEVERAL - 1 };
	struct several *s = new_several(ECHO_BYTES);
	size_t k = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		s->questions[deadly[i]].row = &rows[DIE];
	s->questions[50].row = &rows[HANG];
	s->questions[60].row = &rows[DAMAGED];
	parser_ask_all(s->questions, SEVERAL, s->results);
	for (uint64_t i = 0; i < SEVERAL; i++) {
		if (k < ARRAY_SIZE(deadly) && i == deadly[k]) {
			assert_int_equal(s->results[i].error, -EPIPE);
			assert_string_equal(s->results[i].why.text, "the parser died");
			k++;
		} else if (i == 50 || i == 60) {
			assert_int_equal(s->results[i].error, i == 50 ? -ETIMEDOUT : -EPROTO);
			assert_null(s->results[i].answer.bytes);
		} else {
			check_echo_of(s, i);
		}
	}
	assert_int_equal(parser_cost().n_died, s->n_died + ARRAY_SIZE(deadly));
	free_several(s);
}

/* The kernel reports such a death before answers that wait; how many do, is a matter of luck. */
static void answers_before_a_death_count(void **state)
{
	enum { N = 8, DEADLY = 5, TIMES = 50 };
	struct several *s = new_several(ECHO_BYTES);

	(void)state;
	s->questions[DEADLY].row = &rows[DIE];
	for (int i = 0; i < TIMES; i++) {
		parser_ask_all(s->questions, N, s->results);
		for (uint64_t k = 0; k < N; k++) {
			if (k == DEADLY)
				assert_int_equal(s->results[k].error, -EPIPE);
			else
				check_echo_of(s, k);
			parser_answer_fini(&s->results[k].answer);
		}
	}
	assert_int_equal(parser_cost().n_died, s->n_died + TIMES);
	free_several(s);
}

/* The child has perhaps read the next question, too. Its answer does not count. */
static void no_question_shares_a_child_with_a_foreign_file(void **state)
{
	const struct buf name = { .data = (uint8_t *)"handed.over", .len = sizeof("handed.over") };
	struct several *s = new_several(ECHO_BYTES);

	(void)state;
	write_file("handed.over", ELFMAG "x");
	is_wished_trusted = false;
	s->questions[1] = (struct parser_question){
		.row = &rows[READ_FILE],
		.request = &name,
		.is_trusted = true,
		.open = serve_wish,
		.context = "context",
	};
	parser_ask_all(s->questions, SEVERAL, s->results);
	assert_int_equal(s->results[1].error, 0);
	assert_int_equal(s->results[1].answer.size, 5);
	for (uint64_t i = 2; i < SEVERAL; i++)
		check_echo_of(s, i);
	assert_int_equal(parser_cost().n_started, s->n_started + 2);
	assert_int_equal(parser_cost().n_died, s->n_died);
	free_several(s);
}

static void questions_of_several_classes_go_to_several_children(void **state)
{
	struct several *s = new_several(READ_SUBJECT);
	struct file_mapping files[3] = { { 0 } };

	(void)state;
	write_file("subject", "abc");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(hold_file("subject", &files[i]), 0);
		files[i].uid = 5000 + (uint32_t)i;
	}
	for (size_t i = 0; i < SEVERAL; i++)
		s->questions[i].file = &files[i / 10 % 3], s->questions[i].is_trusted = false;
	parser_ask_all(s->questions, SEVERAL, s->results);
	for (size_t i = 0; i < SEVERAL; i++) {
		assert_int_equal(s->results[i].error, 0);
		assert_int_equal(s->results[i].answer.bytes[8], 'a');
	}
	assert_int_equal(parser_cost().n_started, s->n_started + 3);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		file_unmap(&files[i]);
	free_several(s);
}

/* The user's failures count for questions that are asked together, too. */
static void questions_at_once_are_refused_after_failures(void **state)
{
	struct several *s = new_several(DIE);
	struct file_mapping file = { 0 };

	(void)state;
	write_file("subject", "abc");
	assert_int_equal(hold_file("subject", &file), 0);
	file.uid = 4713;
	for (size_t i = 0; i < SEVERAL; i++)
		s->questions[i].file = &file, s->questions[i].is_trusted = false;
	parser_ask_all(s->questions, SEVERAL, s->results);
	for (size_t i = 0; i < SEVERAL; i++)
		assert_int_equal(s->results[i].error, i < PARSER_FAILURES ? -EPIPE : -EBUSY);
	assert_int_equal(parser_cost().n_started, s->n_started + PARSER_FAILURES);
	file_unmap(&file);
	free_several(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_at_once_have_their_own_answers),
		cmocka_unit_test(many_large_answers_at_once_arrive),
		cmocka_unit_test(a_question_that_fails_harms_none_beside_it),
		cmocka_unit_test(answers_before_a_death_count),
		cmocka_unit_test(no_question_shares_a_child_with_a_foreign_file),
		cmocka_unit_test(questions_of_several_classes_go_to_several_children),
		cmocka_unit_test(questions_at_once_are_refused_after_failures),
	};

	parser_use_children(256 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
