# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# perf.data files for tests: recorded by perf, and written by hand.

# A little of everything: several processes, libraries, the kernel. "${work[@]}" is a command.
work=(sh -c '"$0" 200 & for i in 1 2 3 4 5; do ls -lR "$1" >/dev/null; done; wait' "$PROGRAMS/split" "$ROOT/tests")

# A number, the least of its bytes first.
le() { # VALUE BYTES
	local value=$1 text='' byte i
	for ((i = 0; i < $2; i++)); do
		printf -v byte '\\x%02x' $((value >> (8 * i) & 255))
		text+=$byte
	done
	printf '%b' "$text"
}

# A pipe's header and one cpu-clock event of the oldest attr: IP, TID, TIME; then records.
pipe_header() {
	printf PERFILE2
	le 16 8
	le 64 4; le 0 2; le 72 2
	le 1 4; le 64 4; le 0 8; le 1000000 8; le 7 8; le 0 8; le 0 8; le 0 8; le 0 8
}

sample() { # IP TIME [TID]
	le 9 4; le 2 2; le 32 2
	le "$1" 8; le 41 4; le "${3-41}" 4; le "$2" 8
}
