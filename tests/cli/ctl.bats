#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay ctl without a daemon, and with something else in its place.
load helpers

# Listens at d/control, and answers one connection with each argument; "-" holds the connection.
somebody() {
	mkdir -p d && touch d/lock
	rm -f listening
	cat >somebody.py <<-'PYTHON'
		import signal, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind("d/control")
		s.listen()
		open("listening", "w")
		for answer in sys.argv[1:]:
		    c, _ = s.accept()
		    if answer == "-":
		        signal.pause()
		    c.recv(1000)
		    c.sendall(answer.encode())
		    c.close()
	PYTHON
	background python3 somebody.py "$@" >somebody.log 2>&1
	wait_for [ -e listening ]
}

@test "wrong requests are refused" {
	run assay ctl
	refused 2 "no request is named" "assay ctl --help"
	run assay ctl sav
	refused 2 "there is no request 'sav'"
	run assay ctl save
	refused 2 "save: an argument is missing; it takes name=NAME"
	run assay ctl status now
	refused 2 "'now' is no argument"
	run assay ctl set rate=much
	refused 2 "'much' is not a number for rate"
	run assay ctl set 99
	refused 2 "it takes rate=HZ or events=EVENTS"
}

@test "no daemon: how to start one" {
	run assay ctl --session-dir "$PWD/d" status
	refused 1 "no daemon runs with the session directory '$PWD/d'"
	somebody "x"
	kill "$pid"
	wait "$pid" || true
	# its socket is still there
	[ -S d/control ]
	run assay ctl --session-dir "$PWD/d" status
	refused 1 "no daemon runs with the session directory '$PWD/d'"
}

@test "a daemon that does not answer is not waited for" {
	somebody -
	run assay ctl --session-dir d --timeout 50ms status
	refused 1 "the daemon of 'd' (process $pid)" "does not answer within 0.05 s"
}

@test "an answer that is no JSON is an error" {
	somebody "HTTP/1.1 400 Bad Request
"
	run assay ctl --session-dir d status
	refused 1 "the program that answers at 'd/control' is not assay's daemon"
}

@test "a refusal is shown in the daemon's words" {
	somebody '{"ok":false,"error":"there is a history already"}
'
	run assay ctl --session-dir d save x
	refused 1 "assay: ctl: there is a history already"
}

is_refused_in_vain() {
	run assay ctl --session-dir d --timeout 0.5 dump
	refused 1 "assay: ctl: the disk is behind"
}

@test "a temporary refusal is retried for a limited time" {
	again='{"ok":false,"error":"the disk is behind","again":true}
'
	somebody "$again" "$again" '{"ok":true}
'
	run assay ctl --session-dir d --timeout "$DEADLINE" dump
	[ "$status" = 0 ]
	[ "$output" = "" ]
	wait "$pid" # all three answers were fetched
	rm d/control
	answers=()
	for _ in {1..1000}; do answers+=("$again"); done
	somebody "${answers[@]}"
	wait_for is_refused_in_vain
}

@test "an ordinary user learns which group may ask" {
	need_root
	somebody '{"ok":true}
'
	chmod 755 . d
	chmod 660 d/control
	place=$(mktemp -d "${TMPDIR:-/tmp}/assay-test-ctl.XXXXXX")
	ln d/control "$place/control"
	chmod 755 "$place"
	run unprivileged assay ctl --session-dir "$place" status
	rm -rf "$place"
	refused 1 "permission denied: only root may ask this daemon"
}
