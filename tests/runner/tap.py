# SPDX-License-Identifier: GPL-2.0-or-later
"""Results in the Test Anything Protocol, as bats, cmocka and our scripts print them."""

import dataclasses
import re

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LINE = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:- )?(.*)$")
SKIP = re.compile(r"^(.*?)\s*# skip\b:?\s*(.*)$", re.IGNORECASE)


@dataclasses.dataclass
class Result:
    title: str
    outcome: str
    text: str = ""  # a failure's output, or the reason of a skip


def read(lines):
    """The results of a TAP stream. What follows a failed test as "# …" is its output."""
    results, text = [], []
    for line in lines:
        line = line.rstrip("\n")
        match = LINE.match(line)
        if match:
            failed, _, title = match.groups()
            text = []
            skip = SKIP.match(title)
            if skip:
                results.append(Result(skip[1], SKIPPED, skip[2]))
            else:
                results.append(Result(title, FAILED if failed else PASSED, text))
        else:
            text.append(line)
    for result in results:
        if result.outcome != SKIPPED:  # the output may have a million lines
            result.text = "".join(f"{line[2:]}\n" for line in result.text if line.startswith("#") and result.outcome == FAILED)
    return results


def read_cmocka(output):
    """cmocka prints "not ok N # SKIP name" for a skip. Our tests print "skipped: REASON" before it."""
    results, reason, remarks = [], "no reason given", ""
    for line in output.splitlines():
        match = LINE.match(line)
        if line.startswith("skipped: "):
            reason = line[len("skipped: "):]
        elif match and re.search(r"# skip", match[3], re.IGNORECASE):
            results.append(Result(re.sub(r"(?i)#?\s*skip\s*", "", match[3]).strip(), SKIPPED, reason))
            reason = "no reason given"
        elif match:
            results.append(Result(match[3], FAILED if match[1] else PASSED, remarks))
            remarks = ""
        elif line.startswith("# ") and results and results[-1].outcome == FAILED:
            results[-1].text += line[2:] + "\n"
    return results
