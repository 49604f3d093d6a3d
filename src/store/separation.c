/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/separation_words.h"
#include "store/store.h"

/* As in OProfile, code without a file always belongs to its application. */
static bool is_own_application(const struct image *image, uint32_t merged)
{
	if (image_is_kernel_code(image))
		return merged & SEPARATE_KERNEL;
	return image->kind == IMAGE_FILE && (merged & SEPARATE_LIB);
}

void class_merge(struct profile_class *class, const struct image *leaf, image_id leaf_id,
		 uint32_t merged)
{
	if (is_own_application(leaf, merged))
		class->app = leaf_id;
	if (merged & SEPARATE_PROCESS)
		class->pid = CLASS_ALL;
	if (merged & SEPARATE_THREAD)
		class->tid = CLASS_ALL;
	if ((merged & SEPARATE_PROCESS) && (merged & SEPARATE_THREAD))
		class->comm = (string_id){ 0 };
	if (merged & SEPARATE_CPU)
		class->cpu = (uint32_t)CLASS_ALL;
	if (merged & SEPARATE_CGROUP)
		class->cgroup = (string_id){ 0 };
}
