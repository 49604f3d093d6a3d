/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/build_ids.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/event.h"
#include "perfdata/perfdata.h"
#include "replay/replay.h"

struct mapping_sink {
	struct event_sink sink;
	build_id_visitor *each;
	void *context;
};

/*
 * Adds the build ids of mapping records. The kernel's own record has the symbol of its start behind
 * its name: [kernel.kallsyms]_text.
 */
static int build_ids_on_event(struct event_sink *sink, const struct event *e)
{
	const char *path = e->mapping.path;
	cleanup(free_at_exit) char *kernel = NULL;

	if (e->type != EVENT_MAPPING)
		return 0;
	if (e->mapping.is_kernel && path[0] == '[' && strchr(path, ']'))
		path = kernel = xstrndup(path, strcspn(path, "]") + 1);
	((struct mapping_sink *)sink)
		->each(((struct mapping_sink *)sink)->context, path, &e->mapping.build_id);
	return 0;
}

int build_ids_each(const char *path, build_id_visitor *each, void *context, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	struct mapping_sink sink = { { .push = build_ids_on_event }, each, context };
	struct error damage = { 0 };
	int r = replay_open(path, &replay, err);

	if (r < 0)
		return r;
	perfdata_each_build_id(replay_data(replay), each, context);
	r = perfdata_read(replay_data(replay), &sink.sink, &damage);
	/* A pipe's come with the records. */
	perfdata_each_build_id(replay_data(replay), each, context);
	return r < 0 ? error_set(err, r, "%s: %s; the list ends there", path, damage.text) : 0;
}

void build_ids_print(FILE *out, const char *hex, const char *path)
{
	struct buf line = { 0 };

	buf_printf(&line, "%s ", hex);
	utf8_append_visible(&line, path);
	fprintf(out, "%s\n", buf_cstr(&line));
	buf_fini(&line);
}
