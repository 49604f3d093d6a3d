/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that programs push: so many at most, and a share for each pusher. */
#include "scratch.h"

#include "base/buf.h"
#include "base/error.h"
#include "store/history/pushed_names.h"

#define DAY_S      UINT64_C(86400)
#define TODAY      20000
#define NOW        (TODAY * DAY_S + 100)
#define NAMES_MOST 1200

/* Of one who pushes alone: half of the places, and the own share. */
#define SHARE_OF(most) ((most) / 2 / PUSHED_SHARES)
#define ALONE_OF(most) ((most) - (PUSHED_SHARES - 1) * SHARE_OF(most))

static char texts[NAMES_MOST][32];
static const char *names[NAMES_MOST];

/* Pushes n services or events "WORDn", from number `first` on. */
static int push_names(const char *pusher, const char *word, int first, size_t n, bool are_events,
		      uint64_t now_s)
{
	struct pushed_names pushed = { .pusher = pusher };
	struct error err = { 0 };
	int r;

	assert_true(n <= NAMES_MOST);
	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%zu", word, (size_t)first + i);
		names[i] = texts[i];
	}
	if (are_events) {
		pushed.events = names;
		pushed.n_events = n;
	} else {
		pushed.services = names;
		pushed.n_services = n;
	}
	r = pushed_names_add("history", &pushed, now_s, &err);
	assert_int_equal(r < 0, *err.text != '\0');
	return r;
}

static int push_service(const char *pusher, const char *name, uint64_t now_s)
{
	return push_names(pusher, name, 0, 1, false, now_s);
}

static void assert_refusals(uint64_t n, const char *of_pushers)
{
	struct buf text = { 0 };

	assert_int_equal(pushed_names_refused("history", &text), n);
	assert_string_equal(text.len ? buf_cstr(&text) : "", of_pushers);
	assert_int_equal(pushed_names_refused("history", NULL), n);
	buf_fini(&text);
}

static void begin_history(void)
{
	file_remove_tree("history", NULL);
	assert_int_equal(mkdir("history", 0755), 0);
}

/* The pusher pushes new names, one at a time. Returns how many are taken. */
static uint32_t count_taken(const char *pusher, const char *word, uint32_t tries, bool are_events)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tries; i++)
		n += push_names(pusher, word, (int)i, 1, are_events, NOW) >= 0;
	return n;
}

static void one_pusher_leaves_the_shares_of_others(void **state)
{
	(void)state;
	begin_history();
	assert_int_equal(count_taken("greedy", "s", 600, false), ALONE_OF(PUSHED_SERVICES_MAX));
	assert_int_equal(count_taken("greedy", "e", 200, true), ALONE_OF(PUSHED_EVENTS_MAX));
	/* The seven others have theirs, and no more. */
	for (int i = 1; i < PUSHED_SHARES; i++) {
		cleanup(free_at_exit) char *pusher = xasprintf("p%d", i);

		assert_int_equal(count_taken(pusher, pusher, 30, true),
				 SHARE_OF(PUSHED_EVENTS_MAX));
		assert_int_equal(push_names(pusher, pusher, 0, SHARE_OF(PUSHED_SERVICES_MAX), false,
					    NOW),
				 0);
		assert_int_equal(push_service(pusher, "more", NOW), -EDQUOT);
	}
	/* No place is left. */
	assert_int_equal(push_service("p9", "nine", NOW), -EDQUOT);
	assert_int_equal(push_service("greedy", "s", NOW), 0);
}

static void more_pushers_have_smaller_shares(void **state)
{
	(void)state;
	begin_history();
	count_taken("greedy", "e", 200, true);
	for (int i = 1; i < 16; i++) { /* each names little, so there is place for all */
		cleanup(free_at_exit) char *pusher = xasprintf("p%d", i);

		assert_int_equal(push_names(pusher, pusher, 0, 3, true, NOW), 0);
	}
	/* Of 16 pushers, each has a share of 8. */
	assert_int_equal(push_names("p15", "p15", 3, 5, true, NOW), 0);
	assert_int_equal(push_names("p15", "p15", 8, 1, true, NOW), -EDQUOT);
	assert_int_equal(push_names("greedy", "e", 200, 1, true, NOW), -EDQUOT);
}

/* Of those who come late, the last one finds less than a share. */
static void there_are_no_more_places_than_names(void **state)
{
	(void)state;
	begin_history();
	count_taken("greedy", "e", 200, true);
	for (int i = 1; i < 15; i++) {
		cleanup(free_at_exit) char *pusher = xasprintf("p%d", i);

		assert_int_equal(push_names(pusher, pusher, 50, i < 14 ? 8 : 7, true, NOW), 0);
	}
	assert_int_equal(push_names("p15", "p15", 50, 2, true, NOW), -EDQUOT);
	assert_int_equal(push_names("p15", "p15", 50, 1, true, NOW), 0);
	assert_int_equal(push_names("p15", "p15", 51, 1, true, NOW), -EDQUOT);
}

static void a_known_name_takes_no_place(void **state)
{
	(void)state;
	begin_history();
	assert_int_equal(count_taken("greedy", "e", 200, true), ALONE_OF(PUSHED_EVENTS_MAX));
	/* All names of another one, and its own share. */
	assert_int_equal(push_names("b", "e", 0, ALONE_OF(PUSHED_EVENTS_MAX), true, NOW), 0);
	assert_int_equal(count_taken("b", "b", 30, true), SHARE_OF(PUSHED_EVENTS_MAX));
	/* A name twice in a push is one name. */
	begin_history();
	for (int i = 0; i < 2; i++)
		assert_int_equal(push_names("a", "s", 0, 50, false, NOW), 0);
	assert_int_equal(count_taken("a", "s", 600, false), ALONE_OF(PUSHED_SERVICES_MAX));
	/* A service and an event of one name are two. */
	assert_int_equal(push_names("a", "s", 0, 1, true, NOW), 0);
	assert_refusals(600 - ALONE_OF(PUSHED_SERVICES_MAX), "a: 34");
}

static void old_names_leave_their_places(void **state)
{
	(void)state;
	begin_history();
	assert_int_equal(push_names("a", "old", 0, 100, false, NOW), 0);
	assert_int_equal(push_names("a", "new", 0, ALONE_OF(PUSHED_SERVICES_MAX) - 100, false,
				    NOW + DAY_S),
			 0);
	assert_int_equal(push_service("a", "old", NOW + DAY_S), 0); /* "old0": known */
	/* The 30th day still counts. */
	assert_int_equal(push_service("a", "x", NOW + PUSHED_DAYS * DAY_S), -EDQUOT);
	assert_int_equal(push_names("a", "x", 0, 99, false, NOW + (PUSHED_DAYS + 1) * DAY_S), 0);
	assert_int_equal(push_service("a", "y", NOW + (PUSHED_DAYS + 1) * DAY_S), -EDQUOT);
}

static void the_next_pusher_holds_a_name(void **state)
{
	uint64_t later = NOW + (PUSHED_DAYS + 1) * DAY_S;

	(void)state;
	begin_history();
	assert_int_equal(push_names("a", "e", 0, 100, true, NOW), 0);
	assert_int_equal(push_names("b", "e", 0, 100, true, NOW + DAY_S), 0);
	/* a is away: its names are b's, which has 44 places more. */
	assert_int_equal(push_names("b", "b", 0, 44, true, later), 0);
	assert_int_equal(push_names("b", "b", 44, 1, true, later), -EDQUOT);
	assert_int_equal(push_names("a", "a", 0, SHARE_OF(PUSHED_EVENTS_MAX), true, later), 0);
	assert_int_equal(push_names("a", "a", 50, 1, true, later), -EDQUOT);
}

static void a_refused_push_adds_nothing(void **state)
{
	const char *services[] = { "s" }, *events[] = { "late" };
	struct pushed_names both = { services, events, 1, 1, "7a a token" };
	struct error err = { 0 };

	(void)state;
	begin_history();
	assert_int_equal(push_names("7a a token", "e", 0, 64, true, NOW), 0);
	assert_int_equal(push_names("7a a token", "f", 0, 81, true, NOW), -EDQUOT);
	assert_int_equal(push_names("7a another line", "f", 0, 80, true, NOW), 0);
	assert_int_equal(pushed_names_add("history", &both, NOW, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "a token"));
	assert_non_null(strstr(err.text, "event"));
	/* Its service, which had a place, has none. */
	assert_int_equal(push_names("7a", "s", 0, ALONE_OF(PUSHED_SERVICES_MAX), false, NOW), 0);
	assert_int_equal(push_service("7a", "s", NOW), 0); /* "s0" */
	assert_refusals(2, "a token: 2");
	/* A refusal keeps its latest label. Other pushers are apart, and the unknown one. */
	assert_int_equal(push_service("7a line 4\n", "more", NOW), -EDQUOT);
	assert_int_equal(push_names("8", "g", 0, 17, true, NOW), -EDQUOT);
	assert_int_equal(push_names(NULL, "g", 0, 17, true, NOW), -EDQUOT);
	assert_refusals(5, "line 4?: 3, 8: 1, no token: 1");
	/* The number stays when the names of pushers are gone. */
	assert_int_equal(push_service("8", "late", NOW + 40 * DAY_S), 0);
	assert_refusals(5, "");
}

static void lines_of_an_older_assay_count(void **state)
{
	struct buf text = { 0 };

	(void)state;
	begin_history();
	buf_printf(&text, "refused 12\nsomething else 1 2 3\nevent\nevent 1\n\n");
	for (int i = 0; i < ALONE_OF(PUSHED_EVENTS_MAX); i++)
		buf_printf(&text, "event %d %016x\n", TODAY, i + 1);
	write_file("history/.pushed", buf_cstr(&text));
	buf_fini(&text);
	assert_refusals(12, "");
	assert_int_equal(push_names(NULL, "x", 0, 1, true, NOW), -EDQUOT);
	assert_int_equal(push_names("a", "x", 0, SHARE_OF(PUSHED_EVENTS_MAX), true, NOW), 0);
	assert_refusals(13, "no token: 1");
}

static ino_t inode_of_names(void)
{
	struct stat st;

	assert_int_equal(stat("history/.pushed", &st), 0);
	return st.st_ino;
}

static void a_day_is_written_once(void **state)
{
	ino_t before;

	(void)state;
	begin_history();
	assert_int_equal(push_service("a", "s", NOW), 0);
	before = inode_of_names();
	assert_int_equal(link("history/.pushed", "history/kept"), 0); /* its number stays in use */
	assert_int_equal(push_service("a", "s", NOW + 50), 0);
	assert_int_equal(inode_of_names(), before);
	assert_int_equal(push_service("a", "s", NOW + DAY_S), 0);
	assert_int_not_equal(inode_of_names(), before);
}

static void what_can_not_be_read_is_an_error(void **state)
{
	(void)state;
	file_remove_tree("history", NULL);
	assert_int_equal(push_service("a", "s", NOW), -ENOENT);
	assert_int_equal(pushed_names_refused("history", NULL), 0);
	begin_history();
	write_file("history/.pushed", "refused 7\n");
	assert_int_equal(truncate("history/.pushed", (1 << 20) + 1), 0); /* too large */
	assert_true(push_service("a", "s", NOW) < 0);
	assert_true(try_command("grep -qa '^refused 7$' history/.pushed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_pusher_leaves_the_shares_of_others),
		cmocka_unit_test(more_pushers_have_smaller_shares),
		cmocka_unit_test(there_are_no_more_places_than_names),
		cmocka_unit_test(a_known_name_takes_no_place),
		cmocka_unit_test(a_day_is_written_once),
		cmocka_unit_test(old_names_leave_their_places),
		cmocka_unit_test(the_next_pusher_holds_a_name),
		cmocka_unit_test(a_refused_push_adds_nothing),
		cmocka_unit_test(lines_of_an_older_assay_count),
		cmocka_unit_test(what_can_not_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
