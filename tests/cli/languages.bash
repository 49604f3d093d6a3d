# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For tests of interpreted languages; load helpers first.

# Skips the test, with the reason, where assay does not know the interpreter.
need_python() {
	command -v python3 >/dev/null || skip "no python3 here"
	[ "$(uname -m)" = x86_64 ] || skip "Python's frames are known on x86-64 alone"
	need_sampler
	PYTHON=$(realpath "$(python_path)")
	python3 -c 'import sys; sys.exit(not (3, 6) <= sys.version_info[:2] <= (3, 14))' ||
		skip "$(python3 --version): assay knows Python 3.6 to 3.14"
	plain=$(python3 -c 'import sys; print("" if sys.version_info >= (3, 11) else "--plain")')
}

# The stacks of `trampoline` in s are whole, and have each function once.
check_trampolines() {
	local all whole cut
	assay export -q -i s --format folded -o folded 'image:*trampoline,/srv/app.py,app.py'
	all=$(awk '{ n += $NF } END { print n + 0 }' folded)
	whole=$(awk '/_start;.*;outer;K\.inner[ ;]/ { n += $NF } END { print n + 0 }' folded)
	[ "$all" -ge 100 ]
	[ "$whole" -ge $((all * 9 / 10)) ]
	run ! grep 'K\.inner;.*K\.inner' folded
	# On a busy machine, the tables of a file come late, and its stacks count.
	cut=$(awk '/\[cut\]/ { n += $NF } END { print n + 0 }' folded)
	[ "$cut" -le "$(fact s '.losses["stack-no-table"] // 0')" ]
	[ "$(assay report -i s --frames language --by language,symbol -t 0 --format json |
		jq -r '[.rows[] | select(.language == "python") | .symbol] | sort | join(" ")')" = "K.inner outer" ]
	[ "$(assay report -i s --by file -t 0 --format json | jq '[.rows[] | select(.file == "/srv/app.py")] | length')" = 1 ]
}

# A function without lines shows the source of its only definition.
check_source_by_name() {
	mkdir -p source
	printf '%s\n' 'class K:' '    def inner(self):' '        return 1' '' '' 'def outer():' '    return K().inner()' >source/app.py
	assay annotate -i s --rewrite /srv="$PWD/source" app.py:K.inner >text
	grep -q '│ *2      def inner(self):$' text
	grep -q '│ *3          return 1$' text
	! grep -q 'def outer' text || false
	grep -q '│ (no line)$' text
	[ "$(grep -c 'its source is found by its name' text)" = 1 ]
}
