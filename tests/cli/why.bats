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

# A system of another distribution in sys/, with a stripped program at /opt/app and a session s of it.
# Its tools, and those that come first in PATH, say in the file "run" that they were run.
other_system() {
	local tool
	OPEN=$(short_folder)
	mkdir -p "$OPEN/opt" "$OPEN/bin" "$OPEN/usr/bin" "$OPEN/etc"
	cp "$PROGRAMS/inlines" "$OPEN/opt/app"
	session_at s "$OPEN/opt/app" work,main=30 main=2
	strip "$OPEN/opt/app"
	mkdir -p "sys$OPEN/opt"
	mv "$OPEN/opt/app" "sys$OPEN/opt/app"
	for tool in dpkg dpkg-query apt apk rpm dnf zypper; do
		printf '#!/bin/sh\necho "$0" >>"%s/run"\n' "$OPEN" >"$OPEN/bin/$tool"
		chmod +x "$OPEN/bin/$tool"
		mkdir -p sys/usr/bin sys/bin
		cp "$OPEN/bin/$tool" sys/usr/bin/
		cp "$OPEN/bin/$tool" sys/bin/
	done
}

teardown() {
	end_test
	[ -z "${OPEN-}" ] || rm -rf "$OPEN"
}

# The command that why prints for a system with this os-release: to_do OS-RELEASE COMMAND
to_do() {
	mkdir -p sys/etc
	printf '%s\n' "$1" >sys/etc/os-release
	PATH=$OPEN/bin:$PATH run assay why -i s --symbol-cache "" --symfs sys app
	refused 0 "to do     in the system below sys: $2" "or set DEBUGINFOD_URLS" "or, if it is yours, build it with -g"
	[ ! -e "$OPEN/run" ]
}

@test "the command for the debug package is that of the file's own system, and nothing is run for it" {
	other_system
	mkdir -p sys/var/lib/dpkg/info sys/lib/apk/db
	printf '/.\n%s/opt\n%s/opt/app\n' "$OPEN" "$OPEN" >sys/var/lib/dpkg/info/app1:amd64.list
	printf 'Package: app1\nStatus: install ok installed\nVersion: 2:1.4-3\n\n' >sys/var/lib/dpkg/status
	to_do 'ID=debian' 'apt install app1-dbgsym=2:1.4-3'
	printf 'P:app\nV:1.3-r2\nF:%s\nR:app\n' "${OPEN#/}/opt" >sys/lib/apk/db/installed
	to_do 'ID=alpine' 'apk add app-dbg=1.3-r2'
	to_do 'ID=fedora' "dnf debuginfo-install \"\$(rpm -qf $OPEN/opt/app)\""
	to_do 'ID_LIKE="suse opensuse"' "zypper install \"\$(rpm -qf --qf '%{NAME}-debuginfo' $OPEN/opt/app)\""
	to_do 'ID=arch' 'export DEBUGINFOD_URLS=https://debuginfod.archlinux.org'
	# Every place of the search, in its order.
	for place in "+ sys$OPEN/opt/app: stripped" "- sys/usr/lib/debug/.build-id/" "- /usr/lib/debug/.build-id/" "debuginfod: not asked"; do
		grep -qF -- "$place" <<<"$output" || { echo "$place" && false; }
	done
	# A system of no known distribution, and one whose names a shell would run.
	echo 'ID=plan9' >sys/etc/os-release
	run assay why -i s --symbol-cache "" --symfs sys app
	refused 0 "to do     set DEBUGINFOD_URLS"
	echo 'ID=debian' >sys/etc/os-release
	# shellcheck disable=SC2016 # it is a name
	mv sys/var/lib/dpkg/info/app1:amd64.list 'sys/var/lib/dpkg/info/$(reboot).list'
	run assay why -i s --symbol-cache "" --symfs sys app
	refused 0 "to do     set DEBUGINFOD_URLS"
	[[ $output != *reboot* ]]
}

@test "the command for the debug package of this machine's own file" {
	need_root
	unshare -m true 2>/dev/null || skip "no mount here"
	[ -d /var/lib/dpkg ] && [ -e /etc/os-release ] || skip "there is nothing to mount over"
	other_system
	mkdir -p dpkg/info
	printf '%s/opt/app\n' "$OPEN" >dpkg/info/app1.list
	printf 'Package: app1\nVersion: 7\n' >dpkg/status
	echo 'ID=debian' >release
	mv "sys$OPEN/opt/app" "$OPEN/opt/app"
	# shellcheck disable=SC2016 # the inner shell expands it
	PATH=$OPEN/bin:$PATH run unshare -m sh -c 'mount --bind release "$(realpath /etc/os-release)" &&
		mount --bind dpkg /var/lib/dpkg && exec "$@"' sh "$(command -v assay)" why -i s --symbol-cache "" app
	refused 0 "to do     apt install app1-dbgsym=7"
	[ ! -e "$OPEN/run" ]
}
