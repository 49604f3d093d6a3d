#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# prospect: a command, and a report of the machine's activity while it ran.

load helpers

HZ=$(at_most 1000)

adds_up() {
	jq -e '.statistics | .delivered == .user.samples + .system.samples + .irq.samples
		+ .softirq.samples + .idle.samples + .other_events + .filtered + .lost' "$1" || {
		jq .statistics "$1"
		false
	}
}

need_machine() {
	[ "$(id -u)" = 0 ] || skip "needs root: the whole machine is sampled"
	assay record -q -a -o probe.assay -- true >probe.log 2>&1 ||
		skip "sampling the machine is not permitted here: $(tail -1 probe.log)"
}

@test "a command's functions are in its user profile" {
	need_recording
	prospect -H"$HZ" -f out.json --format json "$PROGRAMS/split" 0.3cpu >/dev/null
	adds_up out.json
	[ "$(jq -r '[.processes[] | select(.name == "split") | .user_profile[] | select(.image == "split")
		| .symbols[].symbol] | index("forty") != null' out.json)" = true ]
	jq -e '.kernel | not' out.json
}

@test "level 1 is the command, level 2 also its children" {
	need_recording
	prospect -V1 -H"$HZ" -f one.json --format json sh -c "'$PROGRAMS/split' 0.2cpu; :" >/dev/null
	prospect -V2 -H"$HZ" -f two.json --format json sh -c "'$PROGRAMS/split' 0.2cpu; :" >/dev/null
	local symbols='[.processes[].user_profile[]?.symbols[].symbol] | index("forty") != null'
	[ "$(jq "$symbols" one.json)" = false ]
	[ "$(jq "$symbols" two.json)" = true ]
}

# A command that ends when a process has run for a third of a second more.
UNTIL_RUN='
	ticks() { cut -d" " -f14 "/proc/$1/stat"; }
	end=$(($(ticks "$1") + $(getconf CLK_TCK) / 3))
	while [ "$(ticks "$1")" -lt "$end" ]; do sleep 0.05; done'

@test "level 3 has all other processes, level 4 the kernel as well" {
	need_machine
	background "$PROGRAMS/split" 100000s >/dev/null
	local beside=$pid
	is_running "$beside" split
	prospect -V3 -H"$HZ" -f three.json --format json bash -c "$UNTIL_RUN" bash "$beside"
	prospect -V4 -H"$HZ" -f four.json --format json bash -c "$UNTIL_RUN" bash "$beside"
	adds_up three.json
	adds_up four.json
	jq -e ".processes[] | select(.pid == $beside) | .user_profile[].symbols[] | select(.symbol == \"forty\")" three.json
	jq -e '.kernel | not' three.json
	jq -e '([.kernel[].samples] | add // 0) == (.statistics | .system.samples + .irq.samples
		+ .softirq.samples + .idle.samples)' four.json
}

@test "short intervals between readings lose nothing" {
	need_machine
	hz=$(at_most 2000)
	prospect -V4 -M1 -H"$hz" -f out.json --format json "$PROGRAMS/split" 0.4cpu >/dev/null
	adds_up out.json
	# A quarter of the ticks of 0.4 s of CPU time: timer ticks can be late.
	[ "$(jq '.statistics.user.samples' out.json)" -gt $((hz / 10)) ]
}

@test "the report goes to the file, the command's output is its own" {
	need_recording
	prospect -f report.txt echo hello >out
	[ "$(cat out)" = hello ]
	grep -q '^Statistics of the run' report.txt
	grep -q '^Summary of processes' report.txt
	prospect echo hello >out
	grep -q '^hello' out
	grep -q '^Statistics of the run' out
}

@test "processes below both thresholds are gathered, and the sum stays" {
	need_recording
	prospect -H"$HZ" -k 1000 -m 1000 -f out.json --format json "$PROGRAMS/split" 0.2cpu >/dev/null
	jq -e '.processes == [] and .other.n >= 1 and .other.all.samples == .statistics.all.samples' out.json
	prospect -H"$HZ" -k 1000 -m 0 -f out.json --format json "$PROGRAMS/split" 0.2cpu >/dev/null
	jq -e '.processes | length >= 1' out.json
}

@test "-e shows the instructions that were hit" {
	need_recording
	prospect -e -g1 -H"$HZ" -f out.txt "$PROGRAMS/split" 0.3cpu >/dev/null
	grep -q '<forty+0x[0-9a-f]*>: [a-z]' out.txt
}

@test "the page is one file" {
	need_recording
	prospect -f out.html --format html "$PROGRAMS/split" 0.1cpu >/dev/null
	head -1 out.html | grep -q '^<!DOCTYPE html>'
	tail -1 out.html | grep -q '^</html>'
}

@test "the command's status is passed on" {
	need_recording
	run prospect -f x sh -c 'exit 7'
	[ "$status" = 7 ]
	run prospect -f x sh -c 'kill -TERM $$'
	[ "$status" = 143 ]
	run -127 prospect -f x /no/such/command
	refused 127 /no/such/command
}

@test "nothing is left behind" {
	need_recording
	mkdir tmp
	TMPDIR=$PWD/tmp prospect true >/dev/null
	[ -z "$(ls tmp)" ]
	run env TMPDIR="$PWD/tmp" prospect sh -c 'kill -TERM $$'
	[ -z "$(ls tmp)" ]
	run env TMPDIR="$PWD/tmp" prospect --format html -f /no/such/dir/file touch ran
	refused 1 /no/such/dir/file
	[ ! -e ran ]
	[ -z "$(ls tmp)" ]
}

@test "a session that is kept can be read by all others" {
	need_recording
	prospect -H"$HZ" --session kept -f x "$PROGRAMS/split" 0.2cpu >/dev/null
	assay report -i kept -l >list
	grep -q forty list
}

@test "another event can be the clock" {
	need_recording
	prospect --event cpu-clock:u -H"$HZ" -f out.txt "$PROGRAMS/split" 0.1cpu >/dev/null
	grep -q 'clock .*cpu-clock:u' out.txt
	grep -q 'only user code was sampled' out.txt
	run prospect --event no-such-event true
	refused 1 no-such-event
}

@test "a reader that leaves is no failure" {
	need_recording
	prospect -H"$HZ" "$PROGRAMS/split" 0.1cpu 2>err | head -n 1
	[ "${PIPESTATUS[0]}" = 0 ]
	run grep -v -e '^assay: ' -e '^prospect: warning: ' err
	[ "$status" = 1 ]
}

@test "kernel files are those of the kernel that runs, or refused" {
	need_recording
	echo 'ffffffff81000000 T _text' >wrong.map
	echo 'ffffffff81234567 T schedule' >>wrong.map
	echo nonsense >none.map
	run prospect -K none.map true
	refused 1 none.map System.map
	run prospect -K /no/such/System.map true
	refused 1 /no/such/System.map
	run prospect -L none.map true
	refused 1 none.map
	if [ -r /sys/kernel/notes ]; then
		run prospect -L "$PROGRAMS/split" true
		refused 1 split "build id"
	fi
	grep -q '^0*[1-9a-f][0-9a-f]* [tT] schedule$' /proc/kallsyms || skip "kernel symbols are hidden here"
	run prospect -K wrong.map true
	refused 1 wrong.map "running kernel"
	grep -v '	\[' /proc/kallsyms >right.map
	prospect -K right.map -H"$HZ" -f out.json --format json "$PROGRAMS/split" 0.1cpu >/dev/null
	adds_up out.json
}

@test "wrong usage shows the right usage" {
	run prospect
	refused 2 "prospect: " "sleep 60"
	run prospect -V5 true
	refused 2 --level
	run prospect -V0 true
	refused 2 --level
	run prospect --format xml true
	refused 2 xml
	run prospect -k minus true
	refused 2 --system-time
}

@test "an ordinary user learns which parts are hidden, and gets the rest" {
	need_recording
	set_paranoid 2
	run unprivileged prospect -V4 -H"$HZ" python3 -c 'sum(i * i for i in range(3000000))'
	refused 0 "not permitted to sample other processes" "not permitted to sample the kernel" \
		perf_event_paranoid "Summary of processes" python3
	[[ "$output" == *"note "*"not permitted to sample other processes"* ]]
	run unprivileged prospect -V2 -H"$HZ" python3 -c 'sum(i * i for i in range(3000000))'
	refused 0 "not permitted to sample the kernel" "only user code was sampled"
	[[ "$output" != *"other processes"* ]]
}

@test "the paper's experiment runs, and its spinner has interrupts of others" {
	need_machine
	for program in jq unshare nproc; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
	unshare -n -m sh -c 'ip link set lo up && mount -t sysfs sysfs /sys &&
		[ -w /sys/class/net/lo/queues/rx-0/rps_cpus ]' || skip "no network namespace with steering here"
	# Its environment distinguishes its spinner from others.
	export TMPDIR=$PWD
	"$ROOT/examples/prospect-paper.sh" "$ASSAY_BUILD" 1500 1 >out
	[ "$(grep -c '^all ' out)" = 3 ]
	grep -q '^cpuspin ' out
	grep -q '^blind spot: ' out
	for pid in $(pgrep -x cpuspin); do
		! grep -zxF "TMPDIR=$PWD" "/proc/$pid/environ" || { echo "left: $pid"; false; }
	done
}

@test "a terminal of 20 columns" {
	need_recording
	COLUMNS=20 prospect -H"$HZ" "$PROGRAMS/split" 0.1cpu >narrow
	awk '/^Summary/ { on = 1; next } /^$/ { on = 0 } on' narrow | grep -q 'split'
}
