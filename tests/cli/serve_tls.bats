#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve for other machines: TLS, certificates of clients, and a proxy in front of it.

# Each test has a process and a cookie of its own. `head` is a file.
# shellcheck disable=SC2030,SC2031,SC2094

load helpers
load serve

teardown() {
	end_test
	[ -z "${pod-}" ] || rm -rf "$pod"
}

# A CA, and certificates that it signed, for the server, for clients and for another server.
make_certificates() {
	command -v openssl >/dev/null || skip "openssl is not installed"
	make_certificate ca "/CN=test CA" -x509 -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
	make_certificate other-ca "/CN=other CA" -x509 -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
	sign_certificate server ca "subjectAltName=DNS:localhost,IP:127.0.0.1"
	sign_certificate reader ca extendedKeyUsage=clientAuth
	sign_certificate writer ca extendedKeyUsage=clientAuth
	sign_certificate "John Smith" ca extendedKeyUsage=clientAuth
	sign_certificate service ca extendedKeyUsage=serverAuth
	sign_certificate stranger other-ca extendedKeyUsage=clientAuth
}

make_certificate() { # NAME SUBJECT [OPTION…]
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.pem" -subj "$2" "${@:3}" 2>/dev/null
}

sign_certificate() { # NAME CA EXTENSION
	make_certificate "$1" "/CN=$1"
	# Python 3.13 and newer want all that RFC 5280 asks for.
	openssl x509 -req -in "$1.pem" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.pem" 2>/dev/null \
		-extfile <(printf '%s\n' "$3" subjectKeyIdentifier=hash authorityKeyIdentifier=keyid)
	openssl verify -x509_strict -CAfile "$2.pem" "$1.pem"
}

@test "other machines may ask by TLS, with a token or a certificate" {
	"$PROGRAMS/make_session" plain plain 300
	make_certificates
	printf 'read %s comm:worker\nadmin %s\nread cert:reader comm:worker\nread cert:"John Smith"\n' limited-limited-limited-limited-1 admin-admin-admin-admin-admin-admin >tokens
	chmod 600 tokens
	serve plain --listen 0.0.0.0:0 --host localhost --token-file tokens --tls-certificate server.pem --tls-key server.key --client-ca ca.pem
	address=https://localhost:$(sed -n '1s|^https://localhost:\([0-9]*\)/login.*|\1|p' serve.out)
	export TLS_CA=$PWD/ca.pem
	get / >page
	[ "$(status)" = 401 ]
	has 'action="/login"' page
	has '<meta name="referrer" content="same-origin">' page # else the form has the header "Origin: null"
	get /api/v1/sources Authorization:"Bearer admin-admin-admin-admin-admin-admin" >/dev/null
	[ "$(status)" = 200 ]
	get /api/v1/sources Authorization:"Bearer admin-admin-admin-admin-admin-admin" Host:evil.example >/dev/null
	[ "$(status)" = 403 ]
	# In a browser, a token gives a cookie with the token's rights.
	client post /login token=wrong 2>"head" >/dev/null
	[ "$(status)" = 403 ]
	client post /login token=limited-limited-limited-limited%2d1 Origin:null 2>"head" >/dev/null
	[ "$(status)" = 403 ]
	client post /login token=limited-limited-limited-limited%2d1 "Origin:$address" 2>"head" >/dev/null
	[ "$(status)" = 200 ]
	has '^Set-Cookie: assay-[0-9]*=[0-9a-f]*; Path=/; HttpOnly; SameSite=Strict; Secure$' head
	cookie="Cookie:$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)"
	api 'values?source=plain&by=comm' | jq -c '.rows | map(.comm) | unique' | diff - <(echo '["worker"]')
	api 'info?source=plain' >/dev/null
	[ "$(status)" = 403 ]
	# An admin lets another browser in.
	client post /api/v1/login '' "$cookie" 2>"head" >/dev/null
	[ "$(status)" = 403 ]
	login=$(client post /api/v1/login '' Authorization:"Bearer admin-admin-admin-admin-admin-admin" 2>"head" | jq -r .path)
	cookie=
	enter
	api 'info?source=plain' | jq -e .samples
	# Certificates, each with the rights of its line.
	cookie=X:y
	TLS_CERT=reader.pem TLS_KEY=reader.key api 'values?source=plain&by=comm' | jq -c '.rows | map(.comm) | unique' | diff - <(echo '["worker"]')
	TLS_CERT="John Smith.pem" TLS_KEY="John Smith.key" api sources | jq -e .schema
	for name in writer service stranger; do
		TLS_CERT=$name.pem TLS_KEY=$name.key api sources >/dev/null || true
		not grep -q '^200' head
	done
	openssl s_client -connect "${address#https://}" -tls1_2 </dev/null
	run openssl s_client -connect "${address#https://}" -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null
	[ "$status" != 0 ]
	not grep -qiE 'no (protocols|ciphers?) ' <(echo "$output") # the client has not refused it itself
	# Every certificate of the CA for clients, if no line names one.
	sed -i '/cert:/d' tokens
	kill "$server"
	wait "$server"
	serve plain --listen 0.0.0.0:0 --host localhost --token-file tokens --tls-certificate server.pem --tls-key server.key --client-ca ca.pem
	address=https://localhost:$(sed -n '1s|^https://localhost:\([0-9]*\)/login.*|\1|p' serve.out)
	TLS_CERT=writer.pem TLS_KEY=writer.key api sources | jq -e .schema
	for name in service stranger; do
		TLS_CERT=$name.pem TLS_KEY=$name.key api sources >/dev/null || true
		not grep -q '^200' head
	done
}

revoke() { # DAYS [NAME…]: revoked.pem is the CA's list, which is good for so many days
	touch index.txt
	[ -e crlnumber ] || echo 01 >crlnumber
	printf '[ca]\ndefault_ca = c\n[c]\ndatabase = index.txt\ncrlnumber = crlnumber\ndefault_md = sha256\n' >ca.conf
	for name in "${@:2}"; do
		openssl ca -config ca.conf -keyfile ca.key -cert ca.pem -revoke "$name.pem" 2>/dev/null
	done
	openssl ca -config ca.conf -keyfile ca.key -cert ca.pem -gencrl -crldays "$1" -out new.pem 2>/dev/null
	mv new.pem revoked.pem
}

@test "a certificate that its CA has revoked is refused, also while serve runs" {
	"$PROGRAMS/make_session" plain plain 300
	make_certificates
	run assay serve plain --tls-certificate server.pem --tls-key server.key --client-crl ca.pem
	[ "$status" = 2 ]
	has 'needs --client-ca' <(echo "$output")
	revoke 2 writer
	serve plain --listen 0.0.0.0:0 --host localhost --tls-certificate server.pem --tls-key server.key --client-ca ca.pem --client-crl revoked.pem
	address=https://localhost:$(sed -n '1s|^https://localhost:\([0-9]*\)/login.*|\1|p' serve.out)
	export TLS_CA=$PWD/ca.pem
	cookie=X:y
	has_answer() { # NAME STATUS
		TLS_CERT="$1.pem" TLS_KEY="$1.key" api sources >/dev/null
		[ "$(status)" = "$2" ]
	}
	has_answer reader 200
	has_answer writer 401
	cp ca.pem revoked.pem # no list: the old one stays
	wait_for has_said 'the revoked certificates stay as they were'
	has_answer writer 401
	revoke 2 reader
	wait_for has_answer reader 401
	has_answer "John Smith" 200
	# When a list is out of date, nobody knows which certificates it lacks.
	openssl ca -config ca.conf -keyfile ca.key -cert ca.pem -gencrl -crlsec 1 -out new.pem 2>/dev/null
	mv new.pem revoked.pem
	wait_for has_answer "John Smith" 401
	# The list of another CA, and a file that is none.
	kill "$server"
	wait "$server"
	while IFS='|' read -r file wanted; do
		run assay serve plain --listen 0.0.0.0:0 --host localhost --tls-certificate server.pem --tls-key server.key --client-ca other-ca.pem --client-crl "$file"
		[ "$status" = 1 ]
		has "$wanted" <(echo "$output")
	done <<-'END'
		revoked.pem|is not signed by the CA
		ca.pem|has no list of revoked certificates
		nothing.pem|cannot read 'nothing.pem'
	END
}

has_said() { # TEXT
	api sources >/dev/null || true
	TLS_CERT=reader.pem TLS_KEY=reader.key api sources >/dev/null || true
	grep -q "$1" serve.err
}

@test "a certificate that cannot be used is named, and so is an address of IPv6" {
	"$PROGRAMS/make_session" plain plain 300
	make_certificates
	echo "read all-all-all-all-all-all-all-all-1" >tokens
	chmod 600 tokens
	echo nothing >empty.pem
	chmod 600 empty.pem
	while IFS='|' read -r certificate key ca wanted; do
		run assay serve plain --listen 0.0.0.0:0 --token-file tokens --tls-certificate "$certificate" --tls-key "$key" --client-ca "$ca"
		[ "$status" = 1 ]
		not has 'built without libmicrohttpd' <(echo "$output") || skip "built without libmicrohttpd"
		has "$wanted" <(echo "$output")
	done <<-'END'
		empty.pem|server.key|ca.pem|certificate 'empty.pem' with the key 'server.key'
		server.pem|reader.key|ca.pem|certificate 'server.pem' with the key 'reader.key'
		server.pem|empty.pem|ca.pem|certificate 'server.pem' with the key 'empty.pem'
		server.pem|server.key|empty.pem|'empty.pem' has no certificate
	END
	background assay serve plain --listen 0.0.0.0:0 --host '[2001:db8::1]' --token-file tokens --tls-certificate server.pem --tls-key server.key >serve.out 2>serve.err
	wait_for has_line_or_ended serve.out "$!"
	has '^https://\[2001:db8::1\]:[0-9][0-9]*/login' serve.out
}

@test "behind a proxy, it has the proxy's name, and a cookie for TLS alone" {
	"$PROGRAMS/make_session" plain plain 300
	echo "read all-all-all-all-all-all-all-all-1" >tokens
	chmod 600 tokens
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	background assay serve plain --listen "$port" --behind-proxy --host profiles.example.org --token-file tokens >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	login=$(sed -n 's|^https://profiles.example.org||p' serve.out)
	[ -n "$login" ]
	address=127.0.0.1:$port
	get "$login" Host:profiles.example.org >/dev/null
	[ "$(status)" = 200 ]
	has '^Set-Cookie: .*; Secure$' head
	cookie="Cookie:$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)"
	get /api/v1/sources "$cookie" Host:profiles.example.org Origin:https://profiles.example.org >/dev/null
	[ "$(status)" = 200 ]
	get /api/v1/sources "$cookie" Host:profiles.example.org Origin:https://evil.example >/dev/null
	[ "$(status)" = 403 ]
}

@test "beside a fleet, a certificate reads only by its line, also when its host was forgotten" {
	make_certificates
	sign_certificate web1 ca extendedKeyUsage=clientAuth
	serve_fleet() { # [OPTION…]
		serve --fleet fleet --listen 0.0.0.0:0 --host localhost --tls-certificate server.pem --tls-key server.key --client-ca ca.pem "$@"
		address=https://localhost:$(sed -n '1s|^https://localhost:\([0-9]*\)/login.*|\1|p' serve.out)
	}
	export TLS_CA=$PWD/ca.pem
	answer_of() { # NAME
		TLS_CERT=$1.pem TLS_KEY=$1.key get /api/v1/sources >/dev/null || true
		status
	}
	serve_fleet
	assay fleet enroll fleet web1 --certificate
	[ "$(answer_of web1)" = 403 ]
	assay fleet forget fleet web1
	[ "$(answer_of web1)" = 403 ]
	[ "$(answer_of reader)" = 403 ]
	kill "$server"
	wait "$server" || true
	echo 'read cert:reader' >tokens
	chmod 600 tokens
	serve_fleet --token-file tokens
	[ "$(answer_of reader)" = 200 ]
	[ "$(answer_of web1)" = 401 ]
}

make_store() { # the history of a host; $all is its samples
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(assay report -i store --format json | jq .header.samples.selected)
	[ "$all" -gt 0 ]
}

ship() { # [OPTION…]
	assay ship --to "$url" --state state --once --host web1 store "$@"
}

shipped() { # whether the fleet has each sample once; then it forgets them
	[ "$(assay report -i fleet/web1 --format json | jq .header.samples.selected)" = "$all" ]
	assay fleet audit fleet
	assay fleet forget fleet web1
	rm -r state
}

@test "ship sends by TLS, with a token or its own certificate, to the gateway that the CA signed" {
	make_certificates
	sign_certificate web1 ca extendedKeyUsage=clientAuth
	make_store
	serve --fleet fleet --listen 0.0.0.0:0 --host localhost --tls-certificate server.pem --tls-key server.key --client-ca ca.pem
	url=$(sed -n '1s|^\(https://localhost:[0-9]*\)/login.*|\1|p' serve.out)
	assay fleet enroll fleet web1 >token
	chmod 600 token
	# The system does not trust the test's CA, and other-ca did not sign the gateway.
	for ca in "" "--ca other-ca.pem"; do
		# shellcheck disable=SC2086 # two words or none
		run -1 ship --token-file token $ca
		[[ "$output" == *certificate* ]]
		[ ! -e fleet/web1 ]
	done
	# The name in the certificate is not that of the URL.
	run -1 assay ship --to "${url/localhost/127.0.0.2}" --state state --once --host web1 store --token-file token --ca ca.pem
	[ ! -e fleet/web1 ]
	ship --token-file token --ca ca.pem
	shipped
	# A certificate counts from when it is enrolled, for its own host alone, and only if the gateway's CA signed it.
	run -1 ship --certificate web1.pem --key web1.key --ca ca.pem
	[[ "$output" == *"answers 401"* || "$output" == *"answers 403"* ]]
	assay fleet enroll fleet web1 --certificate
	for name in reader stranger; do
		run -1 ship --certificate $name.pem --key $name.key --ca ca.pem
		[ ! -e fleet/web1 ]
	done
	ship --certificate web1.pem --key web1.key --ca ca.pem
	shipped
}

@test "ship sends through a proxy of its network, and to a gateway behind a proxy" {
	make_certificates
	make_store
	serve --fleet fleet --listen 0.0.0.0:0 --host localhost --tls-certificate server.pem --tls-key server.key
	url=$(sed -n '1s|^\(https://localhost:[0-9]*\)/login.*|\1|p' serve.out)
	assay fleet enroll fleet web1 >token
	chmod 600 token
	background python3 "$ROOT/tests/cli/fleet_proxy.py" forward >forward.log
	wait_for [ -s forward.log ]
	https_proxy=http://127.0.0.1:$(head -1 forward.log) ship --token-file token --ca ca.pem
	has "^CONNECT ${url#https://}$" forward.log
	shipped
	# It was asked for nothing but tunnels.
	not grep -v '^[0-9]*$\|^CONNECT ' forward.log
	kill "$server"
	wait "$server" || true
	echo "read all-all-all-all-all-all-all-all-1" >tokens
	chmod 600 tokens
	address=127.0.0.1:$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	background assay serve --fleet fleet --listen "$address" --behind-proxy --host localhost --token-file tokens >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	[ -s serve.out ]
	background python3 "$ROOT/tests/cli/fleet_proxy.py" front server.pem server.key "$address" >front.log
	wait_for [ -s front.log ]
	url=https://localhost:$(head -1 front.log)
	assay fleet enroll fleet web1 >token
	run -1 ship --token-file token
	[[ "$output" == *certificate* ]]
	ship --token-file token --ca ca.pem
	has "^TLS to $address$" front.log
	shipped
}

# The words of a container's command in a manifest, with $1/… for absolute paths: in the array `words`.
words_of() { # FOLDER CONTAINER FILE
	mapfile -t words < <(node "$ROOT/tests/npm/kubernetes.mjs" --command "$2" "$ROOT/data/kubernetes/$3" |
		sed "s#\(^\|=\)/#\1$1/#; s#assay-gateway.assay.svc:8443#localhost:${port-0}#; s#0.0.0.0:8443#0.0.0.0:0#; s#assay-gateway.assay.svc#localhost#; s#\$(NODE_NAME)#node1#")
	[ "${words[0]}" = assay ]
}

@test "the manifests of Kubernetes fit its API, the units, and each other" {
	[ -d "$ROOT/tests/npm/node_modules/kubernetes-models" ] || skip "kubernetes-models is not installed (scripts/deps-npm.sh)"
	local files=("$ROOT"/data/kubernetes/*.yaml) words port
	node "$ROOT/tests/npm/kubernetes.mjs" "${files[@]}"
	sed 's/hostPID/hostPid/' "$ROOT/data/kubernetes/node.yaml" >bad.yaml
	run node "$ROOT/tests/npm/kubernetes.mjs" bad.yaml
	[ "$status" = 1 ]
	[[ "$output" == *"/spec/template/spec/hostPid"* ]]
	# The daemon has the capabilities of its unit.
	[ "$(sed -n 's/^AmbientCapabilities=//p' "$ROOT/data/assay.service" | sed 's/CAP_//g')" = \
		"$(sed -n 's/^ *add: \[\(.*\)\]$/\1/p' "$ROOT/data/kubernetes/node.yaml" | tr -d ,)" ]
	# The gateway and ship run by these commands. Secrets of a pod are root's, and its group may read them.
	need_root
	make_certificates
	pod=$(short_folder)
	chmod 755 "$pod"
	mkdir -p "$pod"/etc/assay/{tls,tokens,ca,join} "$pod"/var/lib/assay-fleet "$pod"/var/lib/assay-ship
	cp server.pem "$pod"/etc/assay/tls/tls.crt
	cp server.key "$pod"/etc/assay/tls/tls.key
	cp ca.pem "$pod"/etc/assay/ca/ca.crt
	echo "read reader-reader-reader-reader-reader" >"$pod"/etc/assay/tokens/tokens
	chgrp 64200 "$pod"/etc/assay/tls/* "$pod"/etc/assay/tokens/*
	chmod 440 "$pod"/etc/assay/tls/* "$pod"/etc/assay/tokens/*
	chown 64200:64200 "$pod"/var/lib/assay-fleet
	words_of "$pod" gateway gateway.yaml
	as_pod() { exec setpriv --reuid 64200 --regid 64200 --groups 64200 --bounding-set -all "$@"; }
	export XDG_CACHE_HOME=/tmp
	background as_pod "${words[@]}" >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	[ -s serve.out ] || { cat serve.err; false; }
	port=$(sed -n '1s|^https://localhost:\([0-9]*\)/login.*|\1|p' serve.out)
	setpriv --reuid 64200 --regid 64200 --clear-groups assay fleet invite "$pod/var/lib/assay-fleet/fleet" 3 >"$pod"/etc/assay/join/token
	chmod 400 "$pod"/etc/assay/join/token
	"$ASSAY_BUILD/bench/history" "$pod"/var/lib/assay 1 2000 400
	words_of "$pod" ship node.yaml
	run setpriv --bounding-set -all "${words[@]}" --once -q
	[ "$status" = 0 ]
	[ "$(assay report -i "$pod"/var/lib/assay-fleet/fleet/node1 --format json | jq .header.samples.selected)" = \
		"$(assay report -i "$pod"/var/lib/assay --format json | jq .header.samples.selected)" ]
	address=https://localhost:$port
	export TLS_CA=$PWD/ca.pem
	get /api/v1/sources Authorization:"Bearer reader-reader-reader-reader-reader" >sources
	[ "$(status)" = 200 ]
	# Nobody else may read a secret.
	chmod 444 "$pod"/etc/assay/tokens/tokens
	words_of "$pod" gateway gateway.yaml
	run setpriv --reuid 64200 --regid 64200 --groups 64200 "${words[@]}"
	[ "$status" = 1 ] || [ "$status" = 2 ]
	[[ "$output" == *"is not only yours"* ]]
}
