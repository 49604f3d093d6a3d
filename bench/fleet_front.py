#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaks TLS for a gateway of a fleet, and counts the bytes on the socket by kind of request.

bench/fleet_front.py --certificate PEM --key PEM --seconds S [--port N] http://127.0.0.1:PORT

- Prints its URL, and after S seconds or SIGTERM a line of JSON: requests, bytes from the hosts and bytes to them, for each kind.
- The bytes are those of TLS, with headers and handshakes. TCP and IP add 40 or 52 bytes to a packet.
- `connection` is the handshake and the end of TLS. `blocks`, `leaves`, `containers`, `hosts` (hello), `images` (names of functions) and `join` are the paths of requests.
"""

import argparse
import collections
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

REQUEST = re.compile(rb"(?:PUT|POST|GET) /v1/(\w+)\S* HTTP/1\.1\r\n")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def make_certificate(folder):
    """A certificate for this machine's loopback, and its key."""
    certificate, key = folder / "gateway.pem", folder / "gateway.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class Requests:
    """Follows the requests of one connection: `kind` is that of the last one that began."""

    def __init__(self):
        self.kind, self.waiting, self.body = "connection", b"", 0

    def feed(self, data):
        """Takes bytes that the host sent. Returns the kinds of the requests that begin in them. A host waits for an answer before it asks again."""
        begun = []
        while data:
            if self.body:
                taken = min(self.body, len(data))
                self.body, data = self.body - taken, data[taken:]
                continue
            head, end, data = (self.waiting + data).partition(b"\r\n\r\n")
            if not end:
                self.waiting = head
                break
            self.waiting = b""
            request, length = REQUEST.match(head + b"\r\n"), LENGTH.search(head)
            self.body = int(length.group(1)) if length else 0
            self.kind = request.group(1).decode() if request else "other"
            begun.append(self.kind)
        return begun


class Front:
    """Listens at self.url. Each connection has two threads."""

    def __init__(self, gateway, certificate, key, port=0):
        self.gateway = re.fullmatch(r"http://([^/:]+):(\d+)/?", gateway).groups()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.counts = collections.defaultdict(lambda: {"requests": 0, "from_hosts": 0, "to_hosts": 0})
        self.server = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.url = f"https://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        connection = Connection(self, client)
        try:
            connection.shake()
            connection.gateway = socket.create_connection(self.gateway)
            threading.Thread(target=connection.answers, daemon=True).start()
            connection.questions()
        except OSError:
            pass
        connection.close()


class Connection:
    """One host's connection. TLS is done in memory, so that the bytes of the socket can be counted."""

    def __init__(self, front, client):
        self.front, self.client, self.gateway = front, client, None
        self.inward, self.outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = front.context.wrap_bio(self.inward, self.outward, server_side=True)
        self.lock, self.requests = threading.Lock(), Requests()

    def count(self, what, number, kind=None):
        self.front.counts[kind or self.requests.kind][what] += number

    def flush(self):
        data = self.outward.read()
        self.count("to_hosts", len(data))
        self.client.sendall(data)

    def receive(self):
        data = self.client.recv(65536)
        self.inward.write(data)
        return len(data)

    def shake(self):
        while True:
            try:
                self.tls.do_handshake()
                self.flush()
                return
            except ssl.SSLWantReadError:
                self.flush()
                size = self.receive()
                self.count("from_hosts", size)
                if not size:
                    raise OSError("no handshake") from None

    def read(self):
        """The plain bytes that are there; b"" if none is."""
        with self.lock:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                return b""

    def questions(self):
        size = 0  # the first request may have come with the end of the handshake
        while True:
            plain = b""
            while data := self.read():
                plain += data
            for kind in self.requests.feed(plain):
                self.count("requests", 1, kind)
            # The end of a request and the begin of the next one never come together: hosts wait for the answer.
            self.count("from_hosts", size)
            self.gateway.sendall(plain)
            size = self.receive()
            if not size:
                return

    def answers(self):
        try:
            while data := self.gateway.recv(65536):
                with self.lock:
                    self.tls.write(data)
                    self.flush()
        except OSError:
            pass
        self.close()

    def close(self):
        try:
            with self.lock:
                self.tls.unwrap()  # says that nothing follows, and does not wait for the host to say so
        except (OSError, ssl.SSLError):
            pass
        try:
            self.flush()
        except OSError:
            pass
        for end in (self.client, self.gateway):
            try:
                end and end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def main():
    parser = argparse.ArgumentParser(description="Speaks TLS for a gateway, and counts bytes.")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--port", type=int, default=0, help="default: any")
    parser.add_argument("gateway", metavar="http://HOST:PORT")
    args = parser.parse_args()
    front = Front(args.gateway, args.certificate, args.key, args.port)
    print(front.url, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps(front.counts))))
    time.sleep(args.seconds)
    print(json.dumps(front.counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
