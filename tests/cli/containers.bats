#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs in containers, as far as mounts and namespaces make them: which file a program is.

load helpers

# A program with other functions than split has, and both without a build id.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	objcopy --remove-section .note.gnu.build-id "$PROGRAMS/split" split
	objcopy --remove-section .note.gnu.build-id "$PROGRAMS/quarters" quarters
	export PLAIN=$BATS_FILE_TMPDIR
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_root
	need_recording
	unshare -m true 2>/dev/null || skip "no mount here"
}

teardown() {
	end_test
	! mountpoint -q "$BATS_TEST_TMPDIR/m" || umount -l "$BATS_TEST_TMPDIR/m"
	! mountpoint -q "$BATS_TEST_TMPDIR/upper" || umount -l "$BATS_TEST_TMPDIR/upper"
}

COLLECTORS="bpf perf"

# By BPF only where it is permitted: in_kernel.bats tells where not.
collectors() {
	local collector
	for collector in $COLLECTORS; do
		assay record -q -a --collector "$collector" --duration 0.1 -e cpu-clock -o probe 2>/dev/null && echo "$collector"
	done
}

# The functions of a program in session s, with their share of its samples in whole percent.
functions() { # PATH
	assay report -i s --by symbol -t 0 --format json "app:$1" "image:$1" |
		jq -r '(.rows | map(.samples) | add) as $all | .rows[] | select(.samples * 100 / $all >= 2) | .symbol' | sort | xargs
}

unnamed() { # PATH: samples of the program that have no image
	assay report -i s --by image -t 0 --format json "app:$1" | jq '[.rows[] | select(.image == "[unknown]") | .samples] | add // 0'
}

# A folder m on overlayfs, with split and the same without a build id below it.
mount_overlay() {
	mkdir lower upper m
	cp "$PROGRAMS/split" lower/split
	cp "$PLAIN/split" lower/plain
	mount -t tmpfs none upper || skip "no mount here"
	mkdir upper/u upper/w
	mount -t overlay -o "lowerdir=lower,upperdir=upper/u,workdir=upper/w" none m 2>mount.log ||
		skip "overlayfs can't be mounted: $(tail -1 mount.log)"
}

@test "programs on overlayfs keep their names, however long they run" {
	local collector program
	mount_overlay
	background "$PWD/m/split" 100000s >/dev/null
	background "$PWD/m/plain" 100000s >/dev/null
	for collector in $(collectors); do
		# More than two seconds' samples: then a file that is not known is waited for no more.
		record_samples 3000 s "app:$PWD/m/split" -a --collector "$collector" -e cpu-clock -F "$(at_most 997)"
		for program in split plain; do
			[ "$(functions "$PWD/m/$program")" = "forty ten thirty twenty" ]
			share_is "$(unnamed "$PWD/m/$program")" "$(samples_of s "app:$PWD/m/$program")" 0
		done
	done
}

@test "a file without a build id has its own names, not those of another file of its path" {
	local collector
	mkdir here there
	cp "$PLAIN/quarters" here/app
	cp "$PLAIN/split" there/app
	# shellcheck disable=SC2016 # the inner shell's
	background unshare -m sh -c 'mount --bind there here && exec "$PWD/here/app" 100000s' >/dev/null
	for collector in $(collectors); do
		record_samples 300 s "app:$PWD/here/app" -a --collector "$collector" -e cpu-clock
		[ "$(functions "$PWD/here/app")" = "forty ten thirty twenty" ]
	done
	# And when nothing is left of the file but the one that is here.
	end_test
	BACKGROUND=()
	rm there/app
	[ "$(functions "$PWD/here/app")" = "forty ten thirty twenty" ]
	# Without what was kept of it, it has no names, with the reason.
	rm -rf .cache
	run assay report -i s --by symbol "app:$PWD/here/app" "image:$PWD/here/app"
	[[ "$output" != *quarter* ]]
	[[ "$output" == *"is not the file that was profiled"* ]]
}

@test "a file without a build id that only a container has is named" {
	local collector
	mkdir folder
	# shellcheck disable=SC2016 # the inner shell's
	background unshare -m sh -c 'mount -t tmpfs none folder && cp "$0" folder/app && exec "$PWD/folder/app" 100000s' \
		"$PLAIN/split" >/dev/null
	for collector in $(collectors); do
		record_samples 300 s "app:$PWD/folder/app" -a --collector "$collector" -e cpu-clock
		[ "$(functions "$PWD/folder/app")" = "forty ten thirty twenty" ]
	done
}

@test "a file that is replaced while it runs has its own names" {
	local collector
	cp "$PLAIN/split" app
	background "$PWD/app" 100000s >/dev/null
	is_running "$pid" app
	rm app
	cp "$PLAIN/quarters" app
	for collector in $(collectors); do
		record_samples 300 s "app:$PWD/app" -a --collector "$collector" -e cpu-clock
		[ "$(functions "$PWD/app")" = "forty ten thirty twenty" ]
	done
}

@test "short programs, each from a file of its own that is gone at once, have their names" {
	local collector
	mkdir folder
	cat >script <<-'END'
		mount -t tmpfs none folder
		for i in $(seq 20); do
			cp "$1" "folder/app$i"
			"$PWD/folder/app$i" 0.4cpu >/dev/null
			rm "folder/app$i"
		done
	END
	for collector in $(collectors); do
		rm -rf .cache s
		assay record -q -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s -- unshare -m sh script "$PLAIN/split"
		# The recorder is told at a program's first sample, and may be late on a busy machine.
		assay report -i s --by app,symbol -t 0 --format json |
			jq -r '.rows[] | select(.app | test("/folder/app[0-9]+$")) | select(.symbol == "forty") | .app' >named
		[ "$(wc -l <named)" -ge 16 ]
	done
}

@test "in a pid namespace of its own, pids are its own, and the work of others is [other namespace]" {
	local collector
	unshare -p -f --mount-proc true 2>/dev/null || skip "no pid namespace here"
	background "$PROGRAMS/split" 100000s >/dev/null
	for collector in $(collectors); do
		rm -rf s
		unshare -p -f --mount-proc assay record -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s -- \
			"$PROGRAMS/quarters" 0.5cpu 2>log
		grep "work of other namespaces is told as \[other namespace\]" log
		assay report -i s --by process,image -t 0 --format json >rows.json
		[ "$(jq '[.rows[] | select(.process == "[other namespace]") | .samples] | add > 0' rows.json)" = true ]
		[ "$(jq '[.rows[] | select(.image | endswith("/quarters")) | .process | test("^quarters \\([0-9]{1,3}\\)$")] | unique == [true]' rows.json)" = true ]
		[ "$(jq '[.rows[] | select(.image | endswith("/split"))] | length' rows.json)" = 0 ]
	done
	run unshare -p -f --mount-proc assay record --off-cpu -a -o s --duration 0.1
	refused 1 "--pid=host"
}
