#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Small libraries by the compilers of many languages (tests/toolchains/small); make check-toolchains has whole programs.
load helpers

LINES_TOOL=$ASSAY_BUILD/bench/lines

@test "functions, lines and inlined functions of each compiler's code are llvm-symbolizer's" {
	[ -x "$LINES_TOOL" ] || skip "bench/lines is not built"
	n=0
	for library in "$ROOT"/tests/data/toolchains/*.so*; do
		answers=${library%.so*}.txt
		if [[ $library = *.gz ]]; then
			zcat "$library" >go.so
			library=go.so
		fi
		awk 'BEGIN { RS = "" } { split($0, line, "\n"); print line[1] }' "$answers" >addresses
		# A file without a line is none.
		"$LINES_TOOL" "$library" <addresses | sed 's/.*:0:0$/??:0:0/' >ours
		awk 'BEGIN { RS = ""; ORS = "\n\n" } { sub(/^0x[0-9a-f]*\n/, ""); print }' "$answers" >theirs
		diff -u theirs ours || { echo "$library" && false; }
		n=$((n + 1))
	done
	[ "$n" -ge 10 ]
}

@test "the names of a stripped program are those of its MiniDebugInfo" {
	need_recording
	[ -n "$(command -v xz)" ] || skip "xz is not installed"
	gcc -O1 -o app "$ROOT/tests/programs/deep.c"
	objcopy --only-keep-debug app symbols
	strip app
	assay record -q -e cpu-clock -o s -- ./app 0.2cpu >/dev/null
	[[ "$(assay report -i s -l --format csv)" != *bottom* ]]
	xz symbols
	objcopy --add-section .gnu_debugdata=symbols.xz app
	assay record -q -e cpu-clock -o s2 -- ./app 0.2cpu >/dev/null
	[[ "$(assay report -i s2 -l --format csv)" == *bottom* ]]
}
