/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_sigreturn.h"

#include <elf.h>

#include "base/mem.h"

static const struct {
	uint16_t machine;
	uint8_t size;
	uint8_t bytes[9];
} forms[] = {
	/* mov $15, %rax; syscall */
	{ EM_X86_64, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ EM_X86_64, 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov x8, #139; svc #0 */
	{ EM_AARCH64, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } },
};

const uint8_t *elf_sigreturn_find(uint16_t machine, struct reader code, size_t *size)
{
	const uint8_t *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const uint8_t *found;

		if (forms[i].machine != machine)
			continue;
		found = memmem(code.at, reader_left(&code), forms[i].bytes, forms[i].size);
		if (!found || (first && first < found))
			continue;
		first = found;
		*size = forms[i].size;
	}
	return first;
}
