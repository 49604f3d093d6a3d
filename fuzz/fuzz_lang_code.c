/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function as the in-kernel sampler read it: struct lang_code, and behind it positions. Also the
 * process context of OpenTelemetry.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lang/code.h"
#include "lang/process_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The same bytes as the names of a process's attributes. */
static void look_at_context(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { "http.route", "" };
	struct process_context context;
	uint16_t keys[2];

	process_context_keys(bytes, size, names, 2, keys);
	for (size_t i = 0; i < 2; i++)
		if (keys[i] > 255 && keys[i] != PROCESS_CONTEXT_NO_KEY)
			__builtin_trap();
	if (size >= PROCESS_CONTEXT_HEADER && process_context_read(bytes, &context) &&
	    context.payload_size > PROCESS_CONTEXT_MAX)
		__builtin_trap();
}

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
	look_at_context(bytes, size);
	buf_fini(&text);
	return 0;
}
