#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The tests in virtual machines, where these can't be had: skipped, with the reason.
load helpers

# Everything there is but what QEMU's packages have.
setup_tools() {
	mkdir tools
	find /usr/bin /bin -maxdepth 1 ! -name 'qemu-*' ! -name apt-get -exec ln -sf -t tools {} + 2>/dev/null
	export PATH=$PWD/tools
	export ASSAY_BUILD_ARM64=$ASSAY_BUILD ASSAY_GUEST_CACHE=$PWD/cache
}

@test "no emulator: a skip that names its package" {
	setup_tools
	run "$ROOT/tests/guest/run" counters
	refused 0 "ok - guest counters # SKIP no qemu-system-aarch64 (Debian's package qemu-system-arm)"
}

@test "no packages to be had: a skip with what apt says" {
	setup_tools
	printf '#!/bin/sh\nexit 0\n' | tee tools/qemu-system-aarch64 >tools/qemu-system-x86_64
	printf '#!/bin/sh\necho "E: Unable to locate package $3" >&2\nexit 100\n' >tools/apt-get
	rm -f tools/apt-cache
	cp tools/apt-get tools/apt-cache
	chmod +x tools/qemu-system-* tools/apt-get tools/apt-cache
	run "$ROOT/tests/guest/run" counters kernel
	refused 0 "ok - guest counters # SKIP cannot fetch linux-image-cloud-arm64 for arm64: E: Unable to locate package"
	refused 0 "ok - guest kernel # SKIP cannot fetch linux-image-cloud-amd64 for amd64: E: Unable to locate package"
}

@test "no apt at all: a skip" {
	setup_tools
	printf '#!/bin/sh\nexit 0\n' >tools/qemu-system-aarch64
	chmod +x tools/qemu-system-aarch64
	run "$ROOT/tests/guest/run" counters
	refused 0 "# SKIP no apt-get to fetch packages of arm64 with"
}

@test "a guest that dies is a failure, not a skip" {
	[ -x "$(command -v qemu-system-x86_64)" ] || skip "no emulator"
	setup_tools
	ln -sf "$(command -v false)" tools/qemu-system-x86_64
	ASSAY_GUEST_CACHE=$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/assay-guest
	[ -e "$ASSAY_GUEST_CACHE/amd64/kernel" ] || skip "no packages in the cache"
	run "$ROOT/tests/guest/run" kernel
	refused 0 "not ok - guest kernel: ran to its end"
}

@test "no cross compiler: a skip" {
	setup_tools
	rm -f tools/aarch64-linux-gnu-gcc
	run "$ROOT/scripts/cross-arm64.sh"
	refused 77 "no aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu)"
}

@test "a boot that there isn't" {
	run "$ROOT/tests/guest/run" nonsense
	refused 2 "no boot 'nonsense'; there are: counters machine kernel"
}
