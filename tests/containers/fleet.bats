#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet in podman's containers, of root: the gateway, the daemon and ship, with the rights of the manifests of Kubernetes.
# The image has assay, the libraries that it needs, and nothing else. Nothing is fetched.

load ../cli/helpers
load ../cli/daemon
load podman

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v podman >/dev/null || skip "podman is not installed"
	python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
	BASE=$(short_folder)
	export BASE
	chmod 755 "$BASE"
}

teardown_file() {
	[ -n "${BASE-}" ] || return 0
	podman_of root ps -aq 2>/dev/null | xargs -r podman "${OPTIONS_root[@]}" rm -f -t 0 >/dev/null 2>&1 || true
	wait_for remove_base
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_daemon
}

teardown() {
	[ -z "${BASE-}" ] || podman_of root rm -af -t 0 >/dev/null 2>&1 || true
	end_test
}

path_of_library() { # NAME
	ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# The image: assay, its libraries, and those that it loads at run time.
make_image() {
	local rootfs=$BASE/image file library
	mkdir -p "$rootfs"/{usr/bin,etc,tmp,proc,sys,dev,run,var/lib,var/log,var/cache/assay}
	cp "$ASSAY_BUILD/assay" "$rootfs/usr/bin/assay"
	for file in "$ASSAY_BUILD/assay" "$(path_of_library libmicrohttpd.so.12)" "$(path_of_library libgnutls.so.30)" "$(path_of_library libcurl-gnutls.so.4)"; do
		[ -n "$file" ] || skip "a library of the gateway or of ship is missing here"
		[ "$file" = "$ASSAY_BUILD/assay" ] || cp -L --parents "$file" "$rootfs"
		while read -r library; do
			[ -e "$rootfs$library" ] || cp -L --parents "$library" "$rootfs"
		done < <(ldd "$file" | grep -o '/[^ ]*')
	done
	tar --owner=0 --group=0 -C "$rootfs" -cf "$BASE/image.tar" .
	podman_of root import "$BASE/image.tar" assay-fleet >import.log 2>&1 || skip "podman can't import an image here: $(tail -1 import.log)"
	run_container root --rm --network=none assay-fleet /usr/bin/assay --version >run.log 2>&1 || skip "podman can't run a container here: $(tail -1 run.log)"
}

# The secrets and folders of a cluster, as $BASE/pod/NAME. The pod's group may read the secrets.
make_pod() {
	pod=$BASE/pod
	mkdir -p "$pod"/{fleet,tls,tokens,tmp,history,cache,pod-logs,container-logs,ship-status,ship-state,ca,join}
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=assay-gateway -addext subjectAltName=DNS:assay-gateway.assay.svc -keyout "$pod/tls/tls.key" -out "$pod/tls/tls.crt" 2>/dev/null
	cp "$pod/tls/tls.crt" "$pod/ca/ca.crt"
	echo "read reader-reader-reader-reader-reader" >"$pod/tokens/tokens"
	chgrp 64200 "$pod"/tls/* "$pod"/tokens/*
	chmod 440 "$pod"/tls/* "$pod"/tokens/*
	chown 64200:64200 "$pod/fleet" "$pod/tmp"
}

# Starts a container of a manifest: start MANIFEST CONTAINER [WORD…]. Words are for podman.
start() {
	local words
	mapfile -t words < <(python3 "$ROOT/tests/containers/pod_words.py" "$ROOT/data/kubernetes/$1.yaml" "$2" "$pod" assay-fleet | sed "s#\$(NODE_NAME)#node1#; s#:8443#:$port#")
	[ "${#words[@]}" -gt 5 ]
	run_container root -d --name "$2" --network=host --add-host=assay-gateway.assay.svc:127.0.0.1 "${@:3}" "${words[@]}" >/dev/null
}

of_gateway() {
	podman_of root exec gateway assay "$@"
}

logs_have() { # CONTAINER TEXT
	podman_of root logs "$1" >"$1.log" 2>&1
	grep -q -e "$2" "$1.log"
}

fleet_samples() {
	assay fleet hosts "$pod/fleet/fleet" --format json 2>/dev/null | jq '[.hosts[] | select(.host == "node1") | .samples] | add // 0'
}

fleet_has_some() {
	[ "$(fleet_samples)" -gt 0 ]
}

fleet_has_all() {
	[ "$(fleet_samples)" = "$all" ]
}

daemon_has_samples() {
	[ "$(podman_of root exec daemon assay ctl --session-dir /var/lib/assay status --format json | jq '.samples >= 300')" = true ]
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

@test "gateway, daemon and ship run in containers with the rights of their manifests" {
	local pod port all container
	make_image
	make_pod
	port=$(free_port)
	start gateway gateway
	wait_for logs_have gateway "^https://"
	of_gateway fleet invite /var/lib/assay-fleet/fleet 1 >"$pod/join/token"
	chmod 400 "$pod/join/token"
	start node daemon
	wait_for logs_have daemon collecting
	start node ship
	work
	wait_for daemon_has_samples
	# The first part ends, so its blocks are complete.
	podman_of root kill --signal HUP daemon >/dev/null
	wait_for fleet_has_some
	for container in gateway daemon ship; do
		[ "$(podman_of root inspect --format '{{.State.Running}}' $container)" = true ]
	done
	# All parts end.
	podman_of root stop daemon >/dev/null
	all=$(assay report --session-dir "$pod/history" --format json | jq .header.samples.selected)
	wait_for fleet_has_all
	assay fleet audit "$pod/fleet/fleet"
	# The functions of a program of the machine, with the names of files that only the daemon could read.
	assay report -i "$pod/fleet/fleet" --by host,symbol -t 0 --format json app:split | jq -r '.rows[] | "\(.host) \(.symbol)"' >rows
	has "^node1 " rows
	echo "$all samples of the node, in $(assay fleet hosts "$pod/fleet/fleet" --format json | jq '.hosts[0].blocks') blocks" >&3
}
