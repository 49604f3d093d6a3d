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
		'script -i raw' 'explain -i s'
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
			case " top browse trace why ${commands[*]} " in *" $command "*) ;; *) echo "$command is not tested" >&2; return 1 ;; esac
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

@test "an unreadable name only costs that name, with a note" {
	need_recording
	program_with _ZN3foo
	record_samples 20 s '' -- ./app
	assay report -i s -l >list 2>told
	has _ZN3foo list
	has '1 mangled name is unread and shown as in the symbol table' told
}

# hostile_library: ./hostile.so has a function for each language of names and each kind of harm; prints how many.
hostile_library() {
	python3 - >hostile.s <<-'END'
		import sys
		TELLING = "camlShop__code_begin", "shop___elabb", "__gnat_version", "stg_upd_frame_info", "base_Shop_map_closure"
		# start, a part that repeats, how templates or scopes nest, end
		LANGUAGES = (
		    ("_ZN4shop", "1a", ("1AI", "i", "E"), "Ev"),
		    ("_ZN5store", "1a", ("1AI", "i", "E"), "17h0123456789abcdefE"),
		    ("_RNvC4shop", "1a", ("INtB0_1A", "l", "E"), "3fooE"),
		    ("_D4shop", "1a", ("__T1AT", "i", "Z"), "FZv"),
		    ("$s4shop", "1a", ("4shop1AVy", "Si", "G"), "yyF"),
		    ("camlShop__", "a__", ("$28", "a", "$29"), "_12"),
		    ("shop__", "a__", ("a__", "b", "__c"), "b"),
		    ("__shop_MOD_", "a_", ("s.", "a", "b"), "f"),
		    ("_QMshop", "Fa", ("Fa", "Fb", "Fc"), "Pf"),
		    ("base_Shop_", "zi", ("ZL", "a", "ZR"), "_info"),
		)
		def bodies(part, nest):
		    yield part * ((1 << 20) // len(part))
		    yield nest[0] * 10000 + nest[1] + nest[2] * 10000
		    yield "3\udcff\udcc0\udcaf"
		    yield "4\x1b[1m"
		    yield "z1bU$1b$00z0U"
		    yield "3a#NUL#"
		lines = [".data"] + [f'.globl "{name}"\n"{name}": .long 0' for name in TELLING] + [".text"]
		for start, part, nest, end in LANGUAGES:
		    for body in bodies(part, nest):
		        name = start + body + end
		        lines.append(f'.globl "{name}"\n.type "{name}",%function\n"{name}": .fill 16,1,0x90\n.size "{name}",16')
		lines.append('.section .note.GNU-stack,"",%progbits\n')
		sys.stdout.buffer.write("\n".join(lines).encode("utf-8", "surrogateescape"))
	END
	gcc -nostdlib -shared -Wl,--build-id -o hostile.so hostile.s
	LC_ALL=C sed -i 's/#NUL#/\x00\x00\x00\x00\x00/g' hostile.so
	grep -c '%function' hostile.s
}

# harmless COMMAND…: its output is valid text that moves no cursor. CSV is data: it keeps characters as they are.
harmless() {
	"$@" >out 2>told || { echo "fails: $*" >&2 && cat told >&2 && return 1; }
	for file in out told; do
		if ! iconv -f UTF-8 -t UTF-8 <$file >/dev/null || { [[ "$*" != *csv* ]] && grep -q $'\x1b' $file; }; then
			echo "$file by: $*" >&2
			return 1
		fi
	done
	[ -s out ]
}

@test "hostile names of every language do no harm, in any output" {
	local n options
	n=$(hostile_library)
	[ "$n" = 60 ]
	# shellcheck disable=SC2046 # words
	session_at s hostile.so $(nm hostile.so | awk '$2 == "T" { print "0x" $1 "=1" }')
	for options in '-l' '-l -w' '--tree' '--format=json -l' '--format=csv -l' '--svg=-' '--html=-'; do
		# shellcheck disable=SC2086 # words
		harmless assay report -i s --symbol-cache '' $options
	done
	harmless assay annotate -i s --assembly
	harmless assay export -i s --format=folded
	harmless assay export -i s --format=callgrind
	assay report -i s --symbol-cache '' -l --format=json 2>told >rows.json
	[ "$(jq '[.rows[].samples] | add' rows.json)" = "$n" ]
	# Text behind a NUL is no name, and an escape that a language writes in letters is no escape.
	jq -r '.rows[].symbol' rows.json | cut -c -200 >names
	for name in 'Shop.4' 'shop::4' 'base:Shop.4' 'shop.' 'shop::' 'Shop.z1bU'; do has -F "$name" names; done
	has -x '_ZN4shop3a' names
	has -E ' mangled names are unread and shown as in the symbol table' told
}
