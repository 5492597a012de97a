/**
 * Ask sandboxd to run commands, touch files and judge calls, and answer its
 * questions. The daemon decides and runs; this package only asks. It needs
 * nothing but Node. docs/protocol.md in the same repository is the whole story.
 */
export { Approver } from "./approver.ts";
export { Denied, Lost, NoDaemon, SandboxdError } from "./errors.ts";
export { Agent, Process, Session, currentSession, type Command, type Output, type Result, type StartOptions } from "./session.ts";
export { socketDir, type CallOptions } from "./transport.ts";
export { requiresApproval, type ApprovalOptions } from "./wrap.ts";
export type * as wire from "./wire.ts";
