#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What an ordinary user does to root's assay with files of his own (docs/security.md).

# shellcheck disable=SC2030,SC2031 # each test has variables of its own
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

# Builds ./app, whose debug link, which no build id decides, leads to a file of this size without content.
make_app_with_link() { # SIZE
	need_recording
	make_app "$PWD/src/a.c" 0644
	gcc -O1 -g -Wl,--build-id=none src/a.c -o app
	objcopy --only-keep-debug app app.debug
	strip app
	objcopy --add-gnu-debuglink=app.debug app
	rm -rf a.assay
	assay record -q -o a.assay -- ./app
	assay report -i a.assay --symbol-cache "" --by symbol >out
	has work out
	truncate -s "$1" app.debug 2>/dev/null || skip "the file system has no files of $1"
}

# At once, not only because the parser's time has passed.
costs_nothing() {
	run within assay report -i a.assay --symbol-cache "" --lines
	[ "$status" = 0 ]
	[[ $output != *"not read"* ]]
}

@test "a sparse debug file of 4 TiB costs a report nothing" {
	make_app_with_link 4T
	chown nobody app app.debug
	costs_nothing
}

@test "a sparse debug file below the limit of sizes is not summed up" {
	make_app_with_link 15G
	costs_nothing
}

@test "a link that takes the place of a profiled file leads to no device and no FIFO" {
	make_app "$PWD/src/a.c" 0644
	rm app
	ln -s /dev/zero app
	run within assay report -i a.assay --symbol-cache ""
	[ "$status" = 0 ]
	rm app
	mkfifo app
	run within assay report -i a.assay --symbol-cache ""
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

# Without a build id, the content would identify it.
@test "a recording does not read the content of a huge program" {
	need_recording
	OPEN=$(mktemp -d)
	chmod 755 "$OPEN"
	objcopy --remove-section=.note.gnu.build-id "$PROGRAMS/quarters" "$OPEN/huge"
	truncate -s 15G "$OPEN/huge" 2>/dev/null || skip "the file system has no files of 15 GiB"
	chown nobody "$OPEN/huge"
	within assay record -q -o s -- "$OPEN/huge" 0.5cpu >/dev/null
	[ "$(fact s .end.own_peak_bytes)" -lt 200000000 ]
	assay report -i s --by symbol -t 0 | grep three_quarters
}

# Makes app with three compressed sections that claim $1 MiB each, with the streams to prove it.
make_bomb() {
	make_app "$PWD/src/a.c" 0644
	gcc -O1 -g src/a.c -o app
	python3 - app "$1" <<-'END'
		import struct, sys, zlib
		path, size = sys.argv[1], int(sys.argv[2]) << 20
		data = bytearray(open(path, "rb").read())
		at, = struct.unpack_from("<Q", data, 0x28)
		n, names_index = struct.unpack_from("<HH", data, 0x3c)
		headers = [data[at + 64 * i:at + 64 * (i + 1)] for i in range(n)]
		names_at, = struct.unpack_from("<Q", headers[names_index], 0x18)
		for header in headers:
		    name = data[names_at + struct.unpack_from("<I", header)[0]:].split(b"\0")[0]
		    if name not in (b".debug_info", b".debug_line", b".debug_str"):
		        continue
		    offset, length = struct.unpack_from("<QQ", header, 0x18)
		    content = bytes(data[offset:offset + length]) + b"\x02" * size
		    packed = struct.pack("<IIQQ", 1, 0, len(content), 1) + zlib.compress(content, 9)
		    struct.pack_into("<Q", header, 8, 0x800)
		    struct.pack_into("<QQ", header, 0x18, len(data), len(packed))
		    data += packed
		data += bytes(-len(data) % 8)
		struct.pack_into("<Q", data, 0x28, len(data))
		open(path, "wb").write(data + b"".join(headers))
	END
}

@test "compressed sections that claim much more than the file has are not unpacked" {
	make_bomb 100
	[ "$(stat -c %s app)" -lt 1000000 ]
	assay record -q -o bomb.assay -- ./app
	(ulimit -v 500000 && assay report -i bomb.assay --symbol-cache "" --lines) >out
	grep -q '^lines .*/app: its compressed debug information claims to be more than 24 times as large as the file, and is not read' out
	assay report -i bomb.assay --symbol-cache "" --lines --format json | jq -e '.header.lines[0].text | test("24 times")'
}

@test "compressed debug information within the limit is read" {
	make_bomb 1
	assay record -q -o bomb.assay -- ./app
	assay report -i bomb.assay --symbol-cache "" --lines >out
	grep -q 'a\.c:' out
}
