"""The bridge's side of the sandbox: what runs before, around and after the guest's code. Standard library only."""

import sys

# What the interpreter has itself, before any of us: nothing that a program brings can stand in for it.
LOADED_AT_START = frozenset(sys.modules)
# EX_SOFTWARE of sysexits.h: the harness itself is broken, not the guest's code.
HARNESS_FAILED = 70
