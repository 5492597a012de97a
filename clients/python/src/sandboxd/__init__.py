"""Ask sandboxd to run commands, touch files and judge calls, and answer its questions.

    from sandboxd import Agent, Denied, requires_approval

    with Agent().session("my-agent") as s:
        try:
            result = s.run("make test", output=lambda kind, piece: print(piece.decode(), end=""))
        except Denied as refusal:
            tell_the_model(str(refusal))

        @requires_approval()
        def send_email(to: str, subject: str) -> None: ...

With asyncio, AsyncSession has the same, awaited.

The daemon decides and runs; this package only asks. It needs nothing but the
standard library. docs/protocol.md in the same repository is the whole story.
"""

from . import wire
from .aio import AsyncSession
from .approver import Approver
from .errors import Denied, Lost, NoDaemon, SandboxdError
from .session import Agent, Process, Result, Session
from .transport import socket_dir
from .wrap import requires_approval

__all__ = [
    "Agent",
    "Approver",
    "AsyncSession",
    "Denied",
    "Lost",
    "NoDaemon",
    "Process",
    "Result",
    "SandboxdError",
    "Session",
    "requires_approval",
    "socket_dir",
    "wire",
]
