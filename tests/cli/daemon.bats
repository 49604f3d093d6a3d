#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# The continuous profiler.

load helpers
load daemon

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log d/log 2>/dev/null || true
	end_test
	kill_daemon_of d
	! mountpoint -q small 2>/dev/null || umount -l small
}

samples_of() {
	local sum=0 part
	for part in "$1"/samples/*/[12]*; do
		sum=$((sum + $(fact "$part" .samples)))
	done
	echo "$sum"
}

has_samples() {
	[ "$(samples_of "$1")" -gt "${2-0}" ]
}

# The first second may be another program's alone.
shows_split() {
	assay report -i "$1" --by app 2>/dev/null | grep -q split
}

@test "a daemon collects, its part is read while it is written, and it ends whole" {
	need_daemon
	work
	start_daemon d -e cpu-clock
	[ "$(cat d/lock)" = "$daemon" ]
	wait_for has_samples d
	# The name is the time at which it began, in UTC.
	[[ "$(parts d)" =~ ^2[0-9]{7}T[0-9]{6}\.[0-9]{3}Z$ ]]
	wait_for shows_split "d/samples/current/$(parts d)"
	run assay report -i d
	[[ "$output" =~ (^|$'\n')"time "[^$'\n']*"; still runs"($|$'\n') ]]
	run assay report -i d --until now
	refused 0 "time  "
	[[ "$output" != *"still runs"* && "$output" != *"was killed"* ]]
	end_daemon
	run assay report -i d
	[[ "$output" =~ (^|$'\n')"time "[^$'\n']*" s"($|$'\n') ]]
	run assay info "d/samples/current/$(parts d)"
	[ "$status" = 0 ]
	[[ "$output" != *"still runs"* ]]
	has_samples d
	# Nobody else is to read what ran.
	[[ "$(stat -c "%a %G" d/samples)" =~ ^(700 .*|750 assay)$ ]]
}

@test "a daemon keeps no privilege that it does not need" {
	need_daemon
	start_daemon d -e cpu-clock
	# PERFMON, BPF, SYSLOG, IPC_LOCK and no others, and none to gain.
	has_only $((1 << 38 | 1 << 39 | 1 << 34 | 1 << 14)) "$daemon"
	[ "$(id -u)" = 0 ] || return 0
	# The opener has SYS_PTRACE and DAC_READ_SEARCH. It has PERFMON and SYS_ADMIN where a
	# distribution's kernel opens counters for nothing less.
	keeper=$(pgrep -P "$daemon" -x assay-keeper)
	opener=$(pgrep -P "$keeper" -x assay-opener)
	allowed=$((1 << 19 | 1 << 2))
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || allowed=$((allowed | 1 << 38 | 1 << 21))
	has_only "$allowed" "$keeper"
	has_only "$allowed" "$opener"
	[ "$((16#$(awk '$1 == "CapEff:" { print $2 }' "/proc/$opener/status")))" = "$allowed" ]
	# They end with the daemon, however that ends.
	kill -9 "$daemon"
	wait_for is_gone "$opener"
	wait_for is_gone "$keeper"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# Each thread of process $2 has capabilities of the set $1 only, and gets no others.
has_only() {
	local allowed=$1 task set have
	for task in "/proc/$2"/task/*; do
		for set in CapPrm CapEff CapBnd; do
			have=$((16#$(awk -v set="$set:" '$1 == set { print $2 }' "$task/status")))
			[ $((have & ~allowed)) = 0 ]
		done
		[ "$(awk '$1 == "NoNewPrivs:" { print $2 }' "$task/status")" = 1 ]
	done
}

# The file is gone before the daemon starts: only the opener may follow /proc/PID/exe to its symbols.
@test "a daemon names the functions of another user's program whose file was deleted" {
	need_root
	need_daemon
	run_private
	rm -r "$OPEN"
	start_daemon d -e cpu-clock --max-cpu 0 -F "$(at_most 499)"
	wait_for names_function d "$runs"
	end_daemon
}

@test "a second daemon is refused, with the process id of the first" {
	need_daemon
	start_daemon d -e cpu-clock
	run assay daemon --session-dir d
	refused 1 "$BATS_TEST_TMPDIR/d already: process $daemon ('assay ctl --session-dir $BATS_TEST_TMPDIR/d shutdown'"
	[ "$(cat d/lock)" = "$daemon" ]
}

@test "a daemon goes into the background, keeps a log, and reads its settings again" {
	need_daemon
	printf 'freq = 99  # samples a second\nevent = cpu-clock\n\nmax-memory = 200M\nmax-cpu = 0\n' >conf
	assay daemon --session-dir d --config conf --detach 3>&-
	daemon=$(cat d/lock)
	kill -0 "$daemon"
	grep -q '^2.*assay: collecting' d/log
	[ "$(fact "d/samples/current/$(parts d)" '.events[0].freq_hz')" = 99 ]
	# As logrotate does: the file is renamed, and a signal says so.
	mv d/log d/log.1
	printf 'freq = 199\nevent = cpu-clock\nmax-cpu = 0\n' >conf
	kill -HUP "$daemon"
	wait_for grep -q 'settings were read again' d/log
	wait_for has_parts d 2
	[ "$(fact "d/samples/current/$(parts d | tail -1)" '.events[0].freq_hz')" = 199 ]
	# Settings that can't be taken change nothing.
	printf 'freq = 199\nfrequency = 3\n' >conf
	kill -HUP "$daemon"
	wait_for grep -q "conf:2: there is no setting 'frequency': the settings stay as they are" d/log
	# Nor do those that no event, or no processor, can be found for.
	printf 'freq = 299\nmax-cpu = 3\nevent = nonsense\n' >conf
	kill -HUP "$daemon"
	wait_for grep -q "conf:3: unknown event 'nonsense'.*: the settings stay as they are" d/log
	[ "$(status_of d .wanted_hz)" = 199 ]
	[ "$(status_of d '.max_cpu_percent == 0')" = true ]
	# What a daemon is made with waits for the next one.
	printf 'freq = 199\nevent = cpu-clock\nmax-cpu = 0\nseparate = none\n' >conf
	kill -HUP "$daemon"
	wait_for grep -q "separate: 'none' holds from the daemon's next start on" d/log
	kill "$daemon"
	wait_for grep -q 'the daemon ends' d/log
}

@test "a daemon in the background that can't collect says why where it was started" {
	need_daemon
	run assay daemon --session-dir d --detach -e no-such-event
	refused 1 "no-such-event"
	# It never collected: there is nothing to tell of it but that.
	run ! grep statistics d/log
	run assay daemon --session-dir d --detach --collector perf -e cpu-clock -F 0
	refused 2 "--freq: '0'"
}

@test "a broken file of settings is refused with its name and line" {
	printf '# a comment\n\nfreq = fast\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:3: --freq: 'fast' is not a number"
	printf 'freq 49\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:1: 'freq 49' is not NAME = value"
	printf 'detach = maybe\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:1: detach: 'maybe' is neither yes nor no"
	printf 'config = other\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:1: a file of settings cannot name another one"
	printf 'freq = 49\nevent = nonsense\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:2: unknown event 'nonsense'"
	printf '\nseparate = everything\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:2: --separate: 'everything' is none of"
	printf 'metrics-listen = 99999\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:1: '99999' is not an address"
	printf 'ext-feature = nsa:everything\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf:1: no extended feature 'nsa'"
	printf 'session-dir =\n' >conf
	run assay daemon --config conf
	refused 1 "conf:1: --session-dir: it has no name"
	printf 'freq = 49\0\n' >conf
	run assay daemon --session-dir d --config conf
	refused 1 "conf is not a text"
	run assay daemon --session-dir d --config missing
	refused 1 "cannot read missing: No such file or directory"
	run assay daemon --session-dir d extra
	refused 2 "'extra' is one argument too many"
	run assay daemon --session-dir ""
	refused 2 "--session-dir needs a name"
	[ ! -e d ]
}

@test "a place that can't be written is refused" {
	need_daemon
	run assay daemon --session-dir /proc/assay
	refused 1 "/proc/assay"
	mkdir small
	mount -t tmpfs -o size=1m none small || skip "no mount here"
	mount -o remount,ro small
	run assay daemon --session-dir "$PWD/small/d"
	refused 1 "small/d: Read-only file system"
	mkdir -m 755 theirs
	chown nobody theirs
	run assay daemon --session-dir theirs
	refused 1 "theirs belongs to user"
}

@test "a daemon that is killed again and again leaves parts that can be read, and nothing else" {
	need_daemon
	work
	stored=0
	for _ in $(seq "${ASSAY_KILLS:-3}"); do
		start_daemon d -e cpu-clock -F 997
		wait_for has_samples d "$stored"
		# Somewhere in a second.
		sleep "0.$((RANDOM % 900 + 100))"
		kill -9 "$daemon"
		wait "$daemon" || true
		stored=$(samples_of d)
	done
	for part in d/samples/current/*; do
		run assay info "$part"
		[ "$status" = 0 ] || { echo "$output"; false; }
		[[ "$output" != *damaged* ]]
	done
	has_samples d
	# The next one tidies: no part without a sample, no room reserved for an end, one lock.
	start_daemon d -e cpu-clock
	said 'was killed'
	end_daemon
	[ "$(find d -name reserve | wc -l)" = 0 ]
	[ "$(ls d)" = "$(printf 'lock\nsamples')" ]
}

is_up_for() { # DIR SECONDS
	[ "$(status_of "$1" '.uptime_s | floor')" -ge "$2" ]
}

# The daemon itself may free a page: it is taken, too.
stays_full() { # DIR
	head -c 8M /dev/zero >>"$1/fill" 2>/dev/null || true
	[ "$(status_of "$1/d" .write_error)" != "" ]
}

counts_lost_on_disk() { # DIR
	[ "$(status_of "$1" '.lost_by_reason["disk-full"] // 0')" -gt 0 ]
}

last_said_of_disk() {
	grep -o 'nothing is stored\|writing again' daemon.log | tail -1
}

is_writing_again() {
	[ "$(last_said_of_disk)" = "writing again" ]
}

@test "on a full disk a daemon says so once, and goes on when there is room" {
	need_daemon
	mkdir small
	mount -t tmpfs -o size=4m none small || skip "no mount here"
	work
	start_daemon "$PWD/small/d" -e cpu-clock -F 997 --max-cpu 0
	wait_for has_samples small/d
	head -c 8M /dev/zero >small/fill 2>/dev/null || true
	wait_for said "nothing is stored until this ends"
	# Each second it tries again.
	wait_for is_up_for small/d $(($(status_of small/d '.uptime_s | floor') + 3))
	wait_for stays_full small
	# Not only when the part ends.
	wait_for counts_lost_on_disk small/d
	rm small/fill
	wait_for is_writing_again # a small block may have fitted in before, which it said, too
	said "writing again: [1-9][0-9]* samples were lost"
	before=$(samples_of small/d)
	wait_for has_samples small/d "$before"
	end_daemon
	# Once, and not at each try. A small block may fit in between: then the message repeats.
	[ "$(grep -o 'nothing is stored\|writing again' daemon.log | uniq -d)" = "" ]
	is_writing_again
	[ "$(total_of "$PWD/small/d")" = "$(counted_in_all)" ]
	# The profile has the samples that were lost meanwhile.
	[ "$(for part in small/d/samples/current/*; do assay info --format json "$part"; done |
		jq -s '[.[].losses["disk-full"] // 0] | add')" -gt 0 ]
}

part_has_samples() {
	[ "$(fact "$1" .samples)" -gt 0 ]
}

@test "the rate goes down before the budget is passed, and the profile says so" {
	need_daemon
	work
	export ASSAY_DAEMON_PACE="settle=1"
	local most
	most=$(at_most 5000)
	[ "$most" -ge 1000 ] || skip "needs a kernel that permits 1000 samples a second, and not $most"
	start_daemon d -e cpu-clock -F "$most" --max-cpu 0.1 --max-memory 0
	wait_for said "Hz instead of $most"
	wait_for has_parts d 2
	# A part that has no samples has no report.
	part=d/samples/current/$(parts d | sed -n 2p)
	wait_for part_has_samples "$part"
	end_daemon
	[ "$(fact "$part" '.events[0].freq_hz')" -lt "$most" ]
	run assay report -i "$part"
	refused 0 "times that the rate went down, for the daemon's budget or the fleet" \
		"Hz instead of $most to stay within the daemon's budget"
}

@test "where the kernel permits less than before, counting goes on at that rate" {
	need_daemon
	unshare -m true 2>/dev/null || skip "no mount here"
	local wanted
	wanted=$(at_most 499)
	[ "$wanted" -gt 99 ] || skip "needs a kernel that permits 100 samples a second, and not $wanted"
	work
	# A file of the test's own in the place of the setting, for this process alone.
	echo 100000 >most
	run_daemon unshare -m sh -c 'mount --bind most /proc/sys/kernel/perf_event_max_sample_rate && exec "$@"' sh \
		assay daemon --session-dir d -e cpu-clock -F "$wanted" --max-cpu 0
	echo 99 >most
	ask d set events=cpu-clock:u
	wait_for said "kernel.perf_event_max_sample_rate is 99: sampling at that rate, instead of $wanted Hz"
	wait_for has_parts d 2
	run ask d status
	refused 0 "instead of $wanted, as kernel.perf_event_max_sample_rate permits no more"
	end_daemon
	[ "$(fact "d/samples/current/$(parts d | tail -1)" '.events[0].freq_hz')" = 99 ]
}

@test "parts end with their time, and nothing is lost or counted twice between them" {
	need_daemon
	work
	export ASSAY_DAEMON_PACE="part=1"
	start_daemon d -e cpu-clock -F 997 --max-cpu 0 --max-memory 0
	wait_for has_parts d 4
	end_daemon
	lost=0
	for part in d/samples/current/*; do
		lost=$((lost + $(fact "$part" '.lost')))
		[ "$(fact "$part" '.warnings | tojson')" = '[]' ]
	done
	# Losses of a machine that is too slow for its rings are reported once, too.
	[ "$lost" = "$(sed -n 's/.*statistics: [0-9]* s: [0-9]* samples, \([0-9]*\) lost.*/\1/p' daemon.log | tail -1)" ]
	[ "$(samples_of d)" -gt 0 ]
	[ "$(samples_of d)" = "$(counted_in_all)" ]
}

@test "a user who may not make the daemon's directory learns what to do" {
	mkdir closed
	chmod 0 closed
	run unprivileged assay daemon --session-dir "$PWD/closed/d"
	chmod 700 closed
	refused 1 "Permission denied; run the daemon as root, or name a directory of your own by --session-dir"
}

# assay as nobody, of a group or of none: as_member GROUP|"" COMMAND…
as_member() {
	local groups=--clear-groups
	[ -z "$1" ] || groups=--groups=$1
	setpriv --reuid nobody --regid nogroup "$groups" env HOME="$NOBODY" "$NOBODY/assay" "${@:2}"
}

@test "members of the daemon's group can read its samples, and nobody else can" {
	need_daemon
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	{ grep -v '^assay:' /etc/group; echo "assay:x:54321:"; } >group
	unshare -m true 2>/dev/null || skip "no mount here"
	unprivileged true # which puts assay where nobody finds it
	d=$NOBODY/d
	work
	export ASSAY_DAEMON_PACE="settle=1,upkeep=1"
	# Only this process and its children have the group.
	run_daemon unshare -m sh -c 'umask 077; mount --bind group /etc/group && exec "$@"' sh \
		assay daemon --session-dir "$d" -F 199 -e cpu-clock -v
	chmod 755 "$d"
	wait_for has_samples "$d"
	ask "$d" save before
	wait_for has_samples "$d" "$(samples_of "$d")"
	kill -HUP "$daemon"
	wait_for said "parts packed"
	[ -z "$(find "$d/samples" ! -group 54321)" ]
	[ "$(find "$d/samples" -type d -printf '%m\n' | sort -u)" = 750 ]
	[ "$(find "$d/samples" -type f ! -name reserve -printf '%m\n' | sort -u)" = 640 ]
	run as_member 54321 report -i "$d/samples/before"
	[ "$status" = 0 ]
	run as_member 54321 report --session-dir "$d"
	[ "$status" = 0 ]
	run as_member "" report --session-dir "$d"
	refused 1 "permission denied; only root and members of group" || refused 1 "only root (uid 0) may"
	end_daemon
	# Nothing else that is recorded is for the group.
	assay record -o private.assay -- true
	[ "$(stat -c %a private.assay)" = 700 ]
}

@test "a daemon that begins paused counts nothing" {
	need_daemon
	work
	start_daemon d -e cpu-clock --paused
	works_on
	ask d dump
	run assay report --session-dir d
	refused 1 "d has no samples: its daemon (process $daemon, since 2"
	refused 1 "'assay ctl --session-dir d start' continues it"
	end_daemon
	[ "$(samples_of d)" = 0 ]
	run assay report --session-dir d
	refused 1 "d has no samples, and no daemon runs there: 'assay daemon --session-dir d'"
	# Nor has it one second of a part.
	rm -r d/samples/current/2*
	run assay info d
	refused 1 "d has no samples, and no daemon runs there"
}

@test "the privileges that the service's unit gives are enough, and it is as systemd wants it" {
	need_daemon
	unit=$ROOT/data/assay.service
	if command -v systemd-analyze >/dev/null; then
		place=${ASSAY_BUILD// /\\x20}
		text=$(<"$unit")
		echo "${text//@bindir@/"$place"}" >assay.service
		systemd-analyze verify --man=no "$PWD/assay.service" 2>verify.log || { cat verify.log; false; }
		if systemd-analyze security --help | grep -q -- --offline; then
			systemd-analyze security --offline=true --threshold=34 "$PWD/assay.service" >/dev/null
		fi
	fi
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr '\n' ' ' | sed 's/CAP_/+/g; s/ *$//; s/ /,/g')
	run_daemon setpriv --bounding-set "-all,${caps,,}" --inh-caps=-all --no-new-privs \
		assay daemon --session-dir d -e cpu-clock
	end_daemon
}

@test "a daemon takes requests by its socket" {
	need_daemon
	local high
	high=$(at_most 2000)
	work
	start_daemon d -e cpu-clock --max-cpu 0
	wait_for has_samples d
	ask d stop
	wait_for is_quiet d
	ask d dump
	before=$(samples_of d)
	ask d start
	wait_for has_samples d "$before"
	ask d save first
	[ "$(ls d/samples)" = "$(printf 'current\nfirst')" ]
	run ask d save first
	refused 1 "there is a history 'first' already"
	run ask d save ../etc
	refused 1 "cannot name a history"
	ask d set rate=199
	wait_for has_parts d 2
	[ "$(fact "d/samples/current/$(parts d | tail -1)" '.events[0].freq_hz')" = 199 ]
	# Beyond what the in-kernel sampler was made for, and other events: counting begins anew.
	ask d set rate="$high"
	wait_for has_parts d 3
	ask d set events=cpu-clock:u
	wait_for has_parts d 4
	run ask d set events=no-such-event
	refused 1 "no-such-event"
	# Or as many as the kernel permits, which is fewer when interrupts took long.
	run ask d status
	[[ "$output" =~ "cpu-clock:u at "("$high Hz"|[0-9]+" Hz on each CPU ($high Hz were requested") ]]
	ask d reset
	[ "$(parts d | wc -l)" = 1 ]
	[ "$(samples_of d)" -gt 0 ] # of first
	ask d shutdown
	wait "$daemon"
}

@test "parts that are over are packed and kept as long as was asked for" {
	need_daemon
	work
	export ASSAY_DAEMON_PACE="part=1,settle=1,upkeep=1"
	start_daemon d -e cpu-clock -F 997 -v --keep-age 3s
	wait_for said "parts packed"
	wait_for said "removed; "
	wait_for shows_split d
	end_daemon
	for part in d/samples/current/*; do
		[ "$(fact "$part" '.warnings | tojson')" = '[]' ]
	done
}

has_begun_after() { # NAME
	[[ "$(parts d | tail -1)" > "$1" ]]
}

@test "parts are not packed while somebody merges the history by hand" {
	need_daemon
	mkdir -p d/samples/current
	exec 9<d/samples/current
	flock 9
	export ASSAY_DAEMON_PACE="part=1,settle=1,upkeep=1"
	start_daemon d -e cpu-clock -F 997 -v
	wait_for has_parts d 4
	run ! grep 'parts packed' daemon.log
	flock -u 9
	wait_for said "parts packed"
	# What began while the upkeep waited is being written: it is left alone.
	wait_for has_begun_after "$(parts d | tail -1)"
	end_daemon
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

@test "counting begins anew when the sampler has met too many files" {
	need_daemon
	work
	export ASSAY_SAMPLER_LIMITS=files=1 ASSAY_DAEMON_PACE="renew=2"
	start_daemon d -e cpu-clock --max-cpu 0
	said "collecting in the kernel" || skip "the in-kernel sampler does not run here"
	wait_for said "the sampler has met too many files: counting begins anew"
	before=$(status_of d .samples)
	wait_for has_counted_more_than "$before"
	end_daemon
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

has_counted_more_than() {
	[ "$(status_of d .samples)" -gt "$1" ]
}

upkeep_has_nice() { # NICE
	local child
	for child in $(pgrep -P "$daemon" -x assay); do
		[ "$(awk '{ print $19 }' "/proc/$child/stat")" = "$1" ] && return
	done
	return 1
}

@test "an upkeep that gets no time begins anew at an ordinary priority" {
	need_daemon
	mkdir -p d/samples/current
	exec 9<d/samples/current
	flock 9
	export ASSAY_DAEMON_PACE="part=1,settle=1,upkeep=5"
	start_daemon d -e cpu-clock -v
	wait_for upkeep_has_nice 19
	wait_for said "begins anew at an ordinary priority"
	# `make check` may run under nice(1).
	ordinary=$(awk '{ print $19 }' "/proc/$$/stat")
	wait_for upkeep_has_nice $((ordinary > 0 ? ordinary : 0))
	flock -u 9
	wait_for said "parts packed"
	end_daemon
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

@test "what a daemon writes is left alone by hand, too, whenever that was written to" {
	need_daemon
	work
	start_daemon d -e cpu-clock -F 997
	wait_for has_samples d
	ask d stop
	# As on a disk that is full for hours.
	find d/samples/current -exec touch -d '3 hours ago' {} +
	assay retain d
	assay retain "$PWD/d/samples/current/" --max-size 1k
	before=$(total_of d)
	[ "$before" -gt 0 ]
	ask d start
	wait_for has_samples d "$before"
	end_daemon
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

@test "a reader beside switching, packing and merging counts each sample once" {
	need_daemon
	work
	export ASSAY_DAEMON_PACE="part=1,settle=1,upkeep=1"
	start_daemon d -e cpu-clock -F 997 --max-cpu 0 --max-memory 0
	wait_for has_samples d
	read=0 seen=0 end=$((SECONDS + DEADLINE)) part=
	# While the parts are switched five times.
	while [ "$seen" -le 5 ]; do
		[ $SECONDS -lt $end ]
		now=$(status_of d .part)
		[ "$now" = "$part" ] || seen=$((seen + 1))
		part=$now
		before=$read
		read=$(total_of d)
		counted=$(status_of d .samples)
		echo "read $read, before $before; then the daemon had counted $counted" >&2
		[ "$read" -ge "$before" ]
		[ "$read" -le "$counted" ]
		# Where a minute is over, its parts become one; the daemon's own upkeep may be at it.
		assay retain -q d --tier minutes=1s --tier hours=never 2>/dev/null || true
	done
	end_daemon
	[ "$(total_of d)" = "$(counted_in_all)" ]
	assay retain -q d --tier minutes=1s --tier hours=never
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

# Work, and clock_shift.so: the file `shifted` sets the clock of a program that loads it.
need_shifted_clock() {
	need_daemon
	[ -e "$PROGRAMS/clock_shift.so" ] || skip "no library can be loaded into a program with sanitizers"
	work
	export CLOCK_SHIFT=$PWD/shifted ASSAY_DAEMON_PACE="retry=1"
	# LD_PRELOAD takes a path with a space for two.
	cp "$PROGRAMS/clock_shift.so" .
}

@test "the clock is set back an hour: a new part begins, at its time" {
	need_shifted_clock
	run_daemon env LD_PRELOAD=./clock_shift.so assay daemon --session-dir d -e cpu-clock -v -F 199 --max-cpu 0
	wait_for has_samples d
	touch shifted
	wait_for said "a new part (the clock was set, or the machine slept)"
	wait_for has_samples d "$(samples_of d)"
	end_daemon
	[ "$(parts d | wc -l)" = 2 ]
	[ "$(total_of d)" = "$(counted_in_all)" ]
	late=$(total_of d --since -30m) early=$(total_of d --until -30m)
	[ "$late" -gt 0 ]
	[ "$early" -gt 0 ]
	[ $((early + late)) = "$(counted_in_all)" ]
}

has_begun() { # N parts because of the clock
	[ "$(grep -c "a new part (the clock was set" daemon.log)" -ge "$1" ]
}

# The link is replaced as a whole, as the daemon reads it at any moment.
shift_clock() { # SECONDS
	ln -s -- "$1" shift.new
	mv -T shift.new shifted
}

# A machine without a battery: its clock begins in 1970, and is set when the network is there.
@test "a clock of 1970 that is set later: sessions and histories keep their samples" {
	need_shifted_clock
	shift_clock $((100 - $(date +%s)))
	LD_PRELOAD=./clock_shift.so assay record -q -e cpu-clock -o s -- "$PROGRAMS/split" 0.2cpu
	[ "$(total_of s)" -gt 0 ]
	[[ "$(assay info -i s)" == *"started"*"1970-01-01T00:0"* ]]
	[ "$(total_of s --since 1970-01-01 --until 1970-01-02)" = "$(total_of s)" ]
	for format in pprof otlp folded sqlite; do
		assay export -i s -F "$format" -o "s.$format" 2>/dev/null
		[ -s "s.$format" ]
	done
	run_daemon env LD_PRELOAD=./clock_shift.so assay daemon --session-dir d -e cpu-clock -v -F 199 --max-cpu 0 --keep-age 1w
	wait_for has_samples d
	rm shifted
	wait_for has_begun 1
	wait_for has_samples d "$(samples_of d)"
	end_daemon
	[ "$(parts d | wc -l)" = 2 ]
	[ "$(total_of d)" = "$(counted_in_all)" ]
	[ "$(total_of d --until 2020-01-01)" -gt 0 ]
	[ "$(total_of d --since -1h)" -gt 0 ]
}

@test "the clock goes two hours forth and a day back: no sample is lost or counted twice" {
	need_shifted_clock
	run_daemon env LD_PRELOAD=./clock_shift.so assay daemon --session-dir d -e cpu-clock -v -F 199 --max-cpu 0
	wait_for has_samples d
	shift_clock 7200
	wait_for has_begun 1
	wait_for has_samples d "$(samples_of d)"
	shift_clock -86400
	wait_for has_begun 2
	wait_for has_samples d "$(samples_of d)"
	end_daemon
	[ "$(parts d | wc -l)" = 3 ]
	[ "$(total_of d)" = "$(counted_in_all)" ]
	# Merging them keeps the sum, too.
	assay retain -q d --tier minutes=1s --tier hours=never
	[ "$(total_of d)" = "$(counted_in_all)" ]
}

# Besides those that live: few, as others may come and go just now.
knows_few_dead() {
	local living
	living=$(find /proc -maxdepth 1 -name '[0-9]*' | wc -l)
	[ "$(status_of d .processes)" -lt $((living + 600)) ]
}

@test "processes that have ended are forgotten" {
	need_daemon
	start_daemon d -e cpu-clock
	[ "$(status_of d .processes)" -gt 0 ]
	# Of 1000 that end at once none stays.
	"$PROGRAMS/forks" 1000
	ask d dump
	wait_for knows_few_dead
}
