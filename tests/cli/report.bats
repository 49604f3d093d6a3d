#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# From running work to names and shares: recordings of programs whose answer is known.

load helpers

# Two recordings that several tests only read.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	assay record -q -o split.assay -- "$PROGRAMS/split" 300 >/dev/null 2>refusal || return 0
	# shellcheck disable=SC2016
	assay record -q -o both.assay -- sh -c '"$1/split" 300; "$1/deep" 3000' sh "$PROGRAMS" >/dev/null 2>refusal ||
		rm -rf split.assay
}

# recorded split|both: that one, as $S
recorded() {
	S=$BATS_FILE_TMPDIR/$1.assay
	[ -d "$S" ] || skip "recording is not permitted here: $(tail -1 "$BATS_FILE_TMPDIR/refusal")"
}

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
	assay record -q -o s -F "$(at_most 4000)" -- "$PROGRAMS/split" 1000 >/dev/null
	local all=0 n name
	local -A samples
	for name in forty thirty twenty ten; do
		samples[$name]=$(samples_of s $name)
		all=$((all + samples[$name]))
	done
	share_is "${samples[forty]}" "$all" 0.4
	share_is "${samples[thirty]}" "$all" 0.3
	share_is "${samples[twenty]}" "$all" 0.2
	share_is "${samples[ten]}" "$all" 0.1
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
	local hot cold
	hot=$(samples_of s jit_hot)
	cold=$(samples_of s jit_cold)
	share_is "$hot" $((hot + cold)) 0.75
}

@test "the same JIT function of two processes is one row, and each image keeps its samples" {
	need_recording
	run "$PROGRAMS/jit" 1
	[ "$status" != 77 ] || skip "tests/programs/jit.c is not written for this processor"
	rm -f "$output"
	assay record -q -o s -- sh -c "'$PROGRAMS/jit' 1000 & '$PROGRAMS/jit' 1000; wait" >maps
	[ "$(wc -l <maps)" = 2 ]
	xargs rm -f <maps
	for view in -l "--by symbol" "--by language,symbol"; do
		# shellcheck disable=SC2086
		assay report -i s $view -t 0 --format json >out.json
		[ "$(jq '[.rows[] | select(.symbol == "jit_hot")] | length' out.json)" = 1 ]
	done
	assay report -i s -l -t 0 --format json >out.json
	[ "$(jq -r '.rows[] | select(.symbol == "jit_hot") | .image' out.json)" = "[anon]" ]
	hot=$(jq '[.rows[] | select(.symbol == "jit_hot") | .samples] | add' out.json)
	# By image, each process has its own.
	assay report -i s --by image,symbol -t 0 --format json >out.json
	[ "$(jq '[.rows[] | select(.symbol == "jit_hot")] | length' out.json)" = 2 ]
	[ "$(jq '[.rows[] | select(.symbol == "jit_hot") | .samples] | add' out.json)" = "$hot" ]
	# The summary is of images, also with a filter that needs functions.
	[ "$(rows s '[.rows[] | select(.image == "[anon]")] | length' 'symbol:jit_*')" = 2 ]
	# Instructions are of one process.
	assay report -i s --processes --instructions --format json >out.json
	[ "$(jq '[.. | objects | select(.symbol? == "jit_hot")] | length' out.json)" -ge 2 ]
	# Two runs have other processes, and the same functions.
	assay diff --format json s s | jq -e '[.rows[] | select(.symbol == "jit_hot")] | length == 1'
}

@test "a library that is opened at run time has its names" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/loads" 100 "$PROGRAMS/libplugin.so" >/dev/null
	[ "$(samples_of s plugin_work)" -gt $(($(fact s .samples) / 2)) ]
}

@test "threads are distinguished by their names" {
	need_recording
	assay record -q -o s -F "$(at_most 4000)" -- "$PROGRAMS/threads" 12000 >/dev/null
	local busy all
	# The samples of their own work, without the kernel's switches between them. The slack is for the timer's
	# period, which can start anew with each turn.
	busy=$(rows s '.rows[] | select(.comm == "busy").samples' --by comm 'symbol:*_work')
	all=$(rows s '[.rows[].samples] | add' --by comm 'symbol:*_work')
	share_is "$busy" "$all" 0.75 0.05
}

@test "C++ names are demangled" {
	need_recording
	[ -x "$PROGRAMS/templates" ] || skip "no C++ compiler: tests/programs/templates was not built"
	assay record -q -o s -- "$PROGRAMS/templates" 2000 >/dev/null
	run rows s '.rows[0].symbol' -l
	grep '^shop::catalogue<.*>::\(search\|operator()\)(.*) const$' <<<"$output"
	run assay report -i s -l 'symbol:shop::*'
	refused 0 'shop::catalogue<'
}

@test "rows and 'other' add up to the total in every list" {
	recorded both
	local total view
	total=$(fact "$S" .samples)
	for view in "-l" "-l -t 5" "-l --limit 2" "--by process" "--by comm,symbol" "--by cpu" "--by mode" \
		"--by event,image -t 10"; do
		# shellcheck disable=SC2086 # words are options
		[ "$(rows "$S" '[.rows[].samples] | add' $view)" = "$total" ] ||
			{ echo "$view: not $total" >&2; return 1; }
	done
}

@test "where samples stand for different numbers of events, shares are of events" {
	"$PROGRAMS/make_session" s plain 3000
	assay report -i s -l -t 0 --format json event:cpu-clock >auto
	[ "$(jq -r .header.weight auto)" = events ]
	jq -e '(.total[0].events) as $all | [.rows[] | .percent - 100 * .events / $all | fabs] | max | ., . < 0.01' auto
	cmp auto <(assay report -i s -l -t 0 --weight events --format json event:cpu-clock)
	run assay report -i s -l event:cpu-clock
	[[ "$output" =~ time\ +%\ +samples ]]
	run assay report -i s -l --weight samples event:cpu-clock
	[[ "$output" =~ samples\ +%\ +time ]]
}

@test "matchers: code without a symbol has the name of reports, and a message names all of them" {
	"$PROGRAMS/make_session" s plain 300
	all=$(assay report -i s --by symbol --format json event:cpu-clock | jq '[.rows[] | select(.symbol == "(no symbols)").samples] | add')
	[ "$all" -gt 0 ]
	diff <(assay report -i s --by symbol --format json event:cpu-clock 'symbol="(no symbols)"' | jq '[.rows[].samples] | add') <(echo "$all")
	run assay report -i s --by symbol --format json event:cpu-clock 'symbol!="(no symbols)"'
	not has '(no symbols)"' <(jq '.rows[].symbol' <<<"$output")
	run assay report -i s event:cpu-clock 'comm="worker"' 'comm!~"wor.*"'
	refused 1 'filters and matchers together: comm="worker", comm!~"wor.*"'
}

@test "where samples of a clock are all of one length, shares are of samples" {
	need_recording
	assay record -q -e cpu-clock -o t -- "$PROGRAMS/split" 200 >/dev/null
	[ "$(assay report -i t --format json | jq -r .header.weight)" = samples ]
}

@test "text, CSV and JSON tell the same" {
	recorded split
	local n
	n=$(samples_of "$S" forty)
	run assay report -i "$S" -l
	grep "^ *$n .* forty$" <<<"$output"
	run assay report -i "$S" -l --format csv
	grep "\b$n\b.*forty\|forty.*\b$n\b" <<<"$output"
}

@test "a report names the measured events" {
	need_recording
	local rate
	rate=$(at_most 500)
	assay record -q -o s -F "$rate" -- "$PROGRAMS/split" 100 >/dev/null
	run assay report -i s
	refused 0 "$rate samples a second"
	grep "^command .*split'* 100$" <<<"$output" # quoted, if its path has blanks
	grep "^lost *0$" <<<"$output"
}

@test "callers and trees can be shown" {
	recorded both
	local view
	for view in -c --tree --inverted; do
		run assay report -i "$S" $view
		refused 0 bottom
	done
}

@test "filters choose" {
	recorded both
	[ "$(rows "$S" '[.rows[].symbol] | unique | length' -l 'symbol:t*ty')" -ge 2 ]
	[ "$(rows "$S" '.rows[0].comm' --by comm comm:deep)" = deep ]
	[ "$(rows "$S" '.rows | length' --by comm comm:deep)" = 1 ]
}

@test "a filter that is wrong, or matches nothing, is an error with the possible values" {
	recorded split
	run assay report -i "$S" nonsense:x
	[ "$status" -gt 0 ]
	[[ "$output" == *nonsense* && "$output" == *symbol* ]]
	run assay report -i "$S" comm:absent
	[ "$status" -gt 0 ]
	[[ "$output" == *split* ]]
}

@test "the default session is ./assay.data; without one the error shows how to make it" {
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
	recorded split
	# A pipe that both sides had, and that nobody reads any more.
	mkfifo pipe
	run bash -c 'exec 5<>pipe 6>pipe 5>&-; assay report -i "$1" -l >&6' _ "$S"
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
	run assay record -a -g -o b.assay -- "$PROGRAMS/split" 200
	[ "$status" = 0 ] || skip "the whole machine is not permitted here: ${lines[-1]}"
	assay report -i b.assay --by process
	assay report -i b.assay -c >/dev/null
}

@test "the demonstration shows programs and functions" {
	need_recording
	mkdir scripts
	# a fifth of the work
	sed 's/150000/30000/' "$ROOT/scripts/demo-work.sh" >scripts/demo-work.sh
	chmod +x scripts/demo-work.sh
	run "$ROOT/scripts/demo.sh" "$ASSAY_BUILD/assay"
	[ "$status" = 0 ]
	[[ "$output" == *"What to try next"* ]]
	[[ "$output" == *gzip* ]]
}
