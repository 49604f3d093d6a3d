/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel module's file that may be anything: linked as the kernel would, then its lines and code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/debug_sections.h"
#include "symbol/kernel/module_file.h"
#include "symbol/lines/line_draft.h"

static void read_lines(const struct module_file *m)
{
	struct line_source source = { 0 };
	struct line_losses losses = { 0 };
	struct debug_sections sections;
	size_t size;

	if (debug_sections_load(&sections, &m->elf, false)) {
		source.code = m->segments;
		source.dwarf = &sections.dwarf;
		free(line_draft_make(&source, &size, &losses));
	}
	free(losses.missing_split);
	debug_sections_fini(&sections);
}

static void read_code(const struct module_file *m)
{
	vec_foreach (&m->segments, s) {
		uint64_t at;

		if (module_file_off(m, s->link_addr, &at) && at >= m->elf.size)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct module_file m = { .size = size };

	m.bytes = xmalloc(size + 1);
	memcpy(m.bytes, bytes, size);
	if (elf_file_open(&m.elf, m.bytes, size, NULL) == 0 && m.elf.type == ET_REL &&
	    m.elf.is_64) {
		module_file_link(&m, NULL);
		read_lines(&m);
		read_code(&m);
	}
	module_file_close(&m);
	return 0;
}
