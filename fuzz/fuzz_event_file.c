/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event files. Input: the text of `events`, a NUL, the text of `unit_masks`, a NUL, the text of
 * `cpus`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "counter/catalog/event_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct counter_sources nowhere = { .proc = "/nowhere" };

/* Every value that a mask has can be chosen, or is refused with a reason. */
static void choose_all(const struct table_event *e)
{
	struct mask_choice choice;

	table_event_mask(e, NULL, &choice, NULL);
	vec_foreach (&e->mask.units, u) {
		struct error err = { 0 };
		char word[16];

		snprintf(word, sizeof(word), "0x%x", u->value);
		if (table_event_mask(e, word, &choice, &err) < 0 && !err.text[0])
			abort();
		if (u->name)
			table_event_mask(e, u->name, &choice, NULL);
	}
}

static void allocate(const struct event_table *t)
{
	const struct table_event *events[4];
	struct error err = { 0 };
	size_t n = 0;
	int out[4];

	for (; n < 4 && n < t->events.n; n++)
		events[n] = &t->events.data[n];
	if (table_events_allocate(events, n, 4, out, &err) < 0 && !err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 3), *masks, *cpus;
	struct event_table t;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	masks = text + strlen(text) + (strlen(text) < size);
	cpus = masks + strlen(masks) + (masks + strlen(masks) < text + size);
	event_table_init(&t);
	event_table_read_cpus(&t, cpus, "cpus");
	event_table_read_masks(&t, masks, "unit_masks", NULL);
	event_table_read_events(&t, text, "events", NULL);
	event_table_finish(&t, &nowhere);
	vec_foreach (&t.events, e)
		choose_all(e);
	allocate(&t);
	event_table_fini(&t);
	free(text);
	return 0;
}
