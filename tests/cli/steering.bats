#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings that are steered while they run: --control, -D.

load helpers

# Spins until it is killed, or for a while.
spin() {
	exec sh -c 'i=0; while [ $i -lt 100000000 ]; do i=$((i + 1)); done'
}

# Sends a message and waits for its acknowledgement.
say() {
	local answer
	timeout 20 sh -c "printf '%s\\n' '$1' >ctl"
	IFS= read -r -t 20 answer <&5
	[ "$answer" = ack ]
}

# `assay record` of a busy process in the background, steered through ctl and ack; $recorder, $target.
record_steered() {
	mkfifo ctl ack
	exec 5<>ack
	spin 3>&- 5>&- &
	target=$!
	assay record -o s.assay -p "$target" --control fifo:ctl,ack "$@" >log 2>&1 3>&- 5>&- &
	recorder=$!
	is_running "$recorder" assay
	say ping || { cat log; return 1; }
}

teardown() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || true
	[ -z "$target" ] || kill "$target" 2>/dev/null || true
}

end_steered() {
	wait "$recorder"
	recorder=
	kill "$target"
	exec 5>&-
}

@test "messages turn counting on and off, and each is acknowledged" {
	need_recording
	record_steered -D -1
	sleep 0.5
	say enable
	sleep 1
	say disable
	say stop
	end_steered
	cat log
	grep -q 'samples, 0 lost' log
	[ "$(grep -o '[0-9]* samples' log | cut -d' ' -f1)" -gt 0 ]
}

@test "a recording that is never enabled has no sample" {
	need_recording
	record_steered -D -1
	sleep 0.3
	say snapshot
	say stop
	end_steered
	grep -q 'snapshot before start: nothing has been recorded yet' log
	grep -q '^assay: 0 samples' log
}

@test "what is no message is told, and the recording goes on" {
	need_recording
	record_steered
	printf 'ena' >ctl
	for _ in {1..100}; do
		! grep -q "'ena' is none of" log || break
		sleep 0.1
	done
	printf 'nonsense\nping\nsnapshot\nst' >ctl
	for _ in 1 2; do
		IFS= read -r -t 20 answer <&5
		[ "$answer" = ack ]
	done
	say stop
	end_steered
	grep -q "'ena' is none of enable, disable, snapshot, stop, ping" log
	grep -q "'nonsense' is none of" log
	grep -q "'st' is none of" log
	grep -q 'snapshot: there is nothing to take one of' log
}

@test "a message may be cut in half" {
	need_recording
	record_steered
	{
		printf 'pi'
		sleep 0.3
		printf 'ng\nst'
		sleep 0.3
		printf 'op\n'
	} >ctl
	for _ in 1 2; do
		IFS= read -r -t 20 answer <&5
		[ "$answer" = ack ]
	done
	end_steered
	[ "$(grep -c 'none of' log)" = 0 ]
}

@test "SIGUSR2 is a snapshot, and a recording without a trace has none" {
	need_recording
	record_steered
	kill -USR2 "$recorder"
	for _ in {1..100}; do
		grep -q 'nothing to take one of' log && break
		sleep 0.1
	done
	say stop
	end_steered
	grep -q 'snapshot: there is nothing to take one of' log
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
	run assay record -o s.assay -D 20000 -- true
	refused 0 "0 samples"
	run assay record -o s.assay -D 0.3s -- timeout 2 sh -c 'while :; do :; done'
	echo "$output"
	[[ "$output" != *" 0 samples"* ]]
}

@test "one event is turned on and off by its name, and events are listed" {
	need_recording
	record_steered -D -1 -e cpu-clock -e task-clock
	say "enable task-clock"
	sleep 1
	say "disable task-clock"
	say "evlist"
	say "evlist -F"
	say "evlist -v"
	say "evlist -x"
	say "enable cpu-clok"
	say stop
	end_steered
	cat log
	grep -qx "cpu-clock" log
	grep -qx "cpu-clock: sample_freq=997" log
	grep -q "^task-clock: type: 1, size: [0-9]*, config: 0x1, { sample_period, sample_freq }: 997, " log
	grep -q "evlist takes -v, -g or -F" log
	grep -q "no event 'cpu-clok' is recorded; there are: cpu-clock, task-clock" log
	assay report -i s.assay -t 0 --format csv --by event | sed "s,^#.*,," >events
	cat events
	grep -q task-clock events
	run ! grep -q cpu-clock events
}
