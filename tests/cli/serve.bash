# shellcheck shell=bash disable=SC2030,SC2031
# SPDX-License-Identifier: GPL-2.0-or-later
# A run of assay serve, and requests to it.

# serve PATH… [OPTION…]: starts it; $address and $login are the address and the path that opens it once.
serve() {
	background assay serve "$@" >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	[ -s serve.out ] || { cat serve.err; grep -q "built without libmicrohttpd" serve.err && skip "built without libmicrohttpd"; return 1; }
	login=$(sed -n '1s|^http://[^/]*||p; 1s|.* path \(.*\) once$|\1|p' serve.out)
	address=$(sed -n '1s|^http://\([^/]*\)/.*|\1|p; 1s|^\(unix:.*\): listening.*|\1|p' serve.out)
}

# The same again at an address that a server had that was killed: one of its children may hold it for a moment.
serve_again() { # PATH… [OPTION…]
	wait_for serve "$@"
}

has_line_or_ended() { # FILE PID
	[ -s "$1" ] || ! kill -0 "$2" 2>/dev/null
}

client() { # COMMAND…
	python3 "$ROOT/tests/cli/serve_client.py" "$address" "$@"
}

# get PATH [HEADER:VALUE…]: the body to standard output; $BATS_TEST_TMPDIR/head has the status and the headers.
get() {
	client get "$@" 2>"head"
}

status() {
	head -1 head
}

# Logs in; $cookie is the header for further requests.
enter() {
	get "$login" >/dev/null
	[ "$(status)" = 200 ]
	cookie="Cookie:$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)"
}

api() { # NAME?ARGUMENTS
	get "/api/v1/$1" "$cookie"
}
