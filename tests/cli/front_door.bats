#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The first minutes of a newcomer: help, names that are misspelled, names from perf, completion.

load helpers

MAN=$ASSAY_BUILD/man

every_command() {
	assay | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'
	sed -n 's/^FRONT_END(\(.*\))/\1/p' "$ROOT/src/commands/front_ends.def" "$ROOT/src/oprofile/tools/programs.def" | tr _ -
}

@test "assay alone begins with first steps, and names the options that most commands share" {
	run assay
	[ "$status" = 0 ]
	[ "$(grep -nm1 'assay record -- ./app' <<<"$output" | cut -d: -f1)" -le 6 ]
	for option in "-i DIR" "-o NAME" "-p PID" "-a " "-e EVENT"; do
		grep -q "^  $option" <<<"$output"
	done
}

@test "help shows examples first, then the most used options, each once" {
	for command in record report annotate script stat top diff trace export daemon inject; do
		assay "$command" --help >out
		[ "$(grep -n '^Examples:' out | cut -d: -f1)" = 4 ]
		used=$(sed -n '/^Most used options:/,/^$/p' out | grep -c '^  *-')
		[ "$used" = 5 ]
		[ "$(sed -n '/^Most used options:/,/^More in/p' out | grep -oE '^  (-.|    )(, )?--[a-z-]+' | sort | uniq -d)" = "" ]
	done
}

@test "man pages show examples first, then the most used options" {
	[ -f "$MAN/assay.1" ] || skip "no man pages: scdoc is not installed"
	for page in assay assay-record assay-report assay-stat; do
		grep '^\.SH' "$MAN/$page.1" | sed -n 3,4p | tr -d '"' >sections
		[ "$(tr '\n' ' ' <sections)" = ".SH EXAMPLES .SH MOST USED OPTIONS " ]
	done
}

@test "no markup of the man pages is in help" {
	local backslash=$'\\\\'
	for command in $(every_command); do
		assay "$command" --help >out
		run grep -E "(^|[ (])\*[^ *]+\*|(^|[ (])_[^ _]+_([ ,.)]|$)|$backslash" out
		[ "$command: $output" = "$command: " ]
	done
}

@test "a misspelled command names the nearest one" {
	run assay recrod
	refused 2 "no command 'recrod'; nearest: record"
	run assay rep
	refused 2 "nearest: report"
	run assay help anotate
	refused 2 "nearest: annotate"
	run assay list
	refused 2 "'perf list' is 'assay events' here"
	run assay zzzzzz
	refused 2 "no command 'zzzzzz'; 'assay help' lists all"
}

@test "a misspelled option names the nearest one, and a prefix is enough" {
	run assay record --callgraph=fp -- true
	refused 2 "unknown option --callgraph; nearest: --call-graph"
	run assay report --invrted
	refused 2 "unknown option --invrted; nearest: --inverted"
	session_at a.assay "$PROGRAMS/split" main=10
	assay report -i a.assay --tree >tree
	assay report -i a.assay --tre | diff - tree
}

@test "report takes perf's options that mean the same" {
	session_at a.assay "$PROGRAMS/split" main=10
	assay report -i a.assay >plain
	assay report -i a.assay --stdio --no-children --no-inline | diff - plain
	assay report -i a.assay --threshold 30 >some
	assay report -i a.assay --percent-limit 30 | diff - some
	assay report -i a.assay --percent-limit=30 | diff - some
	assay report -i a.assay --by image,symbol >keys
	assay report -i a.assay --by dso,sym | diff - keys
}

@test "an option of perf that has another name here is refused with that name" {
	run assay report --children
	refused 2 "perf's option --children" "--sort total"
	run assay report --dsos libc.so.6
	refused 2 "image:NAME"
	run assay report --sort dso,sym
	refused 2 "no column 'dso'" "--by takes perf's keys"
	run assay record -i -- true
	refused 2 "perf's option -i" "-t TID"
	run assay stat -x, -- true
	refused 2 "--format csv"
}

@test "help lists the letters that mean something else in perf" {
	assay report --help >out
	sed -n '/^Options that mean something else in perf report:/,/^$/p' out >other
	has '^  -g  *--tree, --inverted and --callgraph' other
	has '^  -s  *.*--by comm,image,symbol' other
	# Each of them is an option of assay, too: others are not in this list.
	grep -oE '^  -.' other | while read -r letter; do
		grep -qE "^  ${letter}[,= ]" <(sed '/^Options that mean/,$d' out)
	done
}

@test "record takes perf's --call-graph with a size, and -F max" {
	need_recording
	assay record -q -F max --call-graph=dwarf,8192 -o a.assay -- true
	[ "$(fact a.assay '.events[0].freq_hz')" = "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" ]
	run assay record --call-graph=dwarf,99999999 -- true
	refused 2 "--call-graph=dwarf: '99999999' is not a number from 1024 to 65528"
	run assay record -c 0 -- true
	refused 2 "--count: '0' is not a number of 1 or more"
	run assay ctl --timeout 0 status
	refused 2 "--timeout: '0' is not a time from 0.001s to 1000000s"
	run assay record --call-graph=lbr -- true
	refused 2 "'lbr' is not one of best|fp|dwarf|none"
}

@test "an output below a folder that is not there is refused, and nothing is made" {
	need_recording
	for arguments in "record -o no/such/x -- true" "record --raw -o no/such/x -- true"; do
		# shellcheck disable=SC2086 # words
		run assay $arguments
		refused 1 "there is no folder no/such; make it with 'mkdir -p no/such'"
		[ ! -e no ]
	done
	session_at a.assay "$PROGRAMS/split" main=10
	run assay archive -i a.assay -o no/such/x
	refused 1 "there is no folder no/such"
	echo 'a;b 1' >folded
	run assay import folded -o no/such/x
	refused 1 "there is no folder no/such"
	[ ! -e no ]
}

# What bash would offer for the command line given as words, split as bash does, the last one unfinished.
bash_offers() {
	bash -c 'source "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _assay && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$MAN/assay.bash" "$@"
}

@test "bash completes keys, events, filters, and functions of the session" {
	session_at a.assay "$PROGRAMS/split" main=10
	bash_offers assay report --by sy | has -x symbol -
	bash_offers assay report --by = comm,sy | has -x comm,symbol -
	bash_offers assay report -i a.assay sy | has -x 'symbol:' -
	# The shell splits at the colon and replaces the text behind it.
	[ "$(bash_offers assay report -i a.assay symbol : ma)" = main ]
	[ "$(bash_offers assay report -i a.assay symbol :)" = main ]
	[ "$(bash_offers assay report -i a.assay image : spl)" = split ]
	bash_offers assay record -e page-f | has -x page-faults -
	bash_offers assay record -e cpu-clock,page-f | has -x cpu-clock,page-faults -
}

@test "fish completes keys, events, filters, and functions of the session" {
	command -v fish >/dev/null || skip "fish is not installed"
	session_at a.assay "$PROGRAMS/split" main=10
	fish_offers() {
		# shellcheck disable=SC2016 # fish expands it
		fish -c 'source $argv[1]; complete -C $argv[2]' "$MAN/assay.fish" "$1" | cut -f1
	}
	fish_offers 'assay report --by comm,sy' | has -x comm,symbol -
	fish_offers 'assay report -i a.assay symbol:ma' | has -x symbol:main -
	fish_offers 'assay report sym' | has -x symbol: -
	fish_offers 'assay record -e page-f' | has -x page-faults -
}

@test "zsh has completers for keys, events and filters" {
	has -F ':EVENT:_assay_events' "$MAN/_assay"
	has -F ':KEYS:_values -s , key app process' "$MAN/_assay"
	has -F '*:filter:_assay_filters' "$MAN/_assay"
}

@test "names for completion: each once, by number where the filter takes one" {
	session_at a.assay "$PROGRAMS/split" main=10
	[ "$(assay help --names symbol: -i a.assay)" = main ]
	assay help --names pid: -i a.assay | has -xE '[0-9]+' -
	run assay help --names nonsense
	refused 2 "'nonsense' is not event, filter or TAG:"
	run assay help --names symbol: -i nowhere
	refused 1 "nowhere"
}

@test "code between two exported functions is no call, and why explains its name" {
	cat >lib.c <<-'END'
		__attribute__((noinline)) int low(void) { asm volatile(""); return 1; }
		__attribute__((noinline)) static int hidden(int i) { asm volatile("" : "+r"(i)); return i; }
		__attribute__((noinline)) int high(void) { asm volatile(""); return 3; }
		int main(int argc, char **argv) { (void)argv; return hidden(argc) + low() + high(); }
	END
	gcc -O1 -fno-inline -fno-toplevel-reorder -rdynamic -o app lib.c
	place=0x$(nm app | awk '$3 == "hidden" { print $1 }')
	session_at b.assay app "$place=30"
	strip app
	assay report -i b.assay -l --symbol-cache "" --columns symbol --format csv >out
	has -F 'low..high' out
	not grep -q -e '->' out
	run assay why -i b.assay --symbol-cache "" 'low*..high'
	refused 0 "not a call: no symbol names this code, which lies between the functions low and high"
}
