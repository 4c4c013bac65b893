"""Runs a compiled program as CPython runs a script, and, where it awaits at the top level, as asyncio.run runs a task.

Relies on the program being compiled in parts. Catches nothing: what the program raises is the caller's to report.
"""

from __future__ import annotations

import asyncio
import asyncio.runners
import contextvars
import functools
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.program import Program

_asyncio_run = asyncio.run


def run_program(program: Program, namespace: dict[str, Any]) -> object:
    """The value of the last expression or of a top-level `return`; an awaitable value is awaited."""
    if program.is_async:
        return _asyncio_run(_run_parts(program, namespace))
    value: object = None
    for part in program.parts:
        value = eval(part, namespace)
    if inspect.isawaitable(value):
        return _asyncio_run(_await(value))
    return value


async def _run_parts(program: Program, namespace: dict[str, Any]) -> object:
    value: Any = None
    for part in program.parts:
        value = eval(part, namespace)
        if part.co_flags & inspect.CO_COROUTINE:
            value = await value
    return await value if inspect.isawaitable(value) else value


async def _await(value: Any) -> object:
    return await value


def tolerate_nested_asyncio_run() -> None:
    """Lets asyncio.run() be called where a loop runs already, as under a top-level `await`: on a thread of its own."""

    @functools.wraps(_asyncio_run)
    def run(main: Any, **options: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _asyncio_run(main, **options)
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1, "asyncio-run") as pool:
            return pool.submit(context.run, functools.partial(_asyncio_run, main, **options)).result()

    asyncio.run = asyncio.runners.run = run
