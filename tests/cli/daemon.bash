# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What tests of daemons share; load helpers first.
#
#   need_daemon            skips where the whole machine may not be sampled
#   start_daemon DIR OPTION…   waits until a daemon collects; it is $daemon, and daemon.log its log
#   run_daemon COMMAND…    the same for a command that becomes a daemon
#   with_users COMMAND…    run_daemon where there are the users assay (54321) and assay-parser (54322)
#   said TEXT              whether daemon.log has it
#   end_daemon             ends it as its user would, and waits for the end
#   work                   a program that is busy until the end of the test; it is $busy
#   works_on               waits until it was busy for half a second
#   is_quiet DIR           whether nothing was counted meanwhile
#   run_private            runs "split" as nobody, from a file $OPEN/private that is nobody's alone; its id in $runs
#   names_function DIR PID whether a report names the functions of "split"
#   parts DIR, has_parts DIR N   the names of its parts; whether there are at least N
#   ask DIR REQUEST…       `assay ctl`, with the patience of the tests

# It is found out once a file.
may_sample() {
	local log=$BATS_FILE_TMPDIR/probe.log
	[ ! -e "$log.ok" ] || return 0
	assay record -a -e cpu-clock --duration 0.05 -o "$BATS_FILE_TMPDIR/probe.assay" >"$log" 2>&1 || return 1
	: >"$log.ok"
}

need_daemon() {
	need_root
	may_sample || skip "the whole machine may not be sampled here: $(tail -1 "$BATS_FILE_TMPDIR/probe.log")"
}

said() {
	grep -q -e "$1" daemon.log
}

collects_or_ended() {
	said collecting || ! kill -0 "$daemon" 2>/dev/null
}

run_daemon() {
	: >daemon.log
	background "$@" 2>daemon.log
	daemon=$pid
	wait_for collects_or_ended
	said collecting || { cat daemon.log >&2; return 1; }
}

start_daemon() {
	local dir=$1
	shift
	run_daemon assay daemon --session-dir "$dir" "$@"
}

# Only this process and its children see the users.
with_users() {
	local file
	unshare -m true 2>/dev/null || skip "no mount here"
	for file in passwd group; do
		grep -v '^assay' "/etc/$file" >"users.$file"
	done
	echo "assay:x:54321:54321::/var/lib/assay:/usr/sbin/nologin" >>users.passwd
	echo "assay-parser:x:54322:54322::/:/usr/sbin/nologin" >>users.passwd
	printf 'assay:x:54321:\nassay-parser:x:54322:\n' >>users.group
	run_daemon unshare -m sh -c '
		mount --bind users.passwd /etc/passwd && mount --bind users.group /etc/group && exec "$@"' sh "$@"
}

is_private() {
	[ "$(cat "/proc/$1/comm")" = private ]
}

# The test's teardown removes the folder.
run_private() {
	OPEN=$(mktemp -d)
	cp "$PROGRAMS/split" "$OPEN/private"
	chown -R nobody "$OPEN"
	chmod 700 "$OPEN" "$OPEN/private"
	background setpriv --reuid=nobody --regid=nogroup --clear-groups "$OPEN/private" 1000s
	runs=$pid
	wait_for is_private "$runs"
}

names_function() {
	assay ctl --session-dir "$1" dump >/dev/null
	assay report -i "$1" --by symbol,image "pid:$2" >names.txt 2>&1
	# Samples that a busy machine took before it could read the file have no name.
	grep -q forty names.txt
}

parts() {
	ls "$1/samples/current"
}

has_parts() {
	[ "$(parts "$1" | wc -l)" -ge "$2" ]
}

end_daemon() {
	kill "$daemon"
	wait "$daemon"
	daemon=
}

work() {
	background "$PROGRAMS/split" 100000s >/dev/null
	busy=$pid
}

works_on() {
	wait_for has_run "$busy" $(($(ticks "$busy") + 50))
}

# Whether no sample came while there was work. A few that waited for an unwind table come late.
is_quiet() { # DIR
	local before
	before=$(status_of "$1" .samples)
	works_on
	[ "$(status_of "$1" .samples)" = "$before" ]
}

ask() {
	assay ctl --session-dir "$1" --timeout "$DEADLINE" "${@:2}"
}

status_of() { # DIR JQ
	ask "$1" --format json status | jq -r "$2"
}

# Samples that a report of the directory has, and those that daemon.log says at the end.
total_of() { # DIR OPTION…
	assay report --session-dir "$@" --format json 2>/dev/null | jq .header.samples.stored
}

counted_in_all() {
	sed -n 's/.*statistics: [0-9]* s: \([0-9]*\) samples.*/\1/p' daemon.log | tail -1
}

# A detached daemon is no child of the test, and holds the lock of its directory.
kill_daemon_of() { # DIR
	[[ ! -s $1/lock ]] || flock -n "$1/lock" true || kill -9 "$(cat "$1/lock")"
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log 2>/dev/null || true
	end_test
}
