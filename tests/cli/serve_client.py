#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of `assay serve`, for tests.

serve_client.py ADDRESS get PATH [HEADER:VALUE...]     status and headers to standard error, body to standard output
serve_client.py ADDRESS flood N                        N silent connections, then a request that must be answered
serve_client.py ADDRESS head PATH                      the status of a HEAD request
serve_client.py ADDRESS leave PATH N [HEADER:VALUE...] N requests of PATH0, PATH1 ..., whose client goes at once
serve_client.py ADDRESS large                          a header of 1 MB, and a body without end
ADDRESS is HOST:PORT or unix:PATH.
"""
import http.client
import socket
import sys

DEADLINE = 120


def connect(address):
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(DEADLINE)
        s.connect(address[5:])
        return s
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), DEADLINE)


def get(address, path, headers):
    connection = http.client.HTTPConnection("localhost" if address.startswith("unix:") else address)
    connection.sock = connect(address)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    print(answer.status, file=sys.stderr)
    for name, value in answer.getheaders():
        print(f"{name}: {value}", file=sys.stderr)
    body = answer.read()
    connection.close()
    return answer.status, body


def flood(address, n, headers):
    silent = []
    for _ in range(n):
        silent.append(connect(address))
        silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
    status, _ = get(address, "/api/v1/sources", headers)
    print(status)


def last_status(address, pieces):
    """The status of the answer to the pieces, or "closed"."""
    s = connect(address)
    try:
        for piece in pieces:
            s.sendall(piece)
    except OSError:
        pass
    try:
        answer = s.recv(65536)
    except OSError:
        answer = b""
    s.close()
    return answer.split(b" ")[1].decode() if answer.startswith(b"HTTP/") else "closed"


def leave(address, path, n, headers):
    for i in range(n):
        s = connect(address)
        s.sendall(f"GET {path}{i} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n\r\n".encode())
        s.close()


def large(address):
    head = f"GET / HTTP/1.1\r\nHost: {address}\r\n".encode()
    print(last_status(address, [head, b"X: " + b"x" * 1000000 + b"\r\n\r\n"]))
    post = f"POST /api/v1/top HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000000000\r\n\r\n".encode()
    print(last_status(address, [post] + [b"x" * 65536] * 100))


def main():
    address, command, *rest = sys.argv[1:]
    if command == "get":
        headers = dict(header.split(":", 1) for header in rest[1:])
        sys.stdout.buffer.write(get(address, rest[0], headers)[1])
    elif command == "head":
        print(last_status(address, [f"HEAD {rest[0]} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()]))
    elif command == "leave":
        leave(address, rest[0], int(rest[1]), "\r\n".join(header.replace(":", ": ", 1) for header in rest[2:]))
    elif command == "flood":
        flood(address, int(rest[0]), dict(header.split(":", 1) for header in rest[1:]))
    else:
        large(address)


main()
