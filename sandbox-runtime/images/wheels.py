"""Fetches wheels, or installs them, in the throw-away containers of `image build --pip`.

`fetch NAME…` runs with a network: it asks the index for what the named packages need beyond what this image has, or for
exactly what /workspace/in/lock.txt says where that file is there. `install` runs without one and puts the wheels into a
folder. No code of a package runs: only wheels are taken. The last line of the output is JSON, for the bridge.
"""

from __future__ import annotations

import glob
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys

IN = "/workspace/in"
OUT = "/workspace/out"
LOCK = f"{IN}/lock.txt"
# Debian's Python looks here for what was not installed by apt, and first.
TARGET = "/usr/local/lib/python{}.{}/dist-packages".format(*sys.version_info[:2])


def pip(*arguments: str) -> None:
    """Runs Debian's pip out of its wheel; ends this program as pip ended where that failed."""
    [wheel] = glob.glob(f"{IN}/pip/pip-*.whl")
    environment = {**os.environ, "HOME": "/tmp", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INPUT": "1"}
    command = [sys.executable, f"{wheel}/pip", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(command, env=environment)
    if ended.returncode != 0:
        sys.exit(ended.returncode)


def resolved(names: list[str]) -> list[str]:
    """What the names need beyond what this image has, each as name==version."""
    report = "/tmp/report.json"
    pip("install", "--dry-run", "--report", report, "--only-binary", ":all:", *names)
    with open(report, encoding="utf-8") as file:
        found = [item["metadata"] for item in json.load(file)["install"]]
    return [f"{each['name']}=={each['version']}" for each in found]


def fetch(names: list[str]) -> None:
    os.makedirs(f"{OUT}/wheels")
    wanted, more = LOCK, ["--require-hashes"]
    if not os.path.exists(LOCK):
        wanted, more = "/tmp/wanted.txt", []
        lines = resolved(names)
        if not lines:
            return
        with open(wanted, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    pip("download", "--no-deps", "--only-binary", ":all:", "--dest", f"{OUT}/wheels", *more, "-r", wanted)


def versions_here(requirements: list[str]) -> dict[str, str]:
    """Versions of the packages named that this image has."""
    found = {}
    for requirement in requirements:
        name = re.split(r"[^a-z0-9-]", requirement, maxsplit=1)[0]
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def install() -> None:
    site = f"{OUT}/site"
    pip(
        *("install", "--quiet", "--no-index", "--find-links", f"{IN}/wheels", "--no-deps", "--no-compile"),
        *("--require-hashes", "--target", site, "-r", LOCK),
    )
    # Commands of packages: code cannot reach them there.
    shutil.rmtree(f"{site}/bin", ignore_errors=True)
    # Compiled ahead: a sandbox can keep nothing that it compiles. Files that do not compile stay as they are.
    compiled = [sys.executable, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*compiled, "-s", site, "-p", TARGET, site], stdout=subprocess.DEVNULL)


def main() -> None:
    step, *names = sys.argv[1:]
    print("Python {}.{} on".format(*sys.version_info[:2]), sys.platform, os.uname().machine, flush=True)
    if step == "fetch":
        fetch(names)
        print(json.dumps({"present": versions_here(names)}))
    else:
        install()
        print(json.dumps({"target": TARGET}))


main()
