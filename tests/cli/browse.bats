#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A session in a terminal that tmux makes.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TMPDIR=$BATS_TEST_TMPDIR
	[ -n "$(command -v tmux)" ] || skip "tmux is not installed"
	assay --version | grep -q 'ncurses.*yes' || skip "built without ncurses"
}

teardown() {
	screen kill-server 2>/dev/null || true
	end_test
}

# The socket's path is relative: a long one would be refused. Each server has its own.
SERVERS=0
TERMINAL=xterm-256color
screen() {
	tmux -S "tmux.$SERVERS" -f /dev/null "$@"
}

# Starts a command in a terminal of COLUMNS x 24.
terminal() { # COLUMNS COMMAND…
	local columns=$1
	shift
	local words=("$@")
	printf '%s\n' 'trap : INT' 'echo before' 'stty -a >stty.before' "TERM=$TERMINAL ${words[*]@Q} 2>error" 'echo "status $?"' \
		'stty -a >stty.after' 'exec sleep 100000' >run.sh
	SERVERS=$((SERVERS + 1))
	screen new-session -d -x "$columns" -y 24 "sh run.sh"
}

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

lacks() {
	wait_for lacks_now "$1" || { cat shown error >&2; return 1; }
}

lacks_now() {
	screen capture-pane -p >shown 2>/dev/null && ! grep -qE -- "$1" shown
}

# Two outermost functions, app and tool.
make_session() {
	cat >folded <<-END
		app;main;work;deep;deeper 50
		app;main;work 20
		app;main;idle_loop 20
		tool;start;other 10
	END
	assay import -q folded -o s
}

@test "lists and trees that open and close, a function with its callers and callees; q leaves the terminal as it was" {
	make_session
	terminal 100 assay browse s
	shows 'assay browse +symbols'
	shows '^100 samples'
	shows '50 +50.00 .* deeper'
	keys T
	shows 'assay browse +tree'
	# The heaviest path is open, other rows are closed.
	shows '^- .* app'
	shows ' deeper$'
	shows '^\+ .* tool'
	lacks ' start$'
	keys Down Down Down Down Down Down
	keys Right
	shows ' start$'
	keys Left
	lacks ' start$'
	keys C
	lacks ' work$'
	keys E
	shows ' deeper$'
	shows ' other$'
	keys I
	shows 'assay browse +inverted'
	keys S Enter
	shows 'assay browse +deeper'
	shows ' deep$'
	keys Escape
	shows 'assay browse +symbols'
	keys '?'
	shows 'compare with another session'
	keys q
	shows '^status 0'
	grep -q '^before' shown
	[[ $(<shown) != *'assay browse'* ]]
	diff stty.before stty.after
}

@test "search opens the rows above the match" {
	make_session
	terminal 100 assay browse -V tree s
	shows 'assay browse +tree'
	keys C
	lacks ' deeper$'
	keys / deeper Enter
	shows ' deeper$'
	keys C
	keys / no_such Enter
	shows 'nothing found'
	lacks ' other$'
	keys / OTHER Enter
	shows ' other$'
	keys / 'x' BSpace 'work' Enter
	shows ' work$'
	keys q
	shows '^status 0'
}

@test "filters narrow, and are undone" {
	make_session
	terminal 100 assay browse s
	shows '^100 samples'
	keys f via:tool Enter
	shows '^10 samples of 100 +only via:tool'
	lacks ' deeper'
	keys f BSpace BSpace BSpace BSpace work Enter
	shows '^70 samples of 100 +only via:work'
	keys u
	shows 'only via:tool'
	keys c
	shows '^100 samples$'
	keys f pid:x Enter
	shows "'x' is not a number"
	keys f comm:nobody Enter
	shows 'comm:nobody'
	keys Escape
	shows '^100 samples$'
	keys q
	shows '^status 0'
	screen kill-server
	terminal 100 assay browse s via:tool
	shows '^10 samples of 100'
	keys q
	shows '^status 0'
}

@test "d compares with another session" {
	make_session
	printf '%s\n' 'app;main;work;deep;deeper 10' 'app;main;work 90' >before
	assay import -q before -o old
	terminal 100 assay browse s
	shows '^100 samples'
	keys d old Enter
	shows 'compared with +old'
	shows 'deeper'
	keys Escape
	shows 'assay browse +symbols'
	keys d absent Enter
	shows "'absent'|absent: No such"
	keys Escape q
	shows '^status 0'
}

@test "the source and the assembly of a function" {
	nm "$PROGRAMS/alternates" | awk '$3 == "tick" { print 100, 0, $1 } $3 == "main" { print 30, 0, $1 }' |
		"$PROGRAMS/make_session" code at "$PROGRAMS/alternates"
	terminal 120 assay browse code
	shows ' tick$'
	keys / tick Enter a
	shows 'assay browse +tick'
	keys PageDown
	shows 'alternates.c|mov|[0-9a-f]+: '
	keys q
	shows '^status 0'
}

@test "a process by Enter" {
	"$PROGRAMS/make_session" s plain 100
	terminal 100 assay browse -V processes s
	shows ' worker$'
	keys / worker Enter Enter
	shows ' of 100 +only pid:[0-9]'
	keys u
	shows '^100 samples$'
	keys q
	shows '^status 0'
}

@test "all widths" {
	make_session
	terminal 80 assay browse -V processes s
	shows 'assay browse +processes'
	screen resize-window -x 20 -y 6
	keys T
	shows '^assay browse +tree'
	lacks ' deeper$'
	# Each size is drawn without a key.
	screen resize-window -x 200 -y 50
	shows ' deeper$'
	screen resize-window -x 20 -y 1
	screen resize-window -x 80 -y 24
	shows ' main$'
	keys q
	shows '^status 0'
}

@test "the mouse chooses, opens and shows" {
	make_session
	terminal 100 assay browse -V tree s
	shows '^\+ .* tool'
	row=$(grep -nE '^\+ .* tool' shown | cut -d: -f1)
	click() { # COLUMN ROW
		screen send-keys -l $'\e[<0;'"$1;$2"'M'$'\e[<0;'"$1;$2"'m'
	}
	click 1 "$row"
	shows ' start$'
	click 30 5
	# ncurses 6.6 makes one event of clicks that it reads at once.
	keys '?'
	shows 'compare with another session'
	keys '?'
	shows ' start$'
	click 30 5
	shows 'assay browse +app'
	keys q
	shows '^status 0'
}

@test "without colours, and on a terminal that is not known" {
	make_session
	export NO_COLOR=1
	TERMINAL=vt100
	terminal 100 assay browse s
	shows ' deeper$'
	keys q
	shows '^status 0'
	screen kill-server
	TERMINAL=no-such-terminal
	terminal 100 assay browse s
	shows '^status 1'
	grep -q "the terminal 'no-such-terminal' (TERM) is unknown" error
}

@test "hostile names do not reach the terminal" {
	printf 'a\033[31mb;ma\007in\033]0;title\007;\xc2\x9b2Jend\xe2\x80\xaexyz 10\n' >folded
	assay import -q folded -o s
	terminal 120 assay browse s
	shows 'x1b|x07|u\{'
	while read -r key name; do
		keys "$key"
		shows "assay browse +$name"
	done <<<$'P processes\nT tree\nI inverted\nS symbols'
	keys Enter
	shows 'assay browse +\\u'
	screen capture-pane -p -e >raw
	[ "$(grep -c $'\033\]\|\007\|\xc2\x9b' raw)" = 0 ]
	[ "$(screen display-message -p '#{pane_title}')" != title ]
	keys q
	shows '^status 0'
}

@test "impossible requests are errors, on the unchanged terminal" {
	run assay browse </dev/null
	refused 1 "is not a terminal"
	terminal 100 assay browse absent.assay
	shows '^status [12]'
	screen kill-server
	make_session
	terminal 100 assay browse s pid:x
	shows '^status 2'
	grep -q "'x' is not a number" error
}

@test "a signal, and a terminal that is gone" {
	make_session
	for signal in C-c TERM INT; do
		terminal 100 assay browse s
		shows ' deeper'
		if [ $signal = C-c ]; then
			keys C-c
		else
			kill -$signal "$(pgrep -P "$(screen display-message -p '#{pane_pid}')" assay)"
		fi
		shows '^status 0'
		[[ $(<shown) != *'assay browse'* ]]
		diff stty.before stty.after
		screen kill-server
	done
	terminal 100 assay browse s
	shows ' deeper'
	shell=$(screen display-message -p '#{pane_pid}')
	pid=$(pgrep -P "$shell" assay)
	screen kill-server
	wait_for has_ended "$pid"
}

# An orphan of a container without a reaper stays as a zombie.
has_ended() { # PID
	[ ! -e "/proc/$1/status" ] || grep -q '^State:.*Z' "/proc/$1/status"
}

@test "assay report on a terminal ends with a line that names assay browse" {
	make_session
	terminal 100 assay report -i s --no-pager
	shows 'assay browse'
	assay report -i s >out
	[ "$(grep -c browse out)" = 0 ]
}

@test "threads, images, events and times are lists, and Enter narrows to a row" {
	need_recording
	cp "$PROGRAMS/threads" worker
	record_samples 60 s comm:busy -F "$(at_most 999)" -e cpu-clock,page-faults -- ./worker 100000s
	terminal 100 assay browse s
	shows 'assay browse +symbols'
	keys R
	shows 'assay browse +threads'
	shows ' busy \([0-9]+\)'
	shows ' lazy \([0-9]+\)'
	keys Enter
	shows 'only tid:[0-9]+'
	shows 'assay browse +symbols'
	shows 'busy_work'
	lacks 'lazy_work'
	# Another thread takes the place of the first.
	keys R
	shows 'assay browse +threads'
	keys c
	lacks ' only '
	keys M
	shows 'assay browse +images'
	shows '\[kernel\]|worker'
	keys Escape
	keys V
	shows 'assay browse +events'
	shows 'page-faults'
	keys / page Enter Enter
	shows 'only event:page-faults'
	keys u
	lacks ' only '
	keys W
	shows 'assay browse +times'
	shows '^ +0[.0-9]+ s +[0-9]+ .*#'
	keys Enter
	shows 'only time:[0-9]+ms-[0-9]+ms'
	# A second time replaces the first.
	keys W
	shows 'assay browse +times'
	keys Down Enter
	shows 'only time:[0-9]+ms-[0-9]+ms$'
	keys q
	shows '^status 0'
}

@test "the list of times has the samples of functions that filters take" {
	need_recording
	command -v cc >/dev/null || skip "there is no C compiler"
	cp "$ROOT/examples/tutorial/shop.c" shop.c
	cc -O2 -g -DVERSION=2 -o shop shop.c
	record_samples 50 s symbol:find_customer -F "$(at_most 999)" -- ./shop
	terminal 100 assay browse s symbol:find_customer
	keys W
	shows 'assay browse +times'
	shows '^ *[0-9.]+ s +[0-9]+ +[0-9]+'
	keys q
	shows '^status 0'
}

@test "source files are found by --search-dir" {
	need_recording
	command -v cc >/dev/null || skip "there is no C compiler"
	mkdir there
	cp "$ROOT/examples/tutorial/shop.c" shop.c
	cc -O2 -g -DVERSION=2 -o shop shop.c
	record_samples 50 s symbol:find_customer -F "$(at_most 999)" -- ./shop
	mv shop.c there/
	terminal 100 assay browse --search-dir there s
	shows 'assay browse +symbols'
	keys / find_customer Enter Enter
	shows 'assay browse +find_customer'
	shows 'hash_name\(name\)'
	keys q
	shows '^status 0'
}

@test "a damaged recording has a mark, and the exit status says so" {
	perf record -q -e cpu-clock -o p.data -- "$PROGRAMS/split" >perf.log 2>&1 || skip "perf can't record here"
	truncate -s -300 p.data
	terminal 100 assay browse p.data
	shows ', damaged'
	keys q
	shows '^status 1'
}

@test "steps of a short time late in a long session are few" {
	for at in 1 5000001; do
		printf 'app 1/1 [000] %s.000000: 1000000 cpu-clock:\n\t1010 main+0x10 (/bin/app)\n\n' "$at"
	done >run.txt
	terminal 100 assay browse run.txt time:4999999s-
	shows '^1 samples? of 2'
	keys W
	shows '^ *500000[0-9.]+ s +1 +100.00'
	keys q
	shows '^status 0'
}

@test "Ctrl-Z gives the terminal back, and fg shows the screen again" {
	make_session
	printf '%s\n' 'set -m' 'stty -a >stty.before' 'TERM=xterm-256color assay browse s' 'stty -a >stty.stopped' 'echo is stopped' \
		'until [ -e go ]; do sleep 0.1; done' fg 'echo "status $?"' 'stty -a >stty.after' 'exec sleep 100000' >run.sh
	SERVERS=1
	screen new-session -d -x 100 -y 24 'bash run.sh'
	shows ' deeper$'
	keys C-z
	shows '^is stopped'
	[[ $(<shown) != *'assay browse'* ]]
	diff stty.before stty.stopped
	touch go
	shows 'assay browse +symbols'
	shows ' deeper$'
	keys T
	shows 'assay browse +tree'
	keys q
	shows '^status 0'
	diff stty.before stty.after
}

@test "a long load shows its time; Esc stops it, and q leaves" {
	make_session
	mkfifo slow
	terminal 100 assay browse s
	shows ' deeper$'
	keys d slow Enter
	shows 'making this page: [0-9.]+ s +\(Esc stops it, q leaves\)'
	keys Escape
	shows 'it stops soon'
	cat folded >slow
	shows 'This page was stopped'
	keys Escape s slow Enter
	shows 'opening: [0-9.]+ s'
	keys T Escape
	shows 'it stops soon'
	cat folded >slow
	# A key that came meanwhile is not lost.
	shows 'assay browse +tree +s$'
	keys d slow Enter
	shows 'making this page'
	keys q
	shows '^status 0'
	diff stty.before stty.after
	screen kill-server
	# Text that is typed ahead may have a q, and Esc leaves its line. A q that is no text leaves, and no folder stays.
	terminal 100 assay browse s
	shows ' deeper$'
	keys d slow Enter
	shows 'making this page'
	keys Escape f via:q Escape / quick Enter f via:deep
	sleep 0.5
	cat folded >slow
	shows ': via:deep_$'
	keys Enter
	shows 'only via:deep'
	keys d slow Enter
	shows 'making this page'
	keys q
	shows '^status 0'
	wait_for no_folder
	screen kill-server
	# Before the screen is open, and removed at the end.
	# shellcheck disable=SC2016
	terminal 100 sh -c 'assay browse -i slow 2>&1; exit $?'
	shows 'opening: [0-9.]+ s'
	keys C-c
	shows 'status 130'
	no_folder
}

no_folder() {
	[ -z "$(find . -name 'assay.*' -type d)" ]
}

is_chosen() { # REGEX
	screen capture-pane -p -e | grep -q $'\e\\[[0-9;]*7m.*'"$1"
}

@test "perf's keys: space, s, L, H and t" {
	make_session
	awk 'BEGIN { for (i = 0; i < 60; i++) print "app;f" i, 100 - i; print "app;rare 1" }' >many
	assay import -q many -o many.assay
	terminal 100 assay browse many.assay
	shows ' f0$'
	lacks ' f30$'
	lacks ' f21$'
	keys Space Space
	shows ' f30$'
	keys PageUp PageUp PageUp H
	lacks 'total %'
	shows ' f0$'
	keys H L BSpace BSpace BSpace BSpace 2 Enter
	shows ' other \([0-9]+ below 2 %\)'
	lacks ' f58$'
	keys L x Enter
	shows 'a percentage is a number'
	keys s absent Enter
	shows "no session 'absent'"
	shows ' f0$'
	keys f via:deeper Enter
	shows 'no sample matches'
	keys s s Enter
	shows 'assay browse +symbols +s$'
	shows ' deeper$'
	keys t
	shows 'assay browse +threads'
	keys t
	shows 'this row stands for several'
	keys q
	shows '^status 0'
	screen kill-server
	nm "$PROGRAMS/alternates" | awk '$3 == "tick" { print 100, 0, $1 } $3 == "main" { print 30, 0, $1 }' |
		"$PROGRAMS/make_session" code at "$PROGRAMS/alternates"
	terminal 120 assay browse code
	shows ' tick$'
	keys / tick Enter a H
	wait_for is_chosen '76.92.*push'
	shows 'clock_gettime\('
	keys s
	lacks 'clock_gettime\('
	shows 'assay browse +tick'
	keys Escape t
	shows 'assay browse +threads'
	keys t
	shows 'only tid:[0-9]'
	keys q
	shows '^status 0'
}

@test "a locale that is not UTF-8 gets no bytes beyond ASCII, and wide characters keep their columns" {
	printf 'main;caf\303\251\304\233 50\nmain;\346\274\242\345\255\227\346\274\242\345\255\227 50\n' >folded
	assay import -q folded -o s
	terminal 40 env LC_ALL=C script -qfec 'exec assay browse s' typescript
	shows 'caf\?\?$'
	keys q
	shows '^status 0'
	not_ascii() { LC_ALL=C grep -q $'[\x80-\xff]' typescript; }
	not not_ascii
	screen kill-server
	export LC_ALL=C.UTF-8
	terminal 30 assay browse s
	shows '漢字'
	keys Down
	shows 'café'
	screen capture-pane -p | awk 'length($0) > 30 { exit 1 }'
	keys / 漢 Enter
	lacks 'nothing found'
	keys q
	shows '^status 0'
}

@test "d finds names below --symfs, and keeps their indexes in --symbol-cache" {
	mkdir -p "root/$PWD" kept
	cp "$PROGRAMS/alternates" moved
	nm "$PROGRAMS/alternates" | awk '$3 == "tick" { print 100, 0, $1 } $3 == "main" { print 30, 0, $1 }' >places
	"$PROGRAMS/make_session" code at "$PWD/moved" <places
	awk '{ $1 = 200 - $1; print }' places | "$PROGRAMS/make_session" old at "$PWD/moved"
	mv moved "root/$PWD/"
	terminal 120 assay browse --symfs root --symbol-cache kept code
	shows ' tick$'
	rm -rf kept
	keys d old Enter
	shows 'compared with +old'
	shows ' tick'
	[ -n "$(ls kept)" ]
	[ ! -e .cache/assay ]
	keys q
	shows '^status 0'
}
