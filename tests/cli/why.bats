#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a frame has no name or line.
load helpers

# Makes ./app, and a.assay with samples in it; then COMMAND changes the app.
have_app() { # [COMMAND…]
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30 main=2
	"$@"
}

why() {
	run assay why -i a.assay --symbol-cache "" "$@"
}

@test "an image that has all: where names and lines come from" {
	have_app
	why app
	refused 0 "/app" "full symbol table" "+ $PWD/app: symbols and debug information" "debuginfod: not asked"
	[[ $output != *"to do"* ]]
}

@test "a stripped image: every searched place, and the remedy" {
	have_app strip app
	why '*/app'
	refused 0 "dynamic symbols and unwind tables only" "- /usr/lib/debug/.build-id/" ": No such file or directory" \
		"to do" "DEBUGINFOD_URLS" "build it with -g"
}

@test "a debug file of another build is named" {
	gcc -g -O2 "$ROOT/tests/programs/inlines.c" -Wl,--build-id=sha1 -o other
	objcopy --only-keep-debug other app.debug
	link_and_strip() {
		strip app
		objcopy --add-gnu-debuglink=app.debug app
	}
	have_app link_and_strip
	why app
	refused 0 "app.debug: of another build ("
}

@test "an image that vanished, or has changed" {
	have_app
	rm app
	why app
	refused 0 "No such file or directory" "put the file back"
	cp "$PROGRAMS/split" app
	why app
	refused 0 "of another build" "put the file that was profiled back"
}

@test "a function and a place: the frames there" {
	have_app
	why work
	refused 0 "function  " "work" "inlines.c:" "samples   32 of 32"
	# The first place of the hot line in work(): it is of mix(), which is inlined twice.
	offset=$(hot_place app)
	why "app+$offset"
	refused 0 "place     $offset" "function  mix" "in        stir" "in        work" "inlines.c:$(hot_line) (inlined)"
	offset=$(readelf -sW app | awk '$8 == "main" { print $2 }')
	why "app+0x$offset"
	refused 0 "place     0x" "function  main"
}

# Records the program that makes code at run time, under another name: jit_as NAME
jit_as() {
	"$PROGRAMS/jit" 1 - || skip "tests/programs/jit.c is not written for this processor"
	cp "$PROGRAMS/jit" "$1"
	assay record -q -o "$1.assay" -- "./$1" 1000 -
}

@test "code that a runtime made and did not name: the runtime, and its switch" {
	jit_as node
	run assay report -i node.assay -l
	refused 0 "symbols   [anon] (" ": node made this code" "run node --perf-basic-prof"
	assay report -i node.assay -l --format json | jq -e '.header.images[] | select(.image == "[anon]" and .status == "no-file") | .text | test("node made")'
	run assay why -i node.assay '[anon]'
	refused 0 "to do     node made this code" "run node --perf-basic-prof"
	# Its neighbours in the stacks say which of two runtimes it is.
	jit_as beam.smp
	run assay why -i beam.smp.assay '[anon]'
	refused 0 "Erlang made this code" "+JPperf true"
	jit_as app
	run assay why -i app.assay '[anon]'
	refused 0 "a program made this code" "/tmp/perf-PID.map" "Compiler.perfmap"
}

@test "code that a runtime named needs no switch" {
	"$PROGRAMS/jit" 1 - || skip "tests/programs/jit.c is not written for this processor"
	cp "$PROGRAMS/jit" node
	assay record -q -o s -- ./node 1000 >map
	rm -f "$(<map)"
	run assay report -i s -l
	refused 0 jit_hot
	[[ $output != *"made this code"* ]]
}

@test "names that are not in the session" {
	have_app
	why nothing_like_it
	refused 1 "nothing_like_it: no image, function or offset of the session"
	run assay why
	refused 2 "name an address, a function or an image"
}
