#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a container image with assay alone (Containerfile), from the tarball of `make tarball`:
# scripts/image.sh [ENGINE [OPTION…]]. It puts the files into build-tarball/image. Then the engine
# (podman, else docker) builds the image "assay" of them.
set -eu
cd "$(dirname "$0")/.."
tarball=$(find build-tarball -maxdepth 1 -name 'assay-*-x86_64.tar.gz' 2>/dev/null | sort -V | tail -1)
[ -n "$tarball" ] || { echo "there is no tarball; run 'make tarball' first" >&2 && exit 1; }
[ $# -gt 0 ] || set -- "$(command -v podman || command -v docker || true)"
[ -n "$1" ] || { echo "neither podman nor docker is installed" >&2 && exit 77; }

root=build-tarball/image
rm -rf "$root"
mkdir -p "$root"/{usr,lib64,lib/x86_64-linux-gnu,lib/terminfo,tmp,work,proc,sys}
chmod 1777 "$root/tmp"
tar -xzf "$tarball" -C "$root/usr" --strip-components=1
# The C library, which the tarball has not: this machine's.
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
	cp -L "$(ldconfig -p | awk -v name="$library" '$1 == name && /x86-64/ { print $NF; exit }')" "$root/lib/x86_64-linux-gnu/"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
for terminal in linux screen screen-256color tmux tmux-256color vt100 xterm xterm-256color; do
	for folder in /lib/terminfo /usr/share/terminfo; do
		[ ! -e "$folder/${terminal:0:1}/$terminal" ] || cp -L --parents "$folder/${terminal:0:1}/$terminal" "$root"
	done
done
exec "$@" build -q -t assay -f Containerfile "$root"
