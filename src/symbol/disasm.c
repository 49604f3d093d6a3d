/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/disasm.h"

#include "config.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_ZYDIS
#include <Zydis/Zydis.h>
#endif
#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

#include "base/error.h"
#include "base/lazy_library.h"
#include "base/mem.h"

struct disassembler {
	bool is_x86, is_64; /* is_x86: Zydis decodes it */
#ifdef HAVE_ZYDIS
	ZydisDecoder decoder;
	ZydisFormatter formatter;
#endif
#ifdef HAVE_CAPSTONE
	csh capstone;
	cs_insn *insn;
#endif
};

/* ---- x86 ---- */

#ifdef HAVE_ZYDIS

static bool is_jump(ZydisInstructionCategory category)
{
	return category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool open_x86(struct disassembler *d, uint16_t machine)
{
	ZydisMachineMode mode =
		d->is_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32;

	if (machine != EM_X86_64 && machine != EM_386)
		return false;
	d->is_x86 = true;
	ZydisDecoderInit(&d->decoder, mode, d->is_64 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
	ZydisFormatterInit(&d->formatter, ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	return true;
}

/* The first operand that is a place: a branch's target, or relative to the instruction. */
static void find_target(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
			struct instruction *out)
{
	for (uint8_t i = 0; i < in->operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &operands[i];
		bool is_branch = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative;
		bool is_relative =
			o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP;

		if ((is_branch || is_relative) &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, o, out->offset, &out->target))) {
			out->has_target = true;
			out->is_jump = is_branch && is_jump(in->meta.category);
			out->is_call = in->meta.category == ZYDIS_CATEGORY_CALL;
			return;
		}
	}
}

static bool decode_x86(const struct disassembler *d, const uint8_t *bytes, size_t size,
		       struct instruction *out)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;

	if (!d->is_x86 ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->decoder, bytes, size, &in, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&d->formatter, &in, operands,
							  in.operand_count_visible, out->text,
							  sizeof(out->text), out->offset, NULL)))
		return false;
	out->size = in.length;
	find_target(&in, operands, out);
	return true;
}

#else

static bool open_x86(struct disassembler *d, uint16_t machine)
{
	(void)d, (void)machine;
	return false;
}

static bool decode_x86(const struct disassembler *d, const uint8_t *bytes, size_t size,
		       struct instruction *out)
{
	(void)d, (void)bytes, (void)size, (void)out;
	return false;
}

#endif

/* ---- others, and x86 without Zydis ---- */

#ifdef HAVE_CAPSTONE

static const struct {
	uint16_t machine;
	cs_arch arch;
	cs_mode mode_32, mode_64;
} machines[] = {
	{ EM_X86_64, CS_ARCH_X86, CS_MODE_32, CS_MODE_64 },
	{ EM_386, CS_ARCH_X86, CS_MODE_32, CS_MODE_64 },
	{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, CS_MODE_ARM },
	{ EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, CS_MODE_ARM },
	{ EM_PPC64, CS_ARCH_PPC, CS_MODE_32, CS_MODE_64 },
#if CS_API_MAJOR > 4
	{ EM_RISCV, CS_ARCH_RISCV, CS_MODE_RISCV32 | CS_MODE_RISCVC,
	  CS_MODE_RISCV64 | CS_MODE_RISCVC },
#endif
};

#define FUNCTIONS(X)     \
	X(cs_open)       \
	X(cs_option)     \
	X(cs_malloc)     \
	X(cs_free)       \
	X(cs_close)      \
	X(cs_insn_group) \
	X(cs_disasm_iter)

static struct {
	FUNCTIONS(LAZY_POINTER)
} lib;

static bool disasm_load(void)
{
#define ROW(function) { #function, &lib.function },
	static const struct lazy_function functions[] = { FUNCTIONS(ROW) };
#undef ROW

	return lib.cs_disasm_iter ||
	       lazy_library_load(CAPSTONE_SONAMES, functions, ARRAY_SIZE(functions), NULL) == 0;
}

static bool open_capstone(struct disassembler *d, uint16_t machine)
{
	if (!disasm_load())
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		if (machines[i].machine != machine ||
		    lib.cs_open(machines[i].arch,
				d->is_64 ? machines[i].mode_64 : machines[i].mode_32,
				&d->capstone) != CS_ERR_OK)
			continue;
		lib.cs_option(d->capstone, CS_OPT_DETAIL, CS_OPT_ON);
		if (machines[i].arch == CS_ARCH_X86)
			lib.cs_option(d->capstone, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
		d->insn = lib.cs_malloc(d->capstone);
		return true;
	}
	return false;
}

static void close_capstone(struct disassembler *d)
{
	if (d->insn)
		lib.cs_free(d->insn, 1);
	if (d->capstone)
		lib.cs_close(&d->capstone);
}

/* On every processor, the text of a branch ends with its target. */
static void find_branch(const struct disassembler *d, const cs_insn *in, struct instruction *out)
{
	const char *number = strrchr(in->op_str, '#');
	bool is_call = lib.cs_insn_group(d->capstone, in, CS_GRP_CALL);

	if ((!is_call && !lib.cs_insn_group(d->capstone, in, CS_GRP_JUMP)) ||
	    strchr(in->op_str, '*')) /* x86: through a register or memory */
		return;
	if (!number)
		number = strstr(in->op_str, "0x");
	if (!number)
		return;
	out->has_target = true;
	out->is_call = is_call;
	out->is_jump = !is_call;
	out->target = strtoull(number + (*number == '#'), NULL, 0);
}

static bool decode_other(const struct disassembler *d, const uint8_t *bytes, size_t size,
			 struct instruction *out)
{
	uint64_t address = out->offset;

	if (!d->capstone || !lib.cs_disasm_iter(d->capstone, &bytes, &size, &address, d->insn))
		return false;
	out->size = (uint8_t)d->insn->size;
	snprintf(out->text, sizeof(out->text), "%s%s%s", d->insn->mnemonic,
		 *d->insn->op_str ? " " : "", d->insn->op_str);
	find_branch(d, d->insn, out);
	return true;
}

#else

static bool open_capstone(struct disassembler *d, uint16_t machine)
{
	(void)d, (void)machine;
	return false;
}

static void close_capstone(struct disassembler *d)
{
	(void)d;
}

static bool decode_other(const struct disassembler *d, const uint8_t *bytes, size_t size,
			 struct instruction *out)
{
	(void)d, (void)bytes, (void)size, (void)out;
	return false;
}

#endif

int disassembler_open(uint16_t machine, bool is_64, struct disassembler **out, struct error *err)
{
	struct disassembler *d = xcalloc(1, sizeof(*d));

	d->is_64 = is_64;
	if (!open_x86(d, machine) && !open_capstone(d, machine)) {
		disassembler_close(d);
		return error_set(err, -ENOTSUP,
				 "instructions of ELF machine %u can't be decoded here "
				 "(this needs libcapstone)",
				 machine);
	}
	*out = d;
	return 0;
}

void disassembler_close(struct disassembler *d)
{
	if (!d)
		return;
	close_capstone(d);
	free(d);
}

void disassemble(struct disassembler *d, const uint8_t *bytes, size_t size, uint64_t offset,
		 struct instruction *out)
{
	*out = (struct instruction){ .offset = offset, .size = 1 };
	if (decode_x86(d, bytes, size, out) || decode_other(d, bytes, size, out))
		return;
	out->is_bad = true;
	snprintf(out->text, sizeof(out->text), ".byte 0x%02x", bytes[0]);
}
