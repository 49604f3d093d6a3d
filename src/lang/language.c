/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/language.h"

static const char *const language_keys[N_LANGUAGES] = { "native",
#define X(id, key, name) key,
							LANGUAGES(X)
#undef X
};

const char *const language_names[N_LANGUAGES] = { "native code",
#define X(id, key, name) name,
						  LANGUAGES(X)
#undef X
};

const char *language_key(unsigned int language)
{
	return language < N_LANGUAGES ? language_keys[language] : "unknown";
}
