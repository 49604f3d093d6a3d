/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/daemon_state.h"

struct daemon_pace daemon_pace(const char *setting)
{
	struct daemon_pace pace = {
		.settle_ns = 15 * NS_PER_SECOND,
		.part_ns = PART_NS,
		.retry_ns = 10 * NS_PER_SECOND,
		.renew_ns = 600 * NS_PER_SECOND,
		.fleet_ns = 600 * NS_PER_SECOND,
		.upkeep_ns = 1800 * NS_PER_SECOND,
		.measure_ns = 60 * NS_PER_SECOND,
	};
	const struct {
		const char *name;
		uint64_t *ns;
	} known[] = {
		{ "settle=", &pace.settle_ns }, { "part=", &pace.part_ns },
		{ "retry=", &pace.retry_ns },   { "renew=", &pace.renew_ns },
		{ "upkeep=", &pace.upkeep_ns }, { "measure=", &pace.measure_ns },
		{ "fleet=", &pace.fleet_ns },
	};

	for (; setting && *setting; setting += strcspn(setting, ","), setting += *setting == ',')
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (!strncmp(setting, known[i].name, strlen(known[i].name)))
				*known[i].ns = NS_PER_SECOND *
					       strtoul(setting + strlen(known[i].name), NULL, 10);
	return pace;
}
