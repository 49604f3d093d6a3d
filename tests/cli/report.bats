#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# From running work to names and shares: recordings of programs whose answer is known.

load helpers

# rows SESSION JQ-FILTER OPTIONS…: what jq finds in the JSON report.
rows() {
	local session=$1 filter=$2
	shift 2
	assay report -i "$session" --format json "$@" | jq -r "$filter"
}

# The samples of one function in a list of functions, 0 if it is not there.
samples_of() {
	rows "$1" "[.rows[] | select(.symbol == \"$2\") | .samples] | add // 0" -l -t 0
}

@test "a known split of 40, 30, 20, 10 percent is found" {
	need_recording
	assay record -q -o s -F "$(at_most 4000)" -- "$PROGRAMS/split" 2000 >/dev/null
	local all=0 n name
	for name in forty thirty twenty ten; do
		n=$(samples_of s $name)
		all=$((all + n))
		echo "$name $n"
	done >counts
	all=$(awk '{ n += $2 } END { print n }' counts)
	[ "$all" -gt 500 ]
	# five standard deviations: by chance once in a million runs
	awk -v n="$all" 'BEGIN { p["forty"] = .4; p["thirty"] = .3; p["twenty"] = .2; p["ten"] = .1 }
		{ d = ($2 - n * p[$1]) / sqrt(n * p[$1] * (1 - p[$1])); if (d * d > 25) { print; bad = 1 } }
		END { exit bad }' counts
}

@test "a call chain of 60 functions is whole" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/deep" 8000 >/dev/null
	local total inclusive
	total=$(fact s .samples)
	inclusive=$(rows s '[.rows[] | select(.symbol == "main") | .total] | add' -l -t 0)
	# all but the start and end of the process is below main
	[ $((inclusive * 10)) -gt $((total * 9)) ]
	[ "$(samples_of s bottom)" -gt $((total / 2)) ]
	# recursion counts a sample once
	[ "$(rows s '[.rows[] | select(.symbol == "level") | .total] | add' -l -t 0)" -le "$total" ]
}

@test "code without a file has the names of its perf map" {
	need_recording
	run "$PROGRAMS/jit" 1
	[ "$status" != 77 ] || skip "tests/programs/jit.c is not written for this processor"
	rm -f "$output"
	assay record -q -o s -- "$PROGRAMS/jit" 2000 >map
	rm -f "$(cat map)"
	[ "$(samples_of s jit_hot)" -gt "$(samples_of s jit_cold)" ]
	[ "$(samples_of s jit_cold)" -gt 0 ]
}

@test "a library that is opened at run time has its names" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/loads" 0.5s "$PROGRAMS/libplugin.so" >/dev/null
	[ "$(samples_of s plugin_work)" -gt $(($(fact s .samples) / 2)) ]
}

@test "threads are told apart by their names" {
	need_recording
	assay record -q -o s -F "$(at_most 4000)" -- "$PROGRAMS/threads" 2000 >/dev/null
	rows s '.rows[] | "\(.comm) \(.samples)"' --by comm >comms
	awk '{ n[$1] = $2 } END { r = n["busy"] / n["lazy"]; print r; exit !(r > 1.5) }' comms
}

@test "C++ names are demangled" {
	need_recording
	[ -x "$PROGRAMS/templates" ] || skip "no C++ compiler: tests/programs/templates was not built"
	assay --version | grep -q 'demangling.*yes' || skip "built without a demangler"
	assay record -q -o s -- "$PROGRAMS/templates" 0.5s >/dev/null
	rows s '.rows[0].symbol' -l | grep -q '^shop::catalogue<.*>::\(search\|operator()\)(.*) const$'
	assay report -i s -l 'symbol:shop::*' >text
	grep -q 'shop::catalogue<' text
}

@test "rows and 'other' add up to the total in every list" {
	need_recording
	assay record -q -o s -- sh -c "$PROGRAMS/split 300; $PROGRAMS/deep 3000" >/dev/null
	local total view
	total=$(fact s .samples)
	for view in "-l" "-l -t 5" "-l --limit 2" "--by process" "--by comm,symbol" "--by cpu" "--by mode" \
		"--by event,image -t 10"; do
		# shellcheck disable=SC2086 # words are options
		[ "$(rows s '[.rows[].samples] | add' $view)" = "$total" ] ||
			{ echo "$view: not $total" >&2; return 1; }
	done
}

@test "where samples stand for different numbers of events, shares are of events" {
	"$PROGRAMS/make_session" s plain 3000
	assay report -i s -l -t 0 --format json event:cpu-clock >auto
	[ "$(jq -r .header.weight auto)" = events ]
	jq -e '(.total[0].events) as $all | [.rows[] | .percent - 100 * .events / $all | fabs] | max < 0.01' auto >/dev/null
	cmp auto <(assay report -i s -l -t 0 --weight events --format json event:cpu-clock)
	run assay report -i s -l event:cpu-clock
	[[ "$output" =~ time\ +%\ +samples ]]
	run assay report -i s -l --weight samples event:cpu-clock
	[[ "$output" =~ samples\ +%\ +time ]]
	# The clock's samples are all of one length.
	need_recording
	assay record -q -e cpu-clock -o t -- "$PROGRAMS/split" 200 >/dev/null
	[ "$(assay report -i t --format json | jq -r .header.weight)" = samples ]
}

@test "text, CSV and JSON tell the same" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 300 >/dev/null
	local n
	n=$(samples_of s forty)
	assay report -i s -l | grep -q "^ *$n .* forty$"
	assay report -i s -l --format csv | grep -q "forty"
	assay report -i s -l --format csv | grep "forty" | grep -q "\b$n\b"
}

@test "a report says what was measured" {
	need_recording
	assay record -q -o s -F 500 -- "$PROGRAMS/split" 100 >/dev/null
	assay report -i s >text
	grep -q "split 100" text
	grep -q "500 samples a second" text
	grep -q "^lost *0$" text
}

@test "callers and trees can be shown" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/deep" 3000 >/dev/null
	assay report -i s -c | grep -q bottom
	assay report -i s --tree | grep -q bottom
	assay report -i s --inverted | grep -q bottom
}

@test "filters choose" {
	need_recording
	assay record -q -o s -- sh -c "$PROGRAMS/split 300; $PROGRAMS/deep 3000" >/dev/null
	[ "$(rows s '[.rows[].symbol] | unique | length' -l 'symbol:t*ty')" -ge 2 ]
	[ "$(rows s '.rows[0].comm' --by comm comm:deep)" = deep ]
	[ "$(rows s '.rows | length' --by comm comm:deep)" = 1 ]
}

@test "a filter that is wrong, or matches nothing, says what there is" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 100 >/dev/null
	run assay report -i s nonsense:x
	[ "$status" -gt 0 ]
	[[ "$output" == *nonsense* && "$output" == *symbol* ]]
	run assay report -i s comm:absent
	[ "$status" -gt 0 ]
	[[ "$output" == *split* ]]
}

@test "the default session is ./assay.data; without one the way to get it is said" {
	run assay report
	refused 1 "assay.data" "assay record"
}

@test "a session that is none is refused" {
	echo text >file
	run assay report -i file
	refused 1 "'file'"
}

@test "an image that has changed since is recognised by its build id" {
	need_recording
	cp "$PROGRAMS/split" program
	assay record -q -o s -- ./program 300 >/dev/null
	cp "$PROGRAMS/deep" program
	run assay report -i s -l
	[ "$status" = 0 ]
	[[ "$output" == *program*"changed"* ]]
	[ "$(samples_of s forty)" = 0 ]
}

@test "an image that has gone, or is cut short, costs only its names" {
	need_recording
	cp "$PROGRAMS/split" program
	assay record -q -o s -- ./program 300 >/dev/null
	local total
	total=$(fact s .samples)
	truncate -s 3000 program
	assay report -i s -l --symbol-cache= >/dev/null
	rm program
	run assay report -i s -l --symbol-cache=
	[ "$status" = 0 ]
	[[ "$output" == *program* ]]
	[ "$(rows s '[.rows[].samples] | add' -l --symbol-cache=)" = "$total" ]
}

@test "a closed pipe ends a report quietly" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 100 >/dev/null
	run bash -c 'assay report -i s -l | true'
	[ "$status" = 0 ]
	[ "$output" = "" ]
}

@test "what the first issue promised runs as written" {
	need_recording
	head -c 3000000 /dev/urandom | base64 >FILE
	assay record -o a.assay -- sh -c 'gzip -9 < FILE | sha256sum' && assay report -i a.assay &&
		assay report -i a.assay -l --format json | jq -e '.rows | length > 0'
}

@test "the whole machine, by process and by caller" {
	run assay record -a -g -o b.assay -- "$PROGRAMS/split" 500
	[ "$status" = 0 ] || skip "the whole machine is not permitted here: $output"
	assay report -i b.assay --by process
	assay report -i b.assay -c >/dev/null
}

@test "the demonstration shows programs and functions" {
	need_recording
	mkdir scripts
	cp "$ROOT/scripts/demo-work.sh" scripts
	run "$ROOT/scripts/demo.sh" "$ASSAY_BUILD/assay"
	[ "$status" = 0 ]
	[[ "$output" == *"What to try next"* ]]
	[[ "$output" == *gzip* ]]
}
