#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running daemon is asked: one for the whole file, at DIR.
load helpers

setup_file() {
	# helpers.bash sets the rest for each test
	local build=${ASSAY_BUILD:-$BATS_TEST_DIRNAME/../../build}
	export DIR=$BATS_FILE_TMPDIR/d WORK='' DAEMON=''
	"$build/assay" daemon --session-dir "$DIR" -e cpu-clock -F 997 --max-cpu 0 --max-memory 0 --metrics-listen 0 \
		2>"$BATS_FILE_TMPDIR/log" 3>&- &
	DAEMON=$!
	for _ in {1..300}; do
		! grep -q collecting "$BATS_FILE_TMPDIR/log" || break
		kill -0 "$DAEMON" 2>/dev/null || break
		sleep 0.1
	done
	"$build/tests/programs/split" 600s 3>&- &
	WORK=$!
}

teardown_file() {
	kill "$WORK" 2>/dev/null || true
	kill "$DAEMON" 2>/dev/null || true
	wait
}

# Where the machine may be sampled, a daemon that is gone is a failure.
need_daemon() {
	if ! kill -0 "$DAEMON" 2>/dev/null; then
		need_root
		assay record -q -a -e cpu-clock --duration 0.1 -o probe.assay ||
			skip "the whole machine is not to be sampled here"
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	fi
}

ctl() {
	assay ctl --session-dir "$DIR" --timeout 60 "$@"
}

status() {
	ctl --format json status | jq -r "$1"
}

# Waits until the log, from its line $1 on, has the text.
logged() {
	for _ in {1..300}; do
		! tail -n "+$1" "$BATS_FILE_TMPDIR/log" | grep -q -e "$2" || return 0
		sleep 0.1
	done
	cat "$BATS_FILE_TMPDIR/log" >&2
	return 1
}

log_lines() {
	echo $(($(wc -l <"$BATS_FILE_TMPDIR/log") + 1))
}

# Samples of split in a history; sampling goes on meanwhile.
samples_of_split() {
	assay report -i "$DIR/samples/$1" --by app --format csv 2>/dev/null |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } /split/ { print $at["samples"] + 0; exit }'
}

@test "status says what runs since when, at which rate, and what it costs" {
	need_daemon
	run ctl status
	refused 0 "process $DAEMON, since 20" "counting" "$DIR" "cpu-clock at 997 Hz on each CPU" " lost, " \
		"% of a CPU" "B, current samples since 20" "kept for 28.0 days"
	[ "$(status .pid)" = "$DAEMON" ]
	[ "$(status '.events[0]')" = cpu-clock ]
	# it was started without any
	[ "$(ctl --format json features | jq -c .features)" = '[]' ]
}

@test "without --session-dir the only daemon is asked" {
	need_daemon
	[ ! -e /var/lib/assay/control ] || skip "this machine has a daemon of its own"
	# another test's may run, too: then it is told
	run assay ctl status
	[[ "$output" == *"$DIR"* ]]
}

@test "what was sampled before a dump is seen after it" {
	need_daemon
	sleep 1
	ctl dump
	[ "$(status '.cpu_samples | add')" -gt 0 ]
	before=$(samples_of_split current)
	[ "$before" -gt 0 ]
	# the second that is not over yet is there, too: nothing is waited for
	sleep 0.3
	ctl dump
	[ "$(samples_of_split current)" -gt "$before" ]
}

# Which processes run is read from the rings between the steps of a switch.
@test "parts are switched again and again under a storm of processes, and no record is lost" {
	need_daemon
	local lost storm i
	lost=$(status '.notes["ring-records"] // 0')
	(while "$PROGRAMS/forks" 500; do sleep 0.1; done) >/dev/null 3>&- &
	storm=$!
	for i in {1..50}; do
		ctl save "storm$i"
	done
	kill $storm
	wait $storm || true
	sleep 1.5
	[ "$(status '.notes["ring-records"] // 0')" = "$lost" ]
	[ "$(find "$DIR/samples" -mindepth 1 -maxdepth 1 -name 'storm*' | wc -l)" = 50 ]
	rm -r "$DIR"/samples/storm*
}

@test "save keeps the samples under a name, once, and reset forgets the current ones" {
	need_daemon
	from=$(log_lines)
	ctl dump
	ctl save before
	[ "$(samples_of_split before)" -gt 0 ]
	run ctl list
	refused 0 "current" "before"
	run ctl save before
	refused 1 "'before'" already
	for name in ../x a/b .hidden current; do
		run ctl save "$name"
		refused 1 "'$name'"
	done
	logged "$from" "control: process [0-9]* of user $(id -u): {\"request\":\"save\",\"name\":\"before\"}$"
	logged "$from" '"name":"before"}: .*already'
	ctl reset
	[ "$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
	[ "$(samples_of_split before)" -gt 0 ]
}

@test "while somebody merges the history by hand, nothing else is moved or removed in it" {
	need_daemon
	ctl dump
	before=$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 -name '2*')
	exec 9<"$DIR/samples/current"
	flock 9
	run ctl reset
	refused 1 "another process is merging it"
	run ctl save meanwhile
	refused 1 "another process is merging it"
	[ ! -e "$DIR/samples/meanwhile" ]
	flock -u 9
	[ "$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 -name '2*')" = "$before" ]
	ctl save meanwhile
	rm -r "$DIR/samples/meanwhile"
}

@test "stop and start pause the counting, not the daemon" {
	need_daemon
	ctl stop
	[ "$(status .counting)" = false ]
	n=$(status .samples)
	sleep 0.5
	[ "$(status .samples)" = "$n" ]
	ctl start
	[ "$(status .counting)" = true ]
	for _ in {1..100}; do
		[ "$(status .samples)" = "$n" ] || break
		sleep 0.1
	done
	[ "$(status .samples)" -gt "$n" ]
}

@test "set changes rate and events, and refuses what can't be" {
	need_daemon
	ctl set rate=499
	[ "$(status .rate_hz)" = 499 ]
	run ctl set rate=999999999
	refused 1 "999999999 Hz"
	run ctl set events=no-such-event
	refused 1 "no-such-event"
	ctl set events=task-clock rate=997
	[ "$(status '.events | join(" ")')" = task-clock ]
	ctl set events=cpu-clock
	[ "$(status '.events | join(" ")')" = cpu-clock ]
	[ "$(status .rate_hz)" = 997 ]
}

@test "metrics come by the socket and by HTTP, and Prometheus's reader takes them" {
	need_daemon
	url=$(grep -o 'http://127.0.0.1:[0-9]*/metrics' "$BATS_FILE_TMPDIR/log")
	python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())' "$url" >http
	ctl metrics >socket
	[ "$(grep '^#' http)" = "$(grep '^#' socket)" ]
	[ "$(awk '$1 == "assay_samples_total" { print $2 }' http)" -gt 0 ]
	/usr/bin/python3 -c 'import prometheus_client.parser' 2>/dev/null ||
		skip "python3-prometheus-client is not installed"
	/usr/bin/python3 -c 'import sys
from prometheus_client.parser import text_string_to_metric_families as read
assert len(list(read(sys.stdin.read()))) > 20' <http
}

@test "SIGUSR1 writes statistics to the log" {
	need_daemon
	from=$(log_lines)
	kill -USR1 "$DAEMON"
	logged "$from" 'statistics: [0-9]* s: [0-9]* samples, [0-9]* lost'
	logged "$from" 'statistics: cpu 0: [0-9]* samples'
}

@test "abuse of the socket harms nobody" {
	need_daemon
	timeout 300 python3 "$ROOT/tests/cli/abuse_socket.py" "$DIR/control"
	[ "$(status .counting)" = true ]
}

@test "an ordinary user may not ask" {
	need_daemon
	need_root
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	# a way to the socket past the test's own folders
	place=$(mktemp -d /tmp/assay-test-ctl.XXXXXX)
	chmod 755 "$place"
	ln "$DIR/control" "$place/control" || skip "no link can be made there"
	cp "$ASSAY_BUILD/assay" "$place"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$place/assay" ctl --session-dir "$place" status
	rm -rf "$place"
	refused 1 "permission denied"
	[ "$(stat -c %a "$DIR/control")" = 660 ]
}

@test "shutdown ends it, with statistics, and takes the socket away" {
	need_daemon
	from=$(log_lines)
	ctl shutdown
	logged "$from" "the daemon ends"
	logged "$from" "statistics: .* samples"
	[ ! -e "$DIR/control" ]
	[ -d "$DIR/samples/before" ]
	run assay ctl --session-dir "$DIR" status
	refused 1 "no daemon runs with the session directory '$DIR'"
}
