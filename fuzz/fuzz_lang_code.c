/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function as the in-kernel sampler read it: struct lang_code, and behind it positions. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lang/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct lang_code code;
	struct buf text = { 0 };

	memset(&code, 0, sizeof(code));
	memcpy(&code, bytes, MIN(size, sizeof(code)));
	lang_append_text(&code.name, &text);
	lang_append_file(&code, &text);
	lang_append_name(&code, &text);
	/* A character has at most 4 bytes here, and at least 1 there. */
	if (text.len > 4 * 4 * LANG_TEXT_MAX + strlen("<main>"))
		__builtin_trap();
	for (uint32_t i = 0; i < 64; i++)
		if (lang_line(&code, i * i) > LANG_LINE_LIMIT)
			__builtin_trap();
	lang_line(&code, UINT32_MAX);
	buf_fini(&text);
	return 0;
}
