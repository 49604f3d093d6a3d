#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Interpreters in programs that are not compiled with -fPIC: they have copies of the libraries' variables.

load helpers
load languages

# embed NAME HEADERS OPTION...: builds tests/programs/embed/NAME.c against a library.
embed() {
	local name=$1 headers=$2
	shift 2
	[ "$(uname -m)" = x86_64 ] || skip "frames of languages are known on x86-64 alone"
	need_sampler
	[ -e "$headers" ] || skip "no headers of $name are installed"
	gcc -w -O1 -fno-pie -no-pie -o embeds "$ROOT/tests/programs/embed/$name.c" "$@" || skip "no library of $name to link with is installed"
	readelf -rW embeds >relocations
}

# check_embedded LANGUAGE [OPTION]: the stacks of the golden program are those that they must be.
check_embedded() {
	cp "$ROOT/tests/programs/lang/golden.$1" .
	# A large library is read late on a busy machine.
	record_samples 1000 s "image:*golden.$1" -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- ./embeds "golden.$1"
	assay export -i s --format speedscope -o s.json "app:$PWD/embeds"
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json "${@:2}" "$1"
}

# embed_python OPTION...
embed_python() {
	command -v python3-config >/dev/null || skip "no python3-config here"
	need_python
	# shellcheck disable=SC2046 # many words
	embed python "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" "$@" $(python3-config --embed --includes --ldflags)
	ldd embeds | grep -q libpython || skip "Python is not a library here"
}

@test "a program with a copy of PyCode_Type has the functions of its Python" {
	embed_python
	grep -q 'COPY.* PyCode_Type' relocations
	check_embedded py ${plain:+"$plain"}
}

@test "a program with a copy of _PyRuntime has the functions of its Python" {
	python3 -c 'import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 12))' || skip "$(python3 --version): other headers"
	embed_python -DRUNTIME
	grep -q 'COPY.* _PyRuntime' relocations
	check_embedded py ${plain:+"$plain"}
}

@test "a program with a copy of PHP's globals has the functions of its PHP" {
	local config library
	for config in php-config php-config{8.4,8.3,8.2,8.1,7.4}; do
		command -v "$config" >/dev/null && break
	done || skip "no php-config here"
	for library in /usr/lib/libphp.so "$("$config" --prefix)"/lib/libphp*.so; do
		[ ! -e "$library" ] || break
	done
	# shellcheck disable=SC2046 # many words
	embed php "$("$config" --include-dir)/sapi/embed/php_embed.h" $("$config" --includes) "$library"
	grep -q 'COPY.* executor_globals' relocations
	check_embedded php
}

@test "a program with a copy of PL_thr_key has the functions of its Perl" {
	perl -MConfig -MExtUtils::Embed -e 'exit !$Config{usethreads}' || skip "no Perl with threads here"
	# shellcheck disable=SC2046 # many words
	embed perl "$(perl -MConfig -e 'print $Config{archlibexp}')/CORE/perl.h" $(perl -MExtUtils::Embed -e ccopts -e ldopts)
	grep -q 'COPY.* PL_thr_key' relocations
	check_embedded pl
}
