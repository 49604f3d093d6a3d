#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a frame has no name or line.
load helpers

record_app() {
	need_recording
	cp "$PROGRAMS/inlines" app
	"$@"
	assay record -F "$(at_most 2000)" -o a.assay -- ./app 0.3 2>/dev/null
}

why() {
	run assay why -i a.assay --symbol-cache "" "$@"
}

@test "an image that has all: where names and lines come from" {
	record_app true
	why app
	refused 0 "/app" "full symbol table" "+ $PWD/app: symbols and debug information" "debuginfod: not asked"
	[[ $output != *"to do"* ]]
}

@test "a stripped image: every place that was looked in, and what to do" {
	record_app strip app
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
	record_app link_and_strip
	why app
	refused 0 "app.debug: of another build ("
}

@test "an image that vanished, or has changed" {
	record_app true
	rm app
	why app
	refused 0 "No such file or directory" "put the file back"
	cp "$PROGRAMS/split" app
	why app
	refused 0 "of another build" "put the file that was profiled back"
}

@test "a function and a place: the frames there" {
	record_app true
	why work
	refused 0 "function  stir" "in        work" "inlines.c:" "(inlined)"
	offset=$(readelf -sW app | awk '$8 == "main" { print $2 }')
	why "app+0x$offset"
	refused 0 "place     0x" "function  main"
}

@test "what is not in the session" {
	record_app true
	why nothing_like_it
	refused 1 "nothing_like_it: no image, function or offset of the session"
	run assay why
	refused 2 "name an address, a function or an image"
}
