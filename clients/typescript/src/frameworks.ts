// Tools and backends for programs that build agents. The packages are not imported: each value has the form that its
// package reads. What is refused becomes an answer that the model reads.

import { spawn } from "node:child_process";
import { Denied, SandboxdError } from "./errors.ts";
import type { Session } from "./session.ts";
import type * as wire from "./wire.ts";

/** The text for a model about a failed call. Throws what is no answer of the daemon's. */
function reason(e: unknown): string {
  if (e instanceof SandboxdError) return e.message;
  throw e;
}

interface Ran {
  stdout: string;
  stderr: string;
  exitCode: number;
  timedOut: boolean;
}

/** Runs a line of shell; its standard error ends with what the sandbox refused, and the limit that ended it. */
async function run(s: Session, command: string, o: { timeoutMs?: number | undefined; signal?: AbortSignal | undefined } = {}): Promise<Ran> {
  const started = await s.start(command, o.timeoutMs ? { timeout: o.timeoutMs / 1000 } : {});
  const cancel = () => void started.cancel().catch(() => {}); // it may have ended by then
  o.signal?.addEventListener("abort", cancel, { once: true });
  if (o.signal?.aborted) cancel();
  try {
    const { out, err, code, refused, exit } = await started.wait();
    const limits = exit.limits_hit?.length ? exit.limits_hit : exit.timed_out ? ["wall"] : [];
    const ended = exit.timed_out ? "Ended: it ran longer than allowed" : "It reached a limit";
    const said = refused + (limits.length ? `${ended} (limit ${limits.join(", ")}).\n` : "");
    const note = said && (err && !err.endsWith("\n") ? "\n" : "") + said;
    return { stdout: out, stderr: err + note, exitCode: code, timedOut: exit.timed_out ?? false };
  } finally {
    o.signal?.removeEventListener("abort", cancel);
  }
}

// ---- Claude Agent SDK ----

/** An input of the SDK's hooks. */
interface ClaudeEvent {
  hook_event_name: string;
}

type ClaudeCallback = (event: ClaudeEvent, id: string | undefined, o: { signal: AbortSignal }) => Promise<Record<string, unknown>>;

interface ClaudeMatcher {
  matcher?: string;
  timeout: number;
  onFailure?: "block";
  hooks: ClaudeCallback[];
}

/**
 * The option `hooks` of query in @anthropic-ai/claude-agent-sdk: `sbx hook claude` answers each event, so that commands
 * run in the sandbox, and the agent's other tools as `[tools]` decides. What keeps the program from answering is a
 * refusal. version is that of Claude Code: `claudeCodeVersion` in the SDK's package.json. cwd is that of the query.
 *
 *     query({ prompt, options: { hooks: claudeHooks({ version: "2.1.332" }), settingSources: [] } })
 */
export function claudeHooks(o: { version: string; cwd?: string; program?: string }) {
  const argv = ["hook", "claude", "--agent-version", o.version];
  const callback: ClaudeCallback = (event, _id, { signal }) =>
    new Promise((resolve) => {
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      const refuse = (why: string) => resolve(claudeRefusal(event.hook_event_name, why));
      const p = spawn(o.program ?? "sbx", argv, { signal, ...(o.cwd ? { cwd: o.cwd } : {}) });
      p.on("error", (e) => refuse(`Not run: sbx hook: ${e.message}`));
      p.stdout.on("data", (piece: Buffer) => out.push(piece));
      p.stderr.on("data", (piece: Buffer) => err.push(piece));
      p.stdin.on("error", () => {}); // its exit says why
      p.on("close", (code) => {
        if (code !== 0) return refuse(Buffer.concat(err).toString("utf8") || `Not run: sbx hook ended with ${code}`);
        try {
          resolve(JSON.parse(Buffer.concat(out).toString("utf8") || "{}") as Record<string, unknown>);
        } catch (e) {
          refuse(`Not run: sbx hook: ${(e as Error).message}`);
        }
      });
      p.stdin.end(JSON.stringify(event));
    });
  const after: ClaudeMatcher = { matcher: "Bash", timeout: 30, hooks: [callback] };
  const before: ClaudeMatcher = { timeout: 600, onFailure: "block", hooks: [callback] };
  return { PreToolUse: [before], PostToolUse: [after], PostToolUseFailure: [after], SessionEnd: [{ timeout: 30, hooks: [callback] }] };
}

function claudeRefusal(event: string, why: string): Record<string, unknown> {
  if (event !== "PreToolUse") return { continue: false, stopReason: why };
  return { hookSpecificOutput: { hookEventName: event, permissionDecision: "deny", permissionDecisionReason: why } };
}

// ---- OpenAI Agents SDK ----

type ShellOutcome = { type: "timeout" } | { type: "exit"; exitCode: number | null };

/**
 * The option `shell` of shellTool in @openai/agents. A refusal is the last output: the commands behind it do not run.
 *
 *     new Agent({ tools: [shellTool({ shell: shellExecutor(session) })] })
 */
export function shellExecutor(s: Session) {
  return {
    async run(action: { commands: string[]; timeoutMs?: number | undefined; maxOutputLength?: number | undefined }) {
      const output: { stdout: string; stderr: string; outcome: ShellOutcome }[] = [];
      for (const command of action.commands) {
        try {
          const { stdout, stderr, exitCode, timedOut } = await run(s, command, { timeoutMs: action.timeoutMs });
          output.push({ stdout, stderr, outcome: timedOut ? { type: "timeout" } : { type: "exit", exitCode } });
        } catch (e) {
          output.push({ stdout: "", stderr: reason(e), outcome: { type: "exit", exitCode: 126 } });
          break;
        }
      }
      return { output, ...(action.maxOutputLength ? { maxOutputLength: action.maxOutputLength } : {}) };
    },
  };
}

/**
 * The option `editor` of applyPatchTool in @openai/agents; applyDiff is that package's.
 *
 *     applyPatchTool({ editor: patchEditor(session, applyDiff) })
 */
export function patchEditor(s: Session, applyDiff: (input: string, diff: string, mode?: "default" | "create") => string) {
  const answered = async (f: () => Promise<wire.FileResult>): Promise<{ status: "completed" | "failed"; output: string }> => {
    try {
      return { status: "completed", output: (await f()).path ?? "" };
    } catch (e) {
      return { status: "failed", output: reason(e) };
    }
  };
  return {
    createFile: ({ path, diff }: { path: string; diff: string }) =>
      answered(() => s.file("create", { path, content: applyDiff("", diff, "create"), parents: true })),
    updateFile: ({ path, diff }: { path: string; diff: string }) =>
      answered(async () => {
        const { text, hash } = await whole(s, path);
        return s.write(path, applyDiff(text, diff), { if_hash: hash });
      }),
    deleteFile: ({ path }: { path: string }) => answered(() => s.file("delete", { path })),
  };
}

/** A file of text and the hash of its content. */
async function whole(s: Session, path: string): Promise<{ text: string; hash: string; size: number }> {
  const r = await s.file("read", { path });
  if (r.binary || r.encoding === "base64") throw new SandboxdError("bad_request", `${path} is not a file of text`);
  if (r.truncated) throw new SandboxdError("bad_request", `${path} is too large to be read whole`);
  return { text: r.content ?? "", hash: r.hash ?? "", size: r.size ?? 0 };
}

// ---- LangChain deepagents ----

interface FileEntry {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at: string;
}

type FileOperationError = "file_not_found" | "permission_denied" | "invalid_path";

/**
 * The option `backend` of createDeepAgent in deepagents (SandboxBackendProtocolV2). Paths are the host's; a relative one
 * is below the session's root. At most 1000 entries are listed.
 *
 *     createDeepAgent({ model, backend: new SandboxdBackend(session), systemPrompt: `The project is ${session.root}.` })
 */
export class SandboxdBackend {
  readonly id: string;
  readonly #session: Session;

  constructor(session: Session) {
    this.id = session.id;
    this.#session = session;
  }

  async execute(command: string): Promise<{ output: string; exitCode: number | null; truncated: boolean }> {
    try {
      const { stdout, stderr, exitCode } = await run(this.#session, command);
      return { output: stdout + stderr, exitCode, truncated: false };
    } catch (e) {
      return { output: reason(e), exitCode: 126, truncated: false };
    }
  }

  async ls(path: string): Promise<{ error?: string; files?: FileEntry[] }> {
    try {
      return { files: (await this.#session.list(path, { limit: maxEntries })).map(entry) };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  /** Lines from offset on, at most limit. */
  async read(path: string, offset = 0, limit = 500) {
    try {
      const r = await this.#session.file("read", { path });
      if (r.binary || r.encoding === "base64") return { content: await this.#session.read(path) };
      const lines = (r.content ?? "").split("\n");
      if (lines.at(-1) === "") lines.pop();
      const page = lines.slice(offset, offset + limit);
      const next = offset + page.length;
      const more = next < lines.length ? { nextOffset: next } : {};
      const total = r.truncated ? {} : { totalLines: lines.length };
      return { content: page.join("\n"), mimeType: "text/plain", startLine: offset + 1, endLine: next, ...total, ...more };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  async readRaw(path: string) {
    try {
      const info = (await this.#session.file("stat", { path })).info;
      const bytes = await this.#session.read(path);
      const text = bytes.toString("utf8");
      const isText = Buffer.from(text, "utf8").equals(bytes);
      const time = info?.mod_time ?? "";
      const mimeType = isText ? "text/plain" : "application/octet-stream";
      return { data: { content: isText ? text : new Uint8Array(bytes), mimeType, created_at: time, modified_at: time } };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  /** Lines that have the text, which is no pattern. */
  async grep(text: string, path?: string | null, glob?: string | null, maxCount?: number | null) {
    try {
      const limit = Math.min(maxCount ?? maxEntries, maxEntries);
      const pattern = text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
      const r = await this.#session.file("grep", { pattern, path: path ?? ".", recursive: true, limit, ...(glob ? { glob } : {}) });
      const found = (r.matches ?? []).map((m) => ({ path: m.path ?? "", line: m.line ?? 0, text: m.text ?? "" }));
      return { matches: found, ...(r.truncated ? { truncated: true } : {}) };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  /** Files below path whose path from there matches. */
  async glob(pattern: string, path = ".") {
    try {
      const r = await this.#session.file("list", { path, recursive: true, limit: maxEntries });
      const base = r.path ?? path;
      const wanted = globPattern(pattern.replace(/^\/+/, ""));
      const files = (r.entries ?? []).map(entry).filter((f) => !f.is_dir && wanted.test(below(base, f.path)));
      return { files, ...(r.truncated ? { truncated: true } : {}) };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  async write(path: string, content: string): Promise<{ error?: string; path?: string; filesUpdate?: null }> {
    try {
      await this.#session.file("write", { path, content, parents: true });
      return { path, filesUpdate: null };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  async edit(path: string, find: string, replace: string, all = false) {
    try {
      const count = all ? (await whole(this.#session, path)).text.split(find).length - 1 : 1;
      const r = await this.#session.file("edit", { path, edits: [{ find, replace, count }] });
      return { path, filesUpdate: null, occurrences: r.replaced ?? count };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  async delete(path: string): Promise<{ error?: string; path?: string; filesUpdate?: null }> {
    try {
      const dir = (await this.#session.file("stat", { path })).info?.type === "dir";
      await this.#session.file(dir ? "rmdir" : "delete", { path, ...(dir ? { recursive: true } : {}) });
      return { path, filesUpdate: null };
    } catch (e) {
      return { error: reason(e) };
    }
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<{ path: string; error: FileOperationError | null }[]> {
    const answers = [];
    for (const [path, bytes] of files) {
      const content = Buffer.from(bytes).toString("base64");
      const error = await failure(() => this.#session.file("write", { path, content, encoding: "base64", parents: true }));
      answers.push({ path, error });
    }
    return answers;
  }

  async downloadFiles(paths: string[]) {
    const answers = [];
    for (const path of paths) {
      let content: Uint8Array | null = null;
      const error = await failure(async () => { content = new Uint8Array(await this.#session.read(path)); });
      answers.push({ path, content, error });
    }
    return answers;
  }
}

const maxEntries = 1000;

function entry(f: wire.FileInfo): FileEntry {
  const dir = f.type === "dir";
  return { path: `${f.path ?? ""}${dir ? "/" : ""}`, is_dir: dir, size: f.size ?? 0, modified_at: f.mod_time ?? "" };
}

/** The path from a directory on. */
function below(base: string, path: string): string {
  const prefix = base.endsWith("/") ? base : `${base}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

/** A glob of paths: `*` and `?` stay within a name, `**` does not, `{a,b}` are alternatives, `[ab]` is a set. */
function globPattern(glob: string): RegExp {
  let depth = 0;
  const text = glob.replace(/\*\*\/|\*\*|\*|\?|\[[^\]/]+\]|[{},]|[\\^$.+()|[\]]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part === "{") return depth++, "(?:";
    if (part === "}" && depth > 0) return depth--, ")";
    if (part === "," && depth > 0) return "|";
    if (part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return part === "," ? part : `\\${part}`;
  });
  return new RegExp(`^${text}${")".repeat(depth)}$`);
}

/** The package's word for what a file operation failed by; null where it did not. */
async function failure(f: () => Promise<unknown>): Promise<FileOperationError | null> {
  try {
    await f();
    return null;
  } catch (e) {
    reason(e);
    if (e instanceof Denied) return "permission_denied";
    return (e as SandboxdError).code === "not_found" ? "file_not_found" : "invalid_path";
  }
}

// ---- Vercel AI SDK ----

type Fields<K extends string> = Record<K, string>;

/**
 * The option `tools` of generateText and streamText in ai.
 *
 *     generateText({ model, tools: aiTools(session), prompt })
 */
export function aiTools(s: Session) {
  return {
    bash: aiTool("Run a line of shell in the project's sandbox.", ["command"], async ({ command }, o) => {
      const { stdout, stderr, exitCode } = await run(s, command, { signal: o.abortSignal });
      return `exit ${exitCode}\n${stdout}${stderr}`;
    }),
    readFile: aiTool("Read a file of text.", ["path"], async ({ path }) => (await whole(s, path)).text),
    writeFile: aiTool("Write a whole file of text.", ["path", "content"], async ({ path, content }) => {
      return (await s.file("write", { path, content, parents: true })).path ?? path;
    }),
    editFile: aiTool("Replace a text that occurs once in a file.", ["path", "find", "replace"], async ({ path, find, replace }) => {
      return (await s.edit(path, find, replace)).path ?? path;
    }),
  };
}

function aiTool<K extends string>(description: string, names: K[], f: (input: Fields<K>, o: { abortSignal?: AbortSignal | undefined }) => Promise<string>) {
  return {
    description,
    inputSchema: stringFields(names),
    execute: async (input: Fields<K>, o: { abortSignal?: AbortSignal | undefined }): Promise<string> => {
      try {
        return await f(input, o);
      } catch (e) {
        return reason(e);
      }
    },
  };
}

type Checked<T> = { value: T; issues?: undefined } | { issues: { message: string }[] };

/** A schema of an object of strings, as https://standardschema.dev has it. */
function stringFields<K extends string>(names: K[]) {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const schema = () => ({ type: "object", properties, required: [...names], additionalProperties: false }) as Record<string, unknown>;
  const validate = (value: unknown): Checked<Fields<K>> => {
    const fields = value as Fields<K>;
    const issues = names.filter((name) => typeof fields?.[name] !== "string").map((name) => ({ message: `${name} must be a string` }));
    return issues.length ? { issues } : { value: fields };
  };
  return { "~standard": { version: 1 as const, vendor: "sandboxd", validate, jsonSchema: { input: schema, output: schema } } };
}
