/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions: the syntax, and patterns that explode elsewhere. */
#include "base/pattern.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "unit.h"

static bool matches(const char *pattern, const char *text)
{
	cleanup(pattern_free_at_exit) struct pattern *p = NULL;
	struct error err = { 0 };

	if (pattern_new(pattern, &p, &err) < 0)
		fail_msg("%s", err.text);
	return pattern_matches(p, text);
}

static void whole_texts_match(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool wanted;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "web", "web", true },
		{ "web", "webs", false },
		{ "web", "aweb", false },
		{ ".*web.*", "/system.slice/web-1.service", true },
		{ "a|bc|d", "bc", true },
		{ "a|bc|d", "d", true },
		{ "a|bc|d", "bd", false },
		{ "x(a|b)*y", "xababy", true },
		{ "x(?:a|b)+y", "xy", false },
		{ "a||b", "", true },
		{ "[a-c_]+", "ab_c", true },
		{ "[^a-c]+", "xyz", true },
		{ "[^a-c]+", "xaz", false },
		{ "[]a]+", "]a", true },
		{ "[\\d-]+", "1-2", true },
		{ "\\d{3}", "123", true },
		{ "\\d{3}", "1234", false },
		{ "\\d{2,}", "1", false },
		{ "\\d{2,}", "12345", true },
		{ "a{0,2}", "", true },
		{ "a{0,2}", "aaa", false },
		{ "(ab){2,3}", "ababab", true },
		{ "(a*)*", "aaa", true },
		{ "(a*)+b", "aab", true },
		{ "a+?b??", "aa", true },
		{ "^a$", "a", true },
		{ "a^b", "ab", false },
		{ "a\\.b", "a.b", true },
		{ "a\\.b", "axb", false },
		{ "(?i)Web[a-z]", "wEBX", true },
		{ "(?i)[^a]", "A", false },
		{ ".", "\xc3\xa9", true },
		{ "..", "\xc3\xa9", false },
		{ "[^x]", "\xe2\x82\xac", true },
		{ "\\W\\S", "-x", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (matches(rows[i].pattern, rows[i].text) != rows[i].wanted)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
}

static void wrong_patterns_are_refused(void **state)
{
	static const char *const rows[] = { "(",
					    ")",
					    "a)",
					    "[a",
					    "*a",
					    "a{2",
					    "a{2,",
					    "a{4294967297}",
					    "a{3,2}",
					    "a{1001}",
					    "\\",
					    "\\1",
					    "\\p",
					    "(?=a)",
					    "(a{1000}){1000}",
					    "[z-a]",
					    "[\xc3\xa9]",
					    "[^a-\xc3\xa9]",
					    "a{,2}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pattern *p = NULL;
		struct error err = { 0 };

		assert_int_equal(pattern_new(rows[i], &p, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is no regular expression: "));
	}
}

/* Only groups within groups are deep. */
static void many_alternatives_may_have_groups(void **state)
{
	char pattern[1000] = "a0";
	size_t n = 2;

	(void)state;
	for (int i = 1; i < 100; i++)
		n += (size_t)snprintf(pattern + n, sizeof(pattern) - n, "|a%d", i);
	snprintf(pattern + n, sizeof(pattern) - n, "|((b))");
	assert_true(matches(pattern, "a99"));
	assert_true(matches(pattern, "b"));
	assert_false(matches(pattern, "a100"));
}

/* 2^40 paths lead through these. */
static void no_pattern_explodes(void **state)
{
	char text[4001];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(matches("(a+)+b", text));
	assert_false(matches("(a|a|a?)*b", text));
	assert_false(matches("((a*)*)*b", text));
	assert_true(matches("(a?){1000}(a*){100}", text));
}

/* Random patterns of a small alphabet, against regexec(3). */
static void it_agrees_with_the_library(void **state)
{
	static const char letters[] = "ab|()*+?.";
	unsigned int n_compared = 0, seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char pattern[12] = "", anchored[20], text[8] = "";
		cleanup(pattern_free_at_exit) struct pattern *p = NULL;
		regex_t regex;

		for (size_t k = 0, n = 1 + (unsigned int)rand_r(&seed) % 10; k < n; k++)
			pattern[k] = letters[(unsigned int)rand_r(&seed) % (sizeof(letters) - 1)];
		/* An empty alternative, and a repeated one, have no meaning in POSIX. */
		if (strstr(pattern, "|)") || strstr(pattern, "(|") || strstr(pattern, "||") ||
		    strstr(pattern, "()") || strpbrk(pattern, "|") == pattern ||
		    strstr(pattern, "*+") || strstr(pattern, "*?") || strstr(pattern, "+?") ||
		    strstr(pattern, "??") || strstr(pattern, "**") || strstr(pattern, "++") ||
		    strstr(pattern, "+*") || strstr(pattern, "?*") || strstr(pattern, "?+") ||
		    pattern[strlen(pattern) - 1] == '|')
			continue;
		if (pattern_new(pattern, &p, NULL) < 0)
			continue;
		snprintf(anchored, sizeof(anchored), "^(%s)$", pattern);
		if (regcomp(&regex, anchored, REG_EXTENDED | REG_NOSUB))
			continue;
		for (int j = 0; j < 20; j++) {
			for (size_t k = 0, n = (unsigned int)rand_r(&seed) % 7; k <= n; k++)
				text[k] = k == n ? '\0' : "ab"[(unsigned int)rand_r(&seed) % 2];
			if (pattern_matches(p, text) != !regexec(&regex, text, 0, NULL, 0))
				fail_msg("'%s' and '%s'", pattern, text);
			n_compared++;
		}
		regfree(&regex);
	}
	assert_true(n_compared > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_texts_match),
		cmocka_unit_test(wrong_patterns_are_refused),
		cmocka_unit_test(many_alternatives_may_have_groups),
		cmocka_unit_test(no_pattern_explodes),
		cmocka_unit_test(it_agrees_with_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
