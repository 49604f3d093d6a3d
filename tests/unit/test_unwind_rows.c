/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every row of system binaries against another reader: at each address, our table must have the
 * rules that `readelf -wF` prints.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "scratch.h"

#include "elf/elf_file.h"
#include "elf/elf_trampoline.h"
#include "unwind/table.h"

#define MAX_COLUMNS 40

struct readelf_cie {
	char offset[17];
	char columns[MAX_COLUMNS][16], row[MAX_COLUMNS][16];
	int n_columns;
};

struct readelf {
	FILE *f;
	struct elf_file elf;
	struct unwind_table table;
	bool is_aarch64;
	size_t rows, wrong, unsupported, functions;

	/* the entry that is being read */
	char columns[MAX_COLUMNS][16];
	int n_columns;
	bool is_fde;
	uint64_t end;
	bool has_row;
	uint64_t last_loc;
	char last[MAX_COLUMNS][16];
	/* the rules of a CIE, by its offset: for FDEs without rows */
	VEC(struct readelf_cie) cies;
};

static const char *column(const struct readelf *r, const char *name)
{
	for (int i = 0; i < r->n_columns; i++)
		if (!strcmp(r->columns[i], name))
			return r->last[i];
	return "u";
}

/* The CFA of a rule in readelf's words. Empty if readelf has no word for it. */
static const char *cfa_text(const struct readelf *r, struct unwind_rule rule)
{
	static const char *const x86[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
					   "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	static char text[64];
	const char *base = "?";

	switch (unwind_rule_cfa(rule)) {
	case UNWIND_CFA_SP:
		base = r->is_aarch64 ? "sp" : "rsp";
		break;
	case UNWIND_CFA_FP:
		base = r->is_aarch64 ? "x29" : "rbp";
		break;
	case UNWIND_CFA_REGISTER:
		base = !r->is_aarch64 && rule.aux < 16 ? x86[rule.aux] : "?";
		break;
	case UNWIND_CFA_PLT:
	case UNWIND_CFA_SP_DEREF:
	case UNWIND_CFA_FP_DEREF:
	case UNWIND_CFA_SP_OTHER:
	case UNWIND_CFA_SP_OTHER2:
	case UNWIND_CFA_SIGNAL:
		return "exp";
	default:
		return "";
	}
	snprintf(text, sizeof(text), "%s+%llu", base, (unsigned long long)unwind_rule_offset(rule));
	return text;
}

static bool saved_is(const char *text, bool is_at_cfa, int64_t off)
{
	char want[32];

	if (!is_at_cfa)
		return text[0] == 'u' || text[0] == 's';
	snprintf(want, sizeof(want), "c%+lld", (long long)off);
	return !strcmp(text, want);
}

static bool fp_is(const struct readelf *r, struct unwind_rule rule)
{
	const char *text = column(r, r->is_aarch64 ? "x29" : "rbp");

	switch (unwind_rule_fp(rule)) {
	case UNWIND_FP_SAME:
	case UNWIND_FP_AT_CFA:
		return saved_is(text, unwind_rule_fp(rule) == UNWIND_FP_AT_CFA, rule.fp * 8) ||
		       !strcmp(text, "exp");
	case UNWIND_FP_AT_FP:
		return !strcmp(text, "exp");
	default:
		return text[0] != 'c' && text[0] != 'u';
	}
}

static bool bx_is(const struct readelf *r, struct unwind_rule rule)
{
	enum unwind_cfa cfa = unwind_rule_cfa(rule);

	if (r->is_aarch64 || (cfa != UNWIND_CFA_SP && cfa != UNWIND_CFA_FP) ||
	    unwind_rule_ra(rule) != UNWIND_RA_BELOW_CFA || column(r, "rbx")[0] != 'c')
		return true;
	return saved_is(column(r, "rbx"), rule.aux != 0, rule.aux * 8);
}

static bool ra_is(struct unwind_rule rule, const char *text)
{
	switch (unwind_rule_ra(rule)) {
	case UNWIND_RA_BELOW_CFA:
		return !strcmp(text, "c-8");
	case UNWIND_RA_AT_CFA:
		return saved_is(text, true, rule.aux * 8);
	case UNWIND_RA_LR:
		return text[0] == 'u';
	default:
		return text[0] == 'r';
	}
}

static bool rule_is(const struct readelf *r, struct unwind_rule rule)
{
	const char *ra = column(r, "ra");

	if (unwind_rule_cfa(rule) == UNWIND_CFA_END)
		return ra[0] == 'u';
	if (unwind_rule_cfa(rule) == UNWIND_CFA_SIGNAL) /* all by expression, or all at the CFA */
		return !strcmp(ra, "exp") || ra[0] == 'c';
	return !strcmp(column(r, "CFA"), cfa_text(r, rule)) && fp_is(r, rule) && bx_is(r, rule) &&
	       ra_is(rule, ra);
}

/* Where we know better: elf/elf_trampoline.h. */
static bool is_start_context(const struct readelf *r, uint64_t link_addr)
{
	struct reader code = elf_bytes_at(&r->elf, link_addr);
	size_t size;

	code.end = code.at + MIN(reader_left(&code), (size_t)64);
	return elf_trampoline_find(ELF_START_CONTEXT, r->elf.machine, code, &size) == code.at;
}

/* Compares the row that is in `last`, from its address to the one before `end`. */
static void check_row(struct readelf *r, uint64_t end)
{
	uint64_t at[2] = { r->last_loc, end - 1 }, file_off;

	if (!r->is_fde || end <= r->last_loc || !r->last_loc || is_start_context(r, r->last_loc))
		return;
	r->rows++;
	for (int i = 0; i < 2; i++) {
		struct unwind_rule rule;

		assert_true(elf_file_off(&r->elf, at[i], &file_off));
		rule = unwind_table_find(&r->table, file_off);
		if (rule_is(r, rule))
			continue;
		if (unwind_rule_cfa(rule) == UNWIND_CFA_UNSUPPORTED) {
			r->unsupported++;
			return;
		}
		if (r->wrong++ < 5)
			print_message(
				"# %llx: CFA %s fp %s ra %s, but cfa kind %d %s saved %x fp %d "
				"aux %d\n",
				(unsigned long long)at[i], column(r, "CFA"),
				column(r, r->is_aarch64 ? "x29" : "rbp"), column(r, "ra"),
				unwind_rule_cfa(rule), cfa_text(r, rule), rule.saved, rule.fp,
				rule.aux);
		return;
	}
}

static void end_entry(struct readelf *r)
{
	if (r->has_row)
		check_row(r, r->end);
	r->has_row = false;
	r->n_columns = 0;
	r->is_fde = false;
}

static int split(char *line, char words[][16])
{
	int n = 0;

	for (char *at = strtok(line, " \n"); at && n < MAX_COLUMNS; at = strtok(NULL, " \n")) {
		if (at[0] == '(') /* "r2 (rcx)" */
			continue;
		snprintf(words[n++], 16, "%s", at);
	}
	return n;
}

static void begin_fde(struct readelf *r, const char *cie, uint64_t start, uint64_t end)
{
	r->is_fde = true;
	r->functions++;
	r->end = end;
	r->last_loc = start;
	for (size_t i = 0; i < r->cies.n; i++) {
		if (strcmp(r->cies.data[i].offset, cie) != 0)
			continue;
		memcpy(r->columns, r->cies.data[i].columns, sizeof(r->columns));
		memcpy(r->last, r->cies.data[i].row, sizeof(r->last));
		r->n_columns = r->cies.data[i].n_columns;
		r->has_row = true;
	}
}

static void read_row(struct readelf *r, char *line)
{
	char words[MAX_COLUMNS][16];
	uint64_t loc = strtoull(line, NULL, 16);
	int n = split(line, words);

	if (n < 2)
		return;
	if (r->has_row && loc > r->last_loc)
		check_row(r, loc);
	r->has_row = true;
	r->last_loc = loc;
	memcpy(r->last, words, sizeof(r->last));
	if (!r->is_fde && r->cies.n) {
		memcpy(r->cies.data[r->cies.n - 1].columns, r->columns, sizeof(r->columns));
		memcpy(r->cies.data[r->cies.n - 1].row, words, sizeof(words));
		r->cies.data[r->cies.n - 1].n_columns = r->n_columns;
	}
}

static void read_line(struct readelf *r, char *line)
{
	unsigned long long start, end;
	char cie[17];
	char *at;

	if (strstr(line, "terminator")) {
		end_entry(r);
	} else if (strstr(line, " CIE ")) {
		end_entry(r);
		snprintf(vec_add(&r->cies)->offset, 17, "%.*s", (int)strcspn(line, " "), line);
	} else if ((at = strstr(line, " FDE cie="))) {
		end_entry(r);
		if (sscanf(at, " FDE cie=%16s pc=%llx..%llx", cie, &start, &end) == 3)
			begin_fde(r, cie, start, end);
	} else if (!strncmp(line, "   LOC", 6)) {
		r->n_columns = split(line, r->columns);
		r->has_row = false;
	} else if (r->n_columns && line[0] != '\n' && line[0] != ' ') {
		read_row(r, line);
	}
}

static void compare_image(const char *path)
{
	cleanup(free_at_exit) char *command = xasprintf("readelf -wF '%s' 2>/dev/null", path);
	struct unwind_header *block;
	struct readelf r = { 0 };
	struct file_mapping file;
	char line[4096];

	assert_int_equal(file_map(path, &file, NULL), 0);
	assert_int_equal(elf_file_open(&r.elf, file.base, file.size, NULL), 0);
	assert_int_equal(unwind_build(&r.elf, NULL, &block, NULL), 0);
	assert_true(unwind_table_open(&r.table, block, (size_t)block->size));
	r.is_aarch64 = r.elf.machine == EM_AARCH64;

	r.f = popen(command, "r");
	assert_non_null(r.f);
	while (fgets(line, sizeof(line), r.f))
		read_line(&r, line);
	end_entry(&r);
	pclose(r.f);
	print_message(
		"# %s: %zu rows, %zu differ, %zu unsupported, %u rows of ours, %.2f bytes each\n",
		path, r.rows, r.wrong, r.unsupported, block->n_rows,
		(double)block->size / block->n_rows);
	assert_int_equal(r.wrong, 0);
	assert_true(r.unsupported * 1000 <= r.rows); /* longjmp and its like */
	assert_true(r.rows > 0 && r.functions > 0);
	/* Small images share few rules between few rows; even there a row is cheap. */
	assert_true(block->n_rows < 400 || block->size <= 6ull * block->n_rows);
	vec_fini(&r.cies);
	free(block);
	file_unmap(&file);
}

/* In an emulated process, the paths of its libraries may not be readelf's. */
static int compare_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t *n = arg;

	(void)size;
	if (!info->dlpi_name || info->dlpi_name[0] != '/')
		return 0;
	if (!try_command("readelf -h '%s'", info->dlpi_name))
		return 0;
	compare_image(info->dlpi_name);
	++*n;
	return 0;
}

/* readelf 2.35 has lost rules of the CIE in the first rows of some functions. */
static void need_readelf(void)
{
	need_command("readelf --version");
	need_command("! readelf --version | grep -q ' 2\\.3[0-5]'");
}

static void rows_of_loaded_libraries_equal_readelf(void **state)
{
	size_t n = 0;

	(void)state;
	need_readelf();
	dl_iterate_phdr(compare_loaded, &n);
	if (!n)
		skip_because("the libraries are not where readelf looks");
}

static void rows_of_programs_equal_readelf(void **state)
{
	static const char *const programs[] = { "/bin/sh", "/bin/ls", "/usr/bin/python3",
						"/usr/bin/git", "/usr/bin/ld" };
	size_t n = 0;

	(void)state;
	need_readelf();
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int fd = open(programs[i], O_RDONLY | O_CLOEXEC);
		/* An emulator may open another file at this path than readelf. */
		cleanup(free_at_exit) char *opened = xasprintf("/proc/%d/fd/%d", (int)getpid(), fd);

		if (fd < 0)
			continue;
		compare_image(opened);
		close(fd);
		n++;
	}
	assert_true(n > 0);
}

static void rows_of_the_vdso_equal_readelf(void **state)
{
	const uint8_t *vdso = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header;

	(void)state;
	need_readelf();
	if (!vdso)
		skip_because("no vdso here");
	header = (const Elf64_Ehdr *)vdso; /* its section headers are the last of it */
	assert_int_equal(file_replace("vdso.so", vdso,
				      header->e_shoff +
					      (size_t)header->e_shnum * header->e_shentsize,
				      NULL),
			 0);
	compare_image("vdso.so");
}

static const char aarch64_program[] =
	"extern int other(int, char *);\n"
	"int leaf(int x) { return x * 3; }\n"
	"int frame(int x) { char b[100]; return other(x, b) + 1; }\n"
	"int large(int x) { char b[200000]; return other(x, b) + 1; }\n"
	"int dynamic(int x) { char b[x]; return other(x, b) + 1; }\n"
	"int many(int a, int b) { for (int i = 0; i < a; i++) b += other(i, 0) * other(b, 0);\n"
	"  return b; }\n";

static void rows_of_aarch64_code_equal_readelf(void **state)
{
	static const char *const flags[] = { "-O2", "-O0", "-O2 -fomit-frame-pointer",
					     "-O2 -mbranch-protection=standard" };

	(void)state;
	need_command("aarch64-linux-gnu-gcc --version");
	write_file("arm.c", aarch64_program);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		assert_true(try_command(
			"aarch64-linux-gnu-gcc -shared -fPIC -nostdlib %s -o arm.so arm.c",
			flags[i]));
		compare_image("arm.so");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_loaded_libraries_equal_readelf),
		cmocka_unit_test(rows_of_programs_equal_readelf),
		cmocka_unit_test(rows_of_the_vdso_equal_readelf),
		cmocka_unit_test(rows_of_aarch64_code_equal_readelf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
