#!/bin/sh
# Compiles the standard library ahead, so that no start of Python has to: the root is read-only and nothing could be
# kept. Unchecked, because sources in an image never change and each check would cost a stat call. $1 is the image's
# directory.
set -eu
# The build may have been started in a folder that is closed to the user whom this runs as, and find returns to its own.
cd "$1"

find usr/lib -name __pycache__ -prune -exec rm -rf {} +
# Some files of the library are not meant to compile (samples of bad syntax); what matters is imported below.
for library in usr/lib/python3*; do
  chroot . python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash "/$library" || true
done
chroot . python3 -c 'import asyncio, ctypes, json, sqlite3, ssl, zoneinfo; zoneinfo.ZoneInfo("Europe/Paris")'
