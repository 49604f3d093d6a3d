/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The languages whose functions assay shows in stacks. A runtime is the program or library that
 * runs a language, such as python3 or libpython3.11.so. Freestanding.
 */
#pragma once

/* X(id, key, name). Images in sessions have the number of their language: append only. */
#define LANGUAGES(X)                  \
	X(PYTHON, "python", "Python") \
	X(PHP, "php", "PHP")          \
	X(RUBY, "ruby", "Ruby")       \
	X(PERL, "perl", "Perl")       \
	X(JAVA, "java", "Java")       \
	X(JAVASCRIPT, "javascript", "JavaScript")

enum language {
	LANGUAGE_NONE,
#define X(id, key, name) LANGUAGE_##id,
	LANGUAGES(X)
#undef X
		N_LANGUAGES, /* that have a runtime */
	/* Of functions in native images (symbol_is_go()). No image of a session has this number. */
	LANGUAGE_GO = 31,
	N_LANGUAGE_NUMBERS
};
_Static_assert(N_LANGUAGES <= LANGUAGE_GO, "numbers of languages differ");

/* Whether its frames are on the native stack: copied stacks have them, and BPF does not. */
static inline int language_is_on_stack(unsigned int language)
{
	return language == LANGUAGE_JAVA || language == LANGUAGE_JAVASCRIPT;
}

/* By language */
extern const char *const language_names[N_LANGUAGES];

/*
 * LANGUAGE_NONE is "native", LANGUAGE_GO "go". Any number may come from a session of a newer assay.
 * Then the key is "unknown".
 */
const char *language_key(unsigned int language);
