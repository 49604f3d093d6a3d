/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/cgroup_texts.h"

#include "machine/cgroup_name.h"

struct cgroup_texts *cgroup_texts_new(const struct profile *p, struct frame_names *frames)
{
	struct cgroup_texts *texts = xcalloc(p->cgroup_texts.n + 1, sizeof(*texts));

	vec_foreach (&p->cgroups, c) {
		const char *path = strings_get(&p->cgroup_texts, c->text[CGROUP_PATH]);
		struct cgroup_names names;

		cgroup_names_of(path, &names);
		texts[c->text[CGROUP_PATH].n] = (struct cgroup_texts){ {
			[CGROUP_TEXT_PATH] = frame_text(frames, path),
			[CGROUP_TEXT_UNIT] = frame_text(frames, names.unit),
			[CGROUP_TEXT_CONTAINER] = frame_text(frames, names.container),
			[CGROUP_TEXT_RUNTIME] = names.runtime,
			[CGROUP_TEXT_POD] = frame_text(frames, names.pod),
		} };
	}
	return texts;
}
