#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Rates of hosts: assay fleet rate --target-samples, and sums over hosts of different rates.
load helpers
load serve

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# A recording of split is the history of HOST, which sends it to the gateway.
host_at() { # HOST RECORD-OPTION…
	assay record -q "${@:2}" -o "$1.rec" "$PROGRAMS/split" 0.5s
	mkdir -p "$1.store/samples/current"
	cp -r "$1.rec" "$1.store/samples/current/$(date -u -d "@$(stat -c %Y "$1.rec")" +%Y%m%dT%H%M%S.000Z)"
	assay fleet enroll fleet "$1" >"token.$1"
	chmod 600 "token.$1"
	assay ship --to "http://$address" --token-file "token.$1" --state "state.$1" --once -q --host "$1" "$1.store"
}

# The samples and the events of the service.
sums() {
	assay report -i "$@" --format json --by service service:split | jq -c '.rows[0] | [.samples, .events]'
}

@test "sums of events are right over hosts of different rates; a target gives each host its rate" {
	serve --fleet fleet
	host_at web1 -e cpu-clock -F 997
	host_at web2 -e cpu-clock -F 100
	[ "$(assay fleet hosts fleet --format json | jq -c '[.hosts[].rate_hz]')" = "[997,100]" ]
	# A sample of the slow host weighs ten times as much.
	[ "$(sums fleet)" = "$(jq -cs '[.[0][0] + .[1][0], .[0][1] + .[1][1]]' <<<"$(sums web1.rec) $(sums web2.rec)")" ]
	jq -es '.[1][1] / .[1][0] > 5 * .[0][1] / .[0][0]' <<<"$(sums web1.rec) $(sums web2.rec)"
	from=$(($(date +%s) - 1800))
	hour=(--since "@$from" --until "@$((from + 3600))")
	# The samples that both had at these rates; then a tenth of them.
	all=$(jq -s '(.[0][1] * 997 + .[1][1] * 100) / 1e9' <<<"$(sums web1.rec) $(sums web2.rec)")
	assay fleet rate fleet split --target-samples "$(jq -n "$all / 10 | round")" "${hour[@]}" >said
	grep -x "web1: [0-9]* samples, 997 Hz -> $(jq -n "997 * ($all / 10 | round) / $all | round") Hz" said
	grep -x "web2: [0-9]* samples, 100 Hz -> $(jq -n "100 * ($all / 10 | round) / $all | round") Hz" said
	[ "$(sort fleet/.rates)" = "$(sed 's/:.*-> / /; s/ Hz$//' said)" ]
	[ "$(sed -n 's/.*: rate //p' fleet/.log | sort)" = "$(sort fleet/.rates)" ]
	# Rates grow to their fourfold, and a service without samples changes nothing.
	assay fleet rate fleet split --target-samples 1000000 "${hour[@]}" | grep -x 'web2: .* -> 400 Hz'
	assay fleet rate fleet nothing split --target-samples 1 "${hour[@]}" | grep -xE 'web1: .* -> [0-9]{1,2} Hz'
	run assay fleet rate fleet nothing --target-samples 10 "${hour[@]}"
	[ "$status" = 1 ]
	[[ "$output" == *"no service of that name has samples"* ]]
	run assay fleet rate fleet --target-samples 10
	[ "$status" = 2 ]
	run assay fleet rate fleet split --target-samples 10 --since -1h --until -2h
	[ "$status" = 2 ]
}

@test "hosts with different events: each counts its own first event, in that event's unit" {
	serve --fleet fleet
	host_at web1 -e cpu-clock -F 997
	host_at web2 -e cpu-clock -c 5000000
	host_at web3 -e page-faults,cpu-clock -F 99
	[ "$(assay fleet hosts fleet --format json | jq -c '[.hosts[].rate_hz]')" = "[997,200,99]" ]
	from=$(($(date +%s) - 1800))
	hour=(--since "@$from" --until "@$((from + 3600))")
	faults=$(assay report -i web3.rec --format json --by service service:split event:page-faults | jq '.rows[0].samples')
	[ "$faults" -gt 0 ]
	# Events of a clock are time. Page faults are none, and their samples count.
	all=$(jq -s "(.[0][1] * 997 + .[1][1] * 200) / 1e9 + $faults" <<<"$(sums web1.rec) $(sums web2.rec)")
	target=$(jq -n "$all * 2 | round")
	assay fleet rate fleet split --target-samples "$target" "${hour[@]}" >said
	i=0
	for had in 997 200 99; do
		grep -x "web$((++i)): [0-9]* samples, $had Hz -> $(jq -n "$had * $target / $all | round") Hz" said
	done
	has "^web3: $faults samples" said
}

@test "samples that can't be read change no rate" {
	serve --fleet fleet
	host_at web1 -e cpu-clock -F 997
	host_at web2 -e cpu-clock -F 997
	from=$(($(date +%s) - 1800))
	hour=(--since "@$from" --until "@$((from + 3600))")
	segment=$(find fleet/web2 -name 0000.segment)
	printf x | dd of="$segment" bs=1 seek=$(($(stat -c %s "$segment") / 2)) conv=notrunc status=none
	run assay fleet rate fleet split --target-samples 1000 "${hour[@]}"
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"no rate changes"* ]]
	[ ! -e fleet/.rates ]
	# A host that is left out whole.
	echo no segment >"$segment"
	run assay fleet rate fleet split --target-samples 1000 "${hour[@]}"
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"web2"*"left out"*"no rate changes"* ]]
	[ ! -e fleet/.rates ]
}

@test "a host that has not said its rate keeps it, and its samples count" {
	assay record -q -e cpu-clock -F 100 -o rec "$PROGRAMS/split" 0.5s
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web1 store
	[ "$(assay fleet hosts fleet --format json | jq -c '[.hosts[0].rate_hz, .hosts[0].backlog]')" = '[100,0]' ]
	sed -i '/^rate_hz /d' fleet/web1/.host # as of an older ship
	from=$(($(date +%s) - 1800))
	run assay fleet rate fleet 'spl*' --target-samples 10 --since "@$from" --until "@$((from + 3600))"
	[ "$status" = 0 ]
	[[ "$output" == "web1: "*" samples, 0 Hz; it has not said its rate, and keeps it" ]]
	[ ! -e fleet/.rates ]
}

has_rates() {
	[ -s fleet/.rates ]
}

@test "a gateway with a target sets the rates of hosts by itself" {
	serve --fleet fleet
	host_at web1 -e cpu-clock -F 997
	kill "$server"
	wait "$server" || true
	# The hour that is counted ends with ten whole minutes.
	"$ASSAY_BUILD/bench/thin" h.web1 web1 $(($(date +%s) / 600 * 600 - 1800)) 600 1 work=2=web1.rec
	assay ship --to dir:fleet --once -q --host web1 h.web1
	serve --fleet fleet --target-samples 10 --target-service 'wor*' --target-service nothing
	wait_for has_rates
	grep -xE 'web1 [0-9]+' fleet/.rates
	kill "$server"
	wait "$server" || true
	# A rate that is near stays, as each change begins a new part.
	"$ASSAY_BUILD/bench/thin" h.web2 web2 $(($(date +%s) / 600 * 600 - 1800)) 600 1 work=2=web1.rec
	assay ship --to dir:fleet --once -q --host web2 h.web2
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[1].rate_hz > 0')" = true ]
	assay fleet rate fleet 'wor*' --target-samples 100000 >said
	near=$(($(sed -n 's/^web1: .* -> \(.*\) Hz$/\1/p' said) * 105 / 100))
	assay fleet rate fleet web1 "$near"
	assay fleet rate fleet web2 0
	logged=$(wc -l <fleet/.log)
	background assay fleet rate --follow --interval 0.2 --target-samples 100000 fleet 'wor*'
	wait_for grep '^web2 ' fleet/.rates
	grep -x "web1 $near" fleet/.rates
	tail -n "+$((logged + 1))" fleet/.log >since
	[ "$(grep -c ': rate web2 ' since)" = 1 ]
	[ "$(grep -c ': rate web1 ' since)" = 0 ]
	run -2 assay serve --fleet fleet --target-samples 10
	[[ "$output" == *"--target-samples N and --target-service GLOB go together"* ]]
	run -2 assay serve --target-samples 10 --target-service a web1.rec
}
