#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay script: compared with perf's if it is installed, and features that only assay has.

load helpers
load perfdata

same_as_perf() {
	ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_script.py" "$@"
}

# A recording by hand: a comm and three samples.
comm() { # TEXT OF 15 BYTES
	le 3 4; le 0 2; le 32 2
	le 41 4; le 41 4; printf '%s' "$1"; le 0 1
}
by_hand() {
	{ pipe_header; comm 'a"b
<c>	d     e'; sample 4096 1000000000; sample 8192 2500000000; sample 8192 4000000000 43; } >hand.data
}

@test "the text is perf's: flat, chains, copied stacks, several events, groups, a pipe" {
	perf_record -F "$(at_most 1999)" -o flat.data -- "${work[@]}"
	perf_record -g -F 999 -o fp.data -- "${work[@]}"
	perf_record --call-graph dwarf,2048 -F 299 -o dwarf.data -- "$PROGRAMS/templates" 100
	perf_record -e cpu-clock,page-faults -F 499 -o events.data -- "${work[@]}"
	perf_record -e '{cpu-clock,page-faults}:S' -F 499 -o group.data -- "${work[@]}"
	perf_pipe pipe.data -g -F 499 -- "${work[@]}"
	same_as_perf flat.data fp.data events.data group.data pipe.data
	# Whose unwinder goes how far is not the layout's matter.
	same_as_perf -- -G -- dwarf.data
	assay script -i dwarf.data | grep -q '^	 .* main+0x.* (.*/templates)$'
	same_as_perf -- -F comm,pid,tid,time,ip,sym,symoff,dso -- flat.data fp.data
	same_as_perf -- --ns -G -F -period,+misc -- flat.data fp.data
	same_as_perf -- --time '10%/2,10%/5' -- flat.data
}

@test "the text is perf's for tracepoints, by their print formats" {
	perf_record -a -e sched:sched_switch,raw_syscalls:sys_enter,syscalls:sys_enter_openat,syscalls:sys_exit_openat \
		-o tp.data -- ls /usr
	same_as_perf tp.data
	assay script -i tp.data --format json >tp.json
	jq -es 'map(select(.event == "raw_syscalls:sys_enter")) | .[0].fields.id | type == "number"' tp.json
}

@test "the text is perf's for recordings of other machines, and so are branch stacks" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	command -v perf >/dev/null || skip "perf is not installed"
	same_as_perf "$FIXTURES"/perf.data.*
	same_as_perf -- -F ip,sym,symoff,dso,brstack -- "$FIXTURES/perf.data.branch-4.14"
	same_as_perf -- -F ip,brstacksym,comm,pid,tid -- "$FIXTURES/perf.data.branch-4.14"
	same_as_perf -- -F brstackoff -- "$FIXTURES/perf.data.branch-4.14"
}

@test "switches come with the rest where they were recorded and are asked for" {
	perf_record -a --switch-events -e cpu-clock -F 99 -o sw.data -- sleep 0.2
	assay script -i sw.data --show-switch-events --show-task-events >out
	grep -q 'PERF_RECORD_SWITCH_CPU_WIDE OUT .* next pid/tid:' out
	grep -q 'PERF_RECORD_COMM' out
	[ "$(assay script -i sw.data | grep -c PERF_RECORD)" = 0 ]
}

@test "JSON is valid for any name, an object a line" {
	by_hand
	assay script -i hand.data --format json >out.json
	[ "$(wc -l <out.json)" = 3 ]
	[ "$(jq -rs '.[0].comm' out.json)" = 'a"b
<c>	d     e' ]
	[ "$(jq -s '.[1].time_ns' out.json)" = 2500000000 ]
	[ "$(jq -rs '.[0].frames[0].address' out.json)" = 0x1000 ]
}

@test "lines of CPUs at the same time take turns" {
	python3 - "$ROOT" >cpus.data <<-'END' || skip "no python3"
		import struct, sys
		sys.path.insert(0, sys.argv[1] + "/tests/cli")
		import perf_records as p
		out = p.BEGIN + p.attr(1, 0, 1, p.IP | p.TID | p.TIME | p.CPU, 0)
		for time, cpu in (1, 0), (1, 0), (1, 0), (1, 1), (1, 1), (1, 1), (2, 1), (2, 0):
		    out += p.record(p.SAMPLE, p.USER, struct.pack("<QiiQII", 4096, 41, 41, time * 10**9, cpu, 0))
		sys.stdout.buffer.write(out)
	END
	cpus() { assay script -i cpus.data -F cpu "$@" | tr -dc '0-9\n' | sed 's/^00//' | tr -d '\n'; }
	[ "$(cpus)" = 00011110 ]
	[ "$(cpus --interleave)" = 00011110 ]
	[ "$(cpus --interleave=2)" = 00110110 ]
	[ "$(cpus --interleave=1)" = 01010110 ]
	[ "$(assay script -i cpus.data --interleave=1 --format json | jq -s -c 'map(.cpu)')" = "[0,1,0,1,0,1,1,0]" ]
	run assay script -i cpus.data --interleave=0
	refused 2 "is no number of lines"
}

@test "spans of time, ids, and their nonsense" {
	by_hand
	[ "$(assay script -i hand.data --time 2,3 -F time | wc -l)" = 1 ]
	[ "$(assay script -i hand.data --time ,2.5 -F time | wc -l)" = 2 ]
	[ "$(assay script -i hand.data --time 0%-50% -F time | wc -l)" = 2 ]
	[ "$(assay script -i hand.data --around 2.500005 -F time | wc -l)" = 1 ]
	[ "$(assay script -i hand.data --around 2.500005,4us -F time | wc -l)" = 0 ]
	[ "$(assay script -i hand.data --around 2.5,1s -F time | wc -l)" = "$(assay script -i hand.data --time 1.5,3.5 -F time | wc -l)" ]
	for bad in nonsense 2,x '2,5us,' 2,-1us '10%' ',2'; do
		run assay script -i hand.data --around "$bad"
		refused 2 "--around '$bad' is not TIME"
	done
	run assay script -i hand.data --around 2 --time 1,2
	refused 2 "choose one"
	[ "$(assay script -i hand.data --tid 43 -F tid | wc -l)" = 1 ]
	[ "$(assay script -i hand.data --pid 40 | wc -l)" = 0 ]
	for bad in nonsense 5 3,2 110%/1 10%/11 10%/0 0%/1 30%-10% 1,2x ',' '99999999999999999999,'; do
		run assay script -i hand.data --time "$bad"
		refused 2 "--time '$bad' is not START,STOP"
	done
	run assay script -i hand.data --pid x
	refused 2 "'x' is not a process id"
	run assay script -i hand.data -C 1-
	refused 2 "not a list of CPUs"
}

@test "a field that is not there is refused with those that are" {
	by_hand
	run assay script -i hand.data -F comm,nonsense
	refused 2 "there is no field 'nonsense'; there are comm,pid,tid,cpu" brstack
	run assay script -i hand.data -F nonsense:comm
	refused 2 "'nonsense' is no type of event"
	run assay script -i hand.data -F hw:trace
	refused 2 "only tracepoints"
	run assay script -i hand.data -F comm,+ip
	refused 2 "sets fields, and also adds"
	run assay script -i hand.data -F comm,cpu
	refused 2 "have no CPU, so there is no field 'cpu'"
	run assay script -i hand.data -F comm,sym
	refused 2 "'sym' needs an address"
	[ "$(assay script -i hand.data -F sw:time | head -1)" = '    1.000000: ' ]
	[ -z "$(assay script -i hand.data -F sw:)" ]
}

@test "of a damaged file all before the damage is printed, and the status is 1" {
	by_hand
	head -c $(($(stat -c %s hand.data) - 4)) hand.data >cut.data
	run --separate-stderr assay script -i cut.data -F time
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
	[[ "$stderr" == *"cut.data: at offset"*"the data ends within a record of 32 bytes"* ]]
	run assay script -i absent.data
	refused 1 "no session 'absent.data'"
	run assay script hand.data
	refused 2 "name the recording with -i"
}

@test "-D shows every record as it stands" {
	by_hand
	assay script -i hand.data -D >out
	[ "$(grep -c ^0x out)" = 5 ]
	grep -q '^0x10 \[0x48\] HEADER_ATTR misc 0x0:' out
	grep -q '^0x58 \[0x20\] COMM misc 0x0: .* cpu0 41/41 comm name=' out
	grep -q '^0x78 \[0x20\] SAMPLE misc 0x2: 1.000000000 cpu0 41/41 sample .* ip=0x1000' out
	grep -q '^  0000  09 00 00 00 02 00 20 00  *\|^  0000  09 00 00 00 02 00 20 00 00 10' out
	by_hand
	assay import -q hand.data -o s.assay
	run assay script -i s.assay -D
	refused 1 "is a session, which has no records"
}

@test "a session gives its sums, with their counts" {
	need_recording
	assay record -q -F "$(at_most 999)" -o s.assay -- "$PROGRAMS/split" 400
	n=$(fact s.assay .samples)
	[ "$n" -gt 0 ]
	[ "$(assay script -i s.assay --format json | jq -s 'map(.samples) | add')" = "$n" ]
	assay script -i s.assay | grep -q 'split .* samples\? .*:'
	assay script -i s.assay -F samples,ip,sym -S forty | grep -q forty
}

@test "srcline is the line, by debug information" {
	readelf -S "$PROGRAMS/split" | grep -q debug_line || skip "needs test programs with debug information"
	perf_record -g -F 999 -o p.data -- "$PROGRAMS/split" 300
	assay script -i p.data -F ip,sym,srcline >lines
	grep -q '^  work\.h:[0-9]*$' lines
}

@test "an image is chosen by its name, also one in brackets" {
	by_hand
	assay script -i hand.data -F dso,ip >all
	grep -F '[unknown]' all
	[ "$(assay script -i hand.data -d '[unknown]' -F dso,ip)" = "$(cat all)" ]
	[ "$(assay script -i hand.data -d 'nothing*' | wc -l)" = 0 ]
}

@test "perf's own options and fields: chains end at a function, instructions, source, the header" {
	perf_record --call-graph dwarf,4096 -F 299 -o dwarf.data -- "$PROGRAMS/inlines"
	perf_record -e cpu-clock:u -F 299 -o user.data -- "$PROGRAMS/inlines"
	same_as_perf -- --stop-bt work,main -F comm,ip,sym,symoff,dso -- dwarf.data
	same_as_perf -- -F +insnlen,+insn -- user.data
	same_as_perf -- -F +srccode -- user.data
	same_as_perf -- -f -a --demangle -G -F +machine_pid,+vcpu,+bpf-output -- dwarf.data
	assay script -i user.data -F ip,sym,srccode >out
	has '^|[0-9]* .*line that is hot' out
	# The facts are those of perf's header; so is each line about an event.
	perf script -i user.data --header-only | grep -E '^# (captured|hostname|os release|perf version|arch|cpuid|total memory|event) ' |
		sed -E 's/ \(PERF_[A-Z_]+\)//g; s/ config = 0,//; s/(type = [0-9]+) \([a-z]+\)/\1/' >wanted # as in perf 6.1
	assay script -i user.data --header-only >header
	[ "$(grep -cvE '^#' header)" = 0 ]
	grep -E '^# (captured|hostname|os release|perf version|arch|cpuid|total memory|event) ' header | diff wanted -
	assay script -i user.data -I | cmp -n "$(stat -c %s header)" - header
	assay script -i user.data --header --kallsyms /proc/kallsyms -v | has -c 'work' -
	run assay script -i user.data --kallsyms /nowhere
	[ "$status" = 0 ]
}

@test "inlined functions have lines with --inline, above the function that has their code" {
	perf_record --call-graph dwarf,4096 -e cpu-clock:u -F 299 -o dwarf.data -- "$PROGRAMS/inlines"
	assay script -i dwarf.data --inline >out
	has -Pzo '\tmix\+0x[0-9a-f]* \(inlined\)\n|mix\+0x[0-9a-f]+ \(inlined\)\n.*stir\+0x[0-9a-f]+ \(inlined\)\n.* work\+0x[0-9a-f]+ \(/' out
	[ "$(assay script -i dwarf.data --no-inline | grep -c inlined)" = 0 ]
	if command -v perf >/dev/null && command -v addr2line >/dev/null; then
		# perf 7 prints another address.
		perf script -i dwarf.data --inline -F ip,sym,symoff 2>/dev/null | grep -oE ' (mix|stir|work)\+.*' >theirs
		assay script -i dwarf.data --inline -F ip,sym,symoff | grep -oE ' (mix|stir|work)\+.*' | diff theirs -
	fi
}

# A recording of two events, of which the second is of a guest.
@test "samples of a guest have its process and its CPU, as in perf" {
	{
		printf PERFILE2
		le 16 8
		le 64 4; le 0 2; le 88 2
		le 1 4; le 64 4; le 0 8; le 1000000 8; le $((0x10007)) 8; le 0 8; le $((1 << 18)) 8; le 0 8; le 0 8
		le 5 8; le 6 8
		# ID_INDEX: id, number, CPU, thread; then process and CPU of the guest
		le 69 4; le 0 2; le 112 2
		le 2 8
		le 5 8; le 0 8; le 0 8; le 41 8
		le 6 8; le 1 8; le 1 8; le 41 8
		le 0 8; le 0 8
		le 4321 8; le 7 8
		for id in 5 6 5; do
			le 9 4; le 2 2; le 40 2
			le $id 8; le 4096 8; le 41 4; le 41 4; le $((id * 1000000000)) 8
		done
		# LOST: five records of the guest
		le 2 4; le 2 2; le 48 2
		le 6 8; le 5 8; le 41 4; le 41 4; le 7000000000 8; le 6 8
	} >guest.data
	assay script -i guest.data -F machine_pid,vcpu,comm,tid,time >out
	diff out - <<-'END'
		             :41    41     5.000000: 
		             :41    41     5.000000: 
		VM: 4321 VCPU:007              :41    41     6.000000: 
	END
	assay script -i guest.data --format json | jq -c '[.machine_pid, .vcpu]' | diff - <(printf '%s\n' '[null,null]' '[null,null]' '[4321,7]')
	assay script -i guest.data --show-lost-events | grep -q 'PERF_RECORD_LOST lost 5'
	if command -v perf >/dev/null; then
		perf script -i guest.data -F machine_pid,vcpu,comm,tid,time 2>/dev/null | tr -s ' ' | diff <(tr -s ' ' <out) -
	fi
}
