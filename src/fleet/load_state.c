/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/load_state.h"

#include <jansson.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/json.h"
#include "base/mem.h"

#define STATE_FILE ".clickhouse"
#define STATE_MOST 65536

int load_state_write(const char *fleet, const struct load_state *s, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" STATE_FILE, fleet);
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "round_seconds", s->round_s },
		{ "success_seconds", s->success_s },
		{ "next_after_seconds", s->retry_s },
		{ "failures", s->n_failures },
		{ "blocks", s->n_blocks },
		{ "samples", s->samples },
		{ "lost", s->lost },
		{ "left_out", s->n_left_out },
	};
	struct buf text = { 0 };
	int r;

	buf_u8(&text, '{');
	json_put_text(&text, "error", s->error);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_put_number(&text, numbers[i].key, numbers[i].value);
	buf_str(&text, "}\n");
	r = file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

char *load_state_read(const char *fleet)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" STATE_FILE, fleet);
	cleanup(free_at_exit) char *text = NULL;
	size_t size = 0;
	json_t *object = file_read_all(path, STATE_MOST, &text, &size) < 0
				 ? NULL
				 : json_loadb(text, size, 0, NULL);
	char *copy = json_is_object(object) ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return copy;
}
