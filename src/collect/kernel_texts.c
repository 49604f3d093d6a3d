/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/kernel_texts.h"

#include <string.h>

#include "base/mem.h"
#include "symbol/kallsyms.h"

static bool is_named(const struct kernel_symbol *s, const char *name)
{
	return s->name && !s->module && s->name_len == strlen(name) &&
	       !memcmp(s->name, name, s->name_len);
}

/* The function ends where the next symbol begins. */
static struct kernel_text text_of(const struct kallsyms *k, const char *name)
{
	struct kernel_text text = { 0 };

	vec_foreach (&k->symbols, s)
		if (is_named(s, name))
			text.start = s->addr;
	vec_foreach (&k->symbols, s)
		if (text.start && s->addr > text.start &&
		    (!text.size || s->addr - text.start < text.size))
			text.size = s->addr - text.start;
	return text;
}

bool kernel_texts_read(const char *path, struct kernel_texts *out)
{
	struct kallsyms k = { 0 };

	*out = (struct kernel_texts){ 0 };
	if (kallsyms_read(&k, path) == 0 && !k.is_hidden) {
		out->switches = text_of(&k, "__schedule");
		out->wakes = text_of(&k, "try_to_wake_up");
		out->has_exit = text_of(&k, "__traceiter_sched_exit_tp").size > 0;
	}
	kallsyms_fini(&k);
	return out->switches.size && out->wakes.size;
}
