#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay ctl without a daemon, and with something else in its place.
load helpers

# Answers one connection with what $1 says, or holds it ("-"), at d/control.
somebody() {
	mkdir -p d && touch d/lock
	timeout 60 python3 - "$1" <<-'PYTHON' >somebody.log 2>&1 &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.bind("d/control")
		s.listen()
		c, _ = s.accept()
		if sys.argv[1] == "-":
		    time.sleep(60)
		c.recv(1000)
		c.sendall(sys.argv[1].encode())
	PYTHON
	SOMEBODY=$!
	for _ in {1..100}; do
		[ ! -S d/control ] || return 0
		sleep 0.1
	done
	return 1
}

teardown() {
	[ -z "${SOMEBODY-}" ] || kill "$SOMEBODY" 2>/dev/null || true
	rm -rf "$NOBODY"
}

@test "what is asked for wrongly is refused" {
	run assay ctl
	refused 2 "what is to be asked?" "assay ctl --help"
	run assay ctl sav
	refused 2 "there is no 'sav'"
	run assay ctl save
	refused 2 "save: an argument is missing; it takes name=NAME"
	run assay ctl status now
	refused 2 "'now' is no argument"
	run assay ctl set rate=much
	refused 2 "'much' is no number for rate"
	run assay ctl set 99
	refused 2 "it takes rate=HZ or events=EVENTS"
}

@test "no daemon: how to start one" {
	run assay ctl --session-dir "$PWD/d" status
	refused 1 "no daemon runs with the session directory '$PWD/d'"
	somebody "x"
	kill "$SOMEBODY"
	wait "$SOMEBODY" || true
	# its socket is still there
	[ -S d/control ]
	run assay ctl --session-dir "$PWD/d" status
	refused 1 "no daemon runs with the session directory '$PWD/d'"
}

@test "a daemon that does not answer is not waited for" {
	somebody -
	run assay ctl --session-dir d --timeout 50ms status
	refused 1 "the daemon of 'd' (process $(pgrep -P $SOMEBODY))" "does not answer within 0.05 s"
}

@test "what is no answer is told" {
	somebody "HTTP/1.1 400 Bad Request
"
	run assay ctl --session-dir d status
	refused 1 "what answers at 'd/control' is no daemon of assay's"
}

@test "a refusal is shown in the daemon's words" {
	somebody '{"ok":false,"error":"there is a history already"}
'
	run assay ctl --session-dir d save x
	refused 1 "assay: ctl: there is a history already"
}

@test "an ordinary user is told whose group may ask" {
	need_root
	somebody '{"ok":true}
'
	chmod 755 . d
	chmod 660 d/control
	place=$(mktemp -d /tmp/assay-test-ctl.XXXXXX)
	ln d/control "$place/control"
	chmod 755 "$place"
	run unprivileged assay ctl --session-dir "$place" status
	rm -rf "$place"
	refused 1 "permission denied: only root may ask this daemon"
}
