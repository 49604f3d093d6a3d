/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

struct frame_names {
	const struct profile *profile;
	struct arena *arena;
	const char **functions, **system_functions; /* by function; NULL: not made yet */
	const char **paths, **images;               /* by image */
	struct buf scratch;
};

static const char **names_column(size_t n)
{
	return xcalloc(n + 1, sizeof(const char *));
}

struct frame_names *frame_names_new(const struct profile *p)
{
	struct frame_names *names = xcalloc(1, sizeof(*names));

	names->profile = p;
	names->arena = arena_new();
	names->functions = names_column(p->functions.n);
	names->system_functions = names_column(p->functions.n);
	names->paths = names_column(p->images.n);
	names->images = names_column(p->images.n);
	return names;
}

void frame_names_free(struct frame_names *names)
{
	if (!names)
		return;
	arena_free(names->arena);
	free(names->functions);
	free(names->system_functions);
	free(names->paths);
	free(names->images);
	buf_fini(&names->scratch);
	free(names);
}

const char *frame_text(struct frame_names *names, const char *text)
{
	names->scratch.len = 0;
	utf8_append(&names->scratch, text);
	return arena_strndup(names->arena, buf_cstr(&names->scratch), names->scratch.len);
}

static const char *bracketed_name(struct frame_names *names, const char *text)
{
	cleanup(free_at_exit) char *with = text[0] == '[' ? NULL : xasprintf("[%s]", text);

	return frame_text(names, with ? with : text);
}

const char *frame_name(struct frame_names *names, uint32_t function)
{
	const struct profile *p = names->profile;
	const struct profile_function *f = &p->functions.data[function];
	const char **name = &names->functions[function];
	char scratch[KEY_TEXT_SIZE];

	if (!*name && f->symbol != NO_SYMBOL)
		*name = frame_text(names, profile_key_text(p, PROFILE_SYMBOL, function, scratch));
	else if (!*name)
		*name = bracketed_name(names, p->images.data[f->image].name);
	return *name;
}

const char *frame_system_name(struct frame_names *names, uint32_t function)
{
	const struct profile *p = names->profile;
	const struct profile_function *f = &p->functions.data[function];
	const char **name = &names->system_functions[function];

	if (!*name && f->symbol == NO_SYMBOL)
		*name = "";
	else if (!*name)
		*name = frame_text(names,
				   symbol_get(p->images.data[f->image].table, f->symbol).name);
	return *name;
}

const char *frame_image_path(struct frame_names *names, uint32_t image)
{
	if (!names->paths[image])
		names->paths[image] =
			frame_text(names, names->profile->images.data[image].image->path);
	return names->paths[image];
}

const char *frame_image_name(struct frame_names *names, uint32_t image)
{
	if (!names->images[image])
		names->images[image] = frame_text(names, names->profile->images.data[image].name);
	return names->images[image];
}
