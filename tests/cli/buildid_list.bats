#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Which builds a recording is of.
load helpers

@test "the files that perf lists, of a recording of another machine" {
	[ -d "$FIXTURES" ] || skip "no fixtures here"
	command -v perf >/dev/null || skip "perf is not installed"
	for file in perf.data.callgraph-3.8 perf.data.intel_pt-4.14; do
		# Without a build id perf writes spaces.
		perf buildid-list -i "$FIXTURES/$file" 2>/dev/null | grep -v '^ ' | sort >theirs
		assay buildid-list "$FIXTURES/$file" | sort >ours
		[ -s ours ]
		[ -z "$(comm -23 theirs ours)" ]
	done
}

@test "a session lists the images with samples, once" {
	need_recording
	assay record -q -o one.assay -- "$PROGRAMS/split" 200
	run --separate-stderr assay buildid-list -i one.assay
	[ "$status" = 0 ]
	[[ "$output" =~ [0-9a-f]{40}" "[^$'\n']*/split ]]
	[ "$(sort <<<"$output" | uniq -d)" = "" ]
}

@test "a recording's kernel is listed once, without the symbol behind its name" {
	need_recording
	assay record -q --raw -o raw.data -- "$PROGRAMS/split" 50
	[ "$(assay buildid-list -i raw.data | grep -cF '[kernel.kallsyms]')" -le 1 ]
	[ "$(assay buildid-list -i raw.data | grep -cF '[kernel.kallsyms]_')" = 0 ]
}

@test "the running kernel's" {
	[ -r /sys/kernel/notes ] || skip "no notes of the kernel here"
	[[ $(assay buildid-list -k) =~ ^[0-9a-f]{40}$ ]]
}

@test "a file that is no recording, or is damaged, is an error" {
	run assay buildid-list nothing.here
	refused 1 "nothing.here"
	run assay buildid-list one two
	refused 2 "one recording at a time"
	[ -d "$FIXTURES" ] || skip "no fixtures here"
	head -c 20000 "$FIXTURES/perf.data.callgraph-3.8" >cut.data
	run assay buildid-list cut.data
	refused 1 "cut.data" "the list ends there"
}
