/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel_labels.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "collect/bpf/shared.h"
#include "machine/machine.h"
#include "pipeline/pipeline.h"

/* A program may invent values without end. Beyond this number in a session, they are one value. */
#define VALUES_MAX 65536

#define UNKNOWN_VALUE "[unknown]"
#define OTHER_VALUE   "[other]"

struct label_marks {
	struct pipeline *pipeline;
	image_id images[LABELS_MAX];
	size_t n;
	struct intmap stored; /* places whose value this session has */
	uint32_t session;
};

struct label_marks *label_marks_new(struct pipeline *pipeline, struct machine *machine,
				    const char *const *names, size_t n)
{
	struct label_marks *l = xcalloc(1, sizeof(*l));

	l->pipeline = pipeline;
	l->n = MIN(n, (size_t)LABELS_MAX);
	for (size_t i = 0; i < l->n; i++) {
		cleanup(free_at_exit) char *path = xasprintf(IMAGE_LABEL_PREFIX "%s", names[i]);
		const struct image image = { .kind = IMAGE_NAMED, .path = path };

		l->images[i] = image_intern(machine_images(machine), &image);
	}
	return l;
}

void label_marks_free(struct label_marks *l)
{
	if (!l)
		return;
	intmap_fini(&l->stored);
	free(l);
}

static void begin_session(struct label_marks *l)
{
	if (l->session == pipeline_session(l->pipeline))
		return;
	intmap_fini(&l->stored);
	l->session = pipeline_session(l->pipeline);
}

/* The place of a value is its hash, as with names of functions (pipeline/lang_names.h). */
static struct code_addr place_value(struct label_marks *l, image_id image, const char *value)
{
	struct code_symbol symbol = { .image = image, .size = 2, .name = value };
	bool is_new;

	symbol.offset = XXH3_64bits(value, strlen(value)) >> 1 & ~(uint64_t)1;
	if (intmap_find(&l->stored, symbol.offset ^ image.n))
		return (struct code_addr){ image, symbol.offset };
	if (l->stored.n >= VALUES_MAX && strcmp(value, OTHER_VALUE) != 0)
		return place_value(l, image, OTHER_VALUE);
	intmap_put(&l->stored, symbol.offset ^ image.n, &is_new);
	pipeline_name_code(l->pipeline, &symbol);
	return (struct code_addr){ image, symbol.offset };
}

size_t label_marks_place(struct label_marks *l, const struct label_value *values,
			 struct code_addr *out)
{
	size_t n = 0;

	begin_session(l);
	for (size_t i = 0; i < l->n; i++) {
		char text[LABEL_VALUE_MAX + 1] = UNKNOWN_VALUE;

		if (values && !values[i].size)
			continue;
		if (values) {
			size_t size = MIN((size_t)values[i].size, sizeof(text) - 1);

			memcpy(text, values[i].bytes, size);
			text[size] = '\0';
		}
		if (*text)
			out[n++] = place_value(l, l->images[i], text);
	}
	return n;
}
