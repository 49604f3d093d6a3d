#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples kept apart by cgroup, and the meaning of its path: unit, container, pod.

load helpers

ID=3f0c4f1e2d9b8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b

# Two groups that look like a service and a container; gone again whatever happens.
need_groups() {
	need_root
	need_recording
	MOUNT=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$MOUNT" ] || skip "cgroup2 is not mounted"
	TOP=assaytest$$.slice
	SERVICE=$TOP/busy$$.service
	CONTAINER=$TOP/docker-$ID.scope
	mkdir "$MOUNT/$TOP" "$MOUNT/$SERVICE" "$MOUNT/$CONTAINER" 2>mkdir.log ||
		skip "cgroups can't be made here: $(tail -1 mkdir.log)"
	# shellcheck disable=SC2016 # the inner shell's
	bash -c 'echo $$ >"$1/cgroup.procs"' bash "$MOUNT/$SERVICE" 2>move.log ||
		skip "no process can be moved into a cgroup here: $(tail -1 move.log)"
}

# What still runs in a group is killed: a group goes when it is empty.
remove_group() {
	rmdir "$1" 2>/dev/null || { xargs -r kill -9 <"$1/cgroup.procs" 2>/dev/null; false; }
}

teardown() {
	end_test
	[ -z "${TOP-}" ] || [ ! -d "$MOUNT/$TOP/many" ] || wait_for remove_tree "$MOUNT/$TOP/many"
	for group in ${TOP:+"$SERVICE" "$CONTAINER" "$TOP"}; do
		[ ! -d "$MOUNT/$group" ] || wait_for remove_group "$MOUNT/$group"
	done
}

# A busy loop in each of them.
busy_in_both() {
	cat >busy <<-'END'
		for group; do
			bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 0.4cpu' bash "$group" "$SPLIT" &
		done
		wait
	END
	export SPLIT=$PROGRAMS/split
	BUSY=(bash busy "$MOUNT/$SERVICE" "$MOUNT/$CONTAINER")
}

share() { # SESSION KEY VALUE: samples in it of the busy program
	assay report -i "$1" --by "$2" --format json comm:split |
		jq --arg v "$3" "[.rows[] | select(.$2 == \$v) | .samples] | add // 0"
}

both_are_there() {
	[ "$(share "$1" cgroup "/$SERVICE")" -gt 0 ]
	[ "$(share "$1" cgroup "/$CONTAINER")" -gt 0 ]
	[ "$(share "$1" unit "busy$$.service")" -gt 0 ]
	[ "$(share "$1" container docker:3f0c4f1e2d9b)" -gt 0 ]
	[ "$(share "$1" container '[no container]')" -gt 0 ]
}

@test "rings: a command's processes are distinguished by cgroup" {
	need_groups
	busy_in_both
	assay record -e cpu-clock -o s -- "${BUSY[@]}" >/dev/null
	both_are_there s
	# Filters: a parent matches its children; units without their type; ids of containers.
	for filter in "cgroup:/$TOP" "unit:busy$$" "container:$ID" "container:docker:*"; do
		run assay report -i s --by cgroup "$filter"
		[ "$status" = 0 ]
		[[ "$output" == *" /$TOP/"* ]]
	done
	run assay report -i s --by pod 'unit:nobody*'
	refused 1 "no sample matches unit:nobody*; there are: " "busy$$.service"
	# Each sample, and for other tools.
	assay script -i s -F comm,cgroup | grep -q "split.* /$SERVICE\$"
	assay export -i s --format csv | grep -q ",/$CONTAINER\$"
	assay export -i s --format json |
		jq -e --arg id "$ID" '[.cgroups[] | select(.container == $id)][0].container_runtime == "docker"'
}

@test "in the kernel: so are those of the whole machine" {
	need_groups
	need_sampler
	busy_in_both
	assay record -a --collector bpf -e cpu-clock -o s -- "${BUSY[@]}" >/dev/null
	both_are_there s
}

@test "merged on request" {
	need_groups
	busy_in_both
	assay record -e cpu-clock --separate process -o s -- "${BUSY[@]}" >/dev/null
	[ "$(share s cgroup '[unknown]')" -gt 0 ]
	run assay script -i s -F comm,cgroup
	refused 2 "have no CGROUP, so there is no field 'cgroup'"
}

@test "perf's cgroups are read, too" {
	need_groups
	busy_in_both
	perf_record --all-cgroups -e cpu-clock -o perf.data -- "${BUSY[@]}"
	both_are_there perf.data
	ASSAY_IMPORT_PARTS=3 assay import perf.data -o parts
	both_are_there parts
	assay script -i perf.data -F comm,cgroup | grep -q "split.* /$SERVICE\$"
}

# A group of cgroup v1 alone: its processes are in the root of v2.
v1_group() {
	V1=
	for controller in pids memory cpu freezer devices; do
		V1=/sys/fs/cgroup/$controller/assaytest$$
		[ -e "/sys/fs/cgroup/$controller/tasks" ] && mkdir "$V1" "$V1/docker-$ID.scope" 2>/dev/null && return
	done
	skip "cgroup v1 is not mounted, or no group can be made there"
}

@test "processes of 30 ms in a group of cgroup v1 have its label" {
	need_root
	need_sampler
	v1_group
	cp "$PROGRAMS/split" brief # other tests run split, too
	cat >busy <<-'END'
		for i in $(seq 60); do
			bash -c 'echo $$ >"$1/cgroup.procs" && exec ./brief 0.03cpu' bash "$1"
		done
	END
	assay record -q -a --collector bpf -e cpu-clock -F "$(at_most 997)" -o s -- bash busy "$V1/docker-$ID.scope" >/dev/null
	rmdir "$V1/docker-$ID.scope" "$V1"
	assay report -i s --by container,cgroup --format json comm:brief >rows.json
	[ "$(jq '[.rows[].samples] | add > 300' rows.json)" = true ]
	[ "$(jq -r '.rows[] | .container + " " + .cgroup' rows.json)" = "docker:3f0c4f1e2d9b /assaytest$$/docker-$ID.scope" ]
}

# Docker's file on a /var/lib of the recorder's own: as_docker NAME COMMAND…
as_docker() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'mount -t tmpfs none /var/lib && mkdir -p /var/lib/docker/containers/$1 &&
		printf "%s" "$2" >/var/lib/docker/containers/$1/config.v2.json
		shift 2; exec "$@"' sh "$ID" "{\"Name\":\"/$1\"}" "${@:2}"
}

exported_name() { # OPTION…: of the container's id
	assay export -i s --format json "$@" | jq -r --arg id "$ID" '[.cgroups[] | select(.container == $id) | .container_name] | unique | .[]'
}

@test "a container's name is kept with the session, and shown with its id" {
	need_groups
	busy_in_both
	as_docker web true 2>mount.log || skip "nothing can be mounted here: $(tail -1 mount.log)"
	as_docker web assay record -e cpu-clock -o s -- "${BUSY[@]}" >/dev/null
	[ "$(cat s/containers)" = "$ID web" ]
	[ "$(share s container 'docker:web (3f0c4f1e2d9b)')" -gt 0 ]
	for filter in web docker:web 3f0c4f1e2d9b "$ID" docker:3f0c4f1e2d9b 'docker:web (3f0c4f1e2d9b)'; do
		run assay report -i s --by container "container:$filter"
		[ "$status" = 0 ]
		[[ "$output" == *"docker:web (3f0c4f1e2d9b)"* ]]
		[[ "$output" != *"[no container]"* ]]
	done
	# What the user says counts, by the whole id or the short one.
	printf '# mine\n\n%s  front end\n' "${ID:0:12}" >names
	run assay report -i s --by container --container-names names 'container:front end'
	[ "$status" = 0 ]
	[[ "$output" == *"docker:front end (3f0c4f1e2d9b)"* ]]
	printf 'a b\nonly-an-id\n' >bad
	run assay report -i s --container-names bad
	refused 1 "--container-names: bad: line 2 is not \"ID NAME\""
	run assay report -i s --container-names none
	refused 1 "--container-names: cannot read none"
	# So it does for filters of other commands, and exports have it beside the id.
	assay annotate -i s --container-names names 'container:front end' >lines
	grep -q 'samples' lines
	assay diff s s --container-names names 'container:front end' >/dev/null
	run assay diff s s 'container:front end'
	refused 1 "no sample matches container:front end"
	run assay diff s s --container-names bad
	refused 1 "--container-names: bad: line 2 is not \"ID NAME\""
	[ "$(exported_name)" = web ]
	[ "$(exported_name --container-names names)" = "front end" ]
	if python3 -c 'import sqlite3' 2>/dev/null && assay export --list-formats | grep -q sqlite; then
		assay export -q -i s --container-names names -o s.sqlite
		[ "$(python3 -c 'import sqlite3; print(*{r[0] for r in sqlite3.connect("s.sqlite").execute(
			"select container_name from classes where container_name is not null")})')" = "front end" ]
	fi
	# An archive has them; a session without them has the ids.
	assay archive -i s -o archived >/dev/null
	[ "$(share archived container 'docker:web (3f0c4f1e2d9b)')" -gt 0 ]
	rm s/containers
	[ "$(share s container docker:3f0c4f1e2d9b)" -gt 0 ]
}

@test "a session's names may be anything" {
	need_groups
	busy_in_both
	assay record -e cpu-clock -o s -- "${BUSY[@]}" >/dev/null
	printf '%s a\033[31mb\377\n%s\n\001\n' "$ID" "$ID" >s/containers
	run assay report -i s --by container
	[ "$status" = 0 ]
	[[ "$output" == *"docker:a?[31mb"*" (3f0c4f1e2d9b)"* ]]
	# Neither links nor pipes are followed or waited for.
	for make in "ln -sf /dev/zero" mkfifo; do
		rm s/containers
		$make s/containers
		[ "$(share s container docker:3f0c4f1e2d9b)" -gt 0 ]
	done
}

remove_tree() { # the groups below, and this one
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$1" ]
}

@test "groups of any name and length, among 10,000, are distinguished" {
	local weird deep collector part
	need_groups
	# The kernel refuses a newline.
	weird=$'no line\rbreak \e[31mred\t"quoted" \\012 é '$(printf 'x%.0s' {1..200})
	part=$(printf 'd%.0s' {1..250})
	deep=many
	for _ in {1..14}; do deep+=/$part; done
	mkdir -p "$MOUNT/$TOP/many/$weird" "$MOUNT/$TOP/$deep"
	(cd "$MOUNT/$TOP/many" && seq -f g%.0f 10000 | xargs mkdir)
	cat >busy <<-'END'
		for group; do
			bash -c 'cd "$1" && echo $$ >cgroup.procs && exec "$2" 0.3cpu' bash "$group" "$SPLIT" &
		done
		wait
	END
	export SPLIT=$PROGRAMS/split
	printf '%s\0' "/$TOP/$deep" "/$TOP/many/g7777" "/$TOP/many/$weird" | sort -z >wanted
	for collector in bpf perf; do
		assay record -q -a --collector $collector -e cpu-clock -F "$(at_most 997)" -o s -- \
			bash busy "$MOUNT/$TOP/many/$weird" "$MOUNT/$TOP/$deep" "$MOUNT/$TOP/many/g7777" >/dev/null || continue # no BPF here
		assay report -i s --by cgroup -t 0 --format json comm:split >rows.json
		jq -j --arg top "/$TOP/" '.rows[] | select(.samples > 0) | select(.cgroup | startswith($top)) | .cgroup + "\u0000"' rows.json | sort -z >found
		cmp found wanted
		# Text has no colour of theirs; filters and other views take them.
		assay report -i s --by cgroup,container -t 0 comm:split >text
		assay script -i s -F comm,cgroup >samples
		for text in text samples; do
			has -F 'break' $text
			run grep -c $'[\e\r]' $text
			[ "$output" = 0 ]
		done
		[ "$(share s cgroup "/$TOP/$deep")" = "$(assay report -i s --by comm --format json comm:split "cgroup:/$TOP/$deep" | jq '[.rows[].samples] | add')" ]
	done
	[ -s found ]
	wait_for remove_tree "$MOUNT/$TOP/many"
}

@test "the fleet knows names of containers, and a container's name is its service" {
	need_groups
	busy_in_both
	assay record -q -o rec -- "${BUSY[@]}"
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u +%Y%m%dT%H%M%S.000Z)"
	echo "$ID web" >store/containers
	run assay ship --to dir:fleet --dry-run --host h1 store
	[ "$status" = 0 ]
	[[ "$output" == *"names of containers and pods: 1"*$'\n'"container $ID web"* ]]
	assay ship --to dir:fleet --once -q --host h1 store
	[ "$(cat fleet/h1/containers)" = "$ID web" ]
	[ "$(share fleet container "docker:web (3f0c4f1e2d9b)")" -gt 0 ]
	[ "$(share fleet service web)" = "$(share fleet container "docker:web (3f0c4f1e2d9b)")" ]
	[ "$(share fleet service "busy$$")" -gt 0 ]
	[ "$(assay report -i fleet --by service --format json service:web | jq '.rows | length')" = 1 ]
	# Cgroups that stay at home take their names with them.
	assay ship --to dir:other --once -q --host h1 --drop cgroup store
	[ ! -e other/h1/containers ]
	[ "$(share other service split)" -gt 0 ]
}
