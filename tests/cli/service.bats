#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon as systemd's unit has it: by a systemd of the test's own, which has nothing else to do.

load helpers
load daemon

# A command in there.
inside() {
	nsenter -t "$first" -m -p -u -i -C -r -w "$@"
}

property() {
	inside systemctl show assay -p "$1" --value
}

property_is() {
	[ "$(property "$1" 2>/dev/null)" = "$2" ]
}

property_is_other_than() {
	[ "$(property "$1")" != "$2" ]
}

has_booted() {
	first=$(pgrep -P "$booted" -x systemd) && [ -n "$first" ] && inside systemctl --version >/dev/null
}

# Its cgroups are empty as soon as the last of its processes is gone.
remove_cgroups() {
	local top
	top=$(findmnt -n -t cgroup2 -o TARGET | head -1)/assay-test.$booted
	[ ! -d "$top" ] || find "$top" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$top" ]
}

teardown() {
	[ -z "${bin-}" ] || rm -rf "$bin"
	end_test
	[ -z "${booted-}" ] || wait_for remove_cgroups
}

start_systemd() { # [UNIT]: the file of another unit than assay.service, which has its name in there
	need_root
	[ -x /lib/systemd/systemd ] || skip "systemd is not installed"
	command -v nsenter >/dev/null || skip "nsenter is not installed"
	command -v systemd-sysusers >/dev/null || skip "systemd-sysusers is not installed"
	need_daemon
	[ -n "$(findmnt -n -t cgroup2 -o TARGET)" ] || skip "no cgroups of the second version here"
	unshare -m -p -u -i -C --fork true 2>/dev/null || skip "no namespaces here"
	# Not in /tmp, which is another one in there.
	bin=$(mktemp -d /opt/assay-test.XXXXXX) || skip "/opt can't be written"
	chmod 755 "$bin"
	cp "$ASSAY_BUILD/assay" "$bin"
	mkdir -p ns assay.service.d
	sed "s#@bindir@#$bin#" "$ROOT/data/${1-assay.service}" >assay.service
	[ $# = 1 ] && "configure_${1%.service}" >assay.service.d/test.conf || printf '[Service]\nRestartSec=1s\nWatchdogSec=%ss\nEnvironment=ASSAY_DAEMON_PACE=settle=1,upkeep=1\n' $((DEADLINE / 6)) >assay.service.d/test.conf
	background "$ROOT/tests/service/boot.sh" "$PWD/ns" "$PWD/assay.service" >boot.log 2>&1
	booted=$pid
	wait_for so_or_ended "$booted" has_booted
	has_booted || { cat boot.log; skip "systemd does not boot here: $(tail -1 boot.log)"; }
}

# As the comments of the unit have it, but for the token: credentials do not come into these namespaces. So a group has the right to read it.
configure_assay-ship() {
	assay serve --help | grep -q -- --fleet || skip "built without libmicrohttpd"
	"$ASSAY_BUILD/bench/history" "$bin/store" 1 2000 400
	chgrp -R 54321 "$bin/store"
	chmod -R g+rX "$bin/store"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	background assay serve --fleet fleet --listen "127.0.0.1:$port" >gateway.log 2>&1
	wait_for test -e fleet/.fleet
	assay fleet enroll fleet web1 >"$bin/token"
	chgrp 54321 "$bin/token"
	chmod 640 "$bin/token"
	printf '[Service]\nExecStart=\nExecStart=%s/assay ship --to http://127.0.0.1:%s --token-file %s/token --host web1 --interval 1 %s/store\n' "$bin" "$port" "$bin" "$bin"
	printf 'PrivateNetwork=no\nRestrictAddressFamilies=AF_INET AF_INET6\n'
}

has_sent_all() {
	inside grep -q '^success_ns [1-9]' /run/assay-ship/status 2>/dev/null && inside grep -qx 'backlog 0' /run/assay-ship/status
}

@test "the unit of ship sends a history to a gateway, without any rights of its own" {
	start_systemd assay-ship.service
	wait_for has_sent_all || { cat boot.log gateway.log; inside journalctl -u assay --no-pager; false; }
	[ "$(assay report -i fleet --format json | jq .header.samples.selected)" = "$(assay report -i "$bin/store" --format json | jq .header.samples.selected)" ]
	id=$(property MainPID)
	[ "$(inside grep -h CapEff: "/proc/$id/status")" = "$(printf 'CapEff:\t0000000000000000')" ]
	[ "$(inside stat -c %U "/proc/$id")" != root ]
	inside journalctl -u assay --no-pager >journal
	cat journal
	run grep -E "not readable|denied|cannot (set|give|remove|write|rename|read)" journal
	[ "$status" = 1 ]
}

@test "the unit starts, reloads, is watched, comes again when killed, and stops" {
	start_systemd
	wait_for property_is ActiveState active || { cat boot.log; inside journalctl -u assay; false; }
	# Type=notify: it is up when it collects, and says so.
	[[ "$(property StatusText)" == *"collecting into /var/lib/assay/samples/current/2"* || "$(property StatusText)" == *samples* ]]
	[ "$(inside stat -c '%a %G' /var/lib/assay/control)" = "660 assay" ]
	[ "$(inside stat -c '%a %G' /var/lib/assay/samples)" = "750 assay" ]
	[ "$(inside find /var/lib/assay /var/cache/assay ! -user assay)" = "" ]
	for process in assay assay-keeper assay-opener; do
		# A child has its parent's name until it gets its own, and may end meanwhile.
		for id in $(inside pgrep -x "$process"); do
			inside grep -hs Uid: "/proc/$id/status" || inside test ! -e "/proc/$id"
		done >one
		[ -s one ]
		cat one
	done >users
	[ "$(sort -u users)" = "$(printf 'Uid:\t54321\t54321\t54321\t54321')" ]
	# Its files are opened: a filter of the unit can refuse the call that does so.
	has_sampled_sort() {
		inside sh -c 'seq 300000 | sort | sort -R' >/dev/null
		inside "$bin/assay" report --session-dir /var/lib/assay --format json --by image >seen.json && jq -e '[.rows[].image | strings | select(endswith("/sort"))] | length > 0' seen.json
	}
	wait_for has_sampled_sort
	[ "$(jq -c '[.header.losses[] | select(.reason == "file-refused")]' seen.json)" = '[]' ]
	inside systemctl reload assay
	wait_for property_is ActiveState active
	[ "$(property ReloadResult)" = success ]
	run inside "$bin/assay" ctl --timeout "$DEADLINE" status
	refused 0 counting
	# It lets the watchdog know that it lives.
	before=$(property WatchdogTimestampMonotonic)
	wait_for property_is_other_than WatchdogTimestampMonotonic "$before"
	before=$(property MainPID)
	inside kill -9 "$before"
	wait_for property_is_other_than MainPID "$before"
	wait_for property_is ActiveState active
	[ "$(property NRestarts)" -ge 1 ]
	inside systemctl stop assay
	[ "$(property ActiveState)" = inactive ]
	[ "$(property Result)" = success ]
	# In its sandbox it could do all that it wanted.
	inside journalctl -u assay --no-pager >journal
	cat journal
	grep -q "the settings were read again" journal
	grep -q "the previous daemon was killed" journal
	run grep -E "upkeep: |not readable|denied|cannot (set|give|remove|write|rename)" journal
	[ "$status" = 1 ]
}

@test "the gateway runs as its unit has it, and takes a host" {
	start_systemd
	wait_for property_is ActiveState active # systemd takes requests now
	cp "$ROOT/data/assay-gateway.service" "$ROOT/data/fleet-sysusers.conf" "$ROOT/data/fleet-tmpfiles.conf" "$bin"
	sed -i "s#@bindir@#$bin#" "$bin/assay-gateway.service"
	inside mkdir -p /run/systemd/system
	inside cp "$bin/assay-gateway.service" /run/systemd/system/
	inside systemd-sysusers "$bin/fleet-sysusers.conf"
	inside systemd-tmpfiles --create "$bin/fleet-tmpfiles.conf"
	inside systemctl daemon-reload
	inside systemctl start assay-gateway
	gateway_answers() { inside curl -s --unix-socket /run/assay-gateway/socket http://localhost/ >page; }
	wait_for gateway_answers || { inside journalctl -u assay-gateway; false; }
	[ "$(inside stat -c '%a %U' /var/lib/assay-fleet/fleet)" = "750 assay-fleet" ]
	# root's file of tokens would be closed to the gateway.
	run inside "$bin/assay" fleet enroll /var/lib/assay-fleet/fleet web1
	refused 1 "as this user"
	token=$(inside setpriv --reuid assay-fleet --regid assay-fleet --clear-groups "$bin/assay" fleet enroll /var/lib/assay-fleet/fleet web1)
	printf '{"boot":"11111111-2222-3333-4444-555555555555","uptime_s":60,"clock_ms":%s}' "$(date +%s%3N)" >facts
	cp facts "$bin"
	for said in "$token" wrong; do
		inside curl -s -o /dev/null -w '%{http_code}\n' --unix-socket /run/assay-gateway/socket -X PUT --data-binary "@$bin/facts" \
			-H "Authorization: Bearer $said" http://localhost/v1/hosts/web1
	done >codes
	[ "$(paste -sd' ' codes)" = "200 401" ]
	inside systemctl stop assay-gateway
	[ "$(inside systemctl show assay-gateway -P Result)" = success ]
	run inside journalctl -u assay-gateway --no-pager
	[[ "$output" != *denied* && "$output" != *"not permitted"* ]] || { echo "$output"; false; }
}

@test "the generator gives SYS_ADMIN where counters need it, and only there" {
	need_root
	unshare -m true 2>/dev/null || skip "no mount here"
	for level in 2 3; do
		mkdir "at$level"
		echo "$level" >level
		unshare -m sh -c 'mount --bind level "$1" && "$2" "$3"' sh "$PARANOID_FILE" \
			"$ROOT/data/assay-generator" "at$level"
	done
	[ -z "$(ls at2)" ]
	grep -q '^AmbientCapabilities=CAP_SYS_ADMIN' at3/assay.service.d/counters.conf
	grep -q '^CapabilityBoundingSet=CAP_SYS_ADMIN' at3/assay.service.d/counters.conf
}
