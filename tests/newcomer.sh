#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A newcomer on a Debian release: the commands of the README, in a fresh chroot, from a clone of HEAD.
#
#   tests/newcomer.sh RELEASE...     bullseye, bookworm, trixie, sid; all of them if none is named
#
# The tarball (`make tarball`), if there is one, runs first, while nothing is installed. Debian 11 lacks what
# some tests need: there, unit tests run only. It prints a line for each command, and the sum as the last
# line. Chroots are made in ASSAY_NEWCOMER_DIR, else in TMPDIR. NEWCOMER_CHECK='make check T=unit' runs
# instead of `make check`. Output stays in newcomer-RELEASE-COMMAND.log of the present folder if a command
# fails.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
passed=0 failed=0 skipped=0

# release | the second command
releases='
bullseye|make check T=unit
bookworm|make check
trixie|make check
sid|make check
'

# The Debian archive that apt on this machine uses.
mirror() {
	# shellcheck disable=SC2016 # apt's own form
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 -E '/debian/?$'
}

why_not() {
	[ "$(id -u)" = 0 ] || { echo "a chroot takes root" && return; }
	command -v debootstrap >/dev/null || { echo "debootstrap is not installed" && return; }
	[ -n "$(mirror)" ] || { echo "apt on this machine knows no Debian archive" && return; }
	unshare -m true 2>/dev/null || echo "mount namespaces are not permitted"
}

# What a newcomer has beside the release: make and git, and a clone.
add_clone() {
	chmod 755 "$dir" && cp /etc/resolv.conf "$dir/etc/resolv.conf" &&
		echo 'Acquire::Check-Valid-Until "false";' >"$dir/etc/apt/apt.conf.d/99mirror" &&
		in_chroot 'apt-get -qq update && apt-get -qq install -y --no-install-recommends make git ca-certificates' &&
		git -c safe.directory='*' clone -q --no-local "$root" "$dir/assay"
}

# As on a machine, its root is a mount, and the root of its mount namespace. The mounts go with the namespace.
in_chroot() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m bash -c '
		mount --bind "$0" "$0" && cd "$0" && mkdir -p before || exit 1
		for d in proc sys dev; do mount --rbind "/$d" "$d" || exit 1; done
		pivot_root . before || exit 1
		exec chroot . env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive sh -c "umount -l /before; cd /root; [ ! -d /assay ] || cd /assay; $1"' \
		"$dir" "$1" </dev/null
}

# tests/tarball_check.sh, while the release has nothing else.
check_tarball() {
	local tarball program
	tarball=$(find "$root/build-tarball" -maxdepth 1 -name 'assay-*.tar.gz' 2>/dev/null | head -1)
	for program in split waits; do
		[ -z "$tarball" ] || gcc -g -O1 -fno-omit-frame-pointer -D_GNU_SOURCE -static -o "$dir/root/$program" \
			"$here/programs/$program.c" -lpthread 2>/dev/null || tarball=
	done
	if [ -z "$tarball" ]; then
		echo "$release: the tarball: skipped: it takes \`make tarball\` and gcc"
		skipped=$((skipped + 1))
		return
	fi
	cp "$tarball" "$dir/root/assay.tar.gz" && cp "$here/tarball_check.sh" "$dir/root/"
	command_passes "sh /root/tarball_check.sh /root/assay.tar.gz /root"
}

# command_passes COMMAND: its last line is the sum of tests, or the end of the demonstration.
command_passes() {
	local log start=$SECONDS
	log=newcomer-$release-$(tr -c 'a-zA-Z0-9\n' - <<<"$1").log
	if in_chroot "$1" >"$log" 2>&1; then
		echo "$release: $1: passed in $(((SECONDS - start) / 60)) minutes: $(grep -E '^[0-9]+ passed, ' "$log" | tail -1)"
		rm -f "$log"
		passed=$((passed + 1))
	else
		echo "$release: $1: FAILED: $(tail -1 "$log") (output: $log)"
		failed=$((failed + 1))
	fi
}

newcomer() {
	local why
	release=$1
	if ! second=$(grep "^$release|" <<<"$releases"); then
		echo "no release '$release'; there are: $(cut -s -d'|' -f1 <<<"$releases" | xargs)" >&2
		exit 2
	fi
	why=$(why_not)
	dir=$(mktemp -d "${ASSAY_NEWCOMER_DIR:-${TMPDIR:-/tmp}}/newcomer-$release.XXXXXX")
	trap 'rm -rf --one-file-system "$dir"' EXIT
	if [ -z "$why" ] && ! debootstrap --variant=minbase "$release" "$dir" "$(mirror)" >"newcomer-$release.log" 2>&1; then
		why="$release can't be had: $(grep -m1 -E '^(E:|fatal:)' "newcomer-$release.log" || tail -1 "newcomer-$release.log")"
	fi
	if [ -n "$why" ]; then
		echo "$release: skipped: $why"
		skipped=$((skipped + 3))
	else
		check_tarball
		check_clone
	fi
	rm -rf --one-file-system "$dir"
}

check_clone() {
	if ! add_clone >"newcomer-$release.log" 2>&1; then
		echo "$release: FAILED: no make and git, or no clone: $(tail -1 "newcomer-$release.log")"
		failed=$((failed + 2))
	else
		rm -f "newcomer-$release.log"
		command_passes "make demo"
		command_passes "${NEWCOMER_CHECK:-${second#*|}}"
	fi
}

[ $# -gt 0 ] || mapfile -t every < <(cut -s -d'|' -f1 <<<"$releases")
for name in "${@:-${every[@]}}"; do
	newcomer "$name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
