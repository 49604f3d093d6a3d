/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "classify.h"

#include <Zydis/Zydis.h>

static enum branch_kind kind_of(const ZydisDecodedInstruction *i,
				const ZydisDecodedOperand *operands)
{
	bool is_direct = i->operand_count && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	/* Far returns of the kernel, which are returns for Zydis. */
	if (i->mnemonic == ZYDIS_MNEMONIC_IRET || i->mnemonic == ZYDIS_MNEMONIC_IRETD ||
	    i->mnemonic == ZYDIS_MNEMONIC_IRETQ)
		return BRANCH_SYSTEM;
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return BRANCH_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_direct ? BRANCH_JUMP : BRANCH_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return is_direct ? BRANCH_CALL : BRANCH_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return BRANCH_RETURN;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return BRANCH_SYSTEM;
	default:
		return BRANCH_NONE;
	}
}

enum branch_kind classify(unsigned int width, const uint8_t *bytes, size_t size, uint8_t *insn_size)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	bool is_good;

	if (width == 64)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	is_good = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn, operands));
	if (insn_size)
		*insn_size = is_good ? insn.length : 0;
	return is_good ? kind_of(&insn, operands) : BRANCH_NONE;
}
