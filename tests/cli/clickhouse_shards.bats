#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Two shards of ClickHouse 18.16, which the tests start, kill and start again; and replicated tables with ZooKeeper.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
	read -ra server <<<"${ASSAY_CLICKHOUSE_SERVER:-$(command -v clickhouse-server || true)}"
	[ "${#server[@]}" -gt 0 ] || skip "no clickhouse-server: install it, or set ASSAY_CLICKHOUSE_SERVER to a command that runs it (docs/testing.md)"
	local i
	for i in {1..15}; do
		ports[i]=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	done
	for i in 1 2; do
		start_new "$i" r1
	done
	shards=http://127.0.0.1:${ports[1]}/fleet,http://127.0.0.1:${ports[2]}/fleet
}

teardown() {
	umount -l "$BATS_TEST_TMPDIR/shard2/data" 2>/dev/null || true
	end_test
}

# Servers 1 and 2 are the two shards. Servers 9 and 10 are other replicas of them.
start_new() { # SERVER REPLICA
	mkdir -p "shard$1"/{data,tmp,files}
	configure "$1" "$2"
	start "$1"
	curl -sSf "http://127.0.0.1:${ports[$1]}/" --data-binary "CREATE DATABASE fleet"
}

configure() { # SERVER REPLICA
	local here=$BATS_TEST_TMPDIR/shard$1
	cat >"$here/config.xml" <<-END
		<yandex>
		<logger><level>warning</level><log>$here/log</log><errorlog>$here/errors</errorlog></logger>
		<http_port>${ports[$1]}</http_port><tcp_port>${ports[$1 + 5]}</tcp_port><listen_host>127.0.0.1</listen_host><interserver_http_port>${ports[$1 + 3]}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
		<path>$here/data/</path><tmp_path>$here/tmp/</tmp_path><user_files_path>$here/files/</user_files_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
		<timezone>UTC</timezone><mark_cache_size>67108864</mark_cache_size><mlock_executable>false</mlock_executable>
		<zookeeper><node><host>127.0.0.1</host><port>${ports[3]}</port></node></zookeeper>
		<macros><replica>$2</replica></macros>
		</yandex>
	END
	cat >"$here/users.xml" <<-END
		<yandex><profiles><default/></profiles><quotas><default/></quotas>
		<users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
	END
}

start() { # SERVER
	background "${server[@]}" "--config-file=$BATS_TEST_TMPDIR/shard$1/config.xml" >"shard$1/out" 2>&1
	pids[$1]=$!
	wait_for curl -sf -m 2 -o ping "http://127.0.0.1:${ports[$1]}/ping"
}

stop() { # SERVER: at once, as a machine that fails
	kill -KILL "${pids[$1]}"
	wait "${pids[$1]}" 2>/dev/null || true
}

ask() { # SERVER SQL
	curl -sS "http://127.0.0.1:${ports[$1]}/?database=fleet" --data-binary "$2"
}

# A fleet of six hosts.
fleet_of_six() {
	local host
	assay record -q -o rec "$PROGRAMS/split" 0.4cpu
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)"
	for host in web1 web2 web3 db1 db2 cache; do
		assay ship --to dir:fleet --once -q --leaves split --host "$host" store
	done
	all=$(assay report -i fleet --format json | jq .header.samples.selected)
}

in_clickhouse() {
	assay report --fleet "$shards" -l --format json | jq .header.samples.selected
}

@test "two shards of 18.16 have each block once, and a dead shard holds up its own hosts alone" {
	fleet_of_six
	assay fleet init --clickhouse "$shards"
	stop 2
	run assay fleet load --clickhouse "$shards" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *":${ports[2]}"* ]]
	run assay report --fleet "$shards" -l
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"1 of 2 shards"*"shard 2 of 2 is missing"* ]]
	start 2
	assay fleet load --clickhouse "$shards" fleet
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = "$all" ]
	# The tables are for one fleet.
	assay ship --to dir:other --once -q --host web9 store
	run -1 assay fleet load --clickhouse "$shards" other
	[ "$(grep -c "has the fleet $(<fleet/.id), and other is the fleet $(<other/.id)" <<<"$output")" = 1 ]
	[ "$(in_clickhouse)" = "$all" ]
	[ "$(ask 1 "SELECT uniq(host) > 0 FROM hosts")$(ask 2 "SELECT uniq(host) > 0 FROM hosts")" = 11 ]
	assay export -q --fleet fleet -F autofdo --image split -o want
	assay export -q --fleet "$shards" -F autofdo --image split -o got
	cmp want got
	[ "$(wc -l <got)" -gt 3 ]
	for place in fleet "clickhouse:$shards"; do
		assay fleet regressions --format json "$place" | jq -c '[.changes, .regressions]'
		assay report -i "$place" --by host,build,symbol --format json | jq -c '[.rows[] | [.host, .build, .symbol, .samples]] | sort'
		assay report -i "$place" --tree --format json "build:*" | jq .header.samples.selected
	done >answers
	[ "$(head -n 3 answers)" = "$(tail -n 3 answers)" ]
	[ "$(wc -l <answers)" = 6 ]
	# A host that is forgotten leaves the sums of all hosts, too.
	assay fleet forget --clickhouse "$shards" fleet web1
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = "$(assay report -i fleet --format json | jq .header.samples.selected)" ]
	[ "$(in_clickhouse)" -lt "$all" ]
	[ "$(ask 1 "SELECT count() FROM hosts WHERE host = 'web1'")$(ask 2 "SELECT count() FROM hosts WHERE host = 'web1'")" = 00 ]
}

@test "shards of 18.16 that are killed while they are loaded have each block once" {
	fleet_of_six
	assay fleet init --clickhouse "$shards"
	for ms in 20 50 90 140 200 260; do
		assay fleet load --clickhouse "$shards" fleet 2>load.err &
		load=$!
		sleep "0.$(printf %03d "$ms")" # the moment of the kill, at random in what the load does
		stop 1
		wait "$load" || true
		start 1
		for shard in 1 2; do
			ask "$shard" "ALTER TABLE coverage DROP PARTITION '$(date -u +%F)'" >/dev/null # all blocks are looked at again
		done
	done
	assay fleet load --clickhouse "$shards" fleet
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = "$all" ]
}

# A receipt, which is the first row, has 22 bytes in stack_day. Behind it, 18.16 took a cut body for a whole one.
@test "18.16 stores a block whole or not at all if a connection is cut between its rows" {
	fleet_of_six
	assay fleet init --clickhouse "$shards"
	for bytes in 22 47; do # without and with 25 bytes before the rows
		for host in a$bytes b$bytes c$bytes d$bytes e$bytes f$bytes; do
			assay ship --to dir:fleet --once -q --host "$host" store
		done
		background python3 "$ROOT/tests/cli/cut_insert.py" "${ports[1]}" stack_day $bytes >"port$bytes"
		proxy=$!
		wait_for test -s "port$bytes"
		assay fleet load --clickhouse "http://127.0.0.1:$(head -n 1 "port$bytes")/fleet,http://127.0.0.1:${ports[2]}/fleet" fleet || true
		kill "$proxy"
		wait "$proxy" || true
		grep cut "port$bytes"
	done
	assay fleet load --clickhouse "$shards" fleet
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = $((all * 3)) ]
	[ $(($(ask 1 "SELECT sum(samples) FROM stack_day WHERE service != ''") + $(ask 2 "SELECT sum(samples) FROM stack_day WHERE service != ''"))) = $((all * 3)) ]
}

@test "a shard of 18.16 whose disk is full gets its blocks when it has room" {
	[ "$(id -u)" = 0 ] || skip "only root can mount a small disk"
	stop 2
	mv shard2/data shard2/was
	mkdir shard2/data
	mount -t tmpfs -o size=64m tmpfs shard2/data || skip "no file system can be mounted here"
	cp -r shard2/was/. shard2/data
	start 2
	fleet_of_six
	assay fleet init --clickhouse "$shards"
	dd if=/dev/zero of=shard2/data/filler bs=4k 2>/dev/null || true
	run assay fleet load --clickhouse "$shards" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"http://127.0.0.1:${ports[2]}/fleet"* ]]
	[ "$(in_clickhouse)" -lt "$all" ]
	rm shard2/data/filler
	assay fleet load --clickhouse "$shards" fleet
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = "$all" ]
	stop 2
	umount shard2/data
}

@test "users of 18.16: one writes, one only reads, and both see the fleet's database alone" {
	fleet_of_six
	assay fleet init --clickhouse "$shards"
	assay fleet init --clickhouse "$shards" --users users
	curl -sSf "http://127.0.0.1:${ports[1]}/" --data-binary "CREATE DATABASE other"
	for shard in 1 2; do
		stop "$shard"
		sed -i 's#<users>.*</users>#<users></users>#' "shard$shard/users.xml" # no user without a password
		mkdir "shard$shard/users.d"
		cp users/users.xml "shard$shard/users.d/assay.xml"
		start "$shard"
	done
	run assay fleet load --clickhouse "$shards" fleet
	[ "$status" = 1 ]
	assay fleet load --clickhouse "$shards" --login users/write.login fleet
	assay fleet audit --clickhouse "$shards" --login users/read.login fleet
	[ "$(ASSAY_CLICKHOUSE_LOGIN=users/read.login in_clickhouse)" = "$all" ]
	run assay fleet rebuild --clickhouse "$shards" --login users/read.login fleet "$(date -u +%F)"
	echo "$output"
	[ "$status" = 1 ]
	assay fleet audit --clickhouse "$shards" --login users/read.login fleet
	for user in read write; do
		IFS=: read -r name password <"users/$user.login"
		run curl -sS -H "X-ClickHouse-User: $name" -H "X-ClickHouse-Key: $password" "http://127.0.0.1:${ports[1]}/?database=other" --data-binary "CREATE TABLE t (a UInt8) ENGINE = Memory"
		[[ "$output" == *Exception* ]]
		run curl -sS -H "X-ClickHouse-User: $name" -H "X-ClickHouse-Key: wrong" "http://127.0.0.1:${ports[1]}/" --data-binary "SELECT 1"
		[[ "$output" == *Exception* ]]
	done
}

start_zookeeper() { # PORT
	background "${zookeeper[@]}" "$BATS_TEST_TMPDIR/zoo.cfg" >zoo.out 2>&1
	zoo=$!
	wait_for bash -c "exec 3<>/dev/tcp/127.0.0.1/$1" 2>/dev/null
}

configure_zookeeper() { # PORT
	read -ra zookeeper <<<"${ASSAY_ZOOKEEPER_SERVER-}"
	[ "${#zookeeper[@]}" -gt 0 ] || skip "set ASSAY_ZOOKEEPER_SERVER to a command that runs ZooKeeper with a file of settings"
	printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$BATS_TEST_TMPDIR/zoo" "$1" >zoo.cfg
	mkdir zoo
	start_zookeeper "$1"
}

@test "replicated tables of 18.16 take each block once, and none while ZooKeeper is away" {
	configure_zookeeper "${ports[3]}"
	fleet_of_six
	wait_for assay fleet init --clickhouse "$shards" --replicated /fleet 2>init.err
	[ "$(ask 1 "SELECT count() FROM system.replicas WHERE database = 'fleet'")" = 14 ]
	run -2 assay fleet init --clickhouse "$shards"
	[[ "$output" == *"its tables are replicated; add --replicated PATH"* ]]
	assay fleet load --clickhouse "$shards" fleet
	assay fleet audit --clickhouse "$shards" fleet
	for day in $(ask 1 "SELECT DISTINCT toDate(time) FROM coverage"); do
		wait_for assay fleet rebuild --clickhouse "$shards" fleet "$day" 2>rebuild.err # no replica leads at once
	done
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = "$all" ]
	for host in later1 later2 later3 later4; do
		assay ship --to dir:fleet --once -q --host "$host" store
	done
	kill -KILL "$zoo"
	wait "$zoo" 2>/dev/null || true
	run assay fleet load --clickhouse "$shards" fleet
	echo "$output"
	[ "$status" = 1 ]
	[ "$(in_clickhouse)" = "$all" ]
	start_zookeeper "${ports[3]}"
	wait_for assay fleet load --clickhouse "$shards" fleet 2>load.err || { cat load.err; false; }
	assay fleet audit --clickhouse "$shards" fleet
	[ "$(in_clickhouse)" = $((all * 10 / 6)) ]
}

add_hosts() { # HOST…
	local host
	for host; do
		assay ship --to dir:fleet --once -q --host "$host" store
	done
}

@test "a replica that was away while its shard was loaded has all rows when it comes back" {
	configure_zookeeper "${ports[3]}"
	fleet_of_six
	start_new 9 r2
	start_new 10 r2
	others=http://127.0.0.1:${ports[9]}/fleet,http://127.0.0.1:${ports[10]}/fleet
	for urls in "$shards" "$others"; do
		wait_for assay fleet init --clickhouse "$urls" --replicated /fleet 2>init.err
	done
	assay fleet load --clickhouse "$shards" fleet
	wait_for assay fleet audit --clickhouse "$others" fleet >audit.out
	# Both other replicas are away, and come back.
	stop 9
	stop 10
	add_hosts away1 away2 away3 away4
	assay fleet load --clickhouse "$shards" fleet
	start 9
	start 10
	wait_for assay fleet audit --clickhouse "$others" fleet >audit.out
	for urls in "$shards" "$others"; do
		assay fleet audit --clickhouse "$urls" fleet
		[ "$(assay report --fleet "$urls" -l --format json | jq .header.samples.selected)" = $((all * 10 / 6)) ]
	done
}

lost_keeper() {
	! assay fleet load --clickhouse "$second" fleet 2>lost.err && grep -q "has no connection to ZooKeeper or Keeper" lost.err
}

has_keeper() {
	[ "$(ask 9 "SELECT sum(is_readonly OR is_session_expired) FROM system.replicas")" = 0 ]
}

replica_has_version() {
	[ "$(ask 9 "SELECT count() FROM schema_version")" = 1 ]
}

@test "load stores nothing by a replica that lacks rows of another one" {
	configure_zookeeper "${ports[3]}"
	fleet_of_six
	start_new 9 r2
	first=http://127.0.0.1:${ports[1]}/fleet second=http://127.0.0.1:${ports[9]}/fleet
	for urls in "$first" "$second"; do
		wait_for assay fleet init --clickhouse "$urls" --replicated /fleet 2>init.err
	done
	wait_for replica_has_version
	stop 9
	assay fleet load --clickhouse "$first" fleet
	stop 1
	start 9
	add_hosts later1 later2
	run -1 assay fleet load --clickhouse "$second" fleet
	echo "$output"
	[[ "$output" == *"$second: this replica lacks "* ]]
	[ "$(ask 9 "SELECT count() FROM coverage")" = 0 ]
	# Without ZooKeeper, a replica does not know what it lacks.
	kill -KILL "$zoo"
	wait "$zoo" 2>/dev/null || true
	wait_for lost_keeper
	start_zookeeper "${ports[3]}"
	wait_for has_keeper # 18.16 ends at its start if ZooKeeper does not answer yet
	start 1
	wait_for assay fleet load --clickhouse "$second" fleet 2>load.err
	for urls in "$first" "$second"; do
		wait_for assay fleet audit --clickhouse "$urls" fleet >audit.out
		[ "$(assay report --fleet "$urls" -l --format json | jq .header.samples.selected)" = $((all * 8 / 6)) ]
	done
}

@test "no sample is lost or doubled by faults of replicated tables and ZooKeeper" {
	configure_zookeeper "${ports[8]}"
	export ZOOKEEPER=${ports[8]}:${ports[3]} ASSAY WORKLOAD=$PROGRAMS/split
	ASSAY=$(type -P assay)
	FAULT=zookeeper_down run python3 "$ROOT/tests/fleet/faults.py" work 2 "http://127.0.0.1:${ports[1]},http://127.0.0.1:${ports[2]}"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"2 faults in "*": zookeeper_down 2"*"0 samples lost, 0 doubled"* ]]
}
