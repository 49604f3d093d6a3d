#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles a few seconds of real work as the present user and shows what came out.
# Usage: scripts/demo.sh path/to/assay
set -eu
assay=$(realpath "${1:?which assay?}")
session=demo.assay

# show TEXT COMMAND…: the command as one would type it, then what it prints.
show() {
	printf '\n# %s\n$ assay' "$1"
	shift
	for word; do
		case $word in
		*[!A-Za-z0-9_./=:@-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$assay" "$@"
}

if ! show "Profile a command and all that it starts." record -o $session -- scripts/demo-work.sh; then
	printf '\nRecording did not work. What this machine permits, and what would change it:\n\n'
	"$assay" doctor || true
	exit 1
fi
show "Which programs and libraries used the time?" report -i $session
show "Which functions?" report -i $session -l --limit 15
cat <<END

The session is kept in $session. What to try next:

  assay report -i demo.assay --tree       who called what
  assay report -i demo.assay --by comm    by program
  assay record -a --duration 5            the whole machine for five seconds (as root)
  assay doctor                            what this machine permits
  assay help                              everything else
END
