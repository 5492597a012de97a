"""The approver's side."""

from __future__ import annotations

import os
import time
from typing import Iterator, Optional

from . import wire
from .errors import Lost
from .operations import ApproverOperations
from .transport import socket_dir


class Approver(ApproverOperations):
    """approver.sock: where people, and programs acting for people, answer.

        approver = Approver()
        for news in approver.follow():
            if news["type"] == "requested":
                question = news["approval"]
                approver.allow(question) if a_person_says_yes(question) else approver.deny(question)
    """

    def __init__(self, socket: str = "", timeout: Optional[float] = None) -> None:
        super().__init__(socket or os.path.join(socket_dir(), "approver.sock"), "", timeout)

    def allow(
        self,
        question: wire.Approval,
        *,
        scope: str = "",
        lifetime: float = 0,
        note: str = "",
        suggestion: str = "",
        widening: str = "",
        confirm: bool = False,
    ) -> wire.Decided:
        """Answers yes to exactly what was shown. Where the answer has
        `confirm_again`, nothing is decided until the person says yes once more:
        then call it again with confirm, and with the `rev` that came back.
        lifetime is in seconds."""
        return self.approval_decide(
            id=question["id"],
            rev=question["rev"],
            hash=question["hash"],
            allow=True,
            scope=scope or None,
            for_ms=int(lifetime * 1000) or None,
            note=note or None,
            suggestion=suggestion or None,
            widening=widening or None,
            confirm=confirm or None,
        )

    def deny(
        self, question: wire.Approval, *, note: str = "", soft: bool = False, scope: str = ""
    ) -> wire.Decided:
        """Answers no. The agent gets the note. soft refuses this call only;
        else everything is refused until the user speaks."""
        return self.approval_decide(
            id=question["id"],
            rev=question["rev"],
            hash=question["hash"],
            allow=False,
            scope=scope or None,
            note=note or None,
            mode="soft" if soft else None,
        )

    def follow(self, after: int = 0) -> Iterator[wire.News]:
        """What happens, without an end: first what is pending, then each event as it
        comes. A lost connection is made again where it ended; where the daemon is
        gone, NoDaemon is raised."""
        lost = 0
        while True:
            try:
                for news in self.events(after=after or None):
                    after = max(after, news.get("seq", 0))
                    lost = 0
                    yield news
            except Lost:
                pass
            lost += 1
            time.sleep(min(0.05 * lost, 2))
