#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# record --alloc: allocations of programs with known sums.
# shellcheck disable=SC2030,SC2031 # each test is a separate process

load helpers

# What a function has of an event, with its callees: sum SESSION EVENT FUNCTION
sum() {
	assay report -i "$1" -l -t 0 --format json "event:$2" |
		jq -s "[.[].rows[] | select(.symbol == \"$3\") | .total_events] | add // 0"
}

# near VALUE EXPECTED PERCENT
near() {
	echo "$1, and $2 is expected"
	[ "$1" -ge $(($2 * (100 - $3) / 100)) ]
	[ "$1" -le $(($2 * (100 + $3) / 100)) ]
}

# Whether no stack was cut because a busy machine read too late: sums are right only then.
is_whole() { # SESSION
	[ "$(fact "$1" '.lost + .losses["stack-no-table"] + .losses["file-late"]')" = 0 ]
}

# Records until it is.
record_whole() {
	local try session=s
	[[ " $*" != *" -o t "* ]] || session=t
	for try in 1 2 3 4 5; do
		assay record --alloc "$@"
		! is_whole $session || return 0
	done
	skip "the machine is too busy: records were lost in $try runs"
}

@test "bytes and blocks, allocated and held, belong to the functions that asked for them" {
	need_recording
	record_whole --alloc-every 64k -o s -- "$PROGRAMS/heaps"
	# 64 kB of 40 MB are 610 samples: five standard deviations are 20 percent.
	near "$(sum s alloc-bytes keep)" 40000000 21
	near "$(sum s alloc-blocks keep)" 4000 21
	near "$(sum s held-bytes keep)" 40000000 21
	near "$(sum s held-blocks keep)" 4000 21
	near "$(sum s alloc-bytes churn)" 200000000 10
	near "$(sum s alloc-blocks churn)" 1000000 10
	near "$(sum s alloc-bytes grow)" 101000000 5
	near "$(sum s alloc-bytes map)" 33554432 1
	near "$(sum s held-bytes map)" 16777216 1
	# a block that was just allocated by the last realloc may be counted, but it was freed
	[ "$(sum s held-bytes churn)" = 0 ]
	[ "$(sum s held-bytes grow)" = 0 ]
}

@test "all that is held is no more than all that was allocated, and stacks reach main" {
	need_recording
	assay record --alloc -o s -- "$PROGRAMS/heaps"
	run -0 assay report --tree -i s event:held-bytes
	[[ "$output" == *main*keep* ]]
	[ "$(sum s held-bytes main)" -le "$(sum s alloc-bytes main)" ]
}

@test "each function of the family counts, and its block is held" {
	need_recording
	record_whole -o s -- "$PROGRAMS/heaps" family
	# eleven blocks of 16 MB, one of them for strdup's own
	near "$(sum s alloc-bytes family)" $((11 * 16777216)) 1
	near "$(sum s held-bytes family)" $((11 * 16777216)) 1
	[ "$(sum s alloc-blocks family)" = 11 ]
}

# A program whose functions allocate 40 MB each, by operator new and by malloc.
cpp_program() {
	command -v g++ >/dev/null || skip "g++ is not installed"
	cat >cpp.cc <<'END'
#include <cstdlib>
#include <new>
static void *volatile sink;
__attribute__((noinline)) void by_new() { for (int i = 0; i < 2000; i++) sink = ::operator new(20000); }
__attribute__((noinline)) void by_malloc() { for (int i = 0; i < 2000; i++) sink = malloc(20000); }
__attribute__((noinline)) void freed() { for (int i = 0; i < 2000; i++) { sink = ::operator new(20000); ::operator delete(sink); } }
__attribute__((noinline)) void thrown() { try { sink = ::operator new(static_cast<size_t>(-1) / 4); abort(); } catch (const std::bad_alloc &) { } }
int main() { by_new(); by_malloc(); freed(); thrown(); return 0; }
END
	g++ -O1 -fno-builtin -o cpp cpp.cc
}

# check_cpp SESSION: 64 kB of 40 MB, as above
check_cpp() {
	near "$(sum "$1" alloc-bytes 'by_new()')" 40000000 21
	near "$(sum "$1" held-bytes 'by_new()')" 40000000 21
	near "$(sum "$1" alloc-bytes 'by_malloc()')" 40000000 21
	near "$(sum "$1" alloc-bytes 'freed()')" 40000000 21
	[ "$(sum "$1" held-bytes 'freed()')" = 0 ]
}

@test "operator new counts for its caller" {
	need_recording
	cpp_program
	record_whole --alloc-every 64k -o s -- ./cpp
	check_cpp s
	[ "$(sum s alloc-bytes 'operator new(unsigned long)')" = 0 ]
}

@test "a child's releases of copies leave the parent's blocks alone" {
	need_recording
	record_whole --alloc-every 64k -o s -- "$PROGRAMS/heaps" fork
	near "$(sum s held-bytes keep)" 40000000 21
	near "$(sum s held-bytes child)" 40000000 21
}

@test "programs that a shell starts are seen, and the user's LD_PRELOAD is kept" {
	need_recording
	LD_PRELOAD=$(command -v libc.so.6 || echo libc.so.6) run --separate-stderr \
		assay record --alloc -o s -- sh -c "echo \"\$LD_PRELOAD\"; '$PROGRAMS/heaps' family"
	[ "$status" = 0 ]
	[[ "$output" == *libassay-heap.so:*libc.so.6 ]]
	[ "$(sum s alloc-blocks family)" = 11 ]
	[ "$(fact s '.losses["alloc-unseen"] // 0')" = 0 ]
}

@test "a program without the library is counted" {
	need_recording
	assay record --alloc -o s -- env -i "$PROGRAMS/heaps" family
	[ "$(fact s '.losses["alloc-unseen"]')" = 1 ]
	[ "$(sum s alloc-blocks family)" = 0 ]
}

@test "--alloc with -e records both" {
	need_recording
	assay record --alloc -e cpu-clock -o s -- "$PROGRAMS/heaps"
	[ "$(sum s alloc-blocks main)" -gt 0 ]
	assay report -i s --format json -l event:cpu-clock >cpu.json
	[ "$(jq -s '[.[].rows[].samples] | add' cpu.json)" -gt 0 ]
}

@test "pprof and speedscope have the names and units of their own" {
	need_recording
	assay record --alloc -o s -- "$PROGRAMS/heaps" family
	assay export -i s --format pprof -o heap.pb.gz
	gunzip -c heap.pb.gz | strings >texts
	for name in alloc_space alloc_objects inuse_space inuse_objects bytes; do
		grep -q "$name" texts
	done
	assay export -i s --format speedscope --weight events -o s.json event:held-bytes
	[ "$(jq -r '.profiles[0].unit' s.json)" = bytes ]
}

@test "an ordinary user can record allocations" {
	need_recording
	run unprivileged assay record --alloc -o s -- true
	[ "$status" = 0 ]
	[[ "$output" != *"cannot be preloaded"* ]]
}

# A program with an allocator that has operators of C++ of its own: linked_with LIBRARY
linked_with() {
	cpp_program
	g++ -O1 -fno-builtin -o "cpp-$1" cpp.cc -Wl,--no-as-needed "-l:$1" 2>/dev/null || skip "$1 is not installed"
	run -0 env LD_TRACE_LOADED_OBJECTS=1 "./cpp-$1"
	[[ "$output" == *"$1"* ]]
}

check_operators() { # LIBRARY
	need_recording
	linked_with "$1"
	record_whole --alloc-every 64k -o s -- "./cpp-$1"
	check_cpp s
	[ "$(sum s alloc-bytes 'operator new(unsigned long)')" = 0 ]
	need_alloc_probes
	chown nobody "cpp-$1"
	chmod 4755 . "cpp-$1"
	export ASSAY_SAMPLER_LIMITS=allocations=134217728 # the program is faster than the reader
	record_whole --alloc-every 64k -o t -- "./cpp-$1"
	[[ "$(assay info t)" == *"uprobes on the functions for memory"* ]]
	assay info t # for a failure's log, as is the list
	assay report -i t -l -t 0 event:alloc-bytes | head -n 30
	# A probe on the return would stop the exception: blocks of operator new are not followed, and that is counted.
	near "$(sum t alloc-bytes 'by_new()')" 40000000 21
	near "$(sum t alloc-bytes 'by_malloc()')" 40000000 21
	near "$(sum t held-bytes 'by_malloc()')" 40000000 21
	near "$(sum t alloc-bytes 'freed()')" 40000000 21
	[ "$(sum t held-bytes 'by_new()')" = 0 ]
	[ "$(fact t '.losses["alloc-untracked"]')" -gt 200 ]
}

@test "jemalloc's own operators count, by the library and by uprobes" {
	check_operators libjemalloc.so.2
}

@test "tcmalloc's own operators count, by the library and by uprobes" {
	check_operators libtcmalloc_minimal.so.4
}

@test "a static C++ program, by uprobes" {
	need_alloc_probes
	cpp_program
	g++ -O1 -fno-builtin -static -o cpp-static cpp.cc || skip "no static C++ library is installed"
	record_whole --alloc-every 64k -o s -- ./cpp-static
	[[ "$(assay info s)" == *"uprobes on the functions for memory"* ]]
	check_cpp s
	[ "$(sum s alloc-bytes 'operator new(unsigned long)')" = 0 ]
}

@test "operators of a C++ library that a C program loads for itself alone" {
	need_recording
	cpp_program
	g++ -O1 -fno-builtin -shared -fPIC -Dmain=work -o libcpp.so cpp.cc
	cat >host.c <<'END'
#include <dlfcn.h>
int main(void)
{
	void *library = dlopen("./libcpp.so", RTLD_NOW | RTLD_LOCAL);
	int (*work)(void) = (int (*)(void))dlsym(library, "_Z4workv");
	return work();
}
END
	gcc -o host host.c -ldl
	run ! grep -q 'stdc++' <(LD_TRACE_LOADED_OBJECTS=1 ./host)
	record_whole --alloc-every 64k -o s -- ./host
	check_cpp s
}

@test "operators of a C++ library that is linked into a library of a C program" {
	need_recording
	command -v g++ >/dev/null || skip "g++ is not installed"
	cat >inner.cc <<'END'
#include <cstdint>
#include <new>
struct alignas(256) wide { char bytes[256]; };
static volatile std::size_t huge = PTRDIFF_MAX;
static void *volatile sink;
extern "C" int work(void)
{
	for (int i = 0; i < 100; i++) {
		sink = new wide;
		if ((std::uintptr_t)sink % 256)
			return 2;
	}
	sink = ::operator new(huge, std::nothrow);
	if (sink)
		return 3;
	sink = ::operator new(huge, std::align_val_t(256), std::nothrow);
	return sink ? 4 : 0;
}
END
	g++ -std=c++17 -O1 -shared -fPIC -static-libstdc++ -static-libgcc -o libinner.so inner.cc || skip "no static C++ library is installed"
	cat >host.c <<'END'
#include <dlfcn.h>
int main(void)
{
	int (*work)(void) = (int (*)(void))dlsym(dlopen("./libinner.so", RTLD_NOW | RTLD_LOCAL), "work");
	return work();
}
END
	gcc -o host host.c -ldl
	./host
	run -0 assay record --alloc -o s -- ./host
}

# Uprobes: allocations of programs that can't have the library.
need_alloc_probes() {
	need_sampler
	[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes"
}

# Starts a program, which waits; $waiting is its pid: start_program PROGRAM MODE
start_program() {
	rm -f in out
	mkfifo in out
	exec 4<>in 5<>out
	# shellcheck disable=SC2016 # $1 and $2 are the inner shell's
	background sh -c 'exec "$1" "$2" <in >out' sh "$1" "$2"
	read -r -t "$DEADLINE" waiting <&5
}

start_waiting() {
	start_program "$PROGRAMS/heaps" wait
}

# record_waiting OPTION…: records the waiting program into s, from before it goes on until it is done.
record_waiting() {
	assay record --alloc -p "$waiting" -o s "$@" -- sh -c 'echo >in; read -r done <out'
}

# The same of a program, until the session is whole: record_waiting_whole PROGRAM OPTION…
record_waiting_whole() {
	local try program=$1
	shift
	for try in 1 2 3 4 5; do
		start_program "$program" wait
		record_waiting "$@"
		! is_whole s || return 0
	done
	skip "the machine is too busy: records were lost in $try runs"
}

@test "a running process: the same sums by uprobes, without blocks of before" {
	need_alloc_probes
	record_waiting_whole "$PROGRAMS/heaps" --alloc-every 64k
	near "$(sum s alloc-bytes keep)" 40000000 21
	near "$(sum s held-bytes keep)" 40000000 21
	near "$(sum s alloc-blocks keep)" 4000 21
	near "$(sum s alloc-bytes grow)" 101000000 5
	[ "$(sum s held-bytes grow)" = 0 ]
	near "$(sum s alloc-bytes map)" 33554432 1
	near "$(sum s held-bytes map)" 16777216 1
	[ "$(sum s alloc-blocks family)" = 11 ]
	near "$(sum s held-bytes family)" $((11 * 16777216)) 1
	[ "$(sum s alloc-blocks early)" = 0 ]
}

@test "uprobes see new threads, count new processes, and name their method and cost" {
	need_alloc_probes
	start_waiting
	record_waiting
	[ "$(sum s alloc-blocks later)" = 1 ]
	[ "$(fact s '.losses["alloc-unseen"]')" = 1 ]
	[ "$(fact s '.losses["alloc-traps"]')" -gt 4000 ]
	run -0 assay report -i s
	[[ "$output" == *"allocations by uprobes"*"blocks from before the recording are not in it"* ]]
	[[ "$(assay info s)" == *"uprobes on the functions for memory"* ]]
}

@test "a part of a mapping that is unmapped is not held" {
	need_recording
	record_whole -o s -- "$PROGRAMS/heaps"
	near "$(sum s alloc-bytes part)" 16777216 1
	near "$(sum s held-bytes part)" 8388608 1
	need_alloc_probes
	record_waiting_whole "$PROGRAMS/heaps"
	near "$(sum s alloc-bytes part)" 16777216 1
	near "$(sum s held-bytes part)" 8388608 1
}

@test "a mapping is held if it could not be unmapped" {
	need_recording
	record_whole -o s -- "$PROGRAMS/heaps"
	near "$(sum s held-bytes refused)" 16777216 1
	need_alloc_probes
	record_waiting_whole "$PROGRAMS/heaps"
	near "$(sum s held-bytes refused)" 16777216 1
}

@test "programs in a pid namespace of their own have their own names" {
	need_recording
	unshare -fp true 2>/dev/null || skip "no new pid namespace is permitted here"
	record_whole -o s -- unshare -fp "$PROGRAMS/heaps" family
	[ "$(sum s alloc-blocks family)" = 11 ]
	near "$(sum s held-bytes family)" $((11 * 16777216)) 1
	record_whole -o t -- "$PROGRAMS/heaps" inside
	near "$(sum t alloc-bytes child)" 40000000 20
	[ "$(fact t .lost)" = 0 ]
}

@test "a mapping ends although the first thread has ended before" {
	need_recording
	record_whole -o s -- "$PROGRAMS/heaps" left
	near "$(sum s alloc-bytes run_left)" 16777216 1
	near "$(sum s held-bytes run_left)" 0 0
	[ "$(fact s .lost)" = 0 ]
}

@test "memory is held if the end of what was at its address before is reported late" {
	need_recording
	[ -e "$PROGRAMS/late_unmap.so" ] || skip "sanitizers want to be the first library"
	# shellcheck disable=SC2016 # the inner shell's
	record_whole -o s -- sh -c 'LD_PRELOAD=$LD_PRELOAD:$1/late_unmap.so exec "$1/heaps" again' sh "$PROGRAMS"
	near "$(sum s alloc-bytes run_again)" 16777216 1
	near "$(sum s held-bytes run_again)" 0 0
	near "$(sum s held-bytes again)" 16777216 1
}

@test "a program whose name has malloc in it has mappings of its own" {
	need_alloc_probes
	cp "$PROGRAMS/heaps" mallocs
	record_waiting_whole ./mallocs
	near "$(sum s alloc-bytes map)" 33554432 1
	near "$(sum s held-bytes map)" 16777216 1
}

@test "uprobes go on when the first thread ends" {
	need_alloc_probes
	start_program "$PROGRAMS/heaps" orphan
	# The thread goes on when the first one has ended and the recorder has had time to see it.
	for wait in 2 8 32; do
		# shellcheck disable=SC2016 # $1 and $2 are the inner shell's
		assay record --alloc -p "$waiting" -o s -- sh -c '
			echo >in
			for i in $(seq 600); do ! grep -q "^State:.*Z" "/proc/$1/task/$1/status" || break; sleep 0.1; done
			sleep "$2"
			echo >in
			read -r done <out' sh "$waiting" "$wait"
		[ "$(sum s alloc-blocks family)" != 11 ] || break
		start_program "$PROGRAMS/heaps" orphan
	done
	[ "$(sum s alloc-blocks family)" = 11 ]
	near "$(sum s held-bytes family)" $((11 * 16777216)) 1
	# a part of it may be missing, and that is counted
	[ "$(fact s '.losses["alloc-unseen"]')" = 1 ]
	# it has ended before
	start_program "$PROGRAMS/heaps" orphan
	echo >in
	wait_for first_thread_has_ended
	assay record --alloc -p "$waiting" -o t -- sh -c 'echo >in; read -r done <out'
	[ "$(sum t alloc-blocks family)" = 11 ]
}

first_thread_has_ended() {
	grep -q '^State:.*Z' "/proc/$waiting/task/$waiting/status"
}

@test "commands of musl are seen by uprobes" {
	need_alloc_probes
	command -v musl-gcc >/dev/null || skip "musl-gcc is not installed"
	cat >musl.c <<'END'
#include <stdlib.h>
static void *volatile sink;
__attribute__((noinline)) void kept(void) { for (int i = 0; i < 2000; i++) sink = malloc(20000); }
__attribute__((noinline)) void freed(void) { for (int i = 0; i < 2000; i++) { sink = malloc(20000); free(sink); } }
int main(void) { kept(); freed(); return 0; }
END
	musl-gcc -O1 -fno-builtin -o musl musl.c
	export ASSAY_SAMPLER_LIMITS=allocations=134217728 # the program is faster than the reader
	record_whole --alloc-every 64k -o s -- ./musl
	[[ "$(assay info s)" == *"uprobes on the functions for memory"* ]]
	near "$(sum s alloc-bytes kept)" 40000000 21
	near "$(sum s held-bytes kept)" 40000000 21
	near "$(sum s alloc-bytes freed)" 40000000 21
	[ "$(sum s held-bytes freed)" = 0 ]
}

@test "static and set-uid commands are seen by uprobes" {
	need_alloc_probes
	[ -x "$PROGRAMS/heaps-static" ] || skip "no static program was built"
	record_whole -o s -- "$PROGRAMS/heaps-static" family
	[ "$(sum s alloc-blocks family)" = 11 ]
	[ "$(fact s '.losses["alloc-unseen"] // 0')" = 0 ]
	[[ "$(assay info s)" == *"uprobes on the functions for memory"* ]]
	cp "$PROGRAMS/heaps" privileged
	chown nobody privileged
	chmod 4755 . privileged
	assay record --alloc -o t -- ./privileged family
	[ "$(fact t .samples)" = 44 ]
	# the kernel describes no mappings of such a program, and /proc has them while it lives
	rm -f in out
	mkfifo in out
	exec 4<>in 5<>out
	background sh -c 'exec assay record --alloc -o v -- ./privileged wait <in >out 2>&1'
	grep -m1 -E '^[0-9]+$' <&5
	echo >in
	grep -m1 "done" <&5
	wait_for has_samples 44 v
	echo >in
	wait "$pid"
	[ "$(sum v alloc-blocks family)" = 11 ]
	strip -o stripped "$PROGRAMS/heaps-static"
	run assay record --alloc -o u -- ./stripped family
	refused 1 "stripped" "no function 'malloc'"
	[ ! -e u ]
}

@test "uprobes: what finds no room is counted" {
	need_alloc_probes
	[ -x "$PROGRAMS/heaps-static" ] || skip "no static program was built"
	ASSAY_SAMPLER_LIMITS=blocks=4 assay record --alloc -o s -- "$PROGRAMS/heaps-static" family
	[ $(($(sum s held-blocks family) + $(fact s '.losses["alloc-untracked"]'))) = 11 ]
	ASSAY_SAMPLER_LIMITS=allocations=131072 assay record --alloc --alloc-every 1k -o t -- \
		"$PROGRAMS/heaps-static" family
	[ "$(fact t '.losses["alloc-full"]')" -gt 0 ]
}

@test "--alloc names what it can't do" {
	run assay record --alloc -t $$
	refused 2 "--alloc is for a command, or for running processes"
	run assay record --alloc -a
	refused 2 "--alloc is for a command, or for running processes"
	run unprivileged assay record --alloc -p $$ -o s
	refused 1 "--alloc of a running process" "needs root or CAP_PERFMON"
	run assay record --alloc --off-cpu -- true
	refused 2 "does not go with --off-cpu"
	run assay record --alloc -b -- true
	refused 2 "--alloc does not go with" "-b, -j"
	ASSAY_HEAP_LIBRARY=/nonexistent run assay record --alloc -o s -- true
	refused 1 libassay-heap.so /nonexistent
	[ ! -e s ]
}
