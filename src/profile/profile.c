/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"

#include <string.h>

#include "event/event.h"
#include "lang/language.h"
#include "store/session.h"
#include "symbol/addresses.h"

static bool is_guest_kernel(const struct image *image)
{
	return image->kind == IMAGE_NAMED &&
	       (!strncmp(image->path, IMAGE_GUEST_KERNEL, strlen(IMAGE_GUEST_KERNEL)) ||
		!strncmp(image->path, IMAGE_GUEST_MODULE, strlen(IMAGE_GUEST_MODULE)));
}

enum code_mode image_code_mode(const struct image *image)
{
	static const enum code_mode modes[N_IMAGE_KINDS] = {
		[IMAGE_UNKNOWN] = CODE_UNKNOWN, [IMAGE_FILE] = CODE_USER,
		[IMAGE_KERNEL] = CODE_KERNEL,   [IMAGE_MODULE] = CODE_KERNEL,
		[IMAGE_VDSO] = CODE_USER,       [IMAGE_BPF] = CODE_KERNEL,
		[IMAGE_JIT] = CODE_USER,        [IMAGE_NAMED] = CODE_USER,
		[IMAGE_LANGUAGE] = CODE_USER,
	};

	if (is_guest_kernel(image))
		return CODE_KERNEL;
	return image->kind < N_IMAGE_KINDS ? modes[image->kind] : CODE_UNKNOWN;
}

const char profile_no_line[] = "(no line)";

uint32_t image_language(const struct image *image)
{
	return image->kind == IMAGE_LANGUAGE ? (uint32_t)image->language : LANGUAGE_NONE;
}

const char *const code_mode_names[N_CODE_MODES] = {
	[CODE_USER] = "user", [CODE_KERNEL] = "kernel", [CODE_UNKNOWN] = "unknown"
};

uint32_t profile_class_value(const struct profile *p, enum profile_key key, uint32_t group)
{
	for (size_t i = 0; i < p->class_keys.n; i++)
		if (p->class_keys.key[i] == key)
			return p->group_values.data[group * p->class_keys.n + i];
	return NO_INDEX;
}

int32_t profile_cpu(const struct profile *p, uint32_t group)
{
	uint32_t cpu = profile_class_value(p, PROFILE_CPU, group);

	return cpu == PROFILE_CPU_ALL ? CLASS_ALL : (int32_t)cpu;
}

uint64_t profile_address(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct symbol_table *table = p->images.data[f->image].table;
	uint64_t offset = f->offset;

	if (offset == NO_OFFSET && table && f->symbol != NO_SYMBOL)
		offset = symbol_get(table, f->symbol).offset;
	if (offset == NO_OFFSET)
		return 0;
	return table ? symbol_link_addr(p->symbols, table, offset) : offset;
}

bool profile_period_is_constant(const struct profile *p, uint32_t lane)
{
	const struct weight *total = &p->lanes[lane].total;
	uint64_t each = total->samples ? total->period / total->samples : 0;

	for (size_t i = 0; i < p->entries.n; i++) {
		const struct weight *w = &profile_weights(p, i)[lane];

		if (w->period != each * w->samples)
			return false;
	}
	return !p->lanes[lane].periods_vary;
}

bool profile_weighs_by_period(const struct profile *p)
{
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (!profile_period_is_constant(p, lane))
			return true;
	return false;
}
