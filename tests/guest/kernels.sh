#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What assay does, on each of several kernels; every check compares a result. Titles are the rows of docs/kernels.md.
# `kernels.sh short` is a selection for a kernel that `make check` boots.
. /tests/checks.sh
extent=${extent:-${1-all}}

# ---- recording ----

a_command() {
	record_split
	stacks_are_whole s
	adds_up s
}

# All of the work is in bottom(), 60 calls below main().
calls_of_deep() { # SESSION [FIRST]: the outermost function
	assay export -i "$1" --weight samples -o s.folded
	chain=$(for _ in $(seq 58); do printf 'level;'; done)
	awk -v first=";${2-_start};" -v chain=";main;${chain}" '
		/;bottom(;| )/ { n += $NF; whole += index($0, chain) && index($0, first) ? $NF : 0 }
		END { print n + 0, whole + 0 }' s.folded >counted
	read -r samples whole <counted
	between 30 "$samples" 10000000 "samples in bottom()"
	between $((samples - $(fact stack-no-table "$1"))) "$whole" "$samples" "whole stacks"
}

copied_stacks() {
	record_whole "has_any_samples 200" -F 199 --call-graph dwarf -- /programs/deep-nofp 100000s
	calls_of_deep s
	adds_up s
}

# The C library has no frame pointers where it starts a program.
frame_pointers() {
	record_until "has_any_samples 200" --call-graph fp -- /programs/deep 100000s
	calls_of_deep s main
	adds_up s
}

a_process_that_runs() {
	/programs/split 100000s &
	work=$!
	record_until "has_samples forty s 500" -p "$work" || failed=1
	kill "$work"
	[ -z "${failed-}" ]
	split_is_right s
	stacks_are_whole s
	adds_up s
}

# Of a process that had just started when it was sampled in the kernel, the program is sometimes known too late.
exec_percent() { # COLLECTOR
	case $1 in bpf) echo 1 ;; *) echo 0 ;; esac
}

has_split() { # LEAST
	assay export -i s --weight samples -o split.folded >/dev/null 2>&1 && [ "$(samples_in_split 'forty|thirty|twenty|ten')" -ge "$1" ]
}

the_whole_machine() { # COLLECTOR
	[ "$1" != bpf ] || need_bpf
	# A rate that leaves the guest's CPUs time for more than samples, however slow the host is.
	record_until "has_split 500" -a --collector "$1" -F 199 -- sh -c '
		/programs/deep-nofp 100000s & exec /programs/split 100000s' 2>log
	killall deep-nofp
	cat log
	[ "$1" != bpf ] || has "in-kernel unwinding" log
	split_is_right s
	stacks_are_whole s
	calls_of_deep s
	adds_up s "$(exec_percent "$1")"
}

# Versions before 3.11 have no qualified names.
functions_of_python() {
	need_bpf
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || plain=--plain
	python3 /programs/golden.py &
	program=$!
	sleep 1
	record_until "has_any_samples 2000" -a --collector bpf -e cpu-clock -F 499 || failed=1
	kill $program
	assay info s
	[ -z "${failed-}" ] || fail "no recording"
	assay export -i s --format speedscope -o s.json
	# shellcheck disable=SC2086 # a word or none
	python3 /tests/language_stacks.py s.json ${plain-} py
}

samplers_of_compilers() {
	need_bpf
	[ ! -e /objects/missing ] || skip "$(cat /objects/missing)"
	for object in /objects/*.o; do
		echo "$object"
		/programs/load_sampler "$object"
	done
}

raw_records() {
	assay record --raw -o raw.data -- /programs/split 2cpu
	assay import -o s raw.data
	split_is_right s
	adds_up s
}

# ---- recordings of the perf of this kernel ----

# Its libraries are beside it.
perf() {
	/perf/ld-linux-x86-64.so.2 --library-path /perf /perf/perf "$@" </dev/null
}

need_perf() {
	[ -x /perf/perf ] || skip "$(cat /perf/missing 2>/dev/null || echo "only the newest kernel has its perf here")"
}

# Each sample as a line: its thread, its time, and a word for each frame. The peers name code of stripped files differently.
samples_as_lines() {
	awk '/^[^ \t]/ { if (line) print line; line = $1 " " $2 " " $3; next }
		NF { line = line " " ($2 ~ /^(level|bottom|main)$/ ? $2 : ".") }
		END { print line }' | sort
}

# The kernel leaves the user's part of a chain to a record of its own, which comes when the thread returns.
deferred_chains() {
	need_perf
	perf record -q -N -e cpu-clock -F 199 --call-graph fp,defer -o d.data -- /programs/deep 2cpu 2>log || { cat log; fail "no recording"; }
	assay script -i d.data -D | grep -c CALLCHAIN_DEFERRED >n
	between 30 "$(cat n)" 10000000 "records with a user part"
	# perf keeps a sample whose user part never comes until the thread has ended, and then has no name for it.
	perf script -i d.data --no-inline -F comm,tid,time,ip,sym 2>/dev/null | sed 's/^ *:\([0-9]*\)  *\1 /deep \1 /' | samples_as_lines >theirs
	assay script -i d.data --no-inline -F comm,tid,time,ip,sym | samples_as_lines >ours
	head -n 2 theirs ours
	between 100 "$(wc -l <ours)" 10000000 "samples"
	cut -d' ' -f1-3 theirs >their_times
	cut -d' ' -f1-3 ours | diff their_times -
	# Of few samples, one of the two has a frame more (Debian sid's perf 7.2: one of 400).
	diff theirs ours >differences || cat differences
	between 0 "$(grep -c '^>' differences)" $(($(wc -l <ours) / 20)) "samples with another chain"
	assay import -q -o s d.data
	calls_of_deep s main
	adds_up s
}

# ---- the kernel ----

kernel_symbols() {
	record_until "has_any_samples 200" -- dd if=/dev/zero of=/dev/null bs=1M
	adds_up s
	assay report -i s --by image,symbol --format csv >report.csv
	cat report.csv
	awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["image"] != "[kernel]" { next }
		{ n += $column["samples"]; named += $column["symbol"] ~ /^[a-zA-Z_]/ ? $column["samples"] : 0 }
		$column["symbol"] ~ /clear_user|rep_stos|read_zero|iov_iter_zero/ { zero += $column["samples"] }
		END { print n + 0, named + 0, zero + 0 }' report.csv >numbers
	read -r n named zero <numbers
	between 100 "$n" 10000000 "samples in the kernel"
	same "$n" "$named" "samples with a function of the kernel"
	between $((n / 2)) "$zero" "$n" "samples in what writes zeros"
}

# In a container, waits are refused with the remedy.
need_waits() {
	need_bpf
	[ -n "${ROOTLESS-}" ] || return 0
	refused 1 log assay record --off-cpu -o none -- true
	has "in the initial pid namespace alone: start the container with --pid=host" log
	skip "with --pid=host"
}

# Each line "IMAGE SYMBOL SAMPLES" of a module is a function that the kernel lists for it.
functions_of_modules() { # SESSION
	assay report -i "$1" -t 0 --by image,symbol --format csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["image"] ~ /^\[/ && $column["image"] != "[kernel]" {
			print $column["image"], $column["symbol"], $column["samples"]
		}' >functions
	cat functions
	awk 'NR == FNR { if ($4 != "") known[$4 " " $3]; next }
		$1 ~ /^\[(bpf|vdso|unknown|kernel.unlisted|cut)/ { next }
		/ \(no symbols\) / { n += $NF; if (n <= 3) next } # code that ran once, as the module was loaded, and is gone
		!($1 " " $2 in known) { print "not in that module:", $0; wrong++ }
		END { exit wrong > 0 }' /proc/kallsyms functions
}

samples_of_module() { # NAME
	awk -v image="[$1]" '$1 == image { n += $3 } END { print n + 0 }' functions
}

# zram needs its own modules to compress. The others are neighbours.
load_modules() {
	xargs -n 1 sh -c 'lsmod | grep -q "^$0 " || insmod "/modules/$0.ko"' </modules/order
}

# While it is loaded, it runs code for seconds that is gone afterwards.
load_neighbour() {
	lsmod | grep -q ^raid6_pq || insmod /modules/raid6_pq.ko
}

unload_modules() {
	tac /modules/order | xargs -n 1 rmmod
}

write_zram() {
	cat text >/dev/zram0
	sync
}

# Of the session that is being recorded. On a slow machine, a timer misses most ticks.
has_compressed() {
	n=$(assay report -i s -t 0 --by image --format csv 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["image"] == "[lz4hc_compress]" { n += $column["samples"] }
		END { print n + 0 }')
	[ "$n" -ge 120 ] || { write_zram; return 1; }
}

use_zram() {
	echo lz4hc >/sys/block/zram0/comp_algorithm
	echo 64M >/sys/block/zram0/disksize
	for _ in 1 2 3; do
		write_zram
	done
	wait_for has_compressed
}

modules() { # COLLECTOR WHEN-LOADED
	[ "$1" != bpf ] || need_bpf
	head -c 16000000 /proc/kallsyms >text
	load_neighbour
	[ "$2" = during ] || load_modules
	assay record -a --collector "$1" -o s -- sh -c '
		extent=functions . /tests/kernels.sh; load_modules; use_zram'
	echo 1 >/sys/block/zram0/reset
	cat /proc/modules
	functions_of_modules s
	unload_modules
	adds_up s 1 # code that runs once, as a module is loaded, is gone when the list is read
	between 100 "$(samples_of_module lz4hc_compress)" 1000000 "samples in the module that compresses"
	between 1 "$(samples_of_module zram)" 1000000 "samples in zram"
}

# ---- waits, counts, moments ----

# The three threads that wait are those behind the first one, in the order of their names; a sample is a millisecond. TID ASLEEP ALL
ms_of_threads() {
	assay report -i s -t 0 --by thread --format csv event:off-cpu:sleep,off-cpu:ready | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ ms[$column["tid"]] += $column["samples"] }
		$column["event"] == "off-cpu:sleep" { asleep[$column["tid"]] += $column["samples"] }
		END { for (tid in ms) print tid, asleep[tid] + 0, ms[tid] }' | sort -n
}

processes_by_name() {
	need_waits
	assay record --comm 'w?i*' --user 0 --off-cpu -o s -- sh -c '/programs/split 0.3cpu; /programs/waits 1s' >facts
	assay report -i s -t 0 --by comm --format csv | tail -n +2 | cut -d, -f2 | sort -u >comms
	cat comms
	grep -q waits comms
	! grep -qv waits comms
}

time_that_threads_wait() {
	need_waits
	assay record --off-cpu -o s -- /programs/waits 1s >facts
	cat facts
	assay report -i s -t 0 --by thread --format csv event:off-cpu:sleep,off-cpu:ready
	ms_of_threads | tail -n +2 | tee threads
	for n in 1 2 3; do
		read -r name wall waited _ <<-END
			$(grep -E '^(sleeper|locker|reader)' facts | sort | sed -n ${n}p)
		END
		read -r _ asleep all <<-END
			$(sed -n ${n}p threads)
		END
		# The rest of each kind of wait is rounded. A thread is ready before its own clock begins, and after it ends.
		between $((waited * 9 / 10)) "$all" $((wall * 3)) "ms that $name waits"
		between 0 "$asleep" $((wall + 2)) "ms that $name sleeps"
	done
}

# Samples of a wait: samples_of_waits SESSION FILTER…
samples_of_waits() {
	session=$1
	shift
	assay report -i "$session" -t 0 --by event --format csv "$@" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ n += $column["samples"] }
		END { print n + 0 }'
}

# main() has the mutexes that the threads wait for, writes into their pipe, and gives the mutexes back.
reasons_owners_and_wakers() {
	need_waits
	assay record --off-cpu -o o -- /programs/lock_owners >facts
	main=$(sed -n 's/^main //p' facts)
	assay report -i o -t 0 --by reason,owner 'event:off-cpu:*' via:normal
	between 20 "$(samples_of_waits o event:off-cpu:sleep via:normal reason:futex "owner:lock_owners ($main)")" 100000 "ms that normal() waits for main()"
	assay record --off-cpu -o s -- /programs/waits 1s >facts
	assay report -i s -t 0 --by reason,waker,waker-symbol event:off-cpu:sleep
	for pair in sleeper:sleep locker:futex reader:pipe; do
		between 500 "$(samples_of_waits s event:off-cpu:sleep "via:${pair%:*}" "reason:${pair#*:}")" 100000 "ms of $pair"
	done
	for function in locker reader; do
		between 500 "$(samples_of_waits s event:off-cpu:sleep via:$function waker:waits)" 100000 "ms of $function, ended by main()"
	done
	# An interrupt may strike a program of BPF. But the last function is the kernel's own.
	assay report -i s -t 0 --by symbol --format json 'event:off-cpu:*' | grep -oE '"symbol": *"[^"]*(bpf_|__traceiter)[^"]*"' >bpf || true
	assay report -i s -t 0 --by waker-stack --format json 'event:off-cpu:*' | grep -oE '"waker-stack": *"[^"]*;[^;"]*"' | grep -v ';try_to_wake_up"$' >>bpf || true
	cat bpf
	same 0 "$(wc -l <bpf)" "stacks that end elsewhere"
}

locks_of_the_kernel() {
	need_waits
	[ -e /sys/kernel/tracing/events/lock/contention_begin ] || skip "this kernel has no events of its locks"
	assay record --kernel-locks -o s -- /programs/contend 4 20000
	assay report -i s event:kernel-lock
	n=$(samples_of_waits s event:kernel-lock)
	between 1 "$n" 100000000 "waits for locks"
	same "$n" "$(samples_of_waits s event:kernel-lock reason:kernel-lock)" "waits with this reason"
}

# ---- allocations and probes ----

# Events of a function with its callees: events_of SESSION EVENT FUNCTION
events_of() {
	assay report -i "$1" -l -t 0 --format csv "event:$2" | awk -F, -v symbol="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["symbol"] == symbol { n += $column["total_events"] }
		END { print n + 0 }'
}

# Eleven blocks of 16 MB.
family_is_right() { # SESSION
	assay info "$1"
	assay report -i "$1" -l -t 0
	same 11 "$(events_of "$1" alloc-blocks family)" "blocks of family()"
	same 184549376 "$(events_of "$1" held-bytes family)" "bytes that family() holds"
}

allocations() {
	assay record --alloc -o s -- /programs/heaps family
	family_is_right s
}

# Mappings, the end of parts of them, another thread, and a process that is not seen.
allocations_by_probes() {
	need_bpf
	assay record --alloc -o s -- /programs/heaps-static family
	family_is_right s
	mkfifo in out
	exec 4<>in 5<>out
	/programs/heaps wait <in >out &
	read -r waiting <&5
	assay record --alloc -p "$waiting" -o t -- sh -c 'echo >in; read -r done <out'
	echo >in
	family_is_right t
	same 1 "$(events_of t alloc-blocks later)" "blocks of a new thread"
	same 8388608 "$(events_of t held-bytes part)" "bytes that part() holds"
	same 16777216 "$(events_of t held-bytes refused)" "bytes that refused() holds"
	same 1 "$(fact alloc-unseen t)" "processes that are not seen"
}

probes_of_programs() {
	assay record -e uprobe:/programs/heaps:family -e uretprobe:/programs/heaps:family -o s -- sh -c '/programs/heaps family; /programs/heaps family'
	assay report -i s -l -t 0
	same 4 "$(fact samples s)" "calls and returns"
	same 2 "$(of_symbol family s)" "calls"
}

counts() {
	assay stat -e task-clock,page-faults,context-switches --format csv -o counts -- /programs/split 1cpu
	cat counts
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ print $column["event"], $column["count"] }' counts >rows
	between 1000000000 "$(awk '/^task-clock/ { print $2 }' rows)" 2000000000 "ns of CPU time"
	between 20 "$(awk '/^page-faults/ { print $2 }' rows)" 1000 "page faults"
}

counts_of_cpus() {
	assay stat -a --per-cpu -e cpu-clock --format csv -o cpus -- sleep 1
	assay stat -a -e cpu-clock --format csv -o all -- sleep 1
	cat cpus all
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		between 1000000000 "$(awk -F, -v cpu="$cpu" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
			$c["cpu"] == cpu { print $c["count"] }' cpus)" 100000000000 "ns of CPU $cpu"
	done
	between $(($(nproc) * 1000000000)) "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $c["count"] }' all)" \
		100000000000 "ns of all CPUs"
}

the_moment_of_a_call() {
	status=0
	assay trace --source samples --keep 3600s --on-symbol the_moment -n 0 -- /programs/moment 2000 >calls 2>log || status=$?
	cat log calls
	same 7 "$status" "status of the program"
	has "the_moment was called" calls
	has " before" calls
	has_no " behind" calls
}

# ---- what a busy machine does not sample ----

due() { # SESSION: samples that there are, that were lost, and that the late timer never took
	echo $(($(fact samples "$1") + $(fact lost "$1") + $(fact throttled-samples "$1")))
}

# The shell tells the CPU time that the kernel has counted, in four times: its own and the program's.
ticks_of_a_command() {
	assay record -F 500 -o s -- sh -c '/programs/split 4cpu; times >times'
	cat times
	ms=$(tr ' ' '\n' <./times | awk -F'[ms]' 'NF > 1 { ms += ($1 * 60 + $2) * 1000 } END { printf "%d", ms }')
	between 3900 "$ms" 10000 "ms of CPU time"
	between $((ms * 98 / 200)) "$(due s)" $((ms * 102 / 200)) "samples due in $ms ms at 500 Hz"
}

# Eight busy programs let the two CPUs miss ticks. Each CPU counts for the command's time, and at most for the recording's.
ticks_of_the_machine() { # COLLECTOR
	[ "$1" != bpf ] || need_bpf
	for _ in $(seq 8); do /programs/split 100000s & done
	assay record -a --collector "$1" -F 500 -o s -- sleep 8 || failed=1
	killall split || true
	[ -z "${failed-}" ]
	ms=$(assay info --format json s | sed -n 's/^  "duration_s": \([0-9]*\)\.\([0-9][0-9][0-9]\).*/\1\2/p')
	between $((8000 * 98 / 100)) "$(due s)" $((ms * 102 / 100)) "samples due at 500 Hz on two CPUs"
}

# ---- the daemon ----

run_daemon() { # LEAST
	assay daemon --session-dir d -F 499 --max-cpu 0 2>>log &
	daemon=$!
	/programs/split 100000s &
	work=$!
	(wait_for has_samples forty d "$1") || failed=1
	kill "$work"
	kill "$daemon"
	wait "$daemon" || { cat log; fail "the daemon failed"; }
	[ -z "${failed-}" ] || { cat log; fail "no samples"; }
}

a_daemon_and_its_restart() {
	run_daemon 100
	first=$(fact samples d)
	before=$(of_symbol forty d)
	run_daemon $((before + 100))
	between $((first + 200)) "$(fact samples d)" 10000000 "samples of both runs"
	split_is_right d
	adds_up d 1
}

# ---- doctor and record agree ----

state_of() { # CHECK
	assay doctor --format json | tr -d '\n' | sed 's/},/\n/g' | sed -n "s/.*\"name\": \"$1\".*\"state\": \"\([a-z]*\)\".*/\1/p"
}

doctor_and_bpf() {
	assay doctor
	said=$(state_of BPF)
	[ "$said" = ok ] || said=missing
	assay record -a --collector bpf -o s -- /programs/split 50
	assay info s >info.txt
	grep -q "in-kernel" info.txt && works=ok || works=missing
	assay record --off-cpu -o w -- true && waits=ok || waits=missing
	said_of_waits=$said
	[ -z "${ROOTLESS-}" ] || said_of_waits=missing # doctor has them below "pid namespace"
	same "$said $said_of_waits" "$works $waits" "what record can by BPF"
}

# ---- an ordinary user ----

nobody_s_command() {
	at_paranoid 2 as_nobody ". /tests/checks.sh; record_split"
	stacks_are_whole /tmp/nobody/s
	adds_up /tmp/nobody/s
}

nobody_s_frame_pointers() {
	at_paranoid 2 as_nobody ". /tests/checks.sh; record_until 'has_any_samples 200' --call-graph fp -- /programs/deep 100000s"
	calls_of_deep /tmp/nobody/s main
	adds_up /tmp/nobody/s
}

nobody_s_copied_stacks() {
	at_paranoid 2 as_nobody ". /tests/checks.sh
		record_whole 'has_any_samples 200' -F 199 --call-graph dwarf -- /programs/deep-nofp 100000s"
	calls_of_deep /tmp/nobody/s
}

nobody_s_process() {
	at_paranoid 2 as_nobody ". /tests/checks.sh
		/programs/split 100000s & split=\$!
		record_until 'has_samples forty s 500' -p \$split; status=\$?
		kill \$split; exit \$status"
	split_is_right /tmp/nobody/s
	adds_up /tmp/nobody/s
}

nobody_s_raw_records() {
	at_paranoid 2 as_nobody assay record --raw -o raw.data -- /programs/split 2cpu
	assay import -o s /tmp/nobody/raw.data
	split_is_right s
}

# A clock of a busy emulator leaves ticks out; these are counted.
nobody_s_page_faults() {
	record="assay record -e page-faults:u -c 1 -o s -- sh -c 'seq 20000 | sort -r | tail -n 1'"
	eval "$record"
	at_paranoid 2 as_nobody "$record"
	all=$(fact samples s)
	between 200 "$all" 1000000 "page faults"
	between $((all * 95 / 100)) "$(fact samples /tmp/nobody/s)" $((all * 105 / 100)) "page faults, by root's"
	adds_up /tmp/nobody/s
}

# Root's recording of the machine and his own of the program, at once: the same late ticks for both. As many
# within 5 %. Both run at once. On a busy host, each timer misses other ticks, so this repeats until both
# missed as many.
both_have_as_many() (
	rm -rf /tmp/nobody s
	assay record -a --collector perf -F 500 -o s -- sleep 100000 &
	recorder=$!
	(wait_for test -e s && at_paranoid 2 as_nobody assay record -F 500 -o s -- /programs/split 4cpu) || failed=1
	kill $recorder
	wait $recorder || true
	[ -z "${failed-}" ] || exit 1
	root=$(($(of_symbol forty s) + $(of_symbol thirty s)))
	between $((root * 95 / 100)) $(($(of_symbol forty /tmp/nobody/s) + $(of_symbol thirty /tmp/nobody/s))) $((root * 105 / 100)) \
		"samples in forty() and thirty(), of $root that root has"
)

nobody_s_share() {
	wait_for both_have_as_many
}

nobody_counts() {
	at_paranoid 2 as_nobody assay stat -e task-clock:u,page-faults:u --format csv -o counts -- /programs/split 1cpu
	cat /tmp/nobody/counts
	between 20 "$(awk -F, '/page-faults/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) { print $i; exit } }' /tmp/nobody/counts)" 1000 "page faults"
}

nobody_and_the_machine() {
	at_paranoid 2 as_nobody "assay record -a -o s -- true && exit 1; [ ! -e s ] || exit 2; exit 0"
}

nobody_at_3() {
	echo 3 >/proc/sys/kernel/perf_event_paranoid
	as_nobody "assay record -o s -- /programs/split 50 && exit 1; [ ! -e s ] || exit 2; exit 0" >log 2>&1 || failed=1
	as_nobody "assay stat -e page-faults:u -- /programs/split 50 && exit 1; exit 0" >>log 2>&1 || failed=1
	as_nobody assay doctor >doctor.txt || true
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	cat log doctor.txt
	[ -z "${failed-}" ]
	has "You can profile: nothing." doctor.txt
}

[ "$extent" != functions ] || return 0

check "a command, by rings" a_command
check "copied stacks" copied_stacks
check "the whole machine, by rings" the_whole_machine perf
check "the whole machine, by BPF" the_whole_machine bpf
check "the kernel's functions" kernel_symbols
check "modules, by rings" modules perf before
check "modules, by BPF" modules bpf before
check "an ordinary user's command, at perf_event_paranoid 2" nobody_s_command
check "an ordinary user at perf_event_paranoid 3" nobody_at_3
check "deferred chains of perf record" deferred_chains
[ "$extent" != short ] || check "several events of a command, by BPF" several_events_by_bpf
[ "$extent" != short ] || exit 0
check "modules loaded during the recording, by rings" modules perf during
check "modules loaded during the recording, by BPF" modules bpf during
check "the sampler as clang 14, 19 and 21 make it" samplers_of_compilers
check "functions of Python, by BPF" functions_of_python
check "frame pointers" frame_pointers
check "a process that runs" a_process_that_runs
check "the kernel's records, as they come (--raw)" raw_records
check "time that threads wait" time_that_threads_wait
check "reasons, owners and wakers of waits" reasons_owners_and_wakers
check "waits for the kernel's locks" locks_of_the_kernel
check "processes by name" processes_by_name
check "allocations, by the preloaded library" allocations
check "allocations, by uprobes" allocations_by_probes
check "probes of a program and its children" probes_of_programs
check "samples and missed ticks of a command are its CPU time" ticks_of_a_command
check "samples and missed ticks of the machine are its CPUs' time, by rings" ticks_of_the_machine perf
check "samples and missed ticks of the machine are its CPUs' time, by BPF" ticks_of_the_machine bpf
check "counts of a command" counts
check "counts of each CPU" counts_of_cpus
check "what led to a call of a function (trace --on-symbol)" the_moment_of_a_call
check "the daemon, and its restart" a_daemon_and_its_restart
check "doctor says of BPF what record does" doctor_and_bpf
check "an ordinary user, by frame pointers" nobody_s_frame_pointers
check "an ordinary user's copied stacks" nobody_s_copied_stacks
check "an ordinary user's process that runs" nobody_s_process
check "an ordinary user's records (--raw)" nobody_s_raw_records
check "an ordinary user's page faults" nobody_s_page_faults
check "an ordinary user has as many samples as root" nobody_s_share
check "an ordinary user counts" nobody_counts
check "an ordinary user may not record the machine" nobody_and_the_machine
. /tests/settings.sh
