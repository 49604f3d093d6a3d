#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A few seconds of the daily work of machines: a script makes text, and others sort, pack and sum
# it. `make demo` profiles it.
python3 -c '
import json, random
random.seed(7)
for i in range(150000):
    print(json.dumps({"id": random.randrange(10**6), "name": "item %d" % (i % 977)}))
' | sort | gzip -9 | sha256sum
