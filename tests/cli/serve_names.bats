#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve: names of slow files come later than the answer.

# Each test has a process and a cookie of its own. `head` is a file.
# shellcheck disable=SC2030,SC2031

load helpers
load serve

# A server of debuginfod that sends files of the folder `files` when there is a file `send`. It writes lines to `asked`.
slow_server() {
	cat >server.py <<-'END'
		import http.server, os, time
		class Slow(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        print(self.path, file=open("asked", "a"), flush=True)
		        path = "files" + self.path
		        if not os.path.exists(path):
		            self.send_error(404)
		            return
		        while not os.path.exists("send"):
		            time.sleep(0.1)
		        data = open(path, "rb").read()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(data)))
		        self.end_headers()
		        self.wfile.write(data)
		    def log_message(self, *words): pass
		s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
		print(s.server_port, flush=True)
		s.serve_forever()
	END
	background python3 server.py >port
	wait_for has_line_or_ended port "$!"
	DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)/"
	export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH=$PWD/fetched
}

has_names() { # QUESTION
	api "$1" >answer
	[ "$(status)" = 200 ] && ! grep -q '^X-Assay-Names' head
}

@test "names that a server sends slowly come later, and are marked until then" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30
	id=$(readelf -n app | sed -n 's/.*Build ID: //p')
	mkdir -p "files/buildid/$id"
	cp app "files/buildid/$id/debuginfo"
	strip app
	slow_server
	serve a.assay
	enter
	api 'top?source=a.assay' >answer
	[ "$(status)" = 200 ]
	has '^X-Assay-Names: later' head
	jq -e '[.rows[].symbol] | index("work") == null' answer
	for question in 'explain?source=a.assay' 'diff?source=a.assay&baseline=a.assay' 'pprof?source=a.assay' 'folded?source=a.assay'; do
		api "$question" >other
		[ "$(status)" = 200 ]
		has '^X-Assay-Names: later' head
	done
	api 'top?source=a.assay' >answer
	[ "$(jq '[.rows[].samples] | add' answer)" = 30 ] # complete, but for names
	# Others have their answers meanwhile.
	api 'values?source=a.assay&by=comm' | jq -e .rows
	touch send
	wait_for has_names 'top?source=a.assay'
	jq -e '[.rows[].symbol] | index("work") != null' answer
	[ "$(sort asked | uniq -d)" = "" ] # once for each file
	# The names are kept, also for other questions.
	has_names 'tree?source=a.assay'
	jq -e '[.. | .symbol? // empty] | index("main") != null' answer
	api 'page?source=a.assay' | grep -q '</html>'
	not grep -q '^X-Assay-Names' head
}

@test "--names-limit leaves out names of files, and a run without it keeps them" {
	cp "$PROGRAMS/inlines" app
	session_at a.assay app work,main=30
	export HOME=$PWD
	run assay report -l -i a.assay --names-limit 0.001
	[ "$status" = 3 ] || [ "$status" = 0 ] # a fast machine may read them in time
	[ "$status" = 0 ] || has 'its names come later' <(echo "$output")
	for command in 'explain -i a.assay' 'diff a.assay a.assay' 'export -q --format folded -o folded -i a.assay'; do
		# shellcheck disable=SC2086
		run assay $command --names-limit 0.001 --symbol-cache ''
		[ "$status" = 3 ] || [ "$status" = 0 ]
	done
	assay report -l -i a.assay | grep -q work
	assay report -l -i a.assay --names-limit 0.001 | grep -q work
}
