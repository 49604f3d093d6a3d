#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The rights of a daemon that root starts: its user, its capabilities, its directory.

# shellcheck disable=SC2030,SC2031 # each test has variables of its own
load helpers
load daemon

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log d/log 2>/dev/null || true
	end_test
	kill_daemon_of d
	! mountpoint -q small 2>/dev/null || umount -l small
	rm -rf ${OPEN:+"$OPEN"} ${OTHER:+"$OTHER"}
}

# The value of a field of /proc/PID/status.
field() { # PID FIELD
	awk -v field="$2:" '$1 == field { $1 = ""; print substr($0, 2) }' "/proc/$1/status"
}

# Each thread is of the user alone and has these capabilities, and gets no others.
has_exactly() { # PID USER CAPABILITIES
	local task want
	want=$(printf '%016x' "$3")
	for task in "/proc/$1"/task/*; do
		task="$1/task/${task##*/}"
		[ "$(field "$task" Uid)" = "$2 $2 $2 $2" ]
		[ "$(field "$task" Gid)" = "$2 $2 $2 $2" ]
		[ -z "$(field "$task" Groups)" ]
		[ "$(field "$task" CapInh)" = 0000000000000000 ]
		[ "$(field "$task" CapPrm)" = "$want" ]
		[ "$(field "$task" CapEff)" = "$want" ]
		[ "$(field "$task" CapBnd)" = "$want" ]
		[ "$(field "$task" CapAmb)" = 0000000000000000 ]
		[ "$(field "$task" NoNewPrivs)" = 1 ]
		[ "$(field "$task" Seccomp)" = 2 ]
	done
}

cap() { # NUMBER…
	local sum=0 number
	for number; do
		sum=$((sum | 1 << number))
	done
	echo "$sum"
}

holds() {
	[ "$(find d -path d/samples -prune -o ! -user "$1" -print; find d/samples ! -user "$1")" = "" ]
}

@test "a daemon of root becomes the user assay, and its opener, too" {
	need_daemon
	work
	with_users assay daemon --session-dir d -e cpu-clock
	# IPC_LOCK, SYSLOG, PERFMON, BPF
	has_exactly "$daemon" 54321 "$(cap 14 34 38 39)"
	keeper=$(pgrep -P "$daemon" -x assay-keeper)
	opener=$(pgrep -P "$keeper" -x assay-opener)
	# DAC_READ_SEARCH, SYS_PTRACE; PERFMON and SYS_ADMIN where kernels open counters for nothing less.
	if [ "$(cat "$PARANOID_FILE")" -le 2 ]; then
		set -- 2 19
	else
		set -- 2 19 21 38
	fi
	has_exactly "$keeper" 54321 "$(cap "$@")"
	has_exactly "$opener" 54321 "$(cap "$@")"
	holds 54321
	# As ctl status has it.
	[ "$(status_of d '[.rights.user, .rights.uid, .rights.seccomp] | join(" ")')" = "assay 54321 true" ]
	[ "$(status_of d '.helpers | [.keeper.pid, .opener.pid, .openers_died] | join(" ")')" = "$keeper $opener 0" ]
	[ "$(status_of d .helpers_memory_bytes)" -gt 100000 ]
	run ask d status
	refused 0 "user assay; system calls filtered (seccomp); " "helpers     keeper $keeper, opener $opener, parsers " " died)" # an upkeep may run
	run unshare -m sh -c 'mount -t tmpfs none /var/lib && mkdir /var/lib/assay && mount --bind d /var/lib/assay && exec assay doctor'
	refused 0 "process $daemon, user assay (54321), calls filtered, Landlock " "keeper $keeper, opener $opener (0 died)"
	run said "stays root"
	[ "$status" = 1 ]
	end_daemon
	[ ! -e d/control ]
	run assay report -i d --by app
	refused 0 split
}

@test "without a user assay the daemon stays root, and says so once" {
	need_daemon
	! getent passwd assay || skip "there is a user assay here"
	start_daemon d -e cpu-clock
	[ "$(field "$daemon" Uid)" = "0 0 0 0" ]
	[ "$(grep -c "the daemon stays root, because there is no user 'assay'" daemon.log)" = 1 ]
}

# The folder above is root's alone, as /root is.
@test "the user assay needs no way to the directory, and settings are read again" {
	need_daemon
	mkdir -m 700 closed
	OPEN=$(mktemp -d)
	chmod 755 "$OPEN"
	echo 'freq = 99' >"$OPEN/conf"
	with_users assay daemon --session-dir closed/d --config "$OPEN/conf" -e cpu-clock
	said "into $PWD/closed/d/samples/current/2"
	[[ "$(status_of closed/d .part)" == "$PWD/closed/d/samples/current/2"* ]]
	echo 'freq = 49' >"$OPEN/conf"
	kill -HUP "$daemon"
	wait_for said "the settings were read again"
	ask closed/d save one
	ask closed/d dump
	[ "$(ls closed/d/samples)" = "$(printf 'current\none')" ]
	end_daemon
	[ ! -e closed/d/control ]
	assay info -i closed/d >/dev/null
}

@test "a history of root goes on under the user assay" {
	need_daemon
	start_daemon d -e cpu-clock
	wait_for has_parts_of_root
	ask d dump
	end_daemon
	part=$(ls d/samples/current)
	# Of a file with two names, the other one may be root's secret.
	echo secret >secret
	chmod 600 secret
	ln secret d/samples/current/linked
	ln -s "$PWD/secret" d/samples/current/link
	with_users assay daemon --session-dir d -e cpu-clock
	said "1 files have other names elsewhere and keep their owner"
	[ "$(stat -c %u secret)" = 0 ]
	rm d/samples/current/linked d/samples/current/link
	holds 54321
	end_daemon
	[ "$(parts d | wc -l)" = 2 ]
	assay info -i "d/samples/current/$part" >/dev/null
}

has_parts_of_root() {
	[ -n "$(ls d/samples/current)" ]
}

@test "a directory with other files of root is not given away" {
	need_daemon
	mkdir d
	touch d/precious
	run with_users assay daemon --session-dir d -e cpu-clock
	[ "$status" != 0 ]
	said "d belongs to root and has other files than a daemon's, such as 'precious'"
	[ "$(stat -c %u d)" = 0 ]
	# Nor one of another user.
	chown nobody d
	run with_users assay daemon --session-dir d -e cpu-clock
	[ "$status" != 0 ]
	said "d belongs to user 65534, and the daemon runs as user 54321"
}

# What an attacker can do in each of the processes; tests/programs/intruder.c is his code.
@test "nobody who takes over the daemon or one of its processes gets further" {
	need_daemon
	[ -e "$PROGRAMS/intruder.so" ] || skip "a build with sanitizers has no intruder"
	rm -f /tmp/assay-intruder
	with_users env LD_PRELOAD="$PROGRAMS/intruder.so" ASSAY_DAEMON_PACE=settle=1,part=1,upkeep=1 \
		assay daemon --session-dir d -e cpu-clock --max-cpu 0 --metrics-listen 0
	ask d status >/dev/null
	for process in daemon keeper opener upkeep starter; do
		wait_for said "intruder: $process exec"
	done
	grep intruder daemon.log
	run grep SUCCEEDED daemon.log
	[ "$status" = 1 ]
	for process in daemon upkeep starter; do
		[ "$(grep "intruder: $process " daemon.log | sort -u | wc -l)" = 8 ]
	done
	for process in keeper opener; do
		[ "$(grep "intruder: $process " daemon.log | sort -u | wc -l)" = 6 ]
	done
	[ ! -e /tmp/assay-intruder ]
	# They go on with their work.
	wait_for has_parts d 2
	end_daemon
	run grep -E "upkeep: |error" daemon.log
	[ "$status" = 1 ]
}

# The parsers of the daemon, which the starter has started.
parsers_of() {
	pgrep -P "$(pgrep -P "$daemon" -x assay-starter)" -x assay-parser
}

# A parser may end while it is looked at.
has_parser_of() { # USER
	local parser none=0000000000000000
	parser=$(parsers_of | head -1)
	[ -n "$parser" ] && [ "$(awk '/^(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):/ { $1 = $1; print }' "/proc/$parser/status")" = "\
$(printf '%s\n' "Uid: $1 $1 $1 $1" "Gid: $1 $1 $1 $1" Groups: \
		"CapInh: $none" "CapPrm: $none" "CapEff: $none" "CapAmb: $none" 'NoNewPrivs: 1' 'Seccomp: 2')" ]
}

@test "a daemon of root has parsers of the user assay-parser, without rights" {
	need_daemon
	run_private
	with_users assay daemon --session-dir d -e cpu-clock --max-cpu 0 -F "$(at_most 499)"
	wait_for has_parser_of 54322
	has_exactly "$(pgrep -P "$daemon" -x assay-starter)" 54322 0
	[ "$(status_of d .helpers.starter.pid)" = "$(pgrep -P "$daemon" -x assay-starter)" ]
	[ "$(status_of d '.helpers.parsers | .questions > 0 and .started > 0 and .died == 0')" = true ]
	[ -z "$(pgrep -P "$daemon" -x assay-parser)" ]
	helpers=$(pgrep -P "$daemon" -x assay-starter; parsers_of)
	end_daemon
	# Daemons of other tests have that user, too.
	for helper in $helpers; do
		wait_for not test -e "/proc/$helper"
	done
}

has_died() {
	[ "$(status_of d .helpers.parsers.died)" -ge 1 ]
}

# A program of nobody that is no other's copy.
runs_another() { # NAME
	local file=$OPEN/another-$1
	cp "$OPEN/private" "$file"
	echo "$1" >>"$file"
	chown nobody "$file"
	background setpriv --reuid=nobody --regid=nogroup --clear-groups "$file" 1000s
}

# Caps as in assay.service. The parsers are of the daemon's user then, because nobody could change it.
@test "a daemon that systemd starts as user assay has parsers without rights, too" {
	need_daemon
	run_private
	OTHER=$(mktemp -d)
	chown 54321:54321 "$OTHER"
	local caps=+perfmon,+bpf,+sys_ptrace,+dac_read_search,+syslog,+ipc_lock
	run_daemon setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps="-all,$caps" --ambient-caps="-all,$caps" \
		--bounding-set="-all,$caps" env XDG_CACHE_HOME="$OTHER/cache" \
		"$ASSAY_BUILD/assay" daemon --session-dir "$OTHER/d" -e cpu-clock --max-cpu 0 -F "$(at_most 499)"
	wait_for has_parser_of 54321
	[ "$(status_of "$OTHER/d" '.helpers.parsers | .questions > 0 and .died == 0')" = true ]
	end_daemon
}

tells_of_unparsed() {
	ask d dump
	[ "$(fact d '.losses."file-unparsed"')" -ge 1 ]
}

has_parsed() {
	[ "$(status_of d .helpers.parsers.questions)" -gt "$1" ]
}

@test "a file that a daemon's parser dies of costs that file, and a starter that is killed costs nothing" {
	need_daemon
	[ -e "$PROGRAMS/parser_trouble.so" ] || skip "a build with sanitizers has no such module"
	run_private
	runs_another bad
	with_users env LD_PRELOAD="$PROGRAMS/parser_trouble.so" PARSER_TROUBLE=die \
		PARSER_BYTES="$(stat -c %s "$OPEN/another-bad")" \
		assay daemon --session-dir d -e cpu-clock --max-cpu 0 -F "$(at_most 499)"
	wait_for has_died
	wait_for tells_of_unparsed
	# The next one answers.
	before=$(status_of d .helpers.parsers.questions)
	runs_another second
	wait_for has_parsed "$before"
	# Without a starter, the daemon starts parsers itself.
	kill -9 "$(pgrep -P "$daemon" -x assay-starter)"
	before=$(status_of d .helpers.parsers.questions)
	runs_another third
	wait_for has_parsed "$before"
	end_daemon
}

knows_build_id() {
	ask d dump && assay buildid-list -i d | grep "^[0-9a-f]\{40\} $OPEN/private"
}

opens_again() {
	opener=$(pgrep -P "$keeper" -x assay-opener) && [ "$opener" != "$1" ]
}

# The daemon learns the number of the process from its keeper, a moment later.
knows_opener() {
	[ "$(status_of d .helpers.opener.pid)" = "$(pgrep -P "$keeper" -x assay-opener)" ]
}

# A build id comes by the opener alone: the file is its owner's.
@test "an opener that is killed starts again, and opens files for the daemon" {
	need_daemon
	run_private
	with_users assay daemon --session-dir d -e cpu-clock --max-cpu 0 -F "$(at_most 499)" --paused
	keeper=$(pgrep -P "$daemon" -x assay-keeper)
	for _ in 1 2; do
		before=$(pgrep -P "$keeper" -x assay-opener)
		kill -9 "$before"
		wait_for opens_again "$before"
	done
	wait_for said "the opener of files died (2 times so far) and starts again"
	[ "$(status_of d .helpers.openers_died)" = 2 ]
	wait_for knows_opener
	ask d start
	wait_for knows_build_id
	# Without the keeper, it goes on.
	kill -9 "$keeper"
	wait_for said "the process that keeps the daemon's rights died"
	[ "$(status_of d '.helpers | [.keeper.pid, .opener.pid] | join(" ")')" = "0 0" ]
	end_daemon
}

policy_of() { # THREAD…
	awk '{ print $41 }' "/proc/$1/stat"
}

# SCHED_RR is 2.
is_real_time() {
	[ "$(policy_of "$1")" = 2 ]
}

# Not modest, as `make check` may be under nice(1).
may_be_real_time() {
	{ chrt -r 1 true && renice -n 0 -p "$BASHPID"; } >/dev/null 2>&1 || skip "no real-time priority is permitted here"
}

@test "the thread that empties the rings and the opener run at real-time priority, and no others" {
	need_daemon
	may_be_real_time
	with_users assay daemon --session-dir d -e cpu-clock
	wait_for is_real_time "$daemon"
	for task in "/proc/$daemon"/task/*; do
		[ "${task##*/}" = "$daemon" ] || [ "$(policy_of "$daemon/task/${task##*/}")" = 0 ]
	done
	keeper=$(pgrep -P "$daemon" -x assay-keeper)
	is_real_time "$keeper"
	is_real_time "$(pgrep -P "$keeper" -x assay-opener)"
	end_daemon
	# Somebody who wants it modest gets it modest.
	run_daemon nice -n 5 assay daemon --session-dir e -e cpu-clock
	ask e status >/dev/null
	[ "$(policy_of "$daemon")" = 0 ]
	end_daemon
}

@test "record -a empties the rings at real-time priority, and record of a command does not" {
	need_daemon
	may_be_real_time
	background assay record -q -a -e cpu-clock -o r
	wait_for is_real_time "$pid"
	kill "$pid"
	wait "$pid"
	assay record -q -e cpu-clock -o s -- sh -c 'awk "{ print \$41 }" "/proc/$PPID/stat" "/proc/$$/stat"' >policies
	[ "$(uniq policies)" = 0 ]
}

names_deleted() {
	ask d dump >/dev/null
	assay report -i d --by symbol,image "pid:$runs" >names.txt 2>&1
	grep -q forty names.txt
}

names_are_for_the_group() {
	[ "$(stat -c %u:%g:%a d/samples/.names/*.sym | sort -u)" = 54321:54321:640 ]
}

@test "reports of root have the names of a file that was deleted while the daemon saw it" {
	need_daemon
	run_private
	rm "$OPEN/private"
	with_users assay daemon --session-dir d -e cpu-clock --max-cpu 0 -F "$(at_most 499)"
	wait_for names_deleted
	# for the group, too; a new one gets that a moment later
	wait_for names_are_for_the_group
	[ "$(stat -c %g:%a d/samples/.names)" = 54321:750 ]
	# Of a part alone, and of a saved one, too; not without the folder.
	assay report -i "d/samples/current/$(parts d | head -1)" --by symbol "pid:$runs" | grep -q forty
	end_daemon
	assay report -i d/samples/current --by symbol "pid:$runs" | grep -q forty
	# They did not enter root's cache.
	[ "$(find "$HOME" -path '*.cache*' -name '*.sym' -newer names.txt -exec grep -l forty {} + | wc -l)" = 0 ]
	# Whatever the user assay does there does no harm.
	# The daemon may have seen deleted files of other tests, too: this one is of the program at hand.
	local table ours=()
	for table in d/samples/.names/*.sym; do
		mv "$table" aside
		assay report -i d --by symbol "pid:$runs" | grep -q forty || ours+=("$table")
		mv aside "$table"
	done
	[ "${#ours[@]}" = 1 ]
	for table in "${ours[@]}"; do
		cp "$table" whole
		printf '\xff\xff' | dd of="$table" bs=1 seek=200 conv=notrunc status=none
		run assay report -i d --by symbol "pid:$runs"
		refused 0 ""
		[[ "$output" != *forty* ]]
		rm "$table"
		mkfifo "$table"
		run timeout "$DEADLINE" assay report -i d --by symbol "pid:$runs"
		[ "$status" = 0 ]
		rm "$table"
		ln -s "$PWD/whole" "$table"
		run assay report -i d --by symbol "pid:$runs"
		[[ "$output" != *forty* ]]
	done
}

has_files_of_private() {
	ask d dump
	opreport --session-dir=d -n -l 2>/dev/null | grep -Eq ' private +(private +)?forty$'
}

has_current_and_one() {
	[ "$(ls d/samples)" = "$(printf 'current\none')" ]
}

are_for_the_group() { # TYPE MODE
	[ "$(find d/samples/current -type "$1" -printf '%g %m\n' 2>/dev/null | sort -u)" = "54321 $2" ]
}

# The original ends at a file that the daemon is just making.
has_line_of_private() { # OPREPORT
	"$1" --session-dir=d -n 2>/dev/null | grep -Eq '^ +[0-9]+ +[0-9.]+ private$'
}

@test "a daemon of the user assay keeps sample files, which all tools read" {
	need_daemon
	run_private
	with_users assay daemon --session-dir d --store=oprofile -e cpu-clock --max-cpu 0 -F "$(at_most 499)" --keep-size=100M
	wait_for has_files_of_private
	holds 54321
	# for the group, too; a new one gets that a moment later
	wait_for are_for_the_group f 640
	wait_for are_for_the_group d 750
	# the original, or ours without it
	local program=${ASSAY_OPROFILE:-/usr}/bin/opreport
	[ -x "$program" ] || program=opreport
	wait_for has_line_of_private "$program"
	ask d save one
	[ -d "d/samples/one/{root}$OPEN/private" ]
	wait_for has_files_of_private
	ask d reset
	wait_for has_files_of_private
	wait_for has_current_and_one # a child removes what was there
	end_daemon
	holds 54321
	# the next one adds to them
	before=$(total_of d)
	with_users assay daemon --session-dir d --store=oprofile -e cpu-clock --max-cpu 0 -F "$(at_most 499)" --keep-size=100M
	wait_for has_files_of_private
	end_daemon
	[ "$(total_of d)" = "$((before + $(counted_in_all)))" ]
}

is_up_for() { # SECONDS
	[ "$(status_of small/d '.uptime_s | floor')" -ge "$1" ]
}

counts_lost_on_disk() {
	[ "$(status_of small/d '.lost_by_reason["disk-full"] // 0')" -gt "$1" ]
}

# The daemon itself may free a page: it is taken, too.
fill_disk() {
	head -c 128M /dev/zero >>small/fill 2>/dev/null || true
}

loses_new_code() {
	fill_disk
	counts_lost_on_disk "$1"
}

@test "on a full disk, a daemon of sample files says so once, counts new code as lost, and goes on" {
	need_daemon
	mkdir small
	mount -t tmpfs -o size=64m none small || skip "no mount here" # the samples of a busy machine have room
	work
	with_users assay daemon --session-dir "$PWD/small/d" --store=oprofile -e cpu-clock -F "$(at_most 997)" --max-cpu 0 --keep-size=0
	wait_for has_samples_of_split
	fill_disk
	# a program that has no file yet
	OPEN=$(mktemp -d)
	cp "$PROGRAMS/split" "$OPEN/new"
	background "$OPEN/new" 1000s
	wait_for loses_new_code 0
	wait_for said "No space left on device: samples of new code are lost until this ends"
	# old code goes on
	before=$(status_of small/d .samples)
	lost=$(status_of small/d '.lost_by_reason["disk-full"]')
	wait_for is_up_for $(($(status_of small/d '.uptime_s | floor') + 3))
	wait_for loses_new_code "$lost"
	[ "$(status_of small/d .samples)" -gt "$before" ]
	[ "$(status_of small/d .write_error)" != "" ]
	rm small/fill
	wait_for said "writing again: [1-9][0-9]* samples were lost"
	wait_for has_samples_of_new
	end_daemon
	[ "$(grep -o 'samples of new code are lost\|writing again' daemon.log | uniq -d)" = "" ]
	[ "$(grep -c 'samples of new code are lost' daemon.log)" = 1 ]
	[ "$(total_of "$PWD/small/d")" = "$(counted_in_all)" ]
	[ "$(assay info --format json small/d | jq '.losses["disk-full"]')" -gt 0 ]
}

has_samples_of_split() {
	ask small/d dump
	opreport --session-dir=small/d -n 2>/dev/null | grep -Eq ' split$'
}

has_samples_of_new() {
	ask small/d dump
	opreport --session-dir=small/d -n 2>/dev/null | grep -Eq ' new$'
}

@test "retain by root leaves a history to its owner, also where he has no way to it" {
	need_daemon
	mkdir -m 700 closed
	export ASSAY_DAEMON_PACE="part=1"
	with_users assay daemon --session-dir closed/d -e cpu-clock
	wait_for has_parts closed/d 3
	run assay retain closed/d
	refused 0 "parts packed"
	[ -z "$(find closed/d/samples ! -user 54321)" ]
	end_daemon
	chmod 755 closed
	assay retain -q closed/d/samples/current
	[ -z "$(find closed/d/samples ! -user 54321)" ]
	[ "$(total_of closed/d)" = "$(counted_in_all)" ]
	# A folder of root that the owner has put there is not root's to change.
	mkdir -p root/part
	mv closed/d/samples/current "root/current"
	chown 0:0 root/current
	before=$(find root/current | sort)
	ln -s "$PWD/root/current" closed/d/samples/current
	chown -h 54321 closed/d/samples/current
	run assay retain closed/d --max-size 1k
	refused 1 "ermission denied"
	[ "$(find root/current | sort)" = "$before" ]
}

# A parser may use two thirds of --max-memory. The program has no build id, so its symbols are read while it runs.
@test "a symbol table that is too large for --max-memory is reported" {
	need_daemon
	[[ "$(uname -m)" = x86_64 ]] || skip "a program for x86-64"
	command -v as >/dev/null || skip "as is not installed"
	awk 'BEGIN {
		print ".globl _start\n_start: jmp _start"
		for (i = 0; i < 300000; i++)
			printf ".type a_name_of_some_length_%06d,@function\na_name_of_some_length_%06d: ret\n", i, i
	}' >many.s
	as -o many.o many.s
	ld --build-id=none -o many many.o
	rm many.s many.o
	background ./many
	run_daemon assay daemon --session-dir d -e cpu-clock --max-cpu 0 --max-memory 30M -F "$(at_most 499)"
	wait_for tells_of_unparsed
	# The daemon keeps names of other tests' programs, too.
	! grep -rqa a_name_of_some_length d --include='*.sym' || false
	# It has its samples all the same.
	wait_for eval 'assay report -i d --by comm --format csv | grep -q many'
	end_daemon
	# With more memory, its names are kept.
	run_daemon assay daemon --session-dir e -e cpu-clock --max-cpu 0 --max-memory 150M -F "$(at_most 499)"
	wait_for grep -rqa a_name_of_some_length e --include='*.sym'
}

# Names, modes, times and contents of all files.
picture_of() {
	find "$1" -printf '%p %m %u %T@\n' -type f -exec sha256sum {} + | sort
}

@test "a directory with a session is refused, and stays as it is" {
	need_daemon
	session_at d "$PROGRAMS/split" forty=3
	picture_of d >before
	run assay daemon --session-dir d -e cpu-clock
	refused 1 "d is a session of samples" "give another --session-dir"
	picture_of d | diff before -
	# Also one that is damaged.
	echo nonsense >"$(find d -name 0000.segment)"
	picture_of d >before
	run assay daemon --session-dir d -e cpu-clock
	refused 1 "d is a session of samples" "give another --session-dir"
	picture_of d | diff before -
	# So is the folder of its segments, also if it has the parts of a daemon.
	mkdir -p f
	cp d/samples/current/0000.segment f
	for folder in . samples samples/current samples/current/20260601T000000.000Z; do
		mkdir -p "f/$folder"
		picture_of f >before
		run assay daemon --session-dir f -e cpu-clock
		refused 1 "f has segments of a session" "give another --session-dir"
		picture_of f | diff before -
	done
	# A history with segments among its parts is a session, too.
	mv f/0000.segment f/samples/current
	picture_of f >before
	run assay daemon --session-dir f -e cpu-clock
	refused 1 "f is a session of samples" "give another --session-dir"
	picture_of f | diff before -
	# But the part of a history is in no way: it is a directory of its own.
	start_daemon e -e cpu-clock
	end_daemon
	start_daemon e -e cpu-clock
	end_daemon
}
