"""The agent's side for asyncio."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from typing import Any, Callable, Dict, List, Optional, TypeVar, Union

from . import wire
from .session import Agent, Command, Process, Result, Session, current

T = TypeVar("T")


def in_thread(call: Callable[..., T], *args: Any, **options: Any) -> "asyncio.Future[T]":
    """Makes a call in a thread of its own: many may wait for a person, and asyncio's
    own threads are few. A result that nobody waits for is dropped."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[T]" = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(functools.partial(call, *args, **options))
        except BaseException as e:
            error = e
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            pass  # the loop is closed

    threading.Thread(target=work, daemon=True, name="sandboxd").start()
    return future


class AsyncSession:
    """A session whose calls are awaited. `session` is the same one without asyncio.

        async with AsyncSession("my-agent") as s:
            result = await s.run("make test")

    Cancelling `run` ends its command; cancelling another call leaves it to the daemon.
    """

    def __init__(self, agent: str = "", root: str = "", label: str = "", *, to: Optional[Agent] = None) -> None:
        self._open = functools.partial((to or Agent()).session, agent, root, label)
        self._session: Optional[Session] = None
        self._tokens: "List[contextvars.Token[Optional[Session]]]" = []

    @property
    def session(self) -> Session:
        """The open session."""
        if self._session is None:
            raise RuntimeError("the session is not open: async with AsyncSession(…) as s")
        return self._session

    async def __aenter__(self) -> "AsyncSession":
        self._session = await in_thread(self._open)
        self._tokens.append(current.set(self._session))
        return self

    async def __aexit__(self, *_: object) -> None:
        current.reset(self._tokens.pop())
        await in_thread(self.session.close)

    async def turn(self) -> wire.Turn:
        """As Session.turn."""
        return await in_thread(self.session.turn)

    async def run(
        self, command: Command, *, output: Optional[Callable[[str, bytes], None]] = None, **options: Any
    ) -> Result:
        """As Session.run. output is called by the event loop."""
        loop = asyncio.get_running_loop()

        def passed(kind: str, piece: bytes) -> None:
            if output:
                loop.call_soon_threadsafe(output, kind, piece)

        start: "asyncio.Future[Process]" = in_thread(self.session.start, command, follow=True, **options)
        try:
            process = await asyncio.shield(start)
            return await in_thread(process.wait, passed)
        except asyncio.CancelledError:
            start.add_done_callback(_cancel)
            raise

    async def check(self, command: Command, *, cwd: str = "", dry_run: bool = True) -> wire.Verdict:
        """As Session.check."""
        return await in_thread(self.session.check, command, cwd=cwd, dry_run=dry_run)

    async def ask(self, tool: str, args: Dict[str, Any], **options: Any) -> wire.Verdict:
        """As Session.ask."""
        return await in_thread(self.session.ask, tool, args, **options)

    async def file(self, op: str, path: str = "", **fields: Any) -> wire.FileResult:
        """As Session.file: every operation of the file tool."""
        return await in_thread(self.session.file, op, path, **fields)

    async def read(self, path: str, *, offset: int = 0, limit: int = 0) -> bytes:
        """As Session.read."""
        return await in_thread(self.session.read, path, offset=offset, limit=limit)

    async def read_text(self, path: str) -> str:
        """As Session.read_text."""
        return await in_thread(self.session.read_text, path)

    async def write(self, path: str, content: Union[str, bytes], *, if_hash: str = "") -> wire.FileResult:
        """As Session.write."""
        return await in_thread(self.session.write, path, content, if_hash=if_hash)

    async def edit(self, path: str, find: str, replace: str, *, count: int = 1) -> wire.FileResult:
        """As Session.edit."""
        return await in_thread(self.session.edit, path, find, replace, count=count)

    async def undo(self, undo_id: str) -> wire.FileResult:
        """As Session.undo."""
        return await in_thread(self.session.undo, undo_id)


def _cancel(start: "asyncio.Future[Process]") -> None:
    """Ends the command of a start that nobody waits for."""
    if start.cancelled() or start.exception() is not None:
        return
    process = start.result()

    def end() -> None:
        try:
            process.cancel()
        except Exception:
            pass  # it has ended

    threading.Thread(target=end, daemon=True, name="sandboxd").start()
