# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Every CLI test loads this file. `assay` is the program that was just built. The working folder is
# a fresh one, and is removed after the test.
#
#   golden NAME COMMAND…   the output must equal tests/cli/golden/NAME; UPDATE=1 writes that file
#   at_most HZ             a rate that the kernel accepts
#   refused STATUS TEXT…   the last `run` ended with STATUS, and its output contains every TEXT
#   has [OPTION…] PATTERN FILE   grep, which shows the file if it fails
#   wait_for COMMAND…      polls COMMAND until it succeeds; fails after $DEADLINE seconds
#   background COMMAND…    starts COMMAND and sets $pid; the end of the test kills it
#   ticks PID, has_run PID TICKS   CPU time in user mode, in hundredths of a second; for wait_for
#   within COMMAND…        runs COMMAND, and kills it after $DEADLINE seconds
#   killed_after MS LOCK COMMAND…   kills COMMAND after MS milliseconds, unless it has ended; then its lock is free
#   record_until CONDITION ARGUMENTS…, record_samples N SESSION FILTER ARGUMENTS…   see there
#   set_paranoid N         kernel.perf_event_paranoid, until the end of the test
#   session_at SESSION PROGRAM PLACE=N…   a session with samples at known places; see there
#   short_folder           makes a folder for Unix sockets, and prints its path
#   hot_line, hot_place PROGRAM           of tests/programs/inlines.c
#   share_is N TOTAL SHARE [SLACK]   N of TOTAL independent samples fit a true share; see there
#
# A test never sleeps for a time and then expects a result: it waits for the result.

bats_require_minimum_version 1.5.0
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
ASSAY_BUILD=${ASSAY_BUILD:-$ROOT/build}
PROGRAMS=$ASSAY_BUILD/tests/programs
TOOLS=$ROOT/tests/tools
# Recordings of other machines, beside the project where there are any.
FIXTURES=${ASSAY_FIXTURES:-$ROOT/../shared/fixtures}/perfdata
PATH=$ASSAY_BUILD:$PATH
# A folder that an ordinary user may enter: the test's own folder is root's.
NOBODY=${TMPDIR:-/tmp}/assay-test-nobody.$$
# The one limit of all waits, in seconds. tests/run measures the machine and sets the limit.
DEADLINE=${ASSAY_TEST_DEADLINE:-120}
export LC_ALL=C.UTF-8 TZ=UTC PAGER=cat ASSAY_EVENTS_DIR=$ROOT/events
# Without COLUMNS, text has the width that the commands use in a pipe.
unset COLUMNS XDG_CACHE_HOME XDG_CONFIG_HOME OPROFILE_EVENTS_DIR NO_COLOR

# The values of a failed comparison, because bats shows the command's text only. "return" alone is not enough:
# bats calls teardown in a trap, where "return" uses the status from before the trap.
failed_comparison=
eval '[() {
	builtin [ "$@" && return 0
	failed_comparison="[ ${*@Q}"
	return 1
}'

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
	[ "$status" = "$want" ]
	for text; do
		[[ "$output" == *"$text"* ]] || { echo "the output lacks: $text" >&2; return 1; }
	done
}

# Skips the test, with the reason, where this user may not open even a timer for itself.
need_recording() {
	assay record -o probe.assay -- true >probe.log 2>&1 ||
		skip "recording is not permitted here: $(tail -1 probe.log)"
}

# What `assay doctor` says of a check: doctor_finding NAME, a jq filter after it ("\(.state) \(.finding)").
doctor_finding() {
	{ assay doctor --format json || true; } |
		jq -r --arg name "$1" ".checks[] | select(.name == \$name) | \"${2:-\\(.state) \\(.finding)}\""
}

# Skips the test, with the reason, where this machine is known not to take the in-kernel sampler. If all that
# the sampler needs is there and the kernel refuses it, the test fails.
need_sampler() {
	local finding
	need_root
	need_recording
	finding=$(doctor_finding BPF)
	case $finding in
	ok* | limited*) ;;
	*"assay's program does not load"*) doctor_finding BPF '\(.meaning)' >&2; return 1 ;;
	*) skip "no in-kernel sampler here: ${finding#* }" ;;
	esac
}

# has [OPTION…] PATTERN FILE: the file has such a line; or its beginning is shown.
has() {
	grep "$@" >/dev/null && return 0
	echo "not in ${*: -1}: ${*:1:$#-1}; it begins:" >&2
	head -c 2000 "${@: -1}" >&2
	return 1
}

# The fact that a jq filter finds in `assay info` of a session.
fact() {
	assay info --format json "$1" | jq -r "$2"
}

# The interpreter itself: the command python3 may be a script that looks for it.
python_path() {
	python3 -c 'import sys; print(sys.executable)'
}

# at_most HZ: that rate, or the kernel's present limit, which goes down when interrupts are slow.
at_most() {
	local max
	max=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2>/dev/null || echo "$1")
	echo $((max < $1 ? max : $1))
}

wait_for() {
	local end=$((SECONDS + DEADLINE))
	until "$@"; do
		if ((SECONDS >= end)); then
			echo "not so within $DEADLINE s: $*" >&2
			return 1
		fi
		sleep 0.05
	done
}

# Samples of a session, also of one that is being recorded: samples_of SESSION [FILTER…]
samples_of() {
	assay report -i "$1" --by comm --format json "${@:2}" 2>/dev/null | jq -s '[.[].rows[].samples] | add // 0'
}

# For wait_for: has_samples N SESSION [FILTER…]
has_samples() {
	[[ $(samples_of "${@:2}") -ge $1 ]]
}

so_or_ended() { # PID COMMAND…
	"${@:2}" || ! kill -0 "$1" 2>/dev/null
}

# Every thread: one that is in the kernel goes on for a while.
has_stopped() { # PID
	! awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$1"/task/*/stat | grep -qv T
}

# record_until CONDITION ARGUMENTS…: `assay record` with these arguments, until the command or function
# CONDITION succeeds. The recorder is then told to end, and ends its command. Its output is in
# $output. It fails where the recorder ended by itself. RECORD_BY: a command that starts assay.
record_until() {
	local recorder ended=0
	background ${RECORD_BY:+"$RECORD_BY"} assay record "${@:2}" >recorder.out 2>&1
	recorder=$pid
	wait_for so_or_ended "$recorder" "$1" || return
	kill "$recorder" || ended=1 # it has gone already
	wait "$recorder" || ended=$ended$?
	output=$(<recorder.out)
	# 128 + SIGTERM is its command's status.
	[[ $ended = 0 || $ended = 0143 ]] || { echo "$output" >&2; return 1; }
}

# record_samples N SESSION FILTER ARGUMENTS…: the same until the session has N samples that FILTER
# takes; FILTER may be empty.
record_samples() {
	local n=$1 session=$2 filter=$3
	shift 3
	rm -rf "$session" # an earlier recording may have enough
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	enough_samples() { has_samples "$n" "$session" ${filter:+"$filter"}; }
	record_until enough_samples -o "$session" "$@"
}

# For wait_for: the negation of a command.
not() {
	! "$@"
}

within() {
	timeout -k 5 "$DEADLINE" "$@"
}

# Without --foreground, timeout kills itself, too, and the killed command may still be ending. A child of the command
# may hold its lock for a moment.
killed_after() { # MS LOCK COMMAND…
	timeout --foreground -s KILL "0.$(printf %03d "$1")" "${@:3}" || true
	[ ! -e "$2" ] || flock -w "$DEADLINE" "$2" true
}

# bats waits for everything that holds its descriptor 3.
BACKGROUND=()
background() {
	"$@" 3>&- &
	pid=$!
	BACKGROUND+=("$pid")
}

# Also kills the processes that the started commands left.
kill_background() {
	local parent child
	for parent in "${BACKGROUND[@]}"; do
		for child in $(pgrep -P "$parent"); do
			BACKGROUND=("$child")
			kill_background
		done
		{ kill -9 "$parent" && wait "$parent"; } 2>/dev/null || true
	done
	BACKGROUND=()
}

has_comm() { # PID NAME
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}

# Waits until a background job is the program, and no longer the shell that starts it.
is_running() { # PID NAME
	wait_for has_comm "$@"
}

ticks() {
	awk '{ print $14 }' "/proc/$1/stat"
}

has_run() {
	[ "$(ticks "$1")" -ge "$2" ]
}

# share_is N TOTAL SHARE [SLACK]: whether N of TOTAL fits a true share (0 to 1). N may differ from
# TOTAL * SHARE by five standard deviations of a binomial count: a correct program fails by chance
# with a probability of 6 * 10^-7. SLACK (0 to 1, of TOTAL) is a known systematic error, for example
# of a function's own entry code. The tolerance must stay below a quarter of TOTAL: fewer samples
# would prove nothing.
share_is() {
	awk -v n="$1" -v total="$2" -v share="$3" -v slack="${4-0}" 'BEGIN {
		tolerance = 5 * sqrt(total * share * (1 - share)) + slack * total + 1
		difference = n - total * share
		printf "%d of %d is %.4f; expected %.4f +- %.4f\n", n, total, total ? n / total : 0, share, total ? tolerance / total : 1
		if (tolerance > total / 4) {
			print "too few samples to tell"
			exit 1
		}
		exit difference > tolerance || difference < -tolerance
	}' >&2
}

# session_at SESSION PROGRAM PLACE=N…: a session with N samples of cpu-clock in each PLACE of the program. A
# place is a function or a hexadecimal address, with its callers behind it: PLACE,CALLER,…=N. Nothing is
# recorded.
session_at() {
	local session=$1 program places
	program=$(realpath "$2")
	shift 2
	places=$(nm "$program" | awk -v places="$*" '
		{ address[$3] = $1 }
		END {
			n = split(places, place, " ")
			for (i = 1; i <= n; i++) {
				split(place[i], part, "=")
				printf "%d 0", part[2]
				depth = split(part[1], chain, ",")
				for (j = 1; j <= depth; j++)
					printf " %s", chain[j] ~ /^0x/ ? chain[j] : address[chain[j]]
				print ""
			}
		}')
	"$PROGRAMS/make_session" "$session" at "$program" <<<"$places"
}

# The line of tests/programs/inlines.c that is hot, and its first address in work() in a build of that.
hot_line() {
	awk '/line that is hot/ { print NR }' "$ROOT/tests/programs/inlines.c"
}
hot_place() { # PROGRAM
	local start address
	start=$(nm "$1" | awk '$3 == "work" { print $1 }')
	objdump --dwarf=decodedline "$1" | awk -v line="$(hot_line)" '$2 == line && $3 ~ /^0x/ { print $3 }' | sort |
		while read -r address; do
			((address < 0x$start)) || { echo "$address"; break; }
		done
}

# A new folder whose path leaves room for the name of a Unix socket (107 bytes in all). Who makes it
# removes it.
short_folder() {
	local base=${TMPDIR:-/tmp}
	((${#base} < 50)) || base=/tmp
	mktemp -d "$base/assay-test.XXXXXX"
}

need_perf() {
	command -v perf >/dev/null || skip "perf is not installed"
}

# `perf record` with these arguments, or a skip. perf 6.1 now and then crashes at the end of a recording, and
# fails if a sample is lost. Then it runs again. Its thread for BPF programs takes up to a second to end;
# --bpf-event among the arguments has it nevertheless.
perf_record() {
	need_perf
	for _ in 1 2 3 4 5 6; do
		perf record -q -N --no-bpf-event "$@" >perf.log 2>&1 && return 0
	done
	perf_refused
}

# perf says why in the first line behind "Error:"; hints follow.
perf_refused() {
	skip "perf record failed: $(grep -vm1 -e '^Error:$' -e '^ *$' perf.log)"
}

# The same through a pipe into a file: perf_pipe FILE ARGUMENTS…
perf_pipe() {
	local file=$1
	shift
	need_perf
	for _ in 1 2 3 4 5 6; do
		perf record -q -N --no-bpf-event -o - "$@" >"$file" 2>perf.log && return 0
	done
	perf_refused
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# Runs as an ordinary user, in a separate folder where that user may write: `unprivileged assay …`.
unprivileged() {
	if [ "$(id -u)" != 0 ]; then
		"$@"
		return
	fi
	command -v runuser >/dev/null || skip "runuser is not installed"
	if [ ! -d "$NOBODY" ]; then
		mkdir "$NOBODY"
		cp "$ASSAY_BUILD/assay" "$NOBODY"
		! [ -e "$ASSAY_BUILD/libassay-heap.so" ] || cp "$ASSAY_BUILD/libassay-heap.so" "$NOBODY"
		chmod 755 "$NOBODY/assay"
		find "$ASSAY_BUILD" -maxdepth 1 -type l -exec cp -P {} "$NOBODY" \;
		chown nobody "$NOBODY"
	fi
	(cd "$NOBODY" && HOME=$NOBODY runuser -u nobody -- env PATH="$NOBODY:$PATH" "$@")
}

# Sets kernel.perf_event_paranoid until the end of the test; others that set it wait for that.
PARANOID_FILE=/proc/sys/kernel/perf_event_paranoid
set_paranoid() {
	need_root
	exec {PARANOID_LOCK}<"$PARANOID_FILE" || skip "kernel.perf_event_paranoid is not there"
	flock -w "$DEADLINE" "$PARANOID_LOCK"
	PARANOID_BEFORE=$(cat "$PARANOID_FILE")
	[ "$PARANOID_BEFORE" = "$1" ] || echo "$1" 2>/dev/null >"$PARANOID_FILE" ||
		skip "kernel.perf_event_paranoid can't be set here"
}

reset_paranoid() {
	[ -n "${PARANOID_BEFORE-}" ] || return 0
	[ "$(cat "$PARANOID_FILE")" = "$PARANOID_BEFORE" ] || echo "$PARANOID_BEFORE" >"$PARANOID_FILE" || true
	exec {PARANOID_LOCK}<&-
}

# A test file with its own teardown calls end_test in it.
end_test() {
	[[ -n ${BATS_TEST_COMPLETED-} || -z $failed_comparison ]] || echo "the values of the last false comparison: $failed_comparison"
	kill_background
	reset_paranoid
	rm -rf "$NOBODY"
}

teardown() {
	end_test
}

# Milliseconds that interrupts and other virtual machines took, of all CPUs, until now.
stolen_ms() {
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print int(($7 + $8 + $9) * 1000 / hz) }' /proc/stat
}
