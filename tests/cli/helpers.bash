# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What every CLI test loads: `assay` is the one just built, the working folder is a fresh one.
#
#   golden NAME COMMAND…   its output is tests/cli/golden/NAME; UPDATE=1 writes it
#   at_most HZ             a rate that the kernel takes
#   refused STATUS TEXT…   the last `run` ended so, and its output has every TEXT

bats_require_minimum_version 1.5.0
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
ASSAY_BUILD=${ASSAY_BUILD:-$ROOT/build}
PROGRAMS=$ASSAY_BUILD/tests/programs
# Recordings of other machines, beside the project where there are any.
FIXTURES=${ASSAY_FIXTURES:-$ROOT/../shared/fixtures}/perfdata
PATH=$ASSAY_BUILD:$PATH
NOBODY=/tmp/assay-test-nobody.$$
export LC_ALL=C.UTF-8 PAGER=cat ASSAY_EVENTS_DIR=$ROOT/events
unset XDG_CACHE_HOME XDG_CONFIG_HOME OPROFILE_EVENTS_DIR NO_COLOR

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
}

golden() {
	local file=$ROOT/tests/cli/golden/$1
	shift
	run --separate-stderr "$@"
	if [ -n "${UPDATE-}" ]; then
		mkdir -p "${file%/*}"
		echo "$output" >"$file"
	fi
	diff -u "$file" <(echo "$output")
}

refused() {
	local want=$1 text
	shift
	echo "status $status, wanted $want; output: $output" >&2
	[ "$status" = "$want" ]
	for text; do
		[[ "$output" == *"$text"* ]] || { echo "not said: $text" >&2; return 1; }
	done
}

# Skips the test, with the reason, where this user may not open even a timer for itself.
need_recording() {
	assay record -o probe.assay -- true >probe.log 2>&1 ||
		skip "recording is not permitted here: $(tail -1 probe.log)"
}

# The fact that a jq filter finds in `assay info` of a session.
fact() {
	assay info --format json "$1" | jq -r "$2"
}

# at_most HZ: that rate, or what the kernel takes at present: it goes down where interrupts are slow.
at_most() {
	local max
	max=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2>/dev/null || echo "$1")
	echo $((max < $1 ? max : $1))
}

# Waits until a background job is the program, and no longer the shell that starts it.
is_running() { # PID NAME
	for _ in {1..100}; do
		[ "$(cat "/proc/$1/comm" 2>/dev/null)" != "$2" ] || return 0
		sleep 0.1
	done
	return 1
}

need_perf() {
	command -v perf >/dev/null || skip "perf is not installed"
}

# `perf record` with these arguments, or a skip. perf 6.1 crashes now and then at the end of a
# recording, and finds a lost sample a reason to fail: it is asked again.
perf_record() {
	need_perf
	for _ in 1 2 3 4 5 6; do
		perf record -q -N "$@" >perf.log 2>&1 && return
	done
	skip "perf record failed: $(tail -1 perf.log)"
}

# The same through a pipe into a file: perf_pipe FILE ARGUMENTS…
perf_pipe() {
	local file=$1
	shift
	need_perf
	for _ in 1 2 3 4 5 6; do
		perf record -q -N -o - "$@" >"$file" 2>perf.log && return
	done
	skip "perf record failed: $(tail -1 perf.log)"
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# Runs as an ordinary user, in a folder of its own where that user may write: `unprivileged assay …`.
unprivileged() {
	if [ "$(id -u)" != 0 ]; then
		"$@"
		return
	fi
	command -v runuser >/dev/null || skip "runuser is not installed"
	if [ ! -d "$NOBODY" ]; then
		mkdir "$NOBODY"
		cp "$ASSAY_BUILD/assay" "$NOBODY"
		chmod 755 "$NOBODY/assay"
		find "$ASSAY_BUILD" -maxdepth 1 -type l -exec cp -P {} "$NOBODY" \;
		chown nobody "$NOBODY"
	fi
	(cd "$NOBODY" && HOME=$NOBODY runuser -u nobody -- env PATH="$NOBODY:$PATH" "$@")
}

teardown() {
	rm -rf "$NOBODY"
}
