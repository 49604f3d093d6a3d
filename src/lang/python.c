/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/python.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_functions.h"
#include "elf/elf_symbols.h"

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

static int64_t displacement(const uint8_t *at)
{
	int32_t d;

	memcpy(&d, at, sizeof(d));
	return d;
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
			return next + 6 + (uint64_t)displacement(code + i + 2);
		if (code[i] == 0x48 && code[i + 1] == 0x8d && code[i + 2] == 0x3d)
			/* lea pair(%rip),%rdi */
			return next + 7 + (uint64_t)displacement(code + i + 3) + 4;
		if (runtime && code[i] == 0xbf &&
		    is_in(runtime, displacement(code + i + 1) - (int64_t)runtime->link_addr))
			/* mov $pair,%edi */
			return (uint64_t)displacement(code + i + 1) + 4;
		/* The register has _PyRuntime, from the GOT. */
		if (code[i] == 0x8b && is_base_and_long(code[i + 1]) &&
		    is_in(runtime, displacement(code + i + 2)))
			/* mov off(%reg),%edi */
			return runtime->link_addr + (uint64_t)displacement(code + i + 2);
		if ((code[i] & 0xf8) == 0x48 && code[i + 1] == 0x8d &&
		    is_base_and_long(code[i + 2]) && is_in(runtime, displacement(code + i + 3)))
			/* lea off(%reg),%rdi, or first into a register that is kept */
			return runtime->link_addr + (uint64_t)displacement(code + i + 3) + 4;
	}
	return 0;
}

/* Parts of a function elsewhere: the compiler splits off what seldom runs. */

struct part {
	struct elf_function where;
	uint32_t n_jumps; /* into its middle; at its start it may be a separate function */
};
struct parts {
	struct part *data;
	size_t n, cap;
};

/* A cold part has hundreds of jumps into it, and a byte that only looks like a jump is rare. */
#define JUMPS_LEAST 3

static void count_jump(struct parts *parts, const struct elf_functions *functions, uint64_t target)
{
	vec_foreach (parts, p)
		if (target - p->where.link_addr < p->where.size) {
			p->n_jumps += target != p->where.link_addr;
			return;
		}
	vec_foreach (functions, f)
		if (target - f->link_addr < f->size) {
			vec_push(parts, (struct part){ *f, target != f->link_addr });
			return;
		}
}

/* Direct jumps of x86-64 with 32 bits that leave the function. */
static void count_jumps(const struct elf_file *elf, const struct elf_symbol *function,
			const struct elf_functions *functions, struct parts *parts)
{
	struct reader r = elf_bytes_at(elf, function->link_addr);
	size_t n = MIN(reader_left(&r), (size_t)function->size);

	for (size_t i = 0; i + 6 <= n; i++) {
		bool is_conditional = r.at[i] == 0x0f && (r.at[i + 1] & 0xf0) == 0x80;
		size_t skip = is_conditional ? 2 : 1;
		uint64_t target;

		if (!is_conditional && r.at[i] != 0xe9)
			continue;
		target = function->link_addr + i + skip + 4 +
			 (uint64_t)displacement(r.at + i + skip);
		if (target - function->link_addr >= function->size)
			count_jump(parts, functions, target);
	}
}

static bool add_range(const struct elf_file *elf, struct lang_runtime *out, size_t *n,
		      uint64_t link_addr, uint64_t size)
{
	uint64_t file_off;

	if (*n >= RUNTIME_RANGES || !size || !elf_file_off(elf, link_addr, &file_off))
		return false;
	out->ranges[(*n)++] = (struct runtime_range){ file_off, file_off + size };
	return true;
}

/* The loop has one FDE for each part; only as many as have room count, those with most jumps. */
static bool find_ranges(const struct elf_file *elf, const struct elf_symbol *loop,
			struct lang_runtime *out)
{
	struct elf_functions functions = { 0 };
	struct parts parts = { 0 };
	size_t n = 0;

	if (!add_range(elf, out, &n, loop->link_addr, loop->size))
		return false;
	elf_functions_read(elf, &functions);
	count_jumps(elf, loop, &functions, &parts);
	while (n < RUNTIME_RANGES) {
		struct part *most = NULL;

		vec_foreach (&parts, p)
			if (p->n_jumps >= JUMPS_LEAST && (!most || p->n_jumps > most->n_jumps))
				most = p;
		if (!most)
			break;
		add_range(elf, out, &n, most->where.link_addr, most->where.size);
		most->n_jumps = 0;
	}
	vec_fini(&parts);
	elf_functions_fini(&functions);
	return true;
}

/* How far link addresses are from the base (lang/runtime.h), by the segment of some code. */
static bool base_of(const struct elf_file *elf, uint64_t code, uint64_t *out)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X) && code - s.link_addr < s.file_size) {
			*out = s.link_addr - s.file_off;
			return true;
		}
	return false;
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

static enum lang_detected refuse(char *why, size_t size, const char *reason, uint32_t version)
{
	snprintf(why, size, "Python %u.%u %s", version >> 8, version & 0xff, reason);
	return LANG_REFUSED;
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
	if (elf->machine != EM_X86_64)
		return refuse(why, why_size, "is known on x86-64 alone", out->version);
	layout = layout_of(out->version);
	if (!layout)
		return refuse(why, why_size, "is not a version that assay knows", out->version);
	if (is_free_threaded(elf, runtime))
		return refuse(why, why_size, "without the global lock is not known to assay",
			      out->version);
	key_at = find_key(elf, &key, runtime);
	if (!key_at || !base_of(elf, loop.link_addr, &base) || !find_ranges(elf, &loop, out))
		return refuse(why, why_size, "was built in a way that assay does not know",
			      out->version);
	out->python = *layout;
	out->thread_key = key_at - base;
	out->code_type = type.link_addr - base;
	out->libc = LIBC_GLIBC;
	return LANG_FOUND;
}
