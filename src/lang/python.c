/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/python.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/aarch64.h"
#include "lang/language.h"
#include "lang/loop.h"

#define VERSION(minor) (3u << 8 | (minor))

/*
 * CPython's structures by minor version, from Include/ and Include/internal/ of each release:
 *
 *   thread_*       PyThreadState (pystate.h, cpython/pystate.h)
 *   cframe_*       _PyCFrame (cpython/pystate.h), 3.11 and 3.12 alone
 *   frame_*        PyFrameObject (frameobject.h) up to 3.10; then _PyInterpreterFrame
 *                  (internal/pycore_frame.h)
 *   code_*         PyCodeObject (code.h, cpython/code.h)
 *   text_*         PyASCIIObject, PyCompactUnicodeObject (unicodeobject.h)
 *
 * Since 3.13 the program has the same numbers in _PyRuntime (internal/pycore_debug_offsets.h). All
 * are of builds for 64 bits with the global lock.
 */
static const struct version {
	unsigned int minor;
	struct python_layout layout;
} versions[] = {
#define OLD(minor, id, place, kind, size, line, file, name, lines)                             \
	{                                                                                      \
		minor,                                                                         \
		{                                                                              \
			.thread_frame = 24, .cframe_frame = PYTHON_NO_CFRAME, .thread_id = id, \
			.frame_size = 128, .frame_back = 24, .frame_code = 32,                 \
			.frame_place = place, .frames = kind, .code_size = size,               \
			.code_first_line = line, .code_file = file, .code_name = name,         \
			.code_lines = lines, .text_ascii = 48, .text_wide = 72                 \
		}                                                                              \
	}
	OLD(6, 152, 120, PYTHON_FRAMES_BYTES, 144, 36, 96, 104, 112),
	OLD(7, 176, 104, PYTHON_FRAMES_BYTES, 144, 36, 96, 104, 112),
	OLD(8, 176, 104, PYTHON_FRAMES_BYTES, 176, 40, 104, 112, 120),
	OLD(9, 176, 104, PYTHON_FRAMES_BYTES, 176, 40, 104, 112, 120),
	OLD(10, 176, 96, PYTHON_FRAMES_UNITS, 176, 40, 104, 112, 120),
#undef OLD
	/* From here on, code_name is co_qualname: "K.method". */
	{ 11,
	  { .thread_frame = 56,
	    .cframe_frame = 8,
	    .thread_id = 152,
	    .frame_size = 72,
	    .frame_back = 48,
	    .frame_code = 32,
	    .frame_place = 56,
	    .frame_mark = 68,
	    .frames = PYTHON_FRAMES_MARKED,
	    .code_size = 184,
	    .code_bytecode = 184,
	    .code_first_line = 72,
	    .code_file = 112,
	    .code_name = 128,
	    .code_lines = 136,
	    .text_ascii = 48,
	    .text_wide = 72 } },
	{ 12,
	  { .thread_frame = 56,
	    .cframe_frame = 0,
	    .thread_id = 136,
	    .frame_size = 72,
	    .frame_back = 8,
	    .frame_code = 0,
	    .frame_place = 56,
	    .frame_mark = 70,
	    .frames = PYTHON_FRAMES_SHIMS,
	    .code_size = 192,
	    .code_bytecode = 192,
	    .code_first_line = 68,
	    .code_file = 112,
	    .code_name = 128,
	    .code_lines = 136,
	    .text_ascii = 40,
	    .text_wide = 56 } },
	{ 13,
	  { .thread_frame = 72,
	    .cframe_frame = PYTHON_NO_CFRAME,
	    .thread_id = 152,
	    .frame_size = 72,
	    .frame_back = 8,
	    .frame_code = 0,
	    .frame_place = 56,
	    .frame_mark = 70,
	    .frames = PYTHON_FRAMES_SHIMS,
	    .code_size = 200,
	    .code_bytecode = 200,
	    .code_first_line = 68,
	    .code_file = 112,
	    .code_name = 128,
	    .code_lines = 136,
	    .text_ascii = 40,
	    .text_wide = 56 } },
	{ 14,
	  { .thread_frame = 72,
	    .cframe_frame = PYTHON_NO_CFRAME,
	    .thread_id = 152,
	    .frame_size = 80,
	    .frame_back = 8,
	    .frame_code = 0,
	    .frame_place = 56,
	    .frame_mark = 74,
	    .frames = PYTHON_FRAMES_SHIMS,
	    .code_size = 208,
	    .code_bytecode = 208,
	    .code_first_line = 68,
	    .code_file = 112,
	    .code_name = 128,
	    .code_lines = 136,
	    .text_ascii = 40,
	    .text_wide = 56 } },
};

/* Functions and data that came with a version, newest first; the program can't run without them. */
static const struct since {
	const char *symbol;
	unsigned int minor;
} since[] = {
	{ "PyModule_AddObjectRef", 10 },    /* Doc/whatsnew/3.10.rst */
	{ "PyFrame_GetCode", 9 },           /* Doc/whatsnew/3.9.rst */
	{ "PyCode_NewWithPosOnlyArgs", 8 }, /* Doc/whatsnew/3.8.rst */
	{ "PyThread_tss_create", 7 },       /* Doc/whatsnew/3.7.rst */
	{ "PyOS_FSPath", 6 },               /* Doc/whatsnew/3.6.rst */
};

static bool data_at(const struct elf_file *elf, uint64_t link_addr, uint32_t *out)
{
	struct reader r = elf_bytes_at(elf, link_addr);

	*out = reader_u32(&r);
	return !r.bad;
}

/* PY_VERSION_HEX (patchlevel.h), which the program has since 3.11; 0: older than assay knows. */
static uint32_t find_version(const struct elf_file *elf)
{
	struct elf_symbol symbol;
	uint32_t hex;

	if (elf_symbol_exported(elf, "Py_Version", &symbol) && data_at(elf, symbol.link_addr, &hex))
		return hex >> 16;
	for (size_t i = 0; i < ARRAY_SIZE(since); i++)
		if (elf_symbol_exported(elf, since[i].symbol, &symbol))
			return VERSION(since[i].minor);
	return 0;
}

static const struct python_layout *layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (VERSION(versions[i].minor) == version)
			return &versions[i].layout;
	return NULL;
}

#define KEY_CODE_MAX 64

/* [reg + 32 bits], with no index register. */
static bool is_base_and_long(uint8_t modrm)
{
	return (modrm & 0xc0) == 0x80 && (modrm & 7) != 4;
}

static bool is_in(const struct elf_symbol *s, int64_t off)
{
	return s && off > 0 && (uint64_t)off < s->size;
}

/*
 * The link address of the pthread key, in the code of PyGILState_GetThisThreadState(): its first
 * instruction that loads the argument of pthread_getspecific(), or of PyThread_tss_get(): a
 * Py_tss_t with the key at 4. 0: the code has none of the known forms. `runtime`: _PyRuntime, or
 * NULL.
 */
static uint64_t find_key(const struct elf_file *elf, const struct elf_symbol *function,
			 const struct elf_symbol *runtime)
{
	struct reader r = elf_bytes_at(elf, function->link_addr);
	size_t n = MIN(MIN(reader_left(&r), (size_t)function->size), (size_t)KEY_CODE_MAX);
	const uint8_t *code = r.at;

	for (size_t i = 0; i + 7 <= n; i++) {
		uint64_t next = function->link_addr + i;

		if (code[i] == 0x8b && code[i + 1] == 0x3d) /* mov key(%rip),%edi */
			return next + 6 + (uint64_t)loop_displacement(code + i + 2);
		if (code[i] == 0x48 && code[i + 1] == 0x8d && code[i + 2] == 0x3d)
			/* lea pair(%rip),%rdi */
			return next + 7 + (uint64_t)loop_displacement(code + i + 3) + 4;
		if (runtime && code[i] == 0xbf &&
		    is_in(runtime, loop_displacement(code + i + 1) - (int64_t)runtime->link_addr))
			/* mov $pair,%edi */
			return (uint64_t)loop_displacement(code + i + 1) + 4;
		/* The register has _PyRuntime, from the GOT. */
		if (code[i] == 0x8b && is_base_and_long(code[i + 1]) &&
		    is_in(runtime, loop_displacement(code + i + 2)))
			/* mov off(%reg),%edi */
			return runtime->link_addr + (uint64_t)loop_displacement(code + i + 2);
		if ((code[i] & 0xf8) == 0x48 && code[i + 1] == 0x8d &&
		    is_base_and_long(code[i + 2]) &&
		    is_in(runtime, loop_displacement(code + i + 3)))
			/* lea off(%reg),%rdi, or first into a register that is kept */
			return runtime->link_addr + (uint64_t)loop_displacement(code + i + 3) + 4;
	}
	return 0;
}

#define PAIR_KEY 4 /* in a Py_tss_t */

/*
 * The same on AArch64. The argument is loaded into w0 for pthread_getspecific(), or x0 has the pair
 * when the code calls PyThread_tss_get(), or jumps there.
 */
static uint64_t find_key_of_aarch64(const struct elf_file *elf, const struct elf_symbol *function,
				    const struct elf_symbol *runtime)
{
	struct aarch64_code code =
		aarch64_code_at(elf, function->link_addr, MIN(function->size, 2 * KEY_CODE_MAX));
	struct aarch64_values values = { .variable = runtime ? runtime->link_addr : 0 };
	const struct aarch64_value *argument = &values.of[0];

	for (size_t i = 0; i < code.n; i++) {
		uint64_t target;
		bool is_call;

		if (argument->kind == AARCH64_ADDRESS &&
		    aarch64_branch(&code, i, &target, &is_call) &&
		    target - function->link_addr >= function->size)
			return argument->addr + PAIR_KEY;
		aarch64_follow(&values, &code, i);
		if (argument->kind == AARCH64_LOADED)
			return argument->addr;
	}
	return 0;
}

/*
 * The code of a short exported function, without the mark of a place that may be jumped to
 * (endbr64, bti c).
 */
struct accessor {
	uint64_t link_addr;
	const uint8_t *code;
	size_t n;
};

#define ACCESSOR_MAX 32

static bool find_accessor(const struct elf_file *elf, const char *name, struct accessor *out)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };
	struct elf_symbol symbol;
	struct reader r;

	if (!elf_symbol_exported(elf, name, &symbol))
		return false;
	r = elf_bytes_at(elf, symbol.link_addr);
	out->link_addr = symbol.link_addr;
	out->code = r.at;
	out->n = MIN(MIN(reader_left(&r), (size_t)symbol.size), (size_t)ACCESSOR_MAX);
	if (out->n >= 4 && (!memcmp(out->code, endbr64, 4) || !memcmp(out->code, bti_c, 4))) {
		out->link_addr += 4;
		out->code += 4;
		out->n -= 4;
	}
	return true;
}

/* `mov off(%reg),%rax`, or `mov (%reg),%rax`, with a base register that has no index. */
static bool reads_field(const uint8_t *code, size_t n, unsigned int reg, uint32_t *off)
{
	if (n < 3 || code[0] != 0x48 || code[1] != 0x8b || (code[2] & 0x3f) != reg)
		return false;
	*off = 0;
	switch (code[2] >> 6) {
	case 0:
		return true;
	case 1:
		*off = n < 4 ? UINT32_MAX : code[3];
		return *off < 0x80;
	case 2:
		*off = n < 7 ? UINT32_MAX : (uint32_t)loop_displacement(code + 3);
		return *off <= UINT16_MAX;
	default:
		return false;
	}
}

/* The offset of the field that an accessor returns, such as PyThreadState_Next(). */
static bool find_field(const struct elf_file *elf, const char *name, uint16_t *out)
{
	struct accessor a;
	uint32_t off, insn;

	if (!find_accessor(elf, name, &a))
		return false;
	if (elf->machine == EM_AARCH64) { /* ldr x0,[x0,#off] */
		if (a.n < 4)
			return false;
		memcpy(&insn, a.code, sizeof(insn));
		off = (insn >> 10 & 0xfff) * 8;
		*out = (uint16_t)off;
		return (insn & 0xffc003ff) == 0xf9400000;
	}
	if (!reads_field(a.code, a.n, 7, &off)) /* of %rdi, the argument */
		return false;
	*out = (uint16_t)off;
	return true;
}

/* See find_variable(). `runtime`: the address of _PyRuntime, which is loaded first; or 0. */
static uint64_t find_aarch64_variable(const struct accessor *a, uint64_t runtime)
{
	struct aarch64_values values = { .variable = runtime };
	struct aarch64_code code = { a->code, a->link_addr, a->n / 4 };

	for (size_t i = 0; i < code.n && !aarch64_ends_code(aarch64_insn(&code, i)); i++) {
		aarch64_follow(&values, &code, i);
		if (values.of[0].kind == AARCH64_ADDRESS && values.of[0].addr == runtime)
			values.variable = 0;
	}
	return values.of[0].kind == AARCH64_LOADED ? values.of[0].addr : 0;
}

/* The variable whose value a function returns, which may be a part of _PyRuntime; 0: unknown. */
static uint64_t find_variable(const struct elf_file *elf, const char *name,
			      const struct elf_symbol *runtime)
{
	struct accessor a;
	uint64_t found;
	uint32_t off;

	if (!find_accessor(elf, name, &a))
		return 0;
	if (elf->machine == EM_AARCH64) {
		found = find_aarch64_variable(&a, 0);
		return found || !runtime ? found : find_aarch64_variable(&a, runtime->link_addr);
	}
	if (a.n < 8 || memcmp(a.code, "\x48\x8b\x05", 3) != 0) /* mov place(%rip),%rax */
		return 0;
	if (a.code[7] == 0xc3)
		return a.link_addr + 7 + (uint64_t)loop_displacement(a.code + 3);
	/* Else %rax has _PyRuntime, from the GOT. */
	return runtime && reads_field(a.code + 7, a.n - 7, 0, &off) ? runtime->link_addr + off : 0;
}

#define AARCH64_THREAD_POINTER 0xd53bd040 /* mrs x0,tpidr_el0 */
#define AARCH64_NOP            0xd503201f

/* The offset from the thread pointer of the word that a function returns (a program's own). */
static bool find_aarch64_thread_word(const struct accessor *a, uint32_t *out)
{
	struct aarch64_code code = { a->code, a->link_addr, a->n / 4 };

	if (!code.n || aarch64_insn(&code, 0) != AARCH64_THREAD_POINTER)
		return false;
	*out = 0;
	for (size_t i = 1; i < code.n; i++) {
		uint32_t insn = aarch64_insn(&code, i), number = insn >> 10 & 0xfff;

		switch (insn & 0xffc003ff) {
		case 0x91000000: /* add x0,x0,#number */
			*out += number;
			break;
		case 0x91400000: /* add x0,x0,#number,lsl #12 */
			*out += number << 12;
			break;
		case 0xf9400000: /* ldr x0,[x0,#number * 8] */
			*out += number * 8;
			return true;
		default:
			if (insn != AARCH64_NOP)
				return false;
		}
	}
	return false;
}

/* The place in thread-local memory of the current state, which the function returns. */
static void find_thread_local(const struct elf_file *elf, const char *name, uint64_t base,
			      struct python_layout *l)
{
	struct accessor a;

	if (!find_accessor(elf, name, &a))
		return;
	if (elf->machine == EM_AARCH64) {
		if (find_aarch64_thread_word(&a, &l->current_at))
			l->current = PYTHON_CURRENT_THREAD;
		return;
	}
	if (a.n >= 9 && !memcmp(a.code, "\x64\x48\x8b\x04\x25", 5)) { /* mov %fs:off,%rax */
		l->current = PYTHON_CURRENT_THREAD;
		l->current_at = (uint32_t)loop_displacement(a.code + 5);
	}
	for (size_t i = 0; i + 12 <= a.n; i++)
		if (!memcmp(a.code + i, "\x66\x48\x8d\x3d", 4) &&     /* lea slot(%rip),%rdi */
		    !memcmp(a.code + i + 8, "\x66\x66\x48\xe8", 4)) { /* call __tls_get_addr */
			l->current = PYTHON_CURRENT_MODULE;
			l->current_at = (uint32_t)(a.link_addr + i + 8 - base +
						   (uint64_t)loop_displacement(a.code + i + 4));
		}
}

/*
 * How a thread's state is found in a process with several interpreters, by the code of exported
 * functions. Without the lists, a process is taken for one with a single interpreter. Without the
 * current state, the lists have the states.
 */
static void find_interpreters(const struct elf_file *elf, const struct elf_symbol *runtime,
			      uint64_t base, uint32_t version, struct python_layout *l)
{
	uint64_t head = find_variable(elf, "PyInterpreterState_Head", runtime), current;

	if (!head || !find_field(elf, "PyInterpreterState_Next", &l->interpreter_next) ||
	    !find_field(elf, "PyInterpreterState_ThreadHead", &l->interpreter_threads) ||
	    !find_field(elf, "PyThreadState_Next", &l->thread_next))
		return;
	l->interpreters = (uint32_t)(head - base);
	if (version >= VERSION(12)) {
		find_thread_local(elf, "_PyThreadState_UncheckedGet", base, l);
		find_thread_local(elf, "PyThreadState_GetUnchecked", base, l); /* since 3.13 */
		return;
	}
	current = find_variable(elf, "_PyThreadState_UncheckedGet", runtime);
	if (current) {
		l->current = PYTHON_CURRENT_GLOBAL;
		l->current_at = (uint32_t)(current - base);
	}
}

/* Builds without the global lock have other structures; _Py_DebugOffsets tells since 3.13. */
static bool is_free_threaded(const struct elf_file *elf, const struct elf_symbol *runtime)
{
	struct reader r = elf_bytes_at(elf, runtime ? runtime->link_addr : 0);
	const void *cookie = reader_bytes(&r, 8);

	if (!cookie || memcmp(cookie, "xdebugpy", 8) != 0)
		return false;
	reader_u64(&r); /* version */
	return reader_u64(&r) != 0;
}

enum lang_detected python_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
				 size_t why_size)
{
	struct elf_symbol loop, key, type, data;
	const struct elf_symbol *runtime =
		elf_symbol_exported(elf, "_PyRuntime", &data) ? &data : NULL;
	const struct python_layout *layout;
	uint64_t base, key_at;

	if (!elf_symbol_exported(elf, "_PyEval_EvalFrameDefault", &loop) ||
	    !elf_symbol_exported(elf, "PyCode_Type", &type) ||
	    !elf_symbol_exported(elf, "PyGILState_GetThisThreadState", &key))
		return LANG_NONE;
	out->language = LANGUAGE_PYTHON;
	out->version = find_version(elf);
	layout = layout_of(out->version);
	if (!lang_find_libc(elf, out) || !layout)
		return lang_refuse(elf, out, why, why_size);
	if (is_free_threaded(elf, runtime))
		return lang_refuse_for(out, "without the global lock is not known to assay", why,
				       why_size);
	key_at = out->is_aarch64 ? find_key_of_aarch64(elf, &key, runtime)
				 : find_key(elf, &key, runtime);
	if (!key_at || !loop_base(elf, loop.link_addr, &base) || !loop_find(elf, &loop, out))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	out->python = *layout;
	find_interpreters(elf, runtime, base, out->version, &out->python);
	out->state = key_at - base;
	out->code_type = type.link_addr - base;
	if (is_in(runtime, (int64_t)(key_at - (runtime ? runtime->link_addr : 0))))
		lang_find_variable(elf, runtime, base, &out->state_variable);
	lang_find_variable(elf, &type, base, &out->type_variable);
	return LANG_FOUND;
}
