#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command line of a build with ThreadSanitizer. A race makes assay end with status 66, and
# writes a report, which also tells of races in processes whose status no test sees.

# shellcheck disable=SC2030,SC2031 # each test is a separate process
load ../cli/helpers
load ../cli/daemon

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod 755 .
	mkdir -m 1777 races
	export HOME=$BATS_TEST_TMPDIR TSAN_OPTIONS="exitcode=66 history_size=4 log_path=$PWD/races/race"
}

no_races() {
	local file
	for file in races/*; do
		[ ! -e "$file" ] || { head -60 "$file"; return 1; }
	done
}

@test "a race would be seen" {
	cat >race.c <<-'END'
		#include <pthread.h>
		static int n;
		static void *add(void *arg) { n++; return arg; }
		int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); n++; return pthread_join(t, 0); }
	END
	clang -fsanitize=thread -o race race.c
	run ./race
	[ "$status" = 66 ]
	run no_races
	[ "$status" = 1 ]
}

@test "an ordinary user's recording, and source lines that several threads read" {
	need_recording
	export TSAN_OPTIONS=${TSAN_OPTIONS/"$PWD/"/} # clang 19 looks at each folder of a whole path, as this user may not
	unprivileged assay record -q -o s.assay -- sh -c 'for i in 1 2 3 4 5 6 7 8; do assay events; done' >events
	unprivileged assay report -i s.assay --lines >out
	has '^samples ' out
	no_races
}

@test "the whole machine, with stacks that are unwound in the kernel" {
	need_sampler
	assay record -q -a --duration 1 -o s.assay
	assay report -i s.assay >out
	has '^samples ' out
	no_races
}

@test "copied stacks, and a recording that becomes a session in several parts" {
	need_recording
	assay record -q --raw --call-graph dwarf -o s.data -- assay events >list
	assay import -o s.assay s.data
	assay report -i s.assay >out
	has '^samples ' out
	no_races
}

@test "the daemon, and its history" {
	need_daemon
	# A daemon that is confined opens no file for its report: it is on stderr, which end_daemon() shows.
	local to_files=$TSAN_OPTIONS
	TSAN_OPTIONS=${TSAN_OPTIONS% log_path=*}
	start_daemon d
	wait_for has_samples 1 d
	end_daemon
	TSAN_OPTIONS=$to_files
	assay report -i d >out
	no_races
}
