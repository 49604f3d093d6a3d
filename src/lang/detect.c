/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/detect.h"

#include "base/mem.h"
#include "lang/go_labels.h"
#include "lang/hotspot.h"
#include "lang/language.h"
#include "lang/perl.h"
#include "lang/php.h"
#include "lang/python.h"
#include "lang/ruby.h"
#include "lang/thread_context.h"
#include "lang/v8.h"

typedef enum lang_detected (*detect_function)(const struct elf_file *elf, struct lang_runtime *out,
					      char *why, size_t why_size);

static const detect_function detectors[] = { python_detect, php_detect,     ruby_detect,
					     perl_detect,   hotspot_detect, v8_detect };

bool lang_is_interpreter(const struct lang_runtime *runtime, uint64_t file_off)
{
	for (size_t i = 0; i < RUNTIME_RANGES; i++)
		if (file_off >= runtime->ranges[i].start && file_off < runtime->ranges[i].end)
			return true;
	return runtime->language == LANGUAGE_RUBY && file_off >= runtime->ruby.dispatcher &&
	       file_off < runtime->ruby.dispatcher_end;
}

enum lang_detected lang_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size)
{
	for (size_t i = 0; i < ARRAY_SIZE(detectors); i++) {
		enum lang_detected found;

		*out = (struct lang_runtime){ 0 };
		found = detectors[i](elf, out, why, why_size);
		if (found != LANG_NONE)
			return found;
	}
	go_labels_find(elf, out);
	if (!out->version)
		thread_context_find(elf, out);
	return LANG_NONE;
}
