#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A host and a gateway of different versions: each takes what the other one says.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

BOOT_ID=11111111-2222-3333-4444-555555555555

introduce_as() { # FIELDS
	echo "{\"boot\":\"$BOOT_ID\",\"uptime_s\":100000,\"clock_ms\":$(date +%s%3N)$1}" >facts
	ask web1 PUT /v1/hosts/web1 facts
}

@test "the gateway takes the blocks and the facts of an older host, and of a newer one" {
	gateway
	# The first version said these three alone. A later one says more than this one knows.
	introduce_as ''
	[ "$code" = 200 ]
	introduce_as ',"version":"9.9","cpus":4,"unknown":{"a":[1,null]},"another":"word"'
	[ "$code" = 200 ]
	jq -e '.fleet and .contact_s and .bucket_s == 600' <<<"$reply"
	local old=$ROOT/tests/data/fleet-1/web1/20261127T150000.000Z-729652493
	ask web1 PUT "/v1/blocks/web1/20261127T145500.000Z/$(date -ud '2026-11-27 15:00' +%s)" "$old/samples/current/0000.segment" "Assay-Boot:$BOOT_ID" "Assay-Unknown:1"
	echo "$code $reply"
	[ "$code" = 200 ]
	[ "$(samples fleet/web1)" = "$(samples "$ROOT/tests/data/fleet-1/web1")" ]
	# A format of the future: the version is behind the magic of 8 bytes, and a checksum (XXH3) at 24.
	cp "$old/samples/current/0000.segment" newer
	printf '\143' | dd of=newer bs=1 seek=8 conv=notrunc status=none
	printf '\107\107\363\314\252\172\176\302' | dd of=newer bs=1 seek=24 conv=notrunc status=none
	ask web1 PUT "/v1/blocks/web1/20261127T145500.000Z/$(date -ud '2026-11-27 15:10' +%s)" newer "Assay-Boot:$BOOT_ID"
	echo "$code $reply"
	[ "$code" = 426 ]
}

# A gateway that keeps the paths in `asked`, and says REPLY to a host's facts.
other_gateway() { # REPLY
	rm -rf port asked fleet
	own_fleet fleet
	cat >other.py <<-'END'
		import http.server, json, os, sys
		sys.path.insert(0, sys.argv[1])
		import fleet_receive
		class Gateway(fleet_receive.Receiver):
		    def answer(self):
		        open("asked", "a").write(self.path + "\n")
		        status, answer = self.receive(self.body())
		        answer = {**json.loads(answer), "unknown": []}
		        if self.path.startswith("/v1/hosts/"):
		            answer = json.loads(sys.argv[2])
		        self.reply(status, json.dumps(answer).encode(), [("Assay-Unknown", "1")])
		    do_PUT = do_POST = answer
		server = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
		open("port.new", "w").write(str(server.server_port))
		os.rename("port.new", "port")
		server.serve_forever()
	END
	background python3 other.py "$ROOT/tests/cli" "$1"
	wait_for test -s port
	url=http://127.0.0.1:$(cat port)
}

@test "ship sends its blocks to an older gateway, and to a newer one" {
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	other_gateway '{"fleet":"0123456789abcdef","contact_s":600,"bucket_s":600}'
	ship web1 store -q
	grep -q ^/v1/blocks/web1/ asked
	blocks=$(grep -c ^/v1/blocks/ asked)
	rm -r state.web1
	other_gateway '{"fleet":"0123456789abcdef","contact_s":600,"bucket_s":600,"rate_hz":7,"unknown":{"a":[]},"another":null}'
	ship web1 store -q
	[ "$(grep -c ^/v1/blocks/ asked)" = "$blocks" ]
}
