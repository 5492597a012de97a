"""The agent's side: sessions, commands, files."""

from __future__ import annotations

import base64
import contextvars
import itertools
import os
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

from . import wire
from .errors import Denied, Lost, NoDaemon, SandboxdError, denied_of
from .operations import AgentOperations
from .transport import Body, socket_dir

Command = Union[str, Sequence[str]]

current: "contextvars.ContextVar[Optional[Session]]" = contextvars.ContextVar("sandboxd_session", default=None)
"""The session that `with` entered last: what requires_approval asks in."""


class Agent(AgentOperations):
    """agent.sock: where programs ask. Every operation of the protocol is a method;
    `session` is where to begin.

        with Agent().session("my-agent") as s:
            print(s.run("git status").out)
    """

    def __init__(self, socket: str = "", secret: str = "", timeout: Optional[float] = None) -> None:
        super().__init__(socket or os.path.join(socket_dir(), "agent.sock"), secret, timeout)

    def session(self, agent: str = "", root: str = "", label: str = "") -> "Session":
        """Opens a session for the project at root (default: the repository around
        the working directory)."""
        opened = self.session_open(
            kind="api",
            agent=agent or None,
            label=label or None,
            root=os.path.abspath(root) if root else None,
            cwd=os.getcwd(),
        )
        return Session(self, opened)


class Result(NamedTuple):
    """How a command ended."""

    code: int  # its exit status; 128+n where signal n ended it; 124 where it took too long
    stdout: bytes
    stderr: bytes
    exit: wire.Exit  # everything that the daemon says of it

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.stderr.decode(errors="replace")

    @property
    def refused(self) -> str:
        """What the sandbox refused or hid, a line each with its remedy; "" for nothing. A model that reads only the
        output takes a hidden file for one that does not exist: tools return this with it."""
        lines = []
        for v in self.exit.get("violations") or []:
            if not v.get("minor"):
                what = " ".join(filter(None, (v.get("access") or v["kind"], v["object"])))
                rest = "; ".join(filter(None, (v.get("rule"), v.get("hint"))))
                lines.append("the sandbox refused %s%s\n" % (what, rest and ": " + rest))
        return "".join(lines)


class Process:
    """A command that was started. Iterating yields its events; where the
    connection is lost, it is made again, and no event is lost or doubled."""

    def __init__(self, agent: AgentOperations, id: str, events: Optional[Iterator[wire.Event]] = None) -> None:
        self.id = id
        self._agent = agent
        self._next = 1
        self._events = events  # that are open already, from the first on

    def __iter__(self) -> Iterator[wire.Event]:
        lost = 0
        while True:
            try:
                events, self._events = self._events, None
                if events is None:
                    events = self._agent.exec_events(id=self.id, from_seq=self._next)
                for event in events:
                    self._next = event["seq"] + 1
                    lost = 0
                    yield event
                    if event["type"] == "exit":
                        return
            except Lost:
                pass
            lost += 1
            if lost > 3:
                raise Lost("the daemon is gone, and the command with it")
            time.sleep(0.05 * lost)

    def write(self, data: Body, eof: bool = False) -> None:
        """Sends input; returns when the command has taken it."""
        self._agent.exec_stdin(id=self.id, data=data, eof=eof or None)

    def close_stdin(self) -> None:
        """Ends the input."""
        self.write(b"", eof=True)

    def signal(self, name: str) -> None:
        """Sends a signal such as "SIGINT"."""
        self._agent.exec_signal(id=self.id, signal=name)

    def resize(self, cols: int, rows: int) -> None:
        """Sets the size of the command's terminal."""
        self._agent.exec_resize(id=self.id, cols=cols, rows=rows)

    def cancel(self) -> None:
        """Ends the command's whole tree."""
        self._agent.exec_cancel(id=self.id)

    def wait(self, output: Optional[Callable[[str, bytes], None]] = None) -> Result:
        """Follows the command to its end. output gets each piece as it comes, with
        "stdout", "stderr" or "pty".

        Raises Denied where a person or a rule said no, and SandboxdError where
        something of the daemon's failed.
        """
        parts: Dict[str, List[bytes]] = {"stdout": [], "stderr": [], "pty": []}
        for event in self:
            kind = event["type"]
            if kind in parts:
                piece = base64.b64decode(event.get("data", ""))
                parts[kind].append(piece)
                if output:
                    output(kind, piece)
            if kind == "exit":
                return self._end(event["exit"], b"".join(parts["stdout"] + parts["pty"]), b"".join(parts["stderr"]))
        raise Lost("the command's end was not reported")

    @staticmethod
    def _end(end: wire.Exit, out: bytes, err: bytes) -> Result:
        if end.get("denied"):
            raise denied_of(end["denied"])
        if end.get("error"):
            e = end["error"]
            raise SandboxdError(e.get("code", "internal"), e.get("message", ""), e.get("hint", ""))
        code = end.get("code", -1)
        if end.get("timed_out"):
            code = 124
        elif end.get("signal_num"):
            code = 128 + end["signal_num"]
        return Result(code, out, err, end)


class Session:
    """A session: one agent at work in one project. Use it with `with`."""

    def __init__(self, agent: AgentOperations, opened: wire.Session) -> None:
        self.id = opened["id"]
        self.root = opened.get("root", "")
        self.opened = opened
        self.agent = Agent(agent.path, opened.get("secret", "") or agent.secret, agent.timeout)
        self._tokens: "List[contextvars.Token[Optional[Session]]]" = []

    def __enter__(self) -> "Session":
        self._tokens.append(current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        current.reset(self._tokens.pop())
        self.close()

    def close(self) -> None:
        """Ends the session and what runs in it. A daemon that has ended has ended it."""
        try:
            self.agent.session_close(id=self.id)
        except SandboxdError as e:
            if not isinstance(e, NoDaemon) and e.code not in ("not_found", "shutting_down"):
                raise

    def turn(self) -> wire.Turn:
        """The user spoke: a stop and what was granted for the turn are cleared."""
        return self.agent.session_turn(id=self.id)

    def start(
        self,
        command: Command,
        *,
        cwd: str = "",
        env: Optional[Dict[str, str]] = None,
        stdin: Union[None, bytes, str] = None,
        stream_stdin: bool = False,
        tty: bool = False,
        cols: int = 0,
        rows: int = 0,
        timeout: float = 0,
        keep: bool = False,
        description: str = "",
        call_id: str = "",
        batch: Optional[wire.BatchPlace] = None,
        follow: bool = False,
    ) -> Process:
        """Starts a line of shell (str) or a command without a shell (a sequence).
        timeout is in seconds. With keep it continues without a listener. With
        follow its events are opened in the same exchange, for a caller that reads them
        at once."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        request: Dict[str, Any] = dict(
            session=self.id,
            command=command if isinstance(command, str) else None,
            argv=None if isinstance(command, str) else list(command),
            cwd=cwd or None,
            env=env,
            stdin="stream" if stream_stdin else "inline" if data is not None else None,
            stdin_data=None if data is None else base64.b64encode(data).decode(),
            tty=tty or None,
            cols=cols or None,
            rows=rows or None,
            timeout_ms=int(timeout * 1000) or None,
            keep=keep or None,
            description=description or None,
            call_id=call_id or None,
            batch=batch,
            idempotency_key=uuid.uuid4().hex,
        )
        begin = self._follow if follow else self._start
        try:
            return begin(request)
        except Lost:  # the key prevents a second start
            return begin(request)

    def _start(self, request: Dict[str, Any]) -> Process:
        return Process(self.agent, self.agent.exec_start(**request)["id"])

    def _follow(self, request: Dict[str, Any]) -> Process:
        events = self.agent.exec_run(**request)
        for first in events:
            return Process(self.agent, first["queued"]["id"], itertools.chain([first], events))
        raise Lost("the command's events ended before the first")

    def run(
        self, command: Command, *, output: Optional[Callable[[str, bytes], None]] = None, **options: Any
    ) -> Result:
        """Runs a command to its end: `start` with follow, and `wait`."""
        return self.start(command, follow=True, **options).wait(output)

    def check(self, command: Command, *, cwd: str = "", dry_run: bool = True) -> wire.Verdict:
        """What would be decided about a command. Without dry_run the decision is
        real and recorded, and the caller runs the command itself."""
        return self.agent.check(
            session=self.id,
            command=command if isinstance(command, str) else None,
            argv=None if isinstance(command, str) else list(command),
            cwd=cwd or None,
            dry_run=dry_run or None,
        )

    def ask(
        self, tool: str, args: Dict[str, Any], *, description: str = "", call_id: str = "", cwd: str = ""
    ) -> wire.Verdict:
        """Asks whether a tool of the agent's own may be called now, and waits for a
        person where one must be asked. Raises Denied where it may not."""
        verdict = self.agent.check(
            session=self.id,
            tool=tool,
            args=args,
            description=description or None,
            call_id=call_id or None,
            cwd=cwd or None,
        )
        if not verdict.get("allowed"):
            raise denied_of(verdict["denied"]) if verdict.get("denied") else Denied("denied", verdict.get("why", ""))
        return verdict

    def file(self, op: str, path: str = "", **fields: Any) -> wire.FileResult:
        """Carries out a file operation: read, list, stat, grep, create, write, edit,
        multi-edit, append, insert, delete, move, copy, mkdir, rmdir, undo."""
        return self.agent.file(op=op, session=self.id, path=path or None, **fields)

    def read(self, path: str, *, offset: int = 0, limit: int = 0) -> bytes:
        """The bytes of a file."""
        r = self.file("read", path, encoding="base64", offset=offset or None, limit=limit or None)
        content = r.get("content", "")
        return base64.b64decode(content) if r.get("encoding") == "base64" else content.encode()

    def read_text(self, path: str) -> str:
        """A file of UTF-8 text."""
        return self.read(path).decode()

    def write(self, path: str, content: Union[str, bytes], *, if_hash: str = "") -> wire.FileResult:
        """Writes a whole file. With if_hash only where its content still has that hash."""
        if isinstance(content, bytes):
            text = base64.b64encode(content).decode()
            return self.file("write", path, content=text, encoding="base64", if_hash=if_hash or None)
        return self.file("write", path, content=content, if_hash=if_hash or None)

    def edit(self, path: str, find: str, replace: str, *, count: int = 1) -> wire.FileResult:
        """Replaces a text that occurs exactly count times."""
        return self.file("edit", path, edits=[{"find": find, "replace": replace, "count": count}])

    def list(self, path: str = "", **fields: Any) -> "List[wire.FileInfo]":
        """What is in a directory."""
        return self.file("list", path, **fields).get("entries", [])

    def grep(self, pattern: str, path: str = "", **fields: Any) -> "List[wire.Match]":
        """The lines that match a regular expression."""
        return self.file("grep", path, pattern=pattern, **fields).get("matches", [])

    def undo(self, undo_id: str) -> wire.FileResult:
        """Brings back what was before a change."""
        return self.file("undo", undo_id=undo_id)
