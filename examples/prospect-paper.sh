#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiment of the Prospect paper, on one machine: four request-response clients and a spinner
# in the background, profiled by `prospect -V4 -H1000`. docs/howto/prospect.md explains what it shows.
#
#   examples/prospect-paper.sh [BUILD [ROUNDS [SECONDS]]]
#
# Three runs: the spinner alone; with clients on loopback; and with the packets of loopback handed
# from CPU to CPU, as a network card's would come. The last run is in a separate network namespace,
# so that nothing of the machine is changed. Needs root and jq.
set -euo pipefail

build=$(cd "${1:-build}" && pwd)
rounds=${2:-60000}
seconds=${3:-5}
dir=$(mktemp -d)
spinner=

cleanup() {
	if [ -n "$spinner" ]; then
		kill "$spinner"
		wait "$spinner" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap cleanup EXIT

profile() { # NAME COMMAND…
	local name=$1
	shift
	"$build/prospect" -V4 -H1000 -f "$dir/$name.json" --format json "$@"
}

# Every CPU may take the packets of loopback, and interrupts another one for it.
# shellcheck disable=SC2016 # the other shell's
steering='
	ip link set lo up
	mount -t sysfs sysfs /sys
	printf "%x" $(((1 << $(nproc)) - 1)) >/sys/class/net/lo/queues/rx-0/rps_cpus
	exec "$@"'

# A row a name; those of less than a hundredth of a second are left out.
table() {
	jq -r '
		def row: [.user, .system, .irq, .softirq | "\(.samples) \(.seconds * 1000 | round / 1000)"] | join(" ");
		(.processes | map(select(.name == ("client", "server", "cpuspin"))) | sort_by(.name)[]
			| "\(.name) \(row)"),
		(.processes[] | select(.pid == 0) | "[idle] \(row)"),
		(.statistics | "all \(row)")' "$dir/$1.json" |
		awk 'BEGIN { f = "%-8s %6s %6s  %6s %6s  %6s %6s  %7s %6s\n"
			printf f, "process", "user", "s", "system", "s", "irq", "s", "softirq", "s" }
			{ printf f, $1, $2, $3, $4, $5, $6, $7, $8, $9 }'
}

hot() { # NAME PART: the functions of the spinner
	jq -r ".processes[] | select(.name == \"cpuspin\") | .$2[].symbols[:6][] | \"  \(.samples) \(.symbol)\"" \
		"$dir/$1.json"
}

nice "$build/bench/cpuspin" &
spinner=$!

profile alone sleep "$seconds"
profile loopback "$build/bench/pingpong" 4 "$rounds"
profile steered unshare -n -m sh -c "$steering" sh "$build/bench/pingpong" 4 "$rounds"

for run in alone loopback steered; do
	printf '\n== %s: ' "$run"
	jq -r '.statistics | "\(.run_seconds * 100 | round / 100) s, \(.all.samples) samples, \(.lost) lost"' "$dir/$run.json"
	table "$run"
	printf '\nthe spinner, in the kernel for itself:\n'
	hot "$run" kernel_profile
	printf '\nthe spinner, interrupts that fell on it:\n'
	hot "$run" interrupts
done
printf '\n'
jq -r '.statistics | "clock: \(.clock)\nblind spot: \(.blind_spot)"' "$dir/alone.json"
