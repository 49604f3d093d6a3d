#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of `assay serve`, for tests.

serve_client.py ADDRESS get PATH [HEADER:VALUE...]     status and headers to standard error, body to standard output
serve_client.py ADDRESS flood N                        N silent connections, then a request that must be answered
serve_client.py ADDRESS head PATH                      the status of a HEAD request
serve_client.py ADDRESS leave PATH N [HEADER:VALUE...] N requests of PATH0, PATH1 ..., whose client goes at once
serve_client.py ADDRESS large                          a header of 1 MB, and a body without end
serve_client.py ADDRESS body PATH [HEADER:VALUE...]    the status of a GET request with a body
serve_client.py ADDRESS post PATH BODY [HEADER:VALUE...]  as get, with a body; @FILE: that of a file
serve_client.py ADDRESS crowd PATH N [HEADER:VALUE...] as leave, but all wait until one is answered; then the status of one more
serve_client.py ADDRESS slow PATH N [HEADER:VALUE...]  reads the body slowly while N silent connections come: its bytes
ADDRESS is HOST:PORT, unix:PATH or https://HOST:PORT. TLS_CA, TLS_CERT and TLS_KEY are files for the last.
"""
import http.client
import os
import select
import socket
import ssl
import sys

DEADLINE = 120


def connect(address):
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(DEADLINE)
        s.connect(address[5:])
        return s
    host, port = address.removeprefix("https://").rsplit(":", 1)
    plain = socket.create_connection((host.strip("[]"), int(port)), DEADLINE)
    if not address.startswith("https://"):
        return plain
    context = ssl.create_default_context(cafile=os.environ["TLS_CA"])
    if os.environ.get("TLS_CERT"):
        context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    return context.wrap_socket(plain, server_hostname=host)


def get(address, path, headers, body=None):
    connection = http.client.HTTPConnection("localhost" if address.startswith("unix:") else address.removeprefix("https://"))
    connection.sock = connect(address)
    connection.request("GET" if body is None else "POST", path, body, headers)
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


def ask(address, path, headers):
    """A connection that has asked and waits."""
    s = connect(address)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n{lines}\r\n".encode())
    return s


def crowd(address, path, n, headers):
    waiting = [ask(address, f"{path}{i}", headers) for i in range(n)]
    refused = sum(b" 429 " in s.recv(64) for s in select.select(waiting, [], [], DEADLINE)[0])
    print("some had to wait" if refused else "none was refused")
    for s in waiting:
        s.close()
    print(get(address, "/api/v1/sources", headers)[0])
    print(get(address, f"{path}{n}", headers)[0])


def slow(address, path, n, headers):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = address.rsplit(":", 1)
    s.connect((host, int(port)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n{lines}Connection: close\r\n\r\n".encode())
    received = s.recv(100)
    silent = [connect(address) for _ in range(n)]
    while piece := s.recv(65536):
        received += piece
    sys.stdout.buffer.write(received.split(b"\r\n\r\n", 1)[1])
    for one in silent:
        one.close()


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
    elif command == "body":
        lines = "".join(header.replace(":", ": ", 1) + "\r\n" for header in rest[1:])
        print(last_status(address, [f"GET {rest[0]} HTTP/1.1\r\nHost: {address}\r\n{lines}Content-Length: 5\r\n\r\nhello".encode()]))
    elif command == "post":
        headers = dict(header.split(":", 1) for header in rest[2:])
        sys.stdout.buffer.write(get(address, rest[0], headers, open(rest[1][1:], "rb").read() if rest[1].startswith("@") else rest[1].encode())[1])
    elif command in ("crowd", "slow"):
        headers = dict(header.split(":", 1) for header in rest[2:])
        globals()[command](address, rest[0], int(rest[1]), headers)
    else:
        large(address)


main()
