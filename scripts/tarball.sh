#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One tarball for all releases: build-tarball/assay-VERSION-x86_64.tar.gz runs on Debian 11 and
# everything newer, with nothing installed. ARCH=aarch64 makes that of AArch64, in
# build-tarball-aarch64/. Ends with 77 and a reason if the compiler or the packages are missing.
#
# It is built against the libraries of Debian 11, the oldest release, because glibc runs programs
# that were linked with an older glibc. libbpf and Zydis, which Debian 11 lacks, come from Debian
# 12. Libraries are linked statically. Libraries that the program loads when it uses them are in
# lib/ beside the program. docs/architecture.md has the reasons.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/guest/packages.sh

oldest=bullseye
glibc=2.31 # of the oldest release
static='libc6-dev libzstd-dev libxxhash-dev nettle-dev libseccomp-dev libjansson-dev zlib1g-dev libpfm4-dev libiberty-dev liblzma-dev
	libprotobuf-c-dev libcapstone-dev libsqlite3-dev libcap-ng-dev libncurses-dev libmicrohttpd-dev libfuse3-dev
	libelf-dev libcmocka-dev libpq-dev libdebuginfod-dev libcurl4-gnutls-dev'
newer='libbpf-dev libzydis-dev libzydis4.0 libzycore-dev linux-libc-dev'
# Loaded when they are used. libpq, libdebuginfod and libcurl have thirty others behind them: they are the system's, if it has them.
lazy='libpfm.so.4 libcapstone.so.4 libncursesw.so.6 libmicrohttpd.so.12 libfuse3.so.3'

arch=${ARCH:-x86_64}
case $arch in
x86_64) debian_arch=amd64 folder=build-tarball prefix= ;;
aarch64) debian_arch=arm64 folder=build-tarball-aarch64 prefix=aarch64-linux-gnu- ;;
*) cannot "ARCH=$arch: it is x86_64 or aarch64" ;;
esac
name=assay-$(sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build | head -1)-$arch
libraries=usr/lib/$arch-linux-gnu

[ "$(uname -m)" = x86_64 ] || cannot "the tarballs are built on x86-64"
for tool in ${prefix}gcc ${prefix}objdump ${prefix}strip clang meson ninja; do
	command -v "$tool" >/dev/null || cannot "$tool is not installed"
done

# What both releases' packages make together.
make_root() {
	packages_of "$debian_arch" "$oldest"
	# shellcheck disable=SC2086 # a word a package
	locked unpack_with_depends $static || exit
	root=$DEB_ROOT
	packages_of "$debian_arch" bookworm
	# shellcheck disable=SC2086
	locked unpack "$GUEST_CACHE/$debian_arch-$oldest/newer" $newer || exit
	cp -a "$GUEST_CACHE/$debian_arch-$oldest/newer/." "$root/"
	# Links to absolute paths lead out of the folder.
	find "$root"/{lib,lib64,usr/lib} -type l -lname '/*' | while read -r link; do
		ln -sfn "$(realpath -m --relative-to="${link%/*}" "$root$(readlink "$link")")" "$link"
	done
}

configure() {
	mkdir -p "$folder"
	cat >"$folder/cross.ini.new" <<-END
		[binaries]
		c = [$(command -v ccache >/dev/null && echo "'ccache', ")'${prefix}gcc']
		ar = '${prefix}ar'
		strip = '${prefix}strip'
		pkgconfig = 'pkg-config'
		$([ -z "$prefix" ] || ! command -v qemu-aarch64 >/dev/null || echo "exe_wrapper = ['qemu-aarch64', '-L', '$root']")
		[properties]
		sys_root = '$root'
		pkg_config_libdir = ['$root/$libraries/pkgconfig', '$root/usr/share/pkgconfig']
		needs_exe_wrapper = $([ -n "$prefix" ] && echo true || echo false)
		[built-in options]
		c_args = ['--sysroot=$root']
		c_link_args = ['--sysroot=$root', '-B$root/$libraries', '-L$root/$libraries', '-L$root/lib/$arch-linux-gnu', '-Wl,--disable-new-dtags,-rpath,\$ORIGIN/../lib', '-Wl,--as-needed']
		[host_machine]
		system = 'linux'
		cpu_family = '$arch'
		cpu = '$arch'
		endian = 'little'
	END
	if ! cmp -s "$folder/cross.ini.new" "$folder/cross.ini"; then # Meson reads it once
		find "$folder" -mindepth 1 -maxdepth 1 ! -name cross.ini.new -exec rm -rf {} +
		mv "$folder/cross.ini.new" "$folder/cross.ini"
	fi
	[ -f "$folder/build.ninja" ] ||
		meson setup "$folder" --cross-file "$folder/cross.ini" -Dprefer_static=true -Dlibrary=false -Dbench=false -Dbpf=enabled -Dzydis=enabled
}

needed_by() {
	${prefix}objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'
}

# put_library SONAME: it, and those that it needs, but not the C library.
put_library() {
	local file needed
	[ ! -e "$folder/lib/$1" ] || return 0
	case $1 in
	ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.*) return 0 ;;
	esac
	file=$(find "$root/$libraries" "$root/lib/$arch-linux-gnu" -maxdepth 1 -name "$1" 2>/dev/null | head -1)
	[ -n "$file" ] || { echo "no $1 in the packages" >&2 && return 1; }
	install -m 644 "$(realpath "$file")" "$folder/lib/$1"
	for needed in $(needed_by "$file"); do
		put_library "$needed" || return
	done
}

# Debian's libZydis names libZycore and takes no function from it; the file of Debian 12 wants a newer glibc.
put_zydis() {
	${prefix}gcc -shared -nostdlib -Wl,-soname,libZycore.so.1.4 -x c /dev/null -o "$folder/lib/libZycore.so.1.4" &&
		put_library libZydis.so.4.0
}

# A file that needs a newer glibc would not start on the oldest release.
check_glibc() {
	local file newest
	for file in "$1"/bin/assay "$1"/lib/*.so* "$1"/lib/assay/*; do
		newest=$(${prefix}objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
		[ "$(printf '%s\n' "GLIBC_$glibc" "${newest:-GLIBC_2.2.5}" | sort -V | tail -1)" = "GLIBC_$glibc" ] || {
			echo "$file needs $newest; $oldest has $glibc" >&2
			return 1
		}
	done
}

# Those of all libraries that are in the tarball, statically or as files.
put_licences() {
	local doc
	mkdir -p "$1"
	for doc in "$root"/usr/share/doc/lib*/copyright "$root"/usr/share/doc/*-dev/copyright; do
		cp -L "$doc" "$1/$(basename "$(dirname "$doc")")" 2>/dev/null || continue # a link to a package that is not there
	done
	[ -s "$1/libzstd-dev" ] || { echo "the licences are missing" >&2 && return 1; }
}

assemble() {
	local to=$folder/$name
	rm -rf "$to" && mkdir -p "$to/bin" "$to/share/assay" "$to/share/man/man1" &&
		install -s --strip-program=${prefix}strip -m 755 "$folder/assay" "$to/bin/assay" &&
		cp -r events "$to/share/assay/" && cp -a "$folder/lib" "$to/" &&
		install -s --strip-program=${prefix}strip -D -m 755 "$folder/libassay-heap.so" "$to/lib/assay/libassay-heap.so" &&
		put_licences "$to/share/doc/assay/licences" &&
		cp "$folder"/man/*.1 "$to/share/man/man1/" && cp README.md COPYING CHANGELOG.md "$to/" || return
	sed -n 's/^FRONT_END(\([^)]*\)).*/\1/p' src/commands/front_ends.def src/oprofile/tools/programs.def | tr _ - | while read -r front_end; do
		ln -s assay "$to/bin/$front_end"
	done
	check_glibc "$to" &&
		tar -C "$folder" --owner=0 --group=0 --sort=name -cf - "$name" | gzip -n >"$folder/$name.tar.gz"
}

make_root
configure || exit 1
mkdir -p "$folder/lib"
for library in $lazy; do
	put_library "$library" || exit 1
done
put_zydis || exit 1
# shellcheck disable=SC2046 # a word a target
ninja -C "$folder" assay libassay-heap.so $(ninja -C "$folder" -t targets all | sed -n 's,^\(man/[a-z-]*\.1\): .*,\1,p') || exit 1
assemble || exit 1
echo "$folder/$name.tar.gz"
