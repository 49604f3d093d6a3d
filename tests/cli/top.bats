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
	end_test
}

# The socket's path is relative: a long one would be refused. Each server has its own: one that was
# killed may still answer.
SERVERS=0
screen() {
	tmux -S "tmux.$SERVERS" -f /dev/null "$@"
}

# Starts `assay top ARGUMENTS…` in a terminal of COLUMNS x 24; what follows stays on it.
top() { # COLUMNS ARGUMENTS…
	local columns=$1
	shift
	local words=(assay top "$@")
	printf '%s\n' 'trap : INT' 'echo before' 'stty -a >stty.before' "TERM=$TERMINAL ${words[*]@Q} 2>error" 'echo "status $?"' \
		'stty -a >stty.after' 'exec sleep 100000' >run.sh
	SERVERS=$((SERVERS + 1))
	screen new-session -d -x "$columns" -y 24 "sh run.sh"
}

TERMINAL=xterm-256color

keys() {
	screen send-keys "$@"
}

is_shown() {
	screen capture-pane -p >shown 2>/dev/null && grep -qE -- "$1" shown
}

# Waits until the terminal shows a line like that.
shows() {
	wait_for is_shown "$1" || { cat shown error >&2; return 1; }
}

# A program that is busy as long as the test: no time limit ends it first.
BUSY_LOOP='while :; do :; done'

@test "a command: processes, functions, tree; q leaves the terminal as it was" {
	local rounds=1000000000$$ # no other process has such an argument
	top 100 --command-output=/dev/null -- "$PROGRAMS/split" "$rounds"
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
	run pgrep -f "split $rounds"
	[ "$status" = 1 ]
	[ -z "$(ls tmp)" ]
}

@test "filter, pause, one process, more seconds" {
	top 100 -w 2 -- sh -c "$BUSY_LOOP"
	shows '^ *[0-9]+ +[0-9.]+ .* sh$'
	shows ' user, '
	keys / 'comm:nobody' Enter
	shows 'nothing ran, or nothing that the filter takes'
	[[ $(<shown) != *' user, '* ]] # no shares of nothing
	keys / BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace Enter
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
	shows '^2 s: '
	keys + +
	shows '^4 s: '
	keys q
	shows '^status 0'
}

@test "threads and images are lists, and Enter shows the functions of a row" {
	top 100 -V threads -- "$PROGRAMS/threads" 100000s
	shows 'assay top +threads'
	shows '[0-9.]+ .* busy'
	shows '[0-9.]+ .* lazy'
	keys / x BSpace Escape
	keys Space # the rows stay where they are
	shows '^PAUSED'
	keys Home Enter
	shows 'only tid:[0-9]+'
	shows 'assay top +symbols'
	# A function has no such filter: its image has others, too.
	keys Down Enter
	# Another image takes the place of the first, and the thread stays.
	keys M
	shows 'assay top +images'
	run ! grep -q lib-image: shown
	shows 'threads|\[kernel\]'
	keys Home Enter
	shows 'only tid:[0-9]+ lib-image:[^ ]+ *$'
	keys M
	shows 'assay top +images'
	keys Home Enter
	shows 'only tid:[0-9]+ lib-image:[^ ]+ *$'
	keys R c
	shows 'assay top +threads'
	lacks_filter() { screen capture-pane -p >shown && ! grep -q ' only ' shown; }
	wait_for lacks_filter
	screen resize-window -x 30 -y 10
	shows '% +thread'
	keys q
	shows '^status 0'
}

@test "a terminal 20 columns wide, and one that changes its size" {
	top 20 -- sh -c "$BUSY_LOOP"
	shows '^ *[0-9]+ +[0-9]+ sh$'
	keys S
	shows '% +symbol'
	screen resize-window -x 90 -y 10
	shows 'samples +% +total +total % +image +symbol'
	screen resize-window -x 20 -y 3
	keys T
	shows '^assay top  tree'
	screen resize-window -x 20 -y 1
	keys S
	shows '^assay top  symbols'
	screen resize-window -x 60 -y 24
	shows '^ *% +total|^samples'
	keys q
	shows '^status 0'
}

@test "a running process; its end is shown" {
	background sh -c "$BUSY_LOOP"
	top 100 -p "$pid" -V symbols
	shows '^[0-9]+ s: [1-9][0-9]* samples'
	kill "$pid"
	shows 'the watched processes have ended'
	keys q
	shows '^status 0'
}

@test "a command of one word; its end is shown" {
	top 100 -- true
	shows 'the command has ended'
	keys q
	shows '^status 0'
}

@test "the whole machine" {
	run assay record -q -a --duration 0.2 -o all.assay
	[ "$status" = 0 ] || skip "the whole machine is not permitted here: $output"
	background sh -c "$BUSY_LOOP"
	top 100 -a
	shows ' idle'
	# Others may use more of the CPU.
	keys / "pid:$pid" Enter
	shows "^ *$pid .* sh"
	keys C-c
	shows '^status 0'
	diff stty.before stty.after
}

@test "a terminal that is gone ends the recorder and the command" {
	local rounds=1000000001$$
	top 100 -- "$PROGRAMS/split" "$rounds"
	shows ' split'
	screen kill-server
	wait_for not pgrep -f "split $rounds|$BATS_TEST_TMPDIR/tmp"
}

@test "impossible requests are errors, on the unchanged terminal" {
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
	grep -q "the terminal 'no-such-terminal' (TERM) is unknown" error
}
