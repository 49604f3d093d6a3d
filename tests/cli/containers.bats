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

# By BPF only where it is permitted; in_kernel.bats has the other cases.
collectors() {
	local collector
	for collector in $COLLECTORS; do
		assay record -q -a --collector "$collector" --duration 0.1 -e cpu-clock -o probe 2>/dev/null && echo "$collector"
	done
}

# The functions of a program in session s that have two percent of its samples. A busy machine identifies a file late: its samples
# before that are of an image of their own, with the same names.
functions() { # PATH
	assay report -i s --by image,symbol -t 0 --format json "app:$1" "image:$1" |
		jq -r '[.rows[] | select(.image[:1] != "[")] | (map(.samples) | add) as $all | group_by(.symbol)[] |
			select((map(.samples) | add) * 100 / $all >= 2) | .[0].symbol' | xargs
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

# Programs of $PWD/m have their names with each collector; without a build id, also when they are gone.
names_on_mount() {
	local collector program
	for program in split plain; do
		background "$PWD/m/$program" 100000s >/dev/null
	done
	for collector in $(collectors); do
		record_samples 600 s "app:$PWD/m/plain" -a --collector "$collector" -e cpu-clock
		for program in split plain; do
			[ "$(functions "$PWD/m/$program")" = "forty ten thirty twenty" ]
			share_is "$(unnamed "$PWD/m/$program")" "$(samples_of s "app:$PWD/m/$program")" 0
		done
	done
	end_test
	BACKGROUND=()
	rm m/plain
	[ "$(functions "$PWD/m/plain")" = "forty ten thirty twenty" ]
}

@test "programs on btrfs have their names, though its device has another number in /proc" {
	command -v mkfs.btrfs >/dev/null || skip "btrfs-progs is not installed"
	truncate -s 200M image
	mkfs.btrfs -q image
	mkdir m
	mount -o loop image m 2>mount.log || skip "btrfs can't be mounted: $(tail -1 mount.log)"
	cp "$PROGRAMS/split" m/split
	cp "$PLAIN/split" m/plain
	names_on_mount
}

@test "programs on fuse-overlayfs have their names" {
	command -v fuse-overlayfs >/dev/null || skip "fuse-overlayfs is not installed"
	mkdir m lower upper work
	cp "$PROGRAMS/split" lower/split
	cp "$PLAIN/split" lower/plain
	fuse-overlayfs -o lowerdir=lower,upperdir=upper,workdir=work m >mount.log 2>&1 ||
		skip "fuse-overlayfs can't be mounted: $(tail -1 mount.log)"
	names_on_mount
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
	# Without the kept symbols, it has no names, with the reason.
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

@test "short programs have their names, each from a separate file that is gone at once" {
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
		# The recorder learns of a program at its first sample, and may be late on a busy machine.
		assay report -i s --by app,symbol -t 0 --format json |
			jq -r '.rows[] | select(.app | test("/folder/app[0-9]+$")) | select(.symbol == "forty") | .app' >named
		[ "$(wc -l <named)" -ge 16 ]
	done
}

@test "in a separate pid namespace, pids are its own, and the work of others is [other namespace]" {
	local collector
	unshare -p -f --mount-proc true 2>/dev/null || skip "no pid namespace here"
	background "$PROGRAMS/split" 100000s >/dev/null
	for collector in $(collectors); do
		# A machine that is busy enough may lose the mappings of a new program, and says so.
		with_its_mappings() {
			rm -rf s
			unshare -p -f --mount-proc assay record -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s -- \
				"$PROGRAMS/quarters" 0.5cpu 2>log
			[ "$(fact s '.losses["ring-records"] // 0')" = 0 ]
		}
		wait_for with_its_mappings
		grep "work of other namespaces appears as \[other namespace\]" log
		assay report -i s --by process,image -t 0
		assay report -i s --by process,image -t 0 --format json >rows.json
		[ "$(jq '[.rows[] | select(.process == "[other namespace]") | .samples] | add > 0' rows.json)" = true ]
		[ "$(jq '[.rows[] | select(.image | endswith("/quarters")) | .process | test("^quarters \\([0-9]{1,3}\\)$")] | unique == [true]' rows.json)" = true ]
		[ "$(jq '[.rows[] | select(.image | endswith("/split"))] | length' rows.json)" = 0 ]
	done
	run unshare -p -f --mount-proc assay record --off-cpu -a -o s --duration 0.1
	refused 1 "--pid=host"
}

# ---- files and pids that change while assay looks at them ----

# Runs the commands with split and quarters as $1 and $2, in a mount namespace; `ready` says that all runs.
in_changing_mounts() { # COMMANDS
	mkdir -p folder
	{ echo 'trap "kill \$(jobs -p) 2>/dev/null" EXIT' && cat; } >commands
	background unshare -m --propagation private bash -eu commands "$PLAIN/split" "$PLAIN/quarters" >commands.log 2>&1
	wait_for so_or_ended "$pid" test -e ready
	[ -e ready ] || skip "no such mounts here: $(tail -1 commands.log)"
}

@test "a mount that comes over a running program does not give it names, though its inode is the same" {
	local collector
	in_changing_mounts <<-'END'
		mount -t tmpfs none folder
		cp "$1" folder/app
		folder/app 100000s >/dev/null &
		until [ "$(cat /proc/$!/comm 2>/dev/null || echo app)" = app ]; do sleep 0.01; done
		mount -t tmpfs none folder
		cp "$2" folder/app
		stat -c %i folder/app "/proc/$!/exe" -L >inodes
		: >ready
		wait
	END
	for collector in $(collectors); do
		rm -rf .cache
		record_samples 300 s comm:app -a --collector "$collector" -e cpu-clock
		[ "$(functions "$PWD/folder/app")" = "forty ten thirty twenty" ]
	done
}

@test "a program whose root is exchanged under it keeps its own names" {
	local collector
	in_changing_mounts <<-'END'
		mount -t tmpfs none folder
		mkdir folder/old folder/app.d "folder$PWD" -p
		cp "$1" app
		"$PWD/app" 100000s >/dev/null &
		until [ "$(cat /proc/$!/comm 2>/dev/null || echo app)" = app ]; do sleep 0.01; done
		cp "$2" "folder$PWD/app"
		pid=$!
		here=$PWD
		pivot_root folder folder/old
		cd "/old$here"
		: >ready
		wait $pid
	END
	for collector in $(collectors); do
		rm -rf .cache
		record_samples 300 s comm:app -a --collector "$collector" -e cpu-clock
		# Its path is below the new root.
		[ "$(functions "*$PWD/app")" = "forty ten thirty twenty" ]
	done
}

# Rows of pid, program and symbol, where a process of one program has the other's names: none is right.
wrong_names() { # SESSION: `truth` has a line for each process, its pid and program
	assay report -i "$1" --by process,symbol -t 0 --format json "image:$PWD/app" |
		jq -r '.rows[] | select(.samples > 0) | "\(.process | capture("\\((?<pid>[0-9]+)\\)").pid) \(.symbol)"' |
		awk 'NR == FNR { is[$1] = $2; next }
			is[$1] == "split" && $2 ~ /quarter/ || is[$1] == "quarters" && $2 ~ /^(ten|twenty|thirty|forty)$/ { print is[$1], $0 }' truth -
}

@test "files that are swapped while assay looks at them give no program the names of another" {
	local collector
	cat >swap <<-'END'
		run() { # FILE NAME OTHER: the path leads to OTHER while FILE runs
			cp "$1" next; mv next app
			"$PWD/app" 0.05cpu >/dev/null &
			echo "$! $2" >>truth
			until [ "$(cat /proc/$!/comm 2>/dev/null || echo app)" = app ]; do :; done # or it has ended
			cp "$3" next; mv next app
			wait
		}
		for i in $(seq 15); do
			run "$1" split "$2"
			run "$2" quarters "$1"
		done
	END
	for collector in $(collectors); do
		rm -rf .cache s truth
		assay record -q -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s -- bash -eu swap "$PLAIN/split" "$PLAIN/quarters"
		wrong_names s >wrong
		[ ! -s wrong ] || { cat wrong; false; }
		# Each of the two is among them, with names.
		assay report -i s --by symbol -t 0 --format json "image:$PWD/app" | jq -r '.rows[].symbol' >symbols
		has -x forty symbols
		has -x three_quarters symbols
	done
}

@test "a pid that is used again at once, here or in another namespace, has each program's own names" {
	local collector
	unshare -p -f --mount-proc sh -c 'echo 100 >/proc/sys/kernel/ns_last_pid' 2>/dev/null || skip "the next pid can't be chosen here"
	cat >again <<-'END'
		# One program after the other is process 200 of this namespace; the same of another namespace goes on beside.
		unshare -p -f --mount-proc bash -c 'echo 199 >/proc/sys/kernel/ns_last_pid; "$1" 1000s & wait' bash "$1" >/dev/null &
		for i in 1 2 3 4 5 6 7 8; do
			for program in "$1" "$2"; do
				echo 199 >/proc/sys/kernel/ns_last_pid
				"$program" 0.1cpu >/dev/null &
				echo "$! ${program##*/}" >>truth
				wait $!
			done
		done
		kill %1
	END
	for collector in $(collectors); do
		# A thread of assay may take the number, and keep it.
		for _ in {1..10}; do
			rm -rf .cache s truth
			unshare -p -f --mount-proc assay record -q -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s -- \
				bash -u again "$PLAIN/split" "$PLAIN/quarters"
			[ "$(cut -d' ' -f1 truth | sort -u)" != 200 ] || break
			cat truth
		done
		[ "$(cut -d' ' -f1 truth | sort -u)" = 200 ]
		assay report -i s --by app,process,symbol -t 0 --format json >rows.json
		# Both programs were process 200, and each sample of a program's file is of a process that ran it.
		[ "$(jq -r '.rows[] | select(.process | endswith("(200)")) | select(.symbol == "forty" or .symbol == "three_quarters") | .app + " " + .symbol' rows.json |
			sed 's,.*/,,' | sort -u | xargs)" = "quarters three_quarters split forty" ]
		jq -e '[.rows[] | select(.samples > 0) | select((.app | endswith("/split")) and (.symbol | test("quarter")) or
			(.app | endswith("/quarters")) and (.symbol | test("^(ten|twenty|thirty|forty)$")))] == []' rows.json
		# The other namespace's process 200 has another number here, and its names.
		jq -e '[.rows[] | select(.symbol == "forty") | .process] | unique | length >= 2' rows.json
	done
}
