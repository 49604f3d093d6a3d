#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# OProfile's file system, mounted by the daemon.

load helpers
load daemon

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_root
	[ -w /dev/fuse ] || skip "no /dev/fuse"
	ldconfig -p | grep -q libfuse3 || skip "libfuse3 is not installed"
	need_daemon
}

# Ends what still runs before anything is looked at: nobody must wait for a daemon that is gone.
teardown() {
	end_test
	umount -l op 2>/dev/null || true
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log
}

is_mounted() {
	mountpoint -q op
}

start_with_fs() {
	start_daemon d --oprofilefs op "$@"
	! said "going on without it" || skip "$(grep oprofilefs daemon.log)"
}

# Samples of a stream in the files whose cookies are $2, but for the last few.
count_samples() {
	python3 - "$1" "$2" <<-'END'
		import struct, sys
		data = open(sys.argv[1], 'rb').read()
		# A file that is being written may end anywhere.
		words = struct.unpack('=%dQ' % (len(data) // 8), data[:len(data) // 8 * 8])
		escape, arguments = 2**64 - 1, {1: 5, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 8: 0}
		at, cookie, kernel, n = 0, None, None, 0
		while at + 7 < len(words):
		    if words[at] != escape:
		        n += kernel is False and str(cookie) in sys.argv[2].split()
		        at += 2
		        continue
		    code = words[at + 1]
		    if code == 3:
		        cookie = words[at + 2]
		    if code == 1:
		        cookie = None
		        assert words[at + 4] == escape and words[at + 5] == 7
		    kernel = {2: None, 4: True, 5: False}.get(code, kernel)
		    at += 2 + arguments[code]
		print(n)
	END
}

cookie_of() {
	awk -v path="$1" 'substr($0, index($0, " ") + 1) == path { print $1 }' op/cookies
}

has_dumped_samples() {
	echo 1 >op/dump
	cookie=$(cookie_of "$(realpath "$PROGRAMS/split")")
	[ "${cookie:-none}" != none ] && [ "$(count_samples stream "$cookie")" -gt 0 ]
}

@test "echo 1 > enable starts profiling, and buffer has the event stream" {
	start_with_fs --paused -e cpu-clock
	[ "$(cat op/pointer_size) $(cat op/enable) $(cat op/cpu_type)" = "8 0 timer" ]
	work
	background cat op/buffer >stream
	reader=$pid
	echo 1 >op/enable
	[ "$(cat op/enable)" = 1 ]
	# Until the stream has samples of our program.
	wait_for has_dumped_samples
	echo 0 >op/enable
	wait "$reader" # the end of the file
	[ "$(cat op/enable)" = 0 ]
	[ "$(count_samples stream "$cookie")" -gt 0 ]
	[ "$(cat op/stats/sample_received)" -gt 0 ]
	end_daemon
	run ! is_mounted
}

@test "events of the numbered directories are taken, nonsense is refused" {
	start_with_fs --paused
	echo 10000000 >op/0/count
	echo cpu-clock >op/0/name
	echo 0 >op/0/kernel
	run bash -c 'echo much >op/0/count'
	[ "$status" != 0 ]
	grep -q "'much' is not a number" op/last_error
	[ "$(cat op/0/count)" = 10000000 ]
	echo 1 >op/enable
	wait_for said "other events"
	wait_for grep -q "^0$" op/0/kernel
	wait_for ask d status
	[ "$(cat op/0/count) $(cat op/0/user)" = "10000000 1" ]
	end_daemon
}

@test "a watershed that is not below the buffer's size is refused when the buffer is opened" {
	start_with_fs --paused -e cpu-clock
	cat op/buffer_size >op/buffer_watershed
	run cat op/buffer
	[ "$status" = 1 ]
	[[ "$output" == *"Invalid argument"* ]]
	grep -q 'buffer_watershed is 131072' op/last_error
	echo 1024 >op/buffer_watershed
	background cat op/buffer >stream
	reader=$pid
	wait_for reads_buffer
	[ "$(cat op/stats/cpu0/sample_lost_overflow op/stats/cpu0/backtrace_aborted op/stats/cpu0/sample_invalid_eip | xargs)" = "0 0 0" ]
	kill "$reader"
	end_daemon
}

reads_buffer() {
	readlink "/proc/$reader/fd"/* | grep -q op/buffer
}

is_gone_from_mounts() {
	! grep -q "$PWD/op " /proc/self/mountinfo
}

@test "unmounted while it is read, and after a daemon that was killed" {
	start_with_fs -e cpu-clock
	background cat op/buffer >/dev/null
	reader=$pid
	wait_for reads_buffer
	kill -9 "$daemon"
	wait "$daemon" || true
	wait "$reader" || true # an error, and no hang
	# The keeper outlives the daemon for that.
	wait_for is_gone_from_mounts
	start_with_fs -e cpu-clock
	kill -9 "$(pgrep -P "$daemon" -x assay-keeper)"
	kill -9 "$daemon"
	wait "$daemon" || true
	run ! is_gone_from_mounts
	start_with_fs -e cpu-clock
	[ "$(cat op/pointer_size)" = 8 ]
	umount -l op
	wait_for said "unmounted by somebody else"
	end_daemon
}

@test "nothing is made, removed or renamed in it" {
	start_with_fs --paused -e cpu-clock
	local action
	for action in "rm op/enable" "rmdir op/0" "mkdir op/there" "touch op/there" "ln -s here op/there" \
		"mv op/enable op/there" "chmod 777 op/enable"; do
		run $action
		[ "$status" != 0 ]
		[[ "$output" == *"Operation not permitted"* ]] || { echo "$action: $output"; false; }
	done
	[ "$(cat op/enable)" = 0 ]
	end_daemon
}

@test "without /dev/fuse the daemon says so, and goes on" {
	unshare -m true 2>/dev/null || skip "no mount here"
	mkdir dev
	run_daemon unshare -m sh -c 'mount -t tmpfs none dev && cp -a /dev/null /dev/urandom dev && mount --move dev /dev && exec "$@"' sh \
		assay daemon --session-dir d --oprofilefs op -e cpu-clock
	said "oprofilefs at $PWD/op: /dev/fuse can't be opened ('modprobe fuse' may help): No such file or directory: going on without it"
	end_daemon
}

@test "a failed mount is reported, and the daemon continues" {
	touch op
	start_daemon d --oprofilefs op -e cpu-clock
	said "oprofilefs at $PWD/op: $PWD/op: not a directory: going on without it"
	end_daemon
	rm op
}
