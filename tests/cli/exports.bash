# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of exports share.

# session KIND [SAMPLES]: a session s, once a test.
session() {
	"$PROGRAMS/make_session" s "$1" "${2-3000}"
}

formats() {
	assay export --list-formats | awk '{ print $1 }'
}

# total EVENT FIELD FILTERS…: what the report says; FIELD is samples or events.
total() {
	local event=$1 field=$2
	shift 2
	assay report -i s --format json "$@" | jq --arg e "$event" ".total[] | select(.event == \$e) | .$field"
}

# What the report says of all events, as {"EVENT": {"samples": N, "events": N}}.
totals() {
	assay report -i s --format json "$@" | jq -cS '.total | map({(.event): {samples, events}}) | add'
}

# Skips the test where scripts/deps-npm.sh could not install a package.
need_npm() {
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/$1" ] || skip "$1 is not installed (scripts/deps-npm.sh)"
}

# same WHAT GOT WANTED
same() {
	[ "$2" = "$3" ] || { echo "$1: $2, wanted $3" >&2; return 1; }
}

# Skips the test if no small file system can be mounted to become full.
need_full_disk() {
	need_root
	mkdir -p full
	unshare -m mount -t tmpfs -o size=4k none full 2>mount.log || skip "mounting in a namespace is not permitted here: $(tail -1 mount.log)"
}

# yes or no: whether a file has a text, or, of a build id, its bytes.
has_text() { # FILE TEXT
	if grep -aqiF -- "$2" "$1" || { [[ $2 =~ ^[0-9a-f]{40}$ ]] && xxd -p "$1" | tr -d '\n' | grep -qF "$2"; }; then
		echo yes
	else
		echo no
	fi
}

# The same of several, as in the rows of docs/exporters.md: kept_in FILE TEXT…
kept_in() {
	local file=$1 text found=
	shift
	for text; do
		found+="${found:+ | }$(has_text "$file" "$text")"
	done
	echo "$found"
}

# The rows of docs/exporters.md that say what each format keeps.
kept_table() {
	sed -n '/^### Kept, format by format/,/^## /p' "$ROOT/docs/exporters.md" | grep '^| [a-z]* | \(yes\|no\) |'
}
