/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ClickHouse's server says: the first byte chooses a list, the rest are its rows. */
#include <assert.h>
#include <stdlib.h>

#include "base/reader.h"
#include "fleet/clickhouse_answer.h"
#include "fleet/clickhouse_schema.h"
#include "profile/profile.h"

static void check_stacks(const struct answer *a)
{
	vec_foreach (&a->spans, s) {
		assert(s->n <= PROFILE_MAX_DEPTH);
		assert(s->first + s->n <= a->frames.n);
	}
	assert(a->builds.n == a->frames.n);
	vec_foreach (&a->builds, build)
		assert(build->n < a->texts.n);
}

static void check_functions(const struct answer *a)
{
	vec_foreach (&a->functions, f)
		assert(f->name.n < a->texts.n && f->image.n < a->texts.n &&
		       f->build.n < a->texts.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum clickhouse_dialect dialect;
	struct answer a;
	struct reader r;

	if (!size)
		return 0;
	r = reader_over(data + 1, size - 1);
	answer_init(&a);
	if (*data & 1) {
		answer_read_stacks(&a, &r);
	} else if (*data & 2) {
		answer_read_functions(&a, &r);
	} else {
		char *text = xstrndup((const char *)data + 1, size - 1);

		clickhouse_dialect_of(text, &dialect);
		free(text);
	}
	check_stacks(&a);
	check_functions(&a);
	answer_fini(&a);
	return 0;
}
