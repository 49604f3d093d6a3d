/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that a shard of ClickHouse has (fleet/clickhouse_rows.h). */
#include "fleet/clickhouse_rows.h"

#include "base/intmap.h"

/* A shard's map of what it has is emptied when it is this large: names are then sent again. */
#define KNOWN_MAX (8u << 20)

void known_rows_clear(struct known_rows *known)
{
	intmap_clear(&known->stacks);
	intmap_clear(&known->functions);
	intmap_clear(&known->images);
}

void known_rows_fini(struct known_rows *known)
{
	intmap_fini(&known->stacks);
	intmap_fini(&known->functions);
	intmap_fini(&known->images);
}

static void known_remember(struct intmap *known, const uint64_t *keys, size_t n)
{
	if (known->n > KNOWN_MAX)
		intmap_clear(known);
	for (size_t i = 0; i < n; i++)
		intmap_put(known, keys[i], NULL);
}

void block_rows_remember(const struct block_rows *rows, struct known_rows *known)
{
	known_remember(&known->stacks, rows->new_stacks.data, rows->new_stacks.n);
	known_remember(&known->functions, rows->new_functions.data, rows->new_functions.n);
	known_remember(&known->images, rows->new_images.data, rows->new_images.n);
}
