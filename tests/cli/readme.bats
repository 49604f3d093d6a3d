#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the README and the commands' own examples tell people to type works.

load helpers

# The commands of the README's indented blocks, in order.
readme_commands() {
	sed -n 's/^    \(\$ \)\{0,1\}\(assay [a-z].*\)$/\2/p' "$ROOT/README.md"
}

@test "every command of the README runs" {
	need_recording
	cp "$PROGRAMS/threads" app
	cp "$ROOT/scripts/demo-work.sh" work.sh
	cat >pidof <<-'END'
		#!/bin/sh
		cat pid
	END
	chmod +x pidof
	./app 60s >/dev/null &
	echo $! >pid
	PATH=$PWD:$PATH
	readme_commands >commands
	[ "$(wc -l <commands)" -ge 15 ]
	while read -r command; do
		if ! bash -c "$command" >out 2>&1 </dev/null; then
			# an ordinary user may not see the whole machine
			[[ "$(id -u)" != 0 && "$command" == *machine.assay* ]] && continue
			echo "$command:"
			cat out
			kill "$(cat pid)"
			return 1
		fi
	done <commands
	kill "$(cat pid)"
}

@test "the README opens with the two commands and fits a few screens" {
	[ "$(grep -n '^    make demo' "$ROOT/README.md" | head -1 | cut -d: -f1)" -le 3 ]
	[ "$(grep -n '^    make check' "$ROOT/README.md" | head -1 | cut -d: -f1)" -le 4 ]
	[ "$(wc -l <"$ROOT/README.md")" -lt 130 ]
}

@test "every file that the documentation links to is there" {
	cd "$ROOT"
	for page in README.md CONTRIBUTING.md docs/*.md; do
		grep -o ']([^)#]*)' "$page" | tr -d '])(' | grep -v '^[a-z]*:' | while read -r link; do
			[ -e "$(dirname "$page")/$link" ] || { echo "$page: $link" >&2; exit 1; }
		done
	done
}
