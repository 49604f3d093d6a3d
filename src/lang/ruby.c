/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/ruby.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/aarch64.h"
#include "lang/language.h"
#include "lang/loop.h"

#define VERSION(major, minor) ((major) << 8 | (minor))

/*
 * Offsets by version, from vm_core.h, iseq.h and include/ruby/internal/core/rstring.h of each
 * release. A version is the first one that has them.
 */
static const struct ruby_version {
	uint32_t version;
	struct ruby_layout layout;
} ruby_versions[] = {
	{ VERSION(2, 7),
	  { .context = RUBY_CONTEXT_GLOBAL,
	    .context_thread = 56,
	    .thread_id = 72,
	    .frame_size = 56,
	    .string_embedded = 16,
	    .code_lines = 120,
	    .line_entry = 8,
	    .is_line_value = 1 } },
	{ VERSION(3, 0),
	  { .context = RUBY_CONTEXT_TLS,
	    .frame_size = 56,
	    .string_embedded = 16,
	    .code_lines = 120,
	    .line_entry = 8,
	    .is_line_value = 1 } },
	{ VERSION(3, 1),
	  { .context = RUBY_CONTEXT_TLS,
	    .frame_size = 64,
	    .string_embedded = 16,
	    .code_lines = 120,
	    .line_entry = 12,
	    .is_line_value = 1 } },
	{ VERSION(3, 2),
	  { .context = RUBY_CONTEXT_TLS,
	    .frame_size = 64,
	    .string_embedded = 24,
	    .code_lines = 112,
	    .line_entry = 12 } },
	{ VERSION(3, 3),
	  { .context = RUBY_CONTEXT_TLS,
	    .frame_size = 56,
	    .string_embedded = 24,
	    .code_lines = 112,
	    .line_entry = 12 } },
	{ VERSION(3, 4),
	  { .context = RUBY_CONTEXT_TLS,
	    .frame_size = 56,
	    .string_embedded = 24,
	    .code_lines = 112,
	    .line_entry = 12 } },
};

static uint32_t find_ruby_version(const struct elf_file *elf, const struct elf_symbol *version)
{
	struct reader r = elf_bytes_at(elf, version->link_addr);
	char text[8] = "";
	const void *at = reader_bytes(&r, sizeof(text) - 1);
	unsigned int major, minor;

	if (!at)
		return 0;
	memcpy(text, at, sizeof(text) - 1);
	return sscanf(text, "%2u.%2u.", &major, &minor) == 2 ? VERSION(major, minor) : 0;
}

#define ACCESSOR_MAX 64 /* bytes of code that are looked at */

/* The code of an exported function, at most `most` bytes; *n is their number. */
static const uint8_t *code_of(const struct elf_file *elf, const char *name, size_t most,
			      uint64_t *link_addr, size_t *n)
{
	struct elf_symbol symbol;
	struct reader r;

	*n = 0;
	if (!elf_symbol_exported(elf, name, &symbol))
		return NULL;
	r = elf_bytes_at(elf, symbol.link_addr);
	*n = MIN(MIN(reader_left(&r), (size_t)symbol.size), most);
	*link_addr = symbol.link_addr;
	return r.at;
}

/*
 * Where the loader puts module and offset of the thread's execution context: what
 * rb_thread_current() gives to __tls_get_addr(). 0: its code has another form.
 */
static uint64_t find_tls_slot(const struct elf_file *elf)
{
	uint64_t link_addr = 0;
	size_t n;
	const uint8_t *code = code_of(elf, "rb_thread_current", ACCESSOR_MAX, &link_addr, &n);

	for (size_t i = 0; i + 12 <= n; i++)
		if (!memcmp(code + i, "\x66\x48\x8d\x3d", 4) &&   /* lea slot(%rip),%rdi */
		    !memcmp(code + i + 8, "\x66\x66\x48\xe8", 4)) /* call __tls_get_addr */
			return link_addr + i + 8 + (uint64_t)loop_displacement(code + i + 4);
	return 0;
}

/*
 * The same on AArch64: the descriptor that is in x0 where the code calls the descriptor's function.
 * rb_thread_current() may leave that to a function of its own.
 */
static uint64_t find_tls_descriptor(const struct elf_file *elf)
{
	struct elf_symbol symbol;
	struct aarch64_code code;
	struct aarch64_values values = { 0 };
	bool is_followed = false;

	if (!elf_symbol_exported(elf, "rb_thread_current", &symbol))
		return 0;
	code = aarch64_code_at(elf, symbol.link_addr, ACCESSOR_MAX);
	for (size_t i = 0; i < code.n; i++) {
		uint64_t target;
		bool is_call;

		if (aarch64_is_call(aarch64_insn(&code, i)))
			return values.of[0].kind == AARCH64_ADDRESS ? values.of[0].addr : 0;
		aarch64_follow(&values, &code, i);
		if (is_followed || !aarch64_branch(&code, i, &target, &is_call) || !is_call)
			continue;
		code = aarch64_code_at(elf, target, ACCESSOR_MAX);
		i = SIZE_MAX; /* its first instruction is next */
		is_followed = true;
	}
	return 0;
}

/* `symbol`: the variable, if it is an exported one; else without an address. */
static uint64_t find_context(const struct elf_file *elf, const struct ruby_layout *l,
			     struct elf_symbol *symbol)
{
	symbol->link_addr = 0;
	if (l->context == RUBY_CONTEXT_TLS && elf->machine == EM_AARCH64)
		return find_tls_descriptor(elf);
	if (l->context == RUBY_CONTEXT_TLS)
		return find_tls_slot(elf);
	return elf_symbol_exported(elf, "ruby_current_execution_context_ptr", symbol)
		       ? symbol->link_addr
		       : 0;
}

#define NAMES_MAX    192 /* bytes of code that are looked at */
#define NAMES_OFFSET 16  /* of the array of names, behind the last number (symbol.h) */

/* Whether an int can be there that the program changes. */
static bool is_variable(const struct elf_file *elf, uint64_t addr)
{
	struct elf_segment segment;

	for (uint32_t i = 0; addr % 4 == 0 && elf_segment(elf, i, &segment); i++)
		if (segment.type == PT_LOAD && (segment.flags & PF_W) &&
		    addr - segment.link_addr < segment.mem_size)
			return true;
	return false;
}

/*
 * The first comparison of a register with a variable of 32 bits, which is the last number in use;
 * 0: none.
 */
static uint64_t find_last_id(const struct elf_file *elf, const uint8_t *code, size_t n,
			     uint64_t link_addr)
{
	for (size_t i = 0; i + 6 <= n; i++) {
		uint64_t addr = link_addr + i + 6 + (uint64_t)loop_displacement(code + i + 2);
		bool is_comparison = (code[i] == 0x39 || code[i] == 0x3b) &&
				     (code[i + 1] & 0xc7) == 0x05 &&
				     !(i && (code[i - 1] & 0xf8) == 0x48);

		if (is_comparison && is_variable(elf, addr))
			return addr;
	}
	return 0;
}

/* The same on AArch64: of two registers that are compared from `from` on, one has the variable. */
static uint64_t find_last_id_of_aarch64(const struct aarch64_code *code, size_t from)
{
	struct aarch64_values values = { 0 };

	for (size_t i = 0; i < code->n; i++) {
		uint32_t left, right;

		if (i < from || !aarch64_compares(aarch64_insn(code, i), &left, &right)) {
			aarch64_follow(&values, code, i);
			continue;
		}
		if (values.of[left].kind == AARCH64_LOADED)
			return values.of[left].addr;
		if (values.of[right].kind == AARCH64_LOADED)
			return values.of[right].addr;
	}
	return 0;
}

static void find_names_of_aarch64(const struct elf_file *elf, uint64_t base,
				  struct ruby_layout *out)
{
	struct elf_symbol symbol;
	struct aarch64_code code, other;
	uint64_t last = 0, target;
	bool is_call;

	if (!elf_symbol_exported(elf, "rb_id2str", &symbol))
		return;
	code = aarch64_code_at(elf, symbol.link_addr, MIN(symbol.size, (size_t)NAMES_MAX));
	for (size_t i = 0; i < code.n && !out->last_operator; i++) {
		uint32_t reg, number;

		if (!aarch64_compares_number(aarch64_insn(&code, i), &reg, &number) || reg != 0)
			continue;
		out->last_operator = (uint16_t)number;
		last = find_last_id_of_aarch64(&code, i + 1);
	}
	for (size_t i = 0; i < code.n && !last; i++) {
		if (!aarch64_branch(&code, i, &target, &is_call) || is_call ||
		    target - symbol.link_addr < symbol.size)
			continue;
		other = aarch64_code_at(elf, target, NAMES_MAX); /* get_id_serial_entry() */
		last = find_last_id_of_aarch64(&other, 0);
	}
	if (last && out->last_operator)
		out->symbols = last + NAMES_OFFSET - base;
}

/* Names of C functions, by the code of rb_id2str(). Without them, those functions have no names. */
static void find_names(const struct elf_file *elf, uint64_t base, struct ruby_layout *out)
{
	/* cmp $last_operator of %rdi or %rax */
	static const struct {
		const char *bytes;
		size_t size;
	} compares[] = { { "\x48\x81\xff", 3 }, { "\x48\x3d", 2 } };
	uint64_t link_addr = 0, last = 0;
	size_t n;
	const uint8_t *code = code_of(elf, "rb_id2str", NAMES_MAX, &link_addr, &n);

	for (size_t i = 0; i + 7 <= n && !out->last_operator; i++)
		for (size_t k = 0; k < ARRAY_SIZE(compares); k++) {
			if (memcmp(code + i, compares[k].bytes, compares[k].size) != 0)
				continue;
			out->last_operator =
				(uint16_t)loop_displacement(code + i + compares[k].size);
			last = find_last_id(elf, code + i, n - i, link_addr + i);
			break;
		}
	for (size_t i = 0; !last && i + 5 <= n; i++)
		if (code[i] == 0xe9) { /* jmp get_id_serial_entry */
			uint64_t at = link_addr + i + 5 + (uint64_t)loop_displacement(code + i + 1);
			struct reader r = elf_bytes_at(elf, at);

			last = find_last_id(elf, r.at, MIN(reader_left(&r), (size_t)NAMES_MAX), at);
		}
	if (last && out->last_operator) /* else names would be those of others */
		out->symbols = last + NAMES_OFFSET - base;
}

static bool find_loop(const struct elf_file *elf, struct lang_runtime *out)
{
	struct elf_symbol loop;

	return elf_symbol_exported(elf, "rb_vm_exec", &loop) ? loop_find(elf, &loop, out)
							     : loop_find_unnamed(elf, out);
}

enum lang_detected ruby_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size)
{
	const struct ruby_layout *layout = NULL;
	struct elf_symbol version, entry, variable;
	uint64_t base, context;

	if (!elf_symbol_exported(elf, "ruby_version", &version) ||
	    !elf_symbol_exported(elf, "rb_thread_current", &entry))
		return LANG_NONE;
	out->language = LANGUAGE_RUBY;
	out->version = find_ruby_version(elf, &version);
	for (size_t i = 0; i < ARRAY_SIZE(ruby_versions); i++)
		if (ruby_versions[i].version == out->version)
			layout = &ruby_versions[i].layout;
	if (!lang_find_libc(elf, out) || !layout)
		return lang_refuse(elf, out, why, why_size);
	context = find_context(elf, layout, &variable);
	if (!context || !loop_base(elf, entry.link_addr, &base) || !find_loop(elf, out))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	out->ruby = *layout;
	loop_find_dispatcher(elf, out, &out->ruby.dispatcher, &out->ruby.dispatcher_end);
	out->state = context - base;
	if (variable.link_addr)
		lang_find_variable(elf, &variable, base, &out->state_variable);
	if (out->is_aarch64)
		find_names_of_aarch64(elf, base, &out->ruby);
	else
		find_names(elf, base, &out->ruby);
	return LANG_FOUND;
}
