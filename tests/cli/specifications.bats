#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Profile specifications and classes as columns, on sample files of known counts.
load helpers
load opdemo

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	demo
}

# Adds counts of another event to the library: by process, thread and processor.
add_classes() {
	local tgid tid cpu n
	while read -r tgid tid cpu n; do
		python3 "$MKOPFILE" --event INST --count 5000 --app "$BIN/app" --tgid "$tgid" --tid "$tid" --cpu "$cpu" \
			flat demo "$BIN/libdemo.so" "lib_work+4=$n" >/dev/null
	done <<-END
		101 101 0 10
		101 102 1 20
		200 200 1 40
	END
}

report() {
	run assay report -i demo --symbol-cache "" "$@"
	[ "$status" = 0 ]
}

# "column,column…" of the rows of CSV: csv COLUMNS ARGUMENTS…
csv() {
	local columns=$1
	shift
	assay report -i demo --symbol-cache "" --format csv "$@" | awk -F, -v columns="$columns" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(columns, column, ","); next }
		{ for (i = 1; i <= n; i++) printf "%s%s", $at[column[i]], i < n ? " " : "\n" }'
}

@test "image: is the application with its libraries, lib-image: the code" {
	[ "$(csv symbol,samples -l "image:$BIN/app" | sort)" = $'leaf 800\nlib_work 1000\nmain 50\nmid 150' ]
	[ "$(csv symbol,samples -l image:app 'lib-image:*libdemo*')" = "lib_work 1000" ]
	[ "$(csv symbol,samples -l lib-image:app | sort)" = $'leaf 800\nmain 50\nmid 150' ]
	[ "$(csv symbol,samples -l image:libdemo.so)" = "lib_work 1000" ]
	[ "$(csv symbol,samples -l image-exclude:app)" = "$(nm bin/ls.whole | awk '$3 == "list" { sub("^0*", "", $1); print "ls+0x" $1, 10 }')" ]
	[ "$(csv symbol,samples -l -x app 'symbol-exclude:m*')" = "leaf 800" ]
	add_classes
	[ "$(csv symbol,samples -l count:5000)" = "lib_work 70" ]
	[ "$(csv symbol,samples -l unit-mask:0 tgid:101 event:INST)" = "lib_work 30" ]
}

@test "properties that are kept apart and not merged are columns, in more than one axis" {
	add_classes
	report --merge none -l event:INST
	[[ "$output" =~ cpu\ 0\ +cpu\ 1 ]]
	[[ "$output" =~ app\ \(101\)\ +app\ \(101\)\ +app\ \(200\) ]]
	[[ "$output" =~ 101\ +102\ +200 ]]
	[[ "$output" =~ 10\ +100\.00\ +20\ +100\.00\ +40\ +100\.00\ +libdemo.so\ +lib_work ]]
	[ "$(csv cpu,pid,tid,event,samples --merge none -l event:INST)" = $'0 101 101 INST 10\n1 101 102 INST 20\n1 200 200 INST 40' ]
	[ "$(csv pid,samples --merge cpu,tid -l event:INST)" = $'101 30\n200 40' ]
	[ "$(csv cpu,samples --merge tgid -l event:INST)" = $'0 10\n1 60' ]
	[ "$(csv event,samples --merge all -l 'lib-image:*libdemo*' | sort)" = $'CPU_CLK_UNHALTED 1000\nINST 70' ]
	[ "$(assay report -i demo --merge tid,cpu -l --format json event:INST | jq -c '[.total[] | [.process, .samples]]')" = '[["app (101)",30],["app (200)",40]]' ]
}

@test "merging applications counts an image once" {
	python3 "$MKOPFILE" --app /usr/bin/other flat demo "$BIN/libdemo.so" lib_work+4=7 >/dev/null
	[ "$(csv image,samples --merge lib 'lib-image:*libdemo*')" = "$BIN/libdemo.so 1007" ]
	[ "$(csv app,samples 'lib-image:*libdemo*' | sort)" = "$(printf '%s\n' "/usr/bin/other 7" "$BIN/app 1000" | sort)" ]
}

@test "unit masks are distinguished, or merged" {
	python3 "$MKOPFILE" --um 3 flat demo "$BIN/app" leaf=1 >/dev/null
	[ "$(csv event,samples -l symbol:leaf | sort)" = $'CPU_CLK_UNHALTED:100000:0x0 800\nCPU_CLK_UNHALTED:100000:0x3 1' ]
	[ "$(csv event,samples -l --merge unitmask symbol:leaf unit-mask:0x3)" = "CPU_CLK_UNHALTED:100000:0x3 1" ]
	[ "$(csv event,samples -l --merge unitmask,tgid,cpu symbol:leaf)" = "CPU_CLK_UNHALTED:100000 801" ]
}

@test "running sums, addresses, details, source lines" {
	[ "$(csv symbol,samples,cum_samples,cum_percent -la app)" = $'lib_work 1000 1000 50.0000\nleaf 800 1800 90.0000\nmid 150 1950 97.5000\nmain 50 2000 100.0000' ]
	leaf=$(nm bin/app | awk '$3 == "leaf" { print $1 }')
	report -lw
	[[ "$output" =~ ${leaf: -8}\ +800\ .*leaf ]]
	report -dg lib-image:app symbol:leaf
	[[ "$output" =~ 700\ +87\.50\ +app\ +app.c:[0-9]+\ +${leaf: -8} ]]
	[[ "$output" =~ 100\ +12\.50\ +app\ +app.c:[0-9]+\  ]]
	[ "$(csv address,samples -d symbol:leaf | head -1)" = "${leaf: -8} 700" ]
	report -% total -d symbol:leaf
	[[ "$output" =~ 100\ +12\.50 ]]
}

@test "a specification that contradicts itself, repeats itself or matches nothing" {
	run assay report -i demo image:app image-exclude:app
	refused 2 "report: image:app and image-exclude: contradict each other: nothing is left"
	run assay report -i demo image:app image:ls
	refused 2 "'image:ls': image: is given already; write its values with commas: image:app,…"
	run assay report -i demo pid:1 tgid:1
	refused 2 "pid: is given already, which is the same filter"
	run assay report -i demo event:NOPE
	refused 1 "no sample matches event:NOPE; there are: CPU_CLK_UNHALTED"
	run assay report -i demo count:1
	refused 1 "no sample matches count:1; there are: 100000 (CPU_CLK_UNHALTED)"
	run assay report -i demo --merge bogus
	refused 2 "--merge: 'bogus' is not one of cpu, lib, tid, tgid, unitmask, all, none"
	run assay report -i demo --tree -a
	refused 2 "--accumulated: goes with a list of functions"
}

@test "saved sessions: one, several as one, all but one" {
	mv demo/samples/current demo/samples/monday
	python3 "$MKOPFILE" flat demo "$BIN/app" leaf=5 >/dev/null
	[ "$(csv symbol,samples -l)" = "leaf 5" ]
	[ "$(csv symbol,samples -l session:monday symbol:leaf)" = "leaf 800" ]
	[ "$(csv symbol,samples -l session:monday,current symbol:leaf)" = "leaf 805" ]
	[ "$(csv symbol,samples -l session-exclude:monday)" = "leaf 5" ]
	[ "$(csv symbol,samples -l "session:$PWD/demo/samples/monday" symbol:leaf)" = "leaf 800" ]
	run assay report -i demo session:tuesday
	refused 1 "no session 'tuesday' in demo; there are: current, monday"
	run assay report -i demo session-exclude:monday,current
	refused 1 "session-exclude: leaves no session of demo"
	run assay report -i demo session:monday session-exclude:monday
	refused 2 "session:monday and session-exclude: contradict"
	run assay diff '{' demo session:monday '}' '{' demo session:current '}' lib-image:app
	refused 2 "COMMON"
	run assay diff lib-image:app demo '{' session:monday '}' '{' session:current '}'
	[ "$status" = 0 ]
	[[ "$output" =~ 80\.00\ +100\.00\ +\+20\.00\ .*leaf ]]
}

@test "sessions recorded at two times add up, each event once" {
	need_recording
	assay record -q -e cpu-clock -o one -- "$PROGRAMS/split" 300 >/dev/null
	assay record -q -e cpu-clock,task-clock -o two -- "$PROGRAMS/split" 300 >/dev/null
	mv two/samples/current one/samples/later
	total() { assay report -i one --format json "$@" | jq '[.total[] | select(.event | startswith("cpu-clock")).samples] | add'; }
	[ "$(total session:current,later)" = $(($(total) + $(total session:later))) ]
	[ "$(assay report -i one --format json session:current,later | jq '.total | length')" = 2 ]
}

@test "an archive of OProfile's, and one of ours, by name" {
	own_demo
	mkdir -p arc/var/lib/oprofile
	cp -r demo/samples arc/var/lib/oprofile
	mkdir -p "arc$BIN"
	mv bin/app bin/libdemo.so "arc$BIN"
	[ "$(assay report archive:arc -l --symbol-cache "" --format csv "$BIN/app" | cut -d, -f2,3,5 | sed -n 2p)" = "$BIN/libdemo.so,lib_work,1000" ]
	assay import -q arc -o native
	[ "$(assay report -i native -l --symbol-cache "" --format csv app | cut -d, -f3,5 | sed -n 3p)" = "leaf,800" ]
	run assay report archive:arc -i demo
	refused 1 "archive:arc and -i demo both name the samples"
	[ "$(assay report archive:arc session:current --format csv app | wc -l)" = 3 ]
	run assay report archive:nowhere
	refused 1 "no session 'nowhere'"
}

@test "two binaries of one name and different build ids are two images" {
	need_recording
	cp "$PROGRAMS/split" own
	assay record -q -o one -- ./own 300 >/dev/null
	cp "$PROGRAMS/threads" own
	assay record -q -o two -- ./own 1000 >/dev/null
	mv two/samples/current one/samples/later
	report() { assay report -i one session:current,later --symbol-cache "" "$@"; }
	[ "$(report lib-image:own --format csv | tail -n +2 | cut -d, -f4 | sort -u | wc -l)" = 2 ]
	run report lib-image:own
	[[ "$output" =~ own\ \([0-9a-f]{8}\) ]]
	# the one that is gone has no names, and lends none from the one in its place
	run report -l lib-image:own
	[[ "$output" == *"own: has changed since it was profiled"* ]]
	[[ "$output" != *forty* ]]
}
