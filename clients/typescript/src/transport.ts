// HTTP/1.1 with JSON over a Unix socket.

import { lstatSync, statSync, accessSync, constants } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { Lost, NoDaemon, SandboxdError, errorOf } from "./errors.ts";

/** What every call takes besides its request. */
export interface CallOptions {
  /** Hangs up: what the call waits for is withdrawn. */
  signal?: AbortSignal;
}

export interface Parts {
  query?: Record<string, unknown>;
  body?: object;
  raw?: Uint8Array | string | AsyncIterable<Uint8Array | string>;
  /** Idempotency-Key. */
  key?: string | undefined;
}

/** An answer, or one event, is no longer than this. */
const MAX = 64 << 20;

/** The directory of the daemon's sockets: $SBX_SOCKET_DIR, else the system's where it serves this user, else the user's own (as `sbx` looks for it). */
export function socketDir(): string {
  const named = process.env["SBX_SOCKET_DIR"];
  if (named) return resolve(named);
  const uid = process.geteuid?.() ?? 0;
  if (uid !== 0 && reachable("/run/sandboxd/agent.sock")) return "/run/sandboxd";
  for (const runtime of [process.env["XDG_RUNTIME_DIR"] ?? "", `/run/user/${uid}`]) {
    if (isAbsolute(runtime) && isPrivate(runtime, uid)) return join(runtime, "sandboxd");
  }
  return uid === 0 ? "/run/sandboxd" : `/tmp/sandboxd-${uid}`;
}

function reachable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isPrivate(path: string, uid: number): boolean {
  const st = statSync(path, { throwIfNoEntry: false });
  return st !== undefined && st.isDirectory() && st.uid === uid && (st.mode & 0o077) === 0;
}

/**
 * Node can't ask the kernel who listens. Who may put a socket there is settled by
 * the owners of the socket and of its directory, and by the directory's mode.
 */
function checkOwner(path: string): void {
  const uid = process.geteuid?.() ?? 0;
  for (const p of [dirname(path), path]) {
    const st = lstatSync(p, { throwIfNoEntry: false });
    if (!st) throw new NoDaemon(path);
    if (st.isSymbolicLink()) throw new SandboxdError("foreign", `${p} is a symbolic link`);
    if (st.uid !== uid && st.uid !== 0) throw new SandboxdError("foreign", `${p} belongs to another user (uid ${st.uid})`);
    if (st.isDirectory() && (st.mode & 0o022) !== 0 && (st.mode & 0o1000) === 0) throw new SandboxdError("foreign", `others may write to ${p}`);
  }
}

/** The object without the key that went into the path. */
export function without<T extends object>(request: T, key: keyof T): object {
  const { [key]: _, ...rest } = request;
  return rest;
}

/** One socket of the daemon. Each request has a connection of its own. */
export class Transport {
  readonly path: string;
  readonly secret: string;

  constructor(path: string, secret = "") {
    this.path = path;
    this.secret = secret;
  }

  /** One request and its answer. */
  protected async ask<T>(method: string, path: string, parts: Parts, options: CallOptions): Promise<T> {
    const answer = await this.#open(method, path, parts, options);
    return parse(await whole(answer)) as T;
  }

  /** A stream of JSON objects, one a line. */
  protected async *lines<T>(method: string, path: string, parts: Parts, options: CallOptions): AsyncGenerator<T, void, void> {
    const answer = await this.#open(method, path, parts, options);
    try {
      for await (const line of linesOf(answer)) {
        const value = parse(line) as { error?: unknown; seq?: number };
        if (value.error !== undefined && value.seq === undefined) throw errorOf(value, answer.statusCode ?? 0);
        yield value as T;
      }
    } finally {
      answer.destroy();
    }
  }

  /** A stream of Server-Sent Events; their data. */
  protected async *serverSent<T>(method: string, path: string, parts: Parts, options: CallOptions): AsyncGenerator<T, void, void> {
    const answer = await this.#open(method, path, parts, options);
    let event = "";
    let data = "";
    try {
      for await (const line of linesOf(answer)) {
        if (line.startsWith("event: ")) event = line.slice(7);
        else if (line.startsWith("data: ")) data = line.slice(6);
        else if (line === "" && data !== "") {
          const value = parse(data);
          if (event === "error") throw errorOf(value, answer.statusCode ?? 0);
          yield value as T;
          event = data = "";
        }
      }
    } finally {
      answer.destroy();
    }
  }

  async #open(method: string, path: string, parts: Parts, options: CallOptions): Promise<IncomingMessage> {
    if (path.includes("//")) throw new SandboxdError("bad_request", "an id is missing");
    checkOwner(this.path);
    const query = new URLSearchParams();
    for (const [k, v] of Object.entries(parts.query ?? {})) {
      if (v !== undefined) query.set(k, typeof v === "boolean" ? (v ? "1" : "0") : String(v));
    }
    const headers: Record<string, string> = {};
    let body: Readable | Buffer | undefined;
    if (parts.body !== undefined) {
      body = Buffer.from(JSON.stringify(parts.body));
      headers["Content-Type"] = "application/json";
    } else if (parts.raw !== undefined) {
      body = typeof parts.raw === "string" || parts.raw instanceof Uint8Array ? Buffer.from(parts.raw) : Readable.from(parts.raw);
      headers["Content-Type"] = "application/octet-stream";
    }
    if (Buffer.isBuffer(body)) headers["Content-Length"] = String(body.length);
    if (this.secret) headers["Authorization"] = `Bearer ${this.secret}`;
    if (parts.key) headers["Idempotency-Key"] = parts.key;
    const url = query.size > 0 ? `${path}?${query}` : path;
    const answer = await new Promise<IncomingMessage>((done, failed) => {
      const r = request({ socketPath: this.path, method, path: url, headers, agent: false, ...(options.signal ? { signal: options.signal } : {}) }, done);
      r.on("error", (e: NodeJS.ErrnoException) => {
        if (options.signal?.aborted) failed(e);
        else if (e.code === "ENOENT" || e.code === "ECONNREFUSED") failed(new NoDaemon(this.path));
        else failed(new Lost(`${method} ${path}: ${e.message}`));
      });
      if (body instanceof Readable) body.pipe(r);
      else r.end(body);
    });
    const status = answer.statusCode ?? 0;
    if (status < 200 || status >= 300) throw errorOf(parse(await whole(answer)), status);
    return answer;
  }
}

async function whole(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of answer) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size > MAX) throw new SandboxdError("too_large", "the answer is too long");
    }
  } catch (e) {
    throw e instanceof SandboxdError ? e : new Lost((e as Error).message);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The lines of a stream. What ends without a line end was cut off. */
async function* linesOf(answer: IncomingMessage): AsyncGenerator<string, void, void> {
  let rest: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer) {
      let part = chunk as Buffer;
      for (let i = part.indexOf(10); i >= 0; i = part.indexOf(10)) {
        const line = Buffer.concat([...rest, part.subarray(0, i)]).toString("utf8");
        rest = [];
        size = 0;
        part = part.subarray(i + 1);
        yield line.endsWith("\r") ? line.slice(0, -1) : line;
      }
      if (part.length > 0) rest.push(part);
      size += part.length;
      if (size > MAX) throw new SandboxdError("too_large", "an event is too long");
    }
  } catch (e) {
    if (e instanceof SandboxdError || (e as Error).name === "AbortError") throw e;
    throw new Lost((e as Error).message);
  }
  if (size > 0) throw new Lost("an event was cut off");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
