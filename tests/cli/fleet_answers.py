#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A gateway of the fleet FLEET that answers blocks of addresses by these statuses in turn (the last one stays).

Prints its address, and then a line for each block: METHOD PATH STATUS.

    fleet_answers.py FLEET STATUS…
"""
import http.server
import sys

import fleet_receive

statuses = [int(status) for status in sys.argv[2:]]


class Gateway(fleet_receive.Receiver):
    fleet = sys.argv[1]

    def answer(self):
        body = self.body()
        kind = self.path.split("/")[2]
        status, answer = 200, b"{}"
        if kind == "leaves":
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        if status == 200:
            status, answer = self.receive(body)
        if kind in ("leaves", "blocks"):
            print(self.command, self.path, status, flush=True)
        self.reply(status, answer)

    do_PUT = do_POST = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
print("127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
