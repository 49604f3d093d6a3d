#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JavaScript parses; without node there is nothing to ask.
cd "$(dirname "$0")/.." || exit 2
command -v node >/dev/null || {
	echo "node is not installed"
	exit 77
}
scripts/tracked.sh '*.js' '*.mjs' '*.cjs' | {
	while read -r file; do
		# Node.js before 20.19 takes a .js file for a module only if it is told so.
		kind=commonjs
		! grep -qE '^(import|export) ' "$file" || kind=module
		node --check --input-type=$kind - <"$file" || { echo "$file" && bad=1; }
		head -2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' || {
			echo "$file: no SPDX line"
			bad=1
		}
	done
	[ -z "${bad-}" ]
}
