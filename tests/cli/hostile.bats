#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What an ordinary user does to root's assay with files of his own (docs/security.md).

load helpers

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root, whose assay is attacked by another user"
}

teardown() {
	end_test
	[ -z "${OPEN:-}" ] || rm -rf "$OPEN"
}

# Builds ./app of `nobody`, whose debug information names the source $1, and a.assay with samples of work().
make_app() {
	local address
	mkdir -p "$(dirname "$1")"
	cp "$ROOT/tests/programs/inlines.c" "$1"
	chmod "$2" "$1"
	gcc -O1 -g "$1" -o app
	touch -d '1 hour ago' "$1"
	chown nobody app
	chmod 755 .
	address=$(nm app | awk '$3 == "work" { print $1 }')
	echo "0x$address 0 10" >places
	awk '{ print $3, 0, $1 }' places | "$PROGRAMS/make_session" a.assay at "$PWD/app"
}

annotate_work() {
	run assay annotate -i a.assay --symbol-cache "" "$@" work
	[ "$status" = 0 ]
}

@test "annotate does not show a file of root that a binary of another user names" {
	make_app "$PWD/src/secret.c" 0600
	annotate_work
	[[ $output == *"src/secret.c is not shown, because the owner of the binary cannot read it"* ]]
	[[ $output != *"line that is hot"* ]]
	run assay annotate -i a.assay --symbol-cache "" --format json work
	[ "$status" = 0 ]
	[[ $output != *"line that is hot"* ]]
	# The same binary of root, and the same file in a folder that the user chose.
	annotate_work --search-dir "$PWD/src"
	[[ $output == *"line that is hot"* ]]
	chown root app
	annotate_work
	[[ $output == *"line that is hot"* ]]
}

@test "annotate shows a source that the owner of the binary can read" {
	cd "$(mktemp -d /tmp/assay-open.XXXXXX)"
	OPEN=$PWD
	make_app "$PWD/src/open.c" 0644
	chown nobody src/open.c
	chmod 0644 src/open.c
	run setpriv --reuid=65534 --regid=65534 --clear-groups cat "$PWD/src/open.c"
	[ "$status" = 0 ]
	annotate_work
	[[ $output == *"line that is hot"* ]]
}

# A debug link, which no build id decides, to a file of 4 TiB without content.
@test "a sparse debug file of 4 TiB costs a report nothing" {
	make_app "$PWD/src/a.c" 0644
	gcc -O1 -g -Wl,--build-id=none src/a.c -o app
	objcopy --only-keep-debug app app.debug
	strip app
	objcopy --add-gnu-debuglink=app.debug app
	truncate -s 4T app.debug 2>/dev/null || skip "the file system has no files of 4 TiB"
	chown nobody app app.debug
	run timeout 20 assay report -i a.assay --symbol-cache "" --lines
	[ "$status" = 0 ]
}

@test "a sparse debug file below the limit of sizes is not summed up" {
	make_app "$PWD/src/a.c" 0644
	gcc -O1 -g -Wl,--build-id=none src/a.c -o app
	objcopy --only-keep-debug app app.debug
	strip app
	objcopy --add-gnu-debuglink=app.debug app
	truncate -s 15G app.debug 2>/dev/null || skip "the file system has no files of 15 GiB"
	run timeout 20 assay report -i a.assay --symbol-cache "" --lines
	[ "$status" = 0 ]
}

@test "a link that takes the place of a profiled file leads to no device and no FIFO" {
	make_app "$PWD/src/a.c" 0644
	rm app
	ln -s /dev/zero app
	run timeout 20 assay report -i a.assay --symbol-cache ""
	[ "$status" = 0 ]
	rm app
	mkfifo app
	run timeout 20 assay report -i a.assay --symbol-cache ""
	[ "$status" = 0 ]
}

# A library can be opened by its path alone, unless assay may follow the links of /proc/PID/map_files.
@test "a recording without openat2 says that files were not opened" {
	local as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
	echo 'void work(void) { for (volatile long i = 0; i < 300000000; i++) ; }' >work.c
	echo 'void work(void); int main(void) { work(); return 0; }' >main.c
	OPEN=$(mktemp -d)
	chmod 777 "$OPEN"
	gcc -shared -fPIC -Wl,--build-id=none work.c -o "$OPEN/libwork.so"
	gcc main.c -L"$OPEN" -lwork -Wl,-rpath,"$OPEN" -o "$OPEN/app"
	"${as_user[@]}" "$PROGRAMS/without_openat2" assay record -o "$OPEN/without.assay" -- "$OPEN/app"
	run assay report -i "$OPEN/without.assay"
	[[ $output == *"files that were not opened: openat2(2) is not there, or a seccomp filter refuses it"* ]]
	"${as_user[@]}" assay record -o "$OPEN/with.assay" -- "$OPEN/app"
	run assay report -i "$OPEN/with.assay"
	[[ $output != *"openat2"* ]]
}
