# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Histories of hosts, and the gateway that gets them (with the functions of serve).

# A history of one recording: history_of SESSION DIR
history_of() {
	mkdir -p "$2/samples/current"
	cp -r "$1" "$2/samples/current/$(date -u -d "@$(stat -c %Y "$1")" +%Y%m%dT%H%M%S.000Z)"
}

# A gateway with the fleet ./fleet at $url; the token of web1 is in the file token.
gateway() {
	serve --fleet fleet
	url=http://$address
	enroll web1
}

enroll() { # HOST
	assay fleet enroll fleet "$1" >"token.$1"
	chmod 600 "token.$1"
}

# An empty fleet without a gateway; the token of web1.
own_fleet() { # DIR
	mkdir -p empty
	assay ship --to "dir:$1" --once -q --host other empty || true
	assay fleet enroll "$1" web1 >token.web1
	chmod 600 token.web1
}

ship() { # HOST HISTORY [OPTION…]
	assay ship --to "$url" --token-file "token.$1" --state "state.$1" --once --host "$1" "${@:2}"
}

ask() { # HOST METHOD PATH FILE [HEADER:VALUE…]: sets $code and $reply
	python3 "$ROOT/tests/cli/fleet_client.py" "$address" "$2" "$3" "$(cat "token.$1")" "$4" "${@:5}" >answer
	code=$(sed -n 1p answer) wait_s=$(sed -n 2p answer) reply=$(sed -n '3,$p' answer)
}

samples() {
	assay report -i "$@" --format json | jq .header.samples.selected
}
