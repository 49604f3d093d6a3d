#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Injects faults into a fleet while blocks go from hosts through a gateway into ClickHouse.

faults.py DIR COUNT [URL]: makes fleets in DIR, or goes on with those that are there, until COUNT faults struck. A fleet has up to 1,000
faults: DIR/1, DIR/2 and so on. URL is a ClickHouse server; without it, the faults of loading are left out. The end of each fleet is an audit:
each sample of the histories is stored once, and no other. Exit status: 0: nothing was lost and nothing was doubled. 1: something was. $ASSAY
is the program, and $WORKLOAD makes the samples. $CLOCK_SHIFT_SO is tests/programs/clock_shift.so; without it, no clock is wrong. Two URLs with a comma are two servers, a shard each. $ZOOKEEPER is PORT:FRONT
for their tables that are replicated: ZooKeeper's port, and the port that is theirs, where this program listens for them.
$CLICKHOUSE_DISK is a folder on the file system of the server, which has up to a few GB; without it, this disk is never full. $FAULT is the name of
the only fault. The first lines name the kinds of faults that are left out, and why; the last line counts them.
"""
import calendar
import collections
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HOSTS = ["host%d" % i for i in range(5)]
FLEET_FAULTS = 1000
KEPT_PARTS = 30 # of a host's history
PUSHED = "main;walk;hash 11\nmain;walk 4\n" # a profile that a program pushes
PUSHED_SAMPLES = 15
ASSAY = os.environ.get("ASSAY", "assay")


class Proxy:
    """Passes connections on. It can refuse them, or cut one after a number of bytes."""

    def __init__(self, target, port=0):
        self.target, self.refuses, self.cut_after, self.n_struck = target, False, None, 0
        self.ends = collections.deque(maxlen=256)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError: # it is closed
                return
            try:
                if self.refuses:
                    self.n_struck += 1
                    raise OSError("refused")
                server = socket.create_connection(self.target, 5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            self.ends.append(client)
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=ends, daemon=True).start()

    def go_down(self):
        """Also for those who are connected."""
        self.refuses = True
        while self.ends:
            end = self.ends.pop()
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.cut_after is not None and len(data) >= self.cut_after:
                    data, self.cut_after = data[: self.cut_after], None
                    self.n_struck += 1
                    sink.sendall(data)
                    break
                if self.cut_after is not None:
                    self.cut_after -= len(data)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Fleet:
    def __init__(self, folder, url):
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        self.url, self.gateway, self.gateway_port = url, None, free_port()
        self.front = Proxy(("127.0.0.1", self.gateway_port))
        self.shards = []
        self.servers = (url.split(",") * 2)[:2] if url else []
        for server in self.servers:
            place = server.split("://")[1].split(":")
            self.shards.append(Proxy((place[0], int(place[1]))))
        self.zookeeper = None
        if "ZOOKEEPER" in os.environ:
            port, front = os.environ["ZOOKEEPER"].split(":")
            self.zookeeper = Proxy(("127.0.0.1", int(port)), int(front))
        self.state = json.load(open("state.json")) if os.path.exists("state.json") else self.make()

    def make(self):
        subprocess.run([ASSAY, "record", "-q", "-o", "rec", os.environ["WORKLOAD"], "0.3s"], check=True, stdout=subprocess.DEVNULL)
        state = {"samples": samples_of("rec"), "done": 0, "tries": 0, "parts": {host: 0 for host in HOSTS}, "database": "assay_faults_%d" % os.getpid(),
                 "begin": int(os.stat("rec").st_mtime), "faults": {}}
        self.start_gateway()
        for host in HOSTS:
            os.makedirs("%s/samples/current" % host)
            with open(os.open("token." + host, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as token:
                subprocess.run([ASSAY, "fleet", "enroll", "fleet", host], check=True, stdout=token)
        for i in range(len(self.shards)):
            self.sql(i, "CREATE DATABASE %s_%d" % (state["database"], i))
        self.state = state
        if self.shards:
            replicated = ["--replicated", "/" + state["database"]] if self.zookeeper else []
            init = [ASSAY, "fleet", "init", "--clickhouse", self.urls()] + replicated
            if not any(not subprocess.run(init, check=False).returncode or time.sleep(1) for _ in range(60)):
                sys.exit("no tables can be made")
        self.save()
        return state

    def save(self):
        with open("state.json.new", "w") as f:
            json.dump(self.state, f)
        os.rename("state.json.new", "state.json")

    def sql(self, shard, text):
        return urllib.request.urlopen(self.servers[shard], data=text.encode(), timeout=60).read().decode()

    def urls(self):
        return ",".join("http://127.0.0.1:%d/%s_%d" % (shard.port, self.state["database"], i) for i, shard in enumerate(self.shards))

    def start_gateway(self, env=None):
        if self.gateway and self.gateway.poll() is None:
            return
        self.gateway = subprocess.Popen([ASSAY, "serve", "--fleet", "fleet", "--listen", "127.0.0.1:%d" % self.gateway_port],
                                        stdout=subprocess.DEVNULL, stderr=open("gateway.err", "a"), env=env)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.gateway_port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit("the gateway does not start: see gateway.err")

    def add_part(self, host):
        """Another part with the same samples. The recorder's writing is not under test."""
        n = self.state["parts"][host]
        t = time.gmtime(self.state["begin"] - n // 1000)
        name = time.strftime("%Y%m%dT%H%M%S", t) + ".%03dZ" % (n % 1000)
        if not os.path.exists("%s/samples/current/%s" % (host, name)):
            shutil.copytree("rec", "%s/.part" % host, dirs_exist_ok=True)
            os.rename("%s/.part" % host, "%s/samples/current/%s" % (host, name))
        self.state["parts"][host] = n + 1

    def retain(self, host, ship, n):
        """Removes old parts, as a retention would. `ship` has begun with n parts, and a ship that ends well has sent them all."""
        if ship.poll() == 0:
            for old in sorted(os.listdir("%s/samples/current" % host), key=self.number_of)[:-KEPT_PARTS]:
                if self.number_of(old) < n - KEPT_PARTS:
                    shutil.rmtree("%s/samples/current/%s" % (host, old))

    def number_of(self, part):
        """The inverse of the names of add_part()."""
        second = calendar.timegm(time.strptime(part[:15], "%Y%m%dT%H%M%S"))
        return (self.state["begin"] - second) * 1000 + int(part[16:19])

    def push(self):
        """A program pushes a profile of ten minutes that are over."""
        if self.state.get("pushing"): # this program was stopped in the middle of it
            self.state["pushes"] = samples_of("pushed") // PUSHED_SAMPLES
        self.state["pushing"] = True
        self.save()
        with open("folded", "w") as profile:
            profile.write(PUSHED)
        start = "--start=@%d" % (time.time() - random.randrange(1300, 3600)) # the gateway merges blocks after two hours, and load must come before
        subprocess.run([ASSAY, "import", "-q", "--into=pushed", "--body=ingest", "--name=service%d" % random.randrange(9), start, "--", "folded"], check=True)
        self.state["pushes"], self.state["pushing"] = self.state.get("pushes", 0) + 1, False
        self.save()

    def adopt(self):
        return subprocess.Popen([ASSAY, "fleet", "adopt", "fleet", "pushed"], stdout=subprocess.DEVNULL, stderr=open("adopt.err", "a"))

    def sent(self, host):
        return self.state.get("pushes", 0) * PUSHED_SAMPLES if host == "pushed" else self.state["parts"][host] * self.state["samples"]

    def ship(self, host, state="state", env=None):
        return subprocess.Popen([ASSAY, "ship", "--to", "http://127.0.0.1:%d" % self.front.port, "--token-file", "token." + host, "--state",
                                 "%s.%s" % (state, host), "--once", "-q", "--host", host, host], stdout=subprocess.DEVNULL, stderr=open("ship.err", "a"), env=env)

    def load(self):
        if not self.shards:
            return None
        return subprocess.Popen([ASSAY, "fleet", "load", "--clickhouse", self.urls(), "fleet"], stdout=subprocess.DEVNULL, stderr=open("load.err", "a"))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()


def samples_of(place):
    return json.loads(output(ASSAY, "report", "-i", place, "--idle", "--format", "json"))["header"]["samples"]["selected"] if os.path.exists(place) else 0


def kill(process):
    """Whether it was still running."""
    if not process:
        return False
    if process.poll() is None:
        process.kill()
    return process.wait() == -signal.SIGKILL


def wait(process, seconds):
    try:
        return process.wait(seconds) if process else 0
    except subprocess.TimeoutExpired:
        kill(process)
        return -1


def has_failed_in(process, seconds):
    """Whether it ended by itself with a failure. One that the time ends is only slow."""
    return wait(process, seconds) > 0


# ---- faults: each gets the fleet, the host, and its running processes, and returns whether it struck ----

def pause():
    time.sleep(random.random() ** 2 * 0.25)


def kill_ship(fleet, host, ship, load):
    pause()
    return kill(ship)


def kill_adopt(fleet, host, ship, load):
    """Programs push profiles, and the process that makes blocks of them is killed."""
    for _ in range(random.randrange(1, 4)):
        fleet.push()
    adopt = fleet.adopt()
    pause()
    return kill(adopt)


def kill_gateway(fleet, host, ship, load):
    pause()
    has_sender = ship.poll() is None
    kill(fleet.gateway)
    wait(ship, random.choice([0.1, 0.5]))
    fleet.start_gateway()
    return has_sender


def kill_request(fleet, host, ship, load):
    """Kills a process that stores a block."""
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        children = open("/proc/%d/task/%d/children" % (fleet.gateway.pid, fleet.gateway.pid)).read().split()
        if children and random.random() < 0.3:
            try:
                os.kill(int(children[0]), signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass
        time.sleep(0.002)
    return False


def cut(proxy, most, process, seconds):
    before = proxy.n_struck
    proxy.cut_after = random.randrange(1, most)
    wait(process, seconds)
    return proxy.n_struck > before


def cut_front(fleet, host, ship, load):
    return cut(fleet.front, 6000, ship, 3)


def send_twice(fleet, host, ship, load):
    """Two processes send all blocks of the host at once."""
    shutil.rmtree("again." + host, ignore_errors=True)
    wait(fleet.ship(host, "again"), 60)
    return True


def reorder(fleet, host, ship, load):
    """The newest block is sent again and stored after younger ones: the state of an older time comes back."""
    if os.path.isdir("old." + host):
        wait(ship, 20)
        shutil.rmtree("state." + host, ignore_errors=True)
        os.rename("old." + host, "state." + host)
        return wait(fleet.ship(host), 20) == 0
    wait(ship, 20)
    shutil.copytree("state." + host, "old." + host) # for a later time
    return False


def full_disk(fleet, host, ship, load):
    """The gateway starts with a limit of the size of files, so that a write fails half way."""
    kill(fleet.gateway)
    fleet.start_gateway()
    subprocess.run(["prlimit", "--pid", str(fleet.gateway.pid), "--fsize=%d" % random.choice([0, 100, 1000, 3000])], check=True)
    has_failed = has_failed_in(fleet.ship(host), 5)
    kill(fleet.gateway)
    fleet.start_gateway()
    return has_failed


def clock(fleet, host, ship, load):
    """The clock of the host or of the gateway is wrong by nearly an hour, or by more: then the gateway refuses the host's blocks."""
    wait(ship, 20)
    fleet.add_part(host)
    fleet.save()
    seconds, is_gateway = random.choice([-3700, -3500, 3500, 3700]), random.random() < 0.5
    if os.path.lexists("shift"):
        os.unlink("shift")
    os.symlink(str(seconds), "shift")
    env = dict(os.environ, LD_PRELOAD=os.environ["CLOCK_SHIFT_SO"], CLOCK_SHIFT=os.path.abspath("shift"))
    if is_gateway:
        kill(fleet.gateway)
        fleet.start_gateway(env)
    status = wait(fleet.ship(host, env=None if is_gateway else env), 30)
    if is_gateway:
        kill(fleet.gateway)
        fleet.start_gateway()
    return status >= 0 and (status != 0) == (abs(seconds) > 3600)


def kill_load(fleet, host, ship, load):
    pause()
    return kill(load)


def cut_shard(fleet, host, ship, load):
    return cut(random.choice(fleet.shards), 30000, load, 20)


def shard_down(fleet, host, ship, load):
    shard = random.choice(fleet.shards)
    before, shard.refuses = shard.n_struck, True
    wait(load, 20)
    wait(fleet.load(), 20)
    shard.refuses = False
    return shard.n_struck > before


def two_loads(fleet, host, ship, load):
    others = [fleet.load() for _ in range(2)]
    pause()
    has_struck = kill(load)
    for other in others:
        wait(other, 20)
    return has_struck


def zookeeper_down(fleet, host, ship, load):
    """Tables that are replicated take nothing meanwhile."""
    fleet.zookeeper.go_down()
    wait(load, 20)
    has_failed = has_failed_in(fleet.load(), 20)
    fleet.zookeeper.refuses = False
    return has_failed


def full_clickhouse(fleet, host, ship, load):
    """The disk of ClickHouse has no room, or room for a part of a block."""
    path, left = os.environ["CLICKHOUSE_DISK"] + "/filler", random.choice([0, 40960, random.randrange(1 << 20, 5 << 18)])
    with open(path, "wb", 0) as filler:
        try:
            fill(filler, left)
            has_failed = has_failed_in(load, 20)
            return has_failed_in(fleet.load(), 20) or has_failed
        finally:
            os.unlink(path)


def fill(file, left):
    """Leaves so many bytes of the file system. The server may take some meanwhile."""
    disk = os.fstatvfs(file.fileno())
    for size in (disk.f_bavail * disk.f_frsize - left, 1 << 16, 1 << 12):
        try:
            while disk.f_bavail * disk.f_frsize > left:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
                disk = os.fstatvfs(file.fileno())
        except OSError:
            pass


def no_clock():
    return "" if os.path.exists(os.environ.get("CLOCK_SHIFT_SO", "")) else "no clock_shift.so is built (CLOCK_SHIFT_SO)"


def no_disk():
    return "" if "CLICKHOUSE_DISK" in os.environ else "no file system of ClickHouse is named (CLICKHOUSE_DISK)"


def no_zookeeper():
    return "" if "ZOOKEEPER" in os.environ else "no ZooKeeper is named (ZOOKEEPER)"


FAULTS = {kill_ship: None, kill_adopt: None, kill_gateway: None, kill_request: None, cut_front: None, send_twice: None, reorder: None, full_disk: None, clock: no_clock}
LOAD_FAULTS = {kill_load: None, cut_shard: None, shard_down: None, two_loads: None, full_clickhouse: no_disk, zookeeper_down: no_zookeeper}


def left_out(url):
    """The kinds of faults that this run can't inject, with the reason of each. With $FAULT, the others are not wanted."""
    reasons = {}
    for fault, why in [*FAULTS.items(), *LOAD_FAULTS.items()]:
        reason = "no ClickHouse is named (ASSAY_CLICKHOUSE)" if fault in LOAD_FAULTS and not url else why() if why else ""
        if reason and os.environ.get("FAULT", fault.__name__) == fault.__name__:
            reasons[fault.__name__] = reason
    return reasons


def inject(fleet):
    faults = [fault for fault, why in FAULTS.items() if not why or not why()]
    if fleet.shards:
        faults += [fault for fault, why in LOAD_FAULTS.items() if not why or not why()] * 2
    faults = [fault for fault in faults if os.environ.get("FAULT", fault.__name__) == fault.__name__]
    fault, host = random.choice(faults), random.choice(HOSTS)
    fleet.add_part(host)
    fleet.save()
    n_parts = fleet.state["parts"][host]
    ship, load = fleet.ship(host), fleet.load()
    has_struck = fault(fleet, host, ship, load)
    wait(ship, 3)
    fleet.retain(host, ship, n_parts)
    wait(load, 20)
    fleet.front.cut_after = None
    for shard in fleet.shards:
        shard.cut_after = None
    fleet.state["tries"] += 1
    if has_struck:
        fleet.state["done"] += 1
        fleet.state["faults"][fault.__name__] = fleet.state["faults"].get(fault.__name__, 0) + 1
    fleet.save()


def check(fleet):
    """Lets all blocks through, and compares. Returns the sentences of what is wrong."""
    wrong = []
    for host in HOSTS:
        if fleet.state["parts"][host] and not any(not wait(fleet.ship(host), 600) or time.sleep(0.5) for _ in range(5)):
            wrong.append("%s: ship does not end well: %s" % (host, "".join(open("ship.err").readlines()[-3:])))
    if fleet.state.get("pushes") and not any(not wait(fleet.adopt(), 600) or time.sleep(0.5) for _ in range(5)):
        wrong.append("adopt does not end well: %s" % "".join(open("adopt.err").readlines()[-3:]))
    stored = {h["host"]: h for h in json.loads(output(ASSAY, "fleet", "hosts", "--format", "json", "fleet"))["hosts"]}
    for host in HOSTS + ["pushed"]:
        sent = fleet.sent(host)
        have = stored.get(host, {"samples": 0})["samples"]
        if have != sent:
            wrong.append("%s: %d samples in the history, %d in the directory" % (host, sent, have))
    audits = [[ASSAY, "fleet", "audit", "fleet"]]
    if fleet.shards:
        if not any(not wait(fleet.load(), 600) or time.sleep(0.5) for _ in range(60 if fleet.zookeeper else 5)):
            wrong.append("load does not end well: %s" % "".join(open("load.err").readlines()[-3:]))
        audits.append([ASSAY, "fleet", "audit", "--clickhouse", fleet.urls(), "fleet"])
    for audit in audits:
        result = subprocess.run(audit, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode:
            wrong.append(result.stdout.decode())
    if fleet.shards:
        for table in ("facts:samples", "func_hour:self", "func_day:self", "func_host_day:self", "stack_hour:samples", "stack_day:samples"):
            name, column = table.split(":")
            have = sum(int(fleet.sql(i, "SELECT sum(%s) FROM %s_%d.%s WHERE service != ''" % (column, fleet.state["database"], i, name))) for i in range(2))
            if have != sum(map(fleet.sent, HOSTS + ["pushed"])):
                wrong.append("table %s has %d samples" % (name, have))
    return wrong


def play(folder, count, url):
    """One fleet. Returns its state, whose "wrong" says what the audit found. A fleet that is over gets no more faults."""
    fleet = Fleet(folder, url)
    try:
        if fleet.state.get("over"):
            return fleet.state
        fleet.start_gateway()
        while fleet.state["done"] < count:
            inject(fleet)
            if fleet.state["tries"] > 50 + 20 * count:
                sys.exit("the faults do not strike")
        fleet.state["wrong"] = check(fleet)
        fleet.state["over"] = not fleet.state["wrong"] and (count == FLEET_FAULTS or bool(url))
        fleet.save()
    finally:
        kill(fleet.gateway)
        if fleet.zookeeper: # the next fleet listens at the same port
            fleet.zookeeper.listener.shutdown(socket.SHUT_RDWR)
            fleet.zookeeper.listener.close()
    for i in range(len(fleet.shards) if fleet.state["over"] else 0):
        fleet.sql(i, "DROP DATABASE %s_%d" % (fleet.state["database"], i))
    return fleet.state


def main():
    folder, count, begin = os.path.abspath(sys.argv[1]), int(sys.argv[2]), time.monotonic()
    faults, blocks, samples, n = collections.Counter(), 0, 0, 0
    url = sys.argv[3] if len(sys.argv) > 3 else None
    skipped = left_out(url)
    for name, reason in skipped.items():
        print("skipped: %s: %s" % (name, reason), flush=True)
    while not n or sum(faults.values()) < count:
        n += 1
        state = play("%s/%d" % (folder, n), min(FLEET_FAULTS, count - sum(faults.values())), url)
        parts = sum(state["parts"].values())
        faults, blocks, samples = faults + collections.Counter(state["faults"]), blocks + parts, samples + parts * state["samples"] + state.get("pushes", 0) * PUSHED_SAMPLES
        print("%d faults in %d blocks, %d samples, %d s: %s" % (sum(faults.values()), blocks, samples, time.monotonic() - begin,
                                                              ", ".join("%s %d" % c for c in sorted(faults.items()))), flush=True)
        if state["wrong"]:
            print("fleet %d: %s" % (n, "\n".join(state["wrong"])))
            return 1
    print("0 samples lost, 0 doubled; %d of %d kinds of faults were skipped" % (len(skipped), len(FAULTS) + len(LOAD_FAULTS)))
    return 0


sys.exit(main())
