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
	for view in "" -l -lg -d -dg -c "-l --merge none" "-d --merge tid" "--merge lib -l" "-l -x"; do
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
