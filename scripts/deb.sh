#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian packages of HEAD for this release: build-deb/*.deb. Two builds of one commit give equal bytes.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build | head -1)
packaged=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
[ "$version" = "$packaged" ] || {
	echo "meson.build has version $version, and debian/changelog has $packaged." >&2
	exit 1
}
if ! command -v dpkg-buildpackage >/dev/null || ! dpkg-checkbuilddeps 2>/dev/null; then
	echo "Installing the packages that building needs" >&2
	[ "$(id -u)" = 0 ] || sudo=sudo
	${sudo:-} apt-get -qq update
	${sudo:-} apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends build-essential >/dev/null
	${sudo:-} apt-get -qq -o DPkg::Lock::Timeout=300 build-dep -y ./ >/dev/null
fi
folder=$PWD/build-deb
log=$folder/log
rm -rf "$folder"
mkdir -p "$folder/assay-$version"
git archive HEAD | tar -x -C "$folder/assay-$version"
cd "$folder/assay-$version"
umask 022
dpkg-buildpackage -us -uc -j"$(nproc)" >"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	exit 1
}
cd ..
rm -rf "assay-$version"
ls -- *.deb
