#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The picture: its files as files, and the page in a real browser (tests/browser/page.mjs).

load helpers

# The first browser of its kind that is here; nothing where there is none.
find_chromium() {
	command -v chromium || command -v chromium-browser || command -v google-chrome || true
}

# Everything that the checks need, and all of them at once: a browser takes seconds to start.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export HOME=$BATS_FILE_TMPDIR
	local -x CHROMIUM
	CHROMIUM=$(find_chromium)
	"$PROGRAMS/make_session" plain plain 3000
	"$PROGRAMS/make_session" hostile hostile 1500
	"$PROGRAMS/make_session" base plain 1700 7 9
	"$PROGRAMS/make_session" lossy lossy 3000
	"$PROGRAMS/make_session" long plain 300000 300
	make_files
	if [ -z "$CHROMIUM" ]; then
		echo "Chromium is not installed" >skip
	elif ! command -v node >/dev/null; then
		echo "node is not installed" >skip
	elif [ ! -d "$ROOT/tests/npm/node_modules/playwright-core" ] || [ ! -d "$ROOT/tests/npm/node_modules/axe-core" ]; then
		echo "playwright-core is not installed (scripts/deps-npm.sh)" >skip
	else
		# Each wait in it has the common limit; this one is for a browser that hangs.
		# The browser has sockets in its temporary folder.
		local short
		short=$(short_folder)
		TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/page.mjs" "$BATS_FILE_TMPDIR" \
			>results 2>errors </dev/null || echo "page.mjs ended with $?" >>errors
		rm -rf "$short"
		! grep -s "^skip " results >said || cut -c6- said >skip
	fi
}

# A recording of waits, as perf script's text: a thread waits in turn for a futex, a socket and nothing that has a name.
waits_text() {
	local i function functions=(futex_wait_queue unix_stream_read_generic some_function)
	for i in {0..29}; do
		function=${functions[i % 3]}
		printf 'app 7/7 [000] %d.%06d: 400000000 off-cpu:sleep:\n' $((100 + i / 2)) $((i % 2 * 500000))
		printf '\tffffffff81000%03x schedule+0x10 ([kernel.kallsyms])\n\tffffffff81001%03x %s+0x10 ([kernel.kallsyms])\n\t401000 main+0x10 (/app)\n\n' \
			$((i % 3)) $((i % 3)) "$function"
	done
}

make_files() {
	local name
	waits_text >waits.txt
	assay import -q waits.txt -o waits
	assay report -i waits --weight samples --html waits.html
	json reasons waits --by reason
	for name in plain hostile; do
		assay report -i $name --weight samples --html $name.html --svg $name.svg
	done
	assay report -i plain --weight samples --baseline base --html difference.html --svg difference.svg
	assay report -i plain --weight samples comm:worker --html worker.html
	assay report -i plain --weight samples -t 2 --html light.html
	assay report -i lossy --weight samples --html lossy.html --svg lossy.svg
	json symbols plain -l
	json hostile hostile -l
	assay report -i long --weight samples --html long.html
	assay report -i "$ROOT/tests/data/session-format-4" --weight samples --html exact.html
	json exact "$ROOT/tests/data/session-format-4" -l event:cpu-clock time:6ms-9ms
	nm "$PROGRAMS/alternates" | awk '$3 == "tick" { print 100, 0, $1 } $3 == "main" { print 30, 0, $1 }' |
		"$PROGRAMS/make_session" code at "$PROGRAMS/alternates"
	assay report -i code --weight samples --html code.html
	assay annotate -i code -a -s --format json >code.json
	json base base -l
	json long long -l
	json part long -l time:20s-100s
	json lossy lossy -l
	json tree plain --tree --by comm
	json inverted plain --inverted comm:worker
	json callgraph plain --callgraph
	json seconds plain -l time:2s-5s
	json via plain -l 'via:*render*'
}

# json NAME SESSION OPTIONS…
json() {
	assay report -i "$2" --weight samples --format json -t 0 "${@:3}" >"$1.json"
}

checked() {
	[ ! -f "$BATS_FILE_TMPDIR/skip" ] || skip "$(cat "$BATS_FILE_TMPDIR/skip")"
	if ! grep -qx "ok $1" "$BATS_FILE_TMPDIR/results"; then
		grep "^not ok $1:" "$BATS_FILE_TMPDIR/results" || cat "$BATS_FILE_TMPDIR/errors"
		return 1
	fi
}

@test "in a browser: totals and every function are those of the JSON report, for each event and weight" { checked totals; }
@test "in a browser: call tree and inverted tree are those of the JSON report" { checked trees; }
@test "in a browser: the table sorts" { checked table; }
@test "in a browser: callers and callees are those of the JSON report" { checked sandwich; }
@test "in a browser: a range of time becomes a filter" { checked time; }
@test "in a browser: a click zooms, and the address keeps it" { checked zoom; }
@test "in a browser: search finds what via: finds" { checked search; }
@test "in a browser: everything by keyboard" { checked keyboard; }
@test "in a browser: dark and light" { checked theme; }
@test "in a browser: a narrow window" { checked narrow; }
@test "in a browser: hostile names are only names" { checked hostile; }
@test "in a browser: many periods are exact over all, and near in a range of time" { checked steps; }
@test "in a browser: losses are shown with their times" { checked losses; }
@test "in a browser: two sessions compared" { checked difference; }
@test "in a browser: a range of milliseconds has its own samples, and bars show microseconds" { checked moments; }
@test "in a browser: a track for each thread shows what it does" { checked threads; }
@test "in a browser: the tracks name the reasons of waits" { checked reasons; }
@test "in a browser: the call tree comes before the times" { checked early; }
@test "in a browser: the heat map has all samples, and selects time" { checked heat; }
@test "in a browser: the stack chart is in the order of time" { checked chart; }
@test "in a browser: functions are hidden and focused on, recursion collapses, and totals hold" { checked transforms; }
@test "in a browser: light boxes are in other, count all the same, and a click opens it" { checked other; }
@test "in a browser: nothing is black before it is painted" { checked paint; }
@test "in a browser: the code of a function has the lines and instructions of assay annotate" { checked code; }
@test "in a browser: axe-core finds nothing in any view, light or dark" { checked accessible; }
@test "in a browser: the SVG is one" { checked svg; }
@test "in a browser: nothing is fetched, and nothing complains" { checked alone; }

@test "no name of the profile becomes markup of the page" {
	cd "$BATS_FILE_TMPDIR"
	local name
	for name in plain hostile; do
		tr -c 'a-zA-Z0-9</\n' ' ' <$name.html | grep -o '</*[a-z][a-z0-9]*' | sort | uniq -c >$name.tags
	done
	diff plain.tags hostile.tags
	run ! grep "<script>alert" hostile.svg
	python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' hostile.svg
	iconv -f UTF-8 -t UTF-8 hostile.html >/dev/null
}

@test "the page asks for no other file" {
	cd "$BATS_FILE_TMPDIR"
	has "Content-Security-Policy.*default-src 'none'" plain.html
	run ! grep -Eiq '(src|href)="?(https?:)?//' plain.html
}

@test "a picture goes to standard output, and into a pipe" {
	"$PROGRAMS/make_session" s plain 100
	assay report -i s --html - | cat >piped.html
	has '^<!DOCTYPE html>' piped.html
	assay report -i s --svg /dev/stdout | cat >piped.svg
	has '</svg>' piped.svg
}

@test "a light tree is joined to other, and says so" {
	"$PROGRAMS/make_session" s plain 2000
	assay report -i s -t 5 --svg x.svg
	has '^<g><title>other' x.svg
}

@test "options that do not go with a picture are refused" {
	"$PROGRAMS/make_session" s plain 10
	run assay report -i s --html x.html --format json
	refused 2 "--format json does not go with --html"
	run assay report -i s --svg x.svg --columns samples
	refused 2 "--columns does not go with --svg"
	run assay report -i s --html x.html --tree
	refused 2 "--html and --tree are two views"
	run assay report -i s --html x.html --by symbol
	refused 2 "--by"
	run assay report -i s --baseline s
	refused 2 "--baseline goes with --html or --svg"
	run assay report -i s --baseline absent --html x.html
	refused 1 "--baseline" "absent"
	[ ! -e x.html ]
}

@test "a page that can not be written leaves the old one" {
	"$PROGRAMS/make_session" s plain 10
	run assay report -i s --html /dev/full
	refused 1 "cannot write '/dev/full'" "No space left"
	run assay report -i s --html no/such/x.html
	refused 1 "cannot write" "no/such/x.html" "No such file"
	echo before >x.html
	(ulimit -f 1; trap '' XFSZ; ! assay report -i s --html x.html 2>log)
	has "cannot write.*x.html" log
	[ "$(cat x.html)" = before ]
	[ "$(ls x.html*)" = x.html ]
}
