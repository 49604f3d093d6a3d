/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of several sessions as those of one. */
#include "scratch.h"

#include "base/error.h"
#include "store/format.h"
#include "store/session_join.h"

#define PART_EVENTS 200

static char names[SESSION_JOINED_EVENTS_MAX + PART_EVENTS][24];

/* Events "event N" from number `first` on. */
static struct counter_info *events(uint32_t first, uint32_t n)
{
	struct counter_info *all = xcalloc(n, sizeof(*all));

	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[first + i], sizeof(names[0]), "event %u", first + i);
		all[i] = (struct counter_info){
			.name = names[first + i], .spec = "", .unit = "events", .in_user = true
		};
	}
	return all;
}

/* Parts with so many events each, which only session_join_fits() looks at. */
static struct session *part(uint32_t first, uint32_t n)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->info.counters = events(first, n);
	s->info.n_counters = n;
	return s;
}

static void free_part(struct session *s)
{
	free((void *)s->info.counters);
	free(s);
}

static void parts_fit_until_they_have_too_many_events(void **state)
{
	enum { N = SESSION_JOINED_EVENTS_MAX / PART_EVENTS + 3 };
	uint32_t left = SESSION_JOINED_EVENTS_MAX % PART_EVENTS;
	struct session *parts[N];
	bool fits[N];

	(void)state;
	for (uint32_t i = 0; i < N - 3; i++)
		parts[i] = part(i * PART_EVENTS, PART_EVENTS);
	parts[N - 3] = part((N - 3) * PART_EVENTS, left + 1); /* one too many */
	parts[N - 2] = part((N - 3) * PART_EVENTS, left);     /* but so many have room */
	parts[N - 1] = part(7, PART_EVENTS);                  /* known ones take none */
	session_join_fits(parts, N, fits);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(fits[i], i != N - 3);
	for (uint32_t i = 0; i < N; i++)
		free_part(parts[i]);
}

/* Sessions that can be joined: session_close() frees them. */
static int join(uint32_t n_events, bool to_read, struct session **out, struct error *err)
{
	uint32_t n = (n_events + PART_EVENTS - 1) / PART_EVENTS;
	struct session **parts = xcalloc(n, sizeof(struct session *));
	int r;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = i * PART_EVENTS, of_part = MIN(n_events - first, PART_EVENTS);

		parts[i] = xcalloc(1, sizeof(struct session));
		parts[i]->path = xstrdup("part");
		parts[i]->dir = xstrdup("part");
		parts[i]->parts = xcalloc(1, sizeof(struct session *));
		parts[i]->info.counters = events(first, of_part);
		parts[i]->info.n_counters = of_part;
	}
	r = to_read ? session_join_to_read(parts, n, true, out, err)
		    : session_join(parts, n, true, out, err);
	free(parts);
	return r;
}

static void a_question_takes_more_events_than_a_session_has(void **state)
{
	static const struct {
		uint32_t n;
		bool to_read;
		int result;
	} rows[] = {
		{ SESSION_COUNTERS_MAX, false, 0 },
		{ SESSION_COUNTERS_MAX + 1, false, -E2BIG },
		{ SESSION_COUNTERS_MAX + 1, true, 0 },
		{ SESSION_JOINED_EVENTS_MAX, true, 0 },
		{ SESSION_JOINED_EVENTS_MAX + 1, true, -E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *s = NULL;
		struct error err = { 0 };

		assert_int_equal(join(rows[i].n, rows[i].to_read, &s, &err), rows[i].result);
		if (!s)
			continue;
		assert_int_equal(s->info.n_counters, rows[i].n);
		for (uint32_t k = 0; k < rows[i].n; k += 99) {
			const struct counter_info *c = &s->info.counters[k];

			assert_int_equal(session_event_of_part(s, c), k);
		}
		session_close(s);
	}
}

/* Joined events by everything but their frequency, or by this, too. */
static void events_are_one_if_they_count_the_same(void **state)
{
	static const struct counter_info all[] = {
		{ .name = "a", .freq_hz = 99, .in_user = true },
		{ .name = "a", .freq_hz = 49, .in_user = true },
		{ .name = "a", .count = 99, .in_user = true },
		{ .name = "a", .freq_hz = 99, .in_user = true, .in_kernel = true },
		{ .name = "a", .freq_hz = 99, .in_kernel = true },
		{ .name = "a", .freq_hz = 99, .in_user = true, .unit_mask = 1 },
		{ .name = "b", .freq_hz = 99, .in_user = true },
		{ .name = "a", .freq_hz = 99, .in_user = true },
	};

	(void)state;
	for (int any_rate = 0; any_rate < 2; any_rate++) {
		struct session *parts[ARRAY_SIZE(all)], *s;
		struct error err = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
			parts[i] = xcalloc(1, sizeof(struct session));
			parts[i]->path = xstrdup("part");
			parts[i]->dir = xstrdup("part");
			parts[i]->parts = xcalloc(1, sizeof(struct session *));
			parts[i]->info.counters = xcalloc(1, sizeof(all[i]));
			memcpy((void *)parts[i]->info.counters, &all[i], sizeof(all[i]));
			parts[i]->info.n_counters = 1;
		}
		assert_int_equal(session_join(parts, ARRAY_SIZE(all), any_rate, &s, &err), 0);
		assert_int_equal(s->info.n_counters, any_rate ? 6 : 7);
		session_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_fit_until_they_have_too_many_events),
		cmocka_unit_test(a_question_takes_more_events_than_a_session_has),
		cmocka_unit_test(events_are_one_if_they_count_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
