# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Traces of the generator (tests/pt), decoded by us and by perf, and compared with its truth.
#
#   trace_of [OPTION…] -- PROGRAM [ARG…]        ./trace.data, ./truth, and that by thread in ./want
#   same_branches [OPTION…] -- PROGRAM [ARG…]   the same; generator, decoder and perf agree
#   as_perf [OPTION…]                           script's lines are perf's: ./ours and ./theirs
#
# If perf 6.1 and assay place an estimate differently (docs/intel-pt.md, "What is not as in perf"), one of
# these functions checks the facts that must hold nevertheless. None of them has a tolerance:
#
#   cycles_as_perf, ipc_as_perf, samples_as_perf, quick_as_perf

PT=$ASSAY_BUILD/tests/pt

# Branches by thread, in the order of time: perf interleaves threads.
by_thread() {
	awk '{ print $1, $2, $3, $4 }' | sort -s -n -k1,1
}

# Equal; if not, the first differences are shown.
equal_files() { # WANTED GOT
	cmp "$1" "$2" || { diff -u "$1" "$2" | head -20; return 1; }
}

# Not the samples of sched_switch.
decoded() {
	grep -e '=>' -e error
}

# A line without blanks between fields, and without the additions of perfs newer than 6.1: a trace starts by a
# jump, a branch has an eighth field, and an event its modifier. A flag that stands alone is lost in perf 7.2.
without_blanks() {
	tr -s ' \t' ' ' | sed -E 's/^ //; s/ tr strt jmp / tr strt /; s/ (instructions|transactions):H: / \1: /; s/ (\(x?\)|x) / (x) /; s,(0x[0-9a-f]+/0x[0-9a-f]+(/[^/ ]*){5})/[^/ ]*,\1,g'
}

# Both say it.
both_script() {
	command -v perf >/dev/null || skip "perf is not installed"
	within assay script -i trace.data "$@" 2>ours.err | without_blanks >ours
	within perf script -i trace.data "$@" 2>perf.err | without_blanks >theirs
	[ -s ours ]
}

as_perf() {
	both_script "$@"
	equal_files theirs ours
}

# Perfs newer than 6.1 have cycles at fewer branches. If both have cycles at a branch, all cycles up to it are
# equal.
ipc_as_perf() {
	case $(perf --version 2>/dev/null) in "" | "perf version 6.1."*) as_perf "$@"; return ;; esac
	both_script "$@"
	paste -d'|' theirs ours | awk -F'|' '
		function cycles(s) { return s ~ /IPC:/ && sub(/.*\//, "", s) ? s + 0 : 0 }
		function instructions(s) { return s ~ /IPC:/ && sub(/.*\(/, "", s) ? s + 0 : 0 }
		function branch(s) { sub(/ *(IPC:.*)?$/, "", s); return s }
		{
			c += cycles($1) - cycles($2)
			i += instructions($1) - instructions($2)
			ours += $2 ~ /IPC:/
		}
		branch($1) != branch($2) { print "line " NR " (perf | assay): " $0; bad = 1 }
		$1 ~ /IPC:/ && $2 ~ /IPC:/ { both++; wrong += c || i }
		END {
			print both " of " ours " are told by both, " wrong + 0 " differ"
			exit bad || wrong || both * 10 < ours * 9
		}' >differences || { head differences; return 1; }
}

# Without CYC packets, cycles are estimated at MTCs. Here, a branch may have the cycles of the next branch,
# too. At each branch with cycles, all instructions up to it equal perf's, and so do all cycles. At a PSB,
# perf may estimate the cycle's length anew. The next branch with cycles makes up for such a difference, and
# at most one such branch in 50 has one.
cycles_as_perf() {
	both_script "$@"
	[ "$(wc -l <ours)" = "$(wc -l <theirs)" ]
	paste -d'|' theirs ours | awk -F'|' '
		function cycles(s) { return s ~ /IPC:/ && sub(/.*\//, "", s) ? s + 0 : 0 }
		function instructions(s) { return s ~ /IPC:/ && sub(/.*\(/, "", s) ? s + 0 : 0 }
		function branch(s) { sub(/ *(IPC:.*)?$/, "", s); return s }
		{
			c += cycles($1) - cycles($2)
			i += instructions($1) - instructions($2)
			told += cycles($2)
		}
		branch($1) != branch($2) || $2 ~ /IPC:/ && (i || c && last_c) { print "line " NR " (perf | assay): " $0; bad = 1 }
		$2 ~ /IPC:/ { last_c = c; n++; differ += c != 0 }
		END {
			print told " cycles, " differ + 0 " of " n " places differ"
			exit bad || c || differ * 50 > n || told < 10000
		}' >differences || { head differences; return 1; }
}

# A sample by time stands where its time is estimated to be reached. There may be instructions
# between the two estimates, fewer than the sample counts; the next sample makes up for them.
samples_as_perf() { # OPTION…, with the fields tid,time,ip,period
	both_script "$@"
	[ "$(wc -l <ours)" = "$(wc -l <theirs)" ]
	paste -d' ' theirs ours | awk '
		{ d += $3 - $7; most = $3 > $7 ? $3 : $7 }
		$1 != $5 || $2 != $6 || d >= most || -d >= most || !d && !before && ($3 != $7 || $4 != $8) {
			print "line " NR " (perf, assay): " $0
			bad = 1
		}
		{ before = d }
		END { print d " instructions less"; exit bad || d }' >differences || { head differences; return 1; }
}

# Where an MTC stands between a FUP and its TIP, perf gives its time to both; here, to the TIP. Near a switch,
# perfs newer than 6.1 give a sample another thread.
quick_as_perf() { # OPTION…, with the time as second field
	both_script "$@"
	[ "$(wc -l <ours)" = "$(wc -l <theirs)" ]
	local has_threads
	[[ $(perf --version 2>/dev/null) != "perf version 6.1."* ]] || has_threads=1
	paste -d'|' theirs ours | awk -F'|' -v has_threads="${has_threads-}" '
		function at(s) { split(s, field, " "); sub(/:$/, "", field[2]); return field[2] + 0 }
		function rest(s) { split(s, field, " "); sub(field[2], "", s); if (!has_threads) sub(field[1], "", s); return s }
		rest($1) != rest($2) || at($2) > at($1) || at($2) < last || at($2) != at($1) && differed {
			print "line " NR " (perf | assay): " $0
			bad = 1
		}
		{ last = at($2); differed = at($2) != at($1) }
		END { exit bad }' >differences || { head differences; return 1; }
}

# The generator, in this folder: generate [OPTION…] -- PROGRAM [ARG…] makes trace.data and truth.
generate() {
	[ -x "$PT/pt_trace" ] || skip "the generator of traces is for x86-64, and not in this build"
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	within "$PT/pt_trace" "${options[@]}" trace.data truth "$@" >out 2>err </dev/null ||
		{ grep -q "not permitted" err && skip "ptrace is not permitted here"; cat err; return 1; }
}

# Stepping through a program takes a second of CPU time: the tests of a file share what was traced of
# a program that is no test's own.
generate_once() {
	local key kept new here=$PWD
	key=$(sha256sum <<<"${*@Q}")
	kept=$BATS_FILE_TMPDIR/trace.${key%% *}
	if [ ! -d "$kept" ]; then
		new=$(mktemp -d "$BATS_FILE_TMPDIR/new.XXXXXX")
		cd "$new" || return 1
		generate "$@"
		cd "$here" || return 1
		mv -T "$new" "$kept" 2>/dev/null || rm -r "$new" # another test was faster
	fi
	rm -rf trace.data
	cp -r "$kept"/. .
}

need_qemu_plugin() {
	{ [ -f "$PT/libpt_qemu.so" ] && command -v qemu-x86_64 >/dev/null; } || skip "no qemu-user with its plugin"
	qemu-x86_64 -h | grep -q -e -plugin || skip "this qemu-user takes no plugins"
}

trace_of() {
	local step=generate
	[[ " $* " != *" -- $PROGRAMS/flow "* ]] || step=generate_once
	rm -rf trace.data
	$step "$@"
	by_thread <truth >want
}

same_branches() {
	trace_of "$@"
	[ "$(wc -l <want)" -gt 1000 ]
	within assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | decoded | by_thread >ours
	equal_files want ours
	command -v perf >/dev/null || return 0
	within perf script -i trace.data --itrace=be -F tid,ip,addr 2>perf.err | decoded | by_thread >theirs
	equal_files want theirs
}
