#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The linker binds a library's call to any function of the right name. assay's functions and those of the libraries that
# assay links must therefore have different names.
load helpers

setup_file() {
	command -v ninja >/dev/null || skip "ninja is not installed"
}

# own_symbols FILE…: the global names that object files or archives define.
own_symbols() {
	nm -g --defined-only -P "$@" 2>/dev/null | awk 'NF >= 2 { print $1 }' | sort -u
}

# library_symbols FILE: the global names that a library defines or needs.
library_symbols() {
	case $1 in
	*.a) nm -g -P "$1" ;;
	*) nm -D -P "$1" ;;
	esac 2>/dev/null | awk 'NF >= 2 { sub(/@.*/, "", $1); print $1 }' | sort -u
}

# The names that are in both: clashes OWN-SYMBOLS LIBRARY
clashes() {
	library_symbols "$2" | comm -12 "$1" -
}

# A library's static and its shared form, as far as they are installed.
forms_of() { # PATH-WITHOUT-SUFFIX
	local form
	for form in "$1.a" "$1.so"; do
		[ ! -f "$form" ] || echo "$form"
	done
}

# The files of all libraries in the command that links assay, of those that the loader adds, and of those that assay loads later.
linked_libraries() {
	local word
	for word in $(ninja -C "$ASSAY_BUILD" -t commands assay | tail -n 1); do
		case $word in
		-l*) forms_of "$(dirname "$(gcc -print-file-name="lib${word#-l}.a")")/lib${word#-l}"
			forms_of "$(dirname "$(gcc -print-file-name="lib${word#-l}.so")")/lib${word#-l}" ;;
		/*.so | /*.a) forms_of "${word%.*}" ;;
		esac
	done
	ldd "$ASSAY_BUILD/assay" | awk '$3 ~ /^\// { print $3 }'
	sed -n 's/^#define [A-Z]*_SONAMES "\(.*\)"/\1/p' "$ASSAY_BUILD/config.h" | tr ' ' '\n' | while read -r word; do
		/sbin/ldconfig -p | awk -v name="$word" '$1 == name { print $NF }'
	done
}

@test "no function of assay has the name of a function in a library that it links" {
	local library n=0
	own_symbols "$ASSAY_BUILD/libassay.a" "$ASSAY_BUILD/assay.p/src_commands_main.c.o" >own
	[ "$(wc -l <own)" -gt 1000 ]
	linked_libraries | sort -u >libraries
	for library in $(<libraries); do
		[ -n "$(library_symbols "$library")" ] || continue # a linker script
		n=$((n + 1))
		clashes own "$library" >names
		[ ! -s names ] || { echo "$library has names of assay: $(xargs <names)" >&2; return 1; }
	done
	((n > 10))
}

@test "a clash is found in static and shared libraries, whether they define the name or need it" {
	own_symbols "$ASSAY_BUILD/libassay.a" >own
	grep -qx session_open own
	echo 'int session_open(void); int session_open(void) { return 1; }' >defines.c
	echo 'int session_open(void); int other(void); int other(void) { return session_open(); }' >needs.c
	for name in defines needs; do
		gcc -fPIC -c $name.c
		ar rc lib$name.a $name.o
		gcc -shared -o lib$name.so $name.o
		[ "$(clashes own lib$name.a)" = session_open ]
		[ "$(clashes own lib$name.so)" = session_open ]
	done
}

@test "shared libraries see no symbol of assay" {
	nm -D --defined-only "$ASSAY_BUILD/assay" | awk '{ print $3 }' | sort -u >exported
	own_symbols "$ASSAY_BUILD/libassay.a" | comm -12 - exported >names
	[ ! -s names ] || { cat names >&2; return 1; }
}
