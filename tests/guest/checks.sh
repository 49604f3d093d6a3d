# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# What the guest's test scripts begin with (busybox sh): results in TAP.
#
#   check TITLE FUNCTION…       one test: the function runs with `set -e` in a subshell, in a folder of
#                               its own; what it printed is shown if it fails
#   skip REASON                 within one: it can't be tested here
#   same WANTED GOT [WHAT]      fail unless equal
#   between LEAST GOT MOST [WHAT]
#   has TEXT FILE, has_no TEXT FILE   a fixed string somewhere in the file
#   refused STATUS FILE COMMAND…   it ends so, what it prints goes to the file
#   wait_for COMMAND…            until it succeeds; fails when that takes too long
#   fact KEY SESSION             a figure of `assay info`: samples, or a reason of losses; 0 if not there
#   of_symbol SYMBOL SESSION     the samples whose innermost frame is this function

check() {
	title=$1 start=$(cut -d' ' -f1 /proc/uptime)
	shift
	mkdir -p /tmp/check && cd /tmp/check || exit 1
	(
		set -e
		"$@"
	) >/tmp/check.log 2>&1
	case $? in
	0) echo "ok - $title" ;;
	77) echo "ok - $title # SKIP $(tail -n 1 /tmp/check.log)" ;;
	*)
		echo "not ok - $title"
		tail -n 40 /tmp/check.log | sed 's/^/# /'
		;;
	esac
	echo "# from $start to $(cut -d' ' -f1 /proc/uptime) s"
	cd /tmp && rm -rf /tmp/check
}

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "$*"
	exit 1
}

same() {
	[ "$1" = "$2" ] || fail "${3-}: wanted $1, got $2"
}

between() {
	{ [ "$2" -ge "$1" ] && [ "$2" -le "$3" ]; } || fail "${4-}: wanted $1 to $3, got $2"
}

has() {
	grep -qF -- "$1" "$2" || { cat "$2"; fail "not said: $1"; }
}

has_no() {
	! grep -qF -- "$1" "$2" || { cat "$2"; fail "said: $1"; }
}

refused() {
	wanted=$1 output=$2 got=0
	shift 2
	"$@" >"$output" 2>&1 || got=$?
	[ "$got" = "$wanted" ] || { cat "$output"; fail "status $got, wanted $wanted: $*"; }
}

wait_for() {
	since=$(cut -d. -f1 /proc/uptime)
	until "$@"; do
		[ $(($(cut -d. -f1 /proc/uptime) - since)) -le "$(cat /etc/deadline)" ] || fail "never: $*"
		sleep 0.2
	done
}

fact() {
	found=$(assay info --format json "$2" | sed -n "s/^  \(  \)\{0,1\}\"$1\": \([0-9]*\),\{0,1\}\$/\2/p" | head -n 1)
	echo "${found:-0}"
}

of_symbol() {
	assay report -i "$2" --by symbol --format csv | awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["symbol"] == name { n += $column["samples"] }
		END { print n + 0 }'
}
