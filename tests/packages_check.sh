#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the Debian packages do for a newcomer: tests/packages_check.sh FOLDER, as root in a chroot that has the packages' source in
# FOLDER/source (debian/ and examples/) and nothing else of assay. Ends with 1 at the first failure.
set -eu
folder=$1
export DEBIAN_FRONTEND=noninteractive
failed() {
	echo "failed: $*"
	exit 1
}

# As docs/packages.md has it: with the libraries that the packages recommend.
apt-get -qq update
apt-get -qq install -y "$folder"/*.deb >/dev/null
assay --version
! assay --version | grep -E '(libbpf|libZydis|libcapstone|libpfm4|ncurses|libmicrohttpd|libfuse3).*: (no|missing)' || failed "a library is missing"
man -w assay-record >/dev/null 2>&1 || [ -e /usr/share/man/man1/assay-record.1.gz ] || failed "no manual"
[ -e /lib/systemd/system/assay.service ] || [ -e /usr/lib/systemd/system/assay.service ] || failed "no service"
getent passwd assay >/dev/null || failed "no user assay"

# The first commands of the README, as an ordinary user.
apt-get -qq install -y --no-install-recommends gcc libc6-dev pkgconf python3 util-linux >/dev/null
work=$(mktemp -d)
cp "$folder/source/scripts/demo-work.sh" "$work/work.sh"
chmod -R 777 "$work"
runuser -u nobody -- env HOME="$work" sh -eu -c '
	cd "$HOME"
	assay record -- ./work.sh
	assay report
	assay report -l --limit 15
	assay report --tree --limit 3
	assay explain
	assay doctor' || failed "an ordinary user's commands"

passed=1 skipped=0
for test in record library python oprofile; do
	status=0
	sh "$folder/source/debian/tests/$test" || status=$?
	case $status in
	0) passed=$((passed + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) failed "the packages' test '$test': status $status" ;;
	esac
done
echo "$passed passed, 0 failed, $skipped skipped"
