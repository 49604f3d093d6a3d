#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers that are no gateway of a fleet, and blocks that are others than their name says.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
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
	refused 1 "a block is refused" "has another block of" "1 samples and 0 lost, and not"
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
