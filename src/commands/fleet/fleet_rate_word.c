/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet rate: how often the hosts of a fleet sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_rates.h"

static int parse_hz(const char *text, uint64_t *hz, struct error *err)
{
	size_t n = strspn(text, "0123456789");

	if (!n || n > 6 || text[n])
		return error_set(err, -EINVAL, "rate: '%s' is no number of samples a second", text);
	*hz = strtoull(text, NULL, 10);
	return 0;
}

int fleet_rate_run(const struct fleet_args *args, const struct option_list *operands,
		   struct error *err)
{
	const char *fleet;
	uint64_t hz = 0;
	int r = operands->n == 3
			? fleet_operand(operands, &fleet, err)
			: error_set(err, -EINVAL, "rate: name the fleet, a host or '*', and HZ");

	(void)args;
	r = r < 0 ? r : parse_hz(operands->data[2], &hz, err);
	r = r < 0 ? r : fleet_rate_set(fleet, operands->data[1], hz, err);
	return r < 0 ? r : EXIT_OK;
}
