#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers that are no gateway of a fleet, and blocks that are others than their name says.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0 ASSAY_SHIP_STATUS=$BATS_TEST_TMPDIR/status
}

# A server at port $port, or any, that answers HELLO to a host's facts, and 200 with BLOCK to all else.
liar() { # HELLO BLOCK
	rm -f ready asked
	cat >liar.py <<-'END'
		import http.server, os, sys
		class Liar(http.server.BaseHTTPRequestHandler):
		    def do_PUT(self):
		        self.rfile.read(int(self.headers["Content-Length"]))
		        open("asked", "a").write(self.path + "\n")
		        body = (sys.argv[2] if self.path.startswith("/v1/hosts/") else sys.argv[3]).encode()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    do_POST = do_PUT
		http.server.HTTPServer.allow_reuse_address = True
		server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Liar)
		open("ready.new", "w").write(str(server.server_port))
		os.rename("ready.new", "ready")
		server.serve_forever()
	END
	background python3 liar.py "${port:-0}" "$@"
	liar=$pid
	wait_for test -s ready
	port=$(cat ready)
	url=http://127.0.0.1:$port
}

HELLO='{"fleet":"0123456789abcdef","contact_s":600,"bucket_s":600}'

@test "a server that answers 200 and is no gateway takes no block away, and the gateway gets all" {
	own_fleet fleet
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	port=
	# It says of no fleet.
	for hello in '{}' '<html>welcome</html>' '{"fleet":""}' '{"fleet":"../../etc/passwd"}' '[]' ''; do
		liar "$hello" '{"known":false,"samples":1,"lost":0}'
		run ship web1 store
		refused 1 "is no gateway of a fleet"
		[ "$(cat asked)" = /v1/hosts/web1 ]
		kill "$liar"
	done
	# It does not say that it has the block.
	for block in '{}' '<html>' '{"known":true}' '{"known":1,"samples":1,"lost":0}' '{"known":false,"samples":"1","lost":0}'; do
		liar "$HELLO" "$block"
		run ship web1 store
		refused 1 "is no gateway of a fleet"
		[ "$(grep -c /v1/blocks/ asked)" = 1 ]
		kill "$liar"
	done
	# It says that it has others.
	liar "$HELLO" '{"known":true,"samples":1,"lost":0}'
	run ship web1 store
	refused 1 "a block is refused" "has another block of" "1 sample and 0 lost, and not"
	kill "$liar"
	serve_again --fleet fleet --listen "127.0.0.1:$port"
	ship web1 store -q
	[ "$(samples fleet/web1)" = "$all" ]
}

@test "a host that joins a server that is no gateway keeps its join token, and joins the gateway later" {
	own_fleet fleet
	assay fleet invite fleet 5 >join.token
	chmod 600 join.token
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	port=
	liar '{}' '{}'
	run assay ship --to "$url" --join-file join.token --state state --once --host web9 store
	refused 1 "is no gateway of a fleet"
	grep -q /v1/join/web9 asked
	kill "$liar"
	serve_again --fleet fleet --listen "127.0.0.1:$port"
	assay ship --to "$url" --join-file join.token --state state --once -q --host web9 store
	[ "$(samples fleet/web9)" = "$(samples store)" ]
}

# A gateway of the fleet ./fleet that answers blocks by STATUS…: answers STATUS…
answers() {
	background python3 "$ROOT/tests/cli/fleet_answers.py" fleet blocks "$@" >log
	wait_for test -s log
	url=http://$(head -1 log)
}

@test "ship --once fails if a block was refused, also if it had to wait for a busy gateway after it" {
	own_fleet fleet
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	answers 422 200 429 200
	run ship web1 store
	refused 1 "a block is refused"
	# The busy gateway got all others.
	[ "$(grep -c ' 422$' log) $(grep -c ' 429$' log) $(grep -c ' 200$' log)" = "1 1 5" ]
	run ship web1 store
	[ "$status" = 0 ]
	[ "$(samples fleet/web1)" = "$(samples store)" ]
}

@test "a block that is refused counts, also if the history changes before the round is over" {
	"$ASSAY_BUILD/bench/history" store 2 4000 400
	own_fleet fleet
	echo store/samples/current/20260601T000000.000Z >gone
	answers 422 200
	run ship web1 store -q
	refused 1 "a block is refused"
	[ "$(grep -c ' 200$' log)" = 5 ] # the part that is gone had six others
	has '^refused 1$' status
	has '^backlog 1$' status
}

@test "a block of a known name with other samples is refused, stays, and is shown" {
	gateway
	"$ASSAY_BUILD/bench/history" store 1 20000 400
	"$ASSAY_BUILD/bench/history" other 1 10000 400
	[ "$(ls store/samples/current)" = "$(ls other/samples/current)" ]
	all=$(samples store)
	for to in "$url" dir:direct; do
		local fleet=fleet
		[ "$to" = "$url" ] || fleet=direct
		to() { assay ship --to "$to" --token-file token.web1 --state state.web1 --once --host web1 "$@"; }
		to store -q
		rm -rf state.web1
		run to other
		echo "$output"
		refused 1 "a block is refused" "another block of this part and time"
		# All of them wait, also after the first round: a gateway hears that at the next one.
		[ "$to" = "$url" ] || [ "$(assay fleet hosts $fleet --format json | jq '.hosts[0] | .backlog == .refused')" = true ]
		rm -rf state.web1
		to store -q
		[ "$(samples $fleet/web1)" = "$all" ]
		[ "$(assay fleet hosts $fleet --format json | jq '.hosts[0].refused > 0')" = true ]
		run assay fleet audit $fleet
		refused 0 "no difference" "refused " "another block of this part and time"
		[ "$(assay fleet audit $fleet --format json | jq -c '.hosts[0] | [.refused > 0, .refusal != ""]')" = "[true,true]" ]
	done
}

@test "samples that expired stay counted at a gateway when ship starts again" {
	gateway
	expired() { assay fleet hosts fleet --format json | jq '.hosts[0].expired_on_host'; }
	echo 'main;walk 5' >first
	echo 'main;run 7' >second
	assay import -q first --into history --start '2026-01-05T10:00:00Z' --name work
	ship web1 history -q
	[ "$(expired)" = 0 ]
	# Two parts meet in ten minutes, and one of them was sent.
	assay import -q second --into history --start '2026-01-05T10:01:00Z' --name work
	assay retain -q --tier hours=1s history
	run ship web1 history
	refused 0 "7 samples cannot be sent"
	[ "$(expired)" = 7 ]
	ship web1 history -q
	[ "$(expired)" = 7 ]
}

@test "a directory refuses a second machine, a wrong clock and too many labels, as a gateway does" {
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	"$ASSAY_BUILD/bench/history" later 2 2000 400
	to() { assay ship --to dir:fleet --once --host web1 "$@"; }
	to store -q --labels zone=a
	[ "$(assay fleet hosts fleet --format json | jq -c '.hosts[0] | [.version != "", .cpus > 0, .seen_seconds > 0]')" = "[true,true,true]" ]
	all=$(samples fleet/web1)
	own=$(sed -n 's/^boot //p' fleet/web1/.host)
	sed -i 's/^boot .*/boot 11111111-2222-3333-4444-555555555555/' fleet/web1/.host
	run to later --labels zone=b
	refused 1 "another machine runs under this name"
	[ "$(samples fleet/web1)" = "$all" ]
	[ "$(cat fleet/web1/.labels)" = zone=a ]
	assay fleet hosts fleet >out
	has "two machines run under this name" out
	sed -i "s/^boot .*/boot $own/" fleet/web1/.host
	# The file system has the right time.
	if [ -e "$PROGRAMS/clock_shift.so" ]; then
		ln -s 3720 shift
		run env LD_PRELOAD="$PROGRAMS/clock_shift.so" CLOCK_SHIFT="$PWD/shift" assay ship --to dir:fleet --once --host web1 later
		refused 1 "a block is refused" "the host's clock is wrong by over an hour"
		[ "$(samples fleet/web1)" = "$all" ]
	fi
	to later -q
	[ "$(samples fleet/web1)" -gt "$all" ]
	run -2 to later --labels "$(seq -s, -f 'n%g=1' 65)"
	has "a host has 64 at most" <(echo "$output")
	run -2 to later --labels "n=$(printf 'x%.0s' {1..255})"
	has "of 256 bytes at most" <(echo "$output")
	to later -q --labels "$(seq -s, -f 'n%g=1' 64)"
	[ "$(wc -l <fleet/web1/.labels)" = 64 ]
}

@test "a gateway takes 100,000 hosts and 64 labels of each, and no more" {
	local count join
	gateway
	run -2 assay fleet invite fleet 1000000
	join=$(assay fleet invite fleet 100000)
	# Of these hosts, nobody has the tokens.
	has '^web1 ' fleet/.tokens
	awk 'BEGIN { for (i = 1; i <= 99998; i++) printf "host%d %064x\n", i, i }' >>fleet/.tokens
	run -1 assay fleet enroll fleet another
	[[ "$output" == *"the fleet has 100000 hosts: it takes no more"* ]]
	assay fleet enroll fleet web1 >token.web1
	# A million names may ask to join; the gateway takes none, and serves those that it has.
	echo "{\"join\":\"$join\",\"token\":\"$(printf 'a%.0s' {1..64})\"}" >joining
	echo "$join" >token.join
	for count in 1 2 3; do
		ask join POST "/v1/join/new$count" joining
		[[ "$code" != 200 ]]
		[ ! -e "fleet/new$count" ]
	done
	for count in 64 65 1000000; do
		seq -f '"n%.0f":"1"' "$count" | paste -sd, >labels
		{
			printf '{"boot":"11111111-2222-3333-4444-555555555555","uptime_s":9,"clock_ms":%s,"labels":{' "$(date +%s%3N)"
			cat labels
			echo '}}'
		} >facts
		ask web1 PUT /v1/hosts/web1 facts 2>/dev/null || true
		echo "$count labels: ${code:-cut}" >>answers
	done
	# The last body has 14 MB.
	[ "$(paste -sd, answers)" = "64 labels: 200,65 labels: 400,1000000 labels: cut" ]
	[ "$(wc -l <fleet/web1/.labels)" = 64 ]
	[ "$(find fleet -mindepth 1 -maxdepth 1 -type d ! -name '.*' | wc -l)" = 1 ]
}
