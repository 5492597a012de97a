"""Any function behind approval."""

from __future__ import annotations

import functools
import inspect
import json
from typing import Any, Callable, Dict, Iterable, Optional, TypeVar, Union, cast

from .aio import in_thread
from .errors import SandboxdError
from .session import Session, current

F = TypeVar("F", bound=Callable[..., Any])
Args = Dict[str, Any]


def requires_approval(
    session: Optional[Session] = None,
    *,
    description: Union[None, str, Callable[[Args], str]] = None,
    exclude_keys: Iterable[str] = (),
    payload: Optional[Callable[[Args], Args]] = None,
    tool: str = "",
) -> Callable[[F], F]:
    """Puts a function behind approval: each call is first shown to sandboxd as a
    call of the tool `tool` (default: the function's name), and to a person where
    its rules ask. The function runs only after a yes; else Denied is raised, whose
    text is ready for a model.

        @requires_approval(description=lambda a: "Send email to " + a["to"], exclude_keys={"body"})
        def send_email(to: str, subject: str, body: str) -> str: ...

    Without `session`, the one that `with` entered is asked. description says what
    the call is for. The arguments by name are the payload; exclude_keys leaves
    some out, payload makes another of them. Works for `async def` too.
    """

    def decorate(function: F) -> F:
        name = tool or function.__name__
        signature = inspect.signature(function)

        def ask(args: Any, kwargs: Any, s: Optional[Session]) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            named = dict(bound.arguments)
            for p in signature.parameters.values():  # **kwargs are arguments too
                if p.kind is p.VAR_KEYWORD:
                    named.update(named.pop(p.name, {}))
            shown = payload(named) if payload else {k: v for k, v in named.items() if k not in set(exclude_keys)}
            said = description(named) if callable(description) else description or ""
            if s is None:
                raise SandboxdError("no_session", "%s needs approval, and there is no session to ask in" % name, "with Agent().session(): …")
            s.ask(name, _plain(shown), description=said)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                await in_thread(ask, args, kwargs, session or current.get())
                return await function(*args, **kwargs)

            return cast(F, later)

        @functools.wraps(function)
        def now(*args: Any, **kwargs: Any) -> Any:
            ask(args, kwargs, session or current.get())
            return function(*args, **kwargs)

        return cast(F, now)

    return decorate


def _plain(args: Args) -> Args:
    """The arguments as JSON has them; what JSON has not, as Python shows it."""
    plain: Args = json.loads(json.dumps(args, default=repr))
    return plain
