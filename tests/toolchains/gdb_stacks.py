# SPDX-License-Identifier: GPL-2.0-or-later
"""gdb runs this: it stops a program now and then, and sends gdb's stack with its registers.

A stack is a line to TOOLCHAINS_SOCKET: the process, its registers by DWARF number and, behind a "|", the
addresses of gdb's frames, innermost first. The program stays stopped until the answer, a line.
"""
import os
import socket
import subprocess

import gdb

STOPS, STEPS, FRAMES = 20, 5, 500
REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
REAL = (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME, gdb.ARCH_FRAME)  # the others are inlined functions and tail calls


def addresses():
    pcs, frame = [], gdb.newest_frame()
    while frame and len(pcs) < FRAMES:
        if frame.type() in REAL:
            pcs.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    return pcs


def tell(stream):
    frame = gdb.newest_frame()
    registers = [int(frame.read_register(name)) & (1 << 64) - 1 for name in REGISTERS]
    words = [str(gdb.selected_inferior().pid), *(f"{r:x}" for r in registers), "|", *(f"{pc:x}" for pc in addresses())]
    stream.write(" ".join(words) + "\n")
    stream.flush()
    stream.readline()


def is_in_kernel():
    """Behind a syscall instruction: a step may take for ever, as other threads stand still."""
    frame = gdb.newest_frame()
    return bytes(gdb.selected_inferior().read_memory(frame.pc() - 2, 2)) == b"\x0f\x05"


def choose_thread():
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        if not is_in_kernel():
            return


def is_alive():
    return bool(gdb.selected_inferior().pid)


def main():
    for command in ("pagination off", "confirm off", "backtrace past-main on", "backtrace limit unlimited"):
        gdb.execute(f"set {command}")
    try:
        gdb.execute("set debuginfod enabled off")
    except gdb.error:
        pass  # gdb before 12 has no debuginfod
    gdb.execute("handle all nostop noprint pass", to_string=True)
    gdb.execute("handle SIGUSR2 stop print nopass", to_string=True)
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(os.environ["TOOLCHAINS_SOCKET"])
    stream = stream.makefile("rw")
    gdb.execute("starti", to_string=True)
    for _ in range(STOPS):
        # pylint: disable-next=consider-using-with # it ends by itself
        waker = subprocess.Popen(["sh", "-c", f"sleep 0.01; kill -USR2 {gdb.selected_inferior().pid}"])
        gdb.execute("continue", to_string=True)
        waker.wait()
        if is_alive():
            choose_thread()
        for _ in range(STEPS):
            if not is_alive():
                return
            gdb.execute("set scheduler-locking on")
            tell(stream)
            if is_in_kernel():
                break
            gdb.execute("stepi", to_string=True)
        if is_alive():
            gdb.execute("set scheduler-locking off")
    gdb.execute("kill")


main()
