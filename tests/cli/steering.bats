#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings that are steered while they run: --control, -D.

load helpers

acknowledged() {
	local answer
	IFS= read -r -t "$DEADLINE" answer <&5
	[ "$answer" = ack ]
}

# Sends a message and waits for its acknowledgement.
say() {
	MESSAGE=$1 within sh -c 'printf "%s\n" "$MESSAGE" >ctl'
	acknowledged
}

# `assay record` of a busy process in the background, steered through ctl and ack; $recorder, $target.
record_steered() {
	mkfifo ctl ack
	exec 5<>ack
	background "$PROGRAMS/split" 100000s >/dev/null 5>&-
	target=$pid
	is_running "$target" split
	background assay record -o s.assay -p "$target" --control fifo:ctl,ack "$@" >log 2>&1 5>&-
	recorder=$pid
	is_running "$recorder" assay
	say ping || { cat log; return 1; }
}

# Waits until the target has run for a while.
target_runs_on() {
	wait_for has_run "$target" $(($(ticks "$target") + 30))
}

end_steered() {
	wait "$recorder"
	kill "$target"
	exec 5>&-
	cat log
}

@test "messages turn counting on and off, and each is acknowledged" {
	need_recording
	record_steered -D -1
	say enable
	target_runs_on
	say disable
	target_runs_on
	say stop
	end_steered
	# Whoever is slow may lose some.
	grep -q 'samples, [0-9]* lost' log
	[ "$(grep -o '[0-9]* samples' log | cut -d' ' -f1)" -gt 0 ]
}

@test "a recording that is never enabled has no sample" {
	need_recording
	record_steered -D -1
	target_runs_on
	say snapshot
	say stop
	end_steered
	grep -q 'snapshot before start: nothing has been recorded yet' log
	grep -q '^assay: 0 samples' log
}

@test "an unknown message is reported, and the recording continues" {
	need_recording
	record_steered
	printf 'ena' >ctl
	wait_for grep -q "'ena' is none of" log
	printf 'nonsense\nping\nsnapshot\nst' >ctl
	acknowledged
	acknowledged
	say stop
	end_steered
	grep -q "'ena' is none of enable, disable, snapshot, stop, ping" log
	grep -q "'nonsense' is none of" log
	grep -q "'st' is none of" log
	grep -q 'snapshot: no snapshot is possible' log
}

# Whether the recorder has read all messages: the FIFO is empty.
is_fetched() {
	python3 -c 'import fcntl, struct, sys, termios
sys.exit(struct.unpack("i", fcntl.ioctl(6, termios.FIONREAD, b"1234"))[0] != 0)'
}

@test "a message may be cut in half" {
	need_recording
	record_steered
	exec 6>ctl
	printf 'pi' >&6
	wait_for is_fetched
	printf 'ng\nst' >&6
	acknowledged
	printf 'op\n' >&6
	exec 6>&-
	acknowledged
	end_steered
	[ "$(grep -c 'none of' log)" = 0 ]
}

@test "SIGUSR2 is a snapshot, and a recording without a trace has none" {
	need_recording
	record_steered
	kill -USR2 "$recorder"
	wait_for grep -q 'no snapshot is possible' log
	say stop
	end_steered
	grep -q 'snapshot: no snapshot is possible' log
}

@test "a FIFO that can't be used is refused by name" {
	run assay record -o s.assay --control fifo:absent -- true
	refused 1 "absent: No such file or directory; make it with mkfifo"
	: >plain
	run assay record -o s.assay --control fifo:plain -- true
	refused 1 "plain is no FIFO; make one with mkfifo"
	run assay record -o s.assay --control nonsense -- true
	refused 2 "--control 'nonsense': give fifo:CTL[,ACK]"
	run assay record -o s.assay --control fd:77 -- true
	refused 1 "descriptor 77"
	run assay record -o s.assay -D -1 -- true
	refused 2 "-D -1 waits for --control"
	run assay record -o s.assay -D soon -- true
	refused 2 "soon"
	[ ! -e s.assay ]
}

@test "descriptors steer a command that writes to them itself" {
	need_recording
	run assay record -o s.assay -D -1 --control fd:8,9 -- bash -c '
		echo enable >&8
		for ((i = 0; i < 300000; i++)); do :; done
		echo disable >&8' 8<> <(:) 9>acks
	echo "$output"
	[ "$status" = 0 ]
	[ "$(head -1 acks)" = ack ]
}

@test "a delay leaves out the beginning, and a command that ends before it has no samples" {
	need_recording
	run assay record -o s.assay -D 1000000 -- true
	refused 0 "0 samples"
	record_samples 10 s.assay "" -D 0.1s -- "$PROGRAMS/split" 100000s
	echo "$output"
}

@test "one event is turned on and off by its name, and events are listed" {
	need_recording
	rate=$(at_most 997)
	record_steered -D -1 -F "$rate" -e cpu-clock:u -e task-clock:u
	say "enable task-clock:u"
	target_runs_on
	say "disable task-clock:u"
	say "evlist"
	say "evlist -F"
	say "evlist -v"
	say "evlist -x"
	say "enable cpu-clok"
	say stop
	end_steered
	grep -qx "cpu-clock:u" log
	grep -qx "cpu-clock:u: sample_freq=$rate" log
	grep -q "^task-clock:u: type: 1, size: [0-9]*, config: 0x1, { sample_period, sample_freq }: $rate, " log
	grep -q "evlist takes -v, -g or -F" log
	grep -q "no event 'cpu-clok' is recorded; there are: cpu-clock:u, task-clock:u" log
	assay report -i s.assay -t 0 --format csv --by event | sed "s,^#.*,," >events
	cat events
	grep -q task-clock events
	run ! grep -q cpu-clock events
}
