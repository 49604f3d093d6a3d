#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two kinds of proxy between a host and its gateway. Each prints its port, and then a line for each connection.

    front CERTIFICATE KEY ADDRESS   speaks TLS with hosts, and plain HTTP with the gateway at ADDRESS
    forward                         takes hosts to the address that they ask for (CONNECT, RFC 9110 section 9.3.6)
"""
import os
import socket
import ssl
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=int(os.environ.get("ASSAY_TEST_DEADLINE", 120)))


def front(client, certificate, key, address):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    client = context.wrap_socket(client, server_side=True)
    print("TLS to", address, flush=True)
    return client, connect(address)


def forward(client):
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(65536)
        if not data:
            raise OSError("no request")
        head += data
    method, address = head.decode(errors="replace").split()[:2]
    print(method, address, flush=True)
    if method != "CONNECT":
        raise OSError("no tunnel")
    gateway = connect(address)
    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    return client, gateway


def serve(begin, client, arguments):
    try:
        client, gateway = begin(client, *arguments)
    except OSError as error:
        print("refused:", error, flush=True)
        client.close()
        return
    threading.Thread(target=copy, args=(client, gateway), daemon=True).start()
    copy(gateway, client)


begin = {"front": front, "forward": forward}[sys.argv[1]]
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    connection, _ = server.accept()
    threading.Thread(target=serve, args=(begin, connection, sys.argv[2:]), daemon=True).start()
