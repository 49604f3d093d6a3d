#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The tests in virtual machines, where these can't be had: skipped, with the reason.
load helpers

# Everything that this machine has, but emulators, apt and a cross compiler.
setup_file() {
	mkdir "$BATS_FILE_TMPDIR/tools"
	find /usr/bin /bin -maxdepth 1 ! -name 'qemu-*' ! -name 'apt-*' ! -name 'aarch64-linux-gnu-*' \
		-exec ln -sf -t "$BATS_FILE_TMPDIR/tools" {} + 2>/dev/null || true
}

# Before those there are the test's own, and a cache of packages that is the test's own.
setup_tools() {
	mkdir tools
	export PATH=$PWD/tools:$BATS_FILE_TMPDIR/tools
	export ASSAY_BUILD_ARM64=$ASSAY_BUILD ASSAY_GUEST_CACHE=$PWD/cache
	# What the guest is packed with.
	fake_tool cpio cat
	command -v readelf >/dev/null || fake_tool readelf
}

fake_tool() { # NAME [COMMAND]
	printf '#!/bin/sh\n%s\n' "${2-}" >"tools/$1"
	chmod +x "tools/$1"
}

@test "no emulator: a skip that names its package" {
	setup_tools
	run "$ROOT/tests/guest/run" counters
	refused 0 "ok - guest counters # SKIP no qemu-system-aarch64 (Debian's package qemu-system-arm)"
}

@test "no packages available: a skip with apt's message" {
	setup_tools
	fake_tool qemu-system-aarch64
	fake_tool qemu-system-x86_64
	fake_tool apt-get 'echo "E: Unable to locate package $3" >&2; exit 100'
	cp tools/apt-get tools/apt-cache
	run "$ROOT/tests/guest/run" counters
	refused 0 "ok - guest counters # SKIP cannot fetch linux-image-cloud-arm64 for arm64: E: Unable to locate package"
}

@test "an apt that knows no archive of Debian: a skip" {
	setup_tools
	fake_tool qemu-system-x86_64
	fake_tool apt-get
	run "$ROOT/tests/guest/run" kernel
	refused 0 "ok - guest kernel # SKIP this machine's apt has no archive of Debian, which bookworm would come from"
}

@test "no apt at all: a skip" {
	setup_tools
	fake_tool qemu-system-aarch64
	run "$ROOT/tests/guest/run" counters
	refused 0 "# SKIP no apt-get to fetch packages of arm64 with"
}

@test "a guest that dies is a failure, not a skip" {
	[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine, whose libraries go into the guest"
	setup_tools
	fake_tool qemu-system-x86_64 'exit 1'
	fake_tool dpkg 'echo amd64'
	fake_tool apt-get 'echo http://archive.invalid/debian'
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "needs debian-archive-keyring"
	# The packages that a boot takes, as if they were there; no headers to build modules with.
	folder=cache/amd64-bookworm
	mkdir -p $folder/got $folder/root/bin $folder/kernel/boot
	touch $folder/got/{linux-image-6.1.0-test,busybox-static} $folder/root/bin/busybox $folder/kernel/boot/vmlinuz-6.1.0-test
	echo 6.1.0-test >$folder/got/linux-image-cloud-amd64.name
	run "$ROOT/tests/guest/run" kernel
	refused 0 "not ok - guest kernel: ran to its end"
}

@test "no cross compiler: a skip" {
	setup_tools
	run "$ROOT/scripts/cross-arm64.sh"
	refused 77 "no aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu)"
}

@test "a boot that there isn't" {
	run "$ROOT/tests/guest/run" nonsense
	refused 2 "no boot 'nonsense'; there are: counters machine kernel newer traced linux-5.10"
}
