#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact times of samples, from the recording to each view.

load helpers
load exports
load daemon

# A session s, and the file `turns` with the end of each turn of two functions.
alternating() {
	assay record -q -o s -F "$(at_most 4000)" -- "$PROGRAMS/alternates" "${1:-200}" >turns
}

# Of lines "US FUNCTION", those whose function had its turn then, and all. A sample in the clock's
# code, below the functions, is of no interest.
right() {
	awk 'NR == FNR { end[n] = $1 / 1000; name[n++] = $2; next }
	     $2 != "tick" && $2 != "tock" { next }
	     { while (at < n && end[at] < $1) at++; all++; good += name[at] == $2 }
	     END { print good + 0, all + 0 }' turns -
}

# Innermost of the two functions of each sample: "US FUNCTION".
sample_functions() {
	jq -r '[.time_ns / 1000, ([.frames[].symbol | select(. == "tick" or . == "tock")][0] // "")] | @tsv'
}

@test "the time of each sample names the right function" {
	alternating
	assay script -i s --format json >samples
	sample_functions <samples | sort -n | right >sums
	read -r good all <sums
	[ "$all" -gt 100 ]
	[ $((good * 100)) -ge $((all * 99)) ]
}

@test "script prints the samples of a session in the order of time, one by one" {
	alternating 50
	assay script -i s --format json >samples
	jq .time_ns samples >moments
	sort -n moments | cmp - moments
	n=$(assay report -i s --format json | jq '.total[0].samples')
	[ "$(wc -l <moments)" = "$n" ]
	[ "$(sort -u moments | wc -l)" -gt $((n / 2)) ]
}

@test "time: takes the samples of a part of a second, and the parts add up" {
	alternating 300
	whole=$(total cpu-clock samples)
	sum=0
	for from in 0 100 200 300 400 500 600 700 800 900; do
		n=$(total cpu-clock samples "time:${from}ms-$((from + 100))ms" || echo 0)
		sum=$((sum + ${n:-0}))
	done
	rest=$(total cpu-clock samples time:1s-)
	[ $((sum + ${rest:-0})) = "$whole" ]
	[ "$sum" -gt 50 ]
}

# The time of each sample in microseconds since 1970. jq's numbers are too coarse for it.
wall_times() {
	assay script -i s -F +tod --format json | grep -o '"wall_ns":[0-9]*' | sed 's/.*://; s/...$//' | sort -n
}

# Microseconds since 1970 as --since has them.
clock() {
	printf '@%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
}

@test "--since, --until and --window cut within a second" {
	alternating
	wall_times >walls
	all=$(wc -l <walls)
	cut=$(sed -n "$((all / 3))p" walls)
	before=$(awk -v cut="$cut" '$1 < cut' walls | wc -l)
	[ "$(total cpu-clock samples --until "$(clock "$cut")")" = "$before" ]
	[ "$(total cpu-clock samples --since "$(clock "$cut")")" = $((all - before)) ]
	near=$(awk -v cut="$cut" '$1 >= cut - 20000 && $1 < cut + 20000' walls | wc -l)
	[ "$(total cpu-clock samples --at "$(clock "$cut")" --window 0.04s)" = "$near" ]
	first=$(head -n 1 walls)
	run env TZ=UTC assay report -i s --since "$(clock $((first - 2000000)))" --until "$(clock $((first - 1000000)))"
	refused 1 "the session has no samples of the time $(date -u -d "@$((first / 1000000 - 2))" '+%F %H:%M')"
	run assay script -i s time:0s-1s
	refused 2 "'time:0s-1s' is not understood" "--time"
}

@test "times that go back, come out of order, or span centuries lose no sample" {
	python3 - "$BATS_TEST_DIRNAME" <<-'END'
		import struct, sys
		sys.path.insert(0, sys.argv[1])
		from perf_records import *

		def write(name, times, behind=b""):
		    data = BEGIN + attr(1, 0, 1, IP | TID | TIME | IDENTIFIER) + comm(77, "app")
		    for time in times:
		        data += record(SAMPLE, USER, struct.pack("<QQiiQ", 1, 0x1000, 77, 77, time)) + behind
		    open(name, "wb").write(data)

		back = [int(s * 1e9) for s in (50, 3, 40, 1.2, 1.1, 100.25, 1.3, 20)]
		write("sorted.data", back)
		write("back.data", back, 3 * record(68, 0, b""))  # ends of rounds: nothing is sorted across them
		write("far.data", [1 << 63, 10**9, (1 << 64) - 10**9, 2 * 10**9])
	END
	for name in sorted back far; do
		assay import -q -o $name $name.data
		for i in $name $name.data; do
			assay report -i "$i" --format json | jq '[.rows[].samples] | add' >>samples
		done
	done
	[ "$(xargs <samples)" = "8 8 8 8 4 4" ]
	[ "$(fact sorted '.losses | keys | join(" ")')" = unmapped ]
	[ "$(assay script -i sorted -F time | tr -d ' :' | xargs)" = "$(assay script -i sorted.data -F time | tr -d ' :' | xargs)" ]
	[ "$(fact back '.losses."out-of-order"')" = 6 ]
	[ "$(fact far '.last_sample_s | floor')" = 18446744071 ]
}

@test "the sides of a diff are cut within a second, too" {
	alternating 400
	wall_times >walls
	first=$(head -n 1 walls)
	later=$(sed -n "$(($(wc -l <walls) * 2 / 3))p" walls)
	assay diff -i s --since "$(clock "$later")" --until "$(clock $((later + 5000)))" \
		--against "$(clock "$first")..$(clock $((first + 5000)))" --format json >diff.json
	old=$(awk -v f="$first" '$1 < f + 5000' walls | wc -l)
	new=$(awk -v f="$later" '$1 >= f && $1 < f + 5000' walls | wc -l)
	jq -e --argjson old "$old" --argjson new "$new" '.old.samples == $old and .new.samples == $new' diff.json
}

@test "exports have the time of each sample, and invent none" {
	alternating 50
	assay script -i s --format json | jq '.time_ns' | sort -n >want
	assay export -q -i s -o out.csv
	[ "$(tail -n +2 out.csv | wc -l)" = "$(wc -l <want)" ]
	assay export -q -i s -F firefox -o - | gunzip | jq '[.threads[].samples | .weight[]] | all(. == 1)'
}

@test "a database has the time of each sample" {
	need_recording
	command -v sqlite3 >/dev/null || skip "no sqlite3"
	alternating 50
	assay script -i s --format json | jq '.time_ns' | sort -n >want
	assay export -q -i s -o x.sqlite
	sqlite3 x.sqlite 'SELECT time_ns FROM samples WHERE is_exact AND samples = 1 ORDER BY time_ns' >stamps
	# The clock's start is not in the database: the times between samples are.
	awk 'NR > 1 { print $1 - last } { last = $1 }' stamps >steps
	awk 'NR > 1 { print $1 - last } { last = $1 }' want | cmp - steps
	[ "$(wc -l <steps)" -gt 50 ]
	# Sums of seconds say that they are none.
	"$PROGRAMS/make_session" sums plain 300
	assay export -q -i sums -o sums.sqlite
	[ "$(sqlite3 sums.sqlite 'SELECT SUM(is_exact), SUM(samples) FROM samples')" = "0|300" ]
}

@test "import keeps the times" {
	assay record -q --raw -o raw.data -F "$(at_most 4000)" -- "$PROGRAMS/alternates" 50 >turns
	assay import -q -o s raw.data
	assay script -i s --format json | jq .time_ns | sort -n >kept
	assay script -i raw.data --format json | jq '(.time_ns / 1000 | floor) * 1000' | sort -n >taken
	cmp kept taken
}

@test "a session of sums has the times of its seconds" {
	"$PROGRAMS/make_session" s plain 300
	assay script -i s --format json >samples
	[ "$(jq .time_ns samples | sort -u | wc -l)" -lt "$(wc -l <samples)" ]
}

@test "record -a: each sample has its time, and names the right function" {
	need_sampler
	assay record -q -a -e cpu-clock -F "$(at_most 4000)" -o s -- "$PROGRAMS/alternates" 200 >turns
	assay script -i s --comm alternates --format json >samples
	sample_functions <samples | sort -n | right >sums
	read -r good all <sums
	[ "$all" -gt 100 ]
	[ $((good * 100)) -ge $((all * 99)) ]
}

@test "record -a: samples without room for their time are counted, and reported" {
	need_sampler
	export ASSAY_SAMPLER_LIMITS=times=4096
	assay record -q -a -e cpu-clock -F "$(at_most 4000)" -o s -- "$PROGRAMS/alternates" 300 >turns
	assay info -i s --format json >facts
	[ "$(jq '.losses["times-full"] > 0 and .lost == 0' facts)" = true ]
	timed=$(assay script -i s --comm alternates --format json | jq .time_ns | sort -u | wc -l)
	[ "$timed" -gt 10 ]
	[ "$timed" -lt "$(total cpu-clock samples comm:alternates)" ]
}

# Of the program's samples with a time of their own: how many name the right function, and all ($good, $all). On a busy machine,
# the sampler has no room for the times of some (`times-full`): those of a second have one time.
count_right() {
	assay script -i "$1" --comm alternates --format json >samples
	sample_functions <samples | sort -n | awk '{ n[$1]++; line[$1] = $0 } END { for (t in n) if (n[t] == 1) print line[t] }' |
		sort -n | right >sums
	read -r good all <sums
}

# Whether at least 99 of 100 name the right function; more than that many.
names_right() {
	count_right "$1"
	[ "$all" -gt "$2" ] && [ $((good * 100)) -ge $((all * 99)) ]
}

# A busy machine gives a run few samples. The next one continues the list of turns.
enough_turns() {
	"$PROGRAMS/alternates" 400 >>turns
	ask d dump
	count_right d
	[ "$all" -gt 100 ]
}

@test "a daemon keeps exact times, in packed parts, too, until they are old" {
	need_daemon
	start_daemon d -e cpu-clock -F "$(at_most 997)" --max-cpu 0 --exact-time
	said 'with exact times'
	wait_for enough_turns
	names_right d 100
	end_daemon
	total=$(n_alternates)
	assay retain d 2>said
	grep -q '1 parts packed' said
	names_right d 100
	[ "$(n_alternates)" = "$total" ]
	assay retain d 2>said
	grep -q '0 parts packed' said
	wait_for is_packed_anew d
	[ "$(n_alternates)" = "$total" ]
	[ "$(assay script -i d --comm alternates --format json | jq .time_ns | sort -u | wc -l)" -lt 20 ]
}

n_alternates() {
	assay report -i d comm:alternates --format json | jq '[.total[].samples] | add'
}

# Whether the part was old enough.
is_packed_anew() {
	assay retain "$1" --exact-time-age 1s 2>said
	grep -q '1 parts packed' said
}

@test "a daemon of sample files has no exact times" {
	run assay daemon --session-dir d --store=oprofile --exact-time
	refused 2 "--exact-time does not go with --store=oprofile"
	printf 'store = oprofile\nexact-time-age = 1h\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:2: --exact-time does not go with --store=oprofile"
}

@test "record --no-exact-time keeps the seconds alone" {
	assay record -q --no-exact-time -o s -F "$(at_most 4000)" -- "$PROGRAMS/alternates" 50 >turns
	assay script -i s --format json >samples
	[ "$(jq .time_ns samples | sort -u | wc -l)" -lt 4 ]
	[ "$(wc -l <samples)" -gt 10 ]
}

@test "a wait keeps its own length, and ends at its time" {
	need_sampler
	run assay record --off-cpu -e cpu-clock -o probe.assay -- true
	[ "$status" = 0 ] || skip "$output"
	assay record -q --off-cpu -e cpu-clock -o s -- sh -c 'sleep 0.2; sleep 0.3'
	assay script -i s --comm sleep --format json |
		jq -s '[.[] | select(.event == "off-cpu:sleep" and .period >= 190000000)] | sort_by(.time_ns)' >waits
	[ "$(jq length waits)" = 2 ]
	# A moment of the wait may be gone where the thread loses its CPU as it falls asleep.
	jq -e '.[0].period != .[1].period and .[1].period >= 290000000' waits
	jq -e '.[1].time_ns - .[0].time_ns >= .[1].period - 1000' waits # the second began after the first
}

@test "wall time needs the times of samples, and is at most the CPU time" {
	need_recording
	assay record -q -o s -e cpu-clock -- "$PROGRAMS/split" 0.3cpu
	[ "$(assay report -i s -l --weight wall --format json | jq '[.rows[].events] | add')" -le \
		"$(assay report -i s -l --weight events --format json | jq '[.rows[].events] | add')" ]
	# One thread: each sample counts whole.
	[ "$(assay report -i s --by parallelism --format json | jq -r '[.rows[].parallelism] | join(" ")')" = 1 ]
	assay report -i s -l --weight wall | grep -q '^ *wall time'
	[ "$(assay report -i s -l --weight wall --format json | jq -r .header.weight)" = wall ]
	run assay report -i "$ROOT/tests/data/session-format-1" --weight wall
	refused 1 "--weight wall and --by parallelism need exact times: record or import it again"
}

# tests/data/session-format-4 has 120 samples of two threads, and a wait of 40 ms with its waker. Functions serial
# and parallel alternate each 5 ms. It has to stay readable for ever.
@test "a stored session of version 4 has its times, its wakers and its parallelism" {
	example=$ROOT/tests/data/session-format-4
	[ "$(od -An -tu4 -j8 -N4 "$example/samples/current/0000.segment" | tr -d ' ')" = 4 ]
	[ "$(assay script -i "$example" --format json | jq -s '[.[] | select(.event == "cpu-clock")] | length')" = 120 ]
	[ "$(assay report -i "$example" -l --format json event:cpu-clock time:6ms-9ms | jq -r '.rows[].symbol')" = parallel ]
	[ "$(assay report -i "$example" -l --format json event:cpu-clock time:11ms-14ms | jq -r '.rows[].symbol')" = serial ]
	[ "$(assay report -i "$example" --by waker --format json waker:server | jq '[.rows[].samples] | add')" = 40 ]
	# As a filter: the same samples.
	for n in 1 2; do
		assay report -i "$example" --by symbol --format json event:cpu-clock parallelism:$n | jq -c '[.rows[] | [.symbol, .samples]] | sort' >by_filter
		[ "$(jq length by_filter)" -gt 0 ]
		assay report -i "$example" --by parallelism,symbol --format json event:cpu-clock |
			jq -c --arg n $n '[.rows[] | select(.parallelism == $n) | [.symbol, .samples]] | sort' | diff - by_filter
	done
	[ "$(assay report -i "$example" --format json event:cpu-clock 'parallelism="2"' | jq .header.samples.selected)" = "$(jq '[.[][1]] | add' by_filter)" ]
	run assay report -i "$example" parallelism:7
	refused 1 "no sample matches parallelism:7"
	# The other thread ran for 20 of the 100 ms.
	[ "$(assay report -i "$example" --by parallelism --format json event:cpu-clock |
		jq '[.rows[] | select(.parallelism == "2") | .samples] | add | . >= 38 and . <= 42')" = true ]
}
