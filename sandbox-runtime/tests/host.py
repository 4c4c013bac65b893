"""The host's side of one run, for tests: starts the real supervisor with three pipes and answers its calls.

Relies on nothing of the bridge. Every frame is checked against the generated tables, so that each test is also a test
of the wire. Leaves no process behind, whatever the guest did.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from harness.frames import GUEST_FRAMES, SUPERVISOR_FRAMES

ROOT = Path(__file__).resolve().parent.parent
ENTRYPOINT = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from harness.main import main; main()"
# Whatever takes so long hangs. It says nothing of how long anything should take.
HANGS_S = 120.0

Frame = dict[str, Any]
Handler = Callable[[Mapping[str, Any]], Any]


class Refuse(Exception):
    """Raised by a handler: the call is answered with a refusal."""

    def __init__(self, message: str, code: str = "E_DENIED") -> None:
        super().__init__(message)
        self.code = code


class Silent(Exception):
    """Raised by a handler: the call gets no answer."""


class Host:
    """One supervisor process. Use as a context manager."""

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        preimport: Sequence[str] = (),
        ahead: Sequence[Sequence[str]] = (),
        modules: Mapping[str, str] | None = None,
        waits: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        for name, source in (modules or {}).items():
            file = Path(self.folder.name, f"{name}.py")
            file.parent.mkdir(exist_ok=True)
            file.write_text(source, encoding="utf-8")
        site = f"import sys; sys.path.append({self.folder.name!r}); " if modules else ""
        plan = json.dumps({"ahead": ahead, "waits": waits})
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": self.folder.name, **(env or {})}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-u", "-c", site + ENTRYPOINT, plan, *preimport],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder.name,
            env=environment,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.handlers: dict[str, Handler] = {}
        self.frames: list[Frame] = []
        self.noise: list[bytes] = []
        self._queue: queue.Queue[Frame | None] = queue.Queue()
        self._ended_streams = 0
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, GUEST_FRAMES)),
            threading.Thread(target=self._read, args=(self.process.stderr, SUPERVISOR_FRAMES)),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.process.kill()
        except ProcessLookupError:
            pass
        self.process.wait()
        # What the guest left running outside a container is ours to end.
        for pid in session(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        self.folder.cleanup()

    def _read(self, stream: IO[bytes], known: Mapping[str, tuple[str, ...]]) -> None:
        for line in stream:
            if not line.startswith(b'{"type":'):
                self.noise.append(line)
                continue
            frame = json.loads(line.decode("ascii"))
            assert set(frame) - {"token"} == {"type", *known[frame["type"]]}, frame
            self._queue.put(frame)
        self._queue.put(None)

    def send(self, frame: Mapping[str, Any]) -> None:
        """Writes one frame to the harness."""
        self.send_line(json.dumps(frame, separators=(",", ":")).encode())

    def send_line(self, line: bytes) -> None:
        """Writes one line to the harness; one that has ended already is no error."""
        assert self.process.stdin
        try:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def check(self, code: str, file: str | None = None, run: Frame | None = None) -> Frame:
        """Has the code checked and returns the answer; `run` is the frame that is sent with it."""
        answers = ("checked", "refused")
        seen = sum(len(self.of_type(kind)) for kind in answers)
        self.send({"type": "check", "code": code, "file": file, "run": run})
        self.wait_for(lambda _: sum(len(self.of_type(kind)) for kind in answers) > seen)
        return next(frame for frame in reversed(self.frames) if frame["type"] in answers)

    def start(
        self,
        code: str,
        loaded: list[Frame] | None = None,
        discovered: list[Frame] | None = None,
        files: list[Frame] | None = None,
    ) -> None:
        """Has the code checked, then run; hangs up when it is refused. Loaded servers count as discovered."""
        if self.check(code)["type"] == "refused":
            self.hang_up()
        else:
            self.run(loaded, discovered, files)

    def run(
        self,
        loaded: list[Frame] | None = None,
        discovered: list[Frame] | None = None,
        files: list[Frame] | None = None,
        program: Frame | None = None,
        session: Frame | None = None,
    ) -> None:
        """Sends the run frame for what was checked last."""
        self.send(self.run_frame(loaded, discovered, files, program, session))

    @staticmethod
    def run_frame(
        loaded: list[Frame] | None = None,
        discovered: list[Frame] | None = None,
        files: list[Frame] | None = None,
        program: Frame | None = None,
        session: Frame | None = None,
    ) -> Frame:
        """That frame."""
        servers = loaded or []
        briefs = [
            {
                **{key: s[key] for key in ("name", "alias", "description")},
                "loaded": True,
                "tools": len(s["tools"]),
            }
            for s in servers
        ]
        return {
            "type": "run",
            "timeoutSeconds": 30,
            "loaded": servers,
            "discovered": briefs + (discovered or []),
            "files": files or [],
            "program": program,
            **({} if session is None else {"session": session, "token": "t-1"}),
        }

    def hang_up(self) -> None:
        """Ends what is sent."""
        assert self.process.stdin
        self.process.stdin.close()

    def wait_for(self, condition: Callable[[Host], bool]) -> None:
        """Answers calls until the condition holds or both streams end."""
        deadline = time.monotonic() + HANGS_S
        while not condition(self) and self._ended_streams < 2:
            frame = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            if frame is None:
                self._ended_streams += 1
                continue
            self.frames.append(frame)
            if frame["type"] == "call":
                self._answer(frame)

    def finish(self) -> Host:
        """Answers calls until both streams have ended."""
        self.wait_for(lambda _: False)
        self.process.wait(HANGS_S)
        return self

    def _answer(self, call: Frame) -> None:
        try:
            value = self.handlers[call["method"]](call["params"])
            self.send({"type": "reply", "id": call["id"], "value": value})
        except Silent:
            pass
        except Refuse as refusal:
            params = call["params"]
            error = {
                "code": refusal.code,
                "message": str(refusal),
                "server": params.get("server"),
                "tool": params.get("tool"),
            }
            self.send({"type": "refusal", "id": call["id"], "error": error})

    def of_type(self, kind: str) -> list[Frame]:
        """The frames of one type so far."""
        return [frame for frame in self.frames if frame["type"] == kind]

    def one(self, kind: str) -> Frame:
        """The only frame of this type."""
        found = self.of_type(kind)
        assert len(found) == 1, (kind, self.frames, self.noise)
        return found[0]

    def output(self, stream: str) -> str:
        """What the guest wrote to a stream."""
        return "".join(frame["text"] for frame in self.of_type("output") if frame["stream"] == stream)

    @property
    def stdout(self) -> str:
        """What the guest wrote to its stdout."""
        return self.output("stdout")

    @property
    def stderr(self) -> str:
        """What the guest wrote to its stderr."""
        return self.output("stderr")

    @property
    def value(self) -> Any:
        """The result's JSON value."""
        return self.one("result")["value"]


def session(leader: int) -> list[int]:
    """The processes that live in the session of this one."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, _, _, of = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(of) == leader and state != "Z":
            found.append(int(name))
    return found


def given(name: str, data: bytes) -> Frame:
    """A file of a run."""
    return {"name": name, "data": base64.b64encode(data).decode()}


def program(
    *steps: Sequence[str], needs: Sequence[str] = (), stdin: bytes | None = None, file: str = "main.x"
) -> Frame:
    """A ProgramStart with one way; without steps, the script that was checked."""
    return {
        "file": file,
        "args": [],
        "stdin": None if stdin is None else base64.b64encode(stdin).decode(),
        "ways": [{"needs": list(needs), "steps": [list(step) for step in steps]}] if steps else [],
    }


def run_program(
    *steps: Sequence[str], stdin: bytes | None = None, files: list[Frame] | None = None, **more: Any
) -> Host:
    """Runs a program that is no Python of ours to its end."""
    with Host(**more) as host:
        host.run(files=files, program=program(*steps, stdin=stdin))
        return host.finish()


def run_script(
    code: str,
    files: list[Frame] | None = None,
    args: Sequence[str] = (),
    stdin: bytes | None = None,
    file: str = "main.py",
    env: Mapping[str, str] | None = None,
) -> Host:
    """Runs Python as a script to its end; hangs up when it is refused."""
    with Host() as host:
        if host.check(code, file)["type"] == "refused":
            host.hang_up()
        else:
            start = {**program(stdin=stdin, file=file), "args": list(args)}
            if env:
                start["env"] = dict(env)
            host.run(files=[given(file, code.encode()), *(files or [])], program=start)
        return host.finish()


def run(
    code: str,
    loaded: list[Frame] | None = None,
    discovered: list[Frame] | None = None,
    handlers: Mapping[str, Handler] | None = None,
    files: list[Frame] | None = None,
    modules: Mapping[str, str] | None = None,
) -> Host:
    """Runs `code` to its end and returns the host with everything that it saw; `modules` can be imported there."""
    with Host(modules=modules) as host:
        host.handlers.update(handlers or {})
        host.start(code, loaded, discovered, files)
        return host.finish()


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether the condition comes to hold before it has to be called hung."""
    deadline = time.monotonic() + HANGS_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@functools.cache
def python_start_s() -> float:
    """What time is counted in where it is a matter of time: how long an empty program of Python takes here and now."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-I", "-c", ""], check=True)
    return time.monotonic() - started


def has_got_there() -> None:
    """Lets pass what a program needs for the few steps from what it has printed to where it stays."""
    time.sleep(max(0.1, 5 * python_start_s()))


def tool(
    name: str,
    schema: Any = None,
    alias: str | None = None,
    description: str = "",
    output: Any = None,
    observed: Any = None,
    changed: str | None = None,
) -> Frame:
    """A ToolDoc."""
    return {
        "name": name,
        "alias": alias or name,
        "description": description,
        "inputSchema": {"type": "object"} if schema is None else schema,
        "outputSchema": output,
        "observed": observed,
        "changed": changed,
    }


def server(name: str, *tools: Frame, alias: str | None = None, description: str = "") -> Frame:
    """A ServerDoc."""
    return {
        "name": name,
        "alias": alias or name,
        "description": description,
        "version": "1.0",
        "instructions": None,
        "tools": list(tools),
    }


def brief(name: str, alias: str | None = None, tools: int | None = None) -> Frame:
    """A ServerBrief that is not loaded."""
    return {
        "name": name,
        "alias": alias or name,
        "description": f"the {name} server",
        "loaded": False,
        "tools": tools,
    }


def text_result(text: str, **more: Any) -> Frame:
    """A CallToolResult with one text block."""
    return {"content": [{"type": "text", "text": text}], **more}


def structured(value: Any) -> Frame:
    """A CallToolResult with structured content."""
    return {"content": [], "structuredContent": value}
