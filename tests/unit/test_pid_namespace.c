/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples and records in a separate pid namespace. */
#include "folder.h"

#include "base/mem.h"
#include "record/pid_namespace.h"

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81001000 t do_idle\n"
			       "ffffffff81001100 T cpu_startup_entry\n"
			       "ffffffff81001200 T schedule\n"
			       "ffffffff81002000 T idle_is_not_its_name\n"
			       "ffffffffc0000000 t do_idle\t[module]\n"
			       "ffffffffc0000100 t other\t[module]\n";

struct told {
	struct event_sink sink;
	struct event last;
	int n;
};

static int keep(struct event_sink *sink, const struct event *e)
{
	struct told *t = (struct told *)sink;

	t->last = *e;
	t->n++;
	return 0;
}

static struct event pushed(const struct event *e, int n_expected)
{
	struct told told = { .sink.push = keep };
	struct pid_namespace *p = pid_namespace_new("proc", &told.sink);

	assert_int_equal(event_push(pid_namespace_sink(p), e), 0);
	assert_int_equal(told.n, n_expected);
	pid_namespace_free(p);
	return told.last;
}

static int setup(void **state)
{
	FILE *file;

	(void)state;
	mkdir("proc", 0755);
	file = fopen("proc/kallsyms", "we");
	assert_non_null(file);
	fputs(kallsyms, file);
	return fclose(file);
}

static int32_t pid_of(struct event e)
{
	struct event out = pushed(&e, 1);

	assert_int_equal(out.tid, out.pid);
	return out.pid;
}

static void only_the_idle_loop_is_idle(void **state)
{
	const uint64_t idle[] = { 0xffffffff81001234, 0xffffffff81001010, 0xffffffff81001110 };
	const uint64_t busy[] = { 0xffffffff81001234, 0xffffffff81002010, 0xffffffffc0000010 };
	struct event e = { .type = EVENT_SAMPLE,
			   .sample = { .mode = MODE_KERNEL,
				       .ip = 0xffffffff81003000,
				       .callers = idle,
				       .n_callers = 3,
				       .n_kernel = 3 } };

	(void)state;
	assert_int_equal(pid_of(e), 0);
	e.sample.callers = busy;
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
	e.sample.n_callers = e.sample.n_kernel = 0;
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
	e.sample.ip = 0xffffffff810010ff;
	assert_int_equal(pid_of(e), 0);
	e.sample.ip = 0xffffffff81001200; /* behind the loop's last byte */
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
	e.sample.mode = MODE_USER;
	e.sample.ip = 0xffffffff81001010;
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
}

static void hidden_addresses_make_nothing_idle(void **state)
{
	struct event e = { .type = EVENT_SAMPLE, .sample = { .mode = MODE_KERNEL, .ip = 0 } };
	FILE *file = fopen("proc/kallsyms", "we");

	(void)state;
	assert_non_null(file);
	fputs("0000000000000000 t do_idle\n0000000000000000 T schedule\n", file);
	fclose(file);
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
	unlink("proc/kallsyms");
	assert_int_equal(pid_of(e), PID_OTHER_NAMESPACE);
}

static void of_a_stack_the_kernel_part_stays(void **state)
{
	const uint64_t callers[] = { 0xffffffff81002010, 0x1000, 0x2000, 0x3000 };
	const uint64_t copied = 1;
	const struct sample_extra extra = {
		.stack = (const uint8_t *)&copied, .stack_size = 8, .user.n_values = 3, .cgroup = 7
	};
	struct event e = { .type = EVENT_SAMPLE,
			   .sample = { .mode = MODE_KERNEL,
				       .ip = 0xffffffff81003000,
				       .callers = callers,
				       .n_callers = 4,
				       .n_kernel = 1,
				       .extra = &extra } },
		     out;

	(void)state;
	out = pushed(&e, 1);
	assert_int_equal(out.sample.n_callers, 2);
	assert_int_equal(out.sample.n_kernel, 1);
	e.sample.n_callers = 1; /* a kernel thread */
	assert_int_equal(pushed(&e, 1).sample.n_callers, 1);
	e.sample = (struct sample_event){
		.mode = MODE_USER, .ip = 0x500, .callers = callers + 1, .n_callers = 3
	};
	assert_int_equal(pushed(&e, 1).sample.n_callers, 0);
}

static void records_of_others_are_dropped(void **state)
{
	static const enum event_type dropped[] = { EVENT_MAPPING, EVENT_COMM, EVENT_FORK,
						   EVENT_EXIT };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
		pushed(&(struct event){ .type = dropped[i] }, 0);
		assert_int_equal(pushed(&(struct event){ .type = dropped[i], .pid = 5 }, 1).pid, 5);
	}
	pushed(&(struct event){ .type = EVENT_LOST }, 1);
	/* Of modules, the kernel itself tells. */
	pushed(&(struct event){ .type = EVENT_MAPPING, .pid = -1 }, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_the_idle_loop_is_idle, setup),
		cmocka_unit_test_setup(hidden_addresses_make_nothing_idle, setup),
		cmocka_unit_test_setup(of_a_stack_the_kernel_part_stays, setup),
		cmocka_unit_test_setup(records_of_others_are_dropped, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
