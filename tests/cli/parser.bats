#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# If root runs assay, a process without rights parses the files of programs. What happens to it costs one file's names.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache PARSER_LOG=$BATS_TEST_TMPDIR/starts
	[ "$(id -u)" = 0 ] || skip "needs root: others parse in assay itself"
	[ -e "$PROGRAMS/parser_trouble.so" ] || skip "no module for sanitizers' builds"
	: >starts
	need_recording
	mkdir -p cache
	cp "$PROGRAMS/quarters" quarters
	# Its size is that of no other file.
	truncate -s +12345 quarters
	PARSER_BYTES=$(stat -c %s quarters)
	export PARSER_BYTES
}

# Records without a cache: the report has all to do.
record_quarters() {
	within assay record -q -o s --call-graph fp -- "$PWD/quarters" 0.5cpu
	rm -rf cache
	mkdir cache
	: >starts
}

# assay with a parser that has TROUBLE with the program.
troubled() {
	PARSER_TROUBLE=$1 LD_PRELOAD=$PROGRAMS/parser_trouble.so "${@:2}"
}

starts() {
	wc -l <starts
}

@test "a parser that dies, eats memory or lies costs the names of one file, and the report names it" {
	record_quarters
	for trouble in die eat lie; do
		rm -rf cache
		: >starts
		troubled $trouble assay report -i s --by image,symbol -t 0 --format json >rows
		# The kernel's names are not the parser's; libc is another file.
		[ "$(jq '[.rows[] | select(.symbol | test("quarters?$"))] | length' rows)" = 0 ]
		[ "$(jq -r '.symbols[]? | select(.image | test("/quarters$")) | .status' rows)" = unparsed ] ||
			jq -e '[.. | strings | select(test("quarters: its symbols were not read: the parser"))] | length > 0' rows
		[ "$(starts)" -ge 1 ]
	done
	# Nothing of it was kept.
	run assay report -i s --by symbol -t 0
	refused 0 three_quarters one_quarter
}

@test "after a file that the parser dies of, the other files have their names" {
	cat >both <<-'END'
		"$PWD/quarters" 0.5cpu >/dev/null
		"$PROGRAMS/split" 0.5cpu >/dev/null
	END
	export PROGRAMS
	within assay record -q -o s --call-graph fp -- sh both
	rm -rf cache
	: >starts
	troubled die assay report -i s --by symbol -t 0 --format json >rows
	[ "$(jq '[.rows[] | select(.symbol | test("quarters?$"))] | length' rows)" = 0 ]
	jq -e '[.rows[] | select(.image? // "" | test("split")) // select(.symbol | test("^(seventy|thirty|hot|cold|main)"))] | length > 0' rows
	[ "$(starts)" -ge 1 ]
}

@test "one parser serves many files, and a report from the cache starts none" {
	cat >many <<-'END'
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			ls /usr/lib >/dev/null
			cat /etc/passwd >/dev/null
		done
		"$PWD/quarters" 0.2cpu >/dev/null # the others may end before their first sample
	END
	within assay record -q -o s --call-graph fp -- sh many
	rm -rf cache
	: >starts
	troubled none assay report -i s --symbols -t 0 >first
	[ "$(starts)" = 1 ]
	troubled none assay report -i s --symbols -t 0 >second
	[ "$(starts)" = 1 ]
	cmp first second
}

@test "a recording counts a file that the parser hangs on, and goes on" {
	mkdir theirs
	mv quarters theirs/quarters
	chown -R 65534:65534 theirs
	troubled hang within assay record -q -o s --call-graph fp -- "$PWD/theirs/quarters" 2s
	[ "$(assay info -i s --format json | jq '[.. | objects | ."file-unparsed"? // empty] | add')" -ge 1 ] ||
		assay report -i s | grep "parser process could not read"
	[ "$(assay report -i s --format json | jq '[.rows[].samples] | add')" -gt 0 ]
}

# The parser of a recording, which stays for further files.
parser_of() { # PID
	local starter
	starter=$(pgrep -P "$1" -x assay-starter) || return
	parser=$(pgrep -P "$starter" -x assay-parser | head -n 1)
	[ -n "$parser" ]
}

# At the start, another parser may end meanwhile.
maps_of_parser() { # PID
	parser_of "$1" && cat "/proc/$parser/maps" >parser.maps 2>/dev/null && [ -s parser.maps ]
}

@test "the parser has none of the sampler's rings, which hold stacks of all programs" {
	need_sampler
	background "$PWD/quarters" 60s
	background assay record -q -a -o s
	wait_for maps_of_parser "$pid"
	grep -q bpf-map "/proc/$pid/maps"
	[ "$(grep -c bpf-map parser.maps)" = 0 ]
}

a_parser_hurries() { # PID
	local starter
	starter=$(pgrep -P "$1" -x assay-starter) || return
	pgrep -P "$starter" -x assay-parser | xargs -r ps -o ni= -p | grep -q '^ *-20$'
}

@test "a parser of a recording of the machine hurries while samples wait for it" {
	need_sampler
	[ "$(nice -n -20 nice)" = -20 ] || skip "the nice value -20 is not permitted here"
	background "$PWD/quarters" 60s
	background assay record -q -a -o s
	wait_for a_parser_hurries "$pid"
}

@test "a command that needs no names starts no parser" {
	record_quarters
	troubled none within assay record -q -o t --call-graph fp -- true
	troubled none assay report -i s --by comm >/dev/null
	[ "$(starts)" = 0 ]
}

@test "few open files cost names, with the reason" {
	record_quarters
	run bash -c 'ulimit -n 32; exec assay report -i s --symbols -t 0'
	refused 0 three_quarters
	for n in 10 12 14 16; do
		rm -rf cache
		run bash -c "ulimit -n $n; exec assay report -i s --symbols -t 0"
		[[ "$output" == *three_quarters* || "$output" == *"the parser process could not read the file"*quarters* || "$output" == *"symbols were not read"* || "$output" == *"open files"* ]] ||
			{ echo "$n files: $output"; return 1; }
	done
}

@test "doctor says where files are parsed" {
	run assay doctor -v
	refused 0 "a process without rights reads files"
	chmod 755 .
	cp "$ASSAY_BUILD/assay" assay-copy
	run runuser -u nobody -- ./assay-copy doctor -v
	[[ "$output" == *"files are read by assay itself"* ]] || skip "nobody cannot run a program here: $output"
}

# As in a container of an ordinary user, whose image has the packages' users.
@test "root of a user namespace without the parser's user has a parser, and names" {
	unshare -U -r -m true 2>/dev/null || skip "no user namespaces here"
	record_quarters
	{ grep -v ^assay-parser: /etc/passwd; echo 'assay-parser:x:996:996::/:/bin/false'; } >passwd
	unshare -U -r -m sh -c 'mount --bind passwd /etc/passwd && exec assay report -i s -l' >report
	cat report
	has three_quarters report
	run ! grep -q 'parser died' report
	[ "$(starts)" -le 1 ]
}

@test "no command that shows names or lines starts a parser the second time, without debug information, too" {
	strip -g quarters
	PARSER_BYTES=0 record_quarters
	for view in "report --lines" "report --tree" "report --symbols" "annotate three_quarters" script; do
		# shellcheck disable=SC2086 # words
		troubled none assay $view -i s >first 2>&1
		: >starts
		# shellcheck disable=SC2086
		troubled none assay $view -i s >second 2>&1
		[ "$(starts)" = 0 ] || { echo "$view: $(starts)"; return 1; }
		cmp first second
	done
}

@test "that a program has no lines is forgotten when a debug file appears" {
	objcopy --only-keep-debug quarters kept
	cp kept quarters.debug
	objcopy -g --add-gnu-debuglink=quarters.debug quarters
	rm quarters.debug
	record_quarters
	troubled none assay report --lines -i s >first
	troubled none assay report --lines -i s >first
	run ! grep -F quarters.c: first
	[ "$(starts)" = 1 ]
	mv kept quarters.debug
	troubled none assay report --lines -i s >second
	grep -F quarters.c: second
	[ "$(starts)" = 2 ]
	rm quarters.debug
	: >starts
	troubled none assay report --lines -i s >third
	grep -F quarters.c: third
	[ "$(starts)" = 0 ]
}

# Moves the debug information of quarters to quarters.debug.
split_quarters() {
	objcopy --only-keep-debug quarters quarters.debug
	objcopy --strip-all --add-gnu-debuglink=quarters.debug quarters
	PARSER_BYTES=$(stat -c %s quarters)
}

@test "an archive finds a debug file by the parser, and has the program without it if the parser dies" {
	split_quarters
	record_quarters
	id=$(readelf -n quarters | sed -n 's/.*Build ID: //p')
	for trouble in none die; do
		troubled $trouble assay archive -i s -o $trouble
		[ -f "$trouble/files$PWD/quarters" ]
	done
	cmp quarters.debug "none/files/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	[ ! -e "die/files/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
}

@test "behind a debug file of another build, the parser finds the right one" {
	split_quarters
	mkdir .debug
	mv quarters.debug .debug
	cp "$PROGRAMS/split" quarters.debug
	record_quarters
	run assay report -i s --symbols -t 0
	refused 0 three_quarters
}

# Makes quarters a stranger's file, and records it.
record_stranger() {
	mkdir -p theirs
	mv quarters theirs/quarters
	chown -R 65534:65534 theirs
	within assay record -q -o s --call-graph fp -- "$PWD/theirs/quarters" 0.5cpu
	rm -rf cache
	mkdir cache
	: >starts
}

@test "why and exports read the headers of a program by the parser, and say so if it dies" {
	record_stranger
	run troubled none assay why -i s '*/quarters'
	refused 0 "+ $PWD/theirs/quarters: symbols"
	[ "$(starts)" -ge 1 ]
	rm -rf cache
	run troubled die assay why -i s '*/quarters'
	[[ "$output" == *"- $PWD/theirs/quarters: the parser died"* ]]
	: >starts
	troubled none assay export -q -i s --format gmon --image '*/quarters' -o g
	[ "$(starts)" -ge 1 ]
	rm -rf cache
	run troubled die assay export -q -i s --format gmon --image '*/quarters' -o h
	[[ "$status" = 1 && "$output" == *"the parser died"* ]]
}

@test "the parser reads a stranger's file in the first report alone" {
	record_stranger
	for view in "report --lines" "report --tree" "report --symbols" "annotate three_quarters" script; do
		rm -rf cache
		: >starts
		# shellcheck disable=SC2086 # words
		troubled none assay $view -i s >first 2>&1
		[ "$(starts)" -ge 1 ]
		: >starts
		# shellcheck disable=SC2086
		troubled none assay $view -i s >second 2>&1
		[ "$(starts)" = 0 ] || { echo "$view: $(starts)"; return 1; }
		cmp first second
	done
}

@test "the parser reads a stranger's file of a perf.data file in the first report alone" {
	mkdir theirs
	mv quarters theirs/quarters
	chown -R 65534:65534 theirs
	within assay record -q --raw -o x.data --call-graph fp -- "$PWD/theirs/quarters" 0.5cpu
	rm -rf cache
	: >starts
	troubled none assay report -l -i x.data >first
	grep -F three_quarters first
	[ "$(starts)" -ge 1 ]
	: >starts
	troubled none assay report -l -i x.data >second
	[ "$(starts)" = 0 ]
	cmp first second
}

@test "the parser reads opjitconv's files" {
	rm quarters
	assay record -q -e cpu-clock --call-graph=none --store=oprofile -o s -- "$PROGRAMS/jit" 2000 >map
	rm -f "$(cat map)" s/samples/current/assay.json
	PARSER_BYTES=$(stat -c %s "$(find s -name '*.jo')")
	: >starts
	run troubled none assay report -i s -l
	refused 0 jit_hot
	[ "$(starts)" -ge 1 ]
	run troubled die assay report -i s -l
	[[ "$output" != *jit_hot* && "$output" == *".jo: the parser died"* ]]
}

@test "the parser finds the function that a trace waits for" {
	record_stranger
	run troubled none assay trace --source samples --on-symbol nothing -- "$PWD/theirs/quarters" 0.5cpu
	refused 1 "no function 'nothing' in $PWD/theirs/quarters"
	[ "$(starts)" -ge 1 ]
	run troubled die assay trace --source samples --on-symbol three_quarters -- "$PWD/theirs/quarters" 0.5cpu
	[[ "$status" = 1 && "$output" == *"theirs/quarters: the parser died"* ]]
}

# Its own memory stays small, and another user's file has no access to the token.
@test "assay ship reads files in a parser, also as an ordinary user" {
	record_quarters
	local part
	part=history/samples/current/$(date -u -d '-1 hour' +%Y%m%dT%H%M%S.000Z)
	mkdir -p "$(dirname "$part")" own
	mv s "$part"
	cp "$ASSAY_BUILD/assay" assay-copy
	cp "$PROGRAMS/parser_trouble.so" trouble.so
	chmod -R a+rX .
	chmod a+w own starts
	setpriv --reuid=65534 --regid=65534 --clear-groups ./assay-copy help >/dev/null || skip "nobody cannot run a program here"
	PARSER_LOG=starts LD_PRELOAD=./trouble.so setpriv --reuid=65534 --regid=65534 --clear-groups ./assay-copy ship --to dir:own/fleet --once -q --host web1 history
	[ "$(starts)" -ge 1 ]
	XDG_CACHE_HOME=$PWD/empty assay report -i own/fleet --by symbol -t 0 >rows
	has three_quarters rows
}
