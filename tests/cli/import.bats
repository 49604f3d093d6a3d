#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# perf.data files: made here by perf where it is installed, and recordings of other machines
# in the folder $ASSAY_FIXTURES/perfdata where there is one.

load helpers
load perfdata

same_as_perf() {
	ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_perf.py" "$@"
}

# A recording that threads read in parts equals one that is read as a whole: rows, stacks and losses.
same_in_parts() {
	local file n by
	for file in "$@"; do
		for n in 1 4; do
			rm -rf s.assay
			ASSAY_IMPORT_PARTS=$n assay import -q -o s.assay "$file"
			{
				# Rows of equal counts come in the order of their names, not as they were met.
				for by in event,app,process,thread,cpu,image,address comm,process image,symbol; do
					assay report -i s.assay -t 0 --format csv --by "$by" || true # one has no samples
				done
				for by in --tree --inverted "--tree --by=comm"; do
					# shellcheck disable=SC2086 # words
					assay report -i s.assay -t 0 $by || true
				done
				assay export -i s.assay --format folded -o - | LC_ALL=C sort
				assay info s.assay | grep -A99 '^losses' || true
			} >"parts.$n"
		done
		diff parts.1 parts.4
	done
	[ -s parts.4 ]
}

@test "counts are perf's: flat, chains, several events, groups, compressed, a pipe, threads" {
	perf_record -F "$(at_most 1999)" -o flat.data -- "${work[@]}"
	perf_record -g -F "$(at_most 1999)" -o fp.data -- "${work[@]}"
	perf_record --call-graph dwarf,2048 -F 499 -o dwarf.data -- "${work[@]}"
	perf_record -e cpu-clock,page-faults -F 999 -o events.data -- "${work[@]}"
	perf_record -e '{cpu-clock,page-faults}:S' -F 499 -o group.data -- "${work[@]}"
	perf_record -z -g -F "$(at_most 1999)" -o compressed.data -- "${work[@]}"
	perf_record --no-timestamp -F 999 -o untimed.data -- "${work[@]}"
	perf_record --buildid-mmap -F 999 -o buildid.data -- "${work[@]}"
	perf_pipe pipe.data -g -F 999 -- "${work[@]}"
	same_as_perf ./*.data
	same_in_parts ./*.data
}

@test "counts are perf's for a whole machine, tracepoints and one file a thread" {
	perf_record --bpf-event -a -g -F 499 -o all.data -- "${work[@]}"
	perf_record --threads -a -F 499 -o threads.data -- "${work[@]}"
	same_as_perf all.data threads.data
	perf_record -a -e sched:sched_switch -o switch.data -- "${work[@]}"
	same_as_perf switch.data
}

# The perfs of other versions that are in the PATH: perf_5.10, perf-6.12 …
other_perfs() {
	compgen -c | grep -xE 'perf[_-][0-9]+[0-9.]*' | sort -u || true
}

# Each kind of recording that this perf can make: record_kinds PERF
record_kinds() {
	local perf=$1 kind options
	while IFS='|' read -r kind options; do
		# shellcheck disable=SC2086 # words are arguments
		timeout 60 "$perf" record -q -N -o "$kind.data" $options -- "${work[@]}" </dev/null >/dev/null 2>"$kind.log" || rm -rf "$kind.data"
	done <<-END
		flat|-F 499
		fp|-g -F 499
		dwarf|--call-graph dwarf,4096 -F 99
		deferred|--call-graph fp,defer -F 499
		events|-e cpu-clock,page-faults -g -F 499
		group|-e {cpu-clock,page-faults}:S -F 499
		compressed|-z -g -F 499
		untimed|--no-timestamp -F 499
		buildid|--buildid-mmap -g -F 499
		all|-a -g -F 199
		threads|--threads -a -g -F 199
		switch|--switch-events -g -F 499
		tracepoint|-a -e sched:sched_switch -g
		namespaces|--namespaces -g -F 499
		cgroups|--all-cgroups -g -F 499
		addresses|-d -e page-faults -c 1 -g
		weight|-W -g -F 499
		registers|--user-regs=ip,sp -I -g -F 499
		clock|-k CLOCK_MONOTONIC -g -F 499
		off-cpu|--off-cpu -g -F 499
		latency|--latency -g -F 499
		reads|-s -g -F 499
	END
}

@test "counts are those of each perf that is here, of each kind that it can record" {
	# A perf that runs from another folder has this folder first in its PATH: its sh may not run here.
	local perf n=0 work=("$PROGRAMS/threads")
	[ -n "$(other_perfs)" ] || skip "no perf of another version is in the PATH, as perf-6.12"
	need_recording
	for perf in $(other_perfs) $(compgen -c | grep -xm1 perf || true); do
		mkdir "$perf"
		cd "$perf" || return 1
		record_kinds "$perf"
		[ "$(find . -maxdepth 1 -name "*.data" | wc -l)" -ge 15 ] || { head -3 ./*.log >&2; false; }
		PERF=$perf same_as_perf ./*.data >../result || { cat ../result >&2; false; }
		# 15 kinds with samples, beside those that only newer perfs have (docs/testing.md)
		[ "$(grep -c ': [1-9][0-9]* samples, equal' ../result)" -ge 15 ]
		# And it reads what assay records.
		assay record -q --raw -g -F 499 -o ../fp.raw -- "${work[@]}"
		assay record -q --raw -a -F 199 -o ../all.raw -- "${work[@]}"
		assay record -q --raw -e cpu-clock,page-faults -o ../events.raw -- "${work[@]}"
		PERF=$perf same_as_perf ../*.raw
		cd .. || return 1
		n=$((n + 1))
	done
	[ $n -gt 0 ]
}

@test "counts are perf's for recordings of other machines" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	command -v perf >/dev/null || skip "perf is not installed"
	same_as_perf "$FIXTURES"/perf.data.*
}

@test "recordings of other machines are the same in parts" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	same_in_parts "$FIXTURES"/perf.data.[bcls]* "$FIXTURES"/sleep.data
}

@test "the same sleep is the same plain, compressed and compressed in a pipe" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	for f in sleep.data sleep.compressed.data sleep.compressed2.pipe.data; do
		run --separate-stderr assay report -i "$FIXTURES/$f" --by comm --format csv
		[ "$status" = 0 ]
		[[ "$output" == *,sleep,* ]]
	done
	run assay import "$FIXTURES/sleep.compressed2.pipe.data" -o s.assay
	refused 0 "143 bytes at its end are messages of perf record"
}

@test "a damaged recording of another machine is an error with its offset" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	run assay report -i "$FIXTURES/perf.data.piped.corrupted.zero_size_sample-3.2"
	refused 1 "at offset 49104: a record claims a size of 0"
}

@test "import makes a session; the old one is kept as .old" {
	{ pipe_header; sample 4096 1000; sample 8192 2000; } >perf.data
	run assay import perf.data -o s.assay
	refused 0 "2 samples, 0 lost"
	run assay import perf.data -o s.assay
	[ -d s.assay.old ]
	[ "$(assay info --format json s.assay | jq .samples)" = 2 ]
	[ "$(assay info --format json s.assay | jq -r '.events[0].name')" = cpu-clock:HG ]
}

@test "a perf.data file stands where a session does, and leaves nothing behind" {
	mkdir tmp
	export TMPDIR=$PWD/tmp
	{ pipe_header; sample 4096 1000; sample 8192 2000; } >perf.data
	run --separate-stderr assay report -i perf.data --format json
	[ "$status" = 0 ]
	[ "$(assay info -i perf.data --format json | jq .samples)" = 2 ]
	[ -z "$(ls tmp)" ]
}

@test "a report of a recording has the exact times that its filters and weights need" {
	{ pipe_header; sample 4096 1000000000; sample 8192 1700000000; } >perf.data
	selected() { assay report -i perf.data --format json "$@" | jq .header.samples.selected; }
	[ "$(selected)" = 2 ]
	[ "$(selected time:0-0.5)" = 1 ]
	[ "$(selected --weight wall)" = 2 ]
	[ "$(selected --by parallelism)" = 2 ]
	assay report -i perf.data --html page.html
	[ -s page.html ]
}

@test "a recording comes through a pipe" {
	{ pipe_header; sample 4096 1000; } >perf.data
	run assay import - -o s.assay <perf.data
	refused 0 "1 samples"
	# shellcheck disable=SC2002 # this tests a pipe
	cat perf.data | assay report -i - --format csv >/dev/null
	mkfifo fifo
	background cp perf.data fifo
	run within assay import fifo -o t.assay
	refused 0 "1 samples"
}

@test "of a damaged file what comes before is reported, and the status is 1" {
	{ pipe_header; sample 4096 1000; le 0 64; } >perf.data
	run assay import perf.data -o s.assay
	refused 1 "at offset 120: a record claims a size of 0" "the session ends there"
	[ "$(assay info --format json s.assay | jq .samples)" = 1 ]
	run assay report -i perf.data
	refused 1 "at offset 120"
	{ pipe_header; sample 4096 1000; sample 8192 2000; } | head -c 140 >cut.data
	run assay import cut.data -o t.assay
	refused 1 "1 samples" "at offset 120: the data ends within a record of 32 bytes"
}

@test "four gigabytes of zeros are refused at once" {
	truncate -s 4G zeros.data
	run assay import zeros.data -o s.assay
	refused 1 "zeros.data: it is in no format that assay reads"
	pipe_header >zeros2.data
	truncate -s 4G zeros2.data
	run assay import zeros2.data -o s.assay
	refused 1 "at offset 88: a record claims a size of 0"
}

@test "what cannot be imported leaves no session and says why" {
	printf 'ELF' >small
	run assay import small -o s.assay
	refused 1 "small: it has only 3 bytes"
	[ ! -e s.assay ]
	run assay import absent.data -o s.assay
	refused 1 "absent.data" "No such file"
	run assay import
	refused 2 "no file is named"
	run assay import a b
	refused 2 "one file at a time"
	: >inTheWay
	{ pipe_header; sample 4096 1000; } >perf.data
	run assay import perf.data -o inTheWay
	refused 1 "inTheWay is in the way"
}

@test "nothing of this machine names the processes of another time" {
	# Process 1 runs here as well, and this kernel has a name for every address.
	{
		pipe_header
		le 9 4; le 2 2; le 32 2
		le 4096 8; le 1 4; le 1 4; le 1000 8
		le 9 4; le 1 2; le 32 2
		le $((0xffffffff81000000)) 8; le 1 4; le 1 4; le 1001 8
	} >perf.data
	run --separate-stderr assay report -i perf.data --by comm,image --format csv
	[ "$status" = 0 ]
	[[ "$output" != *"$(cat /proc/1/comm)"* ]]
	[[ "$output" != *'[kernel],'*,1,* ]]
}
