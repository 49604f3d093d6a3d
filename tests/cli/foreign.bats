#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What other tools have made of their recordings: perf script's text, folded stacks, pprof.

load helpers

# A recording by perf with chains, or a skip.
need_perf_data() {
	perf_record -g -F "$(at_most 1999)" -o perf.data -- "$PROGRAMS/split" 300
}

# Rows of `assay report` that are comparable between a recording and its text.
rows() {
	assay report -i "$1" --by "$2" --format csv | sort
}

# Functions with self samples: symbols SESSION [FILTER…]
symbols() {
	assay report -i "$1" --format json -l "${@:2}" |
		jq -r '.rows[] | select(.samples > 0) | "\(.symbol),\(.samples)"' | sort
}

script_text() {
	cat <<-'END'
	a b 7/8 [001] 10.000001:        250 cycles:
	            1156 leaf+0x1d (/bin/x)
	            118f main+0x2a (/bin/x)

	a b 7/8 [001] 12.500000:        750 cycles:
	            118f main+0x2a (/bin/x)

	END
}

@test "the text of perf script has the same profile as the recording" {
	need_perf_data
	perf script --no-inline -i perf.data >text 2>/dev/null
	for by in comm event; do
		diff <(rows perf.data "$by") <(rows text "$by")
	done
	[ "$(assay info -i perf.data --format json | jq .samples)" = "$(assay info -i text --format json | jq .samples)" ]
	# Of the kernel and libc perf may take another alias.
	[ -n "$(symbols text lib-image:split)" ]
	diff <(symbols perf.data lib-image:split) <(symbols text image:split)
}

@test "a text is a session where one is asked for" {
	script_text >text
	[ "$(symbols text)" = $'leaf,1\nmain,1' ]
	run assay import text -o s.assay
	refused 0 "2 samples, 0 lost, 2.50 s"
	diff <(rows text symbol) <(rows s.assay symbol)
	[ "$(assay report -i s.assay --format json --by comm pid:7 | jq -r '.rows[0].comm')" = "a b" ]
	# shellcheck disable=SC2002 # this tests a pipe
	cat text | gzip | assay import - -o z.assay
	diff <(rows s.assay symbol) <(rows z.assay symbol)
}

# Rows with self samples: lines SESSION
lines() {
	assay report -i "$1" --lines --format json |
		jq -r '.rows[] | select(.samples > 0) | "\(.symbol) \(.line) \(.samples)"' | sort
}

@test "source lines are kept, through a session and the formats that have them" {
	cat >text <<-'END'
	a 7 [001] 10.000001:        250 cycles:
	            1156 leaf+0x1d (/bin/x)
	  leaf.c:12
	            118f main+0x2a (/bin/x)
	  main.c:40

	a 7 [001] 12.500000:        750 cycles:
	            1158 leaf+0x1f (/bin/x)
	  leaf.c:13
	            1197 main+0x3a (/bin/x)
	  main.c:40

	a 7 [001] 12.600000:        750 cycles:
	            1170 leaf+0x37 (/bin/x)
	  util.h:12

	a 7 [001] 12.700000:        750 cycles:
	            2000 [unknown] (/bin/x)
	  gone.c:9

	END
	assay import text -o s.assay 2>said
	grep -q "1 source lines are not kept: their code has no name" said
	lines s.assay >kept
	diff <(grep leaf kept) - <<-'END'
	leaf leaf.c:12 1
	leaf leaf.c:13 1
	leaf util.h:12 1
	END
	diff <(lines text) kept
	assay export -q -i s.assay --format callgrind | grep -qE '^0x[0-9a-f]+ 13 1 750$'
	assay export -q -i s.assay --format speedscope |
		jq -e '.shared.frames | any(.name == "main" and .file == "main.c")' >/dev/null
	if assay export --list-formats | grep -q '^pprof '; then
		assay export -q -i s.assay -o x.pb.gz
		diff <(lines x.pb.gz | grep leaf) <(grep leaf kept)
	fi
}

@test "lines without a meaning are counted in a note" {
	{ script_text; printf 'no such line\n\033[1m\n'; } >text
	run assay import text -o s.assay
	refused 0 "2 lines are not understood (line 8, for one: \"no such line\")"
	[ "$(fact s.assay '.losses["bad-record"]')" = 2 ]
}

@test "folded stacks: totals, names with blanks, the kernel's" {
	printf '%s\n' 'main;do it(int, char);sys_read_[k] 12' 'main 3' >x.folded
	[ "$(symbols x.folded)" = $'main,3\nsys_read,12' ]
	[[ "$(rows x.folded mode)" == *,kernel,12,* ]]
	diff <(sort x.folded | sed 's/_\[k\]//; s/^/;/') <(assay export -i x.folded --format folded | sort)
}

@test "hostile names come out as they went in, or marked" {
	printf 'ma"in;<\/script>;a,b;\377\376;t\tab 7\n' >x.folded
	run assay report -i x.folded --format json
	[ "$status" = 0 ]
	jq -e . <<<"$output" >/dev/null
	assay report -i x.folded >/dev/null
}

# Bytes that mean nothing, always the same ones.
noise() { # BYTES
	awk -v n="$1" 'BEGIN { for (k = 1; k <= n; k++) printf "\\x%02x", (k * k * 31 + k * 7 + 13) % 251 }' | xargs -0 printf '%b'
}

@test "a gzip bomb, a torn gzip and gzipped noise are refused or told" {
	head -c 100000000 /dev/zero | gzip >bomb.gz
	script_text | gzip >text.gz
	head -c -12 text.gz >torn.gz
	run assay import torn.gz -o t.assay
	[ "$status" = 1 ]
	[[ "$output" == *"its gzip stream is cut short"* ]]
	noise 100 | gzip >noise.gz
	run assay import noise.gz -o n.assay
	refused 1 "its gzipped content is neither pprof nor a known text"
	[ ! -e n.assay ]
	run assay import bomb.gz -o b.assay
	refused 1 "bomb.gz: it unpacks to more than 200 times its size"
	[ ! -e b.assay ]
}

@test "a jitdump alone is no recording, which is an error" {
	cp "$ROOT/fuzz/corpus/jitdump/seed" jit-41.dump
	head -c 100 /dev/zero >>jit-41.dump
	run assay report -i jit-41.dump
	refused 1 "jit-41.dump: a jitdump names code and has no samples"
}

@test "a pprof profile is read, with its build id" {
	assay --version | grep -q 'libprotobuf-c.*yes' || skip "built without protobuf-c"
	gzip <"$ROOT/fuzz/corpus/pprof/seed" >x.pb.gz
	run assay import x.pb.gz -o s.assay
	refused 0 "3 samples"
	[ "$(fact s.assay '.events[0] | "\(.name) \(.unit) \(.events)"')" = "cpu ns 30" ]
	[ "$(symbols s.assay)" = main,3 ]
}

@test "an export to pprof is the same profile when it is imported again" {
	assay --version | grep -q 'libprotobuf-c.*yes' || skip "built without protobuf-c"
	local kind view
	for kind in plain hostile; do
		rm -rf s
		"$PROGRAMS/make_session" s $kind 3000
		assay export -q -i s -o x.pb.gz
		assay import -q x.pb.gz -o back.assay
		for view in comm process,thread cpu; do
			diff <(rows s "$view") <(rows back.assay "$view")
		done
		# Code without a symbol goes out under its image's name.
		[ "$kind" = hostile ] || diff <(symbols s | grep -v '^(no') <(symbols back.assay | grep -v '^\[')
	done
}

# Names of code from a jitdump with self samples: "dump_hot 12" a line.
dumped() {
	assay report -i "$1" --format json -l | jq -r '.rows[] | select(.symbol | startswith("dump_")) | "\(.symbol) \(.samples)"' | sort
}

need_jitdump() {
	"$PROGRAMS/jitdump" 1 >/dev/null || skip "tests/programs/jitdump.c is not written for this processor"
}

@test "record: code that a jitdump tells of, by the time at which it was there" {
	need_recording
	need_jitdump
	assay record -q -o s -- "$PROGRAMS/jitdump" 3000 >path
	[ "$(dumped s | cut -d' ' -f1)" = $'dump_again\ndump_cold\ndump_hot' ]
	# No sample of it is without a name, or in two images.
	[ "$(assay report -i s --by image --format json | jq -r '.rows[].image' | grep -c '/jit-[0-9]*.dump$')" = 1 ]
	[[ "$(assay report -i s --by image --format csv)" != *'[anon]'* ]]
	# The lines of its debug records, as far as an export has any.
	! assay --version | grep -q 'libprotobuf-c.*yes' || assay export -q -i s -F pprof -o x.pb.gz
	[ ! -e x.pb.gz ] || gunzip -c x.pb.gz | grep -aq made.up
}

@test "record: code whose records come at the end of its process has its name, if only one can be meant" {
	need_recording
	need_jitdump
	assay record -q -o s -- sh -c '"$0" 3000 100000 late; :' "$PROGRAMS/jitdump" >path
	assay report -i s -l
	# dump_hot and dump_again were at one address. The last samples still waited when the records came.
	names=$(assay report -i s -t 0 --format json -l | jq -r '.rows[] | select(.image == "[anon]") | .symbol' | sort -u)
	[ "$names" = $'(no symbols)\ndump_cold' ]
}

@test "record: a dump that is garbage from some point on does no harm" {
	need_recording
	need_jitdump
	noise 5000 >garbage
	# Both functions are in the dump, and run, when the noise comes.
	cat >spoil <<-'END'
		"$1" 3000 &
		until grep -aq dump_cold jit-*.dump 2>/dev/null; do sleep 0.05; done
		cat garbage >>"$(echo jit-*.dump)"
		wait
	END
	within assay record -q -o s -- sh spoil "$PROGRAMS/jitdump" >path
	[[ "$(dumped s)" == *dump_hot* ]]
}

@test "perf.data: names from a jitdump are those of perf inject -j" {
	need_perf_data
	need_jitdump
	perf_record -k 1 -F "$(at_most 1999)" -o jit.data -- "$PROGRAMS/jitdump" 2000
	perf inject -j -i jit.data -o injected.data >perf.log 2>&1 || skip "this perf has no inject -j"
	perf report -i injected.data --stdio -F sample,sym 2>/dev/null |
		awk '$3 ~ /^dump_/ { print $3, $1 }' | sort >perfs
	[ -s perfs ] || skip "this perf finds nothing in the dump"
	diff perfs <(dumped jit.data)
	# One by one, they are the same.
	diff perfs <(assay script -i jit.data -F ip,sym | awk '$2 ~ /^dump_/ { print $2 }' | sort | uniq -c | awk '{ print $2, $1 }')
	perf_record -o late.data -- "$PROGRAMS/jitdump" 300
	run assay import late.data -o s.assay
	refused 0 "its clock differs from the jitdump's" "perf record -k 1"
}
