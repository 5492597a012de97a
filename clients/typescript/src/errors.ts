// What can go wrong.

/** The daemon did not do what was asked. `code` is stable, the rest is for people. */
export class SandboxdError extends Error {
  readonly code: string;
  readonly hint: string;
  /** HTTP status; 0: none. */
  readonly status: number;

  constructor(code: string, message: string, hint = "", status = 0) {
    super(hint ? `${message} (${hint})` : message);
    this.name = new.target.name;
    this.code = code;
    this.hint = hint;
    this.status = status;
  }
}

/** A person or a rule said no. Its message is ready to hand to a model. */
export class Denied extends SandboxdError {
  /** What the person wrote. */
  readonly note: string;
  /** The person, rule or grant that decided. */
  readonly by: string;
  /** "hard": everything is refused until the user speaks; "soft": try something else. */
  readonly mode: string;

  constructor(code: string, message: string, more: { note?: string; by?: string; mode?: string; hint?: string; status?: number } = {}) {
    super(code, message, more.hint, more.status);
    this.note = more.note ?? "";
    this.by = more.by ?? "";
    this.mode = more.mode ?? "";
  }
}

/** Nobody serves the socket. */
export class NoDaemon extends SandboxdError {
  constructor(socket: string) {
    super("no_daemon", `no daemon serves ${socket}`, "start one: sbx status");
  }
}

/** The connection ended in the middle of an answer. */
export class Lost extends SandboxdError {
  constructor(what: string) {
    super("lost", `the connection was lost: ${what}`);
  }
}

/** The exception for an answer that is a refusal. */
export function errorOf(answer: unknown, status: number): SandboxdError {
  const e = (answer as { error?: { code?: string; message?: string; hint?: string } } | undefined)?.error;
  if (!e) return new SandboxdError("internal", `the daemon answered ${status} without saying why`, "", status);
  const code = e.code ?? "internal";
  if (["denied", "blocked", "timeout", "stopped"].includes(code)) {
    return new Denied(code, e.message ?? "", { hint: e.hint ?? "", status });
  }
  return new SandboxdError(code, e.message ?? "", e.hint, status);
}
