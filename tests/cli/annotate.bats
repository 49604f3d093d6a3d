#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples in the margin of source and assembly.
load helpers

# Records ./app, built here from ./src/hot.c, as a.assay.
record_hot() {
	need_recording
	mkdir -p src
	cp "$ROOT/tests/programs/inlines.c" src/hot.c
	gcc -O1 -g src/hot.c -o app
	# The source is older than the binary, whatever the clock's grain.
	touch -d '1 hour ago' src/hot.c
	assay record -e cpu-clock -F "$(at_most 2000)" -o a.assay -- ./app 0.4 2>/dev/null
	hot=$(awk '/line that is hot/ { print NR }' src/hot.c)
}

annotate() {
	run assay annotate -i a.assay --symbol-cache "" "$@"
}

@test "a function's source: the hot line has the samples, and all add up" {
	record_hot
	annotate work --format json
	jq -e --argjson hot "$hot" '.functions[0] | .symbol == "work" and
		(.lines | max_by(.samples[0]) | .line == $hot and (.text | contains("line that is hot")))' <<<"$output"
	# Lines and instructions are the same samples as the report's.
	samples=$(assay report -i a.assay -l symbol:work --format json | jq '[.rows[] | select(.symbol == "work").samples] | add')
	jq -e --argjson n "$samples" '.functions[0] | ([.lines[].samples[0]] | add) == $n and ([.instructions[].samples[0]] | add) == $n' <<<"$output"
	annotate work
	refused 0 "skid" "cpu-clock"
	grep -E "^ *[0-9]+ +[0-9.]+ │ +$hot  .*line that is hot" <<<"$output"
}

@test "assembly, alone and below its source; jumps have arrows, targets names" {
	record_hot
	annotate -a work
	refused 0 "mov"
	[[ $output == *"└"*"→"* || $output == *"→"*"└"* || $output == *"┌"* ]]
	[[ $output != *"line that is hot"* ]]
	annotate -a -s work
	refused 0 "hot.c:$hot" "line that is hot" "add"
	cat >calls.c <<-'END'
		__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }
		__attribute__((noinline)) void outer(void) { for (volatile int i = 0; i < 1000; i++) ; leaf(); }
		int main(void) { for (int i = 0; i < 200000; i++) outer(); return 0; }
	END
	gcc -O1 -g -fno-optimize-sibling-calls calls.c -o calls
	assay record -e cpu-clock -F "$(at_most 2000)" -o calls.assay -- ./calls 2>/dev/null
	assay annotate -i calls.assay -a outer | grep -F "<leaf>"
	LC_ALL=C annotate -a work
	[[ $output != *"│"* ]]
}

@test "instructions are those that objdump has" {
	record_hot
	[ -n "$(command -v objdump)" ] || skip "no objdump"
	start=$(readelf -sW app | awk '$8 == "work" { print $2 }')
	size=$(readelf -sW app | awk '$8 == "work" { print $3 }')
	# A function's offset in the file is its address here: one segment of code, mapped as it is.
	objdump -d --no-show-raw-insn "--start-address=0x$start" "--stop-address=$((0x$start + size))" app |
		awk '/^ +[0-9a-f]+:/ { sub(":", "", $1); print $1 }' >theirs
	assay annotate -i a.assay --format json work | jq -r '.functions[0].instructions[].offset' |
		while read -r n; do printf '%x\n' "$n"; done >ours
	diff ours theirs
}

@test "whole files, to a directory; include, exclude and threshold" {
	record_hot
	annotate
	refused 0 "file" "line that is hot"
	annotate -d out
	refused 0 "files annotated in out"
	[ "$(find out -name hot.c | wc -l)" = 1 ]
	grep -q "line that is hot" "$(find out -name hot.c)"
	annotate --exclude 'hot.c'
	refused 1 "no source file has so many samples"
	annotate --include '*.rs'
	refused 1 "no source file has so many samples"
	annotate -t 100
	refused 1 "no source file has so many samples"
}

@test "a source that is not there: said, and found where it is told to be" {
	record_hot
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

@test "a source that was changed since is said to be" {
	record_hot
	touch -d '1 hour' src/hot.c
	annotate work
	refused 0 "warning" "has been changed since the binary was built" "line that is hot"
}

@test "very long lines, bytes that are no text, fewer lines than the code has" {
	record_hot
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
	record_hot
	annotate wrok
	refused 1 "no function 'wrok' with samples; there is work"
	annotate xyzzy_not_there_at_all
	refused 1 "'assay report -l' lists them"
	need_recording
	cat >a.c <<-'END'
		__attribute__((noinline)) static void twin(void) { for (volatile int i = 0; i < 20000000; i++); }
		void other(void);
		int main(void) { for (int i = 0; i < 5; i++) { twin(); other(); } return 0; }
	END
	cat >b.c <<-'END'
		__attribute__((noinline)) static void twin(void) { for (volatile int i = 0; i < 20000000; i++); }
		void other(void) { twin(); }
	END
	gcc -O1 -g a.c b.c -o twins
	assay record -e cpu-clock -F "$(at_most 2000)" -o a.assay -- ./twins 2>/dev/null
	annotate twin
	refused 1 "'twin' is 2 functions" "twins" "a.c:1" "b.c:1"
	annotate 'twi*'
	refused 0 "a.c" "b.c"
}

@test "an image that vanished or changed, and code that is none" {
	record_hot
	cp app kept
	rm app
	annotate -a work
	# Its names are not there either.
	[ "$status" = 1 ]
	cp kept app
	assay report -i a.assay -l >/dev/null # fills the cache of names
	assay annotate -i a.assay work >/dev/null
	rm app
	run assay annotate -i a.assay -a work
	refused 0 "code of $PWD/app" "No such file or directory" "line that is hot"
	# Bytes that are no instruction, with the build id as it was.
	cp kept app
	start=$(readelf -sW app | awk '$8 == "work" { print $2 }')
	head -c 16 /dev/zero | tr '\0' '\006' | dd of=app bs=1 seek=$((0x$start)) conv=notrunc status=none
	run assay annotate -i a.assay -a work
	refused 0 ".byte 0x06"
}

@test "an image that is gone is annotated from the archive" {
	record_hot
	assay archive -i a.assay -o kept.tar.zst
	rm app
	annotate -a -s work
	refused 1 "no function 'work'"
	run assay annotate -i kept.tar.zst --symbol-cache "" -a -s work
	refused 0 "line that is hot" "mov"
	[[ $output != *"code of"* ]]
}

@test "a terminal 20 columns wide" {
	record_hot
	COLUMNS=20 annotate -a -s work
	[ "$status" = 0 ]
	[ "$(grep '│' <<<"$output" | wc -L)" -le 20 ]
}

@test "a reader that goes away is no failure" {
	record_hot
	run bash -c 'set -o pipefail; assay annotate -i a.assay -a -s --no-pager "*" | head -1'
	refused 0
	# And one that was never there, also for more than fits a pipe.
	for way in text json; do
		{ sleep 0.2; assay annotate -i a.assay -t 0 -a -s --format $way --no-pager "*"; echo $? >status; } 2>said | true
		[ "$(cat status)" = 0 ] || { cat said >&2; return 1; }
	done
}

@test "several events side by side" {
	record_hot
	assay record -e cpu-clock -e task-clock -o a.assay -- ./app 0.4 2>/dev/null || skip "two clocks are not to be had"
	annotate --format json work
	jq -e '(.events | length) == 2 and (.functions[0].instructions | all(.samples | length == 2)) and
		([.functions[0].lines[].samples[1]] | add) > 0' <<<"$output"
	annotate -a work
	refused 0 "cpu-clock" "task-clock"
}

@test "kernel code without a vmlinux is said" {
	need_recording
	need_root
	assay record -e cpu-clock -F "$(at_most 2000)" -o a.assay -- dd if=/dev/zero of=/dev/null bs=64k count=40000 2>/dev/null
	name=$(assay report -i a.assay -l image:kernel --format json | jq -r '.rows[0].symbol')
	[ -n "$name" ] && [ "$name" != null ] || skip "no kernel samples here"
	annotate -a "$name*"
	refused 0 "$name"
}
