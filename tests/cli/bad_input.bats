#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input from users, disks and attackers: errors with the attempt, its object and the reason.

load helpers

@test "a command that is not there: 127" {
	need_recording
	run -127 assay record -o s -- no-such-command-anywhere
	refused 127 "no-such-command-anywhere" "not found"
	run -127 assay record -o s -- /no/such/file
	refused 127 "/no/such/file" "No such file"
}

@test "a command that can't be executed: 126" {
	need_recording
	touch plain
	run assay record -o s -- ./plain
	refused 126 "./plain" "Permission denied"
	run assay record -o s -- "$PWD"
	refused 126 "$PWD"
}

@test "a command that fails to start leaves the old session alone" {
	need_recording
	assay record -q -o s -- echo good
	run -127 assay record -q -o s -- no-such-command-anywhere
	[ "$(fact s .command)" = "echo good" ] || [ "$(fact s.old .command)" = "echo good" ]
}

@test "nothing to profile" {
	run assay record
	refused 2 "nothing to profile" "-p PID"
}

@test "a pid that is gone, or is none" {
	local pid
	for word in 0 -3 abc 12x 99999999999; do
		run assay record -o s --pid="$word" --duration 0.1
		refused 2 "'$word'"
	done
	need_recording
	pid=$(cat /proc/sys/kernel/pid_max) # no process has this one
	run assay record -o s -p "$pid" --duration 0.1
	refused 1 "no process $pid"
}

@test "an unknown event: the nearest names" {
	run assay record -o s -e cycels -- true
	[ "$status" -gt 0 ]
	[[ "$output" == *"unknown event 'cycels'"*cycles* ]]
}

@test "rates that are absurd" {
	run assay record -o s -F 0 -- true
	refused 2 "--freq" "0"
	run assay record -o s -c 0 -- true
	refused 2 "--count" "0"
	run assay record -o s -F 1000000000 -- true
	[ "$status" != 0 ]
	[[ "$output" == *max_sample_rate* ]]
	run assay record -o s -e cpu-clock -c 1 -- true
	[ "$status" != 0 ]
	[[ "$output" == *"count of 1"* ]]
	run assay record -o s -c 99999999999999999999999 -- true
	refused 2 "--count" 99999999999999999999999
	run assay record -o s -F 99 -c 99 -- true
	refused 2 "-F and -c"
}

@test "targets that exclude each other" {
	run assay record -a -p 1
	refused 2 "exclude"
}

@test "a CPU or control group that is not there" {
	run assay record -o s -C 99999 -- true
	[ "$status" != 0 ]
	[[ "$output" == *99999* ]]
	need_recording
	run assay record -o s -G no-such-group -- true
	[ "$status" != 0 ]
	[[ "$output" == *no-such-group* ]]
}

@test "an output folder that can't be written" {
	need_recording
	run assay record -o /proc/nowhere -- true
	refused 1 "/proc/nowhere"
	run assay record -o "" -- true
	[ "$status" != 0 ]
	[ ! -e /samples ]
}

@test "a file in the way of the session is not touched" {
	need_recording
	echo precious >s
	run assay record -o s -- true
	refused 1 "s is in the way"
	[ "$(cat s)" = precious ]
}

@test "a folder in the way that is no session is not touched" {
	need_recording
	mkdir s
	echo precious >s/thesis
	run assay record -o s -- true
	refused 1 "s is in the way"
	[ "$(cat s/thesis)" = precious ]
}

@test "a disk that fills: stored samples are whole, and the rest is counted" {
	need_root
	need_recording
	[ "$(getconf PAGE_SIZE)" = 4096 ] || skip "needs pages of 4 KiB: larger ones make a larger disk"
	# That is room for less than a half of the samples of so many processes.
	cat >script <<-'END'
		mount -t tmpfs -o size=12k none disk || exit 77
		assay record -e page-faults -c 1 -o disk/s -- sh -c 'for i in $(seq 1500); do env -i true; done'
		echo "status $?"
		assay info disk/s
	END
	mkdir disk
	run within unshare -m sh script
	[ "$status" != 77 ] || skip "no file system can be mounted here"
	[[ "$output" == *"No space left on device"* ]]
	[[ "$output" == *"status 1"* ]]
	[[ "$output" != *", 0 lost,"* ]]
	[[ "$output" == *"session "*"disk/s"* ]]
	# The session has the number of lost samples: it kept room for that.
	[[ "$output" == *": the session could not be written"* ]]
}

@test "a session that is none" {
	run assay info nothing-here
	refused 1 "no session 'nothing-here'"
	echo text >file
	run assay info file
	refused 1 "'file'"
	mkdir folder
	run assay info folder
	refused 1 "'folder'" "not an assay session"
}

# The session that the tests of damage start from, with chains and several blocks.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export HOME=$BATS_FILE_TMPDIR
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	several_blocks() { [[ $(fact victim .blocks 2>/dev/null) -ge 2 ]]; }
	record_until several_blocks -q -o victim -- \
		sh -c "'$PROGRAMS/deep' 0.1cpu; exec '$PROGRAMS/split' 100000s" || true
	kill_background
}

record_victim() {
	need_recording
	cp -r "$BATS_FILE_TMPDIR/victim" s
	segment=s/samples/current/0000.segment
	[ -s "$segment" ]
	cp "$segment" whole
	total=$(fact s .samples)
	[ "$total" -gt 0 ]
}

@test "a torn tail costs the last block, not more" {
	record_victim
	truncate -s -7 "$segment"
	run assay info s
	[ "$status" = 0 ]
	[ "$(fact s .samples)" -gt 0 ]
}

# Four bits of one byte are changed, at places all over the segment.
@test "a flipped byte anywhere never crashes, and is reported or harmless" {
	record_victim
	python3 - "$segment" "$total" <<-'END'
		import json, subprocess, sys
		segment, total = sys.argv[1], int(sys.argv[2])
		whole = open("whole", "rb").read()
		for at in range(0, len(whole), len(whole) // 97 + 1):
		    with open(segment, "wb") as f:
		        f.write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
		    info = subprocess.run(["assay", "info", "--format", "json", "s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
		    assert info.returncode in (0, 1), f"byte {at}: status {info.returncode}: {info.stdout.decode(errors='replace')}"
		    if info.returncode == 0:
		        said = json.loads(info.stdout)
		        assert said["samples"] + said["lost"] == total or said["warnings"], f"byte {at}: not said"
	END
}

@test "a perf map with garbage in it does no harm" {
	need_recording
	python3 -c 'import random, sys; sys.stdout.buffer.write(bytes(random.Random(1).choices(range(256), k=20000)))' >garbage
	printf '\n%s\n' "zzzz yy x" "0 0 zero" "ffffffffffffffff ffffffffffffffff all" "10 " "-1 -1 minus" >>garbage
	run "$PROGRAMS/jit" 1
	[ "$status" != 77 ] || skip "tests/programs/jit.c is not written for this processor"
	assay record -q -o s -- "$PROGRAMS/jit" 0.2cpu "$PWD/garbage" >map
	rm -f "$(cat map)" "$output"
	[ "$(fact s .samples)" -gt 0 ]
	[ "$(fact s .code_symbols)" -ge 1 ]
}

@test "a closed standard output ends quietly" {
	need_recording
	assay record -q -o s -- true
	run bash -c 'assay info s | true; assay help | head -0'
	[ "$status" = 0 ]
	[ "$output" = "" ]
}

# All kinds of recordings of odd_recordings.py and memory_events.py, and those that perf makes here.
whole_recordings() {
	local kind
	for kind in off-cpu old-off-cpu guest guests deferred aux metadata cgroups namespaces; do
		python3 "$BATS_TEST_DIRNAME/odd_recordings.py" "$kind" "$kind.data"
	done
	echo 'int table[64], zeros[9000]; volatile int counter; const int constants[16]; int work(int i) { return table[i]; } int main(void) { return work(1); }' >m.c
	gcc -O0 -no-pie m.c -o m
	python3 "$BATS_TEST_DIRNAME/memory_events.py" "$PWD/m" memory.data
	command -v perf >/dev/null || return 0
	perf record -q -g -F 499 -o chains.data -- "$PROGRAMS/threads" >/dev/null 2>&1 || true
	perf record -q --call-graph dwarf,1024 -F 99 -o stacks.data -- "$PROGRAMS/split" 0.1cpu >/dev/null 2>&1 || true
	perf record -q -a -e cpu-clock,page-faults --switch-events --namespaces -F 99 -o all.data -- "$PROGRAMS/forks" >/dev/null 2>&1 || true
}

# Status 0, or 1 or 2 with a message; in 2 GB of memory, and in time. One seed a recording: RECORDING_SEEDS=1000 has more.
@test "a recording whose records were changed is read, or refused with a reason" {
	local file seed status command n=0 most_kb=2000000 seeds=${RECORDING_SEEDS:-3}
	# A sanitized build reserves terabytes, and takes five times as long.
	grep -q __asan_init "$ASSAY_BUILD/assay" && most_kb=unlimited seeds=${RECORDING_SEEDS:-1}
	whole_recordings
	for file in *.data; do
		for ((seed = 1; seed <= seeds; seed++)); do
			python3 "$BATS_TEST_DIRNAME/mutate_recording.py" "$file" mutant "$seed"
			for command in "report -i mutant --by comm,symbol --format csv" "script -i mutant" "export -q -i mutant -F pprof -o mutant.pb.gz" "inject -q -i mutant -o again"; do
				status=0
				# shellcheck disable=SC2086 # words
				(trap - DEBUG; ulimit -v "$most_kb"; timeout "$DEADLINE" assay $command >out 2>err) || status=$?
				if ((status > 2)) || { ((status > 0)) && ! grep -q '^assay: ' err; }; then
					echo "$file, seed $seed: assay $command: status $status" >&2
					tail -3 err >&2
					false
				fi
				rm -rf again mutant.pb.gz
				n=$((n + 1))
			done
		done
	done
	((n > 30))
}
