# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# perf of a release that is newer than this machine's; after packages.sh.
#
#   put_perf RELEASE            /perf has the program and all its libraries, or /perf/missing: why not

put_file_of_perf() { # FILE
	local name
	[ -e "$guest/perf/${1##*/}" ] || {
		cp -L "$1" "$guest/perf" || cannot "no $1"
		for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
			put_file_of_perf "$(find "$DEB_ROOT"/usr/lib/x86_64-linux-gnu "$DEB_ROOT"/usr/lib64 -maxdepth 1 -name "$name" | head -n 1)"
		done
	}
}

put_perf() {
	local why
	mkdir -p "$guest/perf"
	why=$(packages_of amd64 "$1" && locked unpack_with_depends linux-perf && put_file_of_perf "$DEB_ROOT/usr/bin/perf" 2>&1) ||
		echo "perf of $1: ${why##*$'\n'}" >"$guest/perf/missing"
}
