# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of nothing but calls, which takes a CPU: calls.py ROUNDS, or SECONDS of CPU time with an s behind it."""
import sys
import time


class Shape:
    def __init__(self, n):
        self.n = n

    def key(self, x):
        return inner(x) + self.n


def inner(x):
    return x * 3 % 7


def recursion(n):
    return recursion(n - 1) + 1 if n else sum(i * i for i in range(30))


def everything():
    sorted(range(20), key=Shape(2).key)
    return recursion(20)


def main(much):
    if much.endswith("s"):
        while time.process_time() < float(much[:-1]):
            everything()
    for _ in range(0 if much.endswith("s") else int(much)):
        everything()


main(sys.argv[1])
