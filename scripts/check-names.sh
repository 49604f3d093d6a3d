#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# At most one function name in twenty has definitions in two files of src/, because a name carries
# its subject. --list prints the names that more than one file has, and the files.
cd "$(dirname "$0")/.." || exit 2
find src -name '*.c' ! -path '*/bpf/*' | sort | xargs awk -v list="$1" '
FNR == 1 { head = "" }
/^[a-zA-Z_].*\(/ { head = $0 }
/^\{/ && head != "" {
	name = head
	sub(/\(.*/, "", name)
	sub(/.*[^a-zA-Z0-9_]/, "", name)
	if (!((name, FILENAME) in seen)) {
		seen[name, FILENAME] = 1
		n[name]++
		where[name] = where[name] " " FILENAME
	}
	head = ""
}
/^[;}]|;[ \t]*$/ { head = "" }
END {
	for (name in n) {
		all++
		if (n[name] > 1) {
			shared++
			if (list == "--list")
				print name ":" where[name]
		}
	}
	if (shared * 20 <= all)
		exit 0
	printf "%d of %d function names are defined in more than one file (scripts/check-names.sh --list): at most one in twenty may be\n", shared, all
	exit 1
}'
