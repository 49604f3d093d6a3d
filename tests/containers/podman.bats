#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs in podman's containers, of root and of an ordinary user, and assay in one: `make check-containers`.
# Everything of podman's is in a folder of the test's own; images are made FROM scratch, so nothing is fetched.
# CONTAINERS=1000 is how many short containers there are (default 50).

load ../cli/helpers
load ../cli/daemon
load podman

link() { # NAME BUILD-ID
	cc -O2 -static -g "-Wl,--build-id=$2" -o "$BASE/image/app/$1" "$ROOT/tests/programs/split.c" 2>"$BASE/log" ||
		skip "no static program can be linked here: $(tail -1 "$BASE/log")"
}

# Where sockets have short paths, and an ordinary user may enter.
setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v podman >/dev/null || skip "podman is not installed"
	BASE=$(short_folder)
	export BASE
	chmod 755 "$BASE"
	mkdir -p "$BASE/image/app" "$BASE/image/proc" "$BASE/image/sys" "$BASE/image/dev" "$BASE/image/tmp"
	link split sha1
	link plain none
	strip -o "$BASE/image/app/stripped" "$BASE/image/app/split"
	tar --owner=0 --group=0 -C "$BASE/image" -cf "$BASE/image.tar" .
	chmod 644 "$BASE/image.tar"
}

teardown_file() {
	[ -n "${BASE-}" ] || return 0
	podman_of root ps -aq 2>/dev/null | xargs -r podman "${OPTIONS_root[@]}" rm -f -t 0 >/dev/null 2>&1 || true
	kill "$(cat "$BASE/user/libpod/tmp/pause.pid" 2>/dev/null)" 2>/dev/null || true
	wait_for remove_base
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_recording
}

teardown() {
	end_test
	[ -z "${BASE-}" ] || podman_of root rm -af -t 0 >/dev/null 2>&1 || true
	[ -z "${BASE-}" ] || [ ! -e "$BASE/user" ] || podman_of user rm -af -t 0 >/dev/null 2>&1 || true
}

# Imports the image once; skips with podman's own reason where no container starts.
need_podman() { # root|user
	if [ "$1" = user ]; then
		command -v crun >/dev/null || skip "crun is not installed"
		mkdir -p "$BASE/user" && chown 65534:65534 "$BASE/user"
		EXTRA=(--cgroups=disabled --network=none)
	else
		EXTRA=(--network=none)
	fi
	podman_of "$1" image exists assay-test 2>/dev/null || podman_of "$1" import "$BASE/image.tar" assay-test >import.log 2>&1 ||
		skip "podman can't import an image here: $(tail -1 import.log)"
	run_container "$1" --rm "${EXTRA[@]}" assay-test /app/split 0.01cpu >run.log 2>&1 ||
		skip "podman can't run a container here: $(tail -1 run.log)"
}

collectors() {
	local collector
	for collector in bpf perf; do
		assay record -q -a --collector $collector --duration 0.1 -e cpu-clock -o probe 2>/dev/null && echo $collector
	done
}

# The functions of a program in session s that have 2 % of its samples or more.
functions() { # PATH
	assay report -i s --by image,symbol -t 0 --format json "app:$1" "image:$1" |
		jq -r '[.rows[] | select(.image[:1] != "[")] | (map(.samples) | add) as $all |
			.[] | select(.samples * 100 / $all >= 2) | .symbol' | sort | xargs
}

# Records both programs of a container of root or a user with each collector, then removes the containers.
names_of() { # root|user
	local collector program
	for program in split plain; do
		run_container "$1" -d "${EXTRA[@]}" --name "busy-$program" assay-test "/app/$program" 100000s >/dev/null
	done
	for collector in $(collectors); do
		rm -rf .cache
		record_samples 600 s "app:/app/plain" -a --collector "$collector" -e cpu-clock
		[ "$(functions /app/split)" = "forty ten thirty twenty" ]
		[ "$(functions /app/plain)" = "forty ten thirty twenty" ]
	done
	podman_of "$1" rm -af -t 0 >/dev/null
	[ "$(functions /app/split)" = "forty ten thirty twenty" ]
	[ "$(functions /app/plain)" = "forty ten thirty twenty" ]
}

@test "containers of root have their names and labels, also when they are gone" {
	need_podman root
	names_of root
	assay report -i s --by container --format json app:/app/split | jq -r '.rows[].container' >containers
	[[ "$(cat containers)" =~ ^podman:[0-9a-f]{12} ]]
}

@test "containers of an ordinary user have their names, also when they are gone" {
	need_podman user
	names_of user
}

# ---- twenty programs ----

# As of a program: the functions of split and of quarters, by which each is known.
OWN_split='^(ten|twenty|thirty|forty|work_for|until_done|main)$'
OWN_quarters='^(one_quarter|three_quarters)$'

# twin PROGRAM KIND: a container with the name of the program and the kind. KIND is the way in which its file
# was made, or its fate.
twin() {
	local program=$1 kind=$2 name=$1-$2 path=/mine/app
	local mine=$BASE/mine/$name source=$ROOT/tests/programs/$program.c
	mkdir -p "$mine"
	case $kind in
	dynamic*)
		cc -O2 -g "-Wl,--build-id=$([ "$kind" = dynamic ] && echo sha1 || echo none)" -o "$mine/app" "$source"
		ldd "$mine/app" | grep -o '/[^ ]*' | while read -r library; do
			mkdir -p "$mine/root$(dirname "$library")"
			cp -L "$library" "$mine/root$library"
		done
		;;
	musl) musl-gcc -O2 -static -o "$mine/app" "$source" 2>/dev/null || cc -Os -static -o "$mine/app" "$source" ;;
	stripped) cc -O2 -static -s -o "$mine/app" "$source" ;;
	*-id | equal) cc -O2 -static -Wl,--build-id=sha1 -o "$mine/app" "$source" ;;
	*) cc -O2 -static -Wl,--build-id=none -o "$mine/app" "$source" ;;
	esac
	local volumes=(-v "$mine:/mine")
	[ ! -d "$mine/root/lib64" ] || volumes+=(-v "$mine/root/lib64:/lib64" -v "$mine/root/lib:/lib")
	run_container root -d "${EXTRA[@]}" "${volumes[@]}" --name "$name" assay-test $path 100000s >/dev/null
}

# Removes the files of some, and puts the other program's at the place of others, while all run.
change_files() {
	local program other
	for program in split quarters; do
		other=quarters
		[ $program = split ] || other="split"
		rm "$BASE/mine/$program-deleted/app" "$BASE/mine/$program-deleted-id/app"
		cp "$BASE/mine/$other-plain/app" "$BASE/mine/$program-replaced/app.new"
		mv "$BASE/mine/$program-replaced/app.new" "$BASE/mine/$program-replaced/app"
	done
}

# Samples of session s or history -i, by container: right, wrong, without a name. A stripped one has no names.
judge() { # WHO
	podman_of root ps -a --no-trunc --format '{{.ID}} {{.Names}}' >names
	assay report "${@:2}" --container-names names --by container,image,symbol -t 0 --format json 'app:/mine/app' |
		jq -r '.rows[] | select(.samples > 0) | select(.image | endswith("/mine/app") or . == "[unknown]") |
			"\(.container | capture("podman:(?<name>[^ ]*)").name) \(.samples) \(.symbol | gsub(" "; "_"))"' >judged
	awk -v split_own="$OWN_split" -v quarters_own="$OWN_quarters" -v who="$1" '
		{
			is_split = $1 ~ /^split-/
			is_stripped = $1 ~ /-stripped$/
			all += $2
			seen[$1] = 1
			if (is_split ? $3 ~ quarters_own : $3 ~ split_own && $3 != "main") wrong += $2
			else if (is_stripped) stripped += $2
			else if ($3 ~ /^[[(]|\+0x/) { unnamed += $2; print "unnamed:", $0 }
			else right += $2
		}
		END {
			for (name in seen) programs++
			printf "%s: %d programs, %d samples: %d named, %d wrong, %d without a name, %d of stripped programs\n", who, programs, all, right, wrong, unnamed, stripped
		}' judged >verdict
	tail -1 verdict >&3
	has ": 20 programs, .* 0 wrong, 0 without a name" verdict
}

# For wait_for: each of the twenty programs has enough samples for a verdict.
has_twenty() { # LEAST OPTION…: of the session or the history
	[ "$(assay report "${@:2}" --by container -t 0 --format json 'app:/mine/app' 2>/dev/null |
		jq "[.rows[] | select(.samples >= $1)] | length")" = 20 ]
}

session_has_twenty() {
	has_twenty 100 -i s
}

@test "twenty programs have their own names, with each collector and the daemon" {
	local program kind collector
	need_podman root
	for kind in dynamic dynamic-plain plain static-id musl stripped deleted deleted-id replaced equal; do
		for program in split quarters; do
			twin $program $kind
		done
	done
	change_files
	for collector in $(collectors); do
		rm -rf .cache s
		record_until session_has_twenty -q -a --collector "$collector" -e cpu-clock -F "$(at_most 997)" -o s
		judge "$collector" -i s
	done
	rm -rf .cache
	start_daemon history
	wait_for has_twenty 20 --session-dir history
	((${CONTAINERS:-0} < 500)) || sleep 60
	end_daemon
	judge daemon --session-dir history
}

memory_of() { # PID: KiB
	awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

@test "short containers, each with a fresh file, are named and labelled" {
	local pid n=${CONTAINERS:-50} half=0 end all named
	need_podman root
	mkdir -p "$BASE/fresh"
	background assay record -q -a -e cpu-clock -F "$(at_most 997)" -o s
	wait_for has_samples 1 s
	for i in $(seq "$n"); do
		cp "$BASE/image/app/plain" "$BASE/fresh/app$i"
		run_container root --rm "${EXTRA[@]}" -v "$BASE/fresh:/fresh" assay-test "/fresh/app$i" 0.3cpu >/dev/null
		rm "$BASE/fresh/app$i"
		((i != n / 2)) || half=$(memory_of "$pid")
	done
	end=$(memory_of "$pid")
	kill "$pid" && wait "$pid" || true
	assay report -i s --by container,symbol -t 0 --format json 'app:/fresh/app*' 'image:/fresh/app*' >rows.json
	all=$(jq '[.rows[].samples] | add' rows.json)
	named=$(jq '[.rows[] | select(.symbol | startswith("[") | not) | select(.container | startswith("podman:")) | .samples] | add' rows.json)
	echo "named and labelled: $named of $all samples in $n containers; the recorder's memory: $half KiB at half, $end KiB" >&3
	[ $((named * 100)) -ge $((all * 99)) ]
	[ "$all" -ge $((n * 100)) ]
	# Its memory of a file that is gone is freed. The memory of few containers is within the noise.
	((n < 500)) || [ "$end" -le $((half * 5 / 4)) ]
}

# ---- assay in a container ----

need_image() {
	need_podman root
	[ -n "$(ls "$ROOT"/build-tarball/assay-*.tar.gz 2>/dev/null)" ] || skip "there is no tarball; run 'make tarball'"
	podman_of root image exists assay 2>/dev/null || "$ROOT/scripts/image.sh" podman "${OPTIONS_root[@]}" >image.log 2>&1 ||
		skip "the image can't be built here: $(tail -1 image.log)"
}

# assay in a container, with a folder out as /work: inside OPTION… -- ARGUMENTS…
inside() {
	local options=()
	mkdir -p out
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	run run_container root --rm --network=none -v "$PWD/out:/work" "${options[@]}" assay assay "${@:2}"
}

# On a busy machine, first samples come before the program's file is identified, and have no function.
names_inside() { # FUNCTION
	inside -- report -i s -t 0 --by symbol --format csv app:/app/plain
	refused 0 "$1" 2>/dev/null
}

@test "in a container with the engine's defaults, the filter is named with the option that helps" {
	need_image
	inside -- doctor
	refused 1 "You can profile: nothing." "a seccomp filter refuses perf_event_open" "--cap-add PERFMON" "--security-opt seccomp="
	inside -- record -a --duration 1
	refused 1 "a seccomp filter refuses perf_event_open" "--cap-add PERFMON"
}

@test "the howto's capabilities do what it says" {
	local machine=(--pid=host --security-opt seccomp=unconfined --cap-add PERFMON --cap-add BPF --cap-add SYS_PTRACE --cap-add SYSLOG)
	need_image
	# One's own command, without any capability.
	inside --security-opt seccomp=unconfined -- record -o own -- assay --version
	refused 0 "samples, 0 lost"
	# The container, or the pod, alone.
	inside --security-opt seccomp=unconfined --cap-add PERFMON --cap-add BPF -- record -a --duration 1 -o part
	refused 0 "a separate pid namespace" "--pid=host" "in-kernel unwinding"
	# The machine: what doctor says, and the names of another container's program.
	inside "${machine[@]}" -- doctor
	refused 0 "You can profile: the whole machine, kernel included"
	run_container root -d --network=none assay-test /app/plain 100000s >/dev/null
	run_container root -d --network=none -v "$PWD/out:/work" "${machine[@]}" --name recorder assay assay record -a -o s >/dev/null
	wait_for has_samples 300 out/s app:/app/plain
	wait_for names_inside twenty
	podman_of root kill --signal INT recorder >/dev/null
	podman_of root wait recorder >/dev/null
	assay info out/s >info.txt
	has "in-kernel unwinding" info.txt
	inside -- report -i s --by container,symbol app:/app/plain
	refused 0 "podman:" "forty" "thirty" "twenty"
}
