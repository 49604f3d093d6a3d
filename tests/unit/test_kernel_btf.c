// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of the kernel's BTF that a program needs: the right types, with the kernel's offsets. */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "collect/kernel_btf.h"

/*
 * A kernel with a thousand types that nobody wants, and:
 * struct inner { int a; long b; };
 * struct wanted { struct other *p; struct inner in[2]; const inner_t t; enum state s; };
 */
static struct btf *make_kernel(void)
{
	struct btf *b = btf__new_empty();
	int i, l, inner, array, typedef_id, constant, other, pointer, state;

	for (int n = 0; n < 1000; n++) {
		char name[32];

		snprintf(name, sizeof(name), "nobody_wants_%d", n);
		btf__add_struct(b, name, 4);
	}
	i = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	l = btf__add_int(b, "long int", 8, BTF_INT_SIGNED);
	inner = btf__add_struct(b, "inner", 16);
	btf__add_field(b, "a", i, 0, 0);
	btf__add_field(b, "b", l, 64, 0);
	array = btf__add_array(b, i, inner, 2);
	typedef_id = btf__add_typedef(b, "inner_t", inner);
	constant = btf__add_const(b, typedef_id);
	other = btf__add_struct(b, "other", 4096);
	btf__add_field(b, "i", i, 0, 0);
	pointer = btf__add_ptr(b, other);
	state = btf__add_enum(b, "state", 4);
	btf__add_enum_value(b, "IDLE", 3);
	btf__add_struct(b, "wanted", 64);
	btf__add_field(b, "p", pointer, 0, 0);
	btf__add_field(b, "in", array, 64, 0);
	btf__add_field(b, "t", constant, 64 + 256, 0);
	btf__add_field(b, "s", state, 64 + 384, 0);
	return b;
}

/* A program that knows the structure under another name. */
static struct btf *make_program(void)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, "wanted___mine", 8);
	btf__add_struct(b, "not_in_the_kernel", 8);
	return b;
}

static struct btf *reduce(const void *bytes, size_t size)
{
	struct btf *program = make_program(), *reduced = NULL;
	struct buf out = { 0 };

	if (kernel_btf_reduce(bytes, size, program, &out) == 0) {
		reduced = btf__new(out.data, (uint32_t)out.len);
		assert_non_null(reduced);
	} else {
		assert_int_equal(out.len, 0);
	}
	buf_fini(&out);
	btf__free(program);
	return reduced;
}

static const struct btf_type *find(const struct btf *b, const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(b, name, kind);

	return id > 0 ? btf__type_by_id(b, (uint32_t)id) : NULL;
}

static void test_takes_what_the_program_names(void **state)
{
	struct btf *kernel = make_kernel(), *reduced;
	const struct btf_type *wanted, *t;
	const void *bytes;
	uint32_t size;

	(void)state;
	bytes = btf__raw_data(kernel, &size);
	reduced = reduce(bytes, size);
	wanted = find(reduced, "wanted", BTF_KIND_STRUCT);
	assert_non_null(wanted);
	assert_int_equal(wanted->size, 64);
	assert_int_equal(btf_vlen(wanted), 4);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const names[] = { "p", "in", "t", "s" };
		static const uint32_t offsets[] = { 0, 64, 64 + 256, 64 + 384 };

		assert_string_equal(btf__name_by_offset(reduced, btf_members(wanted)[i].name_off),
				    names[i]);
		assert_int_equal(btf_member_bit_offset(wanted, i), offsets[i]);
	}
	t = btf__type_by_id(reduced, btf_members(wanted)[0].type);
	assert_int_equal(btf_kind(t), BTF_KIND_PTR);
	assert_int_equal(t->type, 0); /* void: `other` is not taken */
	assert_null(find(reduced, "other", BTF_KIND_STRUCT));
	assert_null(find(reduced, "nobody_wants_7", BTF_KIND_STRUCT));
	t = btf__type_by_id(reduced, btf_members(wanted)[1].type);
	assert_int_equal(btf_kind(t), BTF_KIND_ARRAY);
	assert_int_equal(btf_array(t)->nelems, 2);
	assert_ptr_equal(btf__type_by_id(reduced, btf_array(t)->type),
			 find(reduced, "inner", BTF_KIND_STRUCT));
	assert_int_equal(btf__resolve_size(reduced, btf_members(wanted)[2].type), 16);
	t = find(reduced, "state", BTF_KIND_ENUM);
	assert_string_equal(btf__name_by_offset(reduced, btf_enum(t)->name_off), "IDLE");
	assert_int_equal(btf_enum(t)->val, 3);
	btf__free(reduced);
	btf__free(kernel);
}

/* Cut at each byte, with each byte turned, of a kind that is not known: an error or valid BTF. */
static void test_damaged(void **state)
{
	struct btf *kernel = make_kernel();
	const void *bytes;
	uint32_t size;

	(void)state;
	bytes = btf__raw_data(kernel, &size);
	for (uint32_t cut = 0; cut < size; cut += cut < 64 ? 1 : 997) {
		cleanup(free_at_exit) void *copy = xmalloc(cut + 1);

		memcpy(copy, bytes, cut);
		assert_null(reduce(copy, cut));
	}
	for (uint32_t at = 0; at < size; at += at < 64 ? 1 : 41) {
		cleanup(free_at_exit) uint8_t *copy = xmalloc(size);
		struct btf *program = make_program();
		struct buf out = { 0 };

		memcpy(copy, bytes, size);
		copy[at] ^= 0xff;
		kernel_btf_reduce(copy, size, program, &out);
		buf_fini(&out);
		btf__free(program);
	}
	btf__free(kernel);
}

/* The running kernel: `mm` of a task is at the place that the whole BTF gives. */
static void test_of_this_kernel(void **state)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	cleanup(free_at_exit) char *bytes = NULL;
	struct btf *program = btf__new_empty(), *all, *reduced;
	const struct btf_type *tasks[2];
	struct buf out = { 0 };
	size_t size;

	(void)state;
	if (file_read_all(path, (size_t)256 << 20, &bytes, &size) < 0) {
		btf__free(program);
		skip_because("this machine has no /sys/kernel/btf/vmlinux");
	}
	btf__add_struct(program, "task_struct", 8);
	assert_int_equal(kernel_btf_reduce(bytes, size, program, &out), 0);
	assert_true(out.len < size / 10);
	all = btf__new(bytes, (uint32_t)size);
	reduced = btf__new(out.data, (uint32_t)out.len);
	tasks[0] = find(all, "task_struct", BTF_KIND_STRUCT);
	tasks[1] = find(reduced, "task_struct", BTF_KIND_STRUCT);
	assert_int_equal(tasks[0]->size, tasks[1]->size);
	assert_int_equal(btf_vlen(tasks[0]), btf_vlen(tasks[1]));
	for (unsigned i = 0; i < btf_vlen(tasks[0]); i++) {
		const struct btf_member *a = &btf_members(tasks[0])[i];
		const struct btf_member *b = &btf_members(tasks[1])[i];

		assert_string_equal(btf__name_by_offset(all, a->name_off),
				    btf__name_by_offset(reduced, b->name_off));
		assert_int_equal(a->offset, b->offset);
		assert_int_equal(btf__resolve_size(all, a->type),
				 btf__resolve_size(reduced, b->type));
	}
	btf__free(all);
	btf__free(reduced);
	btf__free(program);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_what_the_program_names),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_of_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
