#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `assay export --format oprofile`: sample files of every session, read by opreport.
load helpers
load opdemo
load exports

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
}

export_files() { # SESSION FOLDER ARGUMENTS…
	assay export -q -i "$1" --format oprofile -o "${@:2}"
}

# The samples of each event in a session.
samples_of() {
	assay report -i "$1" --format json --idle | jq -cS '.total | map({(.event | gsub("[./]"; "_")): .samples}) | add'
}

# The samples of each program and image, without what differs in names of code that has no file.
images_of() {
	assay report -i "$1" --by app,image -t 0 --format json | jq -r '.rows[] | select(.samples > 0) | "\(.samples) \(.app | sub(".*/"; "")) \(.image | sub(".*/"; ""))"' | sort
}

@test "sessions of all kinds keep their samples, events and losses" {
	for kind in plain hostile; do
		rm -rf s files
		session "$kind"
		export_files s files
		[ "$(samples_of files)" = "$(samples_of s)" ]
		[ -n "$(samples_of s)" ]
		[ "$(assay report -i files --format json | jq -cS .losses)" = "$(assay report -i s --format json | jq -cS .losses)" ]
	done
	# names of code that has no file are in a .jo file of its process
	[ "$(find files -name '*.jo' | wc -l)" -gt 0 ]
}

@test "a history, a window of it, and what filters take" {
	"$ASSAY_BUILD/bench/history" h 2 3000 40
	export_files h files
	[ "$(samples_of files)" = "$(samples_of h)" ]
	export_files h part 'lib-image:lib1*'
	n=$(assay report -i h --format json 'lib-image:lib1*' | jq '.total[0].samples')
	[ "$n" -gt 0 ]
	[ "$(assay report -i part --format json | jq '.total[0].samples')" = "$n" ]
}

@test "functions that are known by name alone keep their names and calls" {
	printf 'main;work;"inner one" 5\nmain;work 7\nmain;other;../../up 3\n' >x.folded
	export_files x.folded files
	run assay report -i files -l
	[[ "$output" == *" 7  46.67  "*"  work"* ]]
	[[ "$output" == *" 5  33.33  "*'  "inner one"'* ]]
	[[ "$output" == *" 3  20.00  "*"  ../../up"* ]]
	assay report -i files -c --format csv >calls.csv
	grep -E '^[^,]*,caller,.*work' calls.csv
	[ "$(find . -name up | wc -l)" = 0 ]
}

@test "sample files that are exported are the same sample files" {
	demo
	export_files demo files
	for options in -l -d -c "-c -x" -X; do
		# shellcheck disable=SC2086
		opreport --session-dir=demo $options >demo.txt
		# shellcheck disable=SC2086
		opreport --session-dir=files $options | sed 's/session-dir=files/session-dir=demo/' >files.txt
		diff demo.txt files.txt
	done
	grep -q 'AMD64 generic, speed 2400 MHz' files.txt || opreport --session-dir=files -l | grep -q 'AMD64 generic, speed 2400 MHz'
}

@test "stacks become arcs, and --separate says what is kept apart" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 300 >/dev/null
	export_files s files
	[ "$(images_of files)" = "$(images_of s)" ]
	# each function of the program: its own samples, and the calls of it
	for function in forty thirty; do
		own=$(assay report -i s -l --format json | jq "[.rows[] | select(.symbol == \"$function\") | .samples] | add")
		[ "$(assay report -i files -l --format json | jq "[.rows[] | select(.symbol == \"$function\") | .samples] | add")" = "$own" ]
		total=$(assay report -i s -l --format json | jq "[.rows[] | select(.symbol == \"$function\") | .total] | add")
		[ "$(opreport --session-dir=files -n -c 2>/dev/null | awk -v f="$function" '/^---/ { n = 0 } /^  / { n += $1 } /^[0-9]/ && $NF == f { print n; exit }')" = "$total" ]
	done
	export_files s apart --separate=thread,cpu
	find apart -type f -path '*split*' | grep -E 'cpu-clock\.0\.0\.[0-9]+\.[0-9]+\.[0-9]+$|cycles.*\.[0-9]+\.[0-9]+\.[0-9]+$'
	[ "$(samples_of apart)" = "$(samples_of s)" ]
	export_files s none --separate=none
	[ "$(find none -type f | grep -c '{dep}/{root}/proc/kallsyms')" = "$(find none -type f | grep -c 'current/{root}/proc/kallsyms/{dep}/{root}/proc/kallsyms')" ]
}

@test "the original opreport reads it, with the counts of the source" {
	original=${ASSAY_OPROFILE:-/usr}/bin/opreport
	{ [ -x "$original" ] && ! "$original" --version | grep -q assay; } ||
		skip "OProfile's own opreport is not installed; ASSAY_OPROFILE can name its prefix"
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 300 >/dev/null
	export_files s files
	"$original" --session-dir=files -n -l image:'*/split' lib-image:'*/split' 2>/dev/null | awk '{ print $1, $NF }' | sort >theirs
	assay report -i s -l --format json app:split lib-image:split | jq -r '.rows[] | select(.samples > 0) | "\(.samples) \(.symbol)"' | sort >ours
	diff ours theirs
	[ -s ours ]
	"$original" --session-dir=files -n -c image:'*/split' lib-image:'*/split' 2>/dev/null | sed 's/@@[^ ]*//' | sort >theirs
	opreport --session-dir=files -n -c image:'*/split' lib-image:'*/split' 2>/dev/null | sort | diff - theirs
}

@test "a folder that has something in it stays as it is; nothing half is left" {
	session plain
	mkdir full empty
	touch full/mine file
	for there in full file; do
		run assay export -i s --format oprofile -o "$there"
		refused 1 "it is there already"
	done
	[ "$(ls full)" = mine ]
	export_files s empty
	[ -f empty/abi ]
	run assay export -i s --format oprofile
	refused 1 "can't be written to standard output"
	run assay export -i s --format oprofile -o x --separate=nothing
	refused 2 "'nothing' is none of"
	[ ! -e x ]
}

@test "a full disk is an error, and leaves no folder" {
	need_full_disk
	session plain
	# shellcheck disable=SC2016
	run unshare -m sh -c 'mount -t tmpfs -o size=64k none full && "$0" export -i s --format oprofile -o full/x; echo "status $?"; ls full' "$ASSAY_BUILD/assay"
	[[ "$output" == *"No space left on device"* ]]
	[[ "$output" == *"status 1" ]]
}
