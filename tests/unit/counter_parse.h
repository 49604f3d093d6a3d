/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events parsed on a fake machine. */
#pragma once

#include "fake_machine.h"

#include "config.h"

static inline const struct counter *parse_at(struct machine *m, const char *spec,
					     struct counter_rate rate)
{
	int r;

	counters_fini(&m->counters);
	memset(&m->err, 0, sizeof(m->err));
	r = counter_parse(&m->sources, spec, &rate, &m->counters, &m->err);
	if (r < 0)
		return NULL;
	assert_true(m->counters.n > 0);
	return &m->counters.data[m->counters.n - 1];
}

static inline const struct counter *parse(struct machine *m, const char *spec)
{
	return parse_at(m, spec, (struct counter_rate){ 0 });
}
