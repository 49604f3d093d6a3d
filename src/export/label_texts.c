/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/label_texts.h"

#include <string.h>

static const char *after_text(const char *text)
{
	return text + strlen(text) + 1;
}

void label_texts_init(struct label_texts *l, const struct profile *p, struct frame_names *frames)
{
	const struct strings *texts = &p->waker_texts;
	cleanup(free_at_exit) bool *has_pairs = xcalloc((size_t)texts->n + 1, sizeof(*has_pairs));

	*l = (struct label_texts){ .first = xcalloc((size_t)texts->n + 1, sizeof(*l->first)) };
	vec_foreach (&p->wakers, w)
		has_pairs[w->label_pairs.n] = true;
	for (uint32_t i = 0; i < texts->n; i++) {
		const char *at = texts->text[i], *end = at + texts->len[i];

		/* The value 0, of samples without facts, is the empty text. */
		for (const char *value; has_pairs[i] && at < end; at = after_text(value)) {
			value = after_text(at);
			vec_push(&l->list, (struct label_text){ frame_text(frames, at),
								frame_text(frames, value) });
		}
		l->first[i + 1] = (uint32_t)l->list.n;
	}
}

void label_texts_fini(struct label_texts *l)
{
	vec_fini(&l->list);
	free(l->first);
}
