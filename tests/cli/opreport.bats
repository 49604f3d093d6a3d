#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# opreport's layouts, character for character as OProfile 1.5 prints them of the same files.
load helpers
load opdemo

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	demo oprofile_data
}

HEADER='CPU: AMD64 generic, speed 2400 MHz (estimated)
Counted CPU_CLK_UNHALTED events (CPU Clocks not Halted) with a unit mask of 0x00 (No unit mask) count 100000'

# opreport ARGUMENTS… prints exactly the text of standard input.
prints() {
	run --separate-stderr opreport "$@"
	[ "$status" = 0 ]
	diff -u - <(echo "$output")
}

# Another event's counts of the library: by process, thread and processor.
add_classes() {
	local tgid tid cpu n
	while read -r tgid tid cpu n; do
		python3 "$MKOPFILE" --event INST --count 5000 --app "$BIN/app" --tgid "$tgid" --tid "$tid" --cpu "$cpu" \
			flat oprofile_data "$BIN/libdemo.so" "lib_work+4=$n" >/dev/null
	done
}

@test "the summary" {
	prints <<-END
		$HEADER
		CPU_CLK_UNHALT...|
		  samples|      %|
		------------------
		     2000 99.5025 app
		$(printf '\t')CPU_CLK_UNHALT...|
		$(printf '\t')  samples|      %|
		$(printf '\t')------------------
		$(printf '\t')     1000 50.0000 app
		$(printf '\t')     1000 50.0000 libdemo.so
		       10  0.4975 ls
	END
}

@test "-l" {
	prints -l <<-END
		$HEADER
		samples  %        image name               app name                 symbol name
		1000     49.7512  libdemo.so               app                      lib_work
		800      39.8010  app                      app                      leaf
		150       7.4627  app                      app                      mid
		50        2.4876  app                      app                      main
		10        0.4975  ls                       ls                       $BIN/ls
	END
}

@test "-l without headers, of one image, above a threshold, the other way round" {
	prints -n -l image:"$BIN/app" 'lib-image:*/app' <<-END
		800      80.0000  leaf
		150      15.0000  mid
		50        5.0000  main
	END
	prints -nlrt 5 <<-END
		150       7.4627  app                      app                      mid
		800      39.8010  app                      app                      leaf
		1000     49.7512  libdemo.so               app                      lib_work
	END
	prints -nl -x -s symbol <<-END
		10        0.9901  ls                       $BIN/ls
		800      79.2079  app                      leaf
		50        4.9505  app                      main
		150      14.8515  app                      mid
	END
	prints -nl -i leaf,mid <<-END
		800      84.2105  app                      leaf
		150      15.7895  app                      mid
	END
	prints -nl -m lib -e 'm*' libdemo.so <<-END
		1000     100.000  lib_work
	END
}

@test "-l with addresses and running sums" {
	address=$(nm bin/app | awk '$3 == "leaf" { print substr($1, 9) }')
	run --separate-stderr opreport -lwa
	[ "$status" = 0 ]
	[[ "${lines[2]}" == "vma      samples  cum. samples  %        cum. %     image name               app name                 symbol name" ]]
	[[ "${lines[4]}" == "$address 800      1800          39.8010  89.5522    app                      app                      leaf" ]]
	[[ "${lines[7]}" == "00000000 10       2010           0.4975  100.000    ls                       ls                       $BIN/ls" ]]
}

@test "-g gives the line of each function's start" {
	run --separate-stderr opreport -lg
	[[ "${lines[2]}" == "samples  %        linenr info                 image name               app name                 symbol name" ]]
	[[ "${lines[3]}" =~ ^1000\ \ \ \ \ 49.7512\ \ lib.c:[0-9]+\ {10,}libdemo.so ]]
	[[ "$output" == *"(no location information)   ls "* ]]
}

@test "-d gives addresses below each function, of it or of all" {
	address=$(nm bin/app | awk '$3 == "leaf" { print substr($1, 9) }')
	run --separate-stderr opreport -d
	[ "$status" = 0 ]
	[[ "$output" == *"
$address 800      39.8010  app                      app                      leaf
  $address 700      87.5000
  "????????" 100      12.5000
"* ]]
	run --separate-stderr opreport -d -%
	[[ "$output" == *"  $address 700      34.8259"* ]]
}

@test "classes are columns" {
	add_classes <<<$'101 101 0 10\n101 101 1 30'
	prints -l event:INST <<-END
		CPU: AMD64 generic, speed 2400 MHz (estimated)
		Counted INST events (Unknown event) with a unit mask of 0x00 (No unit mask) count 5000
		Samples on CPU 0
		Samples on CPU 1
		samples  %        samples  %        image name               symbol name
		10       100.000  30       100.000  libdemo.so               lib_work
	END
	prints -n -l event:INST --merge=cpu <<-END
		40       100.000  libdemo.so               lib_work
	END
	run --separate-stderr opreport -m cpu,tgid
	[[ "${lines[3]}" == "CPU_CLK_UNHALT...|        INST:5000|" ]]
	[[ "$output" == *"     2000 99.5025        40 100.000 app"* ]]
	[[ "$output" == *"     1000 50.0000        40 100.000 libdemo.so"* ]]
	[[ "$output" == *"       10  0.4975         0       0 ls"* ]]
}

@test "-X is valid by the schema, and has the same counts as -l" {
	command -v xmllint >/dev/null || skip "xmllint is not installed"
	for how in "" -l -d -c "-l -m all"; do
		# shellcheck disable=SC2086
		opreport -X $how >out.xml 2>/dev/null
		xmllint --noout --schema "$ROOT/src/oprofile/report/report.xsd" out.xml
	done
	[ "$(xmllint --xpath 'string(/profile/@cputype)' out.xml)" = x86-64 ]
	[ "$(xmllint --xpath 'string(/profile/@processor)' out.xml)" = generic ]
	[ "$(xmllint --xpath 'string(/profile/@mhz)' out.xml)" = 2400.00 ]
	[ "$(xmllint --xpath 'string(/profile/@title)' out.xml)" = "opreport -X -l -m all" ]
	[ "$(xmllint --xpath 'sum(//symbol/count)' out.xml)" = 2010 ]
	run opreport -X -l -a
	refused 1 "--xml goes neither with --accumulated"
}

@test "a comparison" {
	cp -r oprofile_data/samples/current oprofile_data/samples/before
	rm -r "oprofile_data/samples/current/{root}"
	python3 "$MKOPFILE" --app "$BIN/app" flat oprofile_data "$BIN/app" leaf=100 main=100 >/dev/null
	run --separate-stderr opreport -nl '{' session:before '}' '{' session:current '}'
	[ "$status" = 0 ]
	diff -u - <(echo "$output" | head -3) <<-END
		1000     ---      ---       libdemo.so               app                      lib_work
		150      ---      ---       app                      app                      mid
		100      50.0000  +25.6250  app                      app                      leaf
	END
	[[ "$output" == *"100      50.0000  +1910.0000 app                      app                      main"* ]]
	run opreport '{' session:before '}' '{' '}'
	refused 1 "a comparison needs --symbols"
}

@test "-c of arcs" {
	run --separate-stderr opreport -c
	[ "$status" = 0 ]
	[[ "$output" == *"
  150      100.000  app                      app                      main
150       7.4627  app                      app                      mid
  1000     51.2821  libdemo.so               app                      lib_work
  800      41.0256  app                      app                      leaf
  150       7.6923  app                      app                      mid [self]
-------------------------------------------------------------------------------
"* ]]
}

@test "-c of whole stacks adds up" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 300 >/dev/null
	run --separate-stderr opreport --session-dir=s -c
	[ "$status" = 0 ]
	[[ "$output" == *"
-------------------------------------------------------------------------------
"* ]]
	[[ "$output" == *"[self]"* ]]
}

@test "what matches nothing, or was typed wrongly, ends with 1" {
	run --separate-stderr opreport event:NOPE
	[ "$status" = 1 ]
	[ -z "$output" ]
	[[ "$stderr" == *NOPE* ]]
	run opreport --session-dir=nowhere
	refused 1 nowhere
	run opreport -d -c
	refused 1 "exclude each other"
	run opreport -g
	refused 1 "--debug-info needs --symbols"
	run opreport -l -s colour
	refused 1 "'colour' is none of sample, image"
	run opreport --bogus
	refused 1 "unknown option --bogus" "--long-filenames"
	run opreport cpu:zz
	refused 1 "cpu"
	run opreport event:A event:B
	refused 1 "event"
	run opreport -l '{' a
	refused 1 "braces"
}

@test "a damaged sample file costs only itself" {
	truncate -s -20 "$(find oprofile_data -path '*libdemo*' -name 'CPU*' -not -path '*{cg}*')"
	run opreport -n -l
	refused 1 "libdemo.so" "800      79.2079  app"
}

@test "help, usage and version in popt's way" {
	run opreport -?
	[ "$status" = 0 ]
	[[ "$output" == *"--exclude-dependent"* ]]
	run opreport --usage
	[ "$status" = 0 ]
	[[ "$output" == *"[-l]"* ]]
	run opreport --version
	[ "$status" = 0 ]
	[[ "$output" == "opreport: "* ]]
	run opreport -n -l -V all
	[ "$status" = 0 ]
	[[ "$output" == *"--verbose: there is no such output"* ]]
}

@test "opannotate -s: samples before each line, totals behind where functions begin" {
	run --separate-stderr opannotate -s
	[ "$status" = 0 ]
	[[ "$output" == "/*
 * Command line: opannotate -s
 *
 * Interpretation of command line:"*"
 * CPU: AMD64 generic, speed 2400 MHz (estimated)"* ]]
	[[ "$output" == *"/*
 * Total samples for file : \"$BIN/lib.c\"
 *
 *   1000 49.7512
 */"* ]]
	grep -qF '   800 39.8010 :__attribute__((noinline)) double leaf' <<<"$output"
	grep -qF ' /* leaf total:    800 39.8010 */' <<<"$output"
	grep -q '^               :#include' <<<"$output"
}

@test "opannotate -o writes files whose line numbers are the source's" {
	run opannotate -s -o out
	[ "$status" = 0 ]
	n=$(wc -l <bin/app.c)
	diff <(head -n "$n" "out$BIN/app.c" | cut -c 17- | sed 's@ /[*] .* total:.*@@') bin/app.c
	tail -n +$((n + 1)) "out$BIN/app.c" >rest
	has 'Total samples for file' rest
	run opannotate -s -o /
	refused 1 "would write over the sources"
	run opannotate -s --exclude-file 'app.c' -t 1
	[ "$status" = 0 ]
	[[ "$output" == *lib.c* && "$output" != *'app.c"'* ]]
	run opannotate
	refused 1 "give --source, --assembly or both"
}

@test "opannotate -a: samples before each instruction" {
	address=$(nm bin/app | awk '$3 == "leaf" { print $1 }')
	run --separate-stderr opannotate -a
	[ "$status" = 0 ]
	grep -qF "$address <leaf>: /* leaf total:    800 39.8010 */" <<<"$output"
	[[ "$output" == *"Output annotated assembly listing with samples"* && "$output" != *"Output all files"* ]]
	[[ "$output" == *"<main+0x"*">"* && "$output" != *"<>"* && "$output" != *" <+0x"* ]]
	[ "$(awk '/^ +[0-9]+ +[0-9.]+ : +[0-9a-f]+:\t/ { n += $1 } END { print n }' <<<"$output")" = 2000 ]
}

@test "opgprof: gprof reads it" {
	command -v gprof >/dev/null || skip "gprof is not installed"
	run opgprof image:"$BIN/app" -o flat.out
	[ "$status" = 0 ]
	gprof -p -b bin/app flat.out >flat
	has -E '^ *80\.00 +800\.00 +800\.00 .* leaf' flat
	# the unit, as OProfile writes it: "samples", padded, and its letter
	[ "$(tail -c +46 flat.out | head -c 16 | tr '\0' ' ')" = "samples        1" ]
	run opgprof
	refused 1 "samples are in 2 images; choose one with image:"
	[ ! -e gmon.out ]
}

@test "oparchive: what opreport reads of it is the same, without the binaries" {
	own_demo oprofile_data
	opreport -l >before 2>/dev/null
	run oparchive -l
	[[ "$output" == *"$BIN/app"* && "$output" == *"{dep}"* ]]
	# whole paths, as the original has them
	[ "$(grep -c '^/' <<<"$output")" = "$(grep -c / <<<"$output")" ]
	run oparchive -o there
	[ "$status" = 0 ]
	[ -x "there$BIN/app" ]
	[ -f "there/var/lib/oprofile/samples/current/{root}$BIN/app/{dep}/{root}$BIN/app/CPU_CLK_UNHALTED.100000.0.all.all.all" ]
	rm -r bin oprofile_data
	opreport -l archive:there >after 2>/dev/null
	diff before after
	run oparchive -o there
	refused 1 there
	run oparchive
	refused 1 "--output-directory names the archive"
}

@test "--image-path: binaries that are elsewhere now are found by their names" {
	own_demo oprofile_data
	opreport -l >before 2>/dev/null
	opannotate -a >code.before 2>/dev/null
	mkdir -p there/deep nothing
	mv bin/app there/deep
	mv bin/libdemo.so there
	opreport -l >without 2>/dev/null
	run ! grep ' leaf$' without
	opreport -l -p nothing,there >after 2>/dev/null
	diff before after
	run opreport -l --session-dir oprofile_data --root "$PWD/nothing" -p there
	grep ' leaf$' <<<"$output"
	opannotate -a -p there 2>/dev/null | grep -vF 'Command line' >code
	diff <(grep -vF 'Command line' code.before) code
	opgprof -p there image:"$BIN/app" -o moved.out
	[ -s moved.out ]
	cp there/deep/app there/app
	opreport -l -p there >two 2>/dev/null
	run ! grep ' leaf$' two
	run opreport -l -p there,gone
	refused 1 "--image-path: gone is not a directory"
}

@test "oparchive: only what the specification takes" {
	own_demo oprofile_data
	opreport -nl -x 2>/dev/null | sort >alone
	oparchive -x -o alone.d 2>/dev/null
	[ -f "alone.d$BIN/app" ]
	[ ! -e "alone.d$BIN/libdemo.so" ]
	opreport -nl archive:alone.d 2>/dev/null | sort >after
	diff alone after
	oparchive lib-image:'*/libdemo.so' -o lib.d 2>/dev/null
	[ -f "lib.d$BIN/libdemo.so" ]
	[ "$(find lib.d -name 'CPU_CLK*' | grep -cv '{cg}')" = 1 ]
	oparchive image-exclude:'*/app' -o rest.d 2>/dev/null
	[ ! -e "rest.d$BIN/app" ]
	[ -z "$(find rest.d -path '*bin/app*')" ]
	run oparchive -l -x
	[[ "$output" == *"$BIN/app"* && "$output" != *libdemo.so* ]]
	run oparchive -o none.d event:NONE
	[ "$status" = 1 ]
	[ ! -e none.d ]
}

@test "opimport: a file of a 32-bit machine becomes one of this machine" {
	python3 "$MKOPFILE" --layout i386 --app /usr/bin/app flat old /bin/sh 0x1000=41 0x2000=1 >/dev/null
	file=$(find old -name 'CPU*')
	cat >abi <<-'END'
		sizeof_double 8
		sizeof_u64 8
		sizeof_u8 1
		sizeof_u32 4
		sizeof_int 4
		sizeof_unsigned_int 4
		sizeof_odb_key_t 8
		sizeof_odb_index_t 4
		sizeof_odb_value_t 4
		sizeof_odb_node_nr_t 4
		sizeof_odb_descr_t 32
		sizeof_odb_node_t 16
		sizeof_struct_opd_header 64
		offsetof_node_key 0
		offsetof_node_value 8
		offsetof_node_next 12
		offsetof_descr_size 0
		offsetof_descr_current_size 4
		offsetof_header_magic 0
		offsetof_header_version 4
		offsetof_header_cpu_type 8
		offsetof_header_ctr_event 12
		offsetof_header_ctr_um 16
		offsetof_header_ctr_count 20
		offsetof_header_is_kernel 24
		offsetof_header_cpu_speed 28
		offsetof_header_mtime 36
		offsetof_header_cg_to_is_kernel 44
		offsetof_header_anon_start 48
		offsetof_header_cg_to_anon_start 56
		little_endian 1
	END
	run opimport -a abi -o new "$file"
	[ "$status" = 0 ]
	run python3 "$MKOPFILE" dump new
	[[ "$output" == *0x1000*41* && "$output" == *0x2000*1* ]]
	run opimport -a abi -o new "$file"
	refused 1 "new is there already"
	run opimport -o other "$file"
	refused 1 "give --abi, --output"
	head -c 100 "$file" >short
	run opimport -a abi -o other short
	refused 1 short
}
