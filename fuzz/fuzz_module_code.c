/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel module's file that may be anything: its code, relocated and patched as in memory. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "symbol/kernel/module_code.h"

#define LOADED 0xffffffffc0200000ULL
#define KERNEL 0xffffffff81000000ULL

/* Short names are known, so that calls have targets; one is the thunk of rax. */
static uint64_t symbol_of_kernel(void *context, const char *name)
{
	(void)context;
	if (!strcmp(name, "__x86_indirect_thunk_rax"))
		return KERNEL + 8;
	return strlen(name) < 24 ? KERNEL : 0;
}

static void read_all(const struct module_code *c)
{
	uint8_t bytes[64];

	for (enum module_byte least = MODULE_UNKNOWN; least <= MODULE_KNOWN; least++)
		for (uint64_t off = 0; off < 1 << 16; off += 61)
			if (module_code_read(c, LOADED + off - 32, least, bytes, sizeof(bytes)) >
			    sizeof(bytes))
				abort();
}

/* Two tables of the loaded module, each of 256 times the file at most, and the usual 64 bytes. */
const struct fuzz_limits fuzz_limits = { .bytes_a_byte = 576 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint8_t memory[] = { 0xe9, 0, 0, 0, 0, 0xc3, 0xff, 0xd0, 0xe9, 1, 2, 3, 0 };
	struct module_kernel kernel = { .symbol = symbol_of_kernel, .memory_addr = KERNEL };
	struct module_file m = { .size = size };
	struct module_code *code;

	if (size % 2)
		kernel.memory = reader_over(memory, sizeof(memory));
	m.bytes = xmalloc(size + 1);
	memcpy(m.bytes, bytes, size);
	if (elf_file_open(&m.elf, m.bytes, size, NULL) == 0 && m.elf.type == ET_REL &&
	    m.elf.is_64) {
		module_file_link(&m, NULL);
		module_kernel_learn(&kernel);
		code = module_code_new(&m, LOADED, &kernel);
		if (code)
			read_all(code);
		module_code_free(code);
	}
	module_file_close(&m);
	return 0;
}
