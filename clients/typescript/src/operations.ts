// One method for each operation of the protocol, as docs/openapi.yaml has them.
// Written by TestGenerated in clients/. Do not edit.

import { Transport, without, type CallOptions } from "./transport.ts";
import type * as wire from "./wire.ts";

/** What both sockets offer. */
export class SharedOperations extends Transport {
  /** land or drop a held change set, or some of its paths: POST /v1/changes/{id} */
  changeLand(request: { id: string } & wire.LandRequest, options: CallOptions = {}): Promise<wire.FileResult> {
    return this.ask<wire.FileResult>("POST", `/v1/changes/${encodeURIComponent(request.id)}`, { body: without(request, "id") }, options);
  }

  /** what commands wrote and what did not land: GET /v1/changes */
  changeList(request: { session?: string } = {}, options: CallOptions = {}): Promise<wire.HeldChanges> {
    return this.ask<wire.HeldChanges>("GET", "/v1/changes", { query: { session: request.session } }, options);
  }

  /** one held change set with its differences: GET /v1/changes/{id} */
  changeShow(request: { id: string; session?: string }, options: CallOptions = {}): Promise<wire.HeldChange> {
    return this.ask<wire.HeldChange>("GET", `/v1/changes/${encodeURIComponent(request.id)}`, { query: { session: request.session } }, options);
  }

  /** examine the host; with `prove`, attempt each forbidden act: GET /v1/doctor */
  doctor(request: { prove?: boolean } = {}, options: CallOptions = {}): Promise<wire.Doctor> {
    return this.ask<wire.Doctor>("GET", "/v1/doctor", { query: { prove: request.prove } }, options);
  }

  /** end the command's whole tree: DELETE /v1/exec/{id} */
  execCancel(request: { id: string }, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("DELETE", `/v1/exec/${encodeURIComponent(request.id)}`, {  }, options);
  }

  /** follow a command: GET /v1/exec/{id}/events */
  execEvents(request: { id: string; from_seq?: number; watch?: boolean }, options: CallOptions = {}): AsyncGenerator<wire.Event, void, void> {
    return this.lines<wire.Event>("GET", `/v1/exec/${encodeURIComponent(request.id)}/events`, { query: { from_seq: request.from_seq, watch: request.watch } }, options);
  }

  /** carry out a file operation; an approver: undo a run: POST /v1/files/{op} */
  file(request: { op: string } & wire.FileRequest, options: CallOptions = {}): Promise<wire.FileResult> {
    return this.ask<wire.FileResult>("POST", `/v1/files/${encodeURIComponent(request.op)}`, { body: without(request, "op"), key: request.idempotency_key }, options);
  }

  /** what commands left running in the sessions that the caller may see: GET /v1/jobs */
  jobList(options: CallOptions = {}): Promise<wire.JobList> {
    return this.ask<wire.JobList>("GET", "/v1/jobs", {  }, options);
  }

  /** one of them with its newest output: GET /v1/jobs/{id} */
  jobShow(request: { id: string }, options: CallOptions = {}): Promise<wire.Job> {
    return this.ask<wire.Job>("GET", `/v1/jobs/${encodeURIComponent(request.id)}`, {  }, options);
  }

  /** end it: POST /v1/jobs/{id}/stop */
  jobStop(request: { id: string } & wire.JobRequest, options: CallOptions = {}): Promise<wire.Job> {
    return this.ask<wire.Job>("POST", `/v1/jobs/${encodeURIComponent(request.id)}/stop`, { body: without(request, "id") }, options);
  }

  /** show, explain or compare profiles: GET /v1/profile */
  profile(request: { session?: string; path?: string; against?: string } = {}, options: CallOptions = {}): Promise<wire.Profile> {
    return this.ask<wire.Profile>("GET", "/v1/profile", { query: { session: request.session, path: request.path, against: request.against } }, options);
  }

  /** end a session and what runs in it: DELETE /v1/sessions/{id} */
  sessionClose(request: { id: string }, options: CallOptions = {}): Promise<wire.Closed> {
    return this.ask<wire.Closed>("DELETE", `/v1/sessions/${encodeURIComponent(request.id)}`, {  }, options);
  }

  /** the sessions that the caller may see: GET /v1/sessions */
  sessionList(options: CallOptions = {}): Promise<wire.SessionList> {
    return this.ask<wire.SessionList>("GET", "/v1/sessions", {  }, options);
  }

  /** the user spoke: a new turn, and the stop is cleared: POST /v1/sessions/{id}/turn */
  sessionTurn(request: { id: string } & wire.TurnRequest, options: CallOptions = {}): Promise<wire.Turn> {
    return this.ask<wire.Turn>("POST", `/v1/sessions/${encodeURIComponent(request.id)}/turn`, { body: without(request, "id") }, options);
  }

  /** how the daemon and this host are: GET /v1/status */
  status(options: CallOptions = {}): Promise<wire.Status> {
    return this.ask<wire.Status>("GET", "/v1/status", {  }, options);
  }

  /** the daemon's version and abilities: GET /v1/version */
  version(options: CallOptions = {}): Promise<wire.Version> {
    return this.ask<wire.Version>("GET", "/v1/version", {  }, options);
  }
}

/** What agent.sock offers. */
export class AgentOperations extends SharedOperations {
  /** carry out the calls of one model response, in order: POST /v1/batch */
  batch(request: wire.BatchRequest = {}, options: CallOptions = {}): Promise<wire.BatchResult> {
    return this.ask<wire.BatchResult>("POST", "/v1/batch", { body: request }, options);
  }

  /** decide without running: POST /v1/check */
  check(request: wire.CheckRequest = {}, options: CallOptions = {}): Promise<wire.Verdict> {
    return this.ask<wire.Verdict>("POST", "/v1/check", { body: request }, options);
  }

  /** say where the command of a call that has ended ran: POST /v1/check/after */
  checkAfter(request: wire.AfterCallRequest = {}, options: CallOptions = {}): Promise<wire.AfterCall> {
    return this.ask<wire.AfterCall>("POST", "/v1/check/after", { body: request }, options);
  }

  /** tell the command's terminal its size: POST /v1/exec/{id}/resize */
  execResize(request: { id: string } & wire.ResizeRequest, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("POST", `/v1/exec/${encodeURIComponent(request.id)}/resize`, { body: without(request, "id") }, options);
  }

  /** queue a command and follow it: POST /v1/exec/events */
  execRun(request: wire.ExecRequest = {}, options: CallOptions = {}): AsyncGenerator<wire.Event, void, void> {
    return this.lines<wire.Event>("POST", "/v1/exec/events", { body: request, key: request.idempotency_key }, options);
  }

  /** send a signal: POST /v1/exec/{id}/signal */
  execSignal(request: { id: string } & wire.SignalRequest, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("POST", `/v1/exec/${encodeURIComponent(request.id)}/signal`, { body: without(request, "id") }, options);
  }

  /** queue a command: POST /v1/exec */
  execStart(request: wire.ExecRequest = {}, options: CallOptions = {}): Promise<wire.ExecStarted> {
    return this.ask<wire.ExecStarted>("POST", "/v1/exec", { body: request, key: request.idempotency_key }, options);
  }

  /** send a piece of input, or its end: POST /v1/exec/{id}/stdin */
  execStdin(request: { id: string; eof?: boolean; data?: Uint8Array | string | AsyncIterable<Uint8Array | string> }, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("POST", `/v1/exec/${encodeURIComponent(request.id)}/stdin`, { query: { eof: request.eof }, raw: request.data ?? "" }, options);
  }

  /** open a session, or find the terminal's own again: POST /v1/sessions */
  sessionOpen(request: wire.SessionRequest = {}, options: CallOptions = {}): Promise<wire.Session> {
    return this.ask<wire.Session>("POST", "/v1/sessions", { body: request }, options);
  }
}

/** What approver.sock offers. */
export class ApproverOperations extends SharedOperations {
  /** propose what would save questions: GET /v1/advice */
  advice(options: CallOptions = {}): Promise<wire.Advice> {
    return this.ask<wire.Advice>("GET", "/v1/advice", {  }, options);
  }

  /** answer a question: POST /v1/approvals/{id}/decision */
  approvalDecide(request: { id: string } & wire.Answer, options: CallOptions = {}): Promise<wire.Decided> {
    return this.ask<wire.Decided>("POST", `/v1/approvals/${encodeURIComponent(request.id)}/decision`, { body: without(request, "id") }, options);
  }

  /** the questions that wait: GET /v1/approvals */
  approvalList(options: CallOptions = {}): Promise<wire.ApprovalList> {
    return this.ask<wire.ApprovalList>("GET", "/v1/approvals", {  }, options);
  }

  /** one question whole, with what a person looks at: GET /v1/approvals/{id} */
  approvalShow(request: { id: string; typing?: boolean }, options: CallOptions = {}): Promise<wire.Approval> {
    return this.ask<wire.Approval>("GET", `/v1/approvals/${encodeURIComponent(request.id)}`, { query: { typing: request.typing } }, options);
  }

  /** read records: GET /v1/audit */
  audit(request: { session?: string; agent?: string; tool?: string; category?: string; decision?: string; exec_id?: string; grep?: string; since?: string; until?: string; after_seq?: number; limit?: number; last?: boolean } = {}, options: CallOptions = {}): Promise<wire.AuditPage> {
    return this.ask<wire.AuditPage>("GET", "/v1/audit", { query: { session: request.session, agent: request.agent, tool: request.tool, category: request.category, decision: request.decision, exec_id: request.exec_id, grep: request.grep, since: request.since, until: request.until, after_seq: request.after_seq, limit: request.limit, last: request.last } }, options);
  }

  /** check the chain of records: GET /v1/audit/verify */
  auditVerify(request: { anchor_seq?: number; anchor_hash?: string } = {}, options: CallOptions = {}): Promise<wire.AuditVerdict> {
    return this.ask<wire.AuditVerdict>("GET", "/v1/audit/verify", { query: { anchor_seq: request.anchor_seq, anchor_hash: request.anchor_hash } }, options);
  }

  /** follow what happens: GET /v1/events */
  events(request: { after?: number } = {}, options: CallOptions = {}): AsyncGenerator<wire.News, void, void> {
    return this.serverSent<wire.News>("GET", "/v1/events", { query: { after: request.after } }, options);
  }

  /** what is allowed or refused beyond one call: GET /v1/grants */
  grantList(options: CallOptions = {}): Promise<wire.GrantList> {
    return this.ask<wire.GrantList>("GET", "/v1/grants", {  }, options);
  }

  /** withdraw one grant, at once: DELETE /v1/grants/{id} */
  grantRevoke(request: { id: string }, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("DELETE", `/v1/grants/${encodeURIComponent(request.id)}`, {  }, options);
  }

  /** explain one grant: GET /v1/grants/{id} */
  grantShow(request: { id: string }, options: CallOptions = {}): Promise<wire.Grant> {
    return this.ask<wire.Grant>("GET", `/v1/grants/${encodeURIComponent(request.id)}`, {  }, options);
  }

  /** how a session, or the daemon, decides: GET /v1/mode */
  mode(request: { session?: string } = {}, options: CallOptions = {}): Promise<wire.Mode> {
    return this.ask<wire.Mode>("GET", "/v1/mode", { query: { session: request.session } }, options);
  }

  /** change that: POST /v1/mode */
  modeSet(request: wire.Mode = {}, options: CallOptions = {}): Promise<wire.Mode> {
    return this.ask<wire.Mode>("POST", "/v1/mode", { body: request }, options);
  }

  /** read the configuration again, whole or not at all: POST /v1/reload */
  reload(options: CallOptions = {}): Promise<wire.Reloaded> {
    return this.ask<wire.Reloaded>("POST", "/v1/reload", {  }, options);
  }

  /** change the configuration for a project, a session or the user: POST /v1/settings */
  settingChange(request: wire.SettingsChange = {}, options: CallOptions = {}): Promise<wire.SettingsChanged> {
    return this.ask<wire.SettingsChanged>("POST", "/v1/settings", { body: request }, options);
  }

  /** a setting as it is in force: GET /v1/settings/{id} */
  settingGet(request: { id: string; dir?: string }, options: CallOptions = {}): Promise<wire.EffectiveValue> {
    return this.ask<wire.EffectiveValue>("GET", `/v1/settings/${encodeURIComponent(request.id)}`, { query: { dir: request.dir } }, options);
  }

  /** end the daemon: POST /v1/shutdown */
  shutdown(request: wire.ShutdownRequest = {}, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("POST", "/v1/shutdown", { body: request }, options);
  }

  /** count decisions: GET /v1/stats */
  stats(options: CallOptions = {}): Promise<wire.Stats> {
    return this.ask<wire.Stats>("GET", "/v1/stats", {  }, options);
  }

  /** count from 0 again: DELETE /v1/stats */
  statsReset(options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("DELETE", "/v1/stats", {  }, options);
  }

  /** trust one: POST /v1/trust */
  trustAdd(request: wire.TrustRequest = {}, options: CallOptions = {}): Promise<wire.Trust> {
    return this.ask<wire.Trust>("POST", "/v1/trust", { body: request }, options);
  }

  /** the directories that a person trusts: GET /v1/trust */
  trustList(options: CallOptions = {}): Promise<wire.TrustList> {
    return this.ask<wire.TrustList>("GET", "/v1/trust", {  }, options);
  }

  /** trust it no more: DELETE /v1/trust */
  trustRemove(request: { dir: string }, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("DELETE", "/v1/trust", { query: { dir: request.dir } }, options);
  }

  /** make a token for one: POST /v1/web/front_ends */
  webAdd(request: wire.FrontEndRequest = {}, options: CallOptions = {}): Promise<wire.FrontEnd> {
    return this.ask<wire.FrontEnd>("POST", "/v1/web/front_ends", { body: request }, options);
  }

  /** let one browser in at the gateway: POST /v1/web/invitations */
  webInvite(options: CallOptions = {}): Promise<wire.Invitation> {
    return this.ask<wire.Invitation>("POST", "/v1/web/invitations", {  }, options);
  }

  /** the programs that may use the gateway: GET /v1/web/front_ends */
  webList(options: CallOptions = {}): Promise<wire.FrontEndList> {
    return this.ask<wire.FrontEndList>("GET", "/v1/web/front_ends", {  }, options);
  }

  /** take its token out of force: DELETE /v1/web/front_ends/{id} */
  webRemove(request: { id: string }, options: CallOptions = {}): Promise<wire.Done> {
    return this.ask<wire.Done>("DELETE", `/v1/web/front_ends/${encodeURIComponent(request.id)}`, {  }, options);
  }
}
