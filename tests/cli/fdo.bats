#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Branch stacks for compilers: against what perf prints of the same recording.

load helpers

# AutoFDO's lists of the kernel, made of perf's own text.
from_perf() {
	perf script -i "$1" -F ip,dso,brstack 2>/dev/null | python3 -c '
import collections, re, sys
ranges, branches = collections.Counter(), collections.Counter()
base = 0xffffffffb4200000
for line in sys.stdin:
    newer = None
    for f, fd, t, td in re.findall(r"0x([0-9a-f]+)\((.*?)\)/0x([0-9a-f]+)\((.*?)\)/", line):
        f, t = int(f, 16), int(t, 16)
        if not f and not t:
            break
        here = (f - base if "kernel" in fd else None, t - base if "kernel" in td else None)
        if None not in here:
            branches[here] += 1
        if newer is not None and here[1] is not None and 0 <= newer - here[1] <= 1 << 20:
            ranges[(here[1], newer)] += 1
        newer = here[0]
for counts, between in ((ranges, "-"), (branches, "->")):
    print(len(counts))
    for (a, b), n in sorted(counts.items()):
        print(f"{a:x}{between}{b:x}:{n}")
'
}

@test "autofdo has the ranges and branches that perf prints" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	command -v perf >/dev/null || skip "perf is not installed"
	assay export -q -i "$FIXTURES/perf.data.branch-4.14" -o k.afdo --image '\[kernel*'
	from_perf "$FIXTURES/perf.data.branch-4.14" >expected
	[ "$(wc -l <expected)" -gt 100 ]
	# Its list of samples is between the two.
	diff expected <(awk 'NF && /^[0-9]+$/ { part++ } part != 2' k.afdo)
}

@test "what has no branch stacks says what has" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	run assay export -i "$FIXTURES/perf.data.singleprocess-3.8" --format bolt -o x.preagg
	refused 1 "the recording has no branch stacks"
	[ ! -e x.preagg ]
	assay import -q "$FIXTURES/perf.data.branch-4.14" -o s.assay
	run assay export -i s.assay --format autofdo
	refused 1 "give a perf.data file with -i"
	run assay export -i "$FIXTURES/perf.data.branch-4.14" --format bolt comm:echo
	refused 2 "bolt takes no filters"
}
