#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Includes go one way: a room of src/ may include itself and rooms on earlier lines of src/LAYERS, and
# a reader may not include record/.
cd "$(dirname "$0")/.." || exit 2
find src -mindepth 2 -name '*.[ch]' | sort | xargs awk '
FILENAME == "src/LAYERS" {
	if ($1 == "readers:")
		for (i = 2; i <= NF; i++)
			reads[$i] = 1
	else if (!/^#/)
		for (i = 1; i <= NF; i++)
			layer[$i] = FNR
	next
}
/^[^*\/]*[^a-z_](atexit|sigaction)\(/ && FILENAME !~ /^src\/(commands|daemon|base\/files\/cut_guard)/ {
	complain("commands/ and daemon/ alone install handlers of signals and of the end")
}
FNR == 1 {
	split(FILENAME, part, "/")
	me = part[2]
	if (!(me in layer))
		complain("folder " me " is not in src/LAYERS")
}
/^[ \t]*#[ \t]*include[ \t]+"/ {
	split($0, quoted, "\"")
	n = split(quoted[2], part, "/")
	if (part[1] == "record" && reads[me])
		complain(me " reads sessions and may not include " quoted[2])
	else if (n > 1 && part[1] != me && !(layer[part[1]] < layer[me] && part[1] in layer))
		complain(me " may not include " quoted[2])
	else if (n == 1 && quoted[2] != "config.h")
		complain("say the folder: \"" me "/" quoted[2] "\"")
}
function complain(text) {
	print FILENAME ":" FNR ": " text
	bad = 1
}
END { exit bad }
' src/LAYERS
