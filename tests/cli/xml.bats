#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# XML against the schema that is installed with it.
load helpers
load opdemo

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	command -v xmllint >/dev/null || skip "xmllint is not installed"
	demo
}

valid() {
	assay report -i demo --symbol-cache "" --format xml "$@" >x.xml
	xmllint --noout --schema "$ROOT/src/oprofile/report/report.xsd" x.xml
}

number() {
	xmllint --xpath "number($1)" x.xml
}

@test "every view that has XML holds to the schema, and adds up" {
	python3 "$MKOPFILE" --event INST --tgid 7 --tid 8 --cpu 1 flat demo "$(realpath bin/app)" leaf=5 >/dev/null
	for view in "" -l -lg -d -dg -c "-l --merge none" "-d --merge none" "-c --merge none" "-d --merge tid" "--merge lib -l" "-l -x"; do
		# shellcheck disable=SC2086 # options
		valid $view
	done
	valid -l
	[ "$(number 'sum(/profile/binary//symbol/count)')" = 2015 ]
	[ "$(number 'sum(/profile/binary/count) + sum(/profile/binary/module/count)')" = 2015 ]
	valid -d event:CPU_CLK_UNHALTED
	[ "$(number 'sum(/profile/detailtable//count)')" = 2010 ]
	# leaf of all in the symbol table has its code, as long as it says
	id=$(number '/profile/symboltable/symboldata[@name="leaf"]/@id')
	[ "$(number "string-length(/profile/bytestable/bytes[@id=\"$id\"])")" = \
		$(($(number '/profile/symboltable/symboldata[@name="leaf"]/@codelength') * 2)) ]
	valid -c event:CPU_CLK_UNHALTED
	[ "$(number "sum(/profile//symbol[@idref=//symboldata[@name='leaf']/@id]/callers/symbol/count)")" = 800 ]
	valid -l --merge none event:INST
	[ "$(number '/profile/setup/eventsetup[@eventname="INST"]/@setupcount')" = 100000 ]
}

@test "names that are markup, and views without XML" {
	printf 'app;operator<<"&\x01 7\n' >odd
	assay report -i odd -l --format xml >x.xml
	xmllint --noout --schema "$ROOT/src/oprofile/report/report.xsd" x.xml
	[ "$(xmllint --xpath 'string(/profile/symboltable/symboldata/@name)' x.xml | cut -c1-12)" = 'operator<<"&' ]
	run assay report -i demo --format xml --tree
	refused 2 "--format xml: is of the summary, --symbols, --details and --callgraph"
}

# OProfile's schema knows no frequency: opreport -X is valid without it, too.
strict() { # ARGUMENTS…
	grep -v 'name="frequency"' "$ROOT/src/oprofile/report/report.xsd" >strict.xsd
	opreport --session-dir=demo -X "$@" >x.xml 2>/dev/null
	xmllint --noout --schema strict.xsd x.xml
}

# Counts of the library by tgid, tid, cpu, event and unit mask.
add() { # TGID TID CPU EVENT MASK N
	python3 "$MKOPFILE" --event "$4" --um "$5" --count 5000 --app "$BIN/app" --tgid "$1" --tid "$2" --cpu "$3" \
		flat demo "$BIN/libdemo.so" "lib_work+4=$6" >/dev/null
}

@test "opreport -X is valid by OProfile's schema in every combination" {
	for classes in "" "7 8 all INST 0" "7 all all INST 0" "all all 1 INST 0" "all all all INST 3" "7 8 1 OTHER 2"; do
		# shellcheck disable=SC2086 # words
		[ -z "$classes" ] || add $classes 5
		for view in "" -l -d -c "-l -g" "-d -g" "-c -g" "-l -m all" "-d -m tid" "-c -m lib" "-l -x" "-l -t 20" "-l image:*/app"; do
			# shellcheck disable=SC2086 # options
			strict $view
		done
	done
	strict -l -i leaf -m cpu,tgid -p "$BIN" -e nothing
	[ "$(xmllint --xpath 'string(/profile/options/@includesymbols)' x.xml)" = leaf ]
	[ "$(xmllint --xpath 'string(/profile/options/@merge)' x.xml)" = cpu,tgid ]
	[ "$(xmllint --xpath 'string(/profile/options/@imagepath)' x.xml)" = "$BIN" ]
}

@test "threads are below processes, and classes name processor, event and mask" {
	rm -r "demo/samples/current/{root}"
	add 7 7 0 INST 0 5
	add 7 8 0 INST 0 6
	add 7 8 2 INST 0 7
	add 9 9 2 OTHER 1 8
	strict event:INST,OTHER
	[ "$(number 'count(/profile/process)')" = 2 ]
	[ "$(number 'sum(/profile/process[@pid=7]/count)')" = 18 ]
	[ "$(number 'sum(/profile/process[@pid=7]/thread[@tid=8]/count)')" = 13 ]
	[ "$(number 'sum(/profile/process/thread/module/symbol/count)')" = 26 ]
	[ "$(xmllint --xpath 'string(/profile/@separatedcpus)' x.xml)" = 3 ]
	class=$(xmllint --xpath 'string(/profile/classes/class[@cpu=2][@mask=1]/@name)' x.xml)
	[ "$(number "/profile/process[@pid=9]/count[@class='$class']")" = 8 ]
	[ "$(number 'count(/profile/setup/eventsetup)')" = 2 ]
	[ "$(xmllint --xpath 'string(/profile/options/@session)' x.xml)" = event:INST,OTHER ]
}

@test "details are numbered within their symbol, and refer to addresses of their class" {
	strict -d
	id=$(number '/profile/symboltable/symboldata[@name="leaf"]/@id')
	[ "$(number "//symbol[@idref=$id]/@detaillo")" = 0 ]
	[ "$(number "//symbol[@idref=$id]/@detailhi")" = 1 ]
	[ "$(number "sum(/profile/detailtable/symboldetails[@id=$id]/detaildata/count)")" = 800 ]
	strict -c
	[ "$(number "//symbol[@idref=$id]/callees/symbol[@self='true']/count")" = 800 ]
}

@test "samples of processor 0 and of no processor are one class, as processors are not named" {
	python3 "$MKOPFILE" --event INST --tgid 7 --tid 8 --cpu 0 flat s "$(realpath bin/app)" leaf=5 >/dev/null
	python3 "$MKOPFILE" --event INST --tgid 7 --tid 8 flat s "$(realpath bin/app)" leaf=6 >/dev/null
	python3 "$MKOPFILE" --event OTHER --tgid 7 --tid 8 flat s "$(realpath bin/app)" leaf=3 >/dev/null
	opreport --session-dir=s -X -l >x.xml 2>/dev/null
	[ "$(number 'count(/profile/classes/class)')" = 2 ]
	[ "$(number 'count(/profile/process/count)')" = 2 ]
	[ "$(number 'sum(/profile/process/thread/count[1])')" = 11 ]
	[ "$(number 'sum(/profile/process/count)')" = 14 ]
}
