// The approver's side.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Lost } from "./errors.ts";
import { ApproverOperations } from "./operations.ts";
import { socketDir, type CallOptions } from "./transport.ts";
import type * as wire from "./wire.ts";

/** approver.sock: where people, and programs acting for people, answer. */
export class Approver extends ApproverOperations {
  constructor(socket = join(socketDir(), "approver.sock")) {
    super(socket);
  }

  /**
   * Answers yes to exactly what was shown. Where the answer has `confirm_again`,
   * nothing is decided until the person says yes once more: then call it again
   * with confirm, and with the `rev` that came back. lifetime is in seconds.
   */
  allow(
    question: wire.Approval,
    o: { scope?: string; lifetime?: number; note?: string; suggestion?: string; widening?: string; confirm?: boolean } = {},
  ): Promise<wire.Decided> {
    const { lifetime, ...rest } = o;
    return this.approvalDecide({ ...binding(question), allow: true, ...rest, ...(lifetime ? { for_ms: Math.round(lifetime * 1000) } : {}) });
  }

  /** Answers no. The agent gets the note. soft refuses this call only; else everything is refused until the user speaks. */
  deny(question: wire.Approval, o: { note?: string; soft?: boolean; scope?: string } = {}): Promise<wire.Decided> {
    const { soft, ...rest } = o;
    return this.approvalDecide({ ...binding(question), allow: false, ...rest, ...(soft ? { mode: "soft" } : {}) });
  }

  /** What happens, without an end: first what is pending, then each event as it comes. A lost connection is made again where it ended. */
  async *follow(after = 0, options: CallOptions = {}): AsyncGenerator<wire.News, void, void> {
    for (let lost = 1; ; lost++) {
      try {
        for await (const news of this.events(after ? { after } : {}, options)) {
          after = Math.max(after, news.seq ?? 0);
          lost = 0;
          yield news;
        }
      } catch (e) {
        if (!(e instanceof Lost)) throw e;
      }
      await sleep(Math.min(50 * lost, 2000));
    }
  }
}

function binding(question: wire.Approval): { id: string; rev: number; hash: string } {
  return { id: question.id ?? "", rev: question.rev ?? 0, hash: question.hash ?? "" };
}
