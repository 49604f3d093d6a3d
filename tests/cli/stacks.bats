#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole stacks of binaries without frame pointers.

load helpers

# CPU time is the same number of samples on a busy machine.
WORK='
import json, time
while time.process_time() < 0.7:
	json.dumps(list(range(1000)))'

# The share, in whole percent, of samples whose stack begins in _start.
from_start() { # SESSION [FILTER]
	assay report -i "$@" --tree -t 0 --format json |
		jq '([.rows[] | select(.depth == 1 and .symbol == "[cut]") | .total] | add // 0) as $cut | [.rows[] | select(.depth == 0)] |
			((map(select(.symbol == "_start") | .total) | add // 0) - $cut) * 100 / (map(.total) | add) | floor'
}

need_ordinary_user() {
	need_root
	run unprivileged assay record -e cpu-clock:u -o probe -- true
	[ "$status" = 0 ] || skip "an ordinary user may not record here: $output"
}

@test "copied stacks reach the start of a program without frame pointers" {
	need_recording
	run assay record --call-graph dwarf -e cpu-clock -o s -- "$(python_path)" -c "$WORK"
	[ "$status" = 0 ]
	[[ "$(assay info s)" == *"stacks: copied stacks"* ]]
	[ "$(from_start s)" -ge 90 ]
}

@test "stacks of a 32-bit program are whole" {
	need_recording
	gcc -m32 -O2 -fomit-frame-pointer -fno-pic -nostdlib -static -no-pie -o i386 "$BATS_TEST_DIRNAME/../programs/i386.c" 2>cc.log ||
		skip "no i386 compiler: $(tail -n 1 cc.log)"
	timeout -k 1 0.1 ./i386 || [ $? = 124 ] || skip "the kernel runs no 32-bit programs"
	# Of the first samples in the kernel, the table is not there yet.
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	is_whole() { has_samples 100 s "app:$PWD/i386" && [ "$(from_start s "app:$PWD/i386")" -ge 90 ]; }
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		rm -rf s
		# shellcheck disable=SC2086 # words
		record_until is_whole -o s $options -e cpu-clock -F "$(at_most 997)" -- ./i386
		assay export -i s -o s.folded "app:$PWD/i386"
		has ';_start;start;outer;middle;spin ' s.folded
	done
}

# Asks the kernel by way of the vdso, and then sends itself a signal, whose handler runs for a while.
i386_with_vdso() {
	cat >vdso.c <<-'END'
		static unsigned int vsyscall;
		static volatile unsigned int sink;
		static __attribute__((noipa)) int ask(int number, int a, const void *b)
		{
			int result;
			__asm__ volatile("call *%1" : "=a"(result) : "m"(vsyscall), "a"(number), "b"(a), "c"(b), "d"(0) : "memory");
			return result;
		}
		static void handler(int signal)
		{
			for (int i = 0; i < 100000; i++)
				sink += signal;
		}
		void start(unsigned int *stack);
		void start(unsigned int *stack)
		{
			struct { void (*handler)(int); unsigned int mask, flags; void *restorer; } action = { handler, 0, 0, 0 };
			for (stack += stack[0] + 2; *stack; stack++) {}
			for (stack++; stack[0] != 32; stack += 2) {} /* AT_SYSINFO */
			vsyscall = stack[1];
			ask(67, 10, &action); /* sigaction(2) of SIGUSR1 */
			for (;;) {
				for (int i = 0; i < 1000; i++)
					ask(64, 0, 0); /* getppid(2) */
				ask(37, ask(20, 0, 0), (void *)10);
			}
		}
		__asm__(".globl _start\n_start: .cfi_startproc\n.cfi_undefined eip\nmov %esp, %eax\npush %eax\ncall start\nhlt\n.cfi_endproc\n");
	END
	gcc -m32 -O2 -fomit-frame-pointer -fno-pic -nostdlib -static -no-pie -o vdso vdso.c 2>cc.log ||
		skip "no i386 compiler: $(tail -n 1 cc.log)"
	timeout -k 1 0.1 ./vdso || [ $? = 124 ] || skip "the kernel runs no 32-bit programs"
}

@test "functions of the vdso of a 32-bit program have names" {
	need_recording
	i386_with_vdso
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	has_names() {
		assay export -q -i s -F folded -o s.folded "app:$PWD/vdso" && grep -q ';_start;start;ask;__kernel_vsyscall' s.folded &&
			grep -q ';__kernel_sigreturn;handler ' s.folded
	}
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		rm -rf s
		# shellcheck disable=SC2086 # words
		record_until has_names -o s $options -e cpu-clock -F "$(at_most 997)" -- ./vdso
		[ "$(assay report -i s -l --format json "app:$PWD/vdso" | jq '[.rows[] | select(.image == "[vdso32]" and (.symbol | startswith("__") | not)) | .samples] | add // 0')" = 0 ]
	done
}

@test "stacks of code without unwind tables are whole, and count as guessed" {
	need_recording
	none="-O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables"
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	is_whole() { has_samples 100 s "app:bare$n" && [ "$(from_start s "app:bare$n")" -ge 90 ]; }
	# Without BPF, the test ends before the second options.
	for options in "--call-graph dwarf" "--collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		n=0
		n_run=0
		for compiler in "gcc $none" "gcc -m32 -static $none" "musl-gcc -static -O2" "musl-gcc $none"; do
			n=$((n + 1))
			# shellcheck disable=SC2086 # words
			[ -x bare$n ] || $compiler -o bare$n "$BATS_TEST_DIRNAME/../programs/bare.c" 2>cc.log || continue
			timeout -k 1 10 ./bare$n 0.01 || continue
			n_run=$((n_run + 1))
			rm -rf s
			# shellcheck disable=SC2086 # words
			record_until is_whole -o s $options -e cpu-clock:u -F "$(at_most 997)" -- ./bare$n 1000
			assay export -i s -o s.folded app:bare$n
			has ';main;outer;.*;compare;leaf' s.folded
			[ "$(fact s '.losses."stack-guessed"')" -ge 90 ]
			[[ $options == *bpf* ]] || {
				strip -o stripped bare$n
				# shellcheck disable=SC2086 # words
				assay record -q -o t $options -e cpu-clock:u -F "$(at_most 997)" -- ./stripped 0.4 >/dev/null
				[ "$(fact t '(.losses | with_entries(select(.key | test("^stack-(no|bad|short)"))) | add // 0) * 20 < .samples')" = true ]
				rm -rf t
			}
		done
		[ "$n_run" -gt 0 ] || skip "no compiler made a program: $(tail -n 1 cc.log)"
	done
}

@test "a signal handler's stack goes on through the trampoline to the program's start" {
	need_recording
	[ -x "$PROGRAMS/handler" ] || skip "no static C library of x86-64"
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		# shellcheck disable=SC2086 # words
		assay record -q $options -e cpu-clock -o s -- "$PROGRAMS/handler" 0.3 >/dev/null
		assay export -i s -o s.folded comm:handler
		has ';main;work;.*;__restore_rt;on_signal;in_handler ' s.folded
	done
}

@test "the trampoline of a stripped C library is <signal handler>" {
	need_recording
	[ -x "$PROGRAMS/handler" ] || skip "no static C library of x86-64"
	strip -o handler "$PROGRAMS/handler"
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		# shellcheck disable=SC2086 # words
		assay record -q $options -e cpu-clock -o s -- ./handler 0.3 >/dev/null
		assay export -i s -o s.folded comm:handler
		has '^handler;.*;<signal handler>;.* ' s.folded
	done
}

@test "a handler with a separate stack: the in-kernel sampler continues, copied stacks have the reason of their end" {
	need_recording
	[ -x "$PROGRAMS/handler" ] || skip "no static C library of x86-64"
	assay record -q --call-graph dwarf -e cpu-clock -o s -- "$PROGRAMS/handler" 0.3 own >/dev/null
	assay export -i s -o s.folded
	has ';__restore_rt;on_signal;in_handler ' s.folded
	[ "$(fact s '.losses."stack-other" * 100 / .samples | floor')" -ge 90 ]
	[ "$(fact s '.losses."stack-short" // 0')" = 0 ]
	need_sampler
	# The first stacks are from before the sampler had the program's table.
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	continues() {
		assay export -q -i s -o s.folded comm:handler 2>/dev/null &&
			grep -q ';main;work;.*;__restore_rt;on_signal;in_handler ' s.folded
	}
	rm -rf s
	record_until continues -q -a --collector bpf -e cpu-clock -o s -- "$PROGRAMS/handler" 100000 own
}

@test "stacks are whole if the only unwind table is a .debug_frame, also compressed or in a debug file" {
	need_recording
	[ "$(uname -m)" = x86_64 ] || skip "needs code of x86-64"
	gcc -O1 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables \
		-o plain "$ROOT/tests/programs/deep.c"
	objcopy --compress-debug-sections=zlib plain packed
	readelf -SW packed | grep -q 'debug_frame .* C '
	cp plain linked
	objcopy --only-keep-debug plain linked.debug
	strip linked
	objcopy --add-gnu-debuglink=linked.debug linked
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		for program in packed linked; do
			# The two have one build ID, so each gets a separate cache.
			export XDG_CACHE_HOME=$PWD/cache-$program-${options##* }
			# shellcheck disable=SC2086 # words
			assay record -q $options -e cpu-clock -o s -- "./$program" 0.3cpu >/dev/null
			assay export -i s -o s.folded "comm:$program"
			# Samples in exec and exit have no stack of the program; some are from before the sampler had its table.
			awk -v early="$(fact s '.losses."stack-no-table" // 0')" '
				/level|bottom/ { all += $NF; if (/_start;/) whole += $NF }
				END { exit !(whole && whole + early >= 0.99 * all) }' s.folded
		done
	done
}

# The share, in whole percent, of samples in in_fiber() whose stack has this pattern. Stacks from before the sampler had the
# file's table, which a busy machine makes late, are left out.
in_fiber_share() {
	awk -v pattern="$1" -v early="$(fact s '.losses."stack-no-table" // 0')" '
		/;in_fiber/ { all += $NF; if ($0 ~ pattern) n += $NF }
		END { all = all - early > n ? all - early : n; print all ? int(n * 100 / all) : 0 }' s.folded
}

# The in-kernel sampler's stacks; until it has the program's tables, they are copied.
fibers_reach() { # PATTERN ARGUMENTS…
	local pattern=$1
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	most_reach() {
		assay export -i s -o s.folded comm:fibers 2>/dev/null && [ "$(in_fiber_share "$pattern")" -ge 90 ]
	}
	rm -rf s
	record_until most_reach -q -a --collector bpf -e cpu-clock -o s -- "$PROGRAMS/fibers" "${@:2}"
}

@test "stacks of fibers continue where the unwind information leads to another stack" {
	need_recording
	[ -x "$PROGRAMS/fibers" ] || skip "needs code of x86-64"
	assay record -q --call-graph dwarf -e cpu-clock -o s -- "$PROGRAMS/fibers" 0.3 fiber >/dev/null
	assay export -i s -o s.folded
	[ "$(in_fiber_share '^fibers;\[cut\];run_on;in_fiber')" -ge 99 ]
	[ "$(fact s '.losses."stack-other" * 100 / .samples | floor')" -ge 90 ]
	[ "$(fact s '.losses."stack-short" // 0')" = 0 ]
	need_sampler
	fibers_reach '_start;.*;main;run_on;in_fiber' 100000 fiber
	fibers_reach '_start;.*;main;run_on;outer;run_below;in_fiber' 100000 nested
}

@test "a context of makecontext is a whole stack, and its end has a name" {
	need_recording
	[ -x "$PROGRAMS/fibers" ] || skip "needs code of x86-64"
	for options in "--call-graph dwarf" "-a --collector bpf"; do
		[[ $options != *bpf* ]] || need_sampler
		# shellcheck disable=SC2086 # words
		assay record -q $options -e cpu-clock -o s -- "$PROGRAMS/fibers" 0.3 context >/dev/null
		assay export -i s -o s.folded comm:fibers
		[ "$(in_fiber_share '^fibers;__start_context;in_fiber')" -ge 99 ]
		[[ $options = *bpf* ]] || [ "$(fact s '[.losses | to_entries[] | select(.key | test("stack|frame")) | .value] | add // 0')" = 0 ]
	done
}

@test "copied stacks work for an ordinary user" {
	need_ordinary_user
	run unprivileged assay record --call-graph dwarf -e cpu-clock:u -o s -- python3 -c "$WORK"
	[ "$status" = 0 ]
	[ "$(from_start "$NOBODY/s")" -ge 90 ]
}

# 700 calls take between 8 and 16 KB.
@test "an ordinary user's copies are whole where he may lock rings for them" {
	need_ordinary_user
	most=$(ulimit -H -l)
	[ "$most" = unlimited ] || [ "$most" -gt $((3200 * $(nproc))) ] ||
		skip "no more than $most KiB may be locked here"
	cp "$PROGRAMS/deep-nofp" "$NOBODY"
	chmod 777 "$NOBODY"
	# The kernel counts the locked memory of each user, so no other test is this user.
	limited() {
		ulimit -l "$1" && cd "$NOBODY" &&
			HOME=$NOBODY setpriv --reuid $((100000 + $$)) --regid nogroup --clear-groups env PATH="$NOBODY:$PATH" "${@:2}"
	}
	for limit in 1 "$most"; do
		run limited "$limit" assay record --call-graph dwarf -e cpu-clock:u -o "$limit" -- \
			./deep-nofp 0.3cpu 700
		[ "$status" = 0 ]
	done
	# Some are taken while it is not that deep yet.
	[ "$(from_start "$NOBODY/1")" -le 40 ]
	[ "$(from_start "$NOBODY/$most")" -ge 90 ]
}

@test "a stack deeper than the copied bytes is cut, and counted" {
	need_recording
	run assay record --call-graph dwarf --stack-size 1k -e cpu-clock -o s -- "$PROGRAMS/deep-nofp" 0.2cpu 300
	[ "$status" = 0 ]
	[[ "$(assay info s)" == *": stacks deeper than the copied bytes"* ]]
}

@test "a way to find stacks that there is not" {
	run assay record --call-graph lbr -- true
	refused 2 "'lbr' is not one of best|fp|dwarf|none"
	run assay record --call-graph dwarf --stack-size 1M -- true
	refused 2 "--stack-size" "65528"
}

@test "the best available stacks are the default, with a message" {
	need_recording
	run assay record -e cpu-clock -o s -- "$PROGRAMS/deep-nofp" 0.3cpu
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: copied stacks"* ]]
	[ "$(from_start s)" -ge 90 ]
	run assay record -e cpu-clock --call-graph fp -o s -- "$PROGRAMS/deep" 1
	[[ "$output" == *"stacks: frame pointers"* ]]
	run assay record -e cpu-clock --call-graph none -o s -- "$PROGRAMS/deep" 1
	[[ "$output" != *"stacks: "* ]]
}

@test "events of which each one may be a sample have their stacks by frame pointers" {
	need_recording
	run assay record -e context-switches:u -c 1 -o s -- true
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: frame pointers"* ]]
	# Rare ones have small copies.
	run assay record -e page-faults:u -c 1 -o faults -- true
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: copied stacks"* ]]
}

@test "a stack that execve has taken away could not be copied: it is not called deeper than the copy" {
	need_recording
	printf '#!/bin/sh\nexec ./again\n' >again
	chmod +x again
	record_samples 500 s '' --call-graph dwarf -- ./again
	[ "$(fact s '.losses."stack-short" // 0')" = 0 ]
}

# Static programs have the C library's own code in them, and its tables.
@test "stacks of static programs that fork, sort vectors and have threads are whole, by gcc and clang" {
	need_recording
	local compiler build source
	for build in gcc:-O0 gcc:-O2 clang:-O0 clang:-O2; do
		compiler=${build%:*}
		for source in forks.c vectors.cc threads.c; do
			[ $source = vectors.cc ] && compiler=${compiler/gcc/g++} && compiler=${compiler/clang/clang++}
			"$compiler" "${build#*:}" -g -static -pthread "$ROOT/tests/toolchains/programs/$source" -o app || skip "$compiler builds no static program here"
			compiler=${build%:*}
			assay record -q --raw --call-graph dwarf,32768 -F 999 -e cpu-clock -o app.data -- ./app 0.25
			mkdir -p elsewhere
			mv app elsewhere/
			assay script -i app.data --symbol-cache "" --symfs elsewhere >listing
			# Each stack through work() goes on to main() and to the code that called it, or to run() and clone().
			awk -v RS= '
				!/ work(\(int\))?\+/ { next }
				{ n++ }
				/ main\+/ && / __libc_start_main/ && $0 ~ / _start\+[^\n]*$/ { whole++ }
				/ run\+/ && / start_thread\+/ && $0 ~ / _*clone3?\+[^\n]*$/ { whole++ }
				END {
					print n, whole
					exit n < 20 || n != whole
				}' listing || { echo "$source by $build" >&2; head -40 listing >&2; return 1; }
		done
	done
}

# Of a new thread in clone(2), the stack is complete; that of its creator goes on.
@test "stacks of new threads, and of those that create them, are whole" {
	need_recording
	local how
	for how in -static ""; do
		# shellcheck disable=SC2086 # no word, if empty
		gcc -O2 -g -pthread $how "$ROOT/tests/toolchains/programs/starts.c" -o app || skip "gcc builds no static program here"
		# Threads that live shorter than a period have no samples: a slow machine has few.
		for _ in 1 2 3 4 5 6; do
			rm -rf s
			assay record -q --call-graph dwarf -F 4000 -e cpu-clock -o s -- ./app 1
			[ "$(fact s .samples)" -lt 200 ] || break
		done
		assay info s --format json | jq -c .losses >losses
		[ "$(jq '[to_entries[] | select(.key | test("^stack-|^frame-") and . != "stack-unreadable") | .value] | add // 0' losses)" -le 1 ] || { cat losses; false; }
		# The kernel copies no page of a stack that it moves at that moment, as a busy machine's does at times.
		unreadable=$(jq '."stack-unreadable" // 0' losses)
		[ "$unreadable" -le $(($(fact s .samples) / 20)) ] || { cat losses; false; }
		assay export -q -i s --format folded -o with_weights comm:app
		sed 's/ [0-9]*$//' with_weights >folded
		has '^app;_start;.*;main;.*pthread_create.*;.*clone' folded
		has '^app;_*clone3\{0,1\}\(;\|$\)' folded
		[ "$(grep -cvE '^app;(_start|_*clone3?|\[?(entry|asm|ret_from)[^;]*)(;|$)' folded)" -le $((2 + unreadable)) ] || { cat folded; false; }
	done
}

# The same programs, stopped now and then: frame by frame, whatever a profile would miss.
@test "stacks of static programs are gdb's, address by address" {
	[ -n "$(command -v gdb)" ] || skip "gdb is not installed"
	[ -x "$ASSAY_BUILD/bench/walk" ] || skip "bench/walk is not built"
	local compiler source
	for compiler in gcc clang; do
		for source in forks.c vectors.cc threads.c starts.c; do
			case $source in
			*.cc) driver=${compiler/gcc/g++} driver=${driver/clang/clang++} ;;
			*) driver=$compiler ;;
			esac
			"$driver" -O2 -g -static -pthread "$ROOT/tests/toolchains/programs/$source" -o app || skip "$driver builds no static program here"
			"$ROOT/tests/toolchains/compare_stacks.py" "$ASSAY_BUILD/bench/walk" "$PWD/app" 10
		done
	done
}
