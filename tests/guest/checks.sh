# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# The beginning of the guest's test scripts (busybox sh): results in TAP.
#
#   check TITLE FUNCTION…       one test: the function runs with `set -e` in a subshell, in a folder of
#                               its own; what it printed is shown if it fails
#   skip REASON                 within one: it can't be tested here
#   same WANTED GOT [WHAT]      fail unless equal
#   between LEAST GOT MOST [WHAT]
#   has TEXT FILE, has_no TEXT FILE   a fixed string somewhere in the file
#   refused STATUS FILE COMMAND…   it ends so, what it prints goes to the file
#   wait_for COMMAND…            until it succeeds; fails when that takes too long
#   record_until CONDITION ARGUMENTS…   records into s until the condition, a command, holds, and ends the command:
#                               nobody knows how many samples a slow machine takes in a time. $under is a command
#                               that starts the recorder, or nothing
#   record_whole CONDITION ARGUMENT…  record_until, and no record is lost
#   fact KEY SESSION             a figure of `assay info`: samples, or a reason of losses; 0 if not there
#   of_symbol SYMBOL SESSION     the samples whose innermost frame is this function
#   has_samples SYMBOL SESSION [LEAST]  it has so many; 1
#   has_any_samples LEAST       the session s has so many; cheap, as it needs no symbols
#   samples_on CPU APP SESSION   of the programs whose name has this
#   has_samples_on CPU APP SESSION  any
#   has_chain SESSION            any from main() through all of deep's calls
#   share_is N TOTAL PERCENT     N of TOTAL independent samples fit a true share: within five standard deviations
#   split_is_right SESSION       the samples of /programs/split are 40, 30, 20 and 10 percent in its functions
#   record_split OPTION…        records split into s until it has 100 samples of forty(), with these options of record;
#                               then all of it is right
#   stacks_are_whole SESSION     and have all callers from the program's start on
#   adds_up SESSION [PERCENT]    the report's rows are all samples, and each of them, or all but so many, has a mapping
#                               (unless a full ring lost records of mappings)
#   as_nobody COMMAND…           as an ordinary user, in /tmp/nobody, which is empty at first
#   at_paranoid LEVEL FUNCTION…  while kernel.perf_event_paranoid is this

check() {
	echo "$1" | grep -qF -f /etc/title || return 0
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

record_until() {
	condition=$1 never=
	shift
	rm -rf s
	# shellcheck disable=SC2086 # words
	${under-} assay record -o s "$@" &
	recorder=$!
	# The session is there as soon as the events are open: a process from before them that ends soon is not known.
	# shellcheck disable=SC2086 # words
	(wait_for test -e s && wait_for $condition) || never=1
	kill $recorder || true
	wait $recorder || true
	[ -z "$never" ]
}

# The same again until no record is lost: a full ring of a slow machine may lose a mapping, and then all later stacks are cut.
record_whole() {
	for _ in 1 2 3; do
		record_until "$@" || return 1
		[ "$(fact ring-records s) $(fact ring-full s)" != "0 0" ] || return 0
	done
	skip "the machine is too slow: each of 3 recordings lost records"
}

# The one reason that is none of a fault: doctor says which Linux has it.
need_bpf() {
	why=$(assay doctor | sed -n 's/^  BPF  *missing  *\(.* came with Linux [0-9.]*\).*/\1/p')
	[ -z "$why" ] || skip "$why"
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

has_any_samples() {
	[ "$(fact samples s 2>/dev/null)" -ge "$1" ]
}

has_samples() {
	[ "$(of_symbol "$1" "$2" 2>/dev/null)" -ge "${3-1}" ]
}

samples_on() {
	assay report -i "$3" --by cpu,app --format csv | awk -F, -v cpu="$1" -v app="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		$c["cpu"] == cpu && $c["app"] ~ app { n += $c["samples"] }
		END { print n + 0 }'
}

has_samples_on() {
	[ "$(samples_on "$@" 2>/dev/null)" -gt 0 ]
}

has_chain() {
	assay export -i "$1" --weight samples -o s.folded && grep -q 'main;level;level;.*level;bottom' s.folded
}

# A child that inherits several counters keeps them apart.
several_events_by_bpf() {
	assay record --collector bpf -e cpu-clock -e task-clock -o s -- sh -c '/programs/split 0.5cpu; /programs/split 0.5cpu' 2>log
	has "in-kernel unwinding" log
	assay report -i s --by event --format csv -t 0 >events.csv
	cat events.csv
	n=$(sed -n 's/^cpu-clock,\([0-9]*\),.*/\1/p' events.csv)
	between 50 "$n" 100000 "samples of cpu-clock" # an emulated timer is late
	between $((n * 9 / 10)) "$(sed -n 's/^task-clock,\([0-9]*\),.*/\1/p' events.csv)" $((n * 11 / 10)) "samples of task-clock"
}

# awk here has no square root.
share_is() {
	awk -v n="$1" -v total="$2" -v percent="$3" 'BEGIN {
		share = percent / 100
		variance = 25 * total * share * (1 - share) + 1
		exit variance > total * total / 16 || (n - total * share) * (n - total * share) > variance
	}' || fail "$1 of $2 samples are not $3 %"
}

samples_in_split() { # PARTS
	awk -v part=";($1)(;| )" '$0 ~ part { n += $NF } END { print n + 0 }' split.folded
}

split_is_right() {
	assay export -i "$1" --weight samples -o split.folded >/dev/null 2>&1
	all=$(samples_in_split 'forty|thirty|twenty|ten')
	between 100 "$all" 10000000 "samples of split"
	for part in "forty 40" "thirty 30" "twenty 20" "ten 10"; do
		share_is "$(samples_in_split "${part% *}")" "$all" "${part#* }"
	done
}

# A recording of split that has enough samples, however slow the machine is, and all of them are right. The rate leaves
# the guest's CPUs time for more than samples.
record_split() {
	record_until "has_samples forty s 100" -F 199 "$@" -- /programs/split 100000s || failed=1
	killall split || true
	[ -z "${failed-}" ] || fail "no recording"
	split_is_right s
	adds_up s 10
}

# A lost record of a mapping, or a copy of a stack during a change of mappings, cuts a stack; the reason is counted.
stacks_are_whole() {
	assay export -i "$1" --weight samples -o split.folded >/dev/null 2>&1
	all=$(samples_in_split 'forty|thirty|twenty|ten')
	cut=$((all - $(samples_in_split '_start;.*;main;(forty|thirty|twenty|ten)')))
	counted=$(assay info --format json "$1" | sed -n 's/^ *"stack-[a-z-]*": \([0-9]*\),*$/\1/p' | awk '{ n += $1 } END { print n + 0 }')
	[ $((cut * 50)) -le "$all" ] || counted=$(fact stack-no-table "$1")
	[ "$cut" -le "$counted" ] || { assay info "$1"; fail "$cut of $all stacks are cut, $counted have a reason"; }
}

adds_up() {
	assay report -i "$1" -t 0 --idle --by app,image,symbol --format csv >rows.csv
	same "$(fact samples "$1")" "$(awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ n += $column["samples"] }
		END { print n + 0 }' rows.csv)" "the report's samples"
	for reason in bad-record no-kernel; do
		same 0 "$(fact "$reason" "$1")" "samples lost as $reason"
	done
	grep unknown rows.csv || true
	percent=${2-0}
	# A ring that was full on a slow machine lost mappings, too, and assay counts them.
	[ "$(fact ring-records "$1") $(fact ring-full "$1")" = "0 0" ] || percent=25
	between 0 $(($(fact unmapped "$1") + $(fact no-process "$1"))) $(($(fact samples "$1") * percent / 100)) \
		"samples without a mapping, beside $(fact ring-records "$1") lost records and $(fact ring-full "$1") lost samples"
}

as_nobody() {
	rm -rf /tmp/nobody
	mkdir -m 777 /tmp/nobody
	printf '%s\n' "export HOME=/tmp/nobody PATH=$PATH; cd /tmp/nobody; $*" >/tmp/nobody/command
	su -s /bin/sh nobody -c "${ROOTLESS-} sh /tmp/nobody/command"
}

at_paranoid() {
	before=$(cat /proc/sys/kernel/perf_event_paranoid) status=0
	echo "$1" >/proc/sys/kernel/perf_event_paranoid
	shift
	("$@") || status=$?
	echo "$before" >/proc/sys/kernel/perf_event_paranoid
	[ "$status" != 77 ] || exit 77 # the reason is the last line
	[ "$status" = 0 ] || fail "failed: $*"
}
