#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host's request to a gateway: ADDRESS METHOD PATH TOKEN BODY-FILE [HEADER:VALUE…]. Prints the status, the
header Retry-After and the body, a line each. A TOKEN "" sends none."""
import http.client
import os
import sys

address, method, path, token, body = sys.argv[1:6]
headers = dict(header.split(":", 1) for header in sys.argv[6:])
if token:
    headers["Authorization"] = "Bearer " + token
with open(body, "rb") as file:
    data = file.read()
connection = http.client.HTTPConnection(address, timeout=int(os.environ.get("ASSAY_TEST_DEADLINE", 120)))
try:
    connection.request(method, path, data, headers)
except BrokenPipeError:
    pass  # the answer came before the end of the body
reply = connection.getresponse()
print(reply.status)
print(reply.getheader("Retry-After") or "-")
print(reply.read().decode(errors="replace").strip())
