#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Probes on programs as events: uprobes, returns and static probes (USDT).

load helpers

P=$PROGRAMS/probes

need_uprobes() {
	need_root
	need_recording
	[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes"
}

# events_of SESSION: the samples of each event, a line an event.
events_of() {
	assay info --format json "$1" | jq -r '.events[] | "\(.samples) \(.name)"'
}

@test "each call of a function is a sample, with its callers" {
	need_uprobes
	assay record -e "uprobe:$P:sell" -e "uprobe:$P:refund" -o s -- "$P"
	run -0 events_of s
	[ "$output" = "100 uprobe:$P:sell
7 uprobe:$P:refund" ]
	run -0 assay report --tree -i s
	[[ "$output" == *main*sell* ]]
}

@test "returns, instructions in a function, and places of a file are probes" {
	need_uprobes
	offset=$(nm "$P" | awk '$3 == "refund" { print "0x" $1 }')
	assay record -e "uretprobe:$P:sell,uprobe:$P:refund+0,cpu-clock" -o s -- "$P"
	run -0 events_of s
	[[ "$output" == *"100 uretprobe:$P:sell"*"7 uprobe:$P:refund+0"* ]]
	# the program is linked at 0, and its code is where the file has it
	assay record -e "uprobe:$P:$offset" -o t -- "$P"
	[ "$(events_of t)" = "7 uprobe:$P:$offset" ]
}

@test "a static probe counts at all of its places, and its semaphore is raised" {
	need_uprobes
	run -0 "$P"
	[ "$output" = "0 of 107" ]
	run --separate-stderr assay record -e "usdt:$P:shop:sold" -o s -- "$P"
	[ "$output" = "107 of 107" ]
	run -0 events_of s
	[ "$output" = "100 usdt:$P:shop:sold#1
7 usdt:$P:shop:sold#2" ]
}

@test "stat counts probes, and trace waits for one" {
	need_uprobes
	assay stat -e "usdt:$P:shop:paid_back,uprobe:$P:sell" --format json -o counts -- "$P"
	[ "$(jq -c '[.counts[].count]' counts)" = "[7,100]" ]
	run --separate-stderr within assay trace --source samples --keep 3600s \
		--on-symbol "usdt:$P:shop:paid_back" -- "$P" wait
	[[ "$output" == *"usdt:$P:shop:paid_back was called"* || "$stderr" == *"usdt:$P:shop:paid_back was called"* ]]
}

probe_list() { cat /sys/kernel/tracing/uprobe_events /sys/kernel/debug/tracing/uprobe_events 2>/dev/null; }

@test "a probe counts in the threads and processes that a command starts, and leaves nothing" {
	need_uprobes
	run --separate-stderr assay record -e "uprobe:$P:sell" -o s -- sh -c "'$P'; '$P'; echo \$?"
	[ "$status" = 0 ]
	[[ "$output" == *"0 of 107"*"0 of 107"*0 ]]
	if [[ "$stderr" == *"with -a they see all"* ]]; then
		skip "tracefs is not writable here"
	fi
	[ "$(events_of s)" = "200 uprobe:$P:sell" ]
	assay stat -e "uretprobe:$P:sell,usdt:$P:shop:paid_back" --format json -o counts -- sh -c "'$P'; '$P'; true"
	[ "$(jq -c '[.counts[].count]' counts)" = "[200,14]" ]
	# a semaphore is raised in them, too
	run --separate-stderr assay record -e "usdt:$P:shop:sold" -o t -- sh -c "'$P'; '$P'; true"
	[ "$output" = "107 of 107
107 of 107" ]
	mkdir "a b"
	cp "$P" "a b/probes"
	assay record -e "uprobe:a b/probes:sell" -o u -- sh -c "'a b/probes'; 'a b/probes'; true"
	[ "$(assay info --format json u | jq '.events[0].samples')" = 200 ]
	# by another recording of this machine, there may be others
	run ! grep -F "$P" <(probe_list)
}

@test "what a killed recording left in the kernel's list goes with the next one" {
	need_uprobes
	background assay record -e "uprobe:$P:sell" -o s -- sh -c 'echo $$ >child; exec sleep 100'
	local killed=$pid
	in_list() { grep -q "assay_${killed}_" <(probe_list); }
	wait_for so_or_ended "$killed" in_list
	in_list || skip "tracefs is not writable here"
	wait_for test -s child # a command that has not begun ends with its recorder
	kill -9 "$killed"
	wait "$killed" || true
	kill "$(<child)"
	in_list
	assay record -e "uprobe:$P:sell" -o t -- true
	run ! in_list
}

@test "without tracefs, probes see the first thread, and that is told" {
	need_uprobes
	run --separate-stderr unshare -m sh -c 'umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug 2>/dev/null
		mount -t tmpfs none /sys/kernel/tracing && exec "$@"' sh assay record -e "uprobe:$P:sell" -o s -- sh -c "'$P'; '$P'; true"
	[ "$status" = 0 ]
	[[ "$stderr" == *"with -a they see all"* ]]
	[ "$(events_of s)" = "0 uprobe:$P:sell" ]
	assay record -a -e "uprobe:$P:sell" -o t -- sh -c "'$P'; '$P'; echo done"
	[ "$(events_of t)" = "200 uprobe:$P:sell" ]
}

@test "a wrong probe says what is wrong, and what may have been meant" {
	need_uprobes
	run assay record -e "uprobe:$P:sel" -o s -- true
	refused 1 "no function 'sel' in $P" "nearest: sell"
	run assay record -e "usdt:$P:shop:soldd" -o s -- true
	refused 1 "no static probe 'shop:soldd' in $P" "nearest: shop:sold"
	run assay record -e "usdt:$PROGRAMS/split:shop:sold" -o s -- true
	refused 1 "split has no static probes"
	strip -o stripped "$P"
	run assay record -e "uprobe:stripped:sell" -o s -- true
	refused 1 "stripped" "debug symbols"
	run assay record -e "uprobe:/nonexistent:sell" -o s -- true
	refused 1 "/nonexistent: No such file"
	run assay record -e "uprobe:$P:sell+x" -o s -- true
	refused 1 "no function 'sell+x'"
	run assay record -e "uprobe:$P:sell+8x" -o s -- true
	refused 2 "'8x' is no offset"
	run assay record -e "uprobe:sell" -o s -- true
	refused 2 "the form is uprobe:PATH:FUNCTION"
	run assay record -e "usdt:$P:sold" -o s -- true
	refused 2 "the form is usdt:PATH:PROVIDER:NAME"
	printf 'no ELF file' >text
	run assay record -e "usdt:text:a:b" -o s -- true
	refused 2 "text" ELF
	[ ! -e s ]
}

@test "an ordinary user is told what it takes" {
	need_uprobes
	run unprivileged assay record -e "uprobe:$P:sell" -o s -- true
	refused 1 "needs root or CAP_PERFMON"
}
