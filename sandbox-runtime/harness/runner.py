"""Runs a compiled program as CPython runs a script, and, where it awaits at the top level, as asyncio.run runs a task.

Relies on the program being compiled in parts. Catches nothing: what the program raises is the caller's to report.
Loads asyncio only for programs that can need it, since that takes as long as starting the interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from harness.program import CO_COROUTINE, Program

_asyncio_run: Any = None
# In place of asyncio.run, for programs that share an event loop.
_run_in_loop: Callable[[Any], object] | None = None


def run_program(program: Program, namespace: dict[str, Any]) -> object:
    """The value of the last expression or of a top-level `return`; an awaitable value is awaited."""
    if program.is_async:
        return _as_task(_run_parts(program, namespace))
    value: object = None
    for part in program.parts:
        value = eval(part, namespace)
    if _is_awaitable(value):
        return _as_task(_await(value))
    return value


def use_loop(run: Callable[[Any], object]) -> None:
    """From now on what a program awaits at its top level is run by `run`, which gives its value."""
    global _run_in_loop
    _run_in_loop = run


def may_need_asyncio(program: Program) -> bool:
    """False where nothing that the program says can start an event loop."""
    return program.is_async or "asyncio" in program.source


def prepare_asyncio() -> None:
    """Lets asyncio.run() be called where a loop runs already, as under a top-level `await`: on a thread of its own."""
    global _asyncio_run
    if _asyncio_run is not None:
        return
    import asyncio
    import asyncio.runners
    import contextvars

    original = asyncio.run

    @functools.wraps(original)
    def run(main: Any, **options: Any) -> Any:
        # Not by get_running_loop(): what it raises would stand in front of whatever the code raises.
        if asyncio._get_running_loop() is None:
            return original(main, **options)
        from concurrent.futures import ThreadPoolExecutor

        context = contextvars.copy_context()
        with ThreadPoolExecutor(1, "asyncio-run") as pool:
            return pool.submit(context.run, functools.partial(original, main, **options)).result()

    _asyncio_run = original
    asyncio.run = asyncio.runners.run = run


def _as_task(coroutine: Any) -> object:
    prepare_asyncio()
    return _asyncio_run(coroutine) if _run_in_loop is None else _run_in_loop(coroutine)


async def _run_parts(program: Program, namespace: dict[str, Any]) -> object:
    value: Any = None
    for part in program.parts:
        value = eval(part, namespace)
        if part.co_flags & CO_COROUTINE:
            value = await value
    return await value if _is_awaitable(value) else value


def _is_awaitable(value: object) -> bool:
    """Looks at the true type, since a value's own `__class__`, or its metaclass, may raise."""
    try:
        return issubclass(type(value), Awaitable)
    except Exception:
        return False


async def _await(value: Any) -> object:
    return await value
