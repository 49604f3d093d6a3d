/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of messages that follow a number. */
#pragma once

#include <stdint.h>

/* Which of two words the number needs: plural(n, "was", "were"). */
static inline const char *plural(uint64_t n, const char *one, const char *several)
{
	return n == 1 ? one : several;
}

/* The end of a noun: printf("%zu block%s", n, plural_s(n)). */
static inline const char *plural_s(uint64_t n)
{
	return plural(n, "", "s");
}
