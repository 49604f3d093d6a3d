/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proc_modules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NAME, SIZE, USERS, NEEDED_BY, STATE, ADDRESS, N_FIELDS };

/* Each number ends at a blank, a newline or NUL: no field runs into the next line. */
static bool parse_number(const char *at, int base, uint64_t *out)
{
	*out = isxdigit((unsigned char)*at) ? strtoull(at, NULL, base) : 0;
	return *out;
}

static bool parse_line(const char *at, const char *end, struct proc_module *out)
{
	const char *fields[N_FIELDS];
	size_t len = 0;

	for (int i = 0; i < N_FIELDS; i++) {
		while (at < end && isblank((unsigned char)*at))
			at++;
		if (at == end)
			return false;
		fields[i] = at;
		while (at < end && !isblank((unsigned char)*at))
			at++;
		len = i == NAME ? MIN((size_t)(at - fields[NAME]), sizeof(out->name) - 1) : len;
	}
	memcpy(out->name, fields[NAME], len);
	out->name[len] = '\0';
	return parse_number(fields[SIZE], 10, &out->size) &&
	       parse_number(fields[ADDRESS], 16, &out->addr);
}

bool proc_modules_next(const char **text, struct proc_module *out)
{
	while (**text) {
		const char *line = *text, *end = strchrnul(line, '\n');

		*text = *end ? end + 1 : end;
		if (parse_line(line, end, out))
			return true;
	}
	return false;
}
