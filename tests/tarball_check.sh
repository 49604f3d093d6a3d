#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tarball does on a release with nothing installed: tests/tarball_check.sh TARBALL PROGRAMS, as root in a chroot
# (tests/newcomer.sh). PROGRAMS has tests/programs/split and waits, linked statically. Ends with 1 at the first failure.
set -eu
tarball=$1 programs=$2
cd "$(mktemp -d)"
tar -xzf "$tarball"
PATH=$PWD/$(echo assay-*)/bin:$PATH

failed() {
	echo "failed: $*"
	exit 1
}

assay --version
! assay --version | grep -E '(libbpf|libZydis|libcapstone|libpfm4|ncurses|libmicrohttpd|libfuse3).*: (no|missing)' || failed "a library is not in the tarball"
[ "$(assay events | wc -l)" -gt 100 ] || failed "no event files"

# The program's functions use 4, 3, 2 and 1 tenths of its time.
assay record -o split.assay -- "$programs/split"
assay report -i split.assay -l --format csv >split.csv
share=$(awk -F, '$3 == "forty" { print int($6); exit }' split.csv)
if [ "${share:-0}" -lt 25 ] || [ "$share" -gt 55 ]; then
	cat split.csv
	failed "forty has ${share:-no} %"
fi
# Its loop multiplies. The disassembler is one of the tarball's libraries.
assay annotate -a -i split.assay forty >annotated
if ! grep -q 'imul ' annotated || ! grep -qE '[0-9]+\.[0-9]+ .* (imul|add|sub|mov|jnz) ' annotated; then
	cat annotated
	failed "no instruction of forty has a share"
fi

if assay doctor | grep -q '^ *BPF  *ok'; then
	assay record -a --duration 1 -o all.assay 2>said || { cat said && failed "record -a"; }
	grep -q 'in-kernel unwinding' said || { cat said && failed "the BPF collector is not used"; }
	assay record --off-cpu -o waits.assay -- "$programs/waits"
	assay report -i waits.assay -l --limit 5 | grep -q worker || failed "off-CPU time has no worker"
else
	assay doctor
	echo "This kernel takes no BPF program: neither record -a by BPF nor --off-cpu was tried."
fi
echo "1 passed, 0 failed, 0 skipped"
