#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Time that threads wait, beside the time that they run.

load helpers

need_off_cpu() {
	need_sampler
	run assay record --off-cpu -e cpu-clock -o probe.assay -- true
	[[ "$status" = 0 || "$output" != *"through tracefs"* ]] || skip "$output"
	[ "$status" = 0 ]
}

# Milliseconds that a function has of an event, with its callees: ms SESSION EVENT FUNCTION
ms() {
	assay report -i "$1" -l -t 0 --format json "event:$2" |
		jq -s "[.[].rows[] | select(.symbol == \"$3\") | .total] | add // 0"
}

# What `waits` itself measured of a function, into $wall, $waited, $cpu, $switches, $preemptions and $long.
measured() {
	read -r _ wall waited cpu switches preemptions long < <(grep "^$1 " facts)
	[ -n "$long" ]
}

@test "a sleep, a mutex and a pipe are each found with their function and their time" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 0.5s >facts
	for function in sleeper locker reader; do
		measured $function
		slept=$(ms s off-cpu:sleep $function)
		ready=$(ms s off-cpu:ready $function)
		echo "$function slept $slept ms, and was ready for $ready; it waited $waited ms of $wall"
		[ "$slept" -le $((wall + 1)) ] # both are rounded
		if [ $function = sleeper ]; then
			# A thread that has to leave the CPU as it falls asleep is ready, and does not sleep.
			[ $((slept + ready)) -ge $((waited * 9 / 10)) ]
			[ "$slept" -ge $((waited / 2)) ]
		else
			[ "$slept" -ge $((waited - 1)) ]
		fi
	done
	# The kernel counts each time that a thread gives up the CPU.
	measured worker
	slept=$(ms s off-cpu:sleep worker)
	echo "worker slept $slept ms, and gave up the CPU $switches times"
	[ "$switches" != 0 ] || [ "$slept" = 0 ]
	[ "$slept" -le $((wall - cpu)) ]
	# They are side by side in a report, and events without a wait have no columns.
	run assay report -i s -l
	grep -q 'cpu-clock  *off-cpu:sleep' <<<"$output"
	run ! grep '^ .* off-cpu:stopped *$' <<<"$output"
}

# Samples of a wait by its waker: woken SESSION FUNCTION WAKER [WAKER-SYMBOL]
woken() {
	assay report -i "$1" -l --by waker,waker-symbol --format json event:off-cpu:sleep via:"$2" |
		jq --arg w "$3" --arg s "${4-}" '[.rows[] | select(.waker == $w and ($s == "" or ."waker-symbol" == $s)) | .samples] | add // 0'
}

@test "a wait has the process, the function and the stack that ended it" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 0.5s >facts
	for function in locker reader; do
		slept=$(ms s off-cpu:sleep $function)
		echo "$function slept $slept ms"
		# main() gives the mutex back, and writes into the pipe. The last milliseconds may be another wait.
		[ "$(woken s $function waits main)" -ge $((slept * 9 / 10)) ]
	done
	# A timer ends a sleep, whichever process it interrupts. On a busy machine, one of the ten sleeps has no known waker at times.
	slept=$(ms s off-cpu:sleep sleeper)
	[ "$(woken s sleeper '[interrupt]')" -ge $((slept * 8 / 10)) ] ||
		{ assay report -i s -l --by waker,waker-symbol event:off-cpu:sleep via:sleeper; false; }
	assay report -i s -l --by waker-stack --format json event:off-cpu:sleep via:locker |
		jq -e '[.rows[]."waker-stack" | select(test("main;.*mutex_unlock.*;.*futex_wake.*;try_to_wake_up"))] | length > 0'
	# All of it is there, with and without wakers.
	[ "$(assay report -i s --by waker --format json event:off-cpu:sleep | jq '[.rows[].samples] | add')" = \
		"$(samples_of s event:off-cpu:sleep)" ]
	has_samples 1 s waker:waits
	[ "$(samples_of s waker:waits event:cpu-clock)" = 0 ]
}

# By chance, it is that of any program. So its losses would count, and its files would be read.
@test "a timer that ends a wait has no stack of the program that it interrupted" {
	need_off_cpu
	grep -qE '^0*[1-9a-f][0-9a-f]* [tT] try_to_wake_up$' /proc/kallsyms || skip "the kernel hides its addresses"
	taskset -c 0 timeout 60 sh -c 'while :; do :; done' &
	busy=$!
	assay record --off-cpu -e cpu-clock -o s -- taskset -c 0 "$PROGRAMS/waits" 0.5s >facts
	kill $busy
	assay report -i s -l --by waker,waker-stack --format json event:off-cpu:sleep via:sleeper |
		jq -r '.rows[] | select(.waker == "[interrupt]") | ."waker-stack"' >stacks
	cat stacks
	grep -q 'hrtimer' stacks
	run ! grep -vE '^(asm_|fred_|el[01]|entry_|ret_from|secondary_|common_startup)' stacks
}

# Samples of the waits of a function, by the value of a key: facts_of SESSION FUNCTION KEY VALUE
facts_of() {
	assay report -i "$1" --by "$3" --format json 'event:off-cpu:*' via:"$2" |
		jq --arg k "$3" --arg v "$4" '[.rows[] | select(.[$k] == $v) | .samples] | add // 0'
}

@test "a wait has its reason, and a mutex its owner" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 0.5s >facts
	for pair in sleeper:sleep locker:futex reader:pipe; do
		slept=$(ms s off-cpu:sleep "${pair%:*}")
		echo "$pair $slept ms"
		[ "$(facts_of s "${pair%:*}" reason "${pair#*:}")" -ge $((slept * 9 / 10)) ]
	done
	# main() has the mutex that locker() waits for. The futex of pthread_join() has no owner.
	[ "$(facts_of s locker owner "$(assay report -i s --by owner --format json owner:waits* | jq -r '.rows[0].owner')")" -ge $(($(ms s off-cpu:sleep locker) * 9 / 10)) ]
	[ "$(facts_of s main owner '[unknown]')" -gt 0 ]
	[ "$(facts_of s sleeper owner '[none]')" -gt 0 ]
	# All of it is there, under each key.
	for key in reason owner device; do
		[ "$(assay report -i s --by "$key" --format json event:off-cpu:sleep | jq '[.rows[].samples] | add')" = \
			"$(samples_of s event:off-cpu:sleep)" ]
	done
	has_samples 1 s reason:pipe
	[ "$(samples_of s reason:pipe event:cpu-clock)" = 0 ]
	has_samples 1 s 'owner:waits (*)'
	# Waits have different lengths, so a picture weighs by their time, also where each has its own.
	assay report -i s --svg=- event:off-cpu:sleep >picture
	grep -qE 'off-cpu:sleep · [0-9.]+ m?s · 0 lost' picture
	grep -qE '^[0-9.]+ m?s of [0-9.]+ m?s, [0-9.]+ %' picture
	run ! grep -q 'events' picture
}

# Not only the futex word: other locks of two states have other data in the place of the owner.
@test "a lock that is no mutex of the C library has no owner" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/lock_owners" >facts
	owner="lock_owners ($(sed -n 's/^main //p' facts))"
	for function in normal recursive robust inheriting; do
		assay report -i s --by owner 'event:off-cpu:*' via:$function
		[ "$(facts_of s $function owner "$owner")" -gt 0 ]
	done
	for function in other_data no_thread; do
		assay report -i s --by owner 'event:off-cpu:*' via:$function
		[ "$(facts_of s $function owner '[unknown]')" -gt 0 ]
		[ "$(facts_of s $function owner "$owner")" = 0 ]
	done
}

@test "threads and processes that have ended are named" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/ended"
	for function in owned woken; do
		all=$(facts_of s $function reason futex)
		[ $function = owned ] || all=$(facts_of s $function reason pipe)
		echo "$function $all ms"
		[ "$all" -ge 200 ] # of 400: a busy machine wakes late
	done
	assay report -i s --by owner,waker 'event:off-cpu:sleep' | cat
	holders=$(assay report -i s --by owner --format json 'event:off-cpu:*' via:owned |
		jq '[.rows[] | select(.owner | startswith("holder (")) | .samples] | add // 0')
	[ "$holders" -ge $(($(facts_of s owned reason futex) * 9 / 10)) ]
	[ "$(woken s woken waker)" -ge $((all * 9 / 10)) ]
}

# Short naps, and then a long one, again and again.
NAPS='
import time
while True:
	for _ in range(5): time.sleep(0.0001)
	time.sleep(0.01)'

@test "a long wait after short ones has its stack, without frames of BPF" {
	need_off_cpu
	record_samples 500 s event:off-cpu:sleep --off-cpu -e cpu-clock -o s -- "$(python_path)" -c "$NAPS"
	all=$(samples_of s event:off-cpu:sleep)
	assay report -i s --by reason,symbol event:off-cpu:sleep | cat
	[ "$(samples_of s event:off-cpu:sleep reason:sleep)" -ge $((all * 9 / 10)) ]
	[ "$(samples_of s event:off-cpu:sleep 'via:hrtimer_nanosleep')" -ge $((all * 9 / 10)) ]
	# A timer may interrupt a program of BPF. But the last function is the kernel's own.
	assay report -i s --by symbol,waker-stack -t 0 --format json 'event:off-cpu:*' >all
	jq -e '[.rows[] | select(.samples > 0 and .symbol != "__schedule" and .symbol != "[unknown]")] == []' all
	jq -e '[.rows[]."waker-stack" | select(contains(";") and (endswith(";try_to_wake_up") | not))] == []' all
	jq -e '[.rows[]."waker-stack" | select(test("hrtimer_wakeup;.*try_to_wake_up"))] | length > 0' all
}

# A wait that follows short ones has no stack until the thread comes back.
@test "a wait that lasts at the end has its stack" {
	need_off_cpu
	background assay record --off-cpu -e cpu-clock -o s -- "$(python_path)" -c '
import os, time
while not os.path.exists("go"): time.sleep(0.0002)
open("rests", "w")
time.sleep(100000)'
	recorder=$pid
	wait_for has_samples 10 s event:cpu-clock
	touch go
	rests_for_a_second() { [ -e rests ] && [ $(($(date +%s%3N) - $(date -r rests +%s%3N))) -ge 2000 ]; }
	wait_for rests_for_a_second
	kill "$recorder"
	wait "$recorder" || true
	assay report -i s --by reason,symbol 'event:off-cpu:*' | cat
	[ "$(samples_of s event:off-cpu:sleep reason:sleep 'via:hrtimer_nanosleep')" -ge 950 ]
	[ "$(samples_of s event:off-cpu:sleep 'reason:[[]unknown]')" -le 50 ]
}

# A thread that executes a program gets the number of the process.
EXECS='
import os, sys, threading, time
left = int(sys.argv[1])
def run():
	time.sleep(0.01)
	os.execv(sys.executable, [sys.executable, sys.argv[0], str(left - 1)])
if left:
	threading.Thread(target=run).start()
	time.sleep(1000)'

@test "threads that execute programs take no room for good" {
	need_off_cpu
	echo "$EXECS" >execs.py
	ASSAY_SAMPLER_LIMITS=waits=8 assay record --off-cpu -e cpu-clock -o s -- "$(python_path)" execs.py 20
	[ "$(fact s '.losses["waits-full"] // 0')" = 0 ]
	has_samples 1 s event:off-cpu:sleep
}

@test "waits without room are counted" {
	need_off_cpu
	ASSAY_SAMPLER_LIMITS=waits=1 assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 0.3s >facts
	[ "$(fact s '.losses["waits-full"]')" -ge 2 ]
	[ -e /sys/kernel/tracing/events/lock/contention_begin ] || return 0
	ASSAY_SAMPLER_LIMITS=locks=1 assay record --kernel-locks -e cpu-clock -o s -- "$PROGRAMS/contend" 4 20000
	[ "$(fact s '.losses["locks-full"]')" -ge 1 ]
}

@test "a wait for a disk has its device" {
	need_off_cpu
	dd if=/dev/zero of=data bs=1M count=16 2>/dev/null
	sync data
	dd if=data of=/dev/null bs=64k iflag=direct 2>/dev/null || skip "no direct I/O here"
	device=$(stat -c %Hd:%Ld data)
	[ -e "/sys/dev/block/$device" ] || skip "this folder is on no block device"
	assay record --off-cpu --off-cpu-min 0 -e cpu-clock -o s -- dd if=data of=/dev/null bs=64k iflag=direct
	of_disks=$(samples_of s reason:block-io)
	device=$(basename "$(readlink "/sys/dev/block/$device")")
	echo "waited $of_disks ms for $device"
	[ "$of_disks" -gt 0 ]
	[ "$(assay report -i s --by device --format json reason:block-io | jq --arg d "$device" '[.rows[] | select(.device == $d) | .samples] | add // 0')" -ge $((of_disks * 9 / 10)) ]
}

@test "waits for the kernel's locks are an event" {
	need_off_cpu
	[ -e /sys/kernel/tracing/events/lock/contention_begin ] || skip "this kernel has no events of its locks"
	run assay record --kernel-locks -e cpu-clock -o s -- "$PROGRAMS/contend" 4 20000
	echo "$output"
	[ "$status" = 0 ]
	assay report -i s event:kernel-lock --tree
	has_samples 1 s event:kernel-lock
	[ "$(samples_of s event:kernel-lock reason:kernel-lock)" = "$(samples_of s event:kernel-lock)" ]
	run ! assay report -i s 'event:off-cpu:*'
	assay report -i s event:kernel-lock --by symbol --format json | jq -e '[.rows[].symbol | select(test("lock|mutex|rwsem|down_"))] | length > 0'
}

@test "trees of waits have one event at a time, whole names, and wakers on demand" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 0.3s >facts
	assay report -i s --tree -t 0 >tree
	grep -n '^cpu-clock$\|^off-cpu:sleep$' tree >events
	[ "$(wc -l <events)" = 2 ]
	run ! grep -q 'cpu-clock.*off-cpu' <(sed -n '/^cpu-clock$/,$p' tree)
	grep -q 'entry_SYSCALL_64_after_hwframe\|el0t_64_sync_handler' tree
	run ! grep -q '…' <(sed -n '/^off-cpu:sleep$/,$p' tree)
	COLUMNS=80 assay report -i s --tree -t 0 event:off-cpu:sleep >narrow
	[ "$(sed -n '/^total time/,$p' narrow | LC_ALL=C.UTF-8 wc -L)" -le 80 ]
	run ! grep -q 'woken by' tree
	assay report -i s --tree --wakers -t 0 event:off-cpu:sleep >wakers
	grep -q '\[woken by\] waits' wakers
	sed -n '/\[woken by\] waits/,$p' wakers | grep -q main
}

# Another program wants the same CPU: the thread has to wait for it, too.
@test "a thread's time on and off the CPU adds up to its life" {
	need_off_cpu
	cpu_list=$(taskset -cp $$ | sed 's/.*: //')
	background taskset -c "${cpu_list%%[-,]*}" "$PROGRAMS/split" 100000s
	is_running "$pid" split
	stolen=$(stolen_ms)
	assay record --off-cpu --off-cpu-min 0 -e cpu-clock -c 1000000 -o s -- \
		taskset -c "${cpu_list%%[-,]*}" "$PROGRAMS/waits" 0.5s >facts
	stolen=$(($(stolen_ms) - stolen))
	measured worker
	on=$(ms s cpu-clock worker)
	off=0
	for state in ready sleep disk stopped; do
		off=$((off + $(ms s off-cpu:$state worker)))
	done
	around=$(ms s 'off-cpu:*' start_worker)
	echo "worker: $on ms on the CPU, $off off it, and $around with its start; $cpu of $wall by its own clocks, and $stolen stolen"
	[ "$off" -gt 0 ]
	# Parts of milliseconds of all threads are rounded together: half of one for each wait, independently, and
	# five standard deviations of their sum. The scheduler's clock of the next thread runs before the tracepoint,
	# where programs of other recorders may take a part of a millisecond before assay's.
	waits=$((switches + preemptions + 1))
	rounded=$((1 + $(awk -v n="$waits" 'BEGIN { print int(2.5 * sqrt(n)) }')))
	[ "$off" -le $((wall + rounded)) ]
	[ $((off + cpu)) -le $((wall + rounded + waits)) ]
	# It may have to wait where its time is taken, and worker() does not run.
	[ "$around" -ge "$off" ]
	[ $((around + cpu + stolen)) -ge $((wall * 9 / 10 - 10)) ]
	# One sample a millisecond, less what timer ticks were late, and one more each time that it is let
	# onto the CPU.
	[ "$on" -le $((cpu + stolen + preemptions + switches + 2)) ]
	[ "$on" -ge $((cpu / 4 - 2)) ]
}

@test "a process that sleeps all the time shows, with its stack" {
	need_off_cpu
	background sleep 100000
	is_running "$pid" sleep
	for target in "-p $pid" "-t $pid" -a; do
		# shellcheck disable=SC2086 # words
		run assay record --off-cpu -e cpu-clock $target --duration 0.5 -o s
		[ "$status" = 0 ] || { echo "$output"; false; }
		total=$(assay report -i s -l -t 0 --format json event:off-cpu:sleep pid:"$pid" |
			jq '[.rows[].samples] | add // 0')
		length=$(fact s '.duration_s * 1000 | ceil')
		echo "$target: $total ms of $length"
		[ "$total" -ge 450 ]
		[ "$total" -le "$length" ]
		rm -rf s s.old
	done
}

@test "a thread waits although the first thread of its process has ended" {
	need_off_cpu
	mkfifo in
	exec 5<>in
	# shellcheck disable=SC2016 # $1 is the inner shell's
	background sh -c 'exec "$1" orphan <in >/dev/null' sh "$PROGRAMS/heaps" 5>&-
	echo >&5
	wait_for grep -q '^State:.*Z' "/proc/$pid/task/$pid/status"
	assay record -q --off-cpu -e cpu-clock -p "$pid" --duration 0.5 -o s
	exec 5>&-
	slept s "$pid"
	[ "$(slept s "$pid")" -ge 450 ]
}

# Milliseconds that a process slept: slept SESSION PID
slept() {
	assay report -i "$1" -l -t 0 --format json event:off-cpu:sleep pid:"$2" |
		jq '[.rows[].samples] | add // 0'
}

say() { # MESSAGE
	local answer
	echo "$1" >&6
	IFS= read -r -t "$DEADLINE" answer <&5
	[ "$answer" = ack ]
}

@test "a pause is no part of waits, and neither is a thread that ended in it" {
	need_off_cpu
	background sleep 100000
	ends=$pid
	background sleep 100000
	goes_on=$pid
	is_running "$goes_on" sleep
	mkfifo ctl ack
	exec 5<>ack 6<>ctl
	background assay record --off-cpu -e cpu-clock -p "$ends,$goes_on" --control fifo:ctl,ack -o s >log 2>&1 5>&- 6>&-
	recorder=$pid
	say ping
	sleep 0.5
	say disable
	paused=$(date +%s%3N)
	sleep 2
	kill "$ends"
	wait "$ends" || true
	before=$(($(date +%s%3N) - paused))
	say enable
	sleep 0.5
	say stop
	wait "$recorder"
	exec 5>&- 6>&-
	length=$(fact s '.duration_s * 1000 | ceil')
	echo "$(slept s "$ends") and $(slept s "$goes_on") ms of sleep in a recording of $length ms with a pause of $before ms"
	[ "$(slept s "$ends")" -ge 450 ]
	[ "$(slept s "$ends")" -le $((length - before - 450)) ]
	[ "$(slept s "$goes_on")" -ge 900 ]
	[ "$(slept s "$goes_on")" -le $((length - before)) ]
}

# Waits and --duration count from the moment at which the program is attached.
@test "time in which the kernel loads the program is no part of the recording" {
	need_off_cpu
	background sleep 100000
	is_running "$pid" sleep
	start=$(date +%s%3N)
	ASSAY_SAMPLER_LIMITS=load_ms=2000 assay record --off-cpu -e cpu-clock -p "$pid" --duration 0.5 -o s
	wall=$(($(date +%s%3N) - start))
	total=$(assay report -i s -l -t 0 --format json event:off-cpu:sleep | jq '[.rows[].samples] | add // 0')
	length=$(fact s '.duration_s * 1000 | ceil')
	echo "$total ms of sleep in a recording of $length ms, which took $wall ms in all"
	[ "$total" -ge 450 ]
	[ "$total" -le "$length" ]
	[ "$length" -le $((wall - 1999)) ]
}

@test "waits below the minimum do not count" {
	need_off_cpu
	assay record --off-cpu --off-cpu-min 250ms -e cpu-clock -o s -- "$PROGRAMS/waits" 0.5s >facts
	measured locker
	[ "$(ms s off-cpu:sleep locker)" -ge $((waited - 1)) ]
	# Its naps are of 50 ms: none is longer, unless the machine stood still.
	measured sleeper
	[ "$(ms s off-cpu:sleep sleeper)" -le $((long ? long + 1 : 0)) ]
}

@test "what a command starts counts, what others do does not" {
	need_off_cpu
	background sleep 100000
	is_running "$pid" sleep
	assay record --off-cpu -e cpu-clock -o s -- sh -c 'sleep 0.5; sh -c "sleep 0.5; :"; :'
	# Each of the two slept for all of its time, or was ready as it fell asleep.
	waits=$(assay report -i s --by process --format json comm:sleep event:'off-cpu:*')
	[ "$(jq '[.rows[] | select(.event == "off-cpu:sleep" and .samples >= 250)] | length' <<<"$waits")" = 2 ]
	[ "$(jq '[.rows | group_by(.pid)[] | select((map(.samples) | add) >= 450)] | length' <<<"$waits")" = 2 ]
	run assay report -i s -l pid:"$pid"
	refused 1 "no sample matches"
}

@test "without permission off-CPU time is refused, with the reason" {
	need_root
	run unprivileged assay record --off-cpu -e cpu-clock:u -o s -- true
	refused 1 "--off-cpu" "root, or CAP_BPF and CAP_PERFMON" "Run it as root: 'sudo assay record --off-cpu …'"
	[ "${#lines[@]}" = 1 ]
}

@test "what does not go with off-CPU time" {
	run assay record --off-cpu --off-cpu-min soon -- true
	refused 2 "--off-cpu-min"
}
