#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# opcontrol: the whole machine in the background, until it is stopped.
load helpers
load daemon

control() {
	opcontrol --session-dir="$PWD/session" "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	run control --status
	[[ "$output" != *"a character that is not allowed"* ]] || skip "needs a TMPDIR whose path opcontrol takes: letters, digits and a few signs"
}

teardown() {
	[ ! -e session/control ] || control --shutdown
	end_test
	kill_daemon_of session
}

# Samples of a program in the session.
samples_of() {
	opreport --session-dir=session -n "${@:2}" 2>/dev/null | awk -v name="$1" '$3 == name { print $1; exit }'
}

# Whether opreport, after a dump, has more samples of split than $1.
has_more() {
	control --dump
	n=$(samples_of split)
	[ "${n:-0}" -gt "$1" ]
}

@test "start, dump, save, go on, shut down" {
	need_daemon
	run control --setup --event=cpu-clock:1000000 --separate=library
	[ "$status" = 0 ]
	grep -qx 'CHOSEN_EVENTS=cpu-clock:1000000' .oprofile/daemonrc
	control --start 3>&-
	work
	run control --status
	[[ "$output" == "Daemon running: pid $(cat session/lock)"* ]]
	refused 0 "Session-dir: $PWD/session" "Event 0: cpu-clock" "Separate options: library" \
		"Call-graph depth: 0" "Samples: " "Samples lost: "
	wait_for has_more 0
	before=$n
	wait_for has_more "$before"
	assay info session | grep 'cpu-clock every 1000000:'
	control --save=first
	[ "$(samples_of split session:first)" -gt "$before" ]
	run control --save=first
	refused 1 "'first' already"
	wait_for has_more 0
	control --reset
	[ -d session/samples/first ]
	control --shutdown
	flock -n session/lock true # nobody holds it
	[ ! -e session/control ]
	[[ "$(control --status)" == "Daemon not running"* ]]
	# without a daemon, too
	run control --save=first
	refused 1 "first"
	control --save=second
	[ ! -e session/samples/current ]
	[ -d session/samples/second ]
	run control --dump
	refused 1 "nothing to dump"
}

# The samples of split that the original opreport, or ours without it, counts in the files.
files_of_split() { # ARGUMENTS…
	local program=${ASSAY_OPROFILE:-/usr}/bin/opreport
	{ [ -x "$program" ] && ! "$program" --version | grep -q assay; } || program=opreport
	"$program" --session-dir=session -n "$@" 2>/dev/null | awk '$3 == "split" { print $1; exit }'
}

has_more_in_files() {
	control --dump
	n=$(files_of_split)
	[ "${n:-0}" -gt "$1" ]
}

@test "--store=oprofile keeps sample files, which opreport reads while the daemon runs" {
	need_daemon
	control --start --store=oprofile --event=cpu-clock:1000000 --separate=library --callgraph=10 3>&-
	grep -qx 'STORE=oprofile' .oprofile/daemonrc
	work
	wait_for has_more_in_files 0
	[ -e "$(find session/samples/current -name 'cpu-clock.1000000.0.all.all.all' | head -1)" ]
	before=$n
	wait_for has_more_in_files "$before"
	# saved samples stay, and counting goes on from nothing
	control --save=first
	[ "$(files_of_split session:first)" -gt "$before" ]
	run control --save=first
	refused 1 "'first' already"
	wait_for has_more_in_files 0
	# so it does where somebody removes them, and after a reset
	mv session/samples/current gone
	wait_for has_more_in_files 0
	control --reset
	wait_for has_more_in_files 0
	[ "$(ls session/samples)" = $'current\nfirst' ]
	# the next daemon adds to what is there
	control --shutdown
	before=$(files_of_split)
	total=$(total_of session)
	control --start 3>&-
	wait_for has_more_in_files "$before"
	[ "$(total_of session)" -gt "$total" ]
	control --shutdown
	# of the other kind there is another session
	run control --start --store=native 3>&-
	refused 0 "the sample files that were there are session:previous now"
	control --shutdown
	run control --start --store=oprofile 3>&-
	refused 0 "the history that was there is session:previous-2 now"
	control --shutdown
	run control --setup --store=other
	refused 1 "'other' is neither native nor oprofile"
}

@test "every sample that a daemon of sample files took is in them, or counted as lost" {
	need_daemon
	control --start --store=oprofile --event=cpu-clock:1000000 --separate=none 3>&-
	work
	wait_for has_more_in_files 0
	control --stop
	control --dump
	[ "$(total_of session)" = "$(status_of session .samples)" ]
	[ "$(total_of session)" -gt 0 ]
	[ "$(opreport --session-dir=session -n 2>/dev/null | awk '!/^\t/ { n += $1 } END { print n }')" = "$(total_of session)" ]
}

@test "a daemon of sample files does not go on in a history" {
	need_daemon
	control --start --event=cpu-clock:1000000 3>&-
	control --shutdown
	run assay daemon --session-dir session --store=oprofile --config=/dev/null
	refused 1 "has a history, and --store=oprofile can't add to it"
	run assay daemon --session-dir session --store=other --config=/dev/null
	refused 2 "there is no store 'other'"
}

@test "the daemon may run without profiling, which starts and stops" {
	need_daemon
	control --start-daemon --event=cpu-clock:1000000 3>&-
	daemon=$(cat session/lock)
	[[ "$(control --status)" == "Daemon paused: pid $daemon"* ]]
	run control --start-daemon
	refused 0 "running already"
	work
	works_on
	[ "$(control --status | awk '$1 == "Samples:" { print $2 }')" = 0 ]
	control --start
	[[ "$(control --status)" == "Daemon running: pid $daemon"* ]]
	wait_for has_more 0
	control --stop
	[[ "$(control --status)" == "Daemon paused: pid $daemon"* ]]
	# the samples are there, without a dump
	[ "$(samples_of split)" -ge "$n" ]
	run control --event=cpu-clock:2000000 --setup
	refused 0 "hold from the daemon's next start on"
	control --deinit
	flock -n session/lock true # nobody holds it
}

@test "any daemon of the machine can be dumped and looked at, but not ended" {
	need_daemon
	control --start --event=cpu-clock:1000000 3>&-
	rm .oprofile/daemonrc
	[ ! -e /var/lib/oprofile/control ] || skip "this machine has a daemon of its own"
	# another test's may run, too: this is the one below the working directory
	run opcontrol --status
	refused 0 "Session-dir: $PWD/session"
	opcontrol --dump
	opcontrol --shutdown
	kill -0 "$(cat session/lock)"
}

@test "older sample files become a separate session" {
	need_daemon
	assay record -q --store=oprofile -e cpu-clock -o old -- "$PROGRAMS/split" 200 >/dev/null
	mkdir -p session
	mv old/samples session/
	n=$(samples_of split)
	[ "$n" -gt 0 ]
	run control --start --event=cpu-clock:1000000 3>&-
	refused 0 "session:previous"
	control --shutdown
	[ "$(samples_of split session:previous)" = "$n" ]
}

@test "settings hold wherever opcontrol is called, and --verbose takes no word after it" {
	opcontrol --setup --session-dir=there
	mkdir elsewhere
	(cd elsewhere && opcontrol --status) | grep -qx "Session-dir: $PWD/there"
	run control --verbose --s390hwsampbufsize=4 --status
	refused 0 "Daemon not running" "--verbose: there is no such output" "--s390hwsampbufsize: "
	run control -Vall --status
	refused 0 "Daemon not running"
	run opcontrol --version
	refused 0 "oprofile 0.9.9"
}

@test "a daemon that can't start says why" {
	need_daemon
	: >session # where it would have its directory
	run control --start
	refused 1 "the daemon did not start" "session"
	rm session
}

@test "--save makes no session of nothing" {
	mkdir -p session/samples/current/stats
	run control --save=empty
	refused 1 "has no samples"
	[ ! -e session/samples/empty ]
}

@test "the processor's event is the timer where there are no counters; the status has count and rate" {
	need_daemon
	control --setup --event=CPU_CLK_UNHALTED:100000
	control --start 3>&-
	run control --status
	refused 0 "Rate: "
	control --shutdown
	control --setup --event=cpu-clock:1000000
	control --start 3>&-
	run control --status
	refused 0 "Event 0: cpu-clock:1000000"
	control --shutdown
	control --setup --event=default
	control --start 3>&-
	run control --status
	[[ "$output" != *"Rate: 49 "* ]]
	control --shutdown
}

@test "impossible options are errors with status 1" {
	run opcontrol
	refused 1 "no action"
	run control --start --stop
	refused 1 "two actions"
	run control --stop
	refused 1 "profiling is not running"
	run control --dump
	refused 1 "nothing to dump"
	run control --event='a;b' --setup
	refused 1 "a character that is not allowed"
	run control --save=../x
	refused 1 "no name of a session"
	run control --save=x
	refused 1 "no daemon runs"
	run control --init --vmlinux=/boot/vmlinux --buffer-size=100000
	[ "$status" = 0 ]
	[[ "$output" == *"--init: "*"--vmlinux: "*"--buffer-size: "* ]]
	run control --setup --event=no-such-event:100000
	refused 1 "unknown event 'no-such-event'"
	run control --setup --separate=everything
	refused 1 "--separate: 'everything' is none of"
	run control --setup --callgraph=-1
	refused 1 "--callgraph: '-1' is not a depth"
	# And nothing of that is kept.
	run grep -E 'no-such|everything|CALLGRAPH' .oprofile/daemonrc
	[ "$status" != 0 ]
	run opcontrol --list-events
	[ "$status" = 0 ]
	[[ "$output" == *"available events for CPU type"* ]]
}

has_turned_over() {
	[ -e session/samples/earlier/assay.json ]
}

@test "sample files that grow large become session earlier, and the one before goes" {
	need_daemon
	# one folder of a program is larger than two fifths of this
	ASSAY_DAEMON_PACE=upkeep=1,settle=1 assay daemon --session-dir session --store=oprofile --config=/dev/null -e cpu-clock:1000000 --keep-size=64K >daemon.log 2>&1 3>&- &
	wait_for has_turned_over
	first=$(stat -c %i session/samples/earlier)
	is_another() { [ "$(stat -c %i session/samples/earlier 2>/dev/null || echo "$first")" != "$first" ]; }
	wait_for is_another
	[ "$(find session/samples -mindepth 1 -maxdepth 1 -not -name '.*' | wc -l)" -le 2 ]
	grep -q "the samples have reached their size, and are in .*samples/earlier now" daemon.log
	assay ctl --session-dir session list | grep -Eq 'B sample files  earlier$'
	assay report -i session/samples/earlier | grep -q "^event .*cpu-clock"
	run assay ctl --session-dir session save earlier
	refused 1 "is where the daemon moves large samples"
	assay ctl --session-dir session shutdown
	wait
	run assay retain session
	refused 1 "session has sample files, which have no times"
	run assay retain session/samples/earlier
	refused 1 "sample files, which have no times"
}

@test "sample files that grow fast are measured at once, and not when their minute is over" {
	need_daemon
	export ASSAY_DAEMON_PACE=measure=100000,upkeep=100000
	start_daemon session --store=oprofile --config=/dev/null -e cpu-clock:1000000 --keep-size=1M
	# the first measuring is at the start, of a small session
	wait_for has_files_of 1
	[ ! -e session/samples/earlier ]
	for n in $(seq 60); do
		cp "$PROGRAMS/split" "p$n"
	done
	for n in $(seq 60); do
		"./p$n" 0.05cpu >/dev/null
	done
	wait_for has_turned_over
	end_daemon
}

has_files_of() { # N
	[ "$(find session/samples/current -name "cpu-clock*" | wc -l)" -ge "$1" ]
}

@test "without a limit, sample files stay one session" {
	need_daemon
	ASSAY_DAEMON_PACE=upkeep=1,settle=1 assay daemon --session-dir session --store=oprofile --config=/dev/null -e cpu-clock:1000000 --keep-size=0 >daemon.log 2>&1 3>&- &
	has_files() { [ -n "$(find session/samples/current -name "cpu-clock*" | head -1)" ]; }
	wait_for has_files
	has_grown() { [ "$(status_of session .samples)" -gt 500 ]; }
	wait_for has_grown
	assay ctl --session-dir session list | grep -Eq 'B sample files  current$'
	[ "$(ls session/samples)" = current ]
	assay ctl --session-dir session shutdown
	wait
}
