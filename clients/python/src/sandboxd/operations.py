"""One method for each operation of the protocol, as docs/openapi.yaml has them.

Written by TestGenerated in clients/. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from . import wire
from .transport import Body, Transport


class SharedOperations(Transport):
    """What both sockets offer."""

    def change_land(
        self,
        *,
        id: str,
        session: Optional[str] = None,
        paths: Optional[List[str]] = None,
        drop: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        call_id: Optional[str] = None,
        inline: Optional[bool] = None,
        description: Optional[str] = None,
    ) -> wire.FileResult:
        """land or drop a held change set, or some of its paths: POST /v1/changes/{id}"""
        answer: wire.FileResult = self.ask(
            "POST",
            "/v1/changes/" + self.quote(id),
            body={"session": session, "paths": paths, "drop": drop, "dry_run": dry_run, "call_id": call_id, "inline": inline, "description": description},
        )
        return answer

    def change_list(
        self,
        *,
        session: Optional[str] = None,
    ) -> wire.HeldChanges:
        """what commands wrote and what did not land: GET /v1/changes"""
        answer: wire.HeldChanges = self.ask(
            "GET",
            "/v1/changes",
            query={"session": session},
        )
        return answer

    def change_show(
        self,
        *,
        id: str,
        session: Optional[str] = None,
    ) -> wire.HeldChange:
        """one held change set with its differences: GET /v1/changes/{id}"""
        answer: wire.HeldChange = self.ask(
            "GET",
            "/v1/changes/" + self.quote(id),
            query={"session": session},
        )
        return answer

    def doctor(
        self,
        *,
        prove: Optional[bool] = None,
    ) -> wire.Doctor:
        """examine the host; with `prove`, attempt each forbidden act: GET /v1/doctor"""
        answer: wire.Doctor = self.ask(
            "GET",
            "/v1/doctor",
            query={"prove": prove},
        )
        return answer

    def exec_cancel(
        self,
        *,
        id: str,
    ) -> wire.Done:
        """end the command's whole tree: DELETE /v1/exec/{id}"""
        answer: wire.Done = self.ask(
            "DELETE",
            "/v1/exec/" + self.quote(id),
        )
        return answer

    def exec_events(
        self,
        *,
        id: str,
        from_seq: Optional[int] = None,
        watch: Optional[bool] = None,
    ) -> Iterator[wire.Event]:
        """follow a command: GET /v1/exec/{id}/events"""
        answer: Iterator[wire.Event] = self.lines(
            "GET",
            "/v1/exec/" + self.quote(id) + "/events",
            query={"from_seq": from_seq, "watch": watch},
        )
        return answer

    def file(
        self,
        *,
        op: str,
        session: Optional[str] = None,
        call_id: Optional[str] = None,
        path: Optional[str] = None,
        to: Optional[str] = None,
        content: Optional[str] = None,
        encoding: Optional[str] = None,
        edits: Optional[List[wire.Edit]] = None,
        anchor: Optional[str] = None,
        line: Optional[int] = None,
        before: Optional[bool] = None,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
        pattern: Optional[str] = None,
        glob: Optional[str] = None,
        recursive: Optional[bool] = None,
        if_hash: Optional[str] = None,
        mode: Optional[int] = None,
        parents: Optional[bool] = None,
        exact: Optional[bool] = None,
        context: Optional[int] = None,
        undo_id: Optional[str] = None,
        of_session: Optional[str] = None,
        force: Optional[bool] = None,
        rest: Optional[bool] = None,
        paths: Optional[List[str]] = None,
        dry_run: Optional[bool] = None,
        inline: Optional[bool] = None,
        description: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        batch: Optional[wire.BatchPlace] = None,
    ) -> wire.FileResult:
        """carry out a file operation; an approver: undo a run: POST /v1/files/{op}"""
        answer: wire.FileResult = self.ask(
            "POST",
            "/v1/files/" + self.quote(op),
            body={"session": session, "call_id": call_id, "path": path, "to": to, "content": content, "encoding": encoding, "edits": edits, "anchor": anchor, "line": line, "before": before, "offset": offset, "limit": limit, "pattern": pattern, "glob": glob, "recursive": recursive, "if_hash": if_hash, "mode": mode, "parents": parents, "exact": exact, "context": context, "undo_id": undo_id, "of_session": of_session, "force": force, "rest": rest, "paths": paths, "dry_run": dry_run, "inline": inline, "description": description, "idempotency_key": idempotency_key, "batch": batch},
            key=idempotency_key,
        )
        return answer

    def job_list(
        self,
    ) -> wire.JobList:
        """what commands left running in the sessions that the caller may see: GET /v1/jobs"""
        answer: wire.JobList = self.ask(
            "GET",
            "/v1/jobs",
        )
        return answer

    def job_show(
        self,
        *,
        id: str,
    ) -> wire.Job:
        """one of them with its newest output: GET /v1/jobs/{id}"""
        answer: wire.Job = self.ask(
            "GET",
            "/v1/jobs/" + self.quote(id),
        )
        return answer

    def job_stop(
        self,
        *,
        id: str,
    ) -> wire.Job:
        """end it: POST /v1/jobs/{id}/stop"""
        answer: wire.Job = self.ask(
            "POST",
            "/v1/jobs/" + self.quote(id) + "/stop",
            body={},
        )
        return answer

    def profile(
        self,
        *,
        session: Optional[str] = None,
        path: Optional[str] = None,
        against: Optional[str] = None,
    ) -> wire.Profile:
        """show, explain or compare profiles: GET /v1/profile"""
        answer: wire.Profile = self.ask(
            "GET",
            "/v1/profile",
            query={"session": session, "path": path, "against": against},
        )
        return answer

    def session_close(
        self,
        *,
        id: str,
    ) -> wire.Closed:
        """end a session and what runs in it: DELETE /v1/sessions/{id}"""
        answer: wire.Closed = self.ask(
            "DELETE",
            "/v1/sessions/" + self.quote(id),
        )
        return answer

    def session_list(
        self,
    ) -> wire.SessionList:
        """the sessions that the caller may see: GET /v1/sessions"""
        answer: wire.SessionList = self.ask(
            "GET",
            "/v1/sessions",
        )
        return answer

    def session_turn(
        self,
        *,
        id: str,
        skills: Optional[List[wire.Skill]] = None,
    ) -> wire.Turn:
        """the user spoke: a new turn, and the stop is cleared: POST /v1/sessions/{id}/turn"""
        answer: wire.Turn = self.ask(
            "POST",
            "/v1/sessions/" + self.quote(id) + "/turn",
            body={"skills": skills},
        )
        return answer

    def status(
        self,
    ) -> wire.Status:
        """how the daemon and this host are: GET /v1/status"""
        answer: wire.Status = self.ask(
            "GET",
            "/v1/status",
        )
        return answer

    def version(
        self,
    ) -> wire.Version:
        """the daemon's version and abilities: GET /v1/version"""
        answer: wire.Version = self.ask(
            "GET",
            "/v1/version",
        )
        return answer


class AgentOperations(SharedOperations):
    """What agent.sock offers."""

    def batch(
        self,
        *,
        session: Optional[str] = None,
        id: Optional[str] = None,
        inline: Optional[bool] = None,
        calls: Optional[List[wire.BatchCall]] = None,
    ) -> wire.BatchResult:
        """carry out the calls of one model response, in order: POST /v1/batch"""
        answer: wire.BatchResult = self.ask(
            "POST",
            "/v1/batch",
            body={"session": session, "id": id, "inline": inline, "calls": calls},
        )
        return answer

    def check(
        self,
        *,
        session: Optional[str] = None,
        call_id: Optional[str] = None,
        tool: Optional[str] = None,
        command: Optional[str] = None,
        argv: Optional[List[str]] = None,
        args: Optional[Dict[str, Any]] = None,
        cwd: Optional[str] = None,
        cwd_unknown: Optional[bool] = None,
        env: Optional[Dict[str, str]] = None,
        tty: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        inline: Optional[bool] = None,
        description: Optional[str] = None,
        sandboxed: Optional[bool] = None,
        batch: Optional[wire.BatchPlace] = None,
        ticket_ms: Optional[int] = None,
    ) -> wire.Verdict:
        """decide without running: POST /v1/check"""
        answer: wire.Verdict = self.ask(
            "POST",
            "/v1/check",
            body={"session": session, "call_id": call_id, "tool": tool, "command": command, "argv": argv, "args": args, "cwd": cwd, "cwd_unknown": cwd_unknown, "env": env, "tty": tty, "dry_run": dry_run, "inline": inline, "description": description, "sandboxed": sandboxed, "batch": batch, "ticket_ms": ticket_ms},
        )
        return answer

    def check_after(
        self,
        *,
        session: Optional[str] = None,
        call_id: Optional[str] = None,
        command: Optional[str] = None,
        cwd: Optional[str] = None,
    ) -> wire.AfterCall:
        """say where the command of a call that has ended ran: POST /v1/check/after"""
        answer: wire.AfterCall = self.ask(
            "POST",
            "/v1/check/after",
            body={"session": session, "call_id": call_id, "command": command, "cwd": cwd},
        )
        return answer

    def exec_resize(
        self,
        *,
        id: str,
        cols: Optional[int] = None,
        rows: Optional[int] = None,
    ) -> wire.Done:
        """tell the command's terminal its size: POST /v1/exec/{id}/resize"""
        answer: wire.Done = self.ask(
            "POST",
            "/v1/exec/" + self.quote(id) + "/resize",
            body={"cols": cols, "rows": rows},
        )
        return answer

    def exec_run(
        self,
        *,
        session: Optional[str] = None,
        ticket: Optional[str] = None,
        open: Optional[wire.SessionRequest] = None,
        call_id: Optional[str] = None,
        command: Optional[str] = None,
        argv: Optional[List[str]] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        tty: Optional[bool] = None,
        cols: Optional[int] = None,
        rows: Optional[int] = None,
        timeout_ms: Optional[int] = None,
        stdin: Optional[str] = None,
        stdin_data: Optional[str] = None,
        inline: Optional[bool] = None,
        client: Optional[bool] = None,
        agent: Optional[bool] = None,
        server: Optional[bool] = None,
        profile: Optional[str] = None,
        hold: Optional[bool] = None,
        direct: Optional[bool] = None,
        keep: Optional[bool] = None,
        description: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        batch: Optional[wire.BatchPlace] = None,
        stdio: Optional[List[str]] = None,
    ) -> Iterator[wire.Event]:
        """queue a command and follow it: POST /v1/exec/events"""
        answer: Iterator[wire.Event] = self.lines(
            "POST",
            "/v1/exec/events",
            body={"session": session, "ticket": ticket, "open": open, "call_id": call_id, "command": command, "argv": argv, "cwd": cwd, "env": env, "tty": tty, "cols": cols, "rows": rows, "timeout_ms": timeout_ms, "stdin": stdin, "stdin_data": stdin_data, "inline": inline, "client": client, "agent": agent, "server": server, "profile": profile, "hold": hold, "direct": direct, "keep": keep, "description": description, "idempotency_key": idempotency_key, "batch": batch, "stdio": stdio},
            key=idempotency_key,
        )
        return answer

    def exec_signal(
        self,
        *,
        id: str,
        signal: Optional[str] = None,
    ) -> wire.Done:
        """send a signal: POST /v1/exec/{id}/signal"""
        answer: wire.Done = self.ask(
            "POST",
            "/v1/exec/" + self.quote(id) + "/signal",
            body={"signal": signal},
        )
        return answer

    def exec_start(
        self,
        *,
        session: Optional[str] = None,
        ticket: Optional[str] = None,
        open: Optional[wire.SessionRequest] = None,
        call_id: Optional[str] = None,
        command: Optional[str] = None,
        argv: Optional[List[str]] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        tty: Optional[bool] = None,
        cols: Optional[int] = None,
        rows: Optional[int] = None,
        timeout_ms: Optional[int] = None,
        stdin: Optional[str] = None,
        stdin_data: Optional[str] = None,
        inline: Optional[bool] = None,
        client: Optional[bool] = None,
        agent: Optional[bool] = None,
        server: Optional[bool] = None,
        profile: Optional[str] = None,
        hold: Optional[bool] = None,
        direct: Optional[bool] = None,
        keep: Optional[bool] = None,
        description: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        batch: Optional[wire.BatchPlace] = None,
        stdio: Optional[List[str]] = None,
    ) -> wire.ExecStarted:
        """queue a command: POST /v1/exec"""
        answer: wire.ExecStarted = self.ask(
            "POST",
            "/v1/exec",
            body={"session": session, "ticket": ticket, "open": open, "call_id": call_id, "command": command, "argv": argv, "cwd": cwd, "env": env, "tty": tty, "cols": cols, "rows": rows, "timeout_ms": timeout_ms, "stdin": stdin, "stdin_data": stdin_data, "inline": inline, "client": client, "agent": agent, "server": server, "profile": profile, "hold": hold, "direct": direct, "keep": keep, "description": description, "idempotency_key": idempotency_key, "batch": batch, "stdio": stdio},
            key=idempotency_key,
        )
        return answer

    def exec_stdin(
        self,
        *,
        id: str,
        data: Body = b"",
        eof: Optional[bool] = None,
    ) -> wire.Done:
        """send a piece of input, or its end: POST /v1/exec/{id}/stdin"""
        answer: wire.Done = self.ask(
            "POST",
            "/v1/exec/" + self.quote(id) + "/stdin",
            query={"eof": eof},
            raw=data,
        )
        return answer

    def session_open(
        self,
        *,
        agent: Optional[str] = None,
        label: Optional[str] = None,
        root: Optional[str] = None,
        cwd: Optional[str] = None,
        kind: Optional[str] = None,
        tty: Optional[bool] = None,
        land: Optional[str] = None,
        conversation: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> wire.Session:
        """open a session, or find the terminal's own again: POST /v1/sessions"""
        answer: wire.Session = self.ask(
            "POST",
            "/v1/sessions",
            body={"agent": agent, "label": label, "root": root, "cwd": cwd, "kind": kind, "tty": tty, "land": land, "conversation": conversation, "prompt": prompt},
        )
        return answer


class ApproverOperations(SharedOperations):
    """What approver.sock offers."""

    def advice(
        self,
    ) -> wire.Advice:
        """propose what would save questions: GET /v1/advice"""
        answer: wire.Advice = self.ask(
            "GET",
            "/v1/advice",
        )
        return answer

    def approval_decide(
        self,
        *,
        id: str,
        rev: int,
        hash: str,
        allow: bool,
        scope: Optional[str] = None,
        for_ms: Optional[int] = None,
        note: Optional[str] = None,
        key: Optional[str] = None,
        mode: Optional[str] = None,
        suggestion: Optional[str] = None,
        widening: Optional[str] = None,
        trust: Optional[str] = None,
        paths: Optional[List[str]] = None,
        confirm: Optional[bool] = None,
        presets: Optional[bool] = None,
    ) -> wire.Decided:
        """answer a question: POST /v1/approvals/{id}/decision"""
        answer: wire.Decided = self.ask(
            "POST",
            "/v1/approvals/" + self.quote(id) + "/decision",
            body={"rev": rev, "hash": hash, "allow": allow, "scope": scope, "for_ms": for_ms, "note": note, "key": key, "mode": mode, "suggestion": suggestion, "widening": widening, "trust": trust, "paths": paths, "confirm": confirm, "presets": presets},
        )
        return answer

    def approval_list(
        self,
    ) -> wire.ApprovalList:
        """the questions that wait: GET /v1/approvals"""
        answer: wire.ApprovalList = self.ask(
            "GET",
            "/v1/approvals",
        )
        return answer

    def approval_show(
        self,
        *,
        id: str,
        typing: Optional[bool] = None,
    ) -> wire.Approval:
        """one question whole, with what a person looks at: GET /v1/approvals/{id}"""
        answer: wire.Approval = self.ask(
            "GET",
            "/v1/approvals/" + self.quote(id),
            query={"typing": typing},
        )
        return answer

    def audit(
        self,
        *,
        session: Optional[str] = None,
        agent: Optional[str] = None,
        tool: Optional[str] = None,
        category: Optional[str] = None,
        decision: Optional[str] = None,
        exec_id: Optional[str] = None,
        grep: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        after_seq: Optional[int] = None,
        limit: Optional[int] = None,
        last: Optional[bool] = None,
    ) -> wire.AuditPage:
        """read records: GET /v1/audit"""
        answer: wire.AuditPage = self.ask(
            "GET",
            "/v1/audit",
            query={"session": session, "agent": agent, "tool": tool, "category": category, "decision": decision, "exec_id": exec_id, "grep": grep, "since": since, "until": until, "after_seq": after_seq, "limit": limit, "last": last},
        )
        return answer

    def audit_verify(
        self,
        *,
        anchor_seq: Optional[int] = None,
        anchor_hash: Optional[str] = None,
    ) -> wire.AuditVerdict:
        """check the chain of records: GET /v1/audit/verify"""
        answer: wire.AuditVerdict = self.ask(
            "GET",
            "/v1/audit/verify",
            query={"anchor_seq": anchor_seq, "anchor_hash": anchor_hash},
        )
        return answer

    def events(
        self,
        *,
        after: Optional[int] = None,
    ) -> Iterator[wire.News]:
        """follow what happens: GET /v1/events"""
        answer: Iterator[wire.News] = self.server_sent(
            "GET",
            "/v1/events",
            query={"after": after},
        )
        return answer

    def grant_list(
        self,
    ) -> wire.GrantList:
        """what is allowed or refused beyond one call: GET /v1/grants"""
        answer: wire.GrantList = self.ask(
            "GET",
            "/v1/grants",
        )
        return answer

    def grant_revoke(
        self,
        *,
        id: str,
    ) -> wire.Done:
        """withdraw one grant, at once: DELETE /v1/grants/{id}"""
        answer: wire.Done = self.ask(
            "DELETE",
            "/v1/grants/" + self.quote(id),
        )
        return answer

    def grant_show(
        self,
        *,
        id: str,
    ) -> wire.Grant:
        """explain one grant: GET /v1/grants/{id}"""
        answer: wire.Grant = self.ask(
            "GET",
            "/v1/grants/" + self.quote(id),
        )
        return answer

    def mode(
        self,
        *,
        session: Optional[str] = None,
    ) -> wire.Mode:
        """how a session, or the daemon, decides: GET /v1/mode"""
        answer: wire.Mode = self.ask(
            "GET",
            "/v1/mode",
            query={"session": session},
        )
        return answer

    def mode_set(
        self,
        *,
        session: Optional[str] = None,
        mode: Optional[str] = None,
        for_ms: Optional[int] = None,
        ends: Optional[str] = None,
        by: Optional[str] = None,
        was: Optional[str] = None,
        warning: Optional[str] = None,
    ) -> wire.Mode:
        """change that: POST /v1/mode"""
        answer: wire.Mode = self.ask(
            "POST",
            "/v1/mode",
            body={"session": session, "mode": mode, "for_ms": for_ms, "ends": ends, "by": by, "was": was, "warning": warning},
        )
        return answer

    def reload(
        self,
    ) -> wire.Reloaded:
        """read the configuration again, whole or not at all: POST /v1/reload"""
        answer: wire.Reloaded = self.ask(
            "POST",
            "/v1/reload",
        )
        return answer

    def setting_change(
        self,
        *,
        dir: Optional[str] = None,
        session: Optional[str] = None,
        user: Optional[bool] = None,
        edits: Optional[List[wire.SettingEdit]] = None,
    ) -> wire.SettingsChanged:
        """change the configuration for a project, a session or the user: POST /v1/settings"""
        answer: wire.SettingsChanged = self.ask(
            "POST",
            "/v1/settings",
            body={"dir": dir, "session": session, "user": user, "edits": edits},
        )
        return answer

    def setting_get(
        self,
        *,
        id: str,
        dir: Optional[str] = None,
    ) -> wire.EffectiveValue:
        """a setting as it is in force: GET /v1/settings/{id}"""
        answer: wire.EffectiveValue = self.ask(
            "GET",
            "/v1/settings/" + self.quote(id),
            query={"dir": dir},
        )
        return answer

    def shutdown(
        self,
        *,
        drain_ms: Optional[int] = None,
        now: Optional[bool] = None,
    ) -> wire.Done:
        """end the daemon: POST /v1/shutdown"""
        answer: wire.Done = self.ask(
            "POST",
            "/v1/shutdown",
            body={"drain_ms": drain_ms, "now": now},
        )
        return answer

    def stats(
        self,
    ) -> wire.Stats:
        """count decisions: GET /v1/stats"""
        answer: wire.Stats = self.ask(
            "GET",
            "/v1/stats",
        )
        return answer

    def stats_reset(
        self,
    ) -> wire.Done:
        """count from 0 again: DELETE /v1/stats"""
        answer: wire.Done = self.ask(
            "DELETE",
            "/v1/stats",
        )
        return answer

    def trust_add(
        self,
        *,
        dir: Optional[str] = None,
        contained: Optional[bool] = None,
    ) -> wire.Trust:
        """trust one: POST /v1/trust"""
        answer: wire.Trust = self.ask(
            "POST",
            "/v1/trust",
            body={"dir": dir, "contained": contained},
        )
        return answer

    def trust_list(
        self,
    ) -> wire.TrustList:
        """the directories that a person trusts: GET /v1/trust"""
        answer: wire.TrustList = self.ask(
            "GET",
            "/v1/trust",
        )
        return answer

    def trust_remove(
        self,
        *,
        dir: str,
    ) -> wire.Done:
        """trust it no more: DELETE /v1/trust"""
        answer: wire.Done = self.ask(
            "DELETE",
            "/v1/trust",
            query={"dir": dir},
        )
        return answer

    def web_add(
        self,
        *,
        name: Optional[str] = None,
        role: Optional[str] = None,
    ) -> wire.FrontEnd:
        """make a token for one: POST /v1/web/front_ends"""
        answer: wire.FrontEnd = self.ask(
            "POST",
            "/v1/web/front_ends",
            body={"name": name, "role": role},
        )
        return answer

    def web_invite(
        self,
    ) -> wire.Invitation:
        """let one browser in at the gateway: POST /v1/web/invitations"""
        answer: wire.Invitation = self.ask(
            "POST",
            "/v1/web/invitations",
        )
        return answer

    def web_list(
        self,
    ) -> wire.FrontEndList:
        """the programs that may use the gateway: GET /v1/web/front_ends"""
        answer: wire.FrontEndList = self.ask(
            "GET",
            "/v1/web/front_ends",
        )
        return answer

    def web_remove(
        self,
        *,
        id: str,
    ) -> wire.Done:
        """take its token out of force: DELETE /v1/web/front_ends/{id}"""
        answer: wire.Done = self.ask(
            "DELETE",
            "/v1/web/front_ends/" + self.quote(id),
        )
        return answer
