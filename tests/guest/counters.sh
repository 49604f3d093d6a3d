#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware counters where an instruction is a cycle and a nanosecond: figures are exact.
. /tests/checks.sh

PERIOD=77777 # no round of a program's work is a multiple of it

counted() { # PERF_COUNT_HW_* COMMAND…: what the kernel's own counter says
	/programs/counted "$@" | tail -n 1
}

percent_of() { # PART WHOLE: in tenths
	echo $((1000 * $1 / $2))
}

cycles_are_the_default() {
	assay record -o s -- /programs/quarters 100 2>log
	has_no "timer" log
	assay report -i s >report.txt
	has "event     cycles," report.txt
	between 1 "$(of_symbol three_quarters s)" 100000
}

a_sample_each_period() {
	count=$(counted 0 /programs/quarters 100)
	assay record -e cycles:u -c $PERIOD -o s -- /programs/quarters 100
	wanted=$((count / PERIOD))
	between $((wanted - wanted / 100)) "$(fact samples s)" $((wanted + wanted / 100)) samples
	same 0 "$(fact throttled-samples s)"
	same 0 "$(fact ring-full s)"
}

three_quarters_and_one() {
	assay record -e cycles:u -c $PERIOD -o s -- /programs/quarters 100
	all=$(fact samples s)
	between 740 "$(percent_of "$(of_symbol three_quarters s)" "$all")" 760
	between 240 "$(percent_of "$(of_symbol one_quarter s)" "$all")" 260
}

the_same_again() {
	for i in 1 2; do
		assay record -e cycles:u -c $PERIOD -o s$i -- /programs/quarters 100
	done
	same "$(fact samples s1)" "$(fact samples s2)"
	same "$(of_symbol one_quarter s1)" "$(of_symbol one_quarter s2)"
}

a_frequency() {
	count=$(counted 0 /programs/quarters 200) # in nanoseconds, too
	assay record -e cycles:u -F 5000 -o s -- /programs/quarters 200
	wanted=$((count * 5000 / 1000000000))
	between $((wanted - wanted / 5)) "$(fact samples s)" $((wanted + wanted / 5)) samples
}

# The emulator may see an overflow in the kernel as late as on the way out.
user_and_kernel_apart() {
	assay record -e cycles:u -e cycles:k -c $PERIOD -o s -- dd if=/dev/zero of=/dev/null bs=64M count=2
	assay report -i s --by image --format csv >shares
	cat shares
	in_kernel() {
		awk -F, -v event="$1" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
			$c["event"] == event { all += $c["samples"] }
			$c["event"] == event && $c["image"] == "[kernel]" { in_kernel += $c["samples"] }
			END { print all ? int(100 * in_kernel / all) : 0 }' shares
	}
	same 0 "$(in_kernel cycles:u)" "percent of user cycles"
	between 50 "$(in_kernel cycles:k)" 100 "percent of kernel cycles"
}

several_at_once() {
	count=$(counted 1 /programs/quarters 100)
	assay record -e cycles:u:$PERIOD -e instructions:u:4000000 -o s -- /programs/quarters 100
	cycles=$(assay info s | sed -n 's/^events *cycles:u.*: \([0-9]*\) samples.*/\1/p')
	instructions=$(assay info s | sed -n 's/^ *instructions:u.*: \([0-9]*\) samples.*/\1/p')
	between $((count * 99 / 100 / PERIOD)) "$cycles" $((count * 101 / 100 / PERIOD)) cycles
	between $((count / 4000000 - 2)) "$instructions" $((count / 4000000 + 1)) instructions
}

stat_is_the_counter() {
	count=$(counted 0 /programs/quarters 100)
	assay stat -e cycles:u,instructions:u --format csv -o counts -- /programs/quarters 100
	cat counts
	for event in cycles:u instructions:u; do
		got=$(awk -F, -v name=$event 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
			$c["event"] == name { print $c["count"] }' counts)
		between $((count - count / 1000)) "$got" $((count + count / 1000)) $event
	done
	assay stat -e cycles:u,instructions:u -- /programs/quarters 100 2>text
	has "1.00 per cycle" text
}

# Of what takes turns a group does so together: its ratio is exact, as an instruction is a cycle.
a_group_at_once() {
	count=$(counted 0 /programs/quarters 100)
	column() { # NAME EVENT
		awk -F, -v name="$1" -v event="$2" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
			$c["event"] == event { print $c[name] }' counts
	}
	assay stat -e '{cycles,instructions}:u' --format csv -o counts -- /programs/quarters 100
	cat counts
	between $((count - count / 1000)) "$(column count cycles:u)" $((count + count / 1000)) cycles
	same "$(column count cycles:u)" "$(column count instructions:u)" instructions
	same "$(column wanted_ns cycles:u)" "$(column wanted_ns instructions:u)" "time wanted"
	same "$(column ran_ns cycles:u)" "$(column ran_ns instructions:u)" "time that it ran"
	same no "$(column scaled cycles:u)" scaled
	for umask in 1 2 3 4 5 6 7; do others="${others-},r${umask}:u"; done
	assay stat -e "{cycles,instructions}:u$others" --format csv -o counts -- /programs/quarters 300
	cat counts
	same yes "$(column scaled cycles:u)" scaled
	same "$(column ran_ns cycles:u)" "$(column ran_ns instructions:u)" "time that it ran, in turn"
	assay record -e '{cycles,instructions:4000000}:u' -c $PERIOD -o s -- /programs/quarters 100
	between $((count * 99 / 100 / PERIOD)) "$(assay info s | sed -n 's/^events *cycles:u.*: \([0-9]*\) samples.*/\1/p')" \
		$((count * 101 / 100 / PERIOD)) "samples of the leader"
}

too_many_for_a_group() {
	for umask in 1 2 3 4 5 6 7 9 a b; do many="${many-}r${umask},"; done
	refused 1 log assay stat -e "{${many}r11}:u" -- true
	has "group '{r1:u,r2:u,r3:u," log
	has "can't be opened (EINVAL): its events don't fit at once" log
	refused 1 log assay record -e "{${many}r11}:u" -o none -- true
	has "group '{r1:u,r2:u,r3:u," log
}

# Of cycles alone, ten at once: more than there are counters.
events_take_turns() {
	for umask in 1 2 3 4 5 6 7 9 a b; do events="${events-}r${umask}:u,"; done
	assay stat -e "${events}r11:u" -- /programs/quarters 300 2>text
	cat text
	has "scaled: counted" text
	count=$(counted 0 /programs/quarters 300)
	got=$(sed -n 's/^ *\([0-9,]*\)  r11:u .*/\1/p' text | tr -d ,)
	between $((count * 80 / 100)) "$got" $((count * 120 / 100)) "what it would have counted all the time"
}

oprofile_s_names() {
	count=$(counted 0 /programs/quarters 100)
	for event in CPU_CYCLES:50021:0:0:1 CPU_CLK_UNHALTED:50021:0:0:1; do
		assay record -e $event -o s -- /programs/quarters 100
		between $((count * 99 / 100 / 50021)) "$(fact samples s)" $((count * 101 / 100 / 50021)) $event
	done
	assay record -e INST_RETIRED:4000000:0:0:1 -o s -- /programs/quarters 100
	between $((count / 4000000 - 2)) "$(fact samples s)" $((count / 4000000 + 1)) INST_RETIRED
}

the_pmu_and_its_events_are_listed() {
	assay doctor >doctor.txt
	has "cycles work; PMU armv8_pmuv3" doctor.txt
	has "this PMU has none for cycles" doctor.txt
	assay events >events.txt
	has "armv8_pmuv3/cpu_cycles/" events.txt
	has "BRANCH_MISPRED" events.txt # of libpfm4, for this processor
	assay events --check cycles instructions >check.txt
	has "all at once: yes" check.txt
}

what_the_processor_lacks() {
	refused 1 log assay record -e branches:u -o s -- true
	has "has no such counter" log
	assay record -e BRANCH_MISPRED:u -c 1000 -o s -- /programs/quarters 100 2>log ||
		{ has "libpfm4 lists event 'BRANCH_MISPRED'" log && skip "libpfm4 has no codes of events for this processor"; }
	has "event 'BRANCH_MISPRED:u' counted nothing" log
	assay stat -e BRANCH_MISPRED:u,cycles:u -- /programs/quarters 100 2>log
	has "stayed 0: BRANCH_MISPRED:u (" log
}

chains_by() { # PROGRAM HOW: all of the time is in main(), 60 calls down
	assay record -e cycles:u -c 200003 --call-graph "$2" -o s -- /programs/"$1" 300
	all=$(fact samples s)
	got=$(assay report -i s --by symbol --format csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		$c["symbol"] == "main" { print $c["total"] }')
	between $((all - all / 50 - 1)) "$got" "$all" "samples below main()"
	assay export -i s -o s.folded
	awk '{ n = gsub(/level/, "level"); if (n > deepest) deepest = n } END { print deepest }' s.folded >deepest
	between 55 "$(cat deepest)" 60 "calls of level()"
}

kept_as_it_comes() {
	count=$(counted 0 /programs/quarters 100)
	assay record --raw -e cycles:u -c $PERIOD -o raw.data -- /programs/quarters 100
	assay import -o s raw.data
	between $((count * 99 / 100 / PERIOD)) "$(fact samples s)" $((count * 101 / 100 / PERIOD))
	between 1 "$(of_symbol three_quarters s)" 100000
}

unit() { # TEST: in a real process of this architecture, which qemu-user can't give
	ASSAY_TEST_STEPS=300 /programs/test_"$1" >log 2>&1 || { cat log; fail "$1"; }
	cat log
	has "$2" log
}

check "cycles are the default, not a timer" cycles_are_the_default
check "a sample each period, within 1 % of the counter's value" a_sample_each_period
check "a function of three quarters and one of one" three_quarters_and_one
check "the same samples each time" the_same_again
check "a frequency is kept" a_frequency
check "user and kernel apart" user_and_kernel_apart
check "several events at once" several_at_once
check "stat prints the counter's value" stat_is_the_counter
check "more events than counters take turns" events_take_turns
check "events of a group are counted at once" a_group_at_once
check "a group of more events than there are counters is refused" too_many_for_a_group
check "OProfile's names" oprofile_s_names
check "doctor and events know the PMU" the_pmu_and_its_events_are_listed
check "a missing event of the processor is reported" what_the_processor_lacks
check "call chains by frame pointers" chains_by deep fp
check "call chains by unwind tables" chains_by deep-nofp dwarf
check "recorded raw, and imported" kept_as_it_comes
check "the kernel's walk of a stack is that of user space" unit unwind_heap "[       OK ] the_kernel_s_walk_is_that_of_user_space"
check "stacks are those that libdw finds, instruction by instruction" unit unwind_trace "frames equal"
