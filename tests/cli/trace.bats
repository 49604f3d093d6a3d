#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay trace: what led to a moment. By samples, as no machine here has Intel PT.

load helpers


need_uprobes() {
	need_root
	need_recording
	[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes"
}

trace_moment() { # OPTIONS… -- the program's arguments
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	# What a test does is short, and all of it is kept, however slow the machine is.
	run --separate-stderr within assay trace --source samples --keep 3600s "${options[@]}" -- "$PROGRAMS/moment" "$@"
	echo "$output"
	echo "$stderr"
}

@test "the code before a call of a function is shown, and not the code after it" {
	need_uprobes
	trace_moment --on-symbol the_moment -- 4000
	[ "$status" = 7 ]
	[[ "$output" == *"kept because: the_moment was called by thread "*" (moment)"* ]]
	[[ "$output" == *"samples with stacks a second"* ]]
	[[ "$output" == *" main"*" before"*" work"*"============  the_moment"* ]]
	[[ "$output" != *" behind"* ]]
	[[ "$stderr" == *"the command goes on"* ]]
	# The recording is one that others read.
	assay script -i trace.data >lines
	grep -q ' before' lines
	grep -q 'trigger:the_moment' lines
}

@test "time after the moment is kept, too" {
	need_uprobes
	trace_moment --on-symbol the_moment --after 3600s -n 0 -- 4000
	[ "$status" = 7 ]
	[[ "$output" == *" before"*"============  the_moment"*" behind"* ]]
}

@test "the end of a command is a moment, and so is its crash" {
	need_recording
	trace_moment -- 2000
	[ "$status" = 7 ]
	[[ "$output" == *"kept because: the command ended with status 7"* ]]
	[[ "$output" == *" behind"* ]]
	trace_moment -- 2000 crash
	[ "$status" = 139 ]
	[[ "$output" == *"ended by Segmentation fault"* ]]
	[[ "$output" != *" behind"* ]]
}

@test "a signal's delivery is a moment" {
	need_uprobes
	[ -r /sys/kernel/tracing/events/signal/signal_deliver/id ] ||
		[ -r /sys/kernel/debug/tracing/events/signal/signal_deliver/id ] || skip "needs tracepoints that this user may read (root, tracefs)"
	trace_moment --on-signal USR1 -- 2000 signal
	[ "$status" = 7 ]
	[[ "$output" == *"kept because: SIGUSR1 came to thread "* ]]
	[[ "$output" != *" behind"* ]]
}

# The kernel makes such a signal a SIGKILL of each thread, and delivers that.
@test "a signal without a handler is a moment, too: the end" {
	need_uprobes
	[ -r /sys/kernel/tracing/events/signal/signal_deliver/id ] ||
		[ -r /sys/kernel/debug/tracing/events/signal/signal_deliver/id ] || skip "needs tracepoints that this user may read (root, tracefs)"
	run within assay trace --on-signal TERM -- "$PROGRAMS/moment" 2000 die
	[ "$status" = 143 ]
	[[ "$output" == *"kept because: the command was ended by Terminated"* ]]
	[[ "$output" != *"did not come"* ]]
	run within assay trace --on-signal USR1 -- "$PROGRAMS/moment" 2000 die
	[[ "$output" == *"ended by Terminated, and the moment did not come"* ]]
}

@test "a moment that did not come gives a message" {
	need_uprobes
	trace_moment --on-symbol ignore -- 2000
	[ "$status" = 7 ]
	[[ "$output" == *"ended with status 7, and the moment did not come"* ]]
	trace_moment --on-symbol the_moment --on-exit -n 0 -- 2000
	[[ "$output" == *"kept because: the command ended with status 7"* ]]
	[[ "$output" == *"============  the_moment"*" behind"* ]]
}

# A process that works in behind() until it is killed: $pid. Its earlier work took far less time.
behind_the_moment() {
	background "$PROGRAMS/moment" 10 wait
	is_running "$pid" moment
	wait_for has_run "$pid" 20
}

@test "a process that dies while it is waited for is shown up to its end" {
	need_uprobes
	behind_the_moment
	target=$pid
	background within assay trace --source samples -k 3600s -n 0 -p "$target" --on-symbol ignore >out 2>&1
	wait_for test -e trace.data
	wait_for has_run "$target" $(($(ticks "$target") + 50))
	kill -9 "$target"
	wait "$pid"
	output=$(cat out) status=0
	refused 0 "kept because: the process ended, and the moment did not come" " behind"
}

@test "Ctrl-C keeps what a process has done" {
	need_recording
	behind_the_moment
	target=$pid
	background assay trace --source samples -k 3600s -n 0 -p "$target" >out 2>err
	wait_for test -e trace.data
	wait_for has_run "$target" $(($(ticks "$target") + 50))
	kill -INT "$pid"
	wait "$pid"
	cat out err
	grep 'kept because: you asked for it (Ctrl-C)' out
	grep ' behind$' out
}

@test "a function that is not there has neighbours, and one of several is asked for" {
	need_uprobes
	trace_moment --on-symbol the_momnt -- 10
	[ "$status" = 1 ]
	[[ "$stderr" == *"no function 'the_momnt' in "*"/moment; nearest: the_moment"* ]]
	[ ! -e trace.data ]
	trace_moment --on-symbol x@/nowhere -- 10
	[ "$status" = 1 ]
	[[ "$stderr" == *"/nowhere: No such file"* ]]
	printf 'static int f(void){return 1;} int a(void){int (*volatile p)(void)=f; return p();}' >a.c
	printf 'static int f(void){return 2;} int b(void){int (*volatile p)(void)=f; return p();}' >b.c
	printf 'int a(void),b(void); int main(void){return a()+b();}' >c.c
	cc -O0 -o two a.c b.c c.c || skip "no compiler"
	run assay trace --on-symbol f -- ./two
	refused 1 "there is more than one 'f' in " "#1 at 0x" "#2 at 0x" "choose one as 'f #1'"
	run assay trace --source samples --on-symbol 'f #2' -- ./two
	[[ "$output" != *"more than one"* ]]
}

@test "an ordinary user can only wait for the end, with a message" {
	need_root
	run unprivileged assay trace --source samples --on-symbol main -- true
	refused 1 "needs a uprobe, which needs root or CAP_PERFMON" "--on-exit"
	need_recording
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "needs kernel.perf_event_paranoid of 2 or less"
	run unprivileged assay trace --source samples -- sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done'
	refused 0 "kept because: the command ended with status 0"
}

@test "targets that can't be traced are refused by name" {
	run assay trace
	refused 2 "nothing to trace: give a command, or -p PID"
	run assay trace -p 1 -- true
	refused 2 "a command and running processes exclude each other"
	run assay trace --on-signal NOTHING -- true
	refused 2 "'NOTHING' is no signal"
	run -127 assay trace -- ./absent
	refused 127 "./absent"
	[ -d /sys/bus/event_source/devices/intel_pt ] || {
		run assay trace --source pt -- true
		[ "$status" != 0 ]
		[[ "$output" == *intel_pt* ]]
	}
}

@test "the page and Perfetto's trace have the same calls" {
	need_uprobes
	trace_moment --on-symbol the_moment --html moment.html --perfetto moment.perfetto-trace -- 2000
	[ "$status" = 7 ]
	[ -z "$output" ]
	[[ "$stderr" == *"calls of 1 thread in moment.html"* ]]
	sed -n 's/.*id="data">\(.*\)<\/script>.*/\1/p' moment.html >data.json
	jq -e '.functions | index("before") and index("work") and (index("behind") | not)' data.json
	[ "$(jq -r '.marks[0].text' data.json)" = the_moment ]
	[ "$(jq '[.threads[].calls | length] | add / 5' data.json)" = "$(python3 "$ROOT/tests/cli/protobuf.py" slices moment.perfetto-trace | jq .slices)" ]
	python3 "$ROOT/tests/cli/protobuf.py" slices moment.perfetto-trace >slices.json
	jq -e '.names | index("before") and index("the_moment")' slices.json
	[ "$(jq -r '.processes[0]' slices.json)" = moment ]
	[ "$(jq .open slices.json)" = 0 ]
}
