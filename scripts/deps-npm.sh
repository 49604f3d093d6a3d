#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what tests/npm/package-lock.json pins into tests/npm/node_modules, once. Without npm or
# network it says so; the tests that want it then skip, with that reason.
cd "$(dirname "$0")/../tests/npm" || exit 2
[ -n "$(find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ] && exit 0
command -v npm >/dev/null || {
	echo "npm is not installed: tests that read exports with JavaScript will skip" >&2
	exit 0
}
log=$(mktemp)
timeout 120 npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1 </dev/null || {
	tail -3 "$log" >&2
	echo "npm ci failed: tests that read exports with JavaScript will skip" >&2
}
touch -c node_modules/.package-lock.json
rm -f "$log"
