#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load helpers

# doctor's own verdict, or a skip where it is that nothing can be profiled.
doctor() {
	run --separate-stderr assay doctor "$@"
	[ "$status" = 0 ] || [ "$status" = 1 ]
}

@test "doctor begins with the parts that can be profiled" {
	doctor
	[[ "${lines[0]}" == "You can profile: "*"." ]]
	[ "$stderr" = "" ]
}

@test "doctor has one line a check, and no colour in a pipe" {
	doctor
	[ "$(grep -cE '^  [A-Za-z].* (ok|limited|missing) +[^ ]' <<<"$output")" -ge 15 ]
	[[ "$output" != *$'\033'* ]]
}

@test "doctor -v explains more" {
	assay doctor >short || true
	assay doctor -v >long || true
	[ "$(wc -l <long)" -gt "$(wc -l <short)" ]
}

@test "doctor --format json is JSON with the same checks" {
	doctor --format json
	jq -e '.reach and .event and (.checks | length >= 15)' <<<"$output"
	jq -e 'all(.checks[]; (.state | IN("ok", "limited", "missing")) and .finding != "")' <<<"$output"
	jq -r '.checks[].name' <<<"$output" >names
	assay doctor >text || true
	while read -r name; do grep -qF "  $name " text; done <names
}

@test "doctor's exit status is 1 where nothing can be profiled" {
	doctor --format json
	if [ "$(jq -r .reach <<<"$output")" = nothing ]; then
		[ "$status" = 1 ]
	else
		[ "$status" = 0 ]
	fi
}

@test "doctor's commands are ones that a shell can parse" {
	doctor --format json
	jq -r '.checks[].command' <<<"$output" >commands
	bash -n commands
}

@test "doctor works for an ordinary user, with sudo before what needs it" {
	[ "$(id -u)" = 0 ] || skip "needs root to become nobody"
	run unprivileged assay doctor --format json
	[ "$status" -le 1 ]
	jq -e '.checks[] | select(.name == "BPF") | .state == "missing" and (.command | startswith("sudo "))' <<<"$output"
}

@test "doctor takes options only" {
	run assay doctor now
	refused 2 "'now' is too much"
	run assay doctor --format xml
	refused 2 "'xml' is not one of text|json"
}
