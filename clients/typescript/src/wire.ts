// The objects on the wire, as docs/openapi.yaml has them. Times are RFC 3339 text.
// Written by TestGenerated in clients/. Do not edit.

/** Advice answers GET /v1/advice: what the configuration could say so that people are asked less, by the newest records of the log. Each proposal was replayed against them. */
export interface Advice {
  /** that were looked at */
  decisions?: number;
  /** of these, how often a person was asked */
  asked?: number;
  /** connections to hosts that are on no list */
  refused?: number;
  proposals?: Proposal[];
}

/** AfterCall answers POST /v1/check/after. */
export interface AfterCall {
  /** RanInside, RanOutside or RanUnknown */
  ran?: string;
}

/** AfterCallRequest is the body of POST /v1/check/after: a call that got a ticket has ended. */
export interface AfterCallRequest {
  session?: string;
  /** as in the CheckRequest */
  call_id?: string;
  /** as the agent reports it, for the record */
  command?: string;
  cwd?: string;
}

/** Answer is the body of POST /v1/approvals/{id}/decision. It is decoded strictly: an unknown field, a key in another case, a key twice, or the absence of rev, hash or allow is an error and decides nothing. */
export interface Answer {
  rev: number;
  hash: string;
  allow: boolean;
  /** once (also ""), turn, session, project, agent, global, batch (all that was listed), group */
  scope?: string;
  /** lifetime of the grant; 0: the scope's own */
  for_ms?: number;
  note?: string;
  /** or word that the person answered with, for the record */
  key?: string;
  /** of a no: hard (also "") or soft */
  mode?: string;
  /** id */
  suggestion?: string;
  /** id */
  widening?: string;
  /** of the project: contained, each (also ""), once (not trusted) */
  trust?: string;
  /** of a yes: only these of the request's paths, or what it has of them below these directories; none: all */
  paths?: string[];
  /** this is the second yes */
  confirm?: boolean;
  /** neither yes nor no: add the request's presets to the user's configuration, and judge it again */
  presets?: boolean;
}

/** Approval is a question that waits for a person. */
export interface Approval {
  id?: string;
  /** counts changes of the question */
  rev?: number;
  /** of everything an answer is bound to */
  hash?: string;
  session?: string;
  label?: string;
  agent?: string;
  /** Agent is only the peer's own claim */
  claimed?: boolean;
  uid?: number;
  pid?: number;
  exe?: string;
  call_id?: string;
  exec_id?: string;
  tool?: string;
  description?: string;
  /** the agent's own description of it */
  claim?: string;
  command?: string;
  argv?: string[];
  /** the payload, a JSON object */
  input?: Record<string, unknown>;
  cwd?: string;
  root?: string;
  /** low, medium, high */
  risk?: string;
  reasons?: string[];
  /** the rule that made it ask, and its place */
  rule?: string;
  dangerous?: boolean;
  /** reaches outside the project */
  outside?: boolean;
  protected?: boolean;
  delete?: boolean;
  /** a yes must be given twice */
  confirm?: boolean;
  /** the person at the asking terminal may answer */
  inline?: boolean;
  /** the agent's own client may answer, once */
  client?: boolean;
  blocked_path?: string;
  /** its time limit, a backup that is kept */
  notes?: string[];
  /** that an answer may have */
  scopes?: string[];
  suggestions?: Suggestion[];
  widenings?: Widening[];
  /** a yes takes a widening */
  only_widened?: boolean;
  /** that an answer may switch on instead of a yes or no */
  presets?: Preset[];
  /** that an answer may have; none: it trusts nothing */
  trusts?: string[];
  /** of the project, of which a yes may take some */
  paths?: string[];
  batch?: BatchPlace;
  group_id?: string;
  /** of identical questions shown as one */
  count?: number;
  profile_digest?: string;
  enforcement?: Enforcement;
  warnings?: Warning[];
  created?: string;
  deadline?: string;
  /** the sandbox's access, a kind a line */
  sandbox?: string[];
  /** only in GET /v1/approvals/{id} */
  presentation?: Presentation;
  /** only there: the same request in the log */
  past?: Past;
}

/** ApprovalList answers GET /v1/approvals. */
export interface ApprovalList {
  approvals?: Approval[];
}

/** AuditPage answers GET /v1/audit: records as they are in the log. */
export interface AuditPage {
  records?: Record<string, unknown>[];
  /** ask again with after_seq of the last one */
  more?: boolean;
  /** Bad are the skipped damaged records: the place of each, and its fault. */
  bad?: string[];
}

/** AuditVerdict answers GET /v1/audit/verify. */
export interface AuditVerdict {
  ok?: boolean;
  records?: number;
  /** of the last good record */
  seq?: number;
  /** of the last good record: with Seq the anchor to keep elsewhere */
  hash?: string;
  file?: string;
  line?: number;
  bad_seq?: number;
  problem?: string;
}

/** BatchCall is one of them: exactly one of Exec, File and Check is set. */
export interface BatchCall {
  call_id?: string;
  exec?: ExecRequest;
  file?: FileCall;
  check?: CheckRequest;
}

/** BatchPlace is a call's place among the tool calls of one model response. */
export interface BatchPlace {
  id?: string;
  /** from 0 */
  index?: number;
  total?: number;
  group_id?: string;
  /** the calls after this one */
  remaining?: NextCall[];
}

/** BatchRequest is the body of POST /v1/batch: the tool calls of one model response, carried out in order. */
export interface BatchRequest {
  session?: string;
  id?: string;
  inline?: boolean;
  calls?: BatchCall[];
}

/** BatchResult answers POST /v1/batch. */
export interface BatchResult {
  id?: string;
  results?: CallResult[];
  ran?: number;
  /** not tried, because of a stop */
  cancelled?: number;
  /** why */
  stopped?: string;
}

/** CallResult is the result of one call of a batch. */
export interface CallResult {
  call_id?: string;
  exec?: ExecOutput;
  file?: FileResult;
  verdict?: Verdict;
  error?: Error;
}

/** Change is one that can be undone, or was. */
export interface Change {
  id?: string;
  session?: string;
  time?: string;
  /** of the file tool, or "quarantine", "run" */
  op?: string;
  what?: string[];
  /** it took that change back */
  undoes?: string;
  /** it was taken back by that one */
  undone_by?: string;
  /** only a person's yes takes it back */
  guarded?: boolean;
  note?: string;
  project?: string;
  /** of a run: the command's id */
  exec?: string;
}

/** ChangeSet is the change set of a command in an event of the type changes or landed. The counts are those of its paths; of a landing, of the paths that landed with it. */
export interface ChangeSet {
  /** of /v1/changes/{id} while it is held; of what is direct or undone, that of its undo */
  id?: string;
  session?: string;
  /** the command's id */
  exec?: string;
  project?: string;
  /** of a layered run's */
  digest?: string;
  /** State is asked (a question about its landing is open), held, stale (it never lands: one that its command saw was dropped), dropped, landed, direct (a direct run made it in the project) or undone (whole or in part). */
  state?: string;
  /** it did not land */
  why?: string;
  /** takes it back */
  undo_id?: string;
  created?: number;
  modified?: number;
  deleted?: number;
  /** of a landing: paths that stay held */
  left?: number;
}

/** CheckRequest is the body of POST /v1/check: decide, for a call that the agent runs itself; or, with DryRun, only return the decision. */
export interface CheckRequest {
  /** empty: only with DryRun */
  session?: string;
  /** the agent's id of the call, for the record */
  call_id?: string;
  /** empty: "bash" */
  tool?: string;
  /** a line of shell, */
  command?: string;
  /** or a command without a shell, */
  argv?: string[];
  /** or a JSON object: another tool's arguments */
  args?: Record<string, unknown>;
  cwd?: string;
  /** CwdUnknown: the directory of the command is not known. Decisions that depend on it ask. */
  cwd_unknown?: boolean;
  env?: Record<string, string>;
  tty?: boolean;
  dry_run?: boolean;
  /** a person at this terminal may answer */
  inline?: boolean;
  description?: string;
  /** Sandboxed: the tool's server runs in the sandbox. A tool that no rule names is run unasked. */
  sandboxed?: boolean;
  batch?: BatchPlace;
  /** TicketMS asks for a ticket that lets exactly this command run once in this session, for any process of the same user, within so many milliseconds. */
  ticket_ms?: number;
}

/** Closed answers a CloseRequest. */
export interface Closed {
  /** commands that were still running */
  ended?: number;
  stats?: Stats;
}

/** ConfigFile is one file of configuration and its state. */
export interface ConfigFile {
  path?: string;
  /** operator, user, project, profile */
  layer?: string;
  loaded?: boolean;
  error?: string;
}

/** Counts are the statistics of approvals. */
export interface Counts {
  total?: number;
  approved?: number;
  denied?: number;
  auto_approved?: number;
  auto_denied?: number;
  double_confirmed?: number;
  timed_out?: number;
  quit?: number;
}

/** Decided is an answer that counted. */
export interface Decided {
  id?: string;
  allowed?: boolean;
  /** answered, again, timeout, cancelled, quit, grant, mode, … */
  reason?: string;
  scope?: string;
  /** in a sentence */
  why?: string;
  by?: string;
  /** person or auto */
  how?: string;
  rule?: string;
  /** id of the grant that decided or was made */
  grant?: string;
  note?: string;
  mode?: string;
  time?: string;
  /** ConfirmAgain: this approval was the first of two. Nothing is decided yet; the second one must carry Rev. */
  confirm_again?: boolean;
  rev?: number;
}

/** Denial says why something did not run, in words that are ready for a model. */
export interface Denial {
  /** denied, blocked, timeout, stopped, unenforced, … */
  code?: string;
  /** object, reason, and remedy */
  message?: string;
  /** the person's note */
  note?: string;
  /** the person, rule or grant that decided */
  by?: string;
  /** soft: continue with something else; hard: stop until the user speaks */
  mode?: string;
}

/** Doctor answers GET /v1/doctor. */
export interface Doctor {
  enforcement?: Enforcement;
  findings?: Finding[];
}

/** Done answers requests that have nothing to say but that they were carried out. */
export interface Done {
  ok?: boolean;
}

/** Edit replaces Find by Replace, which must occur exactly Count times (0: once). */
export interface Edit {
  find?: string;
  replace?: string;
  count?: number;
}

/** EffectiveValue is a setting as it is in force. */
export interface EffectiveValue {
  key?: string;
  /** as in a configuration file */
  value?: string;
  /** file and line */
  from?: string;
  /** PerProject: it can be set for one project or session. */
  per_project?: boolean;
}

/** Enforcement is the enforcement on a host (status, doctor) or for one run. */
export interface Enforcement {
  /** the worst of Protections */
  level?: string;
  /** in the order in which they are applied */
  layers?: Layer[];
  protections?: Protection[];
}

/** Error is the answer to a request that was not carried out. On the wire it is {"error":{"code":…,"message":…,"hint":…}} under a fitting status. */
export interface Error {
  /** stable: programs may depend on it */
  code?: string;
  /** for people; may change */
  message?: string;
  /** the remedy */
  hint?: string;
  /** Conflict says why a file operation could not be done. */
  conflict?: FileConflict;
}

/** errorBody is how an error looks on the wire. */
export interface ErrorBody {
  error?: Error;
}

/** Event is one line of a command's events. Seq counts from 1 without holes, except where an EventGap says so. */
export interface Event {
  seq?: number;
  time?: string;
  type?: string;
  /** base64; base64 on the wire */
  data?: string;
  /** Queued is in the first event of exec.run. */
  queued?: ExecStarted;
  approval?: Approval;
  decision?: Decided;
  started?: Started;
  violation?: Violation;
  change?: ChangeSet;
  gap?: Gap;
  exit?: Exit;
}

/** ExecOutput is a command's end with its output, collected. */
export interface ExecOutput {
  id?: string;
  /** base64; base64 on the wire */
  stdout?: string;
  /** base64 */
  stderr?: string;
  exit?: Exit;
}

/** ExecRequest is the body of POST /v1/exec and POST /v1/exec/events. Exactly one of Session, Ticket and Open, and one of Command and Argv, is set. */
export interface ExecRequest {
  session?: string;
  /** in place of a session: see CheckRequest.TicketMS */
  ticket?: string;
  /** in place of a session: the terminal's own, found or opened; kind "cli" */
  open?: SessionRequest;
  call_id?: string;
  /** a line of shell */
  command?: string;
  /** a command without a shell */
  argv?: string[];
  /** empty: the session's root */
  cwd?: string;
  env?: Record<string, string>;
  /** give it a terminal of its own */
  tty?: boolean;
  /** of that terminal; 0: 80 */
  cols?: number;
  /** 0: 24 */
  rows?: number;
  timeout_ms?: number;
  stdin?: string;
  /** base64; base64 on the wire */
  stdin_data?: string;
  /** a person at this terminal may answer */
  inline?: boolean;
  /** the agent's own client can put a question to its user */
  client?: boolean;
  /** the command is an agent: it reaches agent.sock */
  agent?: boolean;
  /** the command serves the agent: it has an agent's time */
  server?: boolean;
  /** a document that narrows the command's own profile */
  profile?: string;
  /** hold what it writes, until POST /v1/changes/{id} */
  hold?: boolean;
  /** write to the project itself, without a layer */
  direct?: boolean;
  /** continue after the last stream has closed */
  keep?: boolean;
  description?: string;
  /** or the header Idempotency-Key; the server applies it */
  idempotency_key?: string;
  batch?: BatchPlace;
  /** Stdio names the descriptors that come with the request, over stdio.sock, in this order: "stdin", "stdout", "stderr". */
  stdio?: string[];
}

/** ExecStarted answers POST /v1/exec. The command is queued; its events report its progress. */
export interface ExecStarted {
  id?: string;
  /** the session that ExecRequest.Open found or opened */
  session?: Session;
}

/** Exit is how it ended. */
export interface Exit {
  /** Code is the command's own status; -1: it did not run or was killed by a signal; 126 where Changes.Landed is false though its change set was to land. */
  code?: number;
  /** "SIGKILL", … */
  signal?: string;
  signal_num?: number;
  timed_out?: boolean;
  cancelled?: boolean;
  /** it did not run */
  denied?: Denial;
  /** it did not run because something of ours failed */
  error?: Error;
  limits_hit?: string[];
  /** of output, not delivered because of a limit */
  cut_bytes?: number;
  /** Uncapped lists "stdout" and "stderr" where the command wrote to a descriptor of the caller's own: it is in no event, and no limit of output applies to it. */
  uncapped?: string[];
  duration_ms?: number;
  enforcement?: Enforcement;
  violations?: Violation[];
  quarantined?: Quarantined[];
  /** Job is the id of what the command left running; JobRefused is why that was ended instead. */
  job?: string;
  job_refused?: string;
  /** Changes says how the command wrote to the project; absent where it did not run. */
  changes?: RunChanges;
  warnings?: Warning[];
}

/** FileCall is a FileRequest that names its operation. */
export interface FileCall {
  op?: string;
  /** an approver, who may undo runs, gives none */
  session?: string;
  call_id?: string;
  path?: string;
  /** move, copy */
  to?: string;
  /** create, write, append, insert */
  content?: string;
  /** of Content and of the result: "utf-8" (also "") or "base64" */
  encoding?: string;
  /** edit: one; multi-edit: all or nothing */
  edits?: Edit[];
  /** insert: the text beside which it goes */
  anchor?: string;
  /** insert: or the line, from 1 */
  line?: number;
  /** insert: before it, not after */
  before?: boolean;
  /** read: bytes to skip */
  offset?: number;
  /** read: bytes; list, grep: entries */
  limit?: number;
  /** grep: regular expression (RE2) */
  pattern?: string;
  /** grep, list: only names that match */
  glob?: string;
  recursive?: boolean;
  /** refuse unless the file's content has this hash */
  if_hash?: string;
  /** create, mkdir: permission bits */
  mode?: number;
  /** make missing folders on the way */
  parents?: boolean;
  /** keep the line ends of Content as they are */
  exact?: boolean;
  /** grep: lines before and after */
  context?: number;
  /** undo: the change; "last"; empty with dry_run: list them */
  undo_id?: string;
  /** undo, listing: only that session's */
  of_session?: string;
  /** undo: although something has changed since */
  force?: boolean;
  /** undo: leave out what has changed since */
  rest?: boolean;
  /** undo: only these, and what is below them */
  paths?: string[];
  dry_run?: boolean;
  inline?: boolean;
  description?: string;
  idempotency_key?: string;
  batch?: BatchPlace;
}

/** FileConflict is why a file operation could not be done as things are. Where it comes with an error, nothing was changed. */
export interface FileConflict {
  /** missing, exists, changed, no_match, wrong_count, binary, encoding, too_large, outside, forbidden, … */
  reason?: string;
  path?: string;
  expected?: string;
  found?: string;
  /** of Nearest */
  line?: number;
  /** the text most similar to the searched one */
  nearest?: string;
  hint?: string;
  /** of the content as it is */
  hash?: string;
  /** the number of the edit that failed, from 1 */
  edit?: number;
}

/** FileInfo is one file. */
export interface FileInfo {
  path?: string;
  /** file, dir, symlink, other */
  type?: string;
  size?: number;
  mode?: number;
  mod_time?: string;
  /** of a symlink */
  target?: string;
}

/** FileRequest is the body of POST /v1/files/{op}. Which fields count depends on Op. */
export interface FileRequest {
  /** an approver, who may undo runs, gives none */
  session?: string;
  call_id?: string;
  path?: string;
  /** move, copy */
  to?: string;
  /** create, write, append, insert */
  content?: string;
  /** of Content and of the result: "utf-8" (also "") or "base64" */
  encoding?: string;
  /** edit: one; multi-edit: all or nothing */
  edits?: Edit[];
  /** insert: the text beside which it goes */
  anchor?: string;
  /** insert: or the line, from 1 */
  line?: number;
  /** insert: before it, not after */
  before?: boolean;
  /** read: bytes to skip */
  offset?: number;
  /** read: bytes; list, grep: entries */
  limit?: number;
  /** grep: regular expression (RE2) */
  pattern?: string;
  /** grep, list: only names that match */
  glob?: string;
  recursive?: boolean;
  /** refuse unless the file's content has this hash */
  if_hash?: string;
  /** create, mkdir: permission bits */
  mode?: number;
  /** make missing folders on the way */
  parents?: boolean;
  /** keep the line ends of Content as they are */
  exact?: boolean;
  /** grep: lines before and after */
  context?: number;
  /** undo: the change; "last"; empty with dry_run: list them */
  undo_id?: string;
  /** undo, listing: only that session's */
  of_session?: string;
  /** undo: although something has changed since */
  force?: boolean;
  /** undo: leave out what has changed since */
  rest?: boolean;
  /** undo: only these, and what is below them */
  paths?: string[];
  dry_run?: boolean;
  inline?: boolean;
  description?: string;
  idempotency_key?: string;
  batch?: BatchPlace;
}

/** FileResult answers POST /v1/files/{op}. A refusal is an Error with the code denied, blocked or timeout, not a FileResult. */
export interface FileResult {
  /** of the record */
  id?: string;
  /** brings the old state back */
  undo_id?: string;
  decision?: string;
  why?: string;
  rule?: string;
  /** real path */
  path?: string;
  to?: string;
  content?: string;
  encoding?: string;
  binary?: boolean;
  /** of the whole content as it is now */
  hash?: string;
  /** of the whole content */
  size?: number;
  truncated?: boolean;
  /** false: everything was so already */
  changed?: boolean;
  /** by edits */
  replaced?: number;
  /** of a dry run: the diff for a person */
  diff?: string;
  /** of an undo with dry_run: its steps */
  files?: HeldFile[];
  info?: FileInfo;
  entries?: FileInfo[];
  matches?: Match[];
  /** by grep and list */
  skipped?: Skipped[];
  /** of an undo with dry_run and no id, the latest first */
  changes?: Change[];
  enforcement?: Enforcement;
  warnings?: Warning[];
}

/** Finding is one thing that was looked at or attempted. */
export interface Finding {
  name?: string;
  ok?: boolean;
  /** the forbidden act was attempted, not inferred */
  proved?: boolean;
  detail?: string;
  remedy?: string;
  took_ms?: number;
}

/** FrontEnd is a program that may use the gateway on behalf of its users. */
export interface FrontEnd {
  name?: string;
  role?: string;
  /** for whose commands it answers */
  uid?: number;
  created?: string;
  /** only in the answer that made it */
  token?: string;
}

/** FrontEndList answers GET /v1/web/front_ends. */
export interface FrontEndList {
  front_ends?: FrontEnd[];
}

/** FrontEndRequest is the body of POST /v1/web/front_ends. */
export interface FrontEndRequest {
  name?: string;
  /** empty: approver */
  role?: string;
}

/** Gap names the missing events: From up to and including To. */
export interface Gap {
  from?: number;
  to?: number;
  /** of output among them */
  bytes?: number;
}

/** Grant is something that was allowed or refused beyond one call. */
export interface Grant {
  id?: string;
  allow?: boolean;
  scope?: string;
  tool?: string;
  /** the payload or pattern, for people */
  what?: string;
  session?: string;
  project?: string;
  agent?: string;
  uid?: number;
  by?: string;
  note?: string;
  created?: string;
  expires?: string;
  uses?: number;
  last_use?: string;
  /** only in GET /v1/grants/{id} */
  explain?: string[];
}

/** GrantList answers GET /v1/grants. */
export interface GrantList {
  grants?: Grant[];
}

/** HeldChange is what a command wrote to its layer and what has not landed in the project. */
export interface HeldChange {
  id?: string;
  /** the command's id */
  exec?: string;
  session?: string;
  project?: string;
  time?: string;
  command?: string;
  /** it is held */
  why?: string;
  digest?: string;
  /** paths; at most 1000 of each kind */
  created?: string[];
  /** paths */
  modified?: string[];
  /** paths */
  deleted?: string[];
  /** of all its paths */
  count?: number;
  /** paths that somebody else changed since the command began, and how */
  conflicts?: string[];
  /** of GET /v1/changes/{id}: the steps of a landing, at most 1000, for a person */
  files?: HeldFile[];
}

/** HeldChanges is the answer of GET /v1/changes, the latest first. */
export interface HeldChanges {
  changes?: HeldChange[];
}

/** HeldFile is one path of a change set. */
export interface HeldFile {
  path?: string;
  /** the step in words */
  what?: string;
  /** Kind says how to read Content: "diff", "file_content" (of a new file) or "text"; "" where What says everything, and where the files before it were too large. */
  kind?: string;
  content?: string;
  /** lines */
  added?: number;
  removed?: number;
}

/** Invitation answers POST /v1/web/invitations: an address that lets one browser in, once. */
export interface Invitation {
  /** with the secret, in its fragment */
  url?: string;
  /** without */
  address?: string;
  expires?: string;
}

/** Job is what a command left running in its session. */
export interface Job {
  id?: string;
  session?: string;
  command?: string;
  started?: string;
  ended?: string;
  /** it ended */
  why?: string;
  /** base64; Log is the newest output, of one job only, and CutBytes how much was dropped before it. */
  log?: string;
  cut_bytes?: number;
}

/** JobList answers GET /v1/jobs. */
export interface JobList {
  jobs?: Job[];
}

/** JobRequest is GET /v1/jobs/{id} and POST /v1/jobs/{id}/stop. */
export interface JobRequest {
}

/** LandRequest is POST /v1/changes/{id}. */
export interface LandRequest {
  /** an approver gives none */
  session?: string;
  /** only these, and what is below them */
  paths?: string[];
  /** delete it, or what it has at Paths, instead of landing it */
  drop?: boolean;
  /** only say what would be decided, and show the change */
  dry_run?: boolean;
  call_id?: string;
  inline?: boolean;
  description?: string;
}

/** Layer is one mechanism (bwrap, landlock, seccomp, seatbelt). */
export interface Layer {
  name?: string;
  active?: boolean;
  version?: string;
  /** why it is not active */
  why?: string;
}

/** Match is one line that grep found. */
export interface Match {
  path?: string;
  line?: number;
  text?: string;
  /** a line beside one that was found */
  context?: boolean;
  /** the line is longer */
  clipped?: boolean;
}

/** Mode is GET and POST /v1/mode. In a request an empty Session means the daemon. */
export interface Mode {
  session?: string;
  /** interactive, strict, approve_all */
  mode?: string;
  /** request */
  for_ms?: number;
  /** answer */
  ends?: string;
  /** answer */
  by?: string;
  /** answer */
  was?: string;
  /** answer */
  warning?: string;
}

/** News is one event of GET /v1/events (SSE: id = Seq, event = Type, data = this). Seq is 0 for events from before the stream began that are still pending. */
export interface News {
  seq?: number;
  time?: string;
  type?: string;
  approval?: Approval;
  decision?: Decided;
  grant?: Grant;
  session?: SessionInfo;
  mode?: Mode;
  change?: ChangeSet;
  gap?: Gap;
}

/** NextCall is a call that is still to come. */
export interface NextCall {
  call_id?: string;
  tool?: string;
  command?: string;
  argv?: string[];
  args?: Record<string, unknown>;
  cwd?: string;
  /** Asks is why a yes to the whole batch does not cover this call, in a question: it will be asked about by itself. Empty: covered. */
  asks?: string;
}

/** Past counts the earlier questions, from the log, that a grant would have answered. */
export interface Past {
  /** past calls of this user that it covers */
  matched?: number;
  /** of those, how many a person was asked about */
  asked?: number;
  /** past calls that were looked at */
  of?: number;
  /** the newest first, each once, at most 5 */
  examples?: string[];
}

/** Presentation is the content of a question for a person. */
export interface Presentation {
  /** text, diff, file_content, command, structured */
  kind?: string;
  content?: string;
  language?: string;
  /** full_content: where Content was cut; more_lines, size, old_size, marks: JSON */
  metadata?: Record<string, string>;
}

/** Preset is a set of reviewed rules that may be added to the user's configuration, and that the request needs. */
export interface Preset {
  name?: string;
  why?: string;
}

/** Profile answers GET /v1/profile. */
export interface Profile {
  digest?: string;
  /** the profile as it prints */
  text?: string;
  /** the rules that decide at Path, most specific first */
  explain?: string[];
  /** lines that start with "+" or "-" */
  diff?: string[];
}

/** Proposal is one value for a list of the configuration. */
export interface Proposal {
  /** List is presets.use, permissions.allow or network.allow; trust.contained: the value is a directory to trust so. */
  list?: string;
  value?: string;
  /** Questions and Refusals are how many there would have been less, beyond what the proposals before it save. */
  questions?: number;
  refusals?: number;
  /** besides, in words */
  permits?: string;
}

/** Protection is one promise and how far it holds. */
export interface Protection {
  /** e.g. "filesystem", "network", "processes", "memory" */
  name?: string;
  level?: string;
  /** the mechanism that holds it */
  by?: string;
  /** Partial: the protections that are missing */
  missing?: string;
  why?: string;
  remedy?: string;
}

/** Quarantined is a file that was moved to the trash after the run, or (Kept) one that could not be attributed and was left where it is. */
export interface Quarantined {
  path?: string;
  why?: string;
  /** the id that brings it back */
  undo?: string;
  kept?: boolean;
}

/** RPCCall is a client's message on the WebSocket: a JSON-RPC 2.0 request. Params holds, in one object, the operation's input from path, query and body, and may hold the session's secret besides. */
export interface RPCCall {
  /** "2.0" */
  jsonrpc?: string;
  /** a number or a string; only rpc.cancel may go without */
  id?: unknown;
  /** an operation's name, or "rpc.cancel" */
  method?: string;
  /** an object */
  params?: Record<string, unknown>;
}

/** RPCError is a refusal in JSON-RPC's form. */
export interface RPCError {
  /** JSON-RPC's own: -32700, -32600, -32601, -32602, -32603, else -32000 */
  code?: number;
  message?: string;
  /** the same as everywhere */
  data?: Error;
}

/** RPCReply answers a call: either Result or Error is there. That of a stream comes after its last value. */
export interface RPCReply {
  jsonrpc?: string;
  id?: unknown;
  /** the operation's answer over HTTP */
  result?: unknown;
  error?: RPCError;
}

/** RPCValue is a notification: one value of a stream. */
export interface RPCValue {
  jsonrpc?: string;
  /** as in the call: "exec.run", "exec.events" or "events" */
  method?: string;
  params?: RPCValueParams;
}

/** RPCValueParams are an RPCValue's. */
export interface RPCValueParams {
  /** the id of the call that asked for the stream */
  call?: unknown;
  /** an Event or a News */
  value?: unknown;
}

/** Reloaded answers POST /v1/reload. A configuration that has an error is not applied at all: that is an Error, and the old one stays. */
export interface Reloaded {
  config?: ConfigFile[];
  warnings?: Warning[];
  changed?: string[];
}

/** ResizeRequest is POST /v1/exec/{id}/resize. */
export interface ResizeRequest {
  cols?: number;
  rows?: number;
}

/** RunChanges is what a run changed in the project: the change set of its layer, or what differs from the snapshot from before it. */
export interface RunChanges {
  /** none (a reader, for which the project is read-only), layered or direct */
  kind?: string;
  /** why the run had no layer */
  direct?: string;
  /** Landed is set of a layered run; false: what it wrote is not in the project. Exit is the command's own status then, in place of the 126 in Exit.Code; absent where the run was to be held. */
  landed?: boolean;
  exit?: number;
  /** why it, or what git ignores of it, did not land; see ExecRequest.Hold */
  held?: string;
  /** the id that lands or drops a held change set */
  held_id?: string;
  /** of a layered run's change set */
  digest?: string;
  /** the run can be undone as a whole */
  covered?: boolean;
  /** it is not covered */
  why?: string;
  /** of the snapshot, and why */
  left_out?: string[];
  /** dependencies' and build trees */
  skipped?: string[];
  /** paths */
  created?: number;
  /** paths */
  modified?: number;
  /** paths */
  deleted?: number;
  /** the first 100 */
  paths?: string[];
  /** created or modified files that run when a person builds, the first 100 */
  build?: string[];
  /** the id that takes them back */
  undo?: string;
}

/** Session answers POST /v1/sessions. */
export interface Session {
  id?: string;
  /** KindAPI only; never shown again */
  secret?: string;
  /** real path, empty: none */
  root?: string;
  /** false: Root is read-only */
  trusted?: boolean;
  mode?: string;
  warnings?: Warning[];
}

/** SessionCommand is a command of a session that has not ended. */
export interface SessionCommand {
  id?: string;
  command?: string;
  /** for a person's answer */
  waiting?: boolean;
}

/** SessionInfo is one line of GET /v1/sessions. */
export interface SessionInfo {
  id?: string;
  kind?: string;
  agent?: string;
  /** Agent is only the peer's own claim */
  claimed?: boolean;
  label?: string;
  root?: string;
  trusted?: boolean;
  /** Contained: what stays in Root and can be undone runs unasked. */
  contained?: boolean;
  mode?: string;
  mode_ends?: string;
  uid?: number;
  pid?: number;
  opened?: string;
  last_used?: string;
  turn?: number;
  /** why every call is refused until the next turn */
  stopped?: string;
  /** ids of commands */
  running?: string[];
  /** Commands are those that run or wait for an answer. */
  commands?: SessionCommand[];
  overlaps?: string[];
  profile_digest?: string;
}

/** SessionList answers GET /v1/sessions. */
export interface SessionList {
  sessions?: SessionInfo[];
}

/** SessionRequest is the body of POST /v1/sessions. */
export interface SessionRequest {
  /** the agent's own name: shown as a claim */
  agent?: string;
  /** shown to people */
  label?: string;
  /** the project; empty: the repository around Cwd, or Cwd */
  root?: string;
  cwd?: string;
  /** KindCLI, KindAPI or KindHook; empty: KindAPI */
  kind?: string;
  /** the client's standard input is a terminal */
  tty?: boolean;
  /** Land is LandHold to hold what its commands write; KindAPI only. Empty: as the configuration says. */
  land?: string;
  /** Conversation is the agent's own id of the conversation; KindHook only. */
  conversation?: string;
  /** Prompt is the agent's id of what its user said last; KindHook only. Another one than before begins a turn, which does not clear a stop. */
  prompt?: string;
}

/** SettingEdit is one change. */
export interface SettingEdit {
  key?: string;
  /** set, unset, add or remove (values of a list) */
  do?: string;
  values?: string[];
}

/** SettingsChange is POST /v1/settings: changes of the configuration on a person's word, all or none. */
export interface SettingsChange {
  /** Dir is the project that they are for; empty with User and Session. */
  dir?: string;
  /** Session is the only session that they are for: its id, or "here", the one of the caller's terminal. */
  session?: string;
  /** User: they are for all projects of the user, in the user's file. */
  user?: boolean;
  edits?: SettingEdit[];
}

/** SettingsChanged answers POST /v1/settings. */
export interface SettingsChanged {
  /** the file, project or session that has them */
  kept?: string;
  values?: EffectiveValue[];
}

/** ShutdownRequest is POST /v1/shutdown. */
export interface ShutdownRequest {
  /** time for running commands to end; 0: the configured time */
  drain_ms?: number;
  now?: boolean;
}

/** SignalRequest is POST /v1/exec/{id}/signal. */
export interface SignalRequest {
  /** "SIGINT", "INT", "TERM", … */
  signal?: string;
}

/** Skill is a file whose permissions the agent wants for this turn. */
export interface Skill {
  path?: string;
  allow?: string[];
}

/** Skipped counts files that grep did not search, and folders that grep or list did not go into. */
export interface Skipped {
  why?: string;
  count?: number;
}

/** Started has the facts known when the command runs. */
export interface Started {
  /** auto or ask */
  decision?: string;
  rule?: string;
  why?: string;
  profile_digest?: string;
  enforcement?: Enforcement;
  warm?: boolean;
  warnings?: Warning[];
}

/** Stats answers GET /v1/stats. */
export interface Stats {
  since?: string;
  overall?: Counts;
  sessions?: Record<string, Counts>;
  agents?: Record<string, Counts>;
}

/** Status answers GET /v1/status. */
export interface Status {
  version?: Version;
  started?: string;
  /** interactive, strict, approve_all */
  mode?: string;
  /** user (one person's daemon) or system */
  scope?: string;
  enforcement?: Enforcement;
  /** why, one sentence each; empty: fully enforced */
  degraded?: string[];
  /** those the caller may see, as are the next two */
  sessions?: number;
  running?: number;
  pending?: number;
  config?: ConfigFile[];
  warnings?: Warning[];
  state_dir?: string;
  /** the reason why the daemon does not exit, or when it will */
  idle?: string;
}

/** Suggestion is a wider grant that may be given with a yes. */
export interface Suggestion {
  id?: string;
  label?: string;
  pattern?: string;
  /** only in GET /v1/approvals/{id} */
  past?: Past;
}

/** Trust is a directory that a person trusts. */
export interface Trust {
  /** real path */
  dir?: string;
  uid?: number;
  dev?: number;
  inode?: number;
  since?: string;
  by?: string;
  /** why it does not count now (moved, replaced) */
  stale?: string;
  /** Contained: what stays there and can be undone runs unasked. */
  contained?: boolean;
  /** Caches are the toolchains whose caches the directory's commands keep without a preset. */
  caches?: string[];
}

/** TrustList answers GET /v1/trust. */
export interface TrustList {
  trusted?: Trust[];
}

/** TrustRequest is POST /v1/trust (body) and DELETE /v1/trust?dir=. */
export interface TrustRequest {
  dir?: string;
  /** Contained also lets commands there run unasked whose effects stay there and can be undone. */
  contained?: boolean;
}

/** Turn answers a TurnRequest. */
export interface Turn {
  turn?: number;
  /** the stop that was in force */
  cleared?: string;
}

/** TurnRequest is POST /v1/sessions/{id}/turn: the user spoke. It clears the stop signal and the grants for the turn. */
export interface TurnRequest {
  skills?: Skill[];
}

/** Verdict answers POST /v1/check. */
export interface Verdict {
  /** of the record */
  id?: string;
  decision?: string;
  /** the agent may run it now; false in every dry run that would ask */
  allowed?: boolean;
  why?: string;
  rule?: string;
  /** low, medium, high */
  risk?: string;
  reasons?: string[];
  description?: string;
  explain?: string[];
  suggestions?: Suggestion[];
  /** set where Allowed is false and it was not a dry run */
  denied?: Denial;
  profile_digest?: string;
  enforcement?: Enforcement;
  warnings?: Warning[];
  /** as asked for, where the command is not refused */
  ticket?: string;
}

/** Version answers GET /v1/version. */
export interface Version {
  product?: string;
  version?: string;
  protocol?: number;
  pid?: number;
  uid?: number;
  /** abilities beyond protocol 1's first form */
  features?: string[];
}

/** Violation is something that the sandbox refused. */
export interface Violation {
  /** path, network, syscall, signal, unkept (created, and gone with the sandbox), not_landed, altered and no_undo (of a layer), … */
  kind?: string;
  /** the path, host or call */
  object?: string;
  access?: string;
  /** the mechanism */
  by?: string;
  /** the profile's rule that decided */
  rule?: string;
  /** how to permit it */
  hint?: string;
  count?: number;
  /** it changes nothing for the command: telemetry, its own badness for the kernel */
  minor?: boolean;
}

/** Warning is something a person should know; Where is a file and line, or a setting. */
export interface Warning {
  where?: string;
  message?: string;
  hint?: string;
}

/** Widening is a path or host that may be added to the profile with a yes. */
export interface Widening {
  id?: string;
  /** path, host */
  kind?: string;
  object?: string;
  access?: string;
  label?: string;
}
