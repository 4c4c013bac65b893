"""The attacks on the limits. Each says what it has got as it goes, so that its last words count when it is ended in the
middle, and `all_taken` when nothing stopped it.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import time
from typing import NoReturn

PROCESSES = 4
# What was taken is held for a moment: a watchdog looks now and then.
HELD_S = 0.6
# The time of those that hold on; the attack is over long before.
OUTLIVES_S = 20


def private(target_mb: int, step_mb: int, all_taken: str) -> NoReturn:
    """Each process stays far below the limit: what counts is the sum."""
    steps = target_mb // PROCESSES // step_mb
    for n in range(PROCESSES):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            held: list[bytes] = []
            try:
                for _ in range(steps):
                    held.append(b"x" * (step_mb << 20))
                    os.write(writing, b".")
            except MemoryError:
                os.write(writing, b"R")
            time.sleep(OUTLIVES_S)
            os._exit(0)
        os.close(writing)
        said = b""
        while len(said) < steps:
            more = os.read(reading, 1)
            if more == b"R":
                refuse("MemoryError")
            if more == b"" or os.waitpid(-1, os.WNOHANG)[0]:
                refuse("a process was ended")
            said += more
            print("taken", n * target_mb // PROCESSES + len(said) * step_mb, flush=True)
    time.sleep(HELD_S)
    print("refused: a process was ended" if os.waitpid(-1, os.WNOHANG)[0] else all_taken)
    os._exit(0)


def shared(target_mb: int, step_mb: int, all_taken: str) -> None:
    held: list[mmap.mmap] = []
    for n in range(target_mb // step_mb):
        try:
            held.append(mmap.mmap(-1, step_mb << 20))
            held[-1].write(b"x" * (step_mb << 20))
        except (OSError, MemoryError) as error:
            print("refused:", error)
            raise SystemExit(9) from None
        print("taken", (n + 1) * step_mb, flush=True)
    time.sleep(HELD_S)
    print(all_taken)


def tmpfs(target_mb: int, step_mb: int, all_taken: str) -> None:
    """Not quite all: the largest tmpfs may be no larger than that."""
    with open("/workspace/fill", "wb", buffering=0) as fill:
        for n in range(target_mb // step_mb - 1):
            try:
                fill.write(b"x" * (step_mb << 20))
            except OSError as error:
                print("refused:", error)
                raise SystemExit(9) from None
            print("taken", (n + 1) * step_mb, flush=True)
    time.sleep(HELD_S)
    print(all_taken)


def sockets(pairs: int, pair_kb: int, all_taken: str) -> NoReturn:
    """What is written to a connection and not read is memory of the kernel.

    Each process may have some 1,000 descriptors.
    """
    reading, writing = os.pipe()
    for _ in range(PROCESSES):
        if os.fork() == 0:
            server = socket.create_server(("127.0.0.1", 0))
            kept: list[socket.socket] = []
            for _ in range(pairs // PROCESSES):
                one = socket.create_connection(server.getsockname())
                kept += [one, server.accept()[0]]
                one.setblocking(False)
                try:
                    while True:
                        one.send(b"x" * 16384)
                except OSError:
                    os.write(writing, b".")
            time.sleep(OUTLIVES_S)
            os._exit(0)
    for n in range(pairs):
        if not select.select([reading], [], [], 5)[0] or os.waitpid(-1, os.WNOHANG)[0]:
            refuse("a process was ended")
        os.read(reading, 1)
        if n % 64 == 63:
            print("taken", (n + 1) * pair_kb // 1024, flush=True)
    time.sleep(HELD_S)
    print(all_taken)
    os._exit(0)


def processes(wanted: int, all_taken: str) -> NoReturn:
    for n in range(wanted):
        try:
            if os.fork() == 0:
                time.sleep(OUTLIVES_S)
                os._exit(0)
        except OSError as error:
            print("refused:", error.strerror)
            break
        print("taken", n + 1, flush=True)
    else:
        print(all_taken)
    os._exit(0)


def deadline(flood_mb: int) -> NoReturn:
    """Floods its output, then spins in two processes that are deaf to every signal that can be ignored."""
    ignore_signals()
    for _ in range(flood_mb):
        os.write(1, b"x" * (1 << 20))
    os.fork()
    while True:
        pass


def outlive() -> NoReturn:
    """Does nothing, in two processes that are as deaf."""
    ignore_signals()
    os.fork()
    while True:
        time.sleep(1)


def ignore_signals() -> None:
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass


def refuse(reason: str) -> NoReturn:
    print(f"refused: {reason}", flush=True)
    os._exit(9)
