#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds assay for AArch64 in build-arm64/ (or ASSAY_BUILD_ARM64), with libraries of Debian's arm64 packages; options go to
# Meson. Ends with 77 and a reason where compiler or packages can't be had.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/guest/packages.sh

# What the build finds: as scripts/deps.sh has it, less what is loaded at run time.
libraries='libzstd-dev libxxhash-dev nettle-dev libseccomp-dev libjansson-dev zlib1g-dev libpfm4-dev libiberty-dev liblzma-dev
	libprotobuf-c-dev libcapstone-dev libzydis-dev libsqlite3-dev libbpf-dev libcap-ng-dev libcmocka-dev libdw-dev linux-libc-dev'

command -v aarch64-linux-gnu-gcc >/dev/null || cannot "no aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu)"
packages_of arm64
# shellcheck disable=SC2086 # a word a package
locked unpack_with_depends $libraries || exit

folder=${ASSAY_BUILD_ARM64:-build-arm64}
mkdir -p "$folder"
cat >"$folder/cross.ini.new" <<END
[binaries]
c = [$(command -v ccache >/dev/null && echo "'ccache', ")'aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
$(command -v qemu-aarch64 >/dev/null && echo "exe_wrapper = ['qemu-aarch64', '-L', '$DEB_ROOT']")
[properties]
sys_root = '$DEB_ROOT'
pkg_config_libdir = ['$DEB_ROOT/usr/lib/aarch64-linux-gnu/pkgconfig', '$DEB_ROOT/usr/share/pkgconfig']
[built-in options]
c_args = ['--sysroot=$DEB_ROOT']
c_link_args = ['--sysroot=$DEB_ROOT']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
if ! cmp -s "$folder"/cross.ini.new "$folder"/cross.ini; then # Meson reads it once
	find "$folder" -mindepth 1 -maxdepth 1 ! -name cross.ini.new -exec rm -rf {} +
	mv "$folder"/cross.ini.new "$folder"/cross.ini
fi
rm -f "$folder"/cross.ini.new
if [ -f "$folder"/build.ninja ]; then
	[ $# = 0 ] || meson configure "$folder" "$@" || exit 1
else
	meson setup "$folder" --cross-file "$folder"/cross.ini "$@" || exit 1
fi
ninja -C "$folder"
