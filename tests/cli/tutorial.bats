#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of docs/tutorial.md and docs/comparison.md work in their order, and show what they tell.

load helpers

# The commands of its indented blocks, but not those that build assay.
tutorial_commands() {
	sed -n 's/^    \(\(! assay\|assay\|cc\|mkdir\) .*\)$/\1/p' "$ROOT/docs/tutorial.md"
}

# Runs each line of the file commands that this machine permits. Its output is in out.1, out.2, …
run_commands() {
	local n=0 command
	while read -r command; do
		n=$((n + 1))
		case $command in
		*idle.assay*) assay record -q -a -o probe -- true 2>/dev/null || continue ;;
		*off-cpu* | *w.assay*) assay record -q --off-cpu -o probe -- true 2>/dev/null || continue ;;
		*python3*) [ -x /usr/bin/python3 ] || continue ;;
		*py.assay*) [ -e py.assay ] || continue ;;
		esac
		if ! within bash -c "$command" >"out.$n" 2>&1 </dev/null; then
			echo "$command:"
			cat "out.$n"
			return 1
		fi
	done <commands
}

@test "the tutorial's commands find its regression, its line and its fix" {
	need_recording
	command -v cc >/dev/null || skip "there is no C compiler"
	ln -s "$ROOT/examples" examples
	tutorial_commands >commands
	[ "$(wc -l <commands)" -ge 15 ]
	run_commands

	assay diff before.assay after.assay --format json >changes.json
	jq -e '.rows[0].symbol | test("strcasecmp")' changes.json
	assay report -i after.assay -l --format json >after.json
	jq -e '.rows[] | select(.symbol == "find_customer") | .total > 2 * .samples' after.json
	assay annotate -i after.assay find_customer | has 'strcasecmp(a, b) == 0' -
	assay explain -i after.assay | has 'strcasecmp' -
}

@test "the comparison's commands show that stacks are whole, and Python's functions" {
	need_recording
	command -v cc >/dev/null || skip "there is no C compiler"
	ln -s "$ROOT/tests" tests
	sed -n 's/^    \(\(assay\|cc\|printf\) .*\)$/\1/p' "$ROOT/docs/comparison.md" >commands
	[ "$(wc -l <commands)" -ge 9 ]
	run_commands
	read -r whole all < <(grep -hE '^[0-9]+ [0-9]+$' out.* | head -1)
	[ "$all" -gt 100 ]
	[ $(((all - whole) * 50)) -le "$all" ]
	[ ! -e w.assay ] || grep -q '  sleep$' out.*
}
