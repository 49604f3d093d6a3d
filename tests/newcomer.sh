#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A newcomer on a Debian release: the commands of the README, in a fresh chroot, from a clone of HEAD.
#
#   tests/newcomer.sh RELEASE...     bullseye, bookworm, trixie, sid; all of them if none is named
#
# The tarball (`make tarball`), if there is one, runs first, while nothing is installed. `make deb` follows `make demo`, and a second
# chroot gets the packages. Debian 11 lacks libraries of the packages, and what some tests need: there, unit tests run only. It prints
# a line for each command, and the sum as the last line. Two chroots are made in ASSAY_NEWCOMER_DIR, else in TMPDIR. NEWCOMER_CHECK='make check T=unit' runs
# instead of `make check`. Output stays in newcomer-RELEASE-COMMAND.log of the present folder if a command
# fails.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
passed=0 failed=0 skipped=0 why=
. "$here/chroot.bash"

# release | the last command | whether it has packages
releases='
bullseye|make check T=unit|
bookworm|make check|packages
trixie|make check|packages
sid|make check|packages
'

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
		return 1
	fi
}

newcomer() {
	release=$1
	if ! grep -q "^$release|" <<<"$releases"; then
		echo "no release '$release'; there are: $(cut -s -d'|' -f1 <<<"$releases" | xargs)" >&2
		exit 2
	fi
	IFS='|' read -r _ last has_packages < <(grep "^$release|" <<<"$releases")
	dir=$(mktemp -d "${ASSAY_NEWCOMER_DIR:-${TMPDIR:-/tmp}}/newcomer-$release.XXXXXX")
	trap 'rm -rf --one-file-system "$dir" "$dir.clean"' EXIT
	make_chroot "$release"
	if [ -n "$why" ]; then
		echo "$release: skipped: $why"
		skipped=$((skipped + 3${has_packages:+ + 2}))
	else
		[ -z "$has_packages" ] || cp -a "$dir" "$dir.clean"
		check_tarball
		check_clone
	fi
	rm -rf --one-file-system "$dir" "$dir.clean"
}

check_clone() {
	if ! add_clone >"newcomer-$release.log" 2>&1; then
		echo "$release: FAILED: no make and git, or no clone: $(tail -1 "newcomer-$release.log")"
		failed=$((failed + 2))
	else
		rm -f "newcomer-$release.log"
		command_passes "make demo"
		[ -z "$has_packages" ] || check_packages
		command_passes "${NEWCOMER_CHECK:-$last}"
	fi
}

# They are installed where nothing of the build is.
check_packages() {
	local built=$dir
	if ! command_passes "make deb"; then
		echo "$release: the packages: skipped: there are none"
		skipped=$((skipped + 1))
		return
	fi
	local dir=$built.clean
	prepare_apt && mkdir -p "$dir/root/debs/source" &&
		find "$built/assay/build-deb" -name '*.deb' ! -name '*dbgsym*' -exec cp -t "$dir/root/debs" {} + &&
		cp -r "$here"/../{debian,examples,scripts} "$dir/root/debs/source" && cp "$here/packages_check.sh" "$dir/root/" || echo "$release: no copy of the packages"
	command_passes "sh /root/packages_check.sh /root/debs"
}

[ $# -gt 0 ] || mapfile -t every < <(cut -s -d'|' -f1 <<<"$releases")
for name in "${@:-${every[@]}}"; do
	newcomer "$name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
