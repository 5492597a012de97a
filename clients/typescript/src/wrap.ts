// Any function behind approval.

import { SandboxdError } from "./errors.ts";
import { currentSession, type Session } from "./session.ts";

export interface ApprovalOptions<A> {
  /** The session to ask in; default: the one that Session.use runs in. */
  session?: Session;
  /** The name of the tool; default: the function's. */
  tool?: string;
  /** What the call is for. */
  description?: string | ((args: A) => string);
  /** Arguments that are not shown or recorded. */
  excludeKeys?: Iterable<string>;
  /** Another payload than the arguments. */
  payload?: (args: A) => Record<string, unknown>;
}

/**
 * Puts a function of one object of arguments behind approval: each call is first
 * shown to sandboxd as a call of a tool, and to a person where its rules ask. The
 * function runs only after a yes; else Denied is thrown, whose message is ready
 * for a model.
 *
 *     const sendEmail = requiresApproval(
 *       async function send_email(args: { to: string; body: string }) { … },
 *       { description: (a) => `Send email to ${a.to}`, excludeKeys: ["body"] },
 *     );
 */
export function requiresApproval<A extends object, R>(f: (args: A) => R | Promise<R>, options: ApprovalOptions<A> = {}): (args: A) => Promise<R> {
  const tool = options.tool ?? f.name;
  if (!tool) throw new SandboxdError("bad_request", "the function has no name; give one as `tool`");
  const exclude = new Set(options.excludeKeys ?? []);
  return async (args: A): Promise<R> => {
    const session = options.session ?? currentSession();
    if (!session) throw new SandboxdError("no_session", `${tool} needs approval, and there is no session to ask in`, "session.use(…)");
    const held = structuredClone(args); // what was shown is what the function gets
    const shown = options.payload ? options.payload(held) : Object.fromEntries(Object.entries(held).filter(([k]) => !exclude.has(k)));
    const description = typeof options.description === "function" ? options.description(held) : options.description;
    await session.ask(tool, shown, description ? { description } : {});
    return f(held);
  };
}
