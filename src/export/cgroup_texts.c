/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/cgroup_texts.h"

#include <string.h>

#include "machine/cgroup_name.h"

/* "default" of "default/web"; "" without a namespace. */
static const char *pod_namespace(struct frame_names *frames, const char *pod)
{
	const char *slash = strchr(pod, '/');
	cleanup(free_at_exit) char *text = xstrndup(pod, slash ? (size_t)(slash - pod) : 0);

	return frame_text(frames, text);
}

static const char *pod_name(struct frame_names *frames, const char *pod)
{
	const char *slash = strchr(pod, '/');

	return frame_text(frames, slash ? slash + 1 : pod);
}

struct cgroup_texts *cgroup_texts_new(const struct profile *p, struct frame_names *frames)
{
	struct cgroup_texts *texts = xcalloc(p->cgroup_texts.n + 1, sizeof(*texts));

	vec_foreach (&p->cgroups, c) {
		const char *path = strings_get(&p->cgroup_texts, c->text[CGROUP_PATH]);
		const char *container = strings_get(&p->cgroup_texts, c->container_name);
		const char *pod = strings_get(&p->cgroup_texts, c->pod_name);
		struct cgroup_names names;

		cgroup_names_of(path, &names);
		texts[c->text[CGROUP_PATH].n] = (struct cgroup_texts){ {
			[CGROUP_TEXT_PATH] = frame_text(frames, path),
			[CGROUP_TEXT_UNIT] = frame_text(frames, names.unit),
			[CGROUP_TEXT_CONTAINER] = frame_text(frames, names.container),
			[CGROUP_TEXT_CONTAINER_NAME] = frame_text(frames, container),
			[CGROUP_TEXT_RUNTIME] = names.runtime,
			[CGROUP_TEXT_POD] = frame_text(frames, names.pod),
			[CGROUP_TEXT_POD_NAME] = pod_name(frames, pod),
			[CGROUP_TEXT_POD_NAMESPACE] = pod_namespace(frames, pod),
		} };
	}
	return texts;
}
