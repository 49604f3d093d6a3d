/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc_modules.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	cleanup(free_at_exit) char *text = xstrndup((const char *)bytes, size);
	const char *at = text, *end = text + strlen(text);
	struct proc_module module;

	while (proc_modules_next(&at, &module))
		if (at > end || !module.size || !module.addr ||
		    strnlen(module.name, sizeof(module.name)) == sizeof(module.name))
			__builtin_trap();
	if (at != end)
		__builtin_trap();
	return 0;
}
