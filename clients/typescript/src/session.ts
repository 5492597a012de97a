// The agent's side: sessions, commands, files.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Denied, Lost, NoDaemon, SandboxdError } from "./errors.ts";
import { AgentOperations } from "./operations.ts";
import { socketDir, type CallOptions } from "./transport.ts";
import type * as wire from "./wire.ts";

/** A line of shell, or a command without a shell. */
export type Command = string | readonly string[];

export interface StartOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** The whole input. */
  stdin?: Uint8Array | string;
  /** Process.write sends the input. */
  streamStdin?: boolean;
  tty?: boolean;
  cols?: number;
  rows?: number;
  /** Seconds. */
  timeout?: number;
  /** Continues without a listener. */
  keep?: boolean;
  description?: string;
  callId?: string;
  batch?: wire.BatchPlace;
  /** Opens its events in the same exchange, for a caller that reads them at once. */
  follow?: boolean;
}

/** How a command ended. */
export interface Result {
  /** Its exit status; 128+n where signal n ended it; 124 where it took too long. */
  code: number;
  stdout: Buffer;
  stderr: Buffer;
  /** Standard output and error as text. */
  out: string;
  err: string;
  /** What the sandbox refused or hid, a line each with its remedy: a model takes a hidden file for an absent one. */
  refused: string;
  /** Everything that the daemon says of it. */
  exit: wire.Exit;
}

/** Gets each piece of output as it comes. */
export type Output = (kind: "stdout" | "stderr" | "pty", piece: Buffer) => void;

const current = new AsyncLocalStorage<Session>();

/** The session that Session.use runs in. */
export function currentSession(): Session | undefined {
  return current.getStore();
}

/** agent.sock: where programs ask. Every operation of the protocol is a method; `session` is where to begin. */
export class Agent extends AgentOperations {
  constructor(socket = join(socketDir(), "agent.sock"), secret = "") {
    super(socket, secret);
  }

  /** Opens a session for the project at root (default: the repository around the working directory). */
  async session(open: { agent?: string; root?: string; label?: string } = {}): Promise<Session> {
    const request: wire.SessionRequest = { kind: "api", cwd: process.cwd() };
    if (open.agent) request.agent = open.agent;
    if (open.label) request.label = open.label;
    if (open.root) request.root = resolve(open.root);
    return new Session(this, await this.sessionOpen(request));
  }
}

/** A command that was started. Iterating yields its events; where the connection is lost, it is made again, and no event is lost or doubled. */
export class Process implements AsyncIterable<wire.Event> {
  readonly id: string;
  readonly #agent: AgentOperations;
  #next = 1;
  /** Events that are open already, from the first on. */
  #events: AsyncIterable<wire.Event> | undefined;

  constructor(agent: AgentOperations, id: string, events?: AsyncIterable<wire.Event>) {
    this.#agent = agent;
    this.id = id;
    this.#events = events;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<wire.Event, void, void> {
    for (let lost = 0; lost <= 3; lost++) {
      if (lost > 0) await sleep(50 * lost);
      try {
        const events = this.#events ?? this.#agent.execEvents({ id: this.id, from_seq: this.#next });
        this.#events = undefined;
        for await (const event of events) {
          this.#next = (event.seq ?? 0) + 1;
          lost = 0;
          yield event;
          if (event.type === "exit") return;
        }
      } catch (e) {
        if (!(e instanceof Lost)) throw e;
      }
    }
    throw new Lost("the daemon is gone, and the command with it");
  }

  /** Sends input; resolves when the command has taken it. */
  async write(data: Uint8Array | string | AsyncIterable<Uint8Array | string>, eof = false): Promise<void> {
    await this.#agent.execStdin({ id: this.id, data, ...(eof ? { eof } : {}) });
  }

  /** Ends the input. */
  async closeStdin(): Promise<void> {
    await this.write("", true);
  }

  /** Sends a signal such as "SIGINT". */
  async signal(name: string): Promise<void> {
    await this.#agent.execSignal({ id: this.id, signal: name });
  }

  /** Sets the size of the command's terminal. */
  async resize(cols: number, rows: number): Promise<void> {
    await this.#agent.execResize({ id: this.id, cols, rows });
  }

  /** Ends the command's whole tree. */
  async cancel(): Promise<void> {
    await this.#agent.execCancel({ id: this.id });
  }

  /**
   * Follows the command to its end. Throws Denied where a person or a rule said
   * no, and SandboxdError where something of the daemon's failed.
   */
  async wait(output?: Output): Promise<Result> {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    for await (const event of this) {
      if (event.type === "stdout" || event.type === "stderr" || event.type === "pty") {
        const piece = Buffer.from(event.data ?? "", "base64");
        (event.type === "stderr" ? stderr : stdout).push(piece);
        output?.(event.type, piece);
      } else if (event.type === "exit" && event.exit) {
        return result(event.exit, Buffer.concat(stdout), Buffer.concat(stderr));
      }
    }
    throw new Lost("the command's end was not reported");
  }
}

async function start(agent: AgentOperations, request: wire.ExecRequest): Promise<Process> {
  return new Process(agent, (await agent.execStart(request)).id ?? "");
}

async function follow(agent: AgentOperations, request: wire.ExecRequest): Promise<Process> {
  const events = agent.execRun(request);
  const first = await events.next();
  if (first.done) throw new Lost("the command's events ended before the first");
  return new Process(agent, first.value.queued?.id ?? "", preceded(first.value, events));
}

async function* preceded<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  yield first;
  yield* rest;
}

function result(exit: wire.Exit, stdout: Buffer, stderr: Buffer): Result {
  if (exit.denied) throw new Denied(exit.denied.code ?? "denied", exit.denied.message ?? "", exit.denied);
  if (exit.error) throw new SandboxdError(exit.error.code ?? "internal", exit.error.message ?? "", exit.error.hint);
  const code = exit.timed_out ? 124 : exit.signal_num ? 128 + exit.signal_num : (exit.code ?? -1);
  const refused = (exit.violations ?? [])
    .filter((v) => !v.minor)
    .map((v) => {
      const rest = [v.rule, v.hint].filter(Boolean).join("; ");
      return `the sandbox refused ${v.access || v.kind} ${v.object}${rest && `: ${rest}`}\n`;
    })
    .join("");
  return { code, stdout, stderr, out: stdout.toString("utf8"), err: stderr.toString("utf8"), refused, exit };
}

/** A session: one agent at work in one project. */
export class Session {
  readonly id: string;
  readonly root: string;
  readonly opened: wire.Session;
  readonly agent: Agent;

  constructor(agent: AgentOperations, opened: wire.Session) {
    this.id = opened.id ?? "";
    this.root = opened.root ?? "";
    this.opened = opened;
    this.agent = new Agent(agent.path, opened.secret || agent.secret);
  }

  /** Runs f with this as the session that requiresApproval asks in, and closes it. */
  async use<T>(f: (session: Session) => Promise<T> | T): Promise<T> {
    try {
      return await current.run(this, () => f(this));
    } finally {
      await this.close();
    }
  }

  /** Ends the session and what runs in it. A daemon that has ended has ended it. */
  async close(): Promise<void> {
    try {
      await this.agent.sessionClose({ id: this.id });
    } catch (e) {
      if (!(e instanceof NoDaemon) && !(e instanceof SandboxdError && ["not_found", "shutting_down"].includes(e.code))) throw e;
    }
  }

  /** The user spoke: a stop and what was granted for the turn are cleared. */
  turn(): Promise<wire.Turn> {
    return this.agent.sessionTurn({ id: this.id });
  }

  /** Starts a line of shell (string) or a command without a shell (array). */
  async start(command: Command, o: StartOptions = {}): Promise<Process> {
    const request: wire.ExecRequest = { session: this.id, idempotency_key: randomUUID() };
    if (typeof command === "string") request.command = command;
    else request.argv = [...command];
    if (o.cwd) request.cwd = o.cwd;
    if (o.env) request.env = o.env;
    if (o.streamStdin) request.stdin = "stream";
    else if (o.stdin !== undefined) {
      request.stdin = "inline";
      request.stdin_data = Buffer.from(o.stdin as string).toString("base64");
    }
    if (o.tty) request.tty = true;
    if (o.cols) request.cols = o.cols;
    if (o.rows) request.rows = o.rows;
    if (o.timeout) request.timeout_ms = Math.max(1, Math.round(o.timeout * 1000));
    if (o.keep) request.keep = true;
    if (o.description) request.description = o.description;
    if (o.callId) request.call_id = o.callId;
    if (o.batch) request.batch = o.batch;
    const begin = o.follow ? follow : start;
    try {
      return await begin(this.agent, request);
    } catch (e) {
      if (!(e instanceof Lost)) throw e;
      return await begin(this.agent, request); // the key prevents a second start
    }
  }

  /** Runs a command to its end: `start` with follow, and `wait`. */
  async run(command: Command, options: StartOptions & { output?: Output } = {}): Promise<Result> {
    return (await this.start(command, { ...options, follow: true })).wait(options.output);
  }

  /** What would be decided about a command. With real the decision is recorded, and the caller runs the command itself. */
  check(command: Command, o: { cwd?: string; real?: boolean } & CallOptions = {}): Promise<wire.Verdict> {
    const request: wire.CheckRequest = { session: this.id };
    if (typeof command === "string") request.command = command;
    else request.argv = [...command];
    if (o.cwd) request.cwd = o.cwd;
    if (!o.real) request.dry_run = true;
    return this.agent.check(request, o);
  }

  /** Asks whether a tool of the agent's own may be called now, and waits for a person where one must be asked. Throws Denied where it may not. */
  async ask(tool: string, args: Record<string, unknown>, o: { description?: string; callId?: string; cwd?: string } & CallOptions = {}): Promise<wire.Verdict> {
    const request: wire.CheckRequest = { session: this.id, tool, args };
    if (o.description) request.description = o.description;
    if (o.callId) request.call_id = o.callId;
    if (o.cwd) request.cwd = o.cwd;
    const verdict = await this.agent.check(request, o);
    if (!verdict.allowed) throw new Denied(verdict.denied?.code ?? "denied", verdict.denied?.message ?? verdict.why ?? "", verdict.denied ?? {});
    return verdict;
  }

  /** Carries out a file operation: read, list, stat, grep, create, write, edit, multi-edit, append, insert, delete, move, copy, mkdir, rmdir, undo. */
  file(op: string, fields: Omit<wire.FileRequest, "session"> = {}): Promise<wire.FileResult> {
    return this.agent.file({ op, ...fields, session: this.id });
  }

  /** The bytes of a file. */
  async read(path: string, o: { offset?: number; limit?: number } = {}): Promise<Buffer> {
    const r = await this.file("read", { path, encoding: "base64", ...o });
    return Buffer.from(r.content ?? "", r.encoding === "base64" ? "base64" : "utf8");
  }

  /** A file of UTF-8 text. */
  async readText(path: string): Promise<string> {
    return (await this.read(path)).toString("utf8");
  }

  /** Writes a whole file. With if_hash only where its content still has that hash. */
  write(path: string, content: string | Uint8Array, o: { if_hash?: string } = {}): Promise<wire.FileResult> {
    if (typeof content === "string") return this.file("write", { path, content, ...o });
    return this.file("write", { path, content: Buffer.from(content).toString("base64"), encoding: "base64", ...o });
  }

  /** Replaces a text that occurs exactly count times. */
  edit(path: string, find: string, replace: string, count = 1): Promise<wire.FileResult> {
    return this.file("edit", { path, edits: [{ find, replace, count }] });
  }

  /** What is in a directory. */
  async list(path: string, fields: Omit<wire.FileRequest, "session" | "path"> = {}): Promise<wire.FileInfo[]> {
    return (await this.file("list", { path, ...fields })).entries ?? [];
  }

  /** The lines that match a regular expression. */
  async grep(pattern: string, path: string, fields: Omit<wire.FileRequest, "session" | "path" | "pattern"> = {}): Promise<wire.Match[]> {
    return (await this.file("grep", { pattern, path, ...fields })).matches ?? [];
  }

  /** Brings back what was before a change. */
  undo(undo_id: string): Promise<wire.FileResult> {
    return this.file("undo", { undo_id });
  }
}
