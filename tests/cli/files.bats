#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings whose files are no longer in their old places: where assay finds them, and what it says if not.
load helpers

unset DEBUGINFOD_URLS PERF_BUILDID_DIR DEBUGINFOD_CACHE_PATH

# lacks PATTERN FILE: the file has no such line.
lacks() {
	! grep -E "$@" >&2
}

# ./app, whose callback is called by the functions of ./libcalls.so, and app.data of it with copied stacks.
record_calls() {
	cat >calls.c <<-'END'
		unsigned long callback(unsigned long n);
		__attribute__((noinline)) unsigned long inner_call(unsigned long n) { return callback(n) * 3 + 1; }
		unsigned long outer_call(unsigned long n) { return inner_call(n) * 5 + 1; }
	END
	cat >app.c <<-'END'
		#include <time.h>
		unsigned long outer_call(unsigned long n);
		volatile unsigned long sink;
		__attribute__((noinline)) unsigned long leaf(unsigned long n)
		{
			unsigned long sum = 0;
			for (unsigned long i = 0; i < n; i++)
				sum += i * sum + sink;
			return sum;
		}
		__attribute__((noinline)) unsigned long callback(unsigned long n) { return leaf(n) + 7; }
		int main(void)
		{
			for (clock_t start = clock(); clock() - start < CLOCKS_PER_SEC / 4;) {
		#ifdef __x86_64__ /* Programs of some C libraries begin so: it is no end of a stack. */
				__asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
		#endif
				sink += outer_call(100000);
			}
			return 0;
		}
	END
	gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -shared -fPIC calls.c -o libcalls.so
	gcc -O2 -g -fomit-frame-pointer -Wl,--build-id app.c -rdynamic -o app -L. -lcalls -Wl,-rpath,"$PWD"
	assay record -q --raw --call-graph dwarf -e cpu-clock -o app.data -- ./app
}

id_of() { # FILE
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

# Every sample of leaf() has its callers up to main(). Nothing is from an earlier report.
has_all_callers() { # OPTION…
	local leaves whole
	rm -rf "$HOME/.cache/assay"
	assay script -i app.data --symbol-cache "" "$@" 2>said >listing
	leaves=$(grep -cE '^\s+[0-9a-f]+ leaf' listing)
	whole=$(awk -v RS= '/ leaf/ && / callback/ && / inner_call/ && / outer_call/ && / main/ { n++ } END { print n + 0 }' listing)
	[ "$leaves" -gt 50 ]
	[ "$leaves" -eq "$whole" ]
	rm -rf "$HOME/.cache/assay"
	assay report --tree -i app.data --symbol-cache "" "$@" >tree 2>&1
	has ' main$' tree
	has ' inner_call$' tree
	lacks 'file is not here' tree
}

@test "without a library's file, stacks end in it, and why names it and the searched places" {
	record_calls
	mkdir gone
	mv libcalls.so gone/
	rm -rf "$HOME/.cache/assay"
	assay report --tree -i app.data --symbol-cache "" >tree 2>&1
	# Nothing is below main but the few samples of its own calls.
	lacks ' (leaf|callback|inner_call).* main|^ +[0-9]{2,} .* main$' tree
	has 'stacks cut in code whose file is not here' tree
	lacks 'neither rule nor frame pointer|without an unwind rule' tree
	run assay why -i app.data --symbol-cache "" leaf
	refused 0 "end in $PWD/libcalls.so: their callers are not known" "- $PWD/libcalls.so: No such file or directory" \
		"- $HOME/.debug/.build-id/" "- $HOME/.cache/debuginfod_client/$(id_of gone/libcalls.so)/executable: No such file" \
		"debuginfod, for the file: not asked: DEBUGINFOD_URLS is not set" "--symfs or --image-path"
	run assay why -i app.data --symbol-cache "" --image-path gone leaf
	[ "$status" -eq 0 ]
	[[ $output != *"callers are not known"* ]]
}

# Behind qsort(), the frame pointer leads through the program that is gone.
@test "why counts no stack as cut that frame pointers made whole" {
	need_recording
	cat >sorts.c <<-END
		#include <stdlib.h>
		static int values[100000];
		static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		__attribute__((noinline)) void sort_all(void) { for (int k = 0; k < 20; k++) { for (int i = 0; i < 100000; i++) values[i] = rand(); qsort(values, 100000, 4, by_value); } }
		int main(void) { sort_all(); return values[3] & 1; }
	END
	gcc -O2 -fno-omit-frame-pointer sorts.c -Wl,--build-id -o sorts
	assay record -q --raw --call-graph dwarf -e cpu-clock -F 499 -o sorts.data -- ./sorts
	mv sorts away
	cut=$(assay info -i sorts.data --format json | jq '.losses["stack-no-file"] // 0')
	[ "$cut" -gt 0 ] || skip 'no sample fell into qsort(), so no stack was cut'
	run assay why -i sorts.data --symbol-cache "" sorts
	refused 0 "stacks    $cut end in $PWD/sorts: their callers are not known"
	[ "$cut" -lt "$(assay info -i sorts.data --format json | jq .samples)" ]
}

@test "the walker finds files by --symfs, as folders and as a heap, and by --image-path" {
	record_calls
	mkdir -p "sys$PWD" heap images/deep/down
	has_all_callers
	mv app libcalls.so "sys$PWD/"
	has_all_callers --symfs sys
	mv "sys$PWD"/* heap/
	has_all_callers --symfs heap
	mv heap/* images/deep/down/
	has_all_callers --image-path images
	# A file of another build does not count.
	gcc -O1 -shared -fPIC calls.c -Wl,--build-id -o libcalls.so
	has_all_callers --image-path images
	run assay script -i app.data --image-path nowhere
	refused 1 "--image-path: nowhere is not a directory"
}

@test "the walker finds files in the build-id caches of perf and of debuginfod, and by debuginfod" {
	record_calls
	local a l
	export DEBUGINFOD_CACHE_PATH=$PWD/fetched
	a=$(id_of app) l=$(id_of libcalls.so)
	mkdir -p "$HOME/.debug/.build-id/${a:0:2}/${a:2}" "cache/.build-id/${l:0:2}/${l:2}" "fetched/$l" "srv/buildid/$a" "srv/buildid/$l"
	cp app "srv/buildid/$a/executable"
	cp libcalls.so "srv/buildid/$l/executable"
	mv app "$HOME/.debug/.build-id/${a:0:2}/${a:2}/elf"
	cp libcalls.so "fetched/$l/executable"
	mv libcalls.so "cache/.build-id/${l:0:2}/${l:2}/elf"
	has_all_callers
	rm -r fetched
	# perf's cache is elsewhere: both files are there.
	cp -r "$HOME"/.debug/.build-id/. cache/.build-id/ # both may be in one folder
	rm -r "$HOME"/.debug/.build-id
	printf '[report]\n\tdir = no\n[buildid]\n\tdir = %s\n' "$PWD/cache" >"$HOME/.perfconfig"
	has_all_callers
	rm -r cache "$HOME/.perfconfig"
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	export DEBUGINFOD_URLS="file://${PWD// /%20}/srv"
	has_all_callers
	has "debuginfod: got the file $PWD/libcalls.so" said
}

@test "bolt finds the binary by --symfs" {
	cp "$(command -v sleep)" "prog"
	cat >text <<-END
		a 7/7 1.000001: PERF_RECORD_MMAP2 7/7: [0x1000(0x2000) @ 0 b3:05 17 28]: r-xp $PWD/prog
		a 7/7 1.000002: cycles: 1010 $PWD/prog 0x1020/0x1010/P/-/-/1 0x1100/0x1018/P/-/-/1
	END
	assay export -q -i text --format bolt -o before --image prog
	mkdir heap
	mv prog heap/
	run assay export -q -i text --format bolt -o after --image prog
	refused 1 "bolt needs the addresses in the headers"
	assay export -q -i text --format bolt -o after --image prog --image-path heap
	diff before after
}

# A server on a port of its own, which it prints: silent, a byte a second of an endless answer, or a megabyte.
serve() { # silent|slow|large
	cat >server.py <<-'END'
		import socket, sys, threading, time
		def answer(c):
		    c.recv(4096)
		    if sys.argv[1] == "large":
		        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
		        try:
		            c.sendall(bytes(1000000))
		            while True:
		                c.sendall(bytes(100000))
		                time.sleep(0.1)
		        except OSError:
		            return
		    if sys.argv[1] == "slow":
		        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
		        try:
		            while True:
		                c.sendall(b"x")
		                time.sleep(1)
		        except OSError:
		            return
		    time.sleep(1000)
		s = socket.socket()
		s.bind(("127.0.0.1", 0))
		s.listen(16)
		print(s.getsockname()[1], flush=True)
		while True:
		    threading.Thread(target=answer, args=(s.accept()[0],), daemon=True).start()
	END
	background python3 server.py "$1" >port
	until [ -s port ]; do sleep 0.01; done
	DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)/"
	export DEBUGINFOD_URLS
}

@test "a debuginfod that is silent, or answers a byte a second, costs a report one limit" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30
	strip app
	for kind in silent slow; do
		serve "$kind"
		run within assay report -l -i a.assay --symbol-cache "" --debuginfod-limit 1s
		refused 0 "did not send the debug information of $PWD/app in time" "--debuginfod-limit" "samples   30"
		# Others know it, and say so; why does so, too.
		run within assay report -l -i a.assay --symbol-cache ""
		refused 0 "did not answer less than ten minutes ago"
		[[ $output != *"debuginfod: asking"* ]]
		run within assay why -i a.assay --symbol-cache "" app
		refused 0 "debuginfod: not asked: it did not answer less than ten minutes ago"
		# Ten minutes later it is asked again.
		touch -d '11 minutes ago' "$HOME"/.cache/assay/debuginfod/silent-*
		run within assay why -i a.assay --symbol-cache "" --debuginfod-limit 1s app
		refused 0 "asked: it did not send the file in the time of --debuginfod-limit"
		kill "$pid"
	done
}

# A server with one large file, a megabyte a second, and none for the rest.
@test "a file that is too large for the limit does not keep assay from asking for others" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30
	strip app
	serve large
	run within assay report -l -i a.assay --symbol-cache "" --debuginfod-limit 5s
	refused 0 "did not send the debug information of $PWD/app in time" "It is asked for it again in ten minutes"
	run within assay why -i a.assay --symbol-cache "" app
	refused 0 "debuginfod: not asked: it did not send the file less than ten minutes ago"
	cp "$PROGRAMS/threads" app
	session_at b.assay app main=30
	strip app
	run within assay why -i b.assay --symbol-cache "" --debuginfod-limit 1s app
	refused 0 "debuginfod: asking"
}

@test "debuginfod is not asked twice for a file that it does not have" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30
	strip app
	mkdir -p srv
	export DEBUGINFOD_URLS="file://${PWD// /%20}/srv"
	run assay why -i a.assay --symbol-cache "" app
	refused 0 "debuginfod: nothing for $PWD/app" "debuginfod: asked: it does not have the file"
	rm -rf "$HOME/.cache/debuginfod_client" # the library remembers it, too
	run assay why -i a.assay --symbol-cache "" app
	refused 0 "not asked: it did not send the file less than ten minutes ago"
	[[ $output != *"debuginfod: asking"* ]]
}
