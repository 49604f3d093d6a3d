/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/unnamed.h"

#include "base/mem.h"
#include "event/loss.h"
#include "lang/jit_switch.h"
#include "profile/profile.h"

/*
 * Why functions of Java or JavaScript, which assay reads, have no names: the most frequent reason.
 * NULL: there is none.
 */
static const char *lost_language(const struct profile *p, const char *path)
{
	static const struct {
		enum language language;
		enum loss_reason first, last;
	} reasons[] = {
		{ LANGUAGE_JAVA, LOSS_JAVA_STATE, LOSS_JAVA_COLLECTOR },
		{ LANGUAGE_JAVASCRIPT, LOSS_JAVASCRIPT_STATE, LOSS_JAVASCRIPT_COLLECTOR },
	};
	enum language language = jit_language_of(path);
	int most = -1;

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		for (int r = reasons[i].first;
		     reasons[i].language == language && r <= (int)reasons[i].last; r++)
			if (p->losses[r] && (most < 0 || p->losses[r] > p->losses[most]))
				most = r;
	/* A few stacks from before the file was read do not explain code without names. */
	return most < 0 || p->losses[most] < p->n_selected / 20 ? NULL : loss_texts[most].text;
}

static const char *switch_of_image(const struct profile *p, const struct profile_image *image)
{
	const char *lost;

	if (image->image->kind != IMAGE_FILE || image->is_merged)
		return NULL;
	lost = lost_language(p, image->image->path);
	return lost ? lost : jit_switch_of(image->image->path);
}

/* Of a runtime in stacks through the image; NULL: there is none. */
static const char *switch_in_stacks(const struct profile *p, uint32_t image)
{
	vec_foreach (&p->entries, entry) {
		const char *text = NULL;
		bool is_through = false;

		for (uint32_t n = entry->node; p->nodes.data[n].depth;
		     n = p->nodes.data[n].parent) {
			const struct profile_node *node = &p->nodes.data[n];
			uint32_t i = p->functions.data[node->function].image;

			is_through |= i == image;
			text = text ? text : switch_of_image(p, &p->images.data[i]);
		}
		if (is_through && text)
			return text;
	}
	return NULL;
}

/* Of the only runtime that has samples; NULL: there is none, or there are several. */
static const char *only_switch(const struct profile *p)
{
	const char *only = NULL;

	vec_foreach (&p->images, image) {
		const char *text = switch_of_image(p, image);

		if (text && only && text != only)
			return NULL;
		only = text ? text : only;
	}
	return only;
}

const char *profile_unnamed_jit(const struct profile *p, uint32_t image)
{
	const struct profile_image *i = &p->images.data[image];
	const char *text;

	if (i->image->kind != IMAGE_JIT || !i->table ||
	    symbol_table_status(i->table) != SYMBOL_NO_FILE)
		return NULL;
	text = switch_in_stacks(p, image);
	text = text ? text : only_switch(p);
	return text ? text : jit_switch_of_any();
}
