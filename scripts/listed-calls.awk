# SPDX-License-Identifier: GPL-2.0-or-later
# The common part of check-opens.sh and check-parsers.sh. The first file is a list: FILE|NUMBER|REASON. The second is
# the output of grep -Hn: the calls that are there. Prints each call that is not listed, and each row that is too large.
#
#   -v script=PATH -v noun=calls -v advice='…' [-v skipped='FILE …']
BEGIN {
	FS = "|"
	n = split(skipped, skip, " ")
	for (i = 1; i <= n; i++)
		is_skipped[skip[i]] = 1
}
FILENAME != "-" {
	if (NF) {
		permitted[$1] = $2
		known[$1] = 1
	}
	next
}
{
	split($0, at, ":")
	if (at[1] in is_skipped)
		next
	found[at[1]]++
	lines[at[1]] = lines[at[1]] at[1] ":" at[2] ": " advice ", or list it in " script " with the reason\n"
}
END {
	for (file in found)
		if (found[file] > permitted[file] + 0) {
			printf "%s", lines[file]
			bad = 1
		}
	for (file in known)
		if (found[file] + 0 < permitted[file]) {
			print script ": " file " has " found[file] + 0 " " noun ", not " permitted[file]
			bad = 1
		}
	exit bad
}
