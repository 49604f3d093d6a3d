#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The process report: it adds up, and interrupts are nobody's own time. What ran is written as perf
# script's text, so that every number is known.

load helpers

# sample COMM PID COUNT FRAME…: so many samples of a chain, innermost first; "k:NAME" is the kernel,
# "NAME@FILE" code of a file.
sample() {
	local comm=$1 pid=$2 n=$3 i frame chain=
	shift 3
	for frame; do
		case $frame in
		k:*) chain+="	ffffffff81000010 ${frame#k:}+0x10 ([kernel.kallsyms])"$'\n' ;;
		*) chain+="	    7f0000001010 ${frame%@*}+0x10 (${frame#*@})"$'\n' ;;
		esac
	done
	for ((i = 0; i < n; i++)); do
		printf '%s %s/%s [000] 1.%06d: 1000000 cpu-clock:\n%s\n' "$comm" "$pid" "$pid" "$i" "$chain"
	done
}

# The paper's case: a spinner that system calls of others interrupt, and an idle processor.
make_run() {
	local irq="k:common_interrupt k:asm_common_interrupt"

	sample cpuspin 100 60 spin@/tmp/cpuspin main@/tmp/cpuspin
	sample cpuspin 100 10 cos@/lib/libm.so.6 main@/tmp/cpuspin
	# shellcheck disable=SC2086 # several frames
	sample cpuspin 100 12 k:e1000_intr $irq main@/tmp/cpuspin
	sample cpuspin 100 8 k:net_rx_action k:handle_softirqs k:__irq_exit_rcu \
		k:sysvec_apic_timer_interrupt k:asm_sysvec_apic_timer_interrupt main@/tmp/cpuspin
	sample cpuspin 100 2 k:__schedule k:irqentry_exit_to_user_mode \
		k:asm_sysvec_reschedule_ipi main@/tmp/cpuspin
	sample client 200 5 recv@/tmp/client main@/tmp/client
	sample client 200 40 k:tcp_sendmsg k:__x64_sys_sendto k:do_syscall_64 main@/tmp/client
	sample tiny 300 1 main@/tmp/tiny
	sample swapper 0 30 k:default_idle k:do_idle k:cpu_startup_entry
	# shellcheck disable=SC2086
	sample swapper 0 3 k:e1000_intr $irq k:do_idle k:cpu_startup_entry
}

# What jq finds in the report of it as JSON.
processes_of() {
	local filter=$1
	shift
	make_run | assay report -P -i - --format json "$@" | jq -r "$filter"
}

@test "user, system, interrupts, idle and lost add up to the delivered samples" {
	make_run >run.txt
	assay report -P -i run.txt --format json >run.json
	[ "$(jq -r '.statistics | "\(.user.samples) \(.system.samples) \(.irq.samples) \(.softirq.samples) \(.idle.samples) \(.lost) \(.delivered)"' run.json)" = "76 42 15 8 30 0 171" ]
	jq -e '.statistics | .delivered == .user.samples + .system.samples + .irq.samples
		+ .softirq.samples + .idle.samples + .other_events + .filtered + .lost' run.json
}

@test "interrupts that fell on a spinner are not its own time" {
	processes_of '.processes[] | select(.name == "cpuspin") |
		"\(.user.samples) \(.system.samples) \(.irq.samples) \(.softirq.samples)"' >row
	[ "$(cat row)" = "70 2 12 8" ]
	processes_of '.processes[] | select(.name == "cpuspin") | .kernel_profile[].symbols[].symbol' >kernel
	[ "$(cat kernel)" = "__schedule" ]
	processes_of '.processes[] | select(.name == "cpuspin") | .interrupts[].symbols[] |
		"\(.symbol) \(.irq) \(.softirq)"' >interrupts
	diff interrupts - <<-END
		e1000_intr 12 null
		net_rx_action null 8
	END
}

@test "every profile adds up to its process, and the kernel's to all kernel time" {
	processes_of '.' -t 5 -n 2 >run.json
	[ -s run.json ]
	jq -e '[.processes[] | . as $p
		| [.user_profile, .kernel_profile, .interrupts, .idle_profile | .[].samples] | add
		| . == $p.all.samples] | all' run.json
	jq -e '[.processes[] | .user_profile[], .kernel_profile[], .interrupts[] | . as $r
		| ([.symbols[].samples] | add) + (.other.samples // 0) == $r.samples] | all' run.json
	jq -e '([.processes[].all.samples] | add) + .other.all.samples == .statistics.all.samples' run.json
	jq -e '([.kernel[].samples] | add) == (.statistics | .system.samples + .irq.samples
		+ .softirq.samples + .idle.samples)' run.json
}

@test "the text has the numbers of the JSON" {
	make_run >run.txt
	assay report -P -i run.txt -t 0 --format json >run.json
	assay report -P -i run.txt -t 0 --wide >text
	# the summary's rows: pid, user, system, irq, softirq, idle, without their times
	awk '/^Summary/ { on = 1; next } /^$/ { on = 0 }
		on && $1 ~ /^[0-9]+$/ { print $1, $2, $4, $6, $8, $10, $12 }' text | head -n 4 | sort >of_text
	jq -r '.processes[] | "\(.pid) \(.user.samples) \(.system.samples) \(.irq.samples) \(.softirq.samples) \(.idle.samples) \(.name)"' run.json | sort >of_json
	diff of_text of_json
	# and all symbols, of each process and of the kernel
	awk '/^The kernel|^[a-z[].*(\([0-9]+\)|\])$/ { on = 1 }
		on && $1 ~ /^[0-9]+$/ && /[0-9]    [^ ]+$/ { print $1, $NF }' text | sort >of_text
	jq -r '(.processes[] | .user_profile[], .kernel_profile[], .interrupts[], .idle_profile[]),
		.kernel[] | .symbols[] | "\(.samples) \(.symbol)"' run.json | sort >of_json
	diff of_text of_json
}

@test "processes below the threshold are gathered, and still add up" {
	processes_of '"\([.processes[].name] | join(" ")) \(.other.n) \(.other.all.samples)"' -t 10 >row
	[ "$(cat row)" = "cpuspin client [idle] 1 1" ]
	make_run | assay report -P -i - -t 10 >text
	grep -q '  1 .*other (1)$' text
}

@test "the header names the clock and its blind spot" {
	make_run | assay report -P -i - >text
	grep -q 'blind spot' text
	grep -q 'clock  *cpu-clock' text
}

@test "the page is one file of markup that asks for nothing" {
	make_run | sed 's/^cpuspin/<b>"spin/' | assay report -P -i - --html page.html
	grep -q "default-src 'none'" page.html
	grep -q '&lt;b&gt;&quot;spin' page.html
	run grep -e '<b>' -e '<script' -e 'https\?:' page.html
	[ "$status" = 1 ]
	python3 - page.html <<-'END'
		import html.parser, sys
		class Tags(html.parser.HTMLParser):
		    open = []
		    def handle_starttag(self, tag, attributes):
		        if tag not in ("meta", "link"): self.open.append(tag)
		    def handle_endtag(self, tag):
		        assert self.open.pop() == tag, (tag, self.getpos())
		tags = Tags()
		tags.feed(open(sys.argv[1]).read())
		assert not tags.open, tags.open
	END
}

@test "names that break careless formats" {
	"$PROGRAMS/make_session" s hostile 3000
	assay report -P -i s -t 0 --instructions --format json | jq -e '.processes | length == 2'
	assay report -P -i s -t 0 --instructions --html page.html
	run grep -c -i '<script\|alert(1)</' page.html
	[ "$output" = 0 ]
	run grep -c $'\x1b' page.html
	[ "$output" = 0 ]
	assay report -P -i s -t 0 --instructions >text
	run grep -c $'[\x01-\x08\x0b-\x1f\x7f]' text
	[ "$output" = 0 ]
}

@test "several events: the first is shown, the others are counted" {
	"$PROGRAMS/make_session" s lossy 20000
	assay report -P -i s --format json >run.json
	jq -e '.statistics | .other_events > 0 and .lost > 0 and .delivered == .all.samples
		+ .other_events + .lost' run.json
	assay report -P -i s --format json event:page-faults |
		jq -e '.statistics | .other_events == 0 and .filtered > 0 and (.clock | test("no clock"))
			and .delivered == .all.samples + .filtered + .lost'
}

@test "a damaged session is reported as far as it goes" {
	"$PROGRAMS/make_session" s lossy 20000
	segment=$(find s -name '*.seg*' -o -name '0*' -type f | head -1)
	[ -n "$segment" ] || segment=$(find s -type f -size +20k | head -1)
	printf 'xxxxxxxx' | dd of="$segment" bs=1 seek=$(($(stat -c %s "$segment") / 2)) conv=notrunc 2>/dev/null
	run --separate-stderr assay report -P -i s --format json
	[[ "$status" = 0 || "$status" = 1 ]]
	[ "$status" = 1 ] || jq -e '.statistics.delivered > 0' <<<"$output"
}

@test "a terminal of 20 columns gets the columns that fit, and all rows" {
	make_run >run.txt
	COLUMNS=20 assay report -P -i run.txt -t 0 >narrow
	awk '/^Summary/ { on = 1; next } /^$/ { on = 0 } on && length > 24 { print; bad = 1 } END { exit bad }' narrow
	awk '/^Summary/ { on = 1; next } /^$/ { on = 0 } on' narrow | grep -q '^ *70 *2 .*cpuspin'
	COLUMNS=1 assay report -P -i run.txt -t 0 | grep -q cpuspin
}

@test "a reader that leaves is no failure" {
	for i in {1..300}; do
		sample "process$i" "$i" 1 main@/tmp/a k:x k:y
	done >run.txt
	assay report -P -i run.txt -t 0 | head -n 1
	assay report -P -i run.txt -t 0 --format json | head -c 10
	[ "${PIPESTATUS[0]}" = 0 ]
}

@test "what does not go with --processes is refused" {
	for option in --tree "--by comm" "--svg x.svg" "--format xml" "--sort samples" "--columns name" "--baseline b" "--merge all" --lines --inline; do
		# shellcheck disable=SC2086
		run assay report -P $option
		refused 2 "--processes"
	done
	run assay report --instructions
	refused 2 "--processes"
}

@test "a session without kernel names says that interrupts are not apart" {
	make_run | sed 's/[^	 ]*+0x10 (\[kernel.kallsyms\])/[unknown] ([kernel.kallsyms])/' |
		assay report -P -i - >text
	grep -q 'interrupts count for the processes' text
}

@test "samples that were not kept apart by process are one row" {
	need_recording
	assay record -q --separate=none -o s -F "$(at_most 2000)" -- "$PROGRAMS/split" 0.2cpu >/dev/null
	assay report -P -i s --format json >run.json
	[ "$(jq -r '[.processes[].pid] | unique | join(" ")' run.json)" = -1 ]
	assay report -P -i s | awk '/^Summary/ { on = 1 } on' | grep -q '  all$'
}

@test "a stripped program's functions are named between known functions" {
	need_recording
	strip -o split "$PROGRAMS/split"
	assay record -q -o s -F "$(at_most 2000)" -- ./split 0.3cpu >/dev/null
	assay report -P -i s --format json -t 0 |
		jq -e '[.processes[].user_profile[] | select(.image == "split") | .symbols[].symbol]
			| any(test("->|\\+0x"))'
}

@test "the instructions that were hit stand under their function" {
	need_recording
	assay record -q -o s -F "$(at_most 2000)" -- "$PROGRAMS/split" 0.3cpu >/dev/null
	assay report -P -i s -t 0 --instructions --format json >run.json
	jq -e '[.processes[].user_profile[] | select(.image == "split") | .symbols[]
		| .samples == ([.instructions[].samples] | add)] | all and length > 0' run.json
	jq -e '[.. | .instructions? // empty | .[] | select(.text and (.place | test("forty")))]
		| length > 0' run.json
	assay report -P -i s -t 0 --instructions | grep -q '<forty+0x[0-9a-f]*>: [a-z]'
}

@test "missing code gives one note, and its places stay" {
	need_recording
	cp "$PROGRAMS/split" gone
	assay record -q -o s -F "$(at_most 2000)" -- ./gone 0.3cpu >/dev/null
	assay report -i s -l >/dev/null # its names are kept
	rm gone
	assay report -P -i s -t 0 --instructions >text
	[ "$(grep -c 'code of .*gone' text)" = 1 ]
	grep -q '<.*+0x[0-9a-f]*>$' text
}

@test "interrupts are found where they happen: in a recording of the machine" {
	[ "$(id -u)" = 0 ] || skip "needs root: the kernel is sampled"
	need_recording
	assay record -q -a -o probe -- true 2>probe.log || skip "recording of the machine is not permitted: $(tail -1 probe.log)"
	cp "$PROGRAMS/split" "own$$" # others may run the same program
	assay record -q -a -o s -F "$(at_most 4000)" -- "./own$$" 0.3cpu >/dev/null
	assay report -P -i s --format json -t 0 >run.json
	jq -e '.statistics | .delivered == .user.samples + .system.samples + .irq.samples
		+ .softirq.samples + .idle.samples + .other_events + .filtered + .lost' run.json
	jq -e '.statistics.user.samples > 0' run.json
	jq -e --arg name "own$$" '.processes[] | select(.name == $name).user.samples > 0' run.json
}

@test "a process has its first thread's name, not that of a thread with more samples" {
	{
		sample server 100 2 main@/tmp/server
		sample server 100 9 work@/tmp/server | sed 's,^server 100/100,pool-7 100/107,'
	} >run.txt
	[ "$(assay report -P -i run.txt --format json | jq -r '.processes[].name')" = server ]
	run assay report -i run.txt --by process
	[[ "$output" == *server* && "$output" != *pool-7* ]]
}

@test "without samples of its first thread, a process has its program's name" {
	need_recording
	assay record -q -e cpu-clock -o s -- python3 -c '
import ctypes, threading, time
def work():
    ctypes.CDLL(None).prctl(15, b"pool-7", 0, 0, 0)
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
t = threading.Thread(target=work); t.start(); t.join()'
	program=$(basename "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')")
	run assay report -i s --by process comm:pool-7
	[[ "$output" == *"$program"* && "$output" != *pool-7* ]] || [[ "$output" == *" python"* ]]
	run assay report -i s --by thread
	[[ "$output" == *pool-7* ]]
}
