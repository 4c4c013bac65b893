"""The event loop of the code's top level: there from the beginning, and made only when somebody asks for it.

Code at the top level is in this loop's thread but not in the loop: asyncio.create_task and what else looks for a loop
find it, and asyncio.run and other loops run as they do where there is none. It runs while the code awaits, and at its
end.
In a session it is one for all calls, so that what one of them has started goes on in the next.

Loads asyncio only when it is made, since that takes as long as starting the interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from os import register_at_fork
from threading import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TopLevel:
    """The loop that is current now, and how it is run. To be made in the main thread."""

    def __init__(self) -> None:
        import asyncio

        self._asyncio = asyncio
        self._main = get_ident()
        self._kind = _lazy_loop()
        self._loop: Any = self._kind()
        self._is_offered = False

    def settle_in(self) -> None:
        """Makes it the current one again, which asyncio.run() has ended; a new one where the code has closed it."""
        if get_ident() != self._main:
            return
        if self._loop.is_made and self._loop.is_closed():
            self._loop = self._kind()
        self._asyncio.set_event_loop(self._loop)

    def run(self, coroutine: Any) -> object:
        """Its value. A KeyboardInterrupt is raised from where the code was, also where that was waiting."""
        self.settle_in()
        loop = self._loop
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

    def tasks(self) -> set[Any]:
        """Those that are not done."""
        return self._asyncio.all_tasks(self._loop) if self._is_open else set()

    def step(self) -> None:
        """Lets what was started begin, and what can go on."""
        if self.tasks():
            self.run(self._asyncio.sleep(0))

    def wait_for(self, fd: int) -> None:
        """Returns when `fd` can be read; until then tasks of earlier calls go on."""
        loop = self._loop
        while self._is_open:
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

    def finish(self, tasks: Iterable[Any]) -> None:
        """The end of a run: waits for these tasks, as for threads, and does what asyncio.run() does at its end."""
        if not self._is_open:
            return
        loop, asyncio = self._loop, self._asyncio
        waited_for = set(tasks)
        try:
            if waited_for:
                self.run(asyncio.wait(waited_for))
        finally:
            asyncio.runners._cancel_all_tasks(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            asyncio.set_event_loop(None)
            loop.close()

    @property
    def _is_open(self) -> bool:
        return self._loop.is_made and not self._loop.is_closed()

    def offer(self) -> None:
        """Has code that is in no loop find this one: where it makes a task, and where its top level asks for a loop."""
        self.settle_in()
        if self._is_offered:
            return
        self._is_offered = True
        register_at_fork(after_in_child=lambda: self._loop.leave_to_child())
        asyncio = self._asyncio
        is_running = asyncio._get_running_loop
        true_loop, true_task = asyncio.get_running_loop, asyncio.create_task

        def get_running_loop() -> Any:
            # Others that ask want to know whether they are called by a coroutine.
            name = sys._getframe(1).f_globals.get("__name__")
            is_top = name in ("__main__", "__mp_main__") and get_ident() == self._main
            if not is_top or is_running() is not None:
                return true_loop()
            self.settle_in()
            return self._loop

        def create_task(coro: Any, **options: Any) -> Any:
            if get_ident() != self._main or is_running() is not None:
                return true_task(coro, **options)
            self.settle_in()
            return self._loop.create_task(coro, **options)

        for ours, theirs in ((get_running_loop, true_loop), (create_task, true_task)):
            ours.__doc__, ours.__module__, ours.__qualname__ = (
                theirs.__doc__,
                theirs.__module__,
                theirs.__name__,
            )
        asyncio.get_running_loop = get_running_loop
        asyncio.create_task = asyncio.tasks.create_task = create_task


def _lazy_loop() -> Any:
    """The class of a loop that has its descriptors from its first use on."""
    import asyncio
    import selectors

    class TopLoop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            """Leaves everything to __getattr__: most code never looks."""

        def __getattr__(self, name: str) -> Any:
            # Only of what is missing.
            if self.is_made:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.is_made = True
            super().__init__()
            return getattr(self, name)

        def __del__(self, *args: Any) -> None:
            if self.is_made:
                super().__del__(*args)

        is_made = False

        def leave_to_child(self) -> None:
            """In a forked process: what is done to descriptors that both share would be done to both."""
            if not self.is_made or self.is_closed():
                return
            shared = self._selector
            watched = list(shared.get_map().values())
            shared.close()
            self._selector = selectors.DefaultSelector()
            for key in watched:
                self._selector.register(key.fileobj, key.events, key.data)
            self._close_self_pipe()
            self._make_self_pipe()

    return TopLoop


def _set(readable: Any) -> None:
    if not readable.done():
        readable.set_result(None)
