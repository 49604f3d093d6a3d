/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/loop.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_functions.h"
#include "elf/elf_symbols.h"
#include "lang/aarch64.h"

int64_t loop_displacement(const uint8_t *at)
{
	int32_t d;

	memcpy(&d, at, sizeof(d));
	return d;
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
			 (uint64_t)loop_displacement(r.at + i + skip);
		if (target - function->link_addr >= function->size)
			count_jump(parts, functions, target);
	}
}

static void count_jumps_of_aarch64(const struct elf_file *elf, const struct elf_symbol *function,
				   const struct elf_functions *functions, struct parts *parts)
{
	struct aarch64_code code = aarch64_code_at(elf, function->link_addr, function->size);

	for (size_t i = 0; i < code.n; i++) {
		uint64_t target;
		bool is_call;

		if (aarch64_branch(&code, i, &target, &is_call) && !is_call &&
		    target - function->link_addr >= function->size)
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
bool loop_find(const struct elf_file *elf, const struct elf_symbol *loop, struct lang_runtime *out)
{
	struct elf_functions functions = { 0 };
	struct parts parts = { 0 };
	size_t n = 0;

	if (!add_range(elf, out, &n, loop->link_addr, loop->size))
		return false;
	elf_functions_read(elf, &functions);
	if (elf->machine == EM_AARCH64)
		count_jumps_of_aarch64(elf, loop, &functions, &parts);
	else
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

void loop_add(const struct elf_file *elf, const struct elf_symbol *loop, struct lang_runtime *out)
{
	size_t n = 0;

	while (n < RUNTIME_RANGES && out->ranges[n].end)
		n++;
	add_range(elf, out, &n, loop->link_addr, loop->size);
}

/* Interpreters have some hundred; other functions have few. */
#define DISPATCHES_LEAST 60

/*
 * Jumps of x86-64 to the code of the next instruction, whose address is in the instructions: they
 * go through memory at a register, a few words further on.
 */
static uint32_t count_dispatches(const struct elf_file *elf, const struct elf_function *f)
{
	struct reader r = elf_bytes_at(elf, f->link_addr);
	size_t size = MIN(reader_left(&r), (size_t)f->size);
	uint32_t n = 0;

	for (size_t i = 0; i + 4 <= size; i++) {
		uint8_t modrm = r.at[i + 1];
		bool has_sib = (modrm & 7) == 4;
		uint8_t off = r.at[i + 2 + has_sib];

		if (r.at[i] != 0xff || (modrm >> 3 & 7) != 4 || (has_sib && r.at[i + 2] != 0x24))
			continue;
		n += modrm >> 6 == 1 && off % 8 == 0 && off <= 64;
	}
	return n;
}

static uint32_t count_dispatches_of_aarch64(const struct elf_file *elf,
					    const struct elf_function *f)
{
	struct aarch64_code code = aarch64_code_at(elf, f->link_addr, f->size);
	uint32_t n = 0;

	for (size_t i = 0; i < code.n; i++)
		n += aarch64_is_jump(aarch64_insn(&code, i));
	return n;
}

static bool find_dispatcher(const struct elf_file *elf, const struct elf_functions *functions,
			    struct elf_symbol *out)
{
	uint32_t most = DISPATCHES_LEAST - 1;

	vec_foreach (functions, f) {
		uint32_t n = elf->machine == EM_AARCH64 ? count_dispatches_of_aarch64(elf, f)
							: count_dispatches(elf, f);

		if (n <= most)
			continue;
		most = n;
		*out = (struct elf_symbol){ .name = "",
					    .link_addr = f->link_addr,
					    .size = f->size };
	}
	return most >= DISPATCHES_LEAST;
}

static bool calls_of_aarch64(const struct elf_file *elf, const struct elf_function *f,
			     uint64_t callee)
{
	struct aarch64_code code = aarch64_code_at(elf, f->link_addr, f->size);
	uint64_t target;
	bool is_call;

	for (size_t i = 0; i < code.n; i++)
		if (aarch64_branch(&code, i, &target, &is_call) && is_call && target == callee)
			return true;
	return false;
}

static bool calls(const struct elf_file *elf, const struct elf_function *f, uint64_t callee)
{
	struct reader r = elf_bytes_at(elf, f->link_addr);
	size_t size = MIN(reader_left(&r), (size_t)f->size);

	if (elf->machine == EM_AARCH64)
		return calls_of_aarch64(elf, f, callee);
	for (size_t i = 0; i + 5 <= size; i++)
		if (r.at[i] == 0xe8 &&
		    f->link_addr + i + 5 + (uint64_t)loop_displacement(r.at + i + 1) == callee)
			return true;
	return false;
}

bool loop_find_unnamed(const struct elf_file *elf, struct lang_runtime *out)
{
	struct elf_functions functions = { 0 };
	struct elf_symbol dispatcher, loop = { .name = "" };
	uint32_t n_callers = 0;

	elf_functions_read(elf, &functions);
	if (!find_dispatcher(elf, &functions, &dispatcher)) {
		elf_functions_fini(&functions);
		return false;
	}
	vec_foreach (&functions, f)
		if (calls(elf, f, dispatcher.link_addr)) {
			n_callers++;
			loop.link_addr = f->link_addr;
			loop.size = f->size;
		}
	elf_functions_fini(&functions);
	return loop_find(elf, n_callers == 1 ? &loop : &dispatcher, out);
}

void loop_find_dispatcher(const struct elf_file *elf, const struct lang_runtime *runtime,
			  uint32_t *start, uint32_t *end)
{
	struct elf_functions functions = { 0 };
	struct elf_symbol dispatcher;
	uint64_t off, loop_off;

	elf_functions_read(elf, &functions);
	if (find_dispatcher(elf, &functions, &dispatcher) &&
	    elf_file_off(elf, dispatcher.link_addr, &off) && off <= UINT32_MAX - dispatcher.size)
		vec_foreach (&functions, f)
			if (elf_file_off(elf, f->link_addr, &loop_off) &&
			    loop_off == runtime->ranges[0].start && loop_off != off &&
			    calls(elf, f, dispatcher.link_addr)) {
				*start = (uint32_t)off;
				*end = (uint32_t)(off + dispatcher.size);
			}
	elf_functions_fini(&functions);
}

bool loop_base(const struct elf_file *elf, uint64_t code, uint64_t *out)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X) && code - s.link_addr < s.file_size) {
			*out = s.link_addr - s.file_off;
			return true;
		}
	return false;
}
