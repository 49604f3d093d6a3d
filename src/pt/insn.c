/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/insn.h"

#include <Zydis/Zydis.h>
#include <assert.h>

static enum pt_end end_of(const ZydisDecodedInstruction *i)
{
	bool is_direct = i->raw.imm[0].is_relative;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
		return PT_END_FALL; /* an abort comes as an asynchronous event */
	default:
		break;
	}
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PT_END_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_direct ? PT_END_JUMP : PT_END_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return is_direct ? PT_END_CALL : PT_END_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return i->mnemonic == ZYDIS_MNEMONIC_RET ? PT_END_RETURN : PT_END_IRET;
	case ZYDIS_CATEGORY_SYSCALL:
		return PT_END_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return PT_END_SYSRET;
	case ZYDIS_CATEGORY_INTERRUPT:
		return PT_END_INTERRUPT;
	default:
		return PT_END_FALL;
	}
}

bool pt_insn_is_supported(void)
{
	return true;
}

bool pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	assert(width == 16 || width == 32 || width == 64);
	ZydisDecoderInit(&decoder,
			 width == 64   ? ZYDIS_MACHINE_MODE_LONG_64
			 : width == 32 ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32
				       : ZYDIS_MACHINE_MODE_LONG_COMPAT_16,
			 width == 64   ? ZYDIS_STACK_WIDTH_64
			 : width == 32 ? ZYDIS_STACK_WIDTH_32
				       : ZYDIS_STACK_WIDTH_16);
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &insn)))
		return false;
	assert(insn.length && insn.length <= PT_INSN_MAX && insn.length <= n);
	*out = (struct pt_insn){
		.size = insn.length,
		.end = (uint8_t)end_of(&insn),
		.is_direct = insn.raw.imm[0].is_relative,
		.distance = insn.raw.imm[0].value.u,
	};
	return true;
}
