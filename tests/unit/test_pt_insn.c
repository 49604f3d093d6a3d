/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our reader of x86 instructions: vectors as text (tests/pt/insns.txt), and Zydis as a second
 * opinion.
 *
 * Usage: test_pt_insn [ROUNDS [FILE…]]
 *
 * ROUNDS of random bytes are compared for each width. So is the code of the ELF FILEs, of 64 bits.
 */
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "config.h"
#include "pt/insn.h"

enum { NOPS = 16, ADDR = 0x401000 };

static const char *const end_names[N_PT_ENDS] = {
#define X(id, flags) #id,
	PT_ENDS(X)
#undef X
};

static uint64_t rounds = 100000;
static char **files;

/* ---- vectors ---- */

struct vector {
	unsigned int width;
	uint8_t bytes[32];
	size_t n;
	char expected[64];
};

static bool read_vector(const char *line, struct vector *v)
{
	int at = 0, more = 0;
	unsigned int byte;

	memset(v, 0, sizeof(*v));
	if (*line == '#' || *line == '\n')
		return false;
	if (sscanf(line, "%u%n", &v->width, &at) != 1)
		fail_msg("no vector: %s", line);
	while (v->n < 16 && sscanf(line + at, "%2x%n", &byte, &more) == 1) {
		v->bytes[v->n++] = (uint8_t)byte;
		at += more;
	}
	if (sscanf(line + at, " = %63[^\n]", v->expected) != 1)
		fail_msg("nothing is expected: %s", line);
	return true;
}

static void describe(const struct pt_insn *insn, char *out, size_t size)
{
	int n = snprintf(out, size, "%u %s", insn->size, end_names[insn->end]);

	if (insn->is_direct)
		snprintf(out + n, size - (size_t)n, " %" PRIx64, pt_insn_target(insn, ADDR));
}

/* In a block of memory alone: the sanitizer sees a read beyond it. */
static bool read_alone(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *insn)
{
	uint8_t *own = xmalloc(n ? n : 1);
	bool is_good;

	memcpy(own, bytes, n);
	is_good = pt_insn_read(width, own, n, insn);
	free(own);
	return is_good;
}

static void check_vector(struct vector *v, const char *line)
{
	struct pt_insn insn, part;
	char text[64] = "bad";

	memset(v->bytes + v->n, 0x90, NOPS);
	if (read_alone(v->width, v->bytes, v->n + NOPS, &insn))
		describe(&insn, text, sizeof(text));
	if (strcmp(text, v->expected) != 0)
		fail_msg("%s instead of: %s", text, line);
	if (!strcmp(text, "bad"))
		return;
	assert_int_equal(insn.size, v->n);
	for (size_t n = 0; n < v->n; n++)
		if (read_alone(v->width, v->bytes, n, &part))
			fail_msg("%zu bytes are enough for: %s", n, line);
}

static void vectors_are_read_as_they_say(void **state)
{
	FILE *f = fopen(ASSAY_SRC "/../tests/pt/insns.txt", "re");
	bool has_end[N_PT_ENDS] = { [PT_END_UNREADABLE] = true };
	struct vector v;
	char line[256];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!read_vector(line, &v))
			continue;
		check_vector(&v, line);
		for (int end = 0; end < N_PT_ENDS; end++) {
			size_t length = strlen(end_names[end]);
			const char *at = strchr(v.expected, ' ');

			if (at && !strncmp(at + 1, end_names[end], length) &&
			    (!at[1 + length] || at[1 + length] == ' '))
				has_end[end] = true;
		}
	}
	fclose(f);
	for (int end = 0; end < N_PT_ENDS; end++)
		if (!has_end[end])
			fail_msg("no vector ends as %s", end_names[end]);
}

/* ---- random bytes ---- */

static uint64_t seed;

static uint64_t draw(void)
{
	return hash_u64(++seed);
}

/* Prefixes, then one of the maps' first bytes, then anything. */
static void draw_bytes(uint8_t bytes[PT_INSN_MAX])
{
	static const uint8_t prefixes[] = { 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x48, 0x41, 0x4f, 0xf0 };
	static const uint8_t firsts[][2] = { { 0x0f, 0x38 }, { 0x0f, 0x3a }, { 0x0f, 0x01 },
					     { 0xc4, 0 },    { 0xc5, 0 },    { 0x62, 0 },
					     { 0x8f, 0 },    { 0x0f, 0 },    { 0x0f, 0 } };
	uint64_t x = draw();
	size_t at = 0;

	for (size_t i = 0; i < PT_INSN_MAX; i++)
		bytes[i] = (uint8_t)draw();
	for (unsigned int n = x & 3; n > 1; n--)
		bytes[at++] = prefixes[(x >> (8 * n)) % ARRAY_SIZE(prefixes)];
	x >>= 32;
	if (x & 1) {
		const uint8_t *first = firsts[(x >> 1) % ARRAY_SIZE(firsts)];

		bytes[at++] = first[0];
		if (first[1])
			bytes[at] = first[1];
	}
}

static void sizes_stay_inside_the_bytes(void **state)
{
	static const unsigned int widths[] = { 16, 32, 64 };
	uint8_t bytes[PT_INSN_MAX];
	struct pt_insn insn;

	(void)state;
	seed = 1;
	for (uint64_t i = 0; i < rounds; i++) {
		size_t n = draw() % (PT_INSN_MAX + 1);

		draw_bytes(bytes);
		if (!read_alone(widths[i % 3], bytes, n, &insn))
			continue;
		assert_in_range(insn.size, 1, n);
		assert_in_range(insn.end, 0, PT_END_UNREADABLE - 1);
	}
}

/* ---- Zydis ---- */

#ifdef HAVE_ZYDIS
#include <Zydis/Zydis.h>

static enum pt_end zydis_end(const ZydisDecodedInstruction *i)
{
	bool is_direct = i->raw.imm[0].is_relative;
	bool is_far = i->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_BOUND: /* it faults, if at all */
		return PT_END_FALL;
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
	case ZYDIS_MNEMONIC_SEAMCALL:
	case ZYDIS_MNEMONIC_SEAMRET:
		return PT_END_VM_ENTRY;
	case ZYDIS_MNEMONIC_INTO:
		return PT_END_INTO;
	case ZYDIS_MNEMONIC_RSM:
	case ZYDIS_MNEMONIC_UIRET:
		return PT_END_IRET;
	default:
		break;
	}
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PT_END_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_far ? PT_END_FAR_JUMP : is_direct ? PT_END_JUMP : PT_END_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return is_far ? PT_END_FAR_CALL : is_direct ? PT_END_CALL : PT_END_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return i->mnemonic != ZYDIS_MNEMONIC_RET ? PT_END_IRET
		       : is_far                          ? PT_END_FAR_RETURN
							 : PT_END_RETURN;
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

static void zydis_init(ZydisDecoder *decoder, unsigned int width)
{
	ZydisDecoderInit(decoder,
			 width == 64   ? ZYDIS_MACHINE_MODE_LONG_64
			 : width == 32 ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32
				       : ZYDIS_MACHINE_MODE_LONG_COMPAT_16,
			 width == 64   ? ZYDIS_STACK_WIDTH_64
			 : width == 32 ? ZYDIS_STACK_WIDTH_32
				       : ZYDIS_STACK_WIDTH_16);
}

static void differ(unsigned int width, const uint8_t *bytes, size_t n, const char *why)
{
	char text[3 * PT_INSN_MAX + 1];

	for (size_t i = 0; i < n; i++)
		snprintf(text + 3 * i, 4, " %02x", bytes[i]);
	fail_msg("%u-bit:%s: %s", width, text, why);
}

/* The size that Zydis has; 0: none. */
static unsigned int compare(const ZydisDecoder *decoder, unsigned int width, const uint8_t *bytes,
			    size_t n)
{
	ZydisDecodedInstruction theirs;
	struct pt_insn ours = { 0 };
	bool is_ours = pt_insn_read(width, bytes, MIN(n, PT_INSN_MAX), &ours);

	n = MIN(n, PT_INSN_MAX);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, n, &theirs)))
		return 0;
	/* Those are Knights Corner's, which has no Intel PT. */
	if (theirs.mnemonic == ZYDIS_MNEMONIC_JKZD || theirs.mnemonic == ZYDIS_MNEMONIC_JKNZD)
		return theirs.length;
	if (!is_ours)
		differ(width, bytes, theirs.length, "Zydis alone reads it");
	if (ours.size != theirs.length)
		differ(width, bytes, n, "another size");
	if (ours.end != zydis_end(&theirs))
		differ(width, bytes, n, "another end");
	if (ours.is_direct && ours.distance != theirs.raw.imm[0].value.u)
		differ(width, bytes, n, "another target");
	return theirs.length;
}

static void zydis_agrees_on_random_bytes(void **state)
{
	static const unsigned int widths[] = { 16, 32, 64 };
	uint8_t bytes[PT_INSN_MAX];
	ZydisDecoder decoder;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		uint64_t n = 0;

		seed = 0;
		zydis_init(&decoder, widths[i]);
		for (uint64_t k = 0; k < rounds; k++) {
			draw_bytes(bytes);
			n += compare(&decoder, widths[i], bytes, sizeof(bytes)) != 0;
		}
		assert_in_range(n, rounds / 3, rounds); /* instructions were among them */
	}
}

/* One instruction after the other; data between functions takes it out of step for a while. */
static uint64_t sweep(const uint8_t *bytes, size_t n)
{
	ZydisDecoder decoder;
	uint64_t count = 0;

	zydis_init(&decoder, 64);
	for (size_t at = 0, size; at < n; at += size ? size : 1) {
		size = compare(&decoder, 64, bytes + at, n - at);
		count += size != 0;
	}
	return count;
}

static uint64_t sweep_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Phdr *p;
	const Elf64_Ehdr *e;
	uint64_t count = 0;
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size > sizeof(*e));
	e = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(e != MAP_FAILED && !memcmp(e, ELFMAG, SELFMAG));
	close(fd);
	p = (const Elf64_Phdr *)((const char *)e + e->e_phoff);
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			count += sweep((const uint8_t *)e + p[i].p_offset, p[i].p_filesz);
	munmap((void *)e, (size_t)st.st_size);
	return count;
}

static void zydis_agrees_on_programs(void **state)
{
	(void)state;
#ifdef __x86_64__
	assert_true(sweep_file("/proc/self/exe") > 1000);
#endif
	for (char **file = files; file && *file; file++)
		print_message("# %s: %" PRIu64 " instructions\n", *file, sweep_file(*file));
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_read_as_they_say),
		cmocka_unit_test(sizes_stay_inside_the_bytes),
#ifdef HAVE_ZYDIS
		cmocka_unit_test(zydis_agrees_on_random_bytes),
		cmocka_unit_test(zydis_agrees_on_programs),
#endif
	};

	if (argc > 1)
		rounds = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		files = argv + 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
