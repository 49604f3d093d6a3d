#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load helpers

@test "assay alone lists the commands" {
	run assay
	[ "$status" = 0 ]
	[[ "$output" == *"help "*"list the commands"* ]]
}

@test "--version says the version and the optional parts" {
	run assay --version
	[ "$status" = 0 ]
	[[ "$output" == "assay "[0-9]* ]]
	[[ "$output" == *libpfm4* ]]
}

@test "--version names the library that is not installed" {
	[ "$(id -u)" = 0 ] || skip "hiding a library takes root"
	assay --version | grep -q 'libpfm4.*: yes' || skip "libpfm4 is not here"
	library=$(ldconfig -p | awk '/libpfm\.so\.4 .*x86-64|libpfm\.so\.4 .*AArch64/ { print $NF; exit }')
	[ -e "$library" ] || skip "libpfm4 has no file in the linker's list"
	unshare -m true || skip "no mount namespaces here"
	: >no-library
	unshare -m sh -c 'mount --bind no-library "$1" && exec assay --version' - "$(realpath "$library")" >out
	has 'libpfm4 .*: missing, as libpfm.so.4 is not installed' out
	has 'libsqlite3 .*: yes' out
}

@test "an unknown command is a usage error that names the list" {
	run assay frobnicate
	refused 2 "no command 'frobnicate'" "assay help"
}

@test "an unknown option names itself" {
	run assay help --frobnicate
	refused 2 "unknown option --frobnicate" "Try 'assay help --help'"
}

@test "every command explains itself" {
	for command in $(assay | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
		assay "$command" --help >out
		has "^Usage: assay $command" out
		assay help "$command" | diff - out
	done
}

@test "a full standard output is an error" {
	for arguments in help '' --version; do
		run bash -c "assay $arguments >/dev/full"
		refused 1 "cannot write to standard output: No space left on device"
	done
}

@test "the benchmarks can be listed" {
	run "$ROOT/bench/run" --list
	[ "$status" = 0 ]
	[[ "$output" == *"record-true"*"slowdown-tcp"*"memory"* ]]
}
