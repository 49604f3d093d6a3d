/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of each language in images as its compiler makes them, and of C functions beside them. */
#include <sys/stat.h>

#include "scratch.h"

#include "base/buf.h"
#include "symbol/symbols.h"

#include "config.h"

struct expected {
	const char *name, *readable; /* NULL: as it is */
};

/* What the compiler writes beside functions; a source file if it has a '/'. */
struct program {
	const char *const *others;
	size_t n_others;
	const struct expected *functions;
	size_t n_functions;
};

#define PROGRAM(others, functions)                                               \
	{                                                                        \
		(others), ARRAY_SIZE(others), (functions), ARRAY_SIZE(functions) \
	}

/* C functions that another language could have written, too. */
#define LIKE_OTHERS                                                                                \
	{ "a__b", NULL }, { "_ada", NULL }, { "shop_", NULL }, { "x__Oadd", NULL },                \
		{ "camlFoo__bar_12", NULL }, { "camlFoo.bar_12", NULL }, { "caml_alloc", NULL },   \
		{ "my_Type_get_info", NULL }, { "Type_get_info", NULL }, { "get_info", NULL },     \
		{ "mod_MOD_f", NULL }, { "_QF", NULL }, { "__MOD_x", NULL }, { "foo.cold", NULL }, \
		{ "$", NULL }, { "_T0", NULL },                                                    \
	{                                                                                          \
		"_start2", NULL                                                                    \
	}

static const char *const ocaml_4_others[] = { "camlX__code_begin", "camlX__frametable",
					      "camlStdlib__List__code_begin" };
static const struct expected ocaml_4_functions[] = {
	{ "camlX__fib_81", "X.fib_81" },
	{ "camlX__$40$40_102", "X.@@_102" },
	{ "camlX__entry", "X.entry" },
	{ "camlStdlib__List__rev_append_222", "Stdlib.List.rev_append_222" },
	LIKE_OTHERS,
};

static const char *const ocaml_5_others[] = { "camlX.code_begin", "camlDune__exe__Y.code_begin",
					      "camlStdlib__List.code_begin" };
static const struct expected ocaml_5_functions[] = {
	{ "camlX.fib_274", "X.fib_274" },
	{ "camlX.$40$40$40_276", "X.@@@_276" },
	{ "camlX.f$27_280", "X.f'_280" },
	{ "camlX.a__b_12", "X.a__b_12" },
	{ "camlX.fun_366", "X.fun_366" },
	{ "camlDune__exe__Y.main_7", "Dune.exe.Y.main_7" },
	{ "camlStdlib__List.map_321.cold", "Stdlib.List.map_321 [clone .cold]" },
	LIKE_OTHERS,
};

static const char *const ada_others[] = { "/b~hello.adb", "/shop-basket.adb", "box_E",
					  "tools___elabb", "__gnat_version" };
static const struct expected ada_functions[] = {
	{ "_ada_hello", "hello" },
	{ "ada__text_io__put_line__2", "ada.text_io.put_line" },
	{ "shop__basket__put", "shop.basket.put" },
	{ "shop__basket__put__2", "shop.basket.put" },
	{ "shop__basket__put__inner.4", "shop.basket.put.inner" },
	{ "shop__basket__Oadd", "shop.basket.\"+\"" },
	{ "shop__basket__One__2", "shop.basket.\"/=\"" },
	{ "shop__basket__workerTKB", "shop.basket.worker" },
	{ "shop__basket__workerTK__step", "shop.basket.worker.step" },
	{ "shop__basket__box__setN", "shop.basket.box.set" },
	{ "shop__basket__box__get_B14s", "shop.basket.box.get" },
	{ "shop__basket__itemSR__2", "shop.basket.item'Read" },
	{ "shop__basket__itemDFXn", "shop.basket.item.Finalize" },
	{ "shop__basket__itemPI", "shop.basket.item'Put_Image" },
	{ "shop__basket__itemIP", "shop.basket.item [initialization]" },
	{ "shop__basket___elabs", "shop.basket'Elab_Spec" },
	{ "shop__basket__finalize_spec.cold", "shop.basket.finalize_spec [clone .cold]" },
	{ "shop__basket__p.constprop.0.isra.1",
	  "shop.basket.p [clone .constprop.0] [clone .isra.1]" },
	{ "box__open", "box.open" },
	{ "tools__size___XDLU_0__5", "tools.size" },
	{ "system__memory__alloc", "system.memory.alloc" },
	{ "shop__basket__Bad", NULL },
	{ "shop__other", NULL }, /* no package of Ada's is called so */
	LIKE_OTHERS,
};

static const char *const haskell_others[] = {
	"stg_upd_frame_info",
	"base_GHCziBase_map_closure",
	"Main_main_closure",
	"ghczmprim_GHCziTuple_Z2T_closure",
	"containerszm0zi7zminplace_DataziMapziInternal_link_closure",
	"ZCMain_main_closure",
};
static const struct expected haskell_functions[] = {
	{ "base_GHCziBase_map_info", "base:GHC.Base.map" },
	{ "base_GHCziBase_zpzp_info", "base:GHC.Base.++" },
	{ "base_GHCziBase_Just_con_info", "base:GHC.Base.Just [con_info]" },
	{ "base_GHCziBase_map_slow", "base:GHC.Base.map [slow]" },
	{ "Main_zdwfib_info", "Main.$wfib" },
	{ "Main_go_s4Gh_info", "Main.go_s4Gh" },
	{ "ZCMain_main_info", ":Main.main" },
	{ "ghczmprim_GHCziTuple_Z2T_con_info", "ghc-prim:GHC.Tuple.(,) [con_info]" },
	{ "containerszm0zi7zminplace_DataziMapziInternal_link_info",
	  "containers-0.7-inplace:Data.Map.Internal.link" },
	{ "Main_z3bbU_info", "Main.\316\273" },
	{ "Main_zQ_info", NULL },
	{ "Main_foo", NULL },
	{ "stg_ap_v_info", NULL },
	{ "stg_SRT_1_info", NULL },
	LIKE_OTHERS,
};

static const char *const plain_others[] = { "data", "main_E", "a_E", "a___elabb" };
static const struct expected plain_functions[] = {
	{ "__shapes_MOD_area", "shapes::area" },
	{ "__shapes_MOD_norm.constprop.0", "shapes::norm [clone .constprop.0]" },
	{ "__shapes.deep_MOD_later", "shapes::deep::later" },
	{ "__shapes_MOD___copy_shapes_Point", "shapes::__copy_shapes_Point" },
	{ "_QMshapesParea_square", "shapes::area_square" },
	{ "_QMshapesFarea_squarePhelper", "shapes::area_square::helper" },
	{ "_QMshapesSdeepPlater", "shapes::deep::later" },
	{ "_QFPinner", "inner" },
	{ "_QMshapesEcount", NULL },
	{ "_QQmain", NULL },
	{ "_ZN4shop4findEi.cold", "shop::find(int) [clone .cold]" },
	{ "_ZN4shop4findEi.part.0.llvm.123", "shop::find(int) [clone .part.0] [clone .llvm.123]" },
	{ "_ZN4shop4findEi.lto_priv.0", "shop::find(int) [clone .lto_priv.0]" },
#ifdef HAVE_LIBIBERTY
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123",
	  "core::fmt::Write::write_fmt [clone .llvm.123]" },
	{ "_RNvC6_123foo3bar.cold", "123foo::bar [clone .cold]" },
	{ "_D8demangle4testFaZv.part.0", "demangle.test(char) [clone .part.0]" },
#endif
	{ "_ada_hello", NULL },
	{ "ada__text_io__put", NULL },
	LIKE_OTHERS,
};

static const struct program programs[] = {
	PROGRAM(ocaml_4_others, ocaml_4_functions), PROGRAM(ocaml_5_others, ocaml_5_functions),
	PROGRAM(ada_others, ada_functions),         PROGRAM(haskell_others, haskell_functions),
	PROGRAM(plain_others, plain_functions),
};

static void put_assembly(struct buf *out, const struct program *p)
{
	for (size_t i = 0; i < p->n_others; i++)
		if (p->others[i][0] == '/')
			buf_printf(out, ".file \"%s\"\n", p->others[i] + 1);
	buf_str(out, ".data\n");
	for (size_t i = 0; i < p->n_others; i++)
		if (p->others[i][0] != '/')
			buf_printf(out, ".globl \"%s\"\n\"%s\": .long 0\n", p->others[i],
				   p->others[i]);
	buf_str(out, ".text\n");
	for (size_t i = 0; i < p->n_functions; i++) {
		const char *name = p->functions[i].name;

		buf_printf(out,
			   ".globl \"%s\"\n.type \"%s\", %%function\n\"%s\": .long 0\n"
			   ".size \"%s\", 4\n",
			   name, name, name, name);
	}
	buf_str(out, ".section .note.GNU-stack,\"\",%progbits\n");
}

/* The image's path. */
static const char *assemble(const struct program *p)
{
	static char path[PATH_MAX + 16];
	struct buf text = { 0 };

	put_assembly(&text, p);
	write_file("names.s", buf_cstr(&text));
	buf_fini(&text);
	need_command("${CC_FOR_TEST:-cc} -nostdlib -shared -Wl,--build-id -o names names.s");
	snprintf(path, sizeof(path), "%s/names", scratch_dir);
	return path;
}

static char unread_note[1024];

static void take_note(const char *sentence)
{
	snprintf(unread_note, sizeof(unread_note), "%s", sentence);
}

static struct symbolizer *open_with(bool no_demangle, const char *cache_dir)
{
	const struct symbolizer_config config = { .cache_dir = cache_dir,
						  .no_demangle = no_demangle,
						  .report_unread = take_note };

	unread_note[0] = '\0';
	return symbolizer_new(&config);
}

static void names_are(struct symbolizer *s, const char *path, const struct program *p, bool are_raw)
{
	const struct image image = { .kind = IMAGE_FILE, .path = path };
	const struct symbol_table *t = symbolizer_table(s, &image, NULL, 0);
	size_t n_found = 0;

	for (uint32_t i = 0; i < symbol_count(t); i++)
		for (size_t k = 0; k < p->n_functions; k++) {
			const struct expected *e = &p->functions[k];

			if (strcmp(symbol_get(t, i).name, e->name) != 0)
				continue;
			n_found++;
			assert_string_equal(symbol_name(s, t, i),
					    e->readable && !are_raw ? e->readable : e->name);
		}
	assert_int_equal(n_found, p->n_functions);
}

static void each_language_has_readable_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *path = assemble(&programs[i]);
		struct symbolizer *s = open_with(false, "");

		names_are(s, path, &programs[i], false);
		symbolizer_free(s);
	}
}

static void the_language_is_known_by_the_cached_index_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *path = assemble(&programs[i]);

		for (int round = 0; round < 2; round++) {
			struct symbolizer *s = open_with(false, "cache");

			names_are(s, path, &programs[i], false);
			symbolizer_free(s);
		}
	}
}

static void names_stay_as_they_are_if_wanted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *path = assemble(&programs[i]);
		struct symbolizer *s = open_with(true, "");

		names_are(s, path, &programs[i], true);
		symbolizer_free(s);
		assert_string_equal(unread_note, "");
	}
}

/* Without what their compilers leave in an image, names are C's. */
static void no_name_is_changed_by_its_form_alone(void **state)
{
	static const char *const none[] = { "data" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct program p = programs[i];
		const char *path;
		struct symbolizer *s;

		p.others = none;
		p.n_others = 1;
		path = assemble(&p);
		s = open_with(false, "");
		names_are(s, path, &p, true);
		symbolizer_free(s);
	}
}

static void names_that_cant_be_read_are_counted(void **state)
{
	static const char *const others[] = { "data" };
	static const struct expected functions[] = {
		{ "_ZN3foo", NULL }, { "_Z1fQ", NULL }, { "_Zzz.cold", NULL }, { "_Z1fv", "f()" }
	};
	const struct program p = PROGRAM(others, functions);
	struct symbolizer *s;

	(void)state;
	s = open_with(false, "");
	names_are(s, assemble(&p), &p, false);
	symbolizer_free(s);
	assert_string_equal(unread_note,
			    "3 mangled names are unread and shown as in the symbol table (damaged, "
			    "of a newer compiler, or beyond the demangler's limits): _ZN3foo, and "
			    "others");
}

static void use_swift_program(const char *script)
{
	char *path = xasprintf("%s:/usr/bin:/bin", scratch_dir);

	if (script) {
		write_file("swift-demangle", script);
		assert_int_equal(chmod("swift-demangle", 0755), 0);
	} else {
		unlink("swift-demangle");
	}
	setenv("PATH", path, 1);
	free(path);
}

static const char *const swift_others[] = { "data" };
static const struct expected swift_functions[] = {
	{ "$s4shop4findyyF", "shop.find() -> ()" },
	{ "$s4shop4sellyyF.cold", "shop.sell() -> () [clone .cold]" },
	{ "$s4shop4openyyF", "shop.open() -> ()" },
	LIKE_OTHERS,
};
static const struct program swift = PROGRAM(swift_others, swift_functions);

#define SWIFT_READS "s/^.s4shop4\\([a-z]*\\)yyF$/shop.\\1() -> ()/"

static void swifts_names_are_read_by_its_own_program(void **state)
{
	const char *path = assemble(&swift);
	struct symbolizer *s;

	(void)state;
	use_swift_program("#!/bin/sh\nexec sed '" SWIFT_READS "'\n");
	s = open_with(false, "");
	names_are(s, path, &swift, false);
	symbolizer_free(s);
	assert_string_equal(unread_note, "");
}

static void swifts_names_stay_without_its_program(void **state)
{
	struct symbolizer *s;

	(void)state;
	if (!access("/usr/libexec/swift/bin/swift-demangle", X_OK))
		skip_because("needs a machine without Debian's package swiftlang");
	use_swift_program(NULL);
	s = open_with(false, "");
	names_are(s, assemble(&swift), &swift, true);
	symbolizer_free(s);
	assert_non_null(strstr(unread_note, "3 Swift names are unread"));
	assert_non_null(strstr(unread_note, "swift-demangle is not in PATH"));
}

/* All but the name "sell" are read, whatever happens to the program there. */
static void one_name_alone_is_lost(const char *path, const char *harm)
{
	struct expected functions[ARRAY_SIZE(swift_functions)];
	const struct program p = PROGRAM(swift_others, functions);
	struct symbolizer *s;
	char *script = xasprintf("#!/bin/sh\nwhile read -r name; do\n"
				 "case $name in *sell*) %s ;; esac\n"
				 "echo \"$name\" | sed '" SWIFT_READS "'\ndone\n",
				 harm);

	memcpy(functions, swift_functions, sizeof(functions));
	functions[1].readable = NULL;
	use_swift_program(script);
	s = open_with(false, "");
	names_are(s, path, &p, false);
	symbolizer_free(s);
	assert_non_null(strstr(unread_note, "1 Swift name is unread"));
	assert_non_null(strstr(unread_note, "$s4shop4sellyyF"));
	free(script);
}

static void a_demangler_that_fails_costs_one_name(void **state)
{
	static const char *const harms[] = {
		"kill -SEGV $$",      "while :; do :; done",
		"exec cat /dev/zero", /* more text than there is memory */
		"exec yes",           "f() { f; }; f",
	};
	const char *path = assemble(&swift);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(harms); i++)
		one_name_alone_is_lost(path, harms[i]);
}

static void lines_that_nobody_asked_for_are_not_believed(void **state)
{
	struct symbolizer *s;

	(void)state;
	use_swift_program("#!/bin/sh\necho one; echo two; echo three; echo four\n");
	s = open_with(false, "");
	names_are(s, assemble(&swift), &swift, true);
	symbolizer_free(s);
	assert_non_null(strstr(unread_note, "3 Swift names are unread"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_language_has_readable_names),
		cmocka_unit_test(the_language_is_known_by_the_cached_index_too),
		cmocka_unit_test(names_stay_as_they_are_if_wanted),
		cmocka_unit_test(no_name_is_changed_by_its_form_alone),
		cmocka_unit_test(names_that_cant_be_read_are_counted),
		cmocka_unit_test(swifts_names_are_read_by_its_own_program),
		cmocka_unit_test(swifts_names_stay_without_its_program),
		cmocka_unit_test(a_demangler_that_fails_costs_one_name),
		cmocka_unit_test(lines_that_nobody_asked_for_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
