/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/name_units.h"

#include <elf.h>
#include <string.h>
#include <xxhash.h>

#include "elf/elf_symbols.h"
#include "demangle/haskell_names.h"

#define MAX_UNIT  512 /* characters */
#define MAX_UNITS 1000000

void name_units_fini(struct name_units *u)
{
	vec_fini(&u->units);
	*u = (struct name_units){ 0 };
}

static uint64_t unit_hash(enum name_language language, const char *name, size_t len)
{
	return XXH3_64bits_withSeed(name, len, language);
}

static void name_units_add_unit(struct name_units *u, enum name_language language, const char *name,
				size_t len)
{
	uint64_t hash = unit_hash(language, name, len);

	/* A Haskell module has a closure for each function, mostly side by side. */
	if (!len || len > MAX_UNIT || u->units.n >= MAX_UNITS ||
	    (u->units.n && u->units.data[u->units.n - 1] == hash))
		return;
	vec_push(&u->units, hash);
}

static bool name_units_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool name_units_ends_with(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && !memcmp(name + len - end_len, end, end_len);
}

static void add_ocaml_unit(struct name_units *u, const char *name, size_t len)
{
	static const char *const ends[] = { "__code_begin", ".code_begin", "$code_begin" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (name_units_is_upper(name[4]) && name_units_ends_with(name, len, ends[i])) {
			name_units_add_unit(u, NAME_OCAML, name, len - strlen(ends[i]));
			return;
		}
}

static void add_ada_unit(struct name_units *u, const char *name, size_t len)
{
	static const char *const ends[] = { "___elabb", "___elabs", "_E" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (name_units_ends_with(name, len, ends[i])) {
			name_units_add_unit(u, NAME_ADA, name, len - strlen(ends[i]));
			return;
		}
}

/* "a-b.adb" holds the package a.b, whose names start with "a__b". */
static void add_source_file(struct name_units *u, const char *name, size_t len)
{
	char unit[MAX_UNIT + 2];
	size_t n = 0;

	if (!name_units_ends_with(name, len, ".adb") && !name_units_ends_with(name, len, ".ads"))
		return;
	for (size_t i = 0; i < len - 4 && n < MAX_UNIT; i++) {
		unit[n++] = name[i] == '-' ? '_' : name[i];
		if (name[i] == '-')
			unit[n++] = '_';
	}
	name_units_add_unit(u, NAME_ADA, unit, n);
}

static void add_haskell_unit(struct name_units *u, const char *name, size_t len)
{
	name_units_add_unit(u, NAME_HASKELL, name, haskell_module_len(name, len));
}

void name_units_add(struct name_units *u, const struct elf_symbol *symbol)
{
	const char *name = symbol->name;
	size_t len = strnlen(name, 2 * MAX_UNIT);

	if (len < 5)
		return;
	if (symbol->type == STT_FILE)
		add_source_file(u, name, len);
	else if (!memcmp(name, "caml", 4))
		add_ocaml_unit(u, name, len);
	else if (!strncmp(name, "__gnat_", 7))
		u->has_gnat = true;
	else if (!memcmp(name, "stg_", 4))
		u->has_ghc = true;
	else if (name_units_ends_with(name, len, "_closure"))
		add_haskell_unit(u, name, len);
	else if (name[len - 1] == 'E' || name[len - 2] == 'b' || name[len - 5] == 'e')
		add_ada_unit(u, name, len);
}

static int by_hash(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void name_units_settle(struct name_units *u)
{
	size_t n = 0;

	if (u->units.n)
		qsort(u->units.data, u->units.n, sizeof(*u->units.data), by_hash);
	for (size_t i = 0; i < u->units.n; i++)
		if (!i || u->units.data[i] != u->units.data[i - 1])
			u->units.data[n++] = u->units.data[i];
	u->units.n = n;
}

static bool has_unit(const struct name_units *u, enum name_language language, const char *name,
		     size_t len)
{
	uint64_t hash = unit_hash(language, name, len);

	return u->units.n &&
	       bsearch(&hash, u->units.data, u->units.n, sizeof(hash), by_hash) != NULL;
}

/* Whether a part of the name that ends at a separator is a unit. */
static bool starts_with_unit(const struct name_units *u, enum name_language language,
			     const char *name, size_t len)
{
	for (size_t i = 1; i < len && i <= MAX_UNIT; i++) {
		bool is_end = (name[i] == '_' && i + 1 < len && name[i + 1] == '_') ||
			      name[i] == '.' || name[i] == '$';

		if (is_end && has_unit(u, language, name, i))
			return true;
	}
	return false;
}

static bool is_of_gnat(const char *name, size_t len)
{
	static const char *const packages[] = { "ada__", "gnat__", "interfaces__", "system__" };

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (len > strlen(packages[i]) && !memcmp(name, packages[i], strlen(packages[i])))
			return true;
	return false;
}

static bool is_ada(const struct name_units *u, const char *name, size_t len)
{
	if (!u->has_gnat)
		return false;
	return (len > 5 && !memcmp(name, "_ada_", 5)) || is_of_gnat(name, len) ||
	       starts_with_unit(u, NAME_ADA, name, len);
}

enum name_language name_units_language(const struct name_units *u, const char *name, size_t len)
{
	if (len < 4)
		return NAME_ANY;
	if (!memcmp(name, "caml", 4))
		return starts_with_unit(u, NAME_OCAML, name, len) ? NAME_OCAML : NAME_ANY;
	if (is_ada(u, name, len))
		return NAME_ADA;
	if (u->has_ghc && has_unit(u, NAME_HASKELL, name, haskell_module_len(name, len)))
		return NAME_HASKELL;
	return NAME_ANY;
}
