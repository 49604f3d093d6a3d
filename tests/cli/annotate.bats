#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples in the margin of source and assembly.
# shellcheck disable=SC2153 # PYTHON is set in languages.bash
load helpers
load languages

hot=$(hot_line)

# Builds ./app from ./src/hot.c, and makes a.assay with samples at known places of work():
# ./places has "ADDRESS LINE SAMPLES", as objdump tells the line table. Most are of the hot line.
make_hot() {
	local start size address line
	mkdir -p src
	cp "$ROOT/tests/programs/inlines.c" src/hot.c
	gcc -O1 -g src/hot.c -o app
	# The source is older than the binary, whatever the clock's grain.
	touch -d '1 hour ago' src/hot.c
	read -r start size < <(readelf -sW app | awk '$8 == "work" { print "0x" $2, $3 }')
	# Of several rows of an address the last one counts.
	objdump --dwarf=decodedline app | awk '$1 == "hot.c" && $3 ~ /^0x/ { print $3, $2 }' |
		while read -r address line; do
			((address < start || address >= start + size)) || echo "$address $line"
		done | awk -v hot="$hot" '
			$1 != last && NR > 1 { print last, line, line == hot ? 10 : 1 + NR % 3 }
			{ last = $1; line = $2 }
			END { print last, line, line == hot ? 10 : 1 }' >places
	# Some samples are in code without lines.
	{
		awk '{ print $3, 0, $1 }' places
		nm app | awk '$3 == "_start" { print 20, 0, $1 }'
	} | "$PROGRAMS/make_session" a.assay at "$PWD/app"
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" && make_hot
}

# Of the test's own a.assay, or of the one that all share. A test makes its own if it changes the
# program, or its source.
annotate() {
	local session=a.assay
	[ -e a.assay ] || session=$BATS_FILE_TMPDIR/a.assay
	run assay annotate -i "$session" --symbol-cache "" "$@"
}

@test "a function's source: each line has the samples of its instructions, the hot line most" {
	annotate work --format json
	[ "$status" = 0 ]
	cd "$BATS_FILE_TMPDIR"
	[ "$(jq -r '.functions | length, .[0].symbol' <<<"$output" | paste -sd ' ')" = "1 work" ]
	diff <(awk '{ n[$2] += $3 } END { for (line in n) print line, n[line] }' places | sort) \
		<(jq -r '.functions[0].lines[] | select(.samples[0] > 0) | "\(.line) \(.samples[0])"' <<<"$output" | sort)
	# A function's offset in the file is its address here: one segment of code, mapped as it is.
	diff <(awk '{ print $1, $3 }' places | while read -r address n; do echo "$((address)) $n"; done) \
		<(jq -r '.functions[0].instructions[] | select(.samples[0] > 0) | "\(.offset) \(.samples[0])"' <<<"$output")
	[[ $(jq -r '.functions[0].lines | max_by(.samples[0]) | "\(.line) \(.text)"' <<<"$output") == "$hot "*"line that is hot"* ]]
	annotate work
	refused 0 "skid" "cpu-clock"
	grep -E "^ *[0-9]+ +[0-9.]+ │ +$hot  .*line that is hot" <<<"$output"
}

@test "of a recording: the hot line has most samples, and all add up" {
	need_recording
	local rate n
	rate=$(at_most 2000)
	# 400 samples; few of them may come where timers are coarse.
	assay record -e cpu-clock -F "$rate" -o a.assay -- "$BATS_FILE_TMPDIR/app" "$(awk "BEGIN { print 400 / $rate }")" 2>/dev/null
	annotate work --format json
	# Lines and instructions are the same samples as the report's.
	n=$(assay report -i a.assay -l symbol:work --format json | jq '[.rows[] | select(.symbol == "work").samples] | add')
	[ "$n" -ge 30 ]
	[ "$(jq '[.functions[0].lines[].samples[0]] | add' <<<"$output")" = "$n" ]
	[ "$(jq '[.functions[0].instructions[].samples[0]] | add' <<<"$output")" = "$n" ]
	# 32 of the loop's 34 instructions are the line's: half of 30 samples elsewhere is less likely than 10^-7.
	[ "$(jq --argjson hot "$hot" '.functions[0].lines[] | select(.line == $hot).samples[0]' <<<"$output")" -gt $((n / 2)) ]
}

@test "a function that called others has totals, also without samples of its own" {
	need_recording
	cat >calls.c <<-'END'
		volatile long x;
		__attribute__((noinline)) static void leaf(long n) {
			for (long i = 0; i < n; i++) x = i * i ^ x >> 1;
		}
		__attribute__((noinline)) static void deeper(int n) {
			if (n)
				deeper(n - 1); // the recursion
			else
				leaf(300000000); // the leaf
			x++;
		}
		int main(void) {
			deeper(20); // the call
			leaf(30000000); // another call
			return 0;
		}
	END
	gcc -O1 -g -fno-optimize-sibling-calls calls.c -o calls
	assay record -q -e cpu-clock:u -F "$(at_most 997)" -o a.assay -- ./calls
	# total_of LINES: the total of the function's line with this text.
	total_of() { jq --arg text "$1" '[.functions[0].lines[] | select(.text | contains($text)).total[0]] | add // 0' json; }
	all=$(assay report -i a.assay --format json symbol:leaf | jq .header.samples.selected)
	annotate main --format json
	echo "$output" >json
	[ "$(jq '[.functions[0].lines[].samples[0]] | add' json)" -lt $((all / 10)) ]
	[ "$(total_of 'the call')" -gt $((all / 2)) ]
	[ "$(total_of 'another call')" -gt 0 ]
	[ $(($(total_of 'the call') + $(total_of 'another call'))) -ge "$all" ]
	[ "$(jq '[.functions[0].instructions[] | select(.text | startswith("call")).total[0]] | add' json)" -ge "$all" ]
	# A sample counts once for a line, however deep it is.
	annotate deeper --format json
	echo "$output" >json
	[ "$(total_of 'the leaf')" -gt $((all / 2)) ]
	[ "$(total_of 'the recursion')" -le "$(total_of 'the leaf')" ]
	[ "$(total_of 'the recursion')" -gt $((all / 2)) ]
	annotate main
	grep -E '^ +cpu-clock.* +total *$' <<<"$output"
	grep -E "^ +[0-9]+ +[0-9.]+ │ +13 .*the call" <<<"$output"
	# One that called nothing has no totals.
	annotate leaf
	run ! grep -E '^ +cpu-clock.* +total *$' <<<"$output"
}

@test "annotate takes the end of a name, and lists the functions that it could mean" {
	need_python
	[ -z "$plain" ] || skip "this Python has no qualified names"
	cat >ends.py <<-'END'
		import sys, time
		def spin():
		    return sum(i * i for i in range(3000))
		class A:
		    def step(self):
		        return spin()
		    def once(self):
		        return self.step()
		class B:
		    def step(self):
		        return spin()
		while time.process_time() < float(sys.argv[1]):
		    A().once()
		    B().step()
	END
	assay record -q --collector bpf -e cpu-clock -F "$(at_most 997)" -o s -- "$PYTHON" ends.py 0.5
	run assay annotate -i s ends.py:step
	[ "$status" = 1 ]
	[[ "$output" == *"'ends.py:step' names 2 functions"*"A.step"* && "$output" == *"B.step"* ]]
	run assay annotate -i s --search-dir "$PWD" ends.py:once
	[ "$status" = 0 ]
	grep -E '[0-9] [^ ]+ +[0-9]+ .*return self.step\(\)' <<<"$output"
	run assay annotate -i s ends.py:A.step
	[ "$status" = 0 ]
	run assay annotate -i s ends.py:tep
	[ "$status" = 1 ]
}

@test "assembly, alone and below its source; jumps have arrows, targets names" {
	annotate -a work
	refused 0 "mov"
	[[ $output == *"└"*"→"* || $output == *"→"*"└"* || $output == *"┌"* ]]
	[[ $output != *"line that is hot"* ]]
	annotate -a -s work
	refused 0 "hot.c:$hot" "line that is hot" "mul"
	LC_ALL=C annotate -a work
	[[ $output != *"│"* ]]
	cat >calls.c <<-'END'
		__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }
		__attribute__((noinline)) void outer(void) { for (volatile int i = 0; i < 1000; i++) ; leaf(); }
		int main(void) { outer(); return 0; }
	END
	gcc -O1 -g -fno-optimize-sibling-calls calls.c -o calls
	session_at a.assay calls outer=7
	annotate -a outer
	refused 0 "<leaf>"
}

@test "instructions are those that objdump has" {
	cd "$BATS_FILE_TMPDIR"
	start=$(readelf -sW app | awk '$8 == "work" { print $2 }')
	size=$(readelf -sW app | awk '$8 == "work" { print $3 }')
	objdump -d --no-show-raw-insn "--start-address=0x$start" "--stop-address=$((0x$start + size))" app |
		awk '/^ +[0-9a-f]+:/ { sub(":", "", $1); print $1 }' >"$BATS_TEST_TMPDIR/theirs"
	annotate --format json work
	diff <(jq -r '.functions[0].instructions[].offset' <<<"$output" | while read -r n; do printf '%x\n' "$n"; done) \
		"$BATS_TEST_TMPDIR/theirs"
}

@test "whole files, to a directory; include, exclude and threshold" {
	annotate
	refused 0 "file" "line that is hot"
	annotate -d out
	refused 0 "files annotated in out"
	[ "$(find out -name hot.c | wc -l)" = 1 ]
	has "line that is hot" "$(find out -name hot.c)"
	annotate --exclude 'hot.c'
	refused 1 "no source file reaches the threshold"
	annotate --include '*.rs'
	refused 1 "no source file reaches the threshold"
	annotate -t 100
	refused 1 "no source file reaches the threshold"
}

@test "a missing source file gives a note; --search-dir and --rewrite find it" {
	make_hot
	mv src moved
	annotate work
	refused 0 "no source at " "--search-dir" "--rewrite"
	annotate
	refused 1 "no such source" "none of the source files with samples was found"
	annotate --search-dir moved work
	refused 0 "line that is hot"
	annotate --rewrite "$PWD/src=$PWD/moved" work
	refused 0 "line that is hot"
	annotate --rewrite src work
	refused 2 "'src' is not FROM=TO"
}

@test "a note says that a source file has changed" {
	make_hot
	touch -d '1 hour' src/hot.c
	annotate work
	refused 0 "warning" "has been changed since the binary was built" "line that is hot"
}

@test "very long lines, bytes that are no text, fewer lines than the code has" {
	make_hot
	{
		head -c 100000 /dev/zero | tr '\0' x
		printf '\n\xff\xfe\033[31m\n'
	} >src/hot.c
	annotate -w work
	[ "$status" = 0 ]
	[[ $output != *$'\033'* ]]
	iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null
	annotate -d out
	[ "$status" = 0 ]
	[ "$(wc -c <"$(find out -name hot.c)")" -lt 20000 ]
	: >src/hot.c
	annotate work
	[ "$status" = 0 ]
}

@test "a name that is several functions, or none" {
	annotate wrok
	refused 1 "no function 'wrok' with samples; there is work"
	annotate xyzzy_not_there_at_all
	refused 1 "'assay report -l' lists them"
	cat >a.c <<-'END'
		__attribute__((noinline)) static void twin(void) { for (volatile int i = 0; i < 20; i++); }
		void other(void);
		int main(void) { for (int i = 0; i < 5; i++) { twin(); other(); } return 0; }
	END
	cat >b.c <<-'END'
		__attribute__((noinline)) static void twin(void) { for (volatile int i = 0; i < 20; i++); }
		void other(void) { twin(); }
	END
	gcc -O1 -g a.c b.c -o twins
	nm twins | awk '$3 == "twin" { print 7, 0, $1 }' | "$PROGRAMS/make_session" a.assay at "$PWD/twins"
	annotate twin
	refused 1 "'twin' names 2 functions" "twins" "a.c:1" "b.c:1"
	annotate 'twi*'
	refused 0 "a.c" "b.c"
}

@test "an image that vanished or changed, and code that is none" {
	make_hot
	cp app kept
	rm app
	annotate -a work
	# Its names are not there either.
	[ "$status" = 1 ]
	cp kept app
	assay report -i a.assay -l >/dev/null # fills the cache of names
	assay annotate -i a.assay work >/dev/null
	rm app
	# Without the file nobody knows its owner, who decides about sources that are not everybody's.
	run assay annotate -i a.assay -a --search-dir "$PWD/src" work
	refused 0 "code of $PWD/app" "No such file or directory" "line that is hot"
	# Bytes that are no instruction, with the build id as it was.
	cp kept app
	start=$(readelf -sW app | awk '$8 == "work" { print $2 }')
	head -c 16 /dev/zero | tr '\0' '\006' | dd of=app bs=1 seek=$((0x$start)) conv=notrunc status=none
	run assay annotate -i a.assay -a work
	refused 0 ".byte 0x06"
}

@test "an image that is gone is annotated from the archive" {
	make_hot
	assay archive -i a.assay -o kept.tar.zst
	rm app
	annotate -a -s work
	refused 1 "no function 'work'"
	run assay annotate -i kept.tar.zst --symbol-cache "" -a -s work
	refused 0 "line that is hot" "mov"
	[[ $output != *"code of"* ]]
}

@test "a terminal 20 columns wide" {
	COLUMNS=20 annotate -a -s work
	[ "$status" = 0 ]
	[ "$(grep '│' <<<"$output" | wc -L)" -le 20 ]
}

@test "a reader that goes away is no failure" {
	run bash -c 'set -o pipefail; assay annotate -i "$1" -a -s --no-pager "*" | head -1' _ "$BATS_FILE_TMPDIR/a.assay"
	refused 0
	# And one that was never there, also for more than fits a pipe.
	mkfifo pipe
	# A pipe that both sides had, and that nobody reads any more.
	# shellcheck disable=SC2094
	exec 5<>pipe 6>pipe 5>&-
	for way in text json; do
		assay annotate -i "$BATS_FILE_TMPDIR/a.assay" -t 0 -a -s --format $way --no-pager "*" >&6
	done
}

@test "several events side by side" {
	local address
	address=$(nm "$BATS_FILE_TMPDIR/app" | awk '$3 == "work" { print $1 }')
	printf '%s\n' "7 0 $address" "3 1 $address" "20 0 $address" |
		"$PROGRAMS/make_session" a.assay at "$BATS_FILE_TMPDIR/app" 2
	annotate --format json work
	[ "$(jq -c '[(.events | length), (.functions[0].instructions | all(.samples | length == 2)),
		([.functions[0].lines[].samples] | transpose[] | add)]' <<<"$output")" = '[2,true,27,3]' ]
	annotate -a work
	refused 0 "cpu-clock" "page-faults"
}

@test "a note says that kernel code needs a vmlinux" {
	need_recording
	need_root
	assay record -e cpu-clock -F "$(at_most 2000)" -o a.assay -- dd if=/dev/zero of=/dev/null bs=64k count=20000 2>/dev/null
	name=$(assay report -i a.assay -l image:kernel --format json | jq -r '.rows[0].symbol')
	[ -n "$name" ] && [ "$name" != null ] || skip "no kernel samples here"
	annotate -a "$name*"
	refused 0 "$name"
}
