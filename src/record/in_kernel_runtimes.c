/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel_runtimes.h"

#include <linux/capability.h>

#include "collect/sampler.h"
#include "counter/sources.h"
#include "guard/opener.h"
#include "lang/language.h"
#include "pipeline/pipeline.h"

/* Of any process that runs Java or JavaScript. */
static bool may_read_memory(void)
{
	return sources_capable(NULL, CAP_SYS_PTRACE) || opener_is_there();
}

/* False: its file is still looked at, also if samples do not wait for that any more. */
static bool examine_file(struct in_kernel *k, const struct examination *e)
{
	int32_t pid = k->files.data[e->number].seen.pid;
	const struct label_places *labels;
	const struct lang_runtime *runtime;
	image_id image = e->image;

	if (pipeline_is_file_late(k->pipeline, image) ||
	    !pipeline_look_at_image(k->pipeline, pid, &image))
		return false;
	labels = pipeline_label_places(k->pipeline, image);
	if (labels)
		sampler_set_labels(k->sampler, e->number, labels);
	runtime = pipeline_runtime(k->pipeline, image);
	if (!runtime)
		return true;
	if (k->with_tables && (!language_is_on_stack(runtime->language) || may_read_memory()))
		sampler_set_runtime(k->sampler, e->number, runtime);
	else if (language_is_on_stack(runtime->language))
		pipeline_lose_runtime(k->pipeline, runtime);
	return true;
}

void in_kernel_examine(struct in_kernel *k, uint32_t number, image_id image)
{
	const struct examination e = { number, image };

	if (!examine_file(k, &e))
		vec_push(&k->to_examine, e);
}

void in_kernel_examine_again(struct in_kernel *k)
{
	size_t kept = 0;

	pipeline_take_looks(k->pipeline);
	k->n_late = 0;
	vec_foreach (&k->to_examine, e)
		if (!examine_file(k, e)) {
			k->n_late += pipeline_is_file_late(k->pipeline, e->image);
			k->to_examine.data[kept++] = *e;
		}
	k->to_examine.n = kept;
}
