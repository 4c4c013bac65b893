"""Runs a compiled program as CPython runs a script, and, where it awaits at the top level, as asyncio.run runs a task.

Relies on the program being compiled in parts. Catches nothing: what the program raises is the caller's to report.
Loads asyncio only for programs that can need it, since that takes as long as starting the interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable

from harness.later import loaded_later
from harness.program import CO_COROUTINE, Program
from harness.top_loop import TopLevel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_asyncio_run: Any = None
_top_level: TopLevel | None = None
_is_offered = False


def run_program(program: Program, namespace: dict[str, Any]) -> object:
    """The value of the last expression or of a top-level `return`; an awaitable value is awaited.

    Tasks that the program has made outside of coroutines are waited for, as threads are; others are cancelled at the
    end, as asyncio.run does.
    """
    made: set[Any] = set()
    try:
        value, made = _run(program, namespace)
        return value
    finally:
        if _top_level is not None and _is_offered:
            _top_level.finish(made)


def run_call(program: Program, namespace: dict[str, Any]) -> object:
    """The same in a session, where tasks stay: what the call has made has begun when it ends."""
    value, made = _run(program, namespace)
    if made and _top_level is not None:
        _top_level.step()
    return value


def offer_loop() -> TopLevel | None:
    """From now on the top level of programs has a loop, where asyncio is loaded; what is in a file finds none."""
    global _is_offered
    _is_offered = True
    if _top_level is not None:
        _top_level.offer()
    return _top_level


def may_need_asyncio(program: Program) -> bool:
    """False where nothing that the program says can start an event loop."""
    return program.is_async or "asyncio" in program.source


def prepare_asyncio() -> None:
    """Lets asyncio.run() be called where a loop runs already, as under a top-level `await`: on a thread of its own."""
    global _asyncio_run, _top_level
    if _asyncio_run is not None:
        return
    with loaded_later():
        import asyncio
        import asyncio.runners
    import contextvars

    original = asyncio.run

    @functools.wraps(original)
    def run(main: Any, **options: Any) -> Any:
        # Not by get_running_loop(): what it raises would stand in front of whatever the code raises.
        if asyncio._get_running_loop() is None:
            try:
                return original(main, **options)
            finally:
                if _is_offered:
                    top_level.settle_in()
        from concurrent.futures import ThreadPoolExecutor

        context = contextvars.copy_context()
        with ThreadPoolExecutor(1, "asyncio-run") as pool:
            return pool.submit(context.run, functools.partial(original, main, **options)).result()

    _asyncio_run = original
    asyncio.run = asyncio.runners.run = run
    _top_level = top_level = TopLevel()
    if _is_offered:
        top_level.offer()


def _run(program: Program, namespace: dict[str, Any]) -> tuple[object, set[Any]]:
    """The value, and the tasks that were made outside of coroutines and are not done."""
    if program.is_async:
        return _as_task(_run_parts(program, namespace)), set()
    value: object = None
    for part in program.parts:
        value = eval(part, namespace)
    made = _top_level.tasks() if _top_level is not None and _is_offered else set()
    return (_as_task(_await(value)) if _is_awaitable(value) else value), made


def _as_task(coroutine: Any) -> object:
    prepare_asyncio()
    return _top_level.run(coroutine) if _top_level is not None and _is_offered else _asyncio_run(coroutine)


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
