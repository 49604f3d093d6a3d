#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command line of a build with -Doprofile=disabled.

load ../cli/helpers

@test "--version says that OProfile is left out" {
	assay --version >out
	has '^  OProfile .*: no$' out
}

@test "none of OProfile's programs is a front end" {
	for program in opreport opannotate opcontrol operf ophelp opjitconv op-check-perfevents; do
		[ ! -e "$ASSAY_BUILD/$program" ]
		run assay "$program"
		refused 2 "no command '$program'"
	done
}

@test "neither the library for compilers nor the schema is there" {
	[ -z "$(find "$ASSAY_BUILD" -name 'libopagent*')" ]
	[ ! -e "$PROGRAMS/agent" ]
	command -v meson >/dev/null || skip "meson is not installed"
	meson introspect --installed "$ASSAY_BUILD" >installed
	run grep -o 'opagent[^/"]*\|opreport[^/"]*\|report.xsd' installed
	[ "$status" = 1 ]
	grep -q '/assay"' installed
}

@test "a recording of text becomes a session and a report" {
	printf 'main;work 3\nmain;rest 1\n' >app.folded
	assay import -o app.assay app.folded
	assay report -i app.assay --format csv >out
	has '^samples,\[unknown\],.*,4,100.0000,4,' out
}

@test "sample files and XML are no choices" {
	printf 'main 1\n' >app.folded
	run assay report -i app.folded --format xml
	refused 2 "--format: 'xml' is not one of text|csv|json"
	run assay record --store oprofile -- true
	refused 2 "--store: 'oprofile' is not one of native"
}
