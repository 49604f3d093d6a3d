/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>

#include "symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct kallsyms k = { 0 };

	kallsyms_parse(&k, (const char *)bytes, size);
	vec_foreach (&k.symbols, s) {
		/* Names stay inside the text. */
		if (s->name && (s->name < (const char *)bytes ||
				s->name + s->name_len > (const char *)bytes + size))
			__builtin_trap();
		if (s->module >= k.modules.n)
			__builtin_trap();
	}
	kallsyms_module(&k, "[ext4]");
	kallsyms_fini(&k);
	return 0;
}
