# SPDX-License-Identifier: GPL-2.0-or-later
"""What a control socket gets from those who mean no good: abuse_socket.py SOCKET SECONDS.

An answer may take so many seconds.

Ends with 0 when each was treated as docs/daemon.md says, and a good request is answered after it.
"""

import json
import os
import resource
import signal
import socket
import sys
import time

PATIENCE_S = int(sys.argv[2])


def join():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(PATIENCE_S)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            s.connect(sys.argv[1])
            return s
        except BlockingIOError:  # the queue of connections is full
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def answer(s):
    """The next line; None at the end."""
    line = b""
    while not line.endswith(b"\n"):
        piece = s.recv(1)
        if not piece:
            return None
        line += piece
    return json.loads(line)


def good():
    with join() as s:
        s.sendall(b'{"request":"status"}\n')
        reply = answer(s)
        assert reply["ok"] and reply["counting"], reply


def garbage():
    with join() as s:
        for line in (b"\x00\xff\xfe{", b"GET / HTTP/1.1", b"[" * 5000, b'{"request":"status"'):
            s.sendall(line + b"\n")
            reply = answer(s)
            assert not reply["ok"] and reply["error"], reply


def slow_reader(held):
    """Asks and never reads; it stays while the others go on."""
    s = join()
    s.setblocking(False)
    try:
        for _ in range(100000):
            s.send(b'{"request":"metrics"}\n' * 100)
    except BlockingIOError:
        pass
    held.append(s)


def half_a_line(held):
    s = join()
    s.sendall(b'{"request":')
    held.append(s)


def megabyte():
    with join() as s:
        try:
            s.sendall(b"x" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        reply = answer(s)
        assert "at most 16384 bytes" in reply["error"], reply


def thousand():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    crowd = [join() for _ in range(1000)]
    n_refused = 0
    for s in crowd:
        try:
            s.sendall(b'{"request":"status"}\n')
        except (BrokenPipeError, ConnectionResetError):
            pass
        reply = answer(s)
        assert reply["ok"] or "too many clients" in reply["error"], reply
        n_refused += not reply["ok"]
    assert n_refused >= 1000 - 256, n_refused
    for s in crowd:
        s.close()


def dies():
    """Killed with answers on their way."""
    child = os.fork()
    if not child:
        s = join()
        s.sendall(b'{"request":"metrics"}\n' * 50)
        s.recv(10)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


held = []
for abuse in (garbage, lambda: slow_reader(held), lambda: half_a_line(held), megabyte,
              thousand, dies):
    abuse()
    good()
