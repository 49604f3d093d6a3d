#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the README and the commands' own examples tell people to type works.

load helpers

# The commands of the README's indented blocks, in order.
readme_commands() {
	sed -n 's/^    \(\$ \)\{0,1\}\(assay [a-z].*\)$/\2/p' "$ROOT/README.md"
}

# Whether this user is permitted what the command wants: the whole machine, or the scheduler.
may_run() {
	case $1 in
	*machine.assay*) assay record -q -a -o probe -- true ;;
	*context-switches*) assay stat -e context-switches -- true ;;
	*--off-cpu*) assay record -q --off-cpu -o probe -- true ;;
	esac
}

@test "every command of the README runs" {
	need_recording
	cp "$PROGRAMS/threads" worker
	printf '#!/bin/sh\nexec ./worker "${1-2000}"\n' >app
	# a fifth of the work
	sed 's/150000/30000/' "$ROOT/scripts/demo-work.sh" >work.sh
	chmod +x app work.sh
	cat >pidof <<-'END'
		#!/bin/sh
		cat pid
	END
	chmod +x pidof
	background ./app 100000s >/dev/null
	echo "$pid" >pid
	PATH=$PWD:$PATH
	readme_commands >commands
	[ "$(wc -l <commands)" -ge 15 ]
	while read -r command; do
		if ! within bash -c "$command" >out 2>&1 </dev/null; then
			! may_run "$command" 2>/dev/null && continue
			echo "$command:"
			cat out
			return 1
		fi
	done <commands
}

@test "the README opens with two sentences, two commands and two pictures, and fits a few screens" {
	[ "$(grep -n '^    make demo' "$ROOT/README.md" | head -1 | cut -d: -f1)" -le 6 ]
	[ "$(grep -n '^    make check' "$ROOT/README.md" | head -1 | cut -d: -f1)" -le 7 ]
	head -20 "$ROOT/README.md" | grep -o '(docs/pictures/[a-z.]*)' | tr -d '()' >pictures
	[ "$(wc -l <pictures)" = 2 ]
	while read -r picture; do
		[ -s "$ROOT/$picture" ]
	done <pictures
	[ "$(wc -l <"$ROOT/README.md")" -lt 130 ]
}

@test "man pages show patterns with their stars, and name the pages that they speak of" {
	command -v mandoc >/dev/null || skip "mandoc is not installed"
	[ -s "$ASSAY_BUILD/man/assay-report.1" ] || skip "built without man pages"
	mandoc -T ascii "$ASSAY_BUILD/man/assay-report.1" | sed 's/.\x08//g' >page
	has 'cgroup=~"\.\*web\.\*"' page
	has 'found their page here: \*Walker\*' page
	has '^\*assay\*(1), .*\*assay-serve\*(1), .*\*assay-fleet\*(1)' "$ASSAY_BUILD/man/assay-ship.1.scd"
	has '_assay-doc_' "$ASSAY_BUILD/man/assay.1.scd"
	# opcontrol -h is --shutdown
	[ "$(grep -c -- '^\*-h\*' "$ASSAY_BUILD/man/opcontrol.1.scd")" = 1 ]
}

@test "every file that the documentation links to is there" {
	cd "$ROOT"
	for page in README.md CONTRIBUTING.md docs/*.md docs/*/*.md; do
		grep -o ']([^)#]*)' "$page" | tr -d '])(' | grep -v '^[a-z]*:' | while read -r link; do
			[ -e "$(dirname "$page")/$link" ] || { echo "$page: $link" >&2; exit 1; }
		done
	done
}

@test "the documents and man pages become a site whose links all lead somewhere" {
	/usr/bin/python3 -c 'import markdown' 2>/dev/null || skip "python3-markdown is not installed"
	command -v mandoc >/dev/null || skip "mandoc is not installed"
	[ -s "$ASSAY_BUILD/man/assay.1" ] || skip "built without man pages"
	"$ROOT/scripts/site.py" "$ASSAY_BUILD/man" one
	"$ROOT/scripts/site.py" "$ASSAY_BUILD/man" two
	diff -r one two
	has 'href="docs/tutorial.html"' one/index.html
	has 'href="../man/assay-record.1.html"' one/docs/README.html
	has 'id="' one/man/assay-report.1.html
	# A page loads nothing of other places, and has no script.
	! grep -rlE '<script|(src|href)="(https?:)?//[^"]*\.(js|css|png|svg)"' one || false
}
