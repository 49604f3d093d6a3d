/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_trampoline.h"

#include <elf.h>

#include "base/mem.h"

const char *const elf_trampoline_names[N_ELF_TRAMPOLINES] = {
	[ELF_SIGRETURN] = "<signal handler>",
	[ELF_START_CONTEXT] = "__start_context",
};

const struct elf_trampoline_form elf_trampoline_forms[N_ELF_TRAMPOLINE_FORMS] = {
	/* mov $15, %rax; syscall */
	{ ELF_SIGRETURN, 9, EM_X86_64, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ ELF_SIGRETURN, 7, EM_X86_64, 7, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	/* mov $173, %eax; int $0x80 (musl on i386) */
	{ ELF_SIGRETURN, 7, EM_386, 7, { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 } },
	/* mov x8, #139; svc #0 */
	{ ELF_SIGRETURN, 8, EM_AARCH64, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 } },
	/* mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi; je; then call, mov, call, hlt */
	{ ELF_START_CONTEXT,
	  12,
	  EM_X86_64,
	  26,
	  { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08 } },
};

const uint8_t *elf_trampoline_find(enum elf_trampoline kind, uint16_t machine, struct reader code,
				   size_t *size)
{
	const uint8_t *first = NULL;

	for (size_t i = 0; i < N_ELF_TRAMPOLINE_FORMS; i++) {
		const struct elf_trampoline_form *form = &elf_trampoline_forms[i];
		const uint8_t *found;

		if (form->kind != kind || form->machine != machine)
			continue;
		found = memmem(code.at, reader_left(&code), form->bytes, form->n);
		if (!found || (first && first < found) || (size_t)(code.end - found) < form->size)
			continue;
		first = found;
		*size = form->size;
	}
	return first;
}
