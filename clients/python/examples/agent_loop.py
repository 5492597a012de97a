"""An agent: a model that calls tools, every call supervised by sandboxd.

    python3 agent_loop.py [--model SCRIPT]

The model here is a script, so that the example runs without an account: a JSON
list of tool calls, one a turn. Put a real one into Model.next; everything else
stays as it is.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, Callable, Dict, List, Optional

from sandboxd import Agent, Denied, SandboxdError, Session, requires_approval

SCRIPT: List[Dict[str, Any]] = [
    {"tool": "bash", "args": {"command": "ls"}},
    {"tool": "bash", "args": {"command": "rm -rf /"}},
    {"tool": "send_email", "args": {"to": "anna@example.org", "subject": "done", "body": "…"}},
]


class Model:
    """A language model's double: given what its last call answered, it says
    which tool to call next, or nothing."""

    def __init__(self, script: List[Dict[str, Any]]) -> None:
        self.script = iter(script)

    def next(self, answer: Optional[str]) -> Optional[Dict[str, Any]]:
        return next(self.script, None)


def tools(s: Session) -> Dict[str, Callable[..., str]]:
    def bash(command: str) -> str:
        result = s.run(command)
        return "exit %d\n%s%s%s" % (result.code, result.out, result.err, result.refused)

    @requires_approval(description=lambda a: "Send email to %s: %s" % (a["to"], a["subject"]), exclude_keys={"body"})
    def send_email(to: str, subject: str, body: str) -> str:
        return "sent to " + to

    return {"bash": bash, "send_email": send_email}


def loop(model: Model, s: Session) -> None:
    offered = tools(s)
    answer: Optional[str] = None
    while True:
        call = model.next(answer)
        if call is None:
            return
        try:
            answer = offered[call["tool"]](**call["args"])
        except Denied as refusal:
            answer = str(refusal)  # the model reads why, and what to do instead
            print("%s: refused (%s)" % (call["tool"], refusal.code), flush=True)
            if refusal.mode == "hard":
                return  # a person wants to be heard first
            continue
        except SandboxdError as e:
            answer = "failed: %s" % e
        print("%s: %s" % (call["tool"], answer.strip()), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", help="a file with the calls to make")
    options = parser.parse_args()
    script = SCRIPT
    if options.model:
        with open(options.model) as f:
            script = json.load(f)
    with Agent().session("agent-loop.py") as session:
        loop(Model(script), session)
