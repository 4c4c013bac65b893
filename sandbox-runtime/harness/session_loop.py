"""The event loop of a session: one for all of its calls, so that what one of them has started goes on in the next.

Loads asyncio only when some code awaits.
"""

from __future__ import annotations

from typing import Any


class SessionLoop:
    """Made when it is needed first."""

    def __init__(self) -> None:
        self._loop: Any = None

    def run(self, coroutine: Any) -> object:
        """Its value. A KeyboardInterrupt is raised from where the code was, also where that was waiting."""
        loop = self._ready()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            if task.done():
                raise
            # It came while the loop itself was waiting: the code has not seen it.
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException as error:
                raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
            raise interrupt from None

    def settle_in(self) -> None:
        """Makes it the current one again, which asyncio.run() of the code before has ended."""
        if self._loop is not None and not self._loop.is_closed():
            self._asyncio.set_event_loop(self._loop)

    def wait_for(self, fd: int) -> None:
        """Returns when `fd` can be read; until then tasks of earlier calls go on."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        while True:
            readable = loop.create_future()
            loop.add_reader(fd, _set, readable)
            try:
                loop.run_until_complete(readable)
                return
            except BaseException:
                # What a task raised that ends a program; asyncio has ended that task, and there is no program to end.
                continue
            finally:
                loop.remove_reader(fd)

    def _ready(self) -> Any:
        if self._loop is None or self._loop.is_closed():
            import asyncio

            self._asyncio = asyncio
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop


def _set(readable: Any) -> None:
    if not readable.done():
        readable.set_result(None)
