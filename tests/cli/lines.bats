#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Files, lines and inlined functions equal those of other readers of debug information, in every form of
# storage. Reports show them.
load helpers

LINES_TOOL=$ASSAY_BUILD/bench/lines

as_peers() {
	[ -x "$LINES_TOOL" ] || skip "bench/lines is not built"
	[ -n "$(command -v llvm-symbolizer)" ] || skip "no llvm-symbolizer"
	"$ROOT/tests/compare_lines.py" "$LINES_TOOL" "$@"
}

# Compiles the program with inlines as ./app: `build FLAGS…`.
build() {
	rm -f app ./*.dwo
	"${CC_FOR_TEST:-gcc}" -O1 -g "$@" "$ROOT/tests/programs/inlines.c" -o app
}

@test "lines of a C program are those of the other readers" {
	as_peers "$ASSAY_BUILD/assay" 2000
}

@test "lines of a C++ program are those of the other readers" {
	[ -x "$PROGRAMS/templates" ] || skip "no C++ compiler"
	as_peers "$PROGRAMS/templates" 2000
}

@test "lines of a Rust program are those of the other readers" {
	[ -n "$(command -v rustc)" ] || skip "no Rust compiler"
	cat >app.rs <<-'END'
		use std::collections::BTreeMap;
		fn main() {
		    let mut words = BTreeMap::new();
		    for a in std::env::args() { *words.entry(a.clone()).or_insert(0usize) += a.len(); }
		    let mut v: Vec<_> = words.into_iter().collect();
		    v.sort_by(|x, y| y.1.cmp(&x.1));
		    println!("{:?}", v);
		}
	END
	HOME=${REAL_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)} rustc -g -O app.rs -o app 2>rustc.log || skip "rustc does not run here"
	as_peers app 2000
}

@test "DWARF 2 to 5, 32 and 64 bits, gcc's and clang's" {
	for version in 2 3 4 5; do
		build -gdwarf-$version
		as_peers app 200
	done
	build -gdwarf64
	as_peers app 200
	CC_FOR_TEST=clang build -gdwarf-5 || skip "no clang"
	as_peers app 200
}

@test "compressed debug sections" {
	build -gz=zlib
	as_peers app 200
	build -gz=zlib-gnu
	as_peers app 200
}

# Split debug information, beside the program and packaged by a command: split_with VERSION DWP…
split_with() {
	local version=$1
	shift
	# The peers lose inlined functions here; the code is the same as of a whole build.
	printf '%x\n' {4096..5000} >where
	build -gdwarf-"$version"
	"$LINES_TOOL" app <where >whole.txt
	has stir whole.txt
	build -gdwarf-"$version" -gsplit-dwarf
	"$LINES_TOOL" app <where >beside.txt
	diff whole.txt beside.txt
	within "$@"
	rm ./*.dwo
	"$LINES_TOOL" -t app <where >packaged.txt 2>said
	diff beside.txt packaged.txt
	run -1 grep "not found" said
}

@test "split debug information: beside the program, and packaged, DWARF 4" {
	command -v dwp >/dev/null || skip "dwp (binutils, up to 2.43) is not installed"
	split_with 4 dwp -e app
}

# Of gcc's DWARF 5 binutils' dwp 2.40 dies and llvm-dwp 14 never ends.
@test "split debug information: beside the program, and packaged, DWARF 5" {
	command -v clang >/dev/null && command -v llvm-dwp >/dev/null || skip "clang or llvm-dwp is not installed"
	CC_FOR_TEST=clang split_with 5 llvm-dwp -e app -o app.dwp
}

@test "missing split debug information gives a note, and its lines stay" {
	build -gsplit-dwarf
	rm ./*.dwo
	run bash -c "readelf -sW app | awk '\$8 == \"work\" { print \$2 }' | '$LINES_TOOL' -t app"
	refused 0 "work" "inlines.c:" "have their debug information in files that were not found"
	# why names each place where the file was searched, and the file there that is another one
	mkdir sf
	dwo=$(readelf --debug-dump=info app | sed -nE 's/.*DW_AT_(GNU_)?dwo_name .*: //p' | head -n 1)
	cp app "sf/${dwo##*/}"
	session_at a.assay "$PWD/app" "$(hot_place app),main=30"
	assay why -i a.assay app --image-path sf >why.out
	has -Fx "  - $PWD/$dwo: No such file or directory" why.out
	has -E "^  - .*sf/$dwo: of another unit or build$" why.out
	has -E '^  - .*/\.dwo/[0-9a-f]{16}\.dwo: No such file or directory$' why.out
}

@test "the inlined functions of a skeleton unit count if its .dwo is gone" {
	for version in 4 5; do
		CC_FOR_TEST=clang build -gdwarf-$version -gsplit-dwarf -fsplit-dwarf-inlining || skip "no clang that splits debug information"
		rm ./*.dwo
		hot_place app | head -1 | "$LINES_TOOL" app >frames.txt
		has -x stir frames.txt
		as_peers app 200
	done
}

@test "a separate debug file, by its link" {
	build
	"$LINES_TOOL" app < <(readelf -sW app | awk '$8 == "work" { print $2 }') >whole.txt
	objcopy --only-keep-debug app app.debug
	strip app
	objcopy --add-gnu-debuglink=app.debug app
	"$LINES_TOOL" "$PWD/app" < <(readelf -sW app.debug 2>/dev/null | awk '$8 == "work" { print $2 }') >split.txt
	has inlines.c whole.txt
	diff whole.txt split.txt
}

@test "a server is asked last, and not unasked or unsaid" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	build
	session_at a.assay app "$(hot_place app),main=30"
	id=$(readelf -n app | awk '/Build ID/ { print $3 }')
	mkdir -p "srv/buildid/$id"
	objcopy --only-keep-debug app "srv/buildid/$id/debuginfo"
	strip app
	export DEBUGINFOD_CACHE_PATH=$PWD/fetched
	local url="file://${PWD// /%20}/srv" # the list of servers has blanks between them
	run assay annotate -i a.assay --symbol-cache "" work
	refused 1 "no function 'work'"
	[[ $output != *debuginfod* ]]
	DEBUGINFOD_URLS=$url run assay annotate -i a.assay --symbol-cache "" work
	refused 0 "debuginfod: asking $url for the debug information of $PWD/app" "got the debug information" "line that is hot"
	# The local files are enough: no server is asked.
	cp "srv/buildid/$id/debuginfo" app.debug
	objcopy --add-gnu-debuglink=app.debug app
	DEBUGINFOD_URLS=$url run assay annotate -i a.assay --symbol-cache "" work
	refused 0 "line that is hot"
	[[ $output != *debuginfod* ]]
}

@test "a server has the debug file, and the common one of dwz" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	[ -n "$(command -v dwz)" ] || skip "no dwz"
	build
	local debug common
	objcopy --only-keep-debug app app.debug
	cp app.debug other.debug
	dwz -m common app.debug other.debug || skip "dwz found nothing in common"
	session_at a.assay app "$(hot_place app),main=30"
	strip app
	local url="file://${PWD// /%20}/srv"
	debug=$(readelf -n app | awk '/Build ID/ { print $3 }')
	common=$(readelf -n common | awk '/Build ID/ { print $3 }')
	mkdir -p "srv/buildid/$debug" "srv/buildid/$common"
	mv app.debug "srv/buildid/$debug/debuginfo"
	mv common "srv/buildid/$common/debuginfo"
	DEBUGINFOD_URLS=$url run assay annotate -i a.assay --symbol-cache "" work
	refused 0 "asking $url for the debug information of $PWD/app (build id $common)" "line that is hot"
}

@test "debug information that dwz moved to a common file" {
	[ -n "$(command -v dwz)" ] || skip "no dwz"
	build
	"$LINES_TOOL" app < <(readelf -sW app | awk '$8 == "work" { print $2 }') >before.txt
	cp app other
	dwz -m common app other || skip "dwz found nothing in common"
	readelf -SW app | grep -q gnu_debugaltlink || skip "dwz moved nothing"
	"$LINES_TOOL" app < <(readelf -sW app | awk '$8 == "work" { print $2 }') >after.txt
	diff before.txt after.txt
	rm common
	run bash -c "echo 0x1000 | '$LINES_TOOL' -t app"
	refused 0 "the common debug information that it refers to, common, was not found"
}

@test "the second look takes what the first one kept, and not if it is damaged" {
	readelf -sW "$PROGRAMS/inlines" | awk '$8 == "work" { print $2 }' >where
	"$LINES_TOOL" -c cache -t "$PROGRAMS/inlines" <where >first 2>said
	has ', debug information of the image' said
	"$LINES_TOOL" -c cache -t "$PROGRAMS/inlines" <where >second 2>said
	has ', read before' said
	diff first second
	printf 'xxxx' | dd of="$(echo cache/*.lines)" bs=1 seek=200 conv=notrunc status=none
	"$LINES_TOOL" -c cache -t "$PROGRAMS/inlines" <where >third 2>said
	has ', debug information of the image' said
	diff first third
}

@test "report --lines has the hot line; --inline the functions inlined" {
	session_at a.assay "$PROGRAMS/inlines" "$(hot_place "$PROGRAMS/inlines"),main=30" rare,main=2 main=1
	assay report -i a.assay --lines --format json >lines.json
	[ "$(jq --arg at "/inlines.c:$(hot_line)" '[.rows[] | select(.symbol == "work" and (.line | endswith($at))) | .samples] == [30]' lines.json)" = true ]
	assay report -i a.assay -g | grep -E "work +inlines.c:$(hot_line)\$"
	[ "$(assay report -i a.assay --by file --format json | jq -c '[.rows[] | select(.file | endswith("/inlines.c")).samples]')" = "[33]" ]
	# With frames of inlined functions: mix below stir below work; without: only work.
	assay report -i a.assay --tree --inline --format json |
		jq -e '. as $r | [.rows[] | select(.symbol == "mix") | .parent as $p | $r.rows[$p].symbol] | index("stir") != null'
	run -1 bash -c "assay report -i a.assay --tree | grep -w mix"
	# Both are the same samples.
	diff <(assay report -i a.assay --tree --format json | jq '[.rows[].samples] | add') \
		<(assay report -i a.assay --tree --inline --format json | jq '[.rows[].samples] | add')
	diff <(assay report -i a.assay -l --format json | jq '[.rows[].samples] | add') \
		<(assay report -i a.assay -l -g --format json | jq '[.rows[].samples] | add')
}

@test "options for lines that go with other views are refused" {
	run assay report --tree --lines
	refused 2 "--lines: goes with a list of functions"
	run assay report -l --inline
	refused 2 "--inline: goes with --tree"
}
