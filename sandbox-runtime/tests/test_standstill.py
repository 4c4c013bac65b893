"""What has to stand still, in a namespace of processes in which the test is the first one, as in a container."""

from __future__ import annotations

import subprocess
import sys
import unittest

from tests.host import HANGS_S, ROOT

IN_A_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")

# `child` is what stands still; what has been tried ends with what the code prints.
FIRST_PROCESS = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from harness.standstill import MAX_WAKES, Standstill

def state(pid):
    with open(f"/proc/{{pid}}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]

def until(condition):
    while not condition():
        time.sleep(0.01)

child = os.fork()
if child == 0:
    {child}
until(lambda: state(child) == {busy!r})
standstill = Standstill(child)
standstill.begin()
{tried}
"""
# Awake as soon as it is stopped again.
WAKEN = """
wakes = 0
while standstill.look():
    if state(child) == "T":
        os.kill(child, signal.SIGCONT)
        wakes += 1
    time.sleep(0.01)
print(wakes == MAX_WAKES + 1)
"""
# Awake for a tenth of a second between any two looks, and at rest whenever it is looked at.
NAP = """
def used():
    with open(f"/proc/{child}/stat") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))

naps = 0
while standstill.look():
    before = used()
    os.kill(child, signal.SIGCONT)
    until(lambda: used() > before + 10)
    os.kill(child, signal.SIGSTOP)
    until(lambda: state(child) == "T")
    naps += 1
    time.sleep(1)
print(naps == MAX_WAKES + 1)
"""
# Longer than it takes to look once more often than what wakes may be stopped again.
LEAVE = """
end = time.monotonic() + 7
while time.monotonic() < end:
    if not standstill.look():
        sys.exit("restless")
    time.sleep(0.1)
print(state(child))
"""


def first_process(child: str, busy: str, tried: str) -> str:
    """What is printed; `busy` is the state in which the child is by then."""
    code = FIRST_PROCESS.format(root=str(ROOT), child=child, busy=busy, tried=tried)
    done = subprocess.run(
        [*IN_A_NAMESPACE, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    return done.stdout.strip()


def can_be_first() -> bool:
    try:
        return subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@unittest.skipUnless(can_be_first(), "no namespace of processes can be made here")
class StandstillTest(unittest.TestCase):
    def test_what_wakes_is_stopped_again_until_that_was_often_enough(self) -> None:
        self.assertEqual(first_process("while True: time.sleep(0.001)", "S", WAKEN), "True")

    def test_what_stops_itself_ahead_of_each_look_has_woken_too(self) -> None:
        self.assertEqual(first_process("while True: pass", "R", NAP), "True")

    def test_what_stays_at_rest_may_do_so(self) -> None:
        self.assertEqual(first_process("while True: pass", "R", LEAVE), "T")

    def test_what_waits_for_a_child_between_fork_and_exec_is_at_rest(self) -> None:
        child = "import ctypes; libc = ctypes.CDLL(None); libc.vfork() or libc.pause()"
        self.assertEqual(first_process(child, "D", LEAVE), "D")
