"""What can go wrong."""

from __future__ import annotations

from typing import Any, Dict, Optional


class SandboxdError(Exception):
    """The daemon did not do what was asked. `code` is stable, the rest is for people."""

    def __init__(self, code: str, message: str, hint: str = "", status: int = 0) -> None:
        super().__init__(message + (" (%s)" % hint if hint else ""))
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


class Denied(SandboxdError, PermissionError):
    """A person or a rule said no. str() of it is ready to hand to a model.

    `note` is what the person wrote. `mode` is "hard" where everything is refused
    until the user speaks again, and "soft" where the agent may try something else.
    """

    def __init__(
        self, code: str, message: str, note: str = "", by: str = "", mode: str = ""
    ) -> None:
        super().__init__(code, message)
        self.note = note
        self.by = by
        self.mode = mode


class NoDaemon(SandboxdError):
    """Nobody serves the socket."""

    def __init__(self, socket: str) -> None:
        super().__init__(
            "no_daemon", "no daemon serves %s" % socket, "start one: sbx status"
        )


class Lost(SandboxdError):
    """The connection ended in the middle of an answer."""

    def __init__(self, what: str) -> None:
        super().__init__("lost", "the connection was lost: %s" % what)


def error_of(answer: Any, status: int) -> SandboxdError:
    """The exception for an answer that is a refusal."""
    e: Optional[Dict[str, Any]] = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(e, dict):
        return SandboxdError("internal", "the daemon answered %d without saying why" % status, "", status)
    code = str(e.get("code", "internal"))
    message, hint = str(e.get("message", "")), str(e.get("hint", ""))
    if code in ("denied", "blocked", "timeout", "stopped"):
        denied = Denied(code, message + (" (%s)" % hint if hint else ""))
        denied.status = status
        return denied
    return SandboxdError(code, message, hint, status)


def denied_of(denial: Any) -> Denied:
    """The exception for the `denied` of a verdict or an exit."""
    return Denied(
        str(denial.get("code", "denied")),
        str(denial.get("message", "it was refused")),
        str(denial.get("note", "")),
        str(denial.get("by", "")),
        str(denial.get("mode", "")),
    )
