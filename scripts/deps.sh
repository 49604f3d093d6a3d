#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages that are missing: scripts/deps.sh build|check|bench
# Each purpose includes those before it. Says and does nothing when all is there.
set -eu
cd "$(dirname "$0")/.."

# purpose | Debian | Fedora | Arch | what for. "package?command": not if the command is there, wherever from.
# Debian's "package/other": the other one on releases that have no such package; "package/": none there.
table='
build|gcc|gcc|gcc|the compiler
build|g++|gcc-c++|gcc|programs of the tests
build|libc6-dev|glibc-devel|glibc|the C library
build|meson|meson|meson|the build system
build|ninja-build|ninja-build|ninja|runs the build
build|pkg-config|pkgconf-pkg-config|pkgconf|finds the libraries
build|libzstd-dev|libzstd-devel|zstd|compresses sessions
build|zstd|zstd|zstd|packs archives
build|libxxhash-dev|xxhash-devel|xxhash|checksums of sessions
build|nettle-dev|nettle-devel|nettle|identities of files
build|libseccomp-dev|libseccomp-devel|libseccomp|system calls that the parser has not
build|libpfm4-dev|libpfm-devel|libpfm|names of processor events
build|libiberty-dev|binutils-devel|binutils|Rust and D names
build|liblzma-dev|xz-devel|xz|symbols inside stripped images
build|libprotobuf-c-dev|protobuf-c-devel|protobuf-c|exports that are protocol buffers
build|protobuf-c-compiler|protobuf-c-compiler|protobuf-c|makes C of our .proto files
build|zlib1g-dev|zlib-devel|zlib|compresses exports
build|libcapstone-dev|capstone-devel|capstone|instructions of other processors
build|libdebuginfod-dev|elfutils-debuginfod-client-devel|debuginfod|debug files from servers
build|libfuse3-dev|fuse3-devel|fuse3|oprofilefs, a file system of assay daemon
build|libncurses-dev|ncurses-devel|ncurses|the live view of assay top
build|libmicrohttpd-dev|libmicrohttpd-devel|libmicrohttpd|metrics of the daemon over HTTP
build|libgnutls28-dev|gnutls-devel|gnutls|TLS of assay serve
build|libcurl4-gnutls-dev|libcurl-devel|curl|sends blocks to a fleet over HTTP
build|libzydis-dev/|zydis-devel|zydis|decodes x86 instructions
build|libsqlite3-dev|sqlite-devel|sqlite|exports to SQLite
build|libpq-dev|libpq-devel|postgresql-libs|exports to PostgreSQL
build|libjansson-dev|jansson-devel|jansson|reads JSON in tests and writes it in reports
build|libcap-ng-dev|libcap-ng-devel|libcap-ng|gives up what the daemon may not need
build|libbpf-dev|libbpf-devel|libbpf|loads the in-kernel sampler
build|bpftool|bpftool|bpf|makes a C header of the in-kernel sampler
build|clang|clang|clang|compiles the in-kernel sampler; the second compiler, and fuzzing
build|scdoc|scdoc|scdoc|man pages
build|libcmocka-dev|libcmocka-devel|cmocka|unit tests
check|git|git|git|lists the files that are checked
check|bats|bats|bats|tests of the command line
check|libclang-rt-dev/libclang-common-11-dev|compiler-rt|compiler-rt|libFuzzer and the sanitizers for clang
check|lld|lld|lld|links test images with another layout
check|llvm|llvm|llvm|llvm-objdump, a second opinion on images of other processors
check|clang-format|clang-tools-extra|clang|the format check
check|python3-markdown|python3-markdown|python-markdown|makes web pages of the documents
check|mandoc|mandoc|mandoc|makes web pages of the man pages
check|rpm|rpm-build|rpm-tools|reads the RPM spec
check|shellcheck|ShellCheck|shellcheck|checks the scripts
check|zsh|zsh|zsh|parses the completion for zsh
check|fish|fish|fish|parses the completion for fish
check|mandoc|mandoc|mandoc|checks the man pages
check|sqlite3|sqlite|sqlite|asks exported databases
check|postgresql|postgresql-server|postgresql|a server for exports, and psql
check|jq|jq|jq|reads JSON in tests
check|openssl|openssl|openssl|makes certificates for tests
check|python3|python3|python|a program to profile
check|python3-venv|python3|python|a fresh environment for the Python module
check|libelf-dev|elfutils-libelf-devel|libelf|an independent reading of ELF files in tests
check|libdw-dev|elfutils-devel|elfutils|an independent reading of debug information in tests
check|python3-prometheus-client|python3-prometheus_client|python-prometheus_client|an independent reading of the metrics in tests
check|autofdo/|||create_gcov and dump_gcov, which read exports in tests
check|protobuf-compiler|protobuf-compiler|protobuf|makes a reader of exports from their own .proto files, for tests
check|python3-protobuf|python3-protobuf|python-protobuf|what that reader needs
check|dwz|dwz|dwz|makes shared debug information for tests
check|gdb|gdb|gdb|stacks of static programs, to compare ours with in tests
check|gcc-aarch64-linux-gnu|gcc-aarch64-linux-gnu|aarch64-linux-gnu-gcc|AArch64 binaries, to read them in tests
check|libc6-dev-arm64-cross|glibc-arm-linux-gnu|aarch64-linux-gnu-glibc|what they include
check|qemu-user|qemu-user|qemu-user|runs unit tests of the AArch64 build, and programs whose Intel PT traces are decoded
check|qemu-system-arm|qemu-system-aarch64|qemu-system-aarch64|a machine with hardware counters, to test in
check|qemu-system-x86|qemu-system-x86|qemu-system-x86|a machine whose kernel takes modules, to test in
check|cpio|cpio|cpio|what those machines start with
check|binutils|binutils|binutils|strip and objcopy, to make images for tests
check|xxd/vim-common|vim-common|vim|bytes of exports as text, in tests
check|curl|curl|curl|asks a service by its socket, in tests
check|xz-utils|xz|xz|symbols inside stripped images, to make them for tests
check|tmux|tmux|tmux|a terminal for the live view, in tests
check|util-linux|util-linux|util-linux|runuser and unshare, for tests without privilege
check|util-linux-extra/?pivot_root|util-linux|util-linux|pivot_root, for tests of containers
check|abigail-tools|libabigail|libabigail|compares libassay with the one of earlier releases, in tests
check|btrfs-progs|btrfs-progs|btrfs-progs|a file system whose devices have other numbers in /proc, for tests of containers
check|fuse-overlayfs|fuse-overlayfs|fuse-overlayfs|what rootless engines mount, for tests of containers
check|valgrind|valgrind|valgrind|callgrind_annotate, which reads exports in tests
check|libxml2-utils|libxml2|libxml2|xmllint, which holds XML against its schema in tests
check|fuse3|fuse3|fuse3|unmounts oprofilefs in tests
check|procps|procps-ng|procps-ng|ps, for tests of processes
check|nodejs?node|nodejs|nodejs|runs readers of exports, and what drives the browser
check|npm?npm|npm|npm|installs what tests/npm pins
check|chromium?chromium|chromium|chromium|opens the HTML page in tests
check|libjemalloc2|jemalloc|jemalloc|an allocator with operators of C++ of its own, in tests
check|libtcmalloc-minimal4/libtcmalloc-minimal4t64|gperftools-libs|gperftools|another one
check|musl-tools/|musl-gcc|musl|programs with another C library, in tests
check|libipt-dev|libipt-devel|libipt|an independent reading of Intel PT in tests, and what ours is measured against
bench|libunwind-dev|libunwind-devel|libunwind|what our unwinder is measured against
check|linux-perf|perf|perf|an independent reading of recordings in tests, and what assay is measured against
bench|bpftrace|bpftrace|bpftrace|what counting in the kernel is measured against
bench|heaptrack|heaptrack|heaptrack|what recording of allocations is measured against
'

usage() {
	echo "Usage: scripts/deps.sh build|check|bench" >&2
	exit 2
}

# The packages of column $1 for the purpose.
wanted() {
	echo "$table" | awk -F'|' -v purposes="$purposes" -v column="$1" \
		'NF && index(purposes, $1) { print $column }' | while IFS='?' read -r package command; do
		[ -n "$command" ] && command -v "$command" >/dev/null || echo "$package"
	done | sort -u
}

missing_on_debian() {
	have=$(mktemp)
	# shellcheck disable=SC2046 # a word a package
	dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $(wanted 2 | tr / '\n') 2>/dev/null |
		awk '/^ii/ { print $2 }' >"$have"
	wanted 2 | while IFS=/ read -r package other; do
		grep -qxF -e "$package" -e "${other:-$package}" "$have" || name_here "$package" "$other"
	done
	rm -f "$have"
}

apt_has() {
	apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# The other name on a release without the package. Until apt has lists (it knows gcc), no release is known.
name_here() {
	if grep -qF "|$1/" <<-END && apt_has gcc && ! apt_has "$1"; then
		$table
	END
		[ -z "$2" ] || echo "$2"
	else
		echo "$1"
	fi
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "As root, please: apt-get install $missing" >&2
		exit 1
	fi
}

on_debian() {
	missing=$(missing_on_debian | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	echo "Installing: $missing" >&2
	log=$(mktemp)
	as_root apt-get -qq update >"$log" 2>&1 </dev/null || true
	! pgrep -x 'apt|apt-get|aptitude|dpkg' >/dev/null 2>&1 || echo "Another program installs packages: waiting up to 5 minutes for it" >&2
	missing=$(missing_on_debian | tr '\n' ' ')
	# shellcheck disable=SC2086 # words are packages
	if ! as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >>"$log" 2>&1 </dev/null; then
		tail -20 "$log" >&2
		echo "Could not install: $missing" >&2
		exit 1
	fi
	rm -f "$log"
}

case "${1-}" in
build) purposes="build" ;;
check) purposes="build check" ;;
bench) purposes="build check bench" ;;
*) usage ;;
esac

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
	on_debian
elif ! command -v meson >/dev/null || ! command -v scdoc >/dev/null; then
	echo "This is not Debian. Please install with your package manager, then try again:" >&2
	# shellcheck disable=SC2046
	printf '\n  Fedora: dnf install%s\n\n' "$(printf ' %s' $(wanted 3))" >&2
	# shellcheck disable=SC2046
	printf '  Arch:   pacman -S%s\n\n' "$(printf ' %s' $(wanted 4))" >&2
	exit 1
fi

case $purposes in
*check*) scripts/deps-npm.sh ;;
esac
