#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tarballs of `make tarball`, as TAP:  tests/tarball.sh TARBALL…
#
# That of this machine's architecture runs in a root that has busybox and the C library of Debian 11, and nothing else
# (tests/tarball_check.sh). That of AArch64 runs by qemu-user, and records nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$here/guest/packages.sh"
. "$here/chroot.bash"
largest=25000000 # bytes: what a user downloads
session=$root/tests/data/session-format-4
n=0
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# result TITLE COMMAND…: 77 is a skip, whose reason is the last line
result() {
	local title=$1 status
	shift
	("$@") >"$work/log" 2>&1 # of its own: a skip is an exit
	status=$?
	n=$((n + 1))
	case $status in
	0) echo "ok - $title" ;;
	77) echo "ok - $title # SKIP $(tail -n 1 "$work/log")" ;;
	*) echo "not ok - $title" && sed 's/^/# /' "$work/log" ;;
	esac
}

is_small() {
	stat -c '%s bytes' "$1"
	[ "$(stat -c %s "$1")" -le "$largest" ]
}

has_licences() { # FOLDER
	[ "$(find "$1/share/doc/assay/licences" -type f | wc -l)" -ge 15 ] && [ -s "$1/COPYING" ]
}

# The C library alone, of the oldest release.
put_c_library() { # FOLDER ARCHITECTURE LOADER
	local library
	packages_of "$2" bullseye
	locked unpack_with_depends libc6 || exit
	mkdir -p "$1/lib" "$1/${3%/*}"
	for library in c m dl pthread rt; do
		cp -L "$(find "$DEB_ROOT"/lib -name "lib$library.so.[0-9]*" | head -n 1)" "$1/lib/"
	done
	cp -L "$(find "$DEB_ROOT"/lib -name "${3##*/}" | head -n 1)" "$1/$3"
}

# In two folders: a tarball can be anywhere.
runs_in_a_bare_root() {
	local why program
	why=$(why_not)
	[ -z "$why" ] || cannot "$why"
	dir=$work/bare
	mkdir -p "$dir"/{bin,proc,sys,dev,tmp,etc,root/programs}
	put_c_library "$dir" amd64 lib64/ld-linux-x86-64.so.2
	packages_of amd64 bullseye
	locked unpack "$DEB_ROOT" busybox-static || exit
	cp "$(find "$DEB_ROOT/bin" "$DEB_ROOT/usr/bin" -name busybox | head -n 1)" "$dir/bin" || return
	"$dir/bin/busybox" --list | grep -vx busybox | while read -r program; do ln -s busybox "$dir/bin/$program"; done
	for program in split waits; do
		gcc -g -O1 -fno-omit-frame-pointer -D_GNU_SOURCE -static -o "$dir/root/programs/$program" "$here/programs/$program.c" -lpthread ||
			cannot "no gcc that links statically"
	done
	cp "$1" "$dir/root/assay.tar.gz" && cp "$here/tarball_check.sh" "$dir/root/"
	for folder in /tmp '/tmp/another folder'; do
		mkdir -p "$dir$folder"
		in_chroot "cd '$folder' && TMPDIR='$folder' sh /root/tarball_check.sh /root/assay.tar.gz /root/programs" || return
	done
}

runs_by_qemu_user() { # FOLDER
	local library=$work/arm64 assay
	command -v qemu-aarch64 >/dev/null || cannot "no qemu-aarch64 (Debian's package qemu-user)"
	put_c_library "$library" arm64 lib/ld-linux-aarch64.so.1
	for assay in "$1/bin/assay" "$work/moved/bin/assay"; do
		[ -e "$assay" ] || mv "$1" "$work/moved"
		qemu-aarch64 -L "$library" "$assay" --version >"$work/version" && ! grep -E '(libbpf|libZydis|libcapstone|libpfm4).*: (no|missing)' "$work/version" &&
			qemu-aarch64 -L "$library" "$assay" --help >/dev/null &&
			qemu-aarch64 -L "$library" "$assay" events | awk 'END { exit NR <= 100 }' &&
			qemu-aarch64 -L "$library" "$assay" report -i "$session" -l || return
	done
}

for tarball; do
	name=$(basename "$tarball" .tar.gz)
	mkdir -p "$work/unpacked"
	result "$name can be unpacked (make tarball makes it)" tar -C "$work/unpacked" -xzf "$tarball"
	result "$name has at most $largest bytes" is_small "$tarball"
	result "$name has its licences" has_licences "$work/unpacked/$name"
	case $name in
	*-aarch64) result "$name runs by qemu-user, also elsewhere" runs_by_qemu_user "$work/unpacked/$name" ;;
	*-"$(uname -m)") result "$name runs with the C library of Debian 11 alone, also elsewhere" runs_in_a_bare_root "$tarball" ;;
	*) result "$name runs" cannot "it is not for this machine" ;;
	esac
done
echo "1..$n"
