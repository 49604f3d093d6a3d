#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running daemon is asked: one for the whole file, at DIR.
load helpers
load daemon

setup_file() {
	export BATS_NO_PARALLELIZE_WITHIN_FILE=true DIR=$BATS_FILE_TMPDIR/d DAEMON='' WORK=''
	cd "$BATS_FILE_TMPDIR" || return 1
	[ "$(id -u)" = 0 ] && may_sample || return 0
	start_daemon "$DIR" -e cpu-clock -F "$(at_most 997)" --max-cpu 0 --max-memory 0 --metrics-listen 0
	work
	DAEMON=$daemon WORK=$busy
}

teardown_file() {
	kill_background
}

# Where the machine may be sampled, a daemon that is gone is a failure.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_daemon
	busy=$WORK
	ln -s "$BATS_FILE_TMPDIR/daemon.log" .
	kill -0 "$DAEMON"
}

ctl() {
	ask "$DIR" "$@"
}

status() {
	status_of "$DIR" "$1"
}

# Whether the log, from its line $1 on, has the text.
logged() {
	tail -n "+$1" daemon.log | grep -q -e "$2"
}

log_lines() {
	echo $(($(wc -l <daemon.log) + 1))
}

# Samples of split in a history; sampling goes on meanwhile.
samples_of_split() {
	assay report -i "$DIR/samples/$1" --by app --format csv 2>/dev/null |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			/split/ { n = $at["samples"]; exit }
			END { print n + 0 }'
}

# Whether a dump shows more of split than so many samples.
dump_shows_more() {
	ctl dump
	[ "$(samples_of_split current)" -gt "$1" ]
}

has_counted_more() {
	[ "$(status .samples)" -gt "$1" ]
}

@test "status has the daemon's start, rate and cost" {
	run ctl status
	refused 0 "process $DAEMON, since 20" "counting" "$DIR" "cpu-clock at $(at_most 997) Hz on each CPU" " lost, " \
		"% of a CPU" "B, current samples since 20" "kept for 28.0 days"
	[ "$(status .pid)" = "$DAEMON" ]
	[ "$(status '.events[0]')" = cpu-clock ]
	# it was started without any
	[ "$(ctl --format json features | jq -c .features)" = '[]' ]
}

@test "without --session-dir the only daemon is asked" {
	[ ! -e /var/lib/assay/control ] || skip "this machine has a daemon of its own"
	# another test's daemon may run, too: then a message names it
	run assay ctl status
	[[ "$output" == *"$DIR"* ]]
}

@test "samples from before a dump are visible after it" {
	wait_for dump_shows_more 0
	[ "$(status '.cpu_samples | add')" -gt 0 ]
	before=$(samples_of_split current)
	# the second that is not over yet is there, too: nothing is waited for
	works_on
	ctl dump
	[ "$(samples_of_split current)" -gt "$before" ]
}

storm() {
	while "$PROGRAMS/forks" 500; do :; done
}

# Which processes run is read from the rings between the steps of a switch.
@test "parts are switched again and again under a storm of processes, and no record is lost" {
	local lost i
	lost=$(status '.notes["ring-records"] // 0')
	background storm >/dev/null
	for i in {1..50}; do
		ctl save "storm$i"
	done
	ctl dump # which reads what is in the rings
	[ "$(status '.notes["ring-records"] // 0')" = "$lost" ]
	[ "$(find "$DIR/samples" -mindepth 1 -maxdepth 1 -name 'storm*' | wc -l)" = 50 ]
	rm -r "$DIR"/samples/storm*
}

@test "save keeps the samples under a name, once, and reset forgets the current ones" {
	from=$(log_lines)
	wait_for dump_shows_more 0
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
	wait_for logged "$from" "control: process [0-9]* of user $(id -u): {\"request\":\"save\",\"name\":\"before\"}$"
	wait_for logged "$from" '"name":"before"}: .*already'
	ctl reset
	[ "$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
	[ "$(samples_of_split before)" -gt 0 ]
}

@test "while somebody merges the history by hand, nothing else is moved or removed in it" {
	ctl dump
	before=$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 -name '2*')
	exec 9<"$DIR/samples/current"
	flock 9
	run ctl reset
	refused 1 "another process works on it"
	run ctl save meanwhile
	refused 1 "another process works on it"
	[ ! -e "$DIR/samples/meanwhile" ]
	flock -u 9
	[ "$(find "$DIR/samples/current" -mindepth 1 -maxdepth 1 -name '2*')" = "$before" ]
	ctl save meanwhile
	rm -r "$DIR/samples/meanwhile"
}

@test "stop and start pause the counting, not the daemon" {
	wait_for dump_shows_more 0
	ctl stop
	[ "$(status .counting)" = false ]
	wait_for is_quiet "$DIR"
	n=$(status .samples)
	ctl start
	[ "$(status .counting)" = true ]
	wait_for has_counted_more "$n"
}

@test "set changes rate and events, and refuses impossible values" {
	ctl set rate="$(at_most 499)"
	[ "$(status .rate_hz)" = "$(at_most 499)" ]
	run ctl set rate=999999999
	refused 1 "999999999 Hz"
	run ctl set events=no-such-event
	refused 1 "no-such-event"
	ctl set events=task-clock rate="$(at_most 997)"
	[ "$(status '.events | join(" ")')" = task-clock ]
	ctl set events=cpu-clock
	[ "$(status '.events | join(" ")')" = cpu-clock ]
	[ "$(status .rate_hz)" = "$(at_most 997)" ]
}

@test "metrics come by the socket and by HTTP, and Prometheus's reader takes them" {
	url=$(grep -o 'http://127.0.0.1:[0-9]*/metrics' daemon.log)
	wait_for has_counted_more 0
	no_proxy='*' python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())' "$url" >http
	ctl metrics >socket
	[ "$(grep '^#' http)" = "$(grep '^#' socket)" ]
	[ "$(awk '$1 == "assay_samples_total" { print $2 }' http)" -gt 0 ]
	/usr/bin/python3 -c 'import prometheus_client.parser' 2>/dev/null ||
		skip "python3-prometheus-client is not installed"
	/usr/bin/python3 -c 'import sys
from prometheus_client.parser import text_string_to_metric_families as read
assert len(list(read(sys.stdin.read()))) > 20' <http
}

@test "1,000 HTTP connections that say nothing keep nobody out" {
	url=$(grep -o 'http://127.0.0.1:[0-9]*/metrics' daemon.log)
	[ -n "$url" ] || skip "this build has no HTTP"
	within python3 - "$url" "$DEADLINE" <<-'END'
		import socket, sys, urllib.parse, urllib.request
		place = urllib.parse.urlparse(sys.argv[1])
		idle = []
		for _ in range(1000):
		    idle.append(socket.create_connection((place.hostname, place.port), int(sys.argv[2])))
		    idle[-1].setblocking(False)
		page = urllib.request.urlopen(sys.argv[1], timeout=int(sys.argv[2])).read()
		assert page.count(b"\n") > 20
	END
	[ "$(status .counting)" = true ]
}

@test "many HTTP connections of one machine leave those of others alone" {
	url=$(grep -o 'http://127.0.0.1:[0-9]*/metrics' daemon.log)
	[ -n "$url" ] || skip "this build has no HTTP"
	within python3 - "$url" "$DEADLINE" <<-'END'
		import http.client, sys, time, urllib.parse
		place, patience = urllib.parse.urlparse(sys.argv[1]), int(sys.argv[2])
		def join(source):
		    c = http.client.HTTPConnection(place.hostname, place.port, patience, (source, 0))
		    c.connect()
		    c.auto_open = 0
		    return c
		def is_served(c):
		    c.request("GET", "/metrics")
		    return b"assay_" in c.getresponse().read()
		# The server drops a connection that says nothing for five seconds. On a busy machine, an attempt may take longer, and shows nothing.
		end = time.monotonic() + patience
		while time.monotonic() < end:
		    began = time.monotonic()
		    other = join("127.0.0.2")
		    many = [join("127.0.0.1") for _ in range(200)]
		    # If the last of them is served, the server has accepted all others.
		    assert is_served(many[-1])
		    try:
		        served = is_served(other)
		    except ConnectionError:
		        served = False
		    if served:
		        break
		    assert time.monotonic() - began > 4.5, "the server has dropped the other one"
		else:
		    sys.exit("no attempt took less than five seconds")
	END
}

@test "SIGUSR1 writes statistics to the log" {
	from=$(log_lines)
	kill -USR1 "$DAEMON"
	wait_for logged "$from" 'statistics: [0-9]* s: [0-9]* samples, [0-9]* lost'
	wait_for logged "$from" 'statistics: cpu 0: [0-9]* samples'
}

@test "abuse of the socket harms nobody" {
	within python3 "$ROOT/tests/cli/abuse_socket.py" "$DIR/control" "$DEADLINE"
	[ "$(status .counting)" = true ]
}

@test "an ordinary user may not ask" {
	need_root
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	# a way to the socket past the test's own folders
	place=$(mktemp -d "${TMPDIR:-/tmp}/assay-test-ctl.XXXXXX")
	chmod 755 "$place"
	ln "$DIR/control" "$place/control" || skip "no link can be made there"
	cp "$ASSAY_BUILD/assay" "$place"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$place/assay" ctl --session-dir "$place" status
	rm -rf "$place"
	refused 1 "permission denied"
	[ "$(stat -c %a "$DIR/control")" = 660 ]
}

@test "shutdown ends it, with statistics, and takes the socket away" {
	rm daemon.log # of the other one
	start_daemon d -e cpu-clock
	ask d save before
	ask d shutdown
	wait "$daemon"
	said "the daemon ends"
	said "statistics: .* samples"
	[ ! -e d/control ]
	[ -d d/samples/before ]
	run ask d status
	refused 1 "no daemon runs with the session directory 'd'"
}
