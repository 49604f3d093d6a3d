/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "itanium_names.h"
#include "demangle/demangle.h"

#include "config.h"

static void names_are(const struct cplus_name *names, size_t n,
		      bool (*read)(const char *, struct buf *))
{
	struct buf out = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (!read(names[i].mangled, &out))
			fail_msg("%s is not read", names[i].mangled);
		assert_string_equal((char *)out.data, names[i].readable);
	}
	buf_fini(&out);
}

static void cplus_names_are_spelled_as_by_cxxfilt(void **state)
{
	(void)state;
	names_are(usual_names, ARRAY_SIZE(usual_names), demangle);
}

static void newer_forms_of_cplus_names_are_read(void **state)
{
	(void)state;
	names_are(newer_names, ARRAY_SIZE(newer_names), demangle);
}

static void short_names_have_no_parameters(void **state)
{
	(void)state;
	names_are(short_names, ARRAY_SIZE(short_names), demangle_short);
}

static void damaged_names_are_left_alone(void **state)
{
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damaged_names); i++) {
		if (demangle(damaged_names[i], &out))
			fail_msg("%s is read as %s", damaged_names[i], (char *)out.data);
		demangle_short(damaged_names[i], &out);
	}
	buf_fini(&out);
}

/* Every start of a name, and every name with one other byte: no harm, and no endless work. */
static void damage_anywhere_does_no_harm(void **state)
{
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(usual_names); i++) {
		size_t len = strlen(usual_names[i].mangled);
		char *name = xstrdup(usual_names[i].mangled);

		for (size_t k = 2; k < len; k++) {
			char kept = name[k];

			for (const char *c = "_ESIJ\377"; *c; c++) {
				name[k] = *c;
				demangle(name, &out);
			}
			name[k] = '\0';
			demangle(name, &out);
			name[k] = kept;
		}
		free(name);
	}
	buf_fini(&out);
}

static void rust_and_d_names_are_read(void **state)
{
	static const struct cplus_name names[] = {
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_D8demangle4testFaZv", "demangle.test(char)" },
		{ "_D1aFHiiHQeQgZv", "a(int[int], int[int][int[int]])" },
		{ "_D3std9algorithm7sorting__T13quickSortImplS1d4mainFZ16__lambda_L8_C277TAAyaZ"
		  "QBxMFNaNbNiNfQsmZv",
		  "std.algorithm.sorting.quickSortImpl!(d.main().__lambda_L8_C277, "
		  "immutable(char)[][]).quickSortImpl(immutable(char)[][], ulong)" },
		/* As newer compilers order "return scope", unless an identifier has the letters. */
		{ "_D3std3uni7toLowerFNaNfNkMAyaZQe",
		  "std.uni.toLower(scope return immutable(char)[])" },
		/* What a linker or an optimizer adds is shown, known or not. */
		{ "_RNvC6_123foo3bar.llvm.320070565049474998.warm",
		  "123foo::bar [clone .llvm.320070565049474998] [clone .warm]" },
		{ "_RNvC6_123foo3bar.0", "123foo::bar [clone .0]" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.warm",
		  "core::fmt::Write::write_fmt [clone .warm]" },
		{ "_ZN4core10ops..write17h0123456789abcdefE.part.0",
		  "core::ops::write [clone .part.0]" },
		{ "_D6Object7__ClassZ.2181", "ClassInfo for Object [clone .2181]" },
	};
	struct buf out = { 0 };

	(void)state;
#ifndef HAVE_LIBIBERTY
	skip_because("built without libiberty");
#endif
	names_are(names, ARRAY_SIZE(names), demangle);
	assert_false(demangle("_D3std4aNkMFNaNfNkMAyaZQe", &out));
	assert_false(demangle("_RNvC6_123foo3bar..", &out));
	buf_fini(&out);
}

static void the_rest_of_a_name_stays(void **state)
{
	static const struct cplus_name names[] = {
		{ "_Znwm@plt", "operator new(unsigned long)@plt" },
		{ "_ZNSt6thread4joinEv@@GLIBCXX_3.4.11", "std::thread::join()@@GLIBCXX_3.4.11" },
	};
	struct buf out = { 0 };

	(void)state;
	names_are(names, ARRAY_SIZE(names), demangle);
	assert_false(demangle("main", &out));
	assert_false(demangle("main@plt", &out));
	assert_false(demangle("_@", &out));
	assert_false(demangle("_start", &out));
	assert_false(demangle("_Zzz", &out));
	assert_true(is_mangled_name("_Zzz"));
	assert_true(is_mangled_name("_ZGV1x"));
	assert_false(is_mangled_name("_ZGVbN2v_cos")); /* cos() of vectors */
	buf_fini(&out);
}

/* f(A<int, int>, T1 = A<T0, T0>, T2 = A<T1, T1> …): 2^n ints when written out. */
static void doubling_name(struct buf *name, int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	name->len = 0;
	buf_str(name, "_Z1f1AIiiE");
	for (int i = 0; i < n; i++)
		buf_printf(name, "S_IS%c_S%c_E", digits[i], digits[i]);
	buf_cstr(name);
}

static void a_name_that_unfolds_without_end_is_left_alone(void **state)
{
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	doubling_name(&name, 1);
	assert_true(demangle((char *)name.data, &out));
	assert_string_equal((char *)out.data, "f(A<int, int>, A<A<int, int>, A<int, int> >)");
	doubling_name(&name, 35);
	assert_false(demangle((char *)name.data, &out));
	buf_fini(&name);
	buf_fini(&out);
}

/* Packs of nothing double without any text. */
/* a(int[int], …): each type is an array of the type before it, by that type. */
static void a_d_name_that_unfolds_without_end_is_left_alone(void **state)
{
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	buf_str(&name, "_D1aFHii");
	for (int i = 0; i < 200; i++)
		buf_str(&name, i ? "HQgQi" : "HQeQg");
	buf_str(&name, "Zv");
	assert_false(demangle(buf_cstr(&name), &out));

	name.len = 0;
	buf_str(&name, "_D1a");
	for (int i = 0; i < 200; i++)
		buf_str(&name, "FS1a");
	assert_false(demangle(buf_cstr(&name), &out));
	buf_fini(&name);
	buf_fini(&out);
}

static void work_without_text_ends_too(void **state)
{
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	buf_str(&name, "_Z1fIJJJEJEEJJEJEE");
	for (int i = 0; i < 4000; i++)
		buf_str(&name, "JJJJEJEEJJEJEEE");
	buf_str(&name, "EEvDp");
	for (int i = 0; i < 800; i++)
		buf_str(&name, "Dp");
	buf_str(&name, "T_");
	demangle(buf_cstr(&name), &out);

	/* a list of 60,000 arguments, and as many references to the last of them */
	name.len = 0;
	buf_str(&name, "_Z1fI");
	for (int i = 0; i < 60000; i++)
		buf_u8(&name, 'i');
	buf_str(&name, "Ev");
	for (int i = 0; i < 6000; i++)
		buf_str(&name, i % 2 ? "T_" : "T59998_");
	demangle(buf_cstr(&name), &out);
	buf_fini(&name);
	buf_fini(&out);
}

static void repeat(struct buf *name, const char *part, size_t n)
{
	while (n--)
		buf_str(name, part);
}

/* f<a9, a9 …>(): as long as names of templates of templates get. */
static void long_names_are_demangled(void **state)
{
	struct buf name = { 0 }, out = { 0 };
	const char *text;

	(void)state;
	buf_str(&name, "_Z1fI");
	repeat(&name, "11abcdefghijk", 9000);
	buf_str(&name, "Evv");
	buf_cstr(&name);
	assert_true(name.len > 117000);
	assert_true(demangle((char *)name.data, &out));
	text = (char *)out.data;
	assert_string_equal(text + strlen(text) - 16, ", abcdefghijk>()");

	name.len = 0;
	buf_str(&name, "_Z1f");
	repeat(&name, "1AI", 1000);
	buf_u8(&name, 'i');
	repeat(&name, "E", 1000);
	assert_true(demangle(buf_cstr(&name), &out));
	assert_memory_equal(out.data, "f(A<A<A<", 8);
	buf_fini(&name);
	buf_fini(&out);
}

static void *demangle_on_small_stack(void *name)
{
	struct buf out = { 0 };

	demangle(name, &out);
	demangle_short(name, &out);
	buf_fini(&out);
	return NULL;
}

#ifdef __SANITIZE_ADDRESS__
#define STACK_SIZE (8 << 20)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_SIZE (8 << 20)
#endif
#endif
#ifndef STACK_SIZE
#define STACK_SIZE (512 << 10)
#endif

static void on_small_stack(const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK_SIZE), 0);
	assert_int_equal(pthread_create(&thread, &attr, demangle_on_small_stack, (void *)name), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/* Hostile: as deep as each pair of forms can be nested, on an ordinary stack. */
static void the_longest_names_do_no_harm(void **state)
{
	static const char *const parts[] = { "RT_",   "1AIT_E", "P",    "1AI",  "N1A", "FvRT_1AIiE",
					     "Ul",    "DTpl",   "J",    "Dp",   "X",   "Z1fIiEv",
					     "TtTn",  "cv",     "1B",   "1AIX", "M",   "LZ1fI",
					     "XrqXN", "tl1A",   "Xsr1A" };
	struct buf name = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
			name.len = 0;
			buf_str(&name, "_Z1fIiEv");
			while (name.len < 16300) {
				buf_str(&name, parts[i]);
				buf_str(&name, parts[k]);
			}
			on_small_stack(buf_cstr(&name));
		}
	buf_fini(&name);
}

static void names_beyond_the_limits_are_left_alone(void **state)
{
	static const char *const parts[] = { "1a", "1AI", "P", "PFv", "N1A1BI", "\377", "B1a" };
	static const char *const starts[] = { "_Z1f", "_ZN", "_R", "_D", "_ZN1A", "_Z1fI" };
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(starts); k++) {
			name.len = 0;
			buf_str(&name, starts[k]);
			while (name.len < 130000)
				buf_str(&name, parts[i]);
			on_small_stack(buf_cstr(&name));
			while (name.len < 1 << 20)
				buf_str(&name, parts[i]);
			assert_false(demangle(buf_cstr(&name), &out));
		}
	/* 10,000 nested templates */
	name.len = 0;
	buf_str(&name, "_Z1f");
	repeat(&name, "1AI", 10000);
	buf_u8(&name, 'i');
	repeat(&name, "E", 10000);
	assert_false(demangle(buf_cstr(&name), &out));
	buf_fini(&name);
	buf_fini(&out);
}

/* The beginning and end of names of a language, and a piece that a name can repeat. */
struct hostile_form {
	enum name_language language;
	const char *start, *part, *open, *inner, *close, *end;
};

static const struct hostile_form hostile_forms[] = {
	{ NAME_ANY, "_ZN4shop", "1a", "1AI", "i", "E", "Ev" },
	{ NAME_ANY, "_ZN4shop", "1a", "1AI", "i", "E", "17h0123456789abcdefE" },
	{ NAME_ANY, "_RINvC4shop3foo", "l", "INtB0_1A", "l", "E", "E" },
	{ NAME_ANY, "_D4shop", "1a", "__T1AT", "i", "Z", "FZv" },
	{ NAME_ANY, "_D4shop1f", "S1a", "FS1a", "i", "Z", "FZv" },
	{ NAME_ANY, "__shop_MOD_", "a_", "s.", "a", "b", "f" },
	{ NAME_ANY, "__shop", ".a", ".a", "_MOD_", "b", "f" },
	{ NAME_ANY, "_QMshop", "Fa", "Fa", "Fb", "Fc", "Pf" },
	{ NAME_OCAML, "camlShop.", "a__", "$28", "a", "$29", "_12" },
	{ NAME_OCAML, "camlShop__", "a__", "a__", "a", "__c", "_12" },
	{ NAME_ADA, "shop__", "a__", "a__", "b", "__c", "b" },
	{ NAME_ADA, "shop__a", "__2", "__Oadd", "TK", "X", "" },
	{ NAME_HASKELL, "base_Shop_", "zi", "ZL", "a", "ZR", "_info" },
	{ NAME_HASKELL, "base_Shop_", "Z64T", "Z64H", "z10ffffU", "Z0T", "_info" },
};

/* Asks with a copy that ends where the name ends. */
static bool is_read(const struct hostile_form *form, const struct buf *name, struct buf *out)
{
	char *copy = xstrndup((const char *)name->data, name->len);
	bool ok;

	demangle_short_in(form->language, copy, out);
	ok = demangle_in(form->language, copy, out);
	if (ok)
		assert_true(out->len && out->len <= MAX(65536, 16 * name->len));
	free(copy);
	return ok;
}

static void put_form(const struct hostile_form *form, size_t n_parts, size_t n_nested,
		     const char *inner, struct buf *name)
{
	name->len = 0;
	buf_str(name, form->start);
	repeat(name, form->part, n_parts);
	repeat(name, form->open, n_nested);
	buf_str(name, inner);
	repeat(name, form->close, n_nested);
	buf_str(name, form->end);
}

static void hostile_names_of_each_language_do_no_harm(void **state)
{
	static const char *const inners[] = { "\377\300\257", "3\377\300\257", "4\033[1m", "\001",
					      "$00$1b",       "z0Uz1bU",       "_",        "." };
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile_forms); i++) {
		const struct hostile_form *form = &hostile_forms[i];

		put_form(form, (1 << 20) / strlen(form->part), 0, "", &name);
		assert_false(is_read(form, &name, &out));
		put_form(form, 131000 / strlen(form->part), 0, "", &name);
		is_read(form, &name, &out);
		put_form(form, 0, 10000, form->inner, &name);
		is_read(form, &name, &out);
		for (size_t k = 0; k < ARRAY_SIZE(inners); k++) {
			put_form(form, 0, 1, inners[k], &name);
			is_read(form, &name, &out);
			put_form(form, 3, 0, inners[k], &name);
			is_read(form, &name, &out);
		}
	}
	buf_fini(&name);
	buf_fini(&out);
}

/* A tuple of four characters has 67: as many as fit into a name are too many. */
static void haskells_tuples_have_a_limit(void **state)
{
	struct buf name = { 0 }, out = { 0 };

	(void)state;
	assert_true(demangle_in(NAME_HASKELL, "base_Shop_Z64H_info", &out));
	assert_int_equal(out.len, strlen("base:Shop.") + 67);
	assert_false(demangle_in(NAME_HASKELL, "base_Shop_Z65H_info", &out));
	put_form(&hostile_forms[ARRAY_SIZE(hostile_forms) - 1], 0, 20000, "", &name);
	assert_false(demangle_in(NAME_HASKELL, buf_cstr(&name), &out));
	name.len = 0;
	buf_str(&name, "base_Shop_");
	repeat(&name, "Z64H", 30000);
	buf_str(&name, "_info");
	assert_false(demangle_in(NAME_HASKELL, buf_cstr(&name), &out));
	buf_fini(&name);
	buf_fini(&out);
}

static void bytes_of_other_encodings_pass(void **state)
{
	struct buf out = { 0 };

	(void)state;
	assert_true(demangle("_Z3\303\251\377v", &out));
	assert_string_equal((char *)out.data, "\303\251\377()");
	assert_true(demangle("_ZN3a\033[1bEv", &out));
	assert_string_equal((char *)out.data, "a\033[::b()");
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cplus_names_are_spelled_as_by_cxxfilt),
		cmocka_unit_test(newer_forms_of_cplus_names_are_read),
		cmocka_unit_test(short_names_have_no_parameters),
		cmocka_unit_test(damaged_names_are_left_alone),
		cmocka_unit_test(damage_anywhere_does_no_harm),
		cmocka_unit_test(rust_and_d_names_are_read),
		cmocka_unit_test(the_rest_of_a_name_stays),
		cmocka_unit_test(a_name_that_unfolds_without_end_is_left_alone),
		cmocka_unit_test(a_d_name_that_unfolds_without_end_is_left_alone),
		cmocka_unit_test(work_without_text_ends_too),
		cmocka_unit_test(long_names_are_demangled),
		cmocka_unit_test(the_longest_names_do_no_harm),
		cmocka_unit_test(names_beyond_the_limits_are_left_alone),
		cmocka_unit_test(hostile_names_of_each_language_do_no_harm),
		cmocka_unit_test(haskells_tuples_have_a_limit),
		cmocka_unit_test(bytes_of_other_encodings_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
