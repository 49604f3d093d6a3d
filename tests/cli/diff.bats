#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay diff: shares of two profiles, of known counts.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	cat >old <<-END
		app;main;parse 300
		app;main;render;draw 500
		app;main;poll 200
	END
	cat >new <<-END
		app;main;parse 610
		app;main;render;draw 1200
		app;main;render;blend 90
		app;main;poll 100
	END
}

@test "the largest change comes first, in points of each recording's total" {
	run assay diff old new
	[ "$status" = 0 ]
	[[ "${lines[0]}" == *"old: 1000 samples"* && "${lines[1]}" == *"new: 2000 samples"* ]]
	[[ "${lines[2]}" == *"total"*"1000 events to 2000 events: +100.0 % **"* ]]
	[[ "${lines[5]}" =~ 20\.00\ +5\.00\ +-15\.00\ \*\*\ +-75\.0\ %\ .*poll ]]
	[[ "${lines[6]}" =~ 50\.00\ +60\.00\ +\+10\.00\ \*\*\ +\+20\.0\ %\ .*draw ]]
	[[ "$output" =~ 0\.00\ +4\.50\ +\+4\.50\ \*\*\ +new\ .*blend ]]
	# Half a point of 30 is nothing that chance would not do.
	[[ "$output" =~ 30\.00\ +30\.50\ +\+0\.50\ +\+1\.7\ %\ .*parse ]]
}

@test "a session compared with itself has no change" {
	run assay diff old old
	[ "$status" = 0 ]
	[[ "$output" == *"no change of 0.10 points or more"* ]]
}

@test "shares add up to the whole in every format" {
	run assay diff old new -t 4.6
	[[ "$output" =~ 30\.00\ +35\.00\ .*other ]]
	assay diff --format csv old new |
		awk -F, 'NR > 1 { o += $6; n += $7 } END { print o, n }' >sums
	[ "$(cat sums)" = "1000 2000" ]
	assay diff --format json old new >j
	[ "$(jq '[.rows[].old] | add' j)" = 1000 ]
	[ "$(jq '.rows[] | select(.symbol == "poll").change == -15' j)" = true ]
	[ "$(jq '.rows[] | select(.symbol == "parse").is_significant' j)" = false ]
}

@test "call trees are compared chain by chain" {
	run assay diff --tree old new
	[ "$status" = 0 ]
	[[ "$output" =~ 50\.00\ +64\.50\ +\+14\.50\ .*'   render' ]]
	[[ "$output" =~ 50\.00\ +60\.00\ +\+10\.00\ .*'    draw' ]]
}

@test "a rule fails the command, with the function that broke it" {
	run assay diff old new --fail-if 'symbol>+9%'
	refused 1 "'symbol>+9%': draw in" "+10.00 points"
	run assay diff old new --fail-if 'symbol>+11%'
	[ "$status" = 0 ]
	run assay diff old new --fail-if 'symbol:po*<-10%'
	refused 1 "poll in"
	run assay diff old new --fail-if 'symbol:parse>+0.1%' # not significant
	[ "$status" = 0 ]
	run assay diff old new --fail-if 'nonsense'
	refused 2 "symbol:GLOB>+3%" "total>+5%"
}

@test "specifications in braces, with filters in common and of a side" {
	run assay diff event:samples '{' old '}' '{' new symbol:draw,poll '}'
	[ "$status" = 0 ]
	[[ "${lines[1]}" == *"new: 1300 samples"* ]]
	run assay diff '{' old '}' new
	refused 2 "COMMON"
	run assay diff '{' old '}' '{' symbol:draw '}'
	refused 2 "the new side names no session"
	run assay diff old
	refused 2 "name two sessions"
	run assay diff old new symbol:nonesuch
	refused 1 "nonesuch"
	run assay diff old missing
	refused 1 "missing"
}

@test "functions of one name are matched by their source files, wherever the build was made" {
	build() { # FOLDER
		mkdir "$1"
		printf 'static volatile long s;\nstatic void __attribute__((noinline)) init(void) { for (long i = 0; i < 9; i++) s += i; }\nvoid a(void) { init(); }\n' >"$1/a.c"
		sed "s/void a/void b/" "$1/a.c" >"$1/b.c"
		echo 'void a(void); void b(void); int main(void) { for (int i = 0; i < 400; i++) { a(); b(); } }' >"$1/main.c"
		(cd "$1" && gcc -g -O1 -o prog main.c a.c b.c)
	}
	# samples FOLDER IN-A IN-B
	samples() {
		local address
		mapfile -t address < <(nm -l "$1/prog" | awk '$3 == "init" { print /a\.c:/ ? "a" : "b", $1 }' | sort | cut -d' ' -f2)
		printf '%s\n' "$2 0 ${address[0]}" "$3 0 ${address[1]}" | "$PROGRAMS/make_session" "$1.assay" at "$PWD/$1/prog"
	}
	build one
	build two
	samples one 300 100
	samples two 100 300 # the shares trade places
	run assay diff one.assay two.assay event:*clock*
	[ "$status" = 0 ]
	[[ "$output" =~ 75\.00\ +25\.00\ +\-50\.00\ .*init\ \[a\.c\] ]]
	[[ "$output" =~ 25\.00\ +75\.00\ +\+50\.00\ .*init\ \[b\.c\] ]]
	run assay diff one.assay two.assay --fail-if 'symbol:init>+5%' event:*clock*
	refused 1 "init [b.c] in prog"
}

# clock SECONDS-OF-PARSE SECONDS-OF-DRAW FILE: a thousand samples a second
clock() {
	awk -v parse="$1" -v draw="$2" 'BEGIN {
		for (i = 0; i < parse * 1000; i++) one("parse")
		for (i = 0; i < draw * 1000; i++) one("draw")
	}
	function one(name) {
		printf "app 7 [000] %d.%06d: 1000000 cpu-clock:\n\t 401000 %s+0x0 (/bin/app)\n\n", ++t / 1000, t % 1000 * 1000, name
	}' >"$3"
}

@test "a build that is 2.5 times slower in all of its functions breaks a rule of the total" {
	clock 2 2 slow.old
	clock 5 5 slow.new
	run assay diff slow.old slow.new --fail-if 'symbol>+1%' # shares are the same
	[ "$status" = 0 ]
	[[ "$output" == *"+150.0 %"* ]]
	run assay diff slow.old slow.new --fail-if 'total>+5%'
	refused 1 "'total>+5%': total:" "+150.00 %"
	run assay diff slow.old slow.new --fail-if 'symbol:parse>+140%cpu'
	refused 1 "parse in app:" "+150.00 %"
	run assay diff slow.new slow.old --fail-if 'total<-50%'
	refused 1 "-60.00 %"
}

@test "a rule that names no function, or does not fit the sessions, ends with 2" {
	run assay diff old new --fail-if 'symbol:pasre>+3%'
	refused 2 "'symbol:pasre>+3%': no function of either side has such a name"
	run assay diff old new --fail-if 'total>+0.2s'
	refused 2 "the event samples counts no time"
	"$PROGRAMS/make_session" s plain 300 # its event counts time
	assay diff s s event:cpu-clock --fail-if 'total>+0.2s'
	for rule in 'total' 'total>5' 'symbol>+3%mem' 'sum>+3%' 'symbol:>' 'total>+nan%'; do
		run assay diff old new --fail-if "$rule"
		refused 2 "--fail-if '$rule': write total>+5%"
	done
}

@test "a change that chance may have made is reported, and breaks nothing" {
	printf 'app;parse 100\napp;draw 300\n' >few.old
	printf 'app;parse 120\napp;draw 300\n' >few.new
	run assay diff few.old few.new --fail-if 'symbol:parse>+5%cpu'
	refused 0 "parse in" "+20.00 %" "not significant (1.3, and 2.6 is needed)"
	assay diff few.old few.new --fail-if 'symbol:parse>+5%cpu' --format json 2>/dev/null >j
	jq -e '.rules[0].verdict == "not-significant" and .rules[0].findings[0].symbol == "parse"' j
}

@test "the spread of earlier sessions decides what is noise" {
	mkdir runs
	for n in 900 1000 1100 950 1050; do
		printf 'app;parse %s\napp;draw 4000\n' "$n" >folded
		assay import -q -o "runs/$n.assay" folded
	done
	printf 'app;parse 1150\napp;draw 4000\n' >within
	printf 'app;parse 2000\napp;draw 4000\n' >beyond
	# Beside one of them, the change looks sure.
	run assay diff runs/900.assay within --fail-if 'symbol:parse>+5%cpu'
	refused 1 "+27.78 %"
	run assay diff --against-history runs within --fail-if 'symbol:parse>+5%cpu'
	refused 0 "1000 events ± 79 events to 1150 events" "+15.00 %" "not significant"
	[[ "$output" == *"old is the newest of 5 sessions"* ]]
	run assay diff --against-history runs beyond --fail-if 'symbol:parse>+5%cpu'
	refused 1 "+100.00 %"
	run assay diff --against-history runs --sessions 3 beyond --fail-if 'total>+5%'
	refused 1 "total: "
	assay import -q -o runs/new.assay beyond # the new session may be there already
	run assay diff --against-history runs runs/new.assay
	[[ "$output" == *"newest of 5 sessions"* ]]
	mkdir empty
	run assay diff --against-history empty new
	refused 2 "empty has 0 sessions"
}

@test "with turns, the changes of all turns decide, and a slow machine changes both sides" {
	mkdir old-runs new-runs
	local n=0 speed
	# The machine's speed changes by half; parse takes 5 % more in each turn, and draw is the same.
	for speed in 100 150 120 90 140 100 130 110; do
		n=$((n + 1))
		printf 'app;parse %d\napp;draw %d\n' $((speed * 1000)) $((speed * 1000)) >old
		printf 'app;parse %d\napp;draw %d\n' $((speed * 1050 + n)) $((speed * 1000 + n)) >new
		assay import -q -o old-runs/$n.assay old
		assay import -q -o new-runs/$n.assay new
	done
	run assay diff --in-turn old-runs new-runs --fail-if 'symbol:parse>+2%cpu' --fail-if 'symbol:draw>+0.001%cpu'
	refused 1 "parse in " "117500 events to 123380 events, +5.00 %" "in 8 turns ± " "draw in " "not significant"
	[[ "$output" == *"of the last of 8 turns"* ]]
	# One new session beside the old ones hides in their spread.
	run assay diff --against-history old-runs new-runs/8.assay --fail-if 'symbol:parse>+2%cpu'
	[ "$status" = 0 ]
	run assay diff --in-turn new-runs old-runs --fail-if 'symbol:parse<-2%cpu' --format json
	[ "$status" = 1 ]
	assay diff --in-turn old-runs new-runs --fail-if 'symbol:none>+2%cpu' && return 1
	[ $? = 2 ]
}

@test "turns need folders of as many sessions, recorded in turn" {
	mkdir old-runs new-runs
	run_of() { # HOUR SESSION
		printf 'app;parse 100\n' >folded
		touch -d "2026-11-26 $1:00" folded # the start of the imported session
		assay import -q -o "$2" folded
	}
	for n in 1 2; do run_of $n old-runs/$n.assay; done
	run assay diff --in-turn old-runs new-runs
	refused 2 "new-runs has 0 sessions"
	for n in 1 2; do run_of $((n + 2)) new-runs/$n.assay; done
	run assay diff --in-turn old-runs new-runs --fail-if 'total>+5%'
	refused 0 "were not recorded in turn"
	run_of 5 new-runs/3.assay
	run assay diff --in-turn old-runs new-runs
	refused 2 "old-runs has 2 sessions, and new-runs has 3"
	run assay diff --in-turn old-runs
	refused 2 "two folders"
	rm -r new-runs/3.assay
	run assay diff --in-turn old-runs new-runs --since -1h
	refused 2 "has 2: choose seconds of each by a filter"
}

@test "CPU times of different machines are not compared, unless asked for" {
	printf 'app;parse 100\n' >few.old
	perf_script() { # MODEL
		printf '# cpudesc : %s\n# nrcpus online : 4\napp 7 [000] 1.0: 1000000 cpu-clock:\n\t401000 parse+0x0 (/bin/app)\n\n' "$1"
	}
	perf_script alpha >a.script
	perf_script beta >b.script
	run assay diff a.script b.script
	refused 0 "are of different machines"
	run assay diff a.script b.script --fail-if 'symbol>+3%'
	[ "$status" = 0 ]
	run assay diff a.script b.script --fail-if 'total>+5%'
	refused 2 "of another machine" "alpha" "beta" "--any-machine"
	run assay diff --any-machine a.script b.script --fail-if 'total>+5%'
	[ "$status" = 0 ]
}

@test "rules warn of different rates and of missing samples" {
	"$PROGRAMS/make_session" lossy lossy 200
	run assay diff lossy lossy event:cpu-clock --fail-if 'total>+5%'
	refused 0 "warning: diff: lossy: " " % of its samples are missing"
	run assay diff lossy lossy event:cpu-clock
	[[ "$output" != *"are missing"* ]]
	"$PROGRAMS/make_session" plain plain 200
	run assay diff plain plain event:cpu-clock --fail-if 'total>+5%'
	[ "$status" = 0 ]
	[[ "$output" != *warning* ]]
	need_recording
	assay record -q -e cpu-clock -F 99 -o low -- "$PROGRAMS/split" 100
	assay record -q -e cpu-clock -F 499 -o high -- "$PROGRAMS/split" 100
	run assay diff low high --fail-if 'total>+900%'
	[[ "$output" == *"low has 99 samples a second, and high has 499 samples a second. Sampling takes time, too"* ]]
}

@test "reports for CI: JUnit, Markdown and JSON" {
	run --separate-stderr assay diff old new --fail-if 'total>+50%' --fail-if 'symbol:parse>+90%' --fail-if 'symbol:x>1%' --format junit
	[ "$status" = 2 ]
	echo "$output" >junit.xml
	python3 - <<-END
		import xml.etree.ElementTree as tree
		suite = tree.parse("junit.xml").getroot()
		assert suite.tag == "testsuite" and suite.get("tests") == "3" and suite.get("failures") == "1" and suite.get("errors") == "1"
		cases = {case.get("name"): case for case in suite}
		assert "1000 events to 2000 events" in cases["total>+50%"].find("failure").text
		assert len(cases["symbol:parse>+90%"]) == 0
		assert cases["symbol:x>1%"].find("error") is not None
	END
	printf 'a|b;<c> 300\n' >hostile
	assay diff hostile new --format markdown >md
	grep -qF '| \<c\> |' md
	assay diff --format json old new --fail-if 'total>+50%' >j 2>/dev/null || true
	jq -e '.cpu.old == 1000 and .cpu.new == 2000 and .cpu.change_percent == 100' j
	jq -e '.rules[0].verdict == "broken" and (.rules[0].findings | length) == 1' j
}

# Text of perf script with samples of an event in functions of ./inlines: text_of EVENT FUNCTION=N…
text_of() {
	local event=$1 pair n=0
	shift
	for pair; do
		for _ in $(seq "${pair#*=}"); do
			n=$((n + 1))
			printf 'inlines 7/7 1.%06d: 1000000 %s: \n\t 1000 %s+0x1 (/x/inlines)\n\n' "$n" "$event" "${pair%=*}"
		done
	done
}

@test "sides of several tools: events pair by name, without modifiers, or as CPU clocks" {
	session_at old.assay "$PROGRAMS/inlines" work=30 main=10
	assay export -q -i old.assay --no-source -o same.pb.gz
	text_of task-clock:ppp work=20 main=20 >clock.txt
	text_of cpu-clock:pppH work=40 >modified.txt
	text_of page-faults work=40 >faults.txt
	for side in same.pb.gz clock.txt modified.txt; do
		assay diff --format json old.assay $side >$side.json 2>$side.said
	done
	run ! grep 'is compared with' same.pb.gz.said
	has 'cpu-clock of old.assay is compared with task-clock:ppp of clock.txt' clock.txt.said
	has 'cpu-clock of old.assay is compared with cpu-clock:pppH of modified.txt' modified.txt.said
	jq -e '[.rows[] | select(.change != 0)] == []' same.pb.gz.json
	jq -e '.rows[] | select(.symbol == "work") | .change == -25' clock.txt.json
	jq -e '.rows[] | select(.symbol == "work") | .change == 25' modified.txt.json
	run assay diff old.assay faults.txt
	refused 1 "no event of old.assay compares with one of faults.txt: the one has cpu-clock, the other page-faults"
}

@test "several new sessions are each compared with the old one" {
	session_at old.assay "$PROGRAMS/inlines" work=30 main=10
	text_of cpu-clock work=20 main=20 >a.txt
	text_of cpu-clock work=40 >b.txt
	assay diff old.assay a.txt >want
	assay diff old.assay b.txt >>want
	assay diff old.assay a.txt b.txt >got
	diff want got
	assay diff old.assay a.txt b.txt 'symbol:work' >got
	[ "$(grep -c '^new ' got)" = 2 ]
	run assay diff old.assay a.txt b.txt --fail-if 'symbol:work>+20%'
	refused 1 "symbol:work"
	run assay diff old.assay a.txt b.txt --format json
	refused 2 "of several new sessions, there is text or markdown on standard output only"
}
