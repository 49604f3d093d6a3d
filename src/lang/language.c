/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/language.h"

static const char *const language_keys[N_LANGUAGE_NUMBERS] = {
	[LANGUAGE_NONE] = "native",
#define X(id, key, name) [LANGUAGE_##id] = key,
	LANGUAGES(X)
#undef X
		[LANGUAGE_GO] = "go",
};

const char *const language_names[N_LANGUAGES] = { "native code",
#define X(id, key, name) name,
						  LANGUAGES(X)
#undef X
};

const char *language_key(unsigned int language)
{
	return language < N_LANGUAGE_NUMBERS && language_keys[language] ? language_keys[language]
									: "unknown";
}
