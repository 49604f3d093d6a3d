/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/labels.h"

#include <string.h>

#include "base/buf.h"
#include "profile/index.h"
#include "profile/query.h"
#include "store/segment.h"

#define SEPARATOR ", " /* between labels of one sample */

static const char *label_text(struct profile *p, uint32_t image, uint64_t offset)
{
	uint32_t symbol = p->symbols ? index_symbol(p, image, offset) : NO_SYMBOL;

	return symbol == NO_SYMBOL ? "[unknown]"
				   : symbol_name(p->symbols, p->images.data[image].table, symbol);
}

/* A filter takes a sample by one label NAME=VALUE. Values may have any characters. */
static bool takes_label(const struct profile *p, const char *name, const char *value)
{
	cleanup(free_at_exit) char *text = xasprintf("%s=%s", name, value);

	return query_takes_name(p->index->query, FILTER_LABEL, text);
}

void labels_describe(struct profile *p, const struct load_part *part, uint32_t node, uint32_t mark,
		     struct profile_waker *out)
{
	const char *asked = p->index->request->keys.label;
	const struct segment *s = part->segment;
	struct buf all = { 0 }, pairs = { 0 };

	for (; node >= mark; node = load_parent_of(s, node)) {
		uint32_t image = load_image_of(part, s->nodes[node].code.image);
		const struct image *label = p->images.data[image].image;
		const char *name, *value;

		if (!image_is_label_mark(label)) /* a session can have any order of frames */
			continue;
		name = label->path + strlen(IMAGE_LABEL_PREFIX);
		value = label_text(p, image, s->nodes[node].code.offset);
		out->is_label_taken |= takes_label(p, name, value);
		buf_printf(&all, "%s%s=%s", all.len ? SEPARATOR : "", name, value);
		buf_bytes(&pairs, name, strlen(name) + 1);
		buf_bytes(&pairs, value, strlen(value) + 1);
		if (!strcmp(name, "trace"))
			out->trace = strings_add(&p->waker_texts, value);
		if (!strcmp(name, "span"))
			out->span = strings_add(&p->waker_texts, value);
		if (*asked && !strcmp(name, asked))
			out->label = strings_add(&p->waker_texts, value);
	}
	out->labels = strings_add(&p->waker_texts, buf_cstr(&all));
	out->label_pairs = strings_add_n(&p->waker_texts, (const char *)pairs.data, pairs.len);
	if (!*asked)
		out->label =
			p->index->request->keys.by_label_pairs ? out->label_pairs : out->labels;
	buf_fini(&all);
	buf_fini(&pairs);
}
