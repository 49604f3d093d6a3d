#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# operf, and OProfile's other tools after it, as its users call them.
load helpers

# Samples of the session in a directory, by its sample files alone.
samples() {
	opreport -n "${@}" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

@test "operf and opreport without any option" {
	need_recording
	run operf "$PROGRAMS/split" 0.5cpu
	[ "$status" = 0 ]
	[ -s oprofile_data/abi ]
	[ -d "oprofile_data/samples/current/{root}" ]
	run --separate-stderr opreport -l
	[ "$status" = 0 ]
	[[ "$output" == *"Profiling through timer interrupt"* || "$output" == *"Counted "* ]]
	[[ "$output" == *forty* && "$output" == *thirty* ]]
	[ "$(echo oprofile_data/*)" = "oprofile_data/abi oprofile_data/samples" ]
}

@test "the run before is session previous; --append adds to it" {
	need_recording
	operf -e cpu-clock:1000000 "$PROGRAMS/split" 0.3cpu >/dev/null 2>&1
	first=$(samples -x)
	[ "$first" -gt 0 ]
	operf -e cpu-clock:1000000 "$PROGRAMS/split" 0.3cpu >/dev/null 2>&1
	[ "$(samples -x session:previous)" = "$first" ]
	second=$(samples -x)
	operf -a -e cpu-clock:1000000 "$PROGRAMS/split" 0.3cpu >/dev/null 2>&1
	[ "$(samples -x)" -gt "$second" ]
	[ "$(samples -x session:previous)" = "$first" ]
}

# Killed when it has written 100 samples, with the program: each function of that is among them.
killed_operf() {
	local child
	background operf "$PROGRAMS/split" 100000s >/dev/null 2>&1
	written() {
		rm -rf written
		cp -r oprofile_data/recording.*/. written 2>/dev/null && [ "$(samples --session-dir=written)" -ge 100 ]
	}
	wait_for written
	child=$(pgrep -P "$pid" -x split || true)
	kill -9 "$pid"
	[ -z "$child" ] || kill -9 "$child"
	wait "$pid" || true
}

@test "the next program that looks there keeps the samples of a killed operf" {
	need_recording
	killed_operf
	[ -n "$(find oprofile_data -name "recording.*")" ]
	run opreport -l
	[ "$status" = 0 ]
	[[ "$output" == *"a recording was killed; its samples are the current ones now"*forty* ]]
	[ "$(echo oprofile_data/*)" = "oprofile_data/abi oprofile_data/samples" ]
	first=$(samples)
	killed_operf
	run operf true
	[ "$status" = 0 ]
	[[ "$output" == *"a recording was killed"* ]]
	[ "$(echo oprofile_data/*)" = "oprofile_data/abi oprofile_data/samples" ]
	opreport -l session:previous 2>/dev/null | grep -q forty
	[ "$first" -gt 0 ]
	mkdir -p "oprofile_data/recording.$$/samples/current"
	run opreport
	[ -d "oprofile_data/recording.$$" ]
}

@test "-i and -e: globs of demangled names, and mangled names" {
	need_recording
	command -v c++ >/dev/null || skip "no C++ compiler"
	cat >own.cc <<-'END'
		#include <ctime>
		struct table {
			unsigned long at;
			template <int N> [[gnu::noinline]] void operator[](const char (&s)[N]) { work(s[0]); }
			[[gnu::noinline]] void search(const char *s, int) { work(s[0]); }
			[[gnu::noinline]] void search(const char **s, int) { work(s[0][0]); }
			[[gnu::always_inline]] void work(unsigned long n) {
				for (int i = 0; i < 100000; i++)
					asm volatile("" : "+r"(at) : "r"(n));
			}
		};
		int main() {
			table t{};
			const char *word = "hammer";
			for (int i = 0; clock() < CLOCKS_PER_SEC / 2; i++) {
				t["nut"];
				t.search(word, i);
				t.search(&word, i);
			}
		}
	END
	c++ -g -O1 -o own own.cc
	operf ./own >/dev/null 2>&1
	only() {
		opreport -nl image:"$PWD/own" "$@" 2>/dev/null | sed 's/.*table::/table::/' | grep '^table' | sort -u
	}
	names=$(opreport -nl -D none image:"$PWD/own" 2>/dev/null | awk '/_ZN5table/ { print $NF }')
	[ "$(wc -l <<<"$names")" = 3 ]
	[ "$(only | wc -l)" = 3 ]
	[ "$(only -i 'table::se*' | wc -l)" = 2 ]
	[ "$(only -i '*::search' | wc -l)" = 2 ]
	[[ "$(only -e '*search*')" == *"operator[]"* ]]
	[ "$(only -i '*table::*' -e '*search(char const\**, int)' | wc -l)" = 1 ]
	[[ "$(only -i "$(grep ix <<<"$names")")" == *"operator[]"* ]]
	[ "$(only -i "$(grep PKci <<<"$names" | grep -v PPKc)")" = "table::search(char const*, int)" ]
	[ "$(only -e "$(grep PPKc <<<"$names")" | wc -l)" = 2 ]
	opannotate -s -i '*::search' 2>/dev/null >lines
	grep -q 'table::search.* total:' lines
	run ! grep -q 'operator.* total:' lines
	opannotate -s -e '*::search' 2>/dev/null >lines
	grep -q 'operator.* total:' lines
	run ! grep -q 'search.* total:' lines
	# opannotate shows the names of the symbol table, and its filters go by them.
	opannotate -s --demangle=none 2>/dev/null >lines
	while read -r name; do has -F "/* $name total:" lines; done <<<"$names"
	run ! grep 'table::.* total:' lines
	name=$(grep PPKc <<<"$names")
	opannotate -s --demangle=none -i "$name" 2>/dev/null >lines
	has -F "/* $name total:" lines
	[ "$(grep -c '_ZN5table.* total:' lines)" = 1 ]
	opannotate -s --demangle=smart 2>/dev/null >lines
	has 'table::search' lines
	run ! grep '_ZN5table.* total:' lines
}

@test "operf -t keeps threads apart, which opreport shows as columns" {
	need_recording
	operf -t "$PROGRAMS/threads" 0.5cpu >/dev/null 2>&1
	run --separate-stderr opreport -l
	[ "$status" = 0 ]
	[[ "$output" == *"Processes with a thread ID of "* ]]
	run --separate-stderr opreport -n -m tid,tgid
	[ "$status" = 0 ]
}

@test "operf's exit status: the command's end, and failures" {
	need_recording
	run operf sh -c 'exit 5'
	refused 1 "ended with status 5"
	run operf ./no-such-command
	refused 2 "no-such-command"
	run operf -e no-such-event:100000 true
	refused 2 "unknown event 'no-such-event'"
	run operf -d nowhere true
	refused 1 "nowhere is not a directory"
	run operf
	refused 1 "give one of COMMAND, --pid and --system-wide"
	run operf -s -p 1
	refused 1 "give one of"
	run operf --bogus true
	refused 1 "unknown option --bogus" "--separate-thread"
}

@test "options that mean nothing any more say so in a line" {
	need_recording
	run operf -k /boot/vmlinux -l -V all true
	[ "$status" = 0 ]
	[ "$(grep -c -e '--vmlinux: ' -e '--lazy-conversion: ' -e '--verbose: ' <<<"$output")" = 3 ]
}

@test "an ordinary user profiles his own program" {
	need_recording
	[ "$(id -u)" != 0 ] || command -v runuser >/dev/null || skip "runuser is not installed"
	unprivileged assay record -q -o probe -- true >/dev/null 2>&1 || skip "ordinary users may not record here"
	if [ -d "$NOBODY" ]; then cp "$PROGRAMS/split" "$NOBODY"; else cp "$PROGRAMS/split" .; fi
	run unprivileged sh -c "operf ./split 0.3cpu >/dev/null 2>&1 && opreport -l 2>/dev/null"
	[ "$status" = 0 ]
	[[ "$output" == *forty* ]]
}
