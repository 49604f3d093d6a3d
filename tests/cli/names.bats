#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions for people, from the names that compilers write into symbol tables.
load helpers

# program_with NAME: ./app is a C program that is busy in a function of that name in the symbol table, until it is killed.
program_with() {
	cat >app.c <<-END
		void busy(void) __asm__("$1");
		__attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < 1000000; i++); }
		int main(void) { for (;;) busy(); }
	END
	"${CC_FOR_TEST:-gcc}" -O1 app.c -o app
}

@test "a symbol of D does not end the report" {
	need_recording
	local name=_D3std9algorithm7sorting__T13quickSortImplS1d4mainFZ16__lambda_L8_C277TAAyaZQBxMFNaNbNiNfQsmZv
	program_with "$name"
	record_samples 20 s '' -- ./app
	assay report -i s -l >list
	has 'quickSortImpl' list
}

# shows NAME COMMAND…: the command, run for the recording, prints this name of the function, and not the other one.
shows() {
	local name=$1 other
	shift
	other=$mangled
	[ "$name" != "$mangled" ] || other=$readable
	"$@" >shown || { echo "fails: $*" >&2; return 1; }
	if ! grep -qF -e "$name" shown || grep -qF -e "$other" shown; then
		echo "no $name, or $other, by: $*" >&2
		head -c 1000 shown >&2
		return 1
	fi
}

@test "--no-demangle shows names as the symbol table has them, in every command that shows names" {
	need_recording
	local mangled=_ZN4shop4findEi readable='shop::find'
	program_with "$mangled"
	record_samples 20 s '' -- ./app
	record_samples 20 raw '' --raw -- ./app
	local -a commands=(
		'report -i s -l' 'report -i s --tree' 'report -i s --format=json -l' 'report -i s --svg=-'
		'annotate -i s --assembly' 'diff s s --format=json' 'export -i s --format=folded' 'export -i s --format=csv'
		'script -i raw'
	)
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # words
		shows "$readable" assay $command
		# shellcheck disable=SC2086
		shows "$mangled" assay $command --no-demangle
	done
	shows "$readable" assay why -i s 'shop::find(int)'
	shows "$mangled" assay why -i s --no-demangle "$mangled"
	# The commands above are all that have the option, but for those that record.
	for command in $(assay help | awk '/^  [a-z]/ && $1 != "assay" { print $1 }'); do
		if assay help "$command" 2>/dev/null | grep -q -e --no-demangle; then
			case " top trace why ${commands[*]} " in *" $command "*) ;; *) echo "$command is not tested" >&2; return 1 ;; esac
		fi
	done
}

@test "filters go by the names that are shown" {
	need_recording
	program_with _ZN4shop4findEi
	record_samples 20 s '' -- ./app
	assay report -i s -l 'symbol:shop::*' >list
	has 'shop::find(int)' list
	assay report -i s -l --no-demangle 'symbol:_ZN4shop*' >list
	has _ZN4shop4findEi list
}

@test "a name that can't be read costs that name only, and is told" {
	need_recording
	program_with _ZN3foo
	record_samples 20 s '' -- ./app
	assay report -i s -l >list 2>told
	has _ZN3foo list
	has '1 mangled name is unread and shown as in the symbol table' told
}
