#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The live view, in a terminal that tmux makes.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir tmp
	[ -n "$(command -v tmux)" ] || skip "tmux is not installed"
	assay --version | grep -q 'ncurses.*yes' || skip "built without ncurses"
	need_recording
}

teardown() {
	screen kill-server 2>/dev/null || true
	[ -z "$BUSY" ] || kill "$BUSY" 2>/dev/null || true
}

screen() {
	tmux -S "$BATS_TEST_TMPDIR/tmux" -f /dev/null "$@"
}

# Starts `assay top ARGUMENTS…` in a terminal of COLUMNS x 24; what follows stays on it.
top() { # COLUMNS ARGUMENTS…
	local columns=$1
	shift
	printf '%s\n' 'trap : INT' 'echo before' 'stty -a >stty.before' "TERM=$TERMINAL assay top $* 2>error" 'echo "status $?"' \
		'stty -a >stty.after' 'exec sleep 300' >run.sh
	screen new-session -d -x "$columns" -y 24 "sh run.sh"
}

TERMINAL=xterm-256color

keys() {
	screen send-keys "$@"
}

# Waits until the terminal shows a line like that.
shows() {
	for _ in {1..300}; do
		screen capture-pane -p >shown 2>/dev/null || true
		grep -qE -- "$1" shown && return
		sleep 0.1
	done
	echo "not shown: $1" >&2
	cat shown error >&2
	return 1
}

# A program that is busy for as long as the test: no time limit of its own ends it first.
BUSY_LOOP='while :; do :; done'

@test "a command: processes, functions, tree; q leaves the terminal as it was" {
	top 100 --command-output=/dev/null -- "$PROGRAMS/split" 1000000000
	shows 'PID +CPU% +user +sys +irq command'
	shows '^ *[0-9]+ +[0-9.]+ .* split'
	keys S
	shows 'samples .* symbol'
	shows '[0-9.]+ .* forty'
	keys T
	shows '^ *total .* symbol'
	shows 'main'
	keys I
	shows 'assay top +inverted'
	keys h
	shows 'Page Up'
	keys q
	shows '^status 0'
	grep -q '^before' shown
	[[ $(<shown) != *'assay top'* ]]
	diff stty.before stty.after
	# The command is gone, and nothing stays behind.
	run pgrep -f "split 1000000000"
	[ "$status" = 1 ]
	[ -z "$(ls tmp)" ]
}

@test "filter, pause, one process, more seconds" {
	top 100 -- sh -c "'$BUSY_LOOP'"
	shows '^ *[0-9]+ +[0-9.]+ .* sh$'
	keys Enter
	shows 'only pid:[0-9]+'
	shows 'assay top +symbols'
	keys c
	shows 'samples *$'
	keys / 'comm:nobody' Enter
	shows 'nothing ran, or nothing that the filter takes'
	keys / BSpace BSpace BSpace BSpace BSpace BSpace '*' Enter
	shows 'only comm:\*'
	keys / ' pid:x' Enter
	shows "'x' is not a number"
	keys Space
	shows '^PAUSED'
	keys Space
	shows '^[0-9]+ s: '
	keys + + + + +
	shows '^(6|7|8|9|10) s: '
	keys q
	shows '^status 0'
}

@test "a terminal 20 columns wide, and one that changes its size" {
	top 20 -- sh -c "'$BUSY_LOOP'"
	shows '^ *[0-9]+ +[0-9]+ sh$'
	keys S
	shows '% +symbol'
	screen resize-window -x 90 -y 10
	shows 'samples +% +total +total % +image +symbol'
	screen resize-window -x 20 -y 3
	shows '^assay top'
	screen resize-window -x 20 -y 1
	sleep 0.5
	screen resize-window -x 60 -y 24
	shows '^ *% +total|^samples'
	keys q
	shows '^status 0'
}

@test "a process that runs; its end is told" {
	sh -c "$BUSY_LOOP" &
	BUSY=$!
	top 100 -p "$BUSY" -V symbols
	shows '^[0-9]+ s: [1-9][0-9]* samples'
	kill "$BUSY"
	shows 'what was watched has ended'
	keys q
	shows '^status 0'
}

@test "the whole machine" {
	assay record -q -a --duration 0.2 -o all.assay 2>/dev/null || skip "not permitted here"
	sh -c "$BUSY_LOOP" &
	BUSY=$!
	top 100 -a
	shows "^ *$BUSY .* sh"
	shows ' idle'
	keys C-c
	shows '^status 0'
	diff stty.before stty.after
}

@test "a terminal that is gone ends the recorder and the command" {
	top 100 -- "$PROGRAMS/split" 1000000001
	shows ' split'
	screen kill-server
	for _ in {1..100}; do
		pgrep -f "split 1000000001" || break
		sleep 0.1
	done
	run pgrep -f "split 1000000001|$BATS_TEST_TMPDIR/tmp"
	[ "$status" = 1 ]
}

@test "what is not possible is said plainly, on the terminal as it was" {
	run assay top </dev/null
	refused 1 "standard input is not a terminal" "assay record"
	run assay top -f pid:x
	refused 2 "'x' is not a number"
	top 100 -p 999999999
	shows '^status 1'
	grep -q 'assay: top: no process 999999999' error
	screen kill-server
	top 100 -- ./nothing-there
	shows '^status 127'
	grep -q "assay: top: .*'./nothing-there'" error
	screen kill-server
	TERMINAL=no-such-terminal
	top 100 -- sleep 300
	shows '^status 1'
	grep -q "nothing is known of the terminal 'no-such-terminal'" error
}
