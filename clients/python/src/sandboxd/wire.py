"""The objects on the wire, as docs/openapi.yaml has them. Times are RFC 3339 text.

Written by TestGenerated in clients/. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, TypedDict


class Advice(TypedDict, total=False):
    """Advice answers GET /v1/advice: what the configuration could say so that people are asked less, by the newest records of the log. Each proposal was replayed against them."""

    decisions: int  # that were looked at
    asked: int  # of these, how often a person was asked
    refused: int  # connections to hosts that are on no list
    proposals: List[Proposal]


class AfterCall(TypedDict, total=False):
    """AfterCall answers POST /v1/check/after."""

    ran: str  # RanInside, RanOutside or RanUnknown


class AfterCallRequest(TypedDict, total=False):
    """AfterCallRequest is the body of POST /v1/check/after: a call that got a ticket has ended."""

    session: str
    call_id: str  # as in the CheckRequest
    command: str  # as the agent reports it, for the record
    cwd: str


class Answer(TypedDict, total=False):
    """Answer is the body of POST /v1/approvals/{id}/decision. It is decoded strictly: an unknown field, a key in another case, a key twice, or the absence of rev, hash or allow is an error and decides nothing."""

    rev: int
    hash: str
    allow: bool
    scope: str  # once (also ""), turn, session, project, agent, global, batch (all that was listed), group
    for_ms: int  # lifetime of the grant; 0: the scope's own
    note: str
    key: str  # or word that the person answered with, for the record
    mode: str  # of a no: hard (also "") or soft
    suggestion: str  # id
    widening: str  # id
    trust: str  # of the project: contained, each (also ""), once (not trusted)
    paths: List[str]  # of a yes: only these of the request's paths, or what it has of them below these directories; none: all
    confirm: bool  # this is the second yes
    presets: bool  # neither yes nor no: add the request's presets to the user's configuration, and judge it again


class Approval(TypedDict, total=False):
    """Approval is a question that waits for a person."""

    id: str
    rev: int  # counts changes of the question
    hash: str  # of everything an answer is bound to
    session: str
    label: str
    agent: str
    claimed: bool  # Agent is only the peer's own claim
    uid: int
    pid: int
    exe: str
    call_id: str
    exec_id: str
    tool: str
    description: str
    claim: str  # the agent's own description of it
    command: str
    argv: List[str]
    input: Dict[str, Any]  # the payload, a JSON object
    cwd: str
    root: str
    risk: str  # low, medium, high
    reasons: List[str]
    rule: str  # the rule that made it ask, and its place
    dangerous: bool
    outside: bool  # reaches outside the project
    protected: bool
    delete: bool
    confirm: bool  # a yes must be given twice
    inline: bool  # the person at the asking terminal may answer
    client: bool  # the agent's own client may answer, once
    blocked_path: str
    notes: List[str]  # its time limit, a backup that is kept
    scopes: List[str]  # that an answer may have
    suggestions: List[Suggestion]
    widenings: List[Widening]
    only_widened: bool  # a yes takes a widening
    presets: List[Preset]  # that an answer may switch on instead of a yes or no
    trusts: List[str]  # that an answer may have; none: it trusts nothing
    paths: List[str]  # of the project, of which a yes may take some
    batch: BatchPlace
    group_id: str
    count: int  # of identical questions shown as one
    profile_digest: str
    enforcement: Enforcement
    warnings: List[Warning]
    created: str
    deadline: str
    sandbox: List[str]  # the sandbox's access, a kind a line
    presentation: Presentation  # only in GET /v1/approvals/{id}
    past: Past  # only there: the same request in the log


class ApprovalList(TypedDict, total=False):
    """ApprovalList answers GET /v1/approvals."""

    approvals: List[Approval]


class AuditPage(TypedDict, total=False):
    """AuditPage answers GET /v1/audit: records as they are in the log."""

    records: List[Dict[str, Any]]
    more: bool  # ask again with after_seq of the last one
    bad: List[str]  # Bad are the skipped damaged records: the place of each, and its fault.


class AuditVerdict(TypedDict, total=False):
    """AuditVerdict answers GET /v1/audit/verify."""

    ok: bool
    records: int
    seq: int  # of the last good record
    hash: str  # of the last good record: with Seq the anchor to keep elsewhere
    file: str
    line: int
    bad_seq: int
    problem: str


class BatchCall(TypedDict, total=False):
    """BatchCall is one of them: exactly one of Exec, File and Check is set."""

    call_id: str
    exec: ExecRequest
    file: FileCall
    check: CheckRequest


class BatchPlace(TypedDict, total=False):
    """BatchPlace is a call's place among the tool calls of one model response."""

    id: str
    index: int  # from 0
    total: int
    group_id: str
    remaining: List[NextCall]  # the calls after this one


class BatchRequest(TypedDict, total=False):
    """BatchRequest is the body of POST /v1/batch: the tool calls of one model response, carried out in order."""

    session: str
    id: str
    inline: bool
    calls: List[BatchCall]


class BatchResult(TypedDict, total=False):
    """BatchResult answers POST /v1/batch."""

    id: str
    results: List[CallResult]
    ran: int
    cancelled: int  # not tried, because of a stop
    stopped: str  # why


class CallResult(TypedDict, total=False):
    """CallResult is the result of one call of a batch."""

    call_id: str
    exec: ExecOutput
    file: FileResult
    verdict: Verdict
    error: Error


class Change(TypedDict, total=False):
    """Change is one that can be undone, or was."""

    id: str
    session: str
    time: str
    op: str  # of the file tool, or "quarantine", "run"
    what: List[str]
    undoes: str  # it took that change back
    undone_by: str  # it was taken back by that one
    guarded: bool  # only a person's yes takes it back
    note: str
    project: str
    exec: str  # of a run: the command's id


class ChangeSet(TypedDict, total=False):
    """ChangeSet is the change set of a command in an event of the type changes or landed. The counts are those of its paths; of a landing, of the paths that landed with it."""

    id: str  # of /v1/changes/{id} while it is held; of what is direct or undone, that of its undo
    session: str
    exec: str  # the command's id
    project: str
    digest: str  # of a layered run's
    state: str  # State is asked (a question about its landing is open), held, stale (it never lands: one that its command saw was dropped), dropped, landed, direct (a direct run made it in the project) or undone (whole or in part).
    why: str  # it did not land
    undo_id: str  # takes it back
    created: int
    modified: int
    deleted: int
    left: int  # of a landing: paths that stay held


class CheckRequest(TypedDict, total=False):
    """CheckRequest is the body of POST /v1/check: decide, for a call that the agent runs itself; or, with DryRun, only return the decision."""

    session: str  # empty: only with DryRun
    call_id: str  # the agent's id of the call, for the record
    tool: str  # empty: "bash"
    command: str  # a line of shell,
    argv: List[str]  # or a command without a shell,
    args: Dict[str, Any]  # or a JSON object: another tool's arguments
    cwd: str
    cwd_unknown: bool  # CwdUnknown: the directory of the command is not known. Decisions that depend on it ask.
    env: Dict[str, str]
    tty: bool
    dry_run: bool
    inline: bool  # a person at this terminal may answer
    description: str
    sandboxed: bool  # Sandboxed: the tool's server runs in the sandbox. A tool that no rule names is run unasked.
    batch: BatchPlace
    ticket_ms: int  # TicketMS asks for a ticket that lets exactly this command run once in this session, for any process of the same user, within so many milliseconds.


class Closed(TypedDict, total=False):
    """Closed answers a CloseRequest."""

    ended: int  # commands that were still running
    stats: Stats


class ConfigFile(TypedDict, total=False):
    """ConfigFile is one file of configuration and its state."""

    path: str
    layer: str  # operator, user, project, profile
    loaded: bool
    error: str


class Counts(TypedDict, total=False):
    """Counts are the statistics of approvals."""

    total: int
    approved: int
    denied: int
    auto_approved: int
    auto_denied: int
    double_confirmed: int
    timed_out: int
    quit: int


class Decided(TypedDict, total=False):
    """Decided is an answer that counted."""

    id: str
    allowed: bool
    reason: str  # answered, again, timeout, cancelled, quit, grant, mode, …
    scope: str
    why: str  # in a sentence
    by: str
    how: str  # person or auto
    rule: str
    grant: str  # id of the grant that decided or was made
    note: str
    mode: str
    time: str
    confirm_again: bool  # ConfirmAgain: this approval was the first of two. Nothing is decided yet; the second one must carry Rev.
    rev: int


class Denial(TypedDict, total=False):
    """Denial says why something did not run, in words that are ready for a model."""

    code: str  # denied, blocked, timeout, stopped, unenforced, …
    message: str  # object, reason, and remedy
    note: str  # the person's note
    by: str  # the person, rule or grant that decided
    mode: str  # soft: continue with something else; hard: stop until the user speaks


class Doctor(TypedDict, total=False):
    """Doctor answers GET /v1/doctor."""

    enforcement: Enforcement
    findings: List[Finding]


class Done(TypedDict, total=False):
    """Done answers requests that have nothing to say but that they were carried out."""

    ok: bool


class Edit(TypedDict, total=False):
    """Edit replaces Find by Replace, which must occur exactly Count times (0: once)."""

    find: str
    replace: str
    count: int

EffectiveValue = TypedDict(
    "EffectiveValue",
    {
        "key": "str",
        "value": "str",  # as in a configuration file
        "from": "str",  # file and line
        "per_project": "bool",  # PerProject: it can be set for one project or session.
    },
    total=False,
)


class Enforcement(TypedDict, total=False):
    """Enforcement is the enforcement on a host (status, doctor) or for one run."""

    level: str  # the worst of Protections
    layers: List[Layer]  # in the order in which they are applied
    protections: List[Protection]


class Error(TypedDict, total=False):
    """Error is the answer to a request that was not carried out. On the wire it is {"error":{"code":…,"message":…,"hint":…}} under a fitting status."""

    code: str  # stable: programs may depend on it
    message: str  # for people; may change
    hint: str  # the remedy
    conflict: FileConflict  # Conflict says why a file operation could not be done.


class ErrorBody(TypedDict, total=False):
    """errorBody is how an error looks on the wire."""

    error: Error


class Event(TypedDict, total=False):
    """Event is one line of a command's events. Seq counts from 1 without holes, except where an EventGap says so."""

    seq: int
    time: str
    type: str
    data: str  # base64; base64 on the wire
    queued: ExecStarted  # Queued is in the first event of exec.run.
    approval: Approval
    decision: Decided
    started: Started
    violation: Violation
    change: ChangeSet
    gap: Gap
    exit: Exit


class ExecOutput(TypedDict, total=False):
    """ExecOutput is a command's end with its output, collected."""

    id: str
    stdout: str  # base64; base64 on the wire
    stderr: str  # base64;
    exit: Exit


class ExecRequest(TypedDict, total=False):
    """ExecRequest is the body of POST /v1/exec and POST /v1/exec/events. Exactly one of Session, Ticket and Open, and one of Command and Argv, is set."""

    session: str
    ticket: str  # in place of a session: see CheckRequest.TicketMS
    open: SessionRequest  # in place of a session: the terminal's own, found or opened; kind "cli"
    call_id: str
    command: str  # a line of shell
    argv: List[str]  # a command without a shell
    cwd: str  # empty: the session's root
    env: Dict[str, str]
    tty: bool  # give it a terminal of its own
    cols: int  # of that terminal; 0: 80
    rows: int  # 0: 24
    timeout_ms: int
    stdin: str
    stdin_data: str  # base64; base64 on the wire
    inline: bool  # a person at this terminal may answer
    client: bool  # the agent's own client can put a question to its user
    agent: bool  # the command is an agent: it reaches agent.sock
    server: bool  # the command serves the agent: it has an agent's time
    profile: str  # a document that narrows the command's own profile
    hold: bool  # hold what it writes, until POST /v1/changes/{id}
    direct: bool  # write to the project itself, without a layer
    keep: bool  # continue after the last stream has closed
    description: str
    idempotency_key: str  # or the header Idempotency-Key; the server applies it
    batch: BatchPlace
    stdio: List[str]  # Stdio names the descriptors that come with the request, over stdio.sock, in this order: "stdin", "stdout", "stderr".


class ExecStarted(TypedDict, total=False):
    """ExecStarted answers POST /v1/exec. The command is queued; its events report its progress."""

    id: str
    session: Session  # the session that ExecRequest.Open found or opened


class Exit(TypedDict, total=False):
    """Exit is how it ended."""

    code: int  # Code is the command's own status; -1: it did not run or was killed by a signal; 126 where Changes.Landed is false though its change set was to land.
    signal: str  # "SIGKILL", …
    signal_num: int
    timed_out: bool
    cancelled: bool
    denied: Denial  # it did not run
    error: Error  # it did not run because something of ours failed
    limits_hit: List[str]
    cut_bytes: int  # of output, not delivered because of a limit
    uncapped: List[str]  # Uncapped lists "stdout" and "stderr" where the command wrote to a descriptor of the caller's own: it is in no event, and no limit of output applies to it.
    duration_ms: int
    enforcement: Enforcement
    violations: List[Violation]
    quarantined: List[Quarantined]
    job: str  # Job is the id of what the command left running; JobRefused is why that was ended instead.
    job_refused: str
    changes: RunChanges  # Changes says how the command wrote to the project; absent where it did not run.
    warnings: List[Warning]


class FileCall(TypedDict, total=False):
    """FileCall is a FileRequest that names its operation."""

    op: str
    session: str  # an approver, who may undo runs, gives none
    call_id: str
    path: str
    to: str  # move, copy
    content: str  # create, write, append, insert
    encoding: str  # of Content and of the result: "utf-8" (also "") or "base64"
    edits: List[Edit]  # edit: one; multi-edit: all or nothing
    anchor: str  # insert: the text beside which it goes
    line: int  # insert: or the line, from 1
    before: bool  # insert: before it, not after
    offset: int  # read: bytes to skip
    limit: int  # read: bytes; list, grep: entries
    pattern: str  # grep: regular expression (RE2)
    glob: str  # grep, list: only names that match
    recursive: bool
    if_hash: str  # refuse unless the file's content has this hash
    mode: int  # create, mkdir: permission bits
    parents: bool  # make missing folders on the way
    exact: bool  # keep the line ends of Content as they are
    context: int  # grep: lines before and after
    undo_id: str  # undo: the change; "last"; empty with dry_run: list them
    of_session: str  # undo, listing: only that session's
    force: bool  # undo: although something has changed since
    rest: bool  # undo: leave out what has changed since
    paths: List[str]  # undo: only these, and what is below them
    dry_run: bool
    inline: bool
    description: str
    idempotency_key: str
    batch: BatchPlace


class FileConflict(TypedDict, total=False):
    """FileConflict is why a file operation could not be done as things are. Where it comes with an error, nothing was changed."""

    reason: str  # missing, exists, changed, no_match, wrong_count, binary, encoding, too_large, outside, forbidden, …
    path: str
    expected: str
    found: str
    line: int  # of Nearest
    nearest: str  # the text most similar to the searched one
    hint: str
    hash: str  # of the content as it is
    edit: int  # the number of the edit that failed, from 1


class FileInfo(TypedDict, total=False):
    """FileInfo is one file."""

    path: str
    type: str  # file, dir, symlink, other
    size: int
    mode: int
    mod_time: str
    target: str  # of a symlink


class FileRequest(TypedDict, total=False):
    """FileRequest is the body of POST /v1/files/{op}. Which fields count depends on Op."""

    session: str  # an approver, who may undo runs, gives none
    call_id: str
    path: str
    to: str  # move, copy
    content: str  # create, write, append, insert
    encoding: str  # of Content and of the result: "utf-8" (also "") or "base64"
    edits: List[Edit]  # edit: one; multi-edit: all or nothing
    anchor: str  # insert: the text beside which it goes
    line: int  # insert: or the line, from 1
    before: bool  # insert: before it, not after
    offset: int  # read: bytes to skip
    limit: int  # read: bytes; list, grep: entries
    pattern: str  # grep: regular expression (RE2)
    glob: str  # grep, list: only names that match
    recursive: bool
    if_hash: str  # refuse unless the file's content has this hash
    mode: int  # create, mkdir: permission bits
    parents: bool  # make missing folders on the way
    exact: bool  # keep the line ends of Content as they are
    context: int  # grep: lines before and after
    undo_id: str  # undo: the change; "last"; empty with dry_run: list them
    of_session: str  # undo, listing: only that session's
    force: bool  # undo: although something has changed since
    rest: bool  # undo: leave out what has changed since
    paths: List[str]  # undo: only these, and what is below them
    dry_run: bool
    inline: bool
    description: str
    idempotency_key: str
    batch: BatchPlace


class FileResult(TypedDict, total=False):
    """FileResult answers POST /v1/files/{op}. A refusal is an Error with the code denied, blocked or timeout, not a FileResult."""

    id: str  # of the record
    undo_id: str  # brings the old state back
    decision: str
    why: str
    rule: str
    path: str  # real path
    to: str
    content: str
    encoding: str
    binary: bool
    hash: str  # of the whole content as it is now
    size: int  # of the whole content
    truncated: bool
    changed: bool  # false: everything was so already
    replaced: int  # by edits
    diff: str  # of a dry run: the diff for a person
    files: List[HeldFile]  # of an undo with dry_run: its steps
    info: FileInfo
    entries: List[FileInfo]
    matches: List[Match]
    skipped: List[Skipped]  # by grep and list
    changes: List[Change]  # of an undo with dry_run and no id, the latest first
    enforcement: Enforcement
    warnings: List[Warning]


class Finding(TypedDict, total=False):
    """Finding is one thing that was looked at or attempted."""

    name: str
    ok: bool
    proved: bool  # the forbidden act was attempted, not inferred
    detail: str
    remedy: str
    took_ms: int


class FrontEnd(TypedDict, total=False):
    """FrontEnd is a program that may use the gateway on behalf of its users."""

    name: str
    role: str
    uid: int  # for whose commands it answers
    created: str
    token: str  # only in the answer that made it


class FrontEndList(TypedDict, total=False):
    """FrontEndList answers GET /v1/web/front_ends."""

    front_ends: List[FrontEnd]


class FrontEndRequest(TypedDict, total=False):
    """FrontEndRequest is the body of POST /v1/web/front_ends."""

    name: str
    role: str  # empty: approver

Gap = TypedDict(
    "Gap",
    {
        "from": "int",
        "to": "int",
        "bytes": "int",  # of output among them
    },
    total=False,
)


class Grant(TypedDict, total=False):
    """Grant is something that was allowed or refused beyond one call."""

    id: str
    allow: bool
    scope: str
    tool: str
    what: str  # the payload or pattern, for people
    session: str
    project: str
    agent: str
    uid: int
    by: str
    note: str
    created: str
    expires: str
    uses: int
    last_use: str
    explain: List[str]  # only in GET /v1/grants/{id}


class GrantList(TypedDict, total=False):
    """GrantList answers GET /v1/grants."""

    grants: List[Grant]


class HeldChange(TypedDict, total=False):
    """HeldChange is what a command wrote to its layer and what has not landed in the project."""

    id: str
    exec: str  # the command's id
    session: str
    project: str
    time: str
    command: str
    why: str  # it is held
    digest: str
    created: List[str]  # paths; at most 1000 of each kind
    modified: List[str]  # paths
    deleted: List[str]  # paths
    count: int  # of all its paths
    conflicts: List[str]  # paths that somebody else changed since the command began, and how
    files: List[HeldFile]  # of GET /v1/changes/{id}: the steps of a landing, at most 1000, for a person


class HeldChanges(TypedDict, total=False):
    """HeldChanges is the answer of GET /v1/changes, the latest first."""

    changes: List[HeldChange]


class HeldFile(TypedDict, total=False):
    """HeldFile is one path of a change set."""

    path: str
    what: str  # the step in words
    kind: str  # Kind says how to read Content: "diff", "file_content" (of a new file) or "text"; "" where What says everything, and where the files before it were too large.
    content: str
    added: int  # lines
    removed: int


class Invitation(TypedDict, total=False):
    """Invitation answers POST /v1/web/invitations: an address that lets one browser in, once."""

    url: str  # with the secret, in its fragment
    address: str  # without
    expires: str


class Job(TypedDict, total=False):
    """Job is what a command left running in its session."""

    id: str
    session: str
    command: str
    started: str
    ended: str
    why: str  # it ended
    log: str  # base64; Log is the newest output, of one job only, and CutBytes how much was dropped before it.
    cut_bytes: int


class JobList(TypedDict, total=False):
    """JobList answers GET /v1/jobs."""

    jobs: List[Job]


class JobRequest(TypedDict, total=False):
    """JobRequest is GET /v1/jobs/{id} and POST /v1/jobs/{id}/stop."""



class LandRequest(TypedDict, total=False):
    """LandRequest is POST /v1/changes/{id}."""

    session: str  # an approver gives none
    paths: List[str]  # only these, and what is below them
    drop: bool  # delete it, or what it has at Paths, instead of landing it
    dry_run: bool  # only say what would be decided, and show the change
    call_id: str
    inline: bool
    description: str


class Layer(TypedDict, total=False):
    """Layer is one mechanism (bwrap, landlock, seccomp, seatbelt)."""

    name: str
    active: bool
    version: str
    why: str  # why it is not active


class Match(TypedDict, total=False):
    """Match is one line that grep found."""

    path: str
    line: int
    text: str
    context: bool  # a line beside one that was found
    clipped: bool  # the line is longer


class Mode(TypedDict, total=False):
    """Mode is GET and POST /v1/mode. In a request an empty Session means the daemon."""

    session: str
    mode: str  # interactive, strict, approve_all
    for_ms: int  # request
    ends: str  # answer
    by: str  # answer
    was: str  # answer
    warning: str  # answer


class News(TypedDict, total=False):
    """News is one event of GET /v1/events (SSE: id = Seq, event = Type, data = this). Seq is 0 for events from before the stream began that are still pending."""

    seq: int
    time: str
    type: str
    approval: Approval
    decision: Decided
    grant: Grant
    session: SessionInfo
    mode: Mode
    change: ChangeSet
    gap: Gap


class NextCall(TypedDict, total=False):
    """NextCall is a call that is still to come."""

    call_id: str
    tool: str
    command: str
    argv: List[str]
    args: Dict[str, Any]
    cwd: str
    asks: str  # Asks is why a yes to the whole batch does not cover this call, in a question: it will be asked about by itself. Empty: covered.


class Past(TypedDict, total=False):
    """Past counts the earlier questions, from the log, that a grant would have answered."""

    matched: int  # past calls of this user that it covers
    asked: int  # of those, how many a person was asked about
    of: int  # past calls that were looked at
    examples: List[str]  # the newest first, each once, at most 5


class Presentation(TypedDict, total=False):
    """Presentation is the content of a question for a person."""

    kind: str  # text, diff, file_content, command, structured
    content: str
    language: str
    metadata: Dict[str, str]  # full_content: where Content was cut; more_lines, size, old_size, marks: JSON


class Preset(TypedDict, total=False):
    """Preset is a set of reviewed rules that may be added to the user's configuration, and that the request needs."""

    name: str
    why: str


class Profile(TypedDict, total=False):
    """Profile answers GET /v1/profile."""

    digest: str
    text: str  # the profile as it prints
    explain: List[str]  # the rules that decide at Path, most specific first
    diff: List[str]  # lines that start with "+" or "-"


class Proposal(TypedDict, total=False):
    """Proposal is one value for a list of the configuration."""

    list: str  # List is presets.use, permissions.allow or network.allow; trust.contained: the value is a directory to trust so.
    value: str
    questions: int  # Questions and Refusals are how many there would have been less, beyond what the proposals before it save.
    refusals: int
    permits: str  # besides, in words


class Protection(TypedDict, total=False):
    """Protection is one promise and how far it holds."""

    name: str  # e.g. "filesystem", "network", "processes", "memory"
    level: str
    by: str  # the mechanism that holds it
    missing: str  # Partial: the protections that are missing
    why: str
    remedy: str


class Quarantined(TypedDict, total=False):
    """Quarantined is a file that was moved to the trash after the run, or (Kept) one that could not be attributed and was left where it is."""

    path: str
    why: str
    undo: str  # the id that brings it back
    kept: bool


class RPCCall(TypedDict, total=False):
    """RPCCall is a client's message on the WebSocket: a JSON-RPC 2.0 request. Params holds, in one object, the operation's input from path, query and body, and may hold the session's secret besides."""

    jsonrpc: str  # "2.0"
    id: Any  # a number or a string; only rpc.cancel may go without
    method: str  # an operation's name, or "rpc.cancel"
    params: Dict[str, Any]  # an object


class RPCError(TypedDict, total=False):
    """RPCError is a refusal in JSON-RPC's form."""

    code: int  # JSON-RPC's own: -32700, -32600, -32601, -32602, -32603, else -32000
    message: str
    data: Error  # the same as everywhere


class RPCReply(TypedDict, total=False):
    """RPCReply answers a call: either Result or Error is there. That of a stream comes after its last value."""

    jsonrpc: str
    id: Any
    result: Any  # the operation's answer over HTTP
    error: RPCError


class RPCValue(TypedDict, total=False):
    """RPCValue is a notification: one value of a stream."""

    jsonrpc: str
    method: str  # as in the call: "exec.run", "exec.events" or "events"
    params: RPCValueParams


class RPCValueParams(TypedDict, total=False):
    """RPCValueParams are an RPCValue's."""

    call: Any  # the id of the call that asked for the stream
    value: Any  # an Event or a News


class Reloaded(TypedDict, total=False):
    """Reloaded answers POST /v1/reload. A configuration that has an error is not applied at all: that is an Error, and the old one stays."""

    config: List[ConfigFile]
    warnings: List[Warning]
    changed: List[str]


class ResizeRequest(TypedDict, total=False):
    """ResizeRequest is POST /v1/exec/{id}/resize."""

    cols: int
    rows: int


class RunChanges(TypedDict, total=False):
    """RunChanges is what a run changed in the project: the change set of its layer, or what differs from the snapshot from before it."""

    kind: str  # none (a reader, for which the project is read-only), layered or direct
    direct: str  # why the run had no layer
    landed: bool  # Landed is set of a layered run; false: what it wrote is not in the project. Exit is the command's own status then, in place of the 126 in Exit.Code; absent where the run was to be held.
    exit: int
    held: str  # why it, or what git ignores of it, did not land; see ExecRequest.Hold
    held_id: str  # the id that lands or drops a held change set
    digest: str  # of a layered run's change set
    covered: bool  # the run can be undone as a whole
    why: str  # it is not covered
    left_out: List[str]  # of the snapshot, and why
    skipped: List[str]  # dependencies' and build trees
    created: int  # paths
    modified: int  # paths
    deleted: int  # paths
    paths: List[str]  # the first 100
    build: List[str]  # created or modified files that run when a person builds, the first 100
    undo: str  # the id that takes them back


class Session(TypedDict, total=False):
    """Session answers POST /v1/sessions."""

    id: str
    secret: str  # KindAPI only; never shown again
    root: str  # real path, empty: none
    trusted: bool  # false: Root is read-only
    mode: str
    warnings: List[Warning]


class SessionCommand(TypedDict, total=False):
    """SessionCommand is a command of a session that has not ended."""

    id: str
    command: str
    waiting: bool  # for a person's answer


class SessionInfo(TypedDict, total=False):
    """SessionInfo is one line of GET /v1/sessions."""

    id: str
    kind: str
    agent: str
    claimed: bool  # Agent is only the peer's own claim
    label: str
    root: str
    trusted: bool
    contained: bool  # Contained: what stays in Root and can be undone runs unasked.
    mode: str
    mode_ends: str
    uid: int
    pid: int
    opened: str
    last_used: str
    turn: int
    stopped: str  # why every call is refused until the next turn
    running: List[str]  # ids of commands
    commands: List[SessionCommand]  # Commands are those that run or wait for an answer.
    overlaps: List[str]
    profile_digest: str


class SessionList(TypedDict, total=False):
    """SessionList answers GET /v1/sessions."""

    sessions: List[SessionInfo]


class SessionRequest(TypedDict, total=False):
    """SessionRequest is the body of POST /v1/sessions."""

    agent: str  # the agent's own name: shown as a claim
    label: str  # shown to people
    root: str  # the project; empty: the repository around Cwd, or Cwd
    cwd: str
    kind: str  # KindCLI, KindAPI or KindHook; empty: KindAPI
    tty: bool  # the client's standard input is a terminal
    land: str  # Land is LandHold to hold what its commands write; KindAPI only. Empty: as the configuration says.
    conversation: str  # Conversation is the agent's own id of the conversation; KindHook only.
    prompt: str  # Prompt is the agent's id of what its user said last; KindHook only. Another one than before begins a turn, which does not clear a stop.


class SettingEdit(TypedDict, total=False):
    """SettingEdit is one change."""

    key: str
    do: str  # set, unset, add or remove (values of a list)
    values: List[str]


class SettingsChange(TypedDict, total=False):
    """SettingsChange is POST /v1/settings: changes of the configuration on a person's word, all or none."""

    dir: str  # Dir is the project that they are for; empty with User and Session.
    session: str  # Session is the only session that they are for: its id, or "here", the one of the caller's terminal.
    user: bool  # User: they are for all projects of the user, in the user's file.
    edits: List[SettingEdit]


class SettingsChanged(TypedDict, total=False):
    """SettingsChanged answers POST /v1/settings."""

    kept: str  # the file, project or session that has them
    values: List[EffectiveValue]


class ShutdownRequest(TypedDict, total=False):
    """ShutdownRequest is POST /v1/shutdown."""

    drain_ms: int  # time for running commands to end; 0: the configured time
    now: bool


class SignalRequest(TypedDict, total=False):
    """SignalRequest is POST /v1/exec/{id}/signal."""

    signal: str  # "SIGINT", "INT", "TERM", …


class Skill(TypedDict, total=False):
    """Skill is a file whose permissions the agent wants for this turn."""

    path: str
    allow: List[str]


class Skipped(TypedDict, total=False):
    """Skipped counts files that grep did not search, and folders that grep or list did not go into."""

    why: str
    count: int


class Started(TypedDict, total=False):
    """Started has the facts known when the command runs."""

    decision: str  # auto or ask
    rule: str
    why: str
    profile_digest: str
    enforcement: Enforcement
    warm: bool
    warnings: List[Warning]


class Stats(TypedDict, total=False):
    """Stats answers GET /v1/stats."""

    since: str
    overall: Counts
    sessions: Dict[str, Counts]
    agents: Dict[str, Counts]


class Status(TypedDict, total=False):
    """Status answers GET /v1/status."""

    version: Version
    started: str
    mode: str  # interactive, strict, approve_all
    scope: str  # user (one person's daemon) or system
    enforcement: Enforcement
    degraded: List[str]  # why, one sentence each; empty: fully enforced
    sessions: int  # those the caller may see, as are the next two
    running: int
    pending: int
    config: List[ConfigFile]
    warnings: List[Warning]
    state_dir: str
    idle: str  # the reason why the daemon does not exit, or when it will


class Suggestion(TypedDict, total=False):
    """Suggestion is a wider grant that may be given with a yes."""

    id: str
    label: str
    pattern: str
    past: Past  # only in GET /v1/approvals/{id}


class Trust(TypedDict, total=False):
    """Trust is a directory that a person trusts."""

    dir: str  # real path
    uid: int
    dev: int
    inode: int
    since: str
    by: str
    stale: str  # why it does not count now (moved, replaced)
    contained: bool  # Contained: what stays there and can be undone runs unasked.
    caches: List[str]  # Caches are the toolchains whose caches the directory's commands keep without a preset.


class TrustList(TypedDict, total=False):
    """TrustList answers GET /v1/trust."""

    trusted: List[Trust]


class TrustRequest(TypedDict, total=False):
    """TrustRequest is POST /v1/trust (body) and DELETE /v1/trust?dir=."""

    dir: str
    contained: bool  # Contained also lets commands there run unasked whose effects stay there and can be undone.


class Turn(TypedDict, total=False):
    """Turn answers a TurnRequest."""

    turn: int
    cleared: str  # the stop that was in force


class TurnRequest(TypedDict, total=False):
    """TurnRequest is POST /v1/sessions/{id}/turn: the user spoke. It clears the stop signal and the grants for the turn."""

    skills: List[Skill]


class Verdict(TypedDict, total=False):
    """Verdict answers POST /v1/check."""

    id: str  # of the record
    decision: str
    allowed: bool  # the agent may run it now; false in every dry run that would ask
    why: str
    rule: str
    risk: str  # low, medium, high
    reasons: List[str]
    description: str
    explain: List[str]
    suggestions: List[Suggestion]
    denied: Denial  # set where Allowed is false and it was not a dry run
    profile_digest: str
    enforcement: Enforcement
    warnings: List[Warning]
    ticket: str  # as asked for, where the command is not refused


class Version(TypedDict, total=False):
    """Version answers GET /v1/version."""

    product: str
    version: str
    protocol: int
    pid: int
    uid: int
    features: List[str]  # abilities beyond protocol 1's first form


class Violation(TypedDict, total=False):
    """Violation is something that the sandbox refused."""

    kind: str  # path, network, syscall, signal, unkept (created, and gone with the sandbox), not_landed, altered and no_undo (of a layer), …
    object: str  # the path, host or call
    access: str
    by: str  # the mechanism
    rule: str  # the profile's rule that decided
    hint: str  # how to permit it
    count: int
    minor: bool  # it changes nothing for the command: telemetry, its own badness for the kernel


class Warning(TypedDict, total=False):
    """Warning is something a person should know; Where is a file and line, or a setting."""

    where: str
    message: str
    hint: str


class Widening(TypedDict, total=False):
    """Widening is a path or host that may be added to the profile with a yes."""

    id: str
    kind: str  # path, host
    object: str
    access: str
    label: str
