/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether code may be returned to: the check of a guessed return address. A call is before it, or
 * it is a trampoline (elf/elf_trampoline.h; unit/call_site compares the forms). Freestanding.
 *
 * Encodings: Intel SDM volume 2, CALL; Arm ARM, BL and BLR.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNWIND_CALL_BYTES 8 /* before the address, and from there on */

/* The byte `back` bytes before the address. */
static inline uint8_t unwind_byte_before(uint64_t before, unsigned int back)
{
	return (uint8_t)(before >> (8 - back) * 8);
}

/* FF /2 of a size: call through a register or memory. */
static inline bool unwind_is_indirect_call(uint64_t before, unsigned int size)
{
	return unwind_byte_before(before, size) == 0xff &&
	       (unwind_byte_before(before, size - 1) & 0x38) == 0x10;
}

static inline bool unwind_is_behind_call(uint64_t before)
{
	return unwind_byte_before(before, 5) == 0xe8 || unwind_is_indirect_call(before, 2) ||
	       unwind_is_indirect_call(before, 3) || unwind_is_indirect_call(before, 4) ||
	       unwind_is_indirect_call(before, 6) || unwind_is_indirect_call(before, 7);
}

/* The first instructions of the trampolines of x86, from the address on. */
static inline bool unwind_is_trampoline(uint64_t code)
{
	return (code & 0xffffffffffffffull) == 0x0000000fc0c748ull || /* mov $15, %rax */
	       (code & 0xffffffffffffffull) == 0x050f0000000fb8ull || /* mov $15, %eax; syscall */
	       (code & 0xffffffffffffull) == 0x00000077b858ull || /* i386: pop; mov $119, %eax */
	       (code & 0xffffffffffull) == 0x000000adb8ull ||     /* i386: mov $173, %eax */
	       code == 0x48243c8b48dc8948ull;                     /* __start_context */
}

/* BL, BLR and its forms with pointer authentication. */
static inline bool unwind_is_call_aarch64(uint32_t before)
{
	return before >> 26 == 0x25 || (before & 0xfefff000u) == 0xd63f0000u;
}

/* The bytes before an address and from there on. */
static inline bool unwind_may_return_to(uint64_t before, uint64_t code, bool is_aarch64)
{
	if (is_aarch64)
		return unwind_is_call_aarch64((uint32_t)(before >> 32)) ||
		       (uint32_t)code == 0xd2801168u; /* mov x8, #139: rt_sigreturn */
	return unwind_is_behind_call(before) || unwind_is_trampoline(code);
}
