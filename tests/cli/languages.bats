#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of interpreted languages in stacks (docs/languages.md).
# shellcheck disable=SC2153 # PYTHON is set in languages.bash

load helpers
load daemon
load languages

# record_python N PROGRAM…: the whole machine beside Python, which works for ever, into s.
record_python() {
	local n=$1
	shift
	cp "$ROOT/tests/programs/lang/golden.py" .
	record_samples "$n" s "image:$PWD/golden.py" -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- "$@"
}

@test "functions of CPython's perf trampoline are Python's, and their stacks whole" {
	local code collector
	need_recording
	for collector in "--collector perf --call-graph dwarf" "--collector bpf"; do
		[[ $collector != *bpf ]] || need_sampler
		for code in sub push; do
			[ "$code" = sub ] || [ "$(uname -m)" = x86_64 ] || continue
			# shellcheck disable=SC2086 # words
			record_samples 300 s "" $collector -e cpu-clock -- "$PROGRAMS/trampoline" 100000s $code >maps
			rm -f /tmp/perf-"$pid".map
			check_trampolines
			check_source_by_name
		done
	done
}

@test "--python-trampoline names Python's functions in copied stacks" {
	need_recording
	python3 -c 'import sys; sys.exit(not hasattr(sys, "activate_stack_trampoline"))' || skip "no python3 of 3.12 or newer here"
	record_samples 300 s "" --collector perf --call-graph dwarf --python-trampoline -e cpu-clock -- "$(python_path)" -c '
import os, sys
print(os.getpid(), file=sys.stderr)
def spin():
    return sum(i * i for i in range(10**5))
while True: spin()'
	rm -f "/tmp/perf-$(grep -xE '[0-9]+' recorder.out).map"
	assay report -i s --frames language --by language,symbol -t 0 --format json >by.json
	[ "$(jq '[.rows[] | select(.language == "python" and .symbol == "spin")] | length' by.json)" = 1 ]
	[ "$(jq '[.rows[] | select(.language == "python") | .samples] | add' by.json)" -ge 200 ]
	[ "$(fact s '.losses."python-collector" // 0')" = 0 ]
}

@test "--python-trampoline is for a command without rights for BPF" {
	need_recording
	run assay record --python-trampoline -p $$
	[ "$status" = 2 ]
	[[ "$output" == *"--python-trampoline is for a command"* ]]
	[ "$(assay record -q -o s --collector perf --python-trampoline -- sh -c 'echo "<$PYTHONPERFSUPPORT>"')" = "<1>" ]
	[ "$(env -u PYTHONPERFSUPPORT assay record -q -o s --collector perf -- sh -c 'echo "<$PYTHONPERFSUPPORT>"')" = "<>" ]
	need_sampler
	[ "$(env -u PYTHONPERFSUPPORT assay record -q -o s --collector bpf --python-trampoline -- sh -c 'echo "<$PYTHONPERFSUPPORT>"')" = "<>" ]
}

@test "each stack of a Python program is the one that it must be" {
	need_python
	record_python 2000 "$PYTHON" golden.py
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	assay export -i s --format speedscope -o s.json "app:$PYTHON"
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json ${plain:+"$plain"}
}

@test "a thread that runs a second interpreter of Python has the functions of both" {
	need_python
	"$PYTHON" -c 'import importlib.util as u, sys; sys.exit(not any(map(u.find_spec, ("_interpreters", "_xxsubinterpreters"))))' ||
		skip "this Python can't make a second interpreter"
	cp "$ROOT/tests/programs/lang/nested.py" .
	record_samples 500 s via:in_second -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- "$PYTHON" nested.py
	assay export -q -i s --format folded -o folded --frames language via:in_second
	run ! grep -vE '(^|;)<module>;main;outer;<module>;in_second [0-9]+$' folded
	[ "$(awk '{ n += $NF } END { print n }' folded)" -ge 400 ]
}

@test "Python's functions have their lines, and are a language of reports" {
	need_python
	record_python 1000 "$PYTHON" golden.py
	assay report -i s --by language,symbol -t 0 --format json "image:$PWD/golden.py" >by.json
	[ "$(jq '[.rows[] | select(.language == "python" and .symbol == "spin")] | length' by.json)" = 1 ]
	[ "$(jq '[.rows[] | select(.language == "native" and .symbol == "spin")] | length' by.json)" = 0 ]
	# spin() is line 13 to 17; its samples are in its loop.
	assay report -i s --by symbol,line -t 0 --format json "image:$PWD/golden.py" |
		jq -r '.rows[] | select(.symbol == "spin") | .line | split("/")[-1]' | sort -u >lines
	has -x "golden.py:16" lines
	run ! grep -vxE 'golden.py:1[3-7]' lines
	assay annotate -i s --search-dir "$PWD" "image:$PWD/golden.py" spin >annotated # other tests have one, too
	has 'x += i \* i' annotated
	# FILE:FUNCTION is a function of a source file.
	assay annotate -i s --search-dir "$PWD" golden.py:spin "image:$PWD/golden.py" >annotated # other tests have one, too
	has 'x += i \* i' annotated
	assay annotate -i s --search-dir "$PWD" "$PWD/golden.py:sp*n" 'language="python"' >annotated
	has 'x += i \* i' annotated
	run assay annotate -i s --search-dir "$PWD" other.py:spin
	[ "$status" != 0 ]
	[[ "$output" == *"no function 'spin' with samples in a source file 'other.py'"* ]]
	[ -n "$plain" ] || [ "$(assay report -i s -l via:Shape.spin_method --format json | jq .header.samples.selected)" -gt 0 ]
	# OTLP has the language of each frame.
	if assay export --list-formats | grep -q '^otlp '; then
		assay export -q -i s -F otlp -o x.otlp "app:$PYTHON"
		python3 "$ROOT/tests/cli/protobuf.py" otlp x.otlp | jq -r '.frame_types[]' >types
		has -x cpython types
		has -x native types
		has -x kernel types
		run ! grep -vxE 'cpython|native|kernel|' types
	fi
	# The page has a colour for it.
	assay report -i s --html page.html
	has '"language">by language' page.html
	# The keys language and file, and mode, are filters.
	filtered() { assay report -i s --by "$1" -t 0 --format json "image:$PWD/golden.py" "$2" | jq -cS "[.rows[] | {key: .$1, value: .samples}] | map(select(.value > 0)) | from_entries"; }
	[ "$(filtered language 'language:pyth*' | jq -r 'keys[]')" = python ]
	[ "$(filtered mode mode:user | jq -r 'keys[]')" = user ]
	[ "$(filtered file file:golden.py | jq -r 'keys[]')" = "$PWD/golden.py" ]
	python=$(assay report -i s --by language -t 0 --format json "image:$PWD/golden.py" | jq '.rows[] | select(.language == "python") | .samples')
	[ "$(assay report -i s -l --format json 'language="python"' "image:$PWD/golden.py" | jq .header.samples.selected)" = "$python" ]
	run assay report -i s language:cobol
	[[ "$output" == *"no sample matches language:cobol; there are: "*python* ]]
	run assay report -i s file:nothing.py
	[[ "$output" == *"no sample matches file:nothing.py; there are: "?* ]] # a few, and cut
}

@test "--frames chooses native frames or those of Python, in each view and export, and samples add up" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	assay record -e cpu-clock -F 500 -o s -- "$PYTHON" golden.py 200
	samples=$(fact s .samples)
	for frames in both native language; do
		for view in --symbols --tree --inverted "--by language" --callgraph; do
			# shellcheck disable=SC2086
			assay report -i s $view --frames "$frames" -t 0 --format json >out.json
			[ "$(jq -r .header.frames out.json)" = "$frames" ]
			[ "$(jq '.total[0].samples' out.json)" = "$samples" ]
		done
		for format in folded speedscope pprof otlp firefox callgrind; do
			assay export -i s --frames "$frames" --format "$format" -o "$frames.$format"
		done
		awk '{ n += $NF } END { exit n != '"$samples"' }' "$frames.folded"
		# script has the same stacks.
		assay script -i s --frames "$frames" --format json >"$frames.script"
		[ "$(jq -s 'map(.samples // 1) | add' "$frames.script")" = "$samples" ]
		[ "$(assay report -i "$frames.pprof" --format json | jq '.total[0].samples')" = "$samples" ]
		jq -c '[.profiles[].weights[]] | add' "$frames.speedscope" >>speedscope.sums
		zcat -f "$frames.firefox" | jq -c '[.threads[].samples | (.weight // [.stack[] | 1])[]] | add' >>firefox.sums
		sed -n 's/^totals: //p; s/^summary: //p' "$frames.callgrind" >>callgrind.sums
		python3 "$ROOT/tests/cli/protobuf.py" otlp "$frames.otlp" | jq -c '[.profiles[] | [.samples[].value] | add]' >>otlp.sums
	done
	# The sums are those of each choice.
	for format in speedscope firefox callgrind otlp; do
		[ -s "$format.sums" ]
		[ "$(sort -u "$format.sums" | wc -l)" = 1 ]
	done
	for format in autofdo bolt; do
		run assay export -i s --frames native --format "$format" -o x
		[ "$status" = 2 ]
		[[ "$output" == *"takes no --frames"* ]]
	done
	# The loop, as a frame of its own, is in native stacks alone.
	# In Debian's stripped 3.14, the loop is elsewhere than the function of that name.
	loop=_PyEval_EvalFrameDefault
	"$PYTHON" -c 'import sys; sys.exit(sys.version_info >= (3, 14))' || loop=PyEval_EvalCode
	has "$loop;" native.folded
	run ! grep -qE '_PyEval_EvalFrameDefault;([^;]*;)?spin' both.folded
	has '^[^;]*;*<module>;everything;callback;spin_callback;spin ' language.folded
	# A C function between those of Python, where the build has its name: Debian's is stripped.
	if grep -q builtin_sorted native.folded; then
		has builtin_sorted both.folded
	fi
	run ! grep -q 'everything.*builtin_sorted' language.folded
	run ! grep -qE ';spin[; ]' native.folded
	symbols() { jq -r '.frames[].symbol // empty' "$1.script"; }
	symbols native >native.symbols
	symbols language >language.symbols
	symbols both >both.symbols
	has -x "$loop" native.symbols
	if grep -qx builtin_sorted native.symbols; then
		has -x builtin_sorted both.symbols
	fi
	has -x spin both.symbols
	has -x spin language.symbols
	run ! grep -qx spin native.symbols
	jq -r '.frames | map(.symbol // "") | join(" ")' language.script >language.stacks
	has '^spin spin_callback callback everything <module>' language.stacks
	# The program's own functions, with the time of the C functions that they call.
	own() { assay report -i s -l --frames "$1" -t 0 --format json | jq '[.rows[] | select(.symbol == "spin") | .samples] | add // 0'; }
	[ "$(own language)" -gt "$(own both)" ]
	[ "$(own native)" = 0 ]
	assay annotate -i s --search-dir "$PWD" golden.py:spin >annotated
	has 'x += i \* i' annotated
	# Each of these samples is at one line.
	[ "$(awk '/^ *[0-9]+ +[0-9.]+ /{n += $1} END {print n}' annotated)" = "$(own language)" ]
	run ! grep -E 'inlined here|^skid' annotated
	run assay report -i s --frames all
	[ "$status" = 2 ]
	[[ "$output" == *"both, native or language"* || "$output" == *"both|native|language"* ]]
}

# need_stops INTERPRETER: what random_stops.py needs.
need_stops() {
	[ "$(uname -m)" = x86_64 ] || skip "frames of languages are known on x86-64 alone"
	command -v "$1" >/dev/null || skip "no $1 here"
	need_sampler
}

@test "at random instructions, Python's stacks are those of faulthandler" {
	need_python
	need_stops python3
	"$ROOT/tests/random_stops.py" 200 python
}

@test "at random instructions, Ruby's stacks are those of rb_backtrace()" {
	need_stops ruby
	ruby -e 'require "fiddle"; exit RUBY_VERSION >= "2.7" && RUBY_VERSION < "3.4"' || skip "$(ruby --version): no Fiddle, or other names"
	"$ROOT/tests/random_stops.py" 200 ruby
}

@test "at random instructions, PHP's stacks are those in its memory" {
	need_stops php
	php -r 'exit(PHP_VERSION_ID < 70400 || PHP_VERSION_ID >= 80500 || PHP_ZTS ? 1 : 0);' || skip "$(php --version | head -1): the test knows other versions"
	"$ROOT/tests/random_stops.py" 200 php
}

@test "at random instructions, Perl's stacks are those in its memory" {
	need_stops perl
	perl -e 'exit($] < 5.032)' || skip "perl $(perl -e 'print $^V'): the test knows other versions"
	"$ROOT/tests/random_stops.py" 200 perl
}

@test "functions of a fiber, and those that call code without an unwind rule, have their PHP callers" {
	need_language php
	php -r 'exit(PHP_VERSION_ID < 80100 ? 1 : 0);' || skip "$(php --version | head -1): no fibers"
	# PHP's patterns are compiled to machine code.
	cat >work.php <<-'EOF'
		<?php
		function spin($n) { for ($i = 0; $i < $n; $i++); }
		function match_often($text) { for ($i = 0; $i < 50; $i++) preg_match('/(a|b)*c/', $text); }
		function resume_often() {
			$fiber = new Fiber(function () { for (;;) { spin(5000); Fiber::suspend(); } });
			$fiber->start();
			for ($i = 0; $i < 500; $i++) { $fiber->resume(); match_often(str_repeat('ab', 200)); }
		}
		function cpu_s() { $r = getrusage(); return $r['ru_utime.tv_sec'] + $r['ru_utime.tv_usec'] / 1e6; }
		while (cpu_s() < 1.5) resume_often();
	EOF
	assay record -e cpu-clock -F "$(at_most 997)" -o s -- "$INTERPRETER" work.php
	[ "$(fact s '.losses."php-mismatch" // 0')" -le $(($(fact s .samples) / 100)) ]
	assay script -i s --frames both --format json >rows
	stacks() { jq -r '[.frames[] | .symbol // (.image | split("/")[-1] | sub("^.*\\.map$|^$"; "[anon]"))] | join(" ")' rows | grep -E "$1"; }
	[ "$(stacks '^spin \{closure\} ' | wc -l)" -gt 10 ]
	run ! grep -vE '^spin \{closure\} .* Fiber::(start|resume) resume_often <main>' <(stacks '^spin \{closure\} ')
	jq -c '.frames | [.[].symbol] | select(index("match_often") and (index("_start") | not))' rows >matches
	[ "$(wc -l <matches)" -gt 5 ]
	[ "$(grep -c '"preg_match","match_often","resume_often","<main>"\]$' matches)" = "$(wc -l <matches)" ]
}

@test "a function in place of the innermost one that a program notes is wrong, and not begun" {
	cat >counted.py <<-'END'
		from random_stops_code import begun_and_wrong
		for expected, found in ("CBA", "XCBA"), ("CBA", "XBA"), ("CBA", "XYBA"), ("CBA", "XCYA"), ("CBCA", "XBCA"), ("CBA", "BA"):
		    begun, wrong = begun_and_wrong(list(expected), list(found))
		    print(expected, found, int(begun), int(wrong))
	END
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 counted.py >counted
	diff counted - <<-'END'
		CBA XCBA 1 0
		CBA XBA 0 1
		CBA XYBA 0 2
		CBA XCYA 1 1
		CBCA XBCA 0 1
		CBA BA 0 0
	END
}

@test "at random instructions, Java's stacks are those that the program notes" {
	need_java
	need_stops java
	"$ROOT/tests/random_stops_code.py" 100 java-usual
	JAVA_FLAGS=-Xint "$ROOT/tests/random_stops_code.py" 60 java-usual
}

@test "at random instructions, JavaScript's stacks are those that the program notes" {
	need_node
	need_stops node
	"$ROOT/tests/random_stops_code.py" 100 js
}

@test "at random instructions, Go's stacks are those that the program notes" {
	need_stops go
	"$ROOT/tests/random_stops_code.py" 100 go
}

@test "the same function of several processes is one row" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	background "$PYTHON" "$PWD/golden.py"
	record_python 1000 "$PYTHON" "$PWD/golden.py"
	assay report -i s --by symbol -t 0 --format json "image:$PWD/golden.py" >by.json
	[ "$(jq '[.rows[] | select(.symbol == "spin")] | length' by.json)" = 1 ]
	[ "$(assay report -i s --by process -t 0 --format json "image:$PWD/golden.py" | jq '.rows | length')" = 2 ]
}

@test "through rings a note says that Python's functions are missing" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	assay record --collector perf -e cpu-clock -o s -- "$PYTHON" golden.py 30
	[ "$(fact s '.losses."python-collector"')" = 1 ]
	[[ "$(assay report -i s)" == *"Python frames are missing: BPF alone reads them (root, or CAP_BPF and CAP_PERFMON)"* ]]
}

@test "a command that runs Python is counted in the kernel: its samples are its CPU time" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	mkdir script
	printf '#!/usr/bin/env -S %s -u\n' "$PYTHON" | cat - golden.py >script/golden.py
	chmod +x script/golden.py
	for command in "$PYTHON golden.py" ./script/golden.py; do
		# shellcheck disable=SC2086
		assay record -e cpu-clock -F 500 -o s -- $command 900 >cpu_ms
		[ "$(fact s .collector)" = BPF ]
		assay export -i s --format speedscope -o s.json
		"$BATS_TEST_DIRNAME/language_stacks.py" s.json ${plain:+"$plain"}
		# A tick of the clock, each 2 ms of CPU time, is a sample or counts as missed.
		ticks=$(fact s '.samples + (.losses."throttled-samples" // 0) + (.losses.unsampled // 0)')
		due=$(($(<cpu_ms) / 2))
		[ "$ticks" -ge $((due * 9 / 10)) ]
		[ "$ticks" -le $((due * 11 / 10 + 50)) ]
	done
}

@test "a command that ends at once has its Python functions from the start" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	assay record -e cpu-clock -o s -- "$PYTHON" golden.py 100
	# Modules that Python loads may be met later than the program's own files.
	early=$(fact s '.losses."python-early" // 0')
	[ $((early * 10)) -le "$(fact s .samples)" ]
}

@test "a shell that starts Python is counted in the kernel, with Python's functions from the start" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	# shellcheck disable=SC2016
	assay record -e cpu-clock -F 500 -o s -- sh -c 'for i in 1 2 3; do "$0" golden.py 200; done' "$PYTHON"
	[ "$(fact s .collector)" = BPF ]
	assay export -i s --format speedscope -o s.json
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json ${plain:+"$plain"}
	early=$(fact s '.losses."python-early" // 0')
	[ $((early * 10)) -le "$(fact s .samples)" ]
}

@test "a process that runs Python is counted in the kernel" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	background "$PYTHON" "$PWD/golden.py"
	python=$pid
	wait_for has_run "$python" 5
	record_samples 1000 s "" -e cpu-clock -F "$(at_most 997)" -p "$python"
	[ "$(fact s .collector)" = BPF ]
	assay export -i s --format speedscope -o s.json
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json ${plain:+"$plain"}
}

@test "several processes of a command are counted in the kernel, on request" {
	need_sampler
	run assay record --collector bpf -e cpu-clock -o s -- sh -c "'$PROGRAMS/quarters' & '$PROGRAMS/quarters'; wait"
	[ "$status" = 0 ]
	[ "$(fact s .collector)" = BPF ]
	[ "$(assay report -i s --by process --format json comm:quarters | jq '.rows | length')" = 2 ]
}

@test "where BPF is not permitted, the first note says that Python's functions are missing" {
	need_root
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" /tmp/"golden.$$.py"
	mkdir -m 777 "$NOBODY"
	chmod 755 "$HOME"
	run runuser -u nobody -- "$ASSAY_BUILD/assay" record -e cpu-clock:u -o "$NOBODY/s" -- /usr/bin/python3 /tmp/"golden.$$.py" 20
	rm /tmp/"golden.$$.py"
	[ "$status" = 0 ] || skip "nobody may not record here: $output"
	[[ "$output" == *"Python functions are missing: "* ]]
	[[ "$(assay info "$NOBODY/s")" == *"Python functions are missing: "* ]]
	# A command that only mentions an interpreter has none.
	run runuser -u nobody -- "$ASSAY_BUILD/assay" record -e cpu-clock:u -o "$NOBODY/s2" -- grep -c python3 /etc/passwd
	[[ "$output" != *"functions are missing"* ]]
	[[ "$(assay info "$NOBODY/s2")" != *"functions are missing"* ]]
}

# need_language COMMAND: skips the test, with the reason, where an interpreter is not there.
need_language() {
	command -v "$1" >/dev/null || skip "no $1 here (make check-languages has chroots with it)"
	[ "$(uname -m)" = x86_64 ] || skip "frames of languages are known on x86-64 alone"
	need_sampler
	INTERPRETER=$(realpath "$(command -v "$1")")
}

# check_golden LANGUAGE [OPTION...]: the stacks of its program are those that they must be.
check_golden() {
	cp "$ROOT/tests/programs/lang/golden.$1" .
	record_samples 2000 s "app:$INTERPRETER" -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- "$INTERPRETER" "${@:2}" "golden.$1"
	assay export -i s --format speedscope -o s.json "app:$INTERPRETER"
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json "$1"
}

@test "each stack of a PHP program is the one that it must be" {
	need_language php
	check_golden php
}

# php_jit KIND: compiled code of PHP has the functions of PHP.
php_jit() {
	local options=(-d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d "opcache.jit=$1" -d opcache.file_update_protection=0)
	need_language php
	[ "$(php "${options[@]}" -r 'echo @opcache_get_status()["jit"]["on"] ?? 0;')" = 1 ] || skip "this PHP has no JIT compiler"
	check_golden php "${options[@]}"
	# Many samples lie in code without a file.
	assay report -i s --frames native -t 0 --format json "app:$INTERPRETER" >native.json
	[ "$(jq '([.rows[] | select(.image | startswith("[anon]")) | .samples] | add) * 5 > ([.rows[].samples] | add)' native.json)" = true ]
	# Alone: of the whole machine, ten other programs with such code may come first.
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	is_explained() {
		[[ "$(assay why -i own '[anon]' 2>/dev/null)" == *"PHP made this code at run time, and gave it no name: set opcache.jit_debug=0x10"* ]]
	}
	record_until is_explained -q --collector bpf -e cpu-clock -F "$(at_most 997)" -o own -- "$INTERPRETER" "${options[@]}" golden.php
	is_explained
}

@test "compiled code of PHP has its functions: opcache.jit=tracing" {
	php_jit tracing
}

@test "compiled code of PHP has its functions: opcache.jit=function" {
	php_jit function
}

@test "each stack of a Ruby program is the one that it must be" {
	need_language ruby
	check_golden rb
}

@test "each stack of a Perl program is the one that it must be" {
	need_language perl
	check_golden pl
}

@test "a function of Perl has its lines, and each sample of a command that ends is there" {
	need_language perl
	cp "$ROOT/tests/programs/lang/golden.pl" .
	assay record -e cpu-clock -F 500 -o s -- "$INTERPRETER" golden.pl 150
	[ "$(fact s .collector)" = BPF ]
	assay export -i s --format speedscope -o s.json
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json pl
	assay report -i s --by line -t 0 --format json |
		jq -r '.rows[].line | select(contains("golden.pl:")) | split(":")[-1]' | sort -nu >lines
	has -x 9 lines # in spin()
	has -x 62 lines # recursion()
	has -x 128 lines # the program's own loop
}

# record_imitation HOW LOSS: a program that only looks like an interpreter, until so many of its samples count as LOSS.
record_imitation() {
	local how=$1 loss=$2
	need_python
	cp "$PROGRAMS/imitates" .
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	has_losses() { [[ $(fact s '.losses["'"$loss"'"] // 0' 2>/dev/null) -gt 100 ]] && has_samples 200 s "app:$PWD/imitates"; }
	record_until has_losses -o s -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- ./imitates "$how"
	assay report -i s --by language,symbol -t 0 --format json "app:$PWD/imitates" >by.json
}

@test "a program that imitates an interpreter has no frames of Python, which is counted" {
	record_imitation state python-state
	[ "$(jq '[.rows[] | select(.language == "python")] | length' by.json)" = 0 ]
}

@test "a loop of Python whose thread has no frame at all has none of Python, which is counted" {
	record_imitation none python-mismatch
	[ "$(jq '[.rows[] | select(.language == "python")] | length' by.json)" = 0 ]
}

@test "frames in a circle, and texts of 2^63 bytes, are cut, and counted" {
	record_imitation circle chain-cut
	[ "$(jq -r '[.rows[] | select(.language == "python") | .symbol | length] | unique | .[]' by.json)" = 256 ]
}

@test "objects of another type are no code of Python, which is counted" {
	record_imitation type python-frame
	[ "$(jq '[.rows[] | select(.language == "python")] | length' by.json)" = 0 ]
}

# need_java: skips the test, with the reason, where assay does not know the virtual machine.
need_java() {
	need_recording
	command -v javac >/dev/null || skip "no javac here"
	[ "$(uname -m)" = x86_64 ] || skip "Java's frames are known on x86-64 alone"
	java -version 2>&1 | grep -qE '"(1\.8|11|17|21|25)[."]' || skip "$(java -version 2>&1 | head -1): assay knows Java 8, 11, 17, 21 and 25"
	javac -d . "$ROOT/tests/programs/lang/golden.java"
}

@test "each stack of a Java program is the one that it must be: compiled, interpreted" {
	need_java
	for mode in -Xmixed -Xint -XX:TieredStopAtLevel=1; do
		[ "$mode" = -Xint ] && rounds=150 || rounds=1200
		assay record -e cpu-clock -F "$(at_most 997)" -o s -- java $mode -Xmx64m golden "$rounds" >cpu_ms
		# A frame that is deoptimised while it is on the stack returns to the handler of that.
		[ $(($(fact s '.losses."java-mismatch" // 0') * 100)) -le "$(fact s .samples)" ]
		# Not those of the first moments and of the end, which a busy machine makes longer.
		cut=$(fact s '[.losses | to_entries[] | select(.key == ("java-frame", "java-name", "java-mismatch")) | .value] | add // 0')
		[ $((cut * 5)) -le "$(fact s .samples)" ]
		assay export -i s --format speedscope -o s.json
		"$BATS_TEST_DIRNAME/language_stacks.py" s.json java
		rm -rf s
	done
}

@test "methods of Java have their lines, and are a language of reports" {
	need_java
	assay record -e cpu-clock -F "$(at_most 997)" -o s -- java -Xint -Xmx64m golden 100 >cpu_ms
	assay report -i s --by language,symbol -t 0 --format json image:golden.java >by.json
	[ "$(jq '[.rows[] | select(.language == "java" and .symbol == "golden.spin")] | length' by.json)" = 1 ]
	assay report -i s --by symbol,line -t 0 --format json image:golden.java |
		jq -r '.rows[] | select(.symbol == "golden.spin") | .line | split("/")[-1]' | sort -u >lines
	has -x "golden.java:14" lines
	run ! grep -vxE 'golden.java:1[2-5]' lines
	assay annotate -i s --search-dir "$ROOT/tests/programs/lang" golden.spin >annotated
	has 'x += (long)i \* i' annotated
}

@test "compiled methods of Java that must not go on in their code are in its stacks" {
	need_java
	javac -d . "$ROOT/tests/programs/lang/deoptimised.java"
	assay record -e cpu-clock -F "$(at_most 499)" -o s -- java -XX:-UseOnStackReplacement -Xmx64m deoptimised 5000 >ended
	[ "$(fact s '.losses."java-mismatch" // 0')" = 0 ]
	assay script -i s --frames language --format json |
		jq -c '[.frames[].symbol] | select(index("deoptimised.loads"))' >stacks
	[ "$(wc -l <stacks)" -ge 20 ]
	run ! grep -vF '"deoptimised.middle","deoptimised.outer","deoptimised.main"' stacks
}

@test "by frame pointers, a note says that Java's methods are missing" {
	need_java
	assay record --collector perf --call-graph fp -e cpu-clock -o s -- java -Xmx64m golden 300 >cpu_ms
	[ "$(fact s '.losses."java-collector"')" = 1 ]
	need_sampler
	assay record --collector bpf --call-graph fp -e cpu-clock -o s -- java -Xmx64m golden 300 >cpu_ms
	[ "$(fact s '.losses."java-collector"')" = 1 ]
}

@test "through BPF, each stack of a Java program is the one that it must be" {
	need_java
	need_sampler
	assay record --collector bpf -e cpu-clock -F "$(at_most 997)" -o s -- java -Xmx64m golden 1500 >cpu_ms
	[ "$(fact s '.losses."java-collector" // 0')" = 0 ]
	assay export -i s --format speedscope -o s.json
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json java
	background java -Xmx64m golden 100000 >cpu_ms
	java=$pid
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	has_methods() {
		assay report -i all --by symbol -t 0 --format json image:golden.java 2>/dev/null | jq -r '.rows[].symbol' >methods
		grep -qx golden.spin methods && grep -qx golden.everything methods
	}
	record_until has_methods -a -e cpu-clock -F "$(at_most 499)" -o all
	kill "$java"
	has_methods
	# Without the right to read memory, no stack is copied, and a note says so.
	without=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
	run "${without[@]}" true
	[ "$status" = 0 ] || skip "setpriv: $output"
	"${without[@]}" "$(command -v assay)" record --collector bpf -e cpu-clock -o bare -- java -Xmx64m golden 300
	[ "$(fact bare '.losses."java-collector"')" -ge 1 ]
}

@test "through BPF, the sampler walks most stacks of a Java program, as their copies are walked" {
	need_java
	need_sampler
	for mode in -Xmixed -XX:TieredStopAtLevel=1 -XX:-Inline; do
		ASSAY_SAMPLER_LIMITS=compare=1 assay record -v --collector bpf -e cpu-clock -F "$(at_most 997)" -o s -- java "$mode" -Xmx64m golden 1500 >cpu_ms 2>said
		walked=$(sed -n 's/.* \([0-9]*\) walked in the kernel.*/\1/p' said)
		compared=$(sed -n 's/.* \([0-9]*\) compared, 0 different.*/\1/p' said)
		[ $((walked * 5)) -ge "$(fact s .samples)" ]
		[ $((compared * 5)) -ge "$(fact s .samples)" ]
		rm -rf s
	done
}

# need_node: skips the test, with the reason, where assay does not know the V8 of node.
need_node() {
	need_recording
	command -v node >/dev/null || skip "no node here"
	[ "$(uname -m)" = x86_64 ] || skip "JavaScript's frames are known on x86-64 alone"
	case $(node -p process.versions.v8) in
	7.8.* | 10.2.* | 11.3.* | 13.6.*) ;;
	*) skip "node has V8 $(node -p process.versions.v8)" ;;
	esac
}

@test "each stack of a JavaScript program is the one that it must be: optimised, interpreted, baseline" {
	need_node
	case $(node --version) in
	v12.*) modes=("" "--no-opt") ;;
	v24.*) modes=("" "--no-opt --no-sparkplug --no-maglev" "--no-opt --no-maglev --always-sparkplug") ;;
	*) modes=("" "--no-opt --no-sparkplug" "--no-opt --always-sparkplug") ;;
	esac
	for mode in "${modes[@]}"; do
		[ -z "$mode" ] && rounds=2000 || rounds=250
		# shellcheck disable=SC2086 # several options
		assay record -e cpu-clock -F "$(at_most 997)" --stack-size 32768 -o s -- \
			node $mode "$ROOT/tests/programs/lang/golden.js" "$rounds" >cpu_ms
		assay export -i s --format speedscope -o s.json
		"$BATS_TEST_DIRNAME/language_stacks.py" s.json js
		[ "$(fact s '.losses."javascript-version" // 0')" = 0 ]
		rm -rf s
	done
}

@test "functions of JavaScript have their lines, and are a language of reports" {
	need_node
	cp "$ROOT/tests/programs/lang/golden.js" .
	assay record -e cpu-clock -F "$(at_most 997)" --stack-size 32768 -o s -- node --no-opt --no-sparkplug golden.js 60 >cpu_ms
	assay report -i s --by language,symbol -t 0 --format json image:golden.js >by.json
	[ "$(jq '[.rows[] | select(.language == "javascript" and .symbol == "spinMethod")] | length' by.json)" = 1 ]
	assay report -i s --by symbol,line -t 0 --format json image:golden.js |
		jq -r '.rows[] | select(.symbol == "thrower" or .symbol == "everything") | .line | split("/")[-1]' | sort -u >lines
	run ! grep -vxE 'golden.js:(8[4-6]|12[0-9])' lines
	has golden.js lines
}

@test "optimised JavaScript has the functions that were inlined, and the lines of calls" {
	need_node
	cp "$ROOT/tests/programs/lang/golden.js" .
	# On a busy machine, code is optimised late: until then, a caller has the line of its function alone.
	assay record -e cpu-clock -F "$(at_most 997)" --stack-size 32768 -o s -- node golden.js 6000 >cpu_ms
	assay report -i s --by symbol,line -t 0 --format json image:golden.js |
		jq -r '.rows[] | select(.line) | "\(.symbol) \(.line | split("/")[-1])"' >lines
	for line in "revive golden.js:31" "closure golden.js:65" "everything golden.js:122" "everything golden.js:126"; do
		has -x "$line" lines
	done
	run ! grep -E '^everything ' <(grep -vE 'golden.js:12[0-9]$' lines) # it ends in line 129
}

@test "memory of Java on a file system that never answers does not stop a recording" {
	need_java
	[ "$(id -u)" = 0 ] && [ -e /dev/fuse ] || skip "file systems of programs take root and /dev/fuse"
	library=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")/lib/server/libjvm.so
	[ -e "$library" ] || skip "no libjvm.so beside java"
	program=$ASSAY_BUILD/tests/programs/never_answers
	mkdir mounted
	background assay record --collector perf -e cpu-clock -F "$(at_most 499)" -o s -- unshare -m "$program" "$library" mounted 3 >server 2>log
	recorder=$pid
	wait_for grep -q ' samples, ' log
	# The recording is whole. The process ends when the file system does: no signal ends such a read.
	kill -9 "$(<server)"
	wait "$recorder"
	[ $(($(fact s '.losses."java-state" // 0') * 2)) -gt "$(fact s .samples)" ]
}

@test "through BPF, each stack of a JavaScript program is the one that it must be" {
	need_node
	need_sampler
	assay record --collector bpf -e cpu-clock -F "$(at_most 997)" -o s -- node "$ROOT/tests/programs/lang/golden.js" 2000 >cpu_ms
	[ "$(fact s '.losses."javascript-collector" // 0')" = 0 ]
	assay export -i s --format speedscope -o s.json
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json js >result
	cut=$(sed -n 's/.* \([0-9]*\) cut$/\1/p' result)
	[ "$cut" -le "$(fact s '[.losses | to_entries[] | select(.key | startswith("javascript-")).value] | add // 0')" ]
}

@test "the daemon has the functions of Java and JavaScript, though it is another user" {
	need_daemon
	need_java
	need_node
	need_sampler
	with_users assay daemon --session-dir d -e cpu-clock -F "$(at_most 199)" --max-cpu 0
	background java -Xmx64m golden 100000 >cpu_ms
	background node "$ROOT/tests/programs/lang/golden.js" 100000 >cpu_ms.js
	# shellcheck disable=SC2317,SC2329 # wait_for calls it
	has_both() {
		assay report --session-dir d --by language,symbol -t 0 --format json 2>/dev/null |
			jq -r '.rows[] | select(.language != "native") | "\(.language) \(.symbol)"' >functions
		grep -qx "java golden.spin" functions && grep -qx "javascript spin" functions
	}
	wait_for has_both
	[ "$(assay report --session-dir d --format json | jq '.header.losses | tostring | test("java-collector|javascript-collector")')" = false ]
	end_daemon
}
