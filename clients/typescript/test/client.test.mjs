// What the suite of requests does not reach: the parts that are written by hand.
// Runs against the daemon at $SBX_SOCKET_DIR; a person answers for "yes" and "no".
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Agent, Approver, Denied, Lost, NoDaemon, SandboxdError, requiresApproval } from "../dist/index.js";

const leave = new AbortController();
const claims = [];
let session;

/** Answers what asks: yes, unless the question says no; danger twice. */
async function person() {
  const approver = new Approver(process.env.SBX_TEST_PERSON);
  for await (const news of approver.follow(0, { signal: leave.signal })) {
    if (news.type !== "requested") continue;
    const question = news.approval;
    claims.push(question.claim);
    try {
      if (/\bno\b/.test(`${question.command ?? ""} ${JSON.stringify(question.input)}`)) {
        await approver.deny(question, { note: "no means no", soft: true });
      } else {
        const decided = await approver.allow(question);
        if (decided.confirm_again) await approver.allow({ ...question, rev: decided.rev }, { confirm: true });
      }
    } catch (e) {
      if (!(e instanceof SandboxdError)) throw e; // withdrawn meanwhile
    }
  }
}

let answering;
before(async () => {
  answering = person().catch((e) => {
    if (!leave.signal.aborted) throw e;
  });
  session = await new Agent().session({ agent: "test" });
});
after(async () => {
  await session.close();
  leave.abort();
  await answering;
});

test("run", async () => {
  const r = await session.run(["echo", "a b"]);
  assert.deepEqual([r.code, r.out, r.err], [0, "a b\n", ""]);
  assert.match(r.exit.enforcement.level, /enforced|partial|absent/);
  assert.equal((await session.run("cat", { stdin: "in\n" })).out, "in\n");
  assert.equal((await session.run("sleep 100", { timeout: 0.2 })).code, 124);
});

test("streams", async () => {
  const p = await session.start("cat", { streamStdin: true });
  const pieces = [];
  const end = p.wait((kind, piece) => pieces.push(piece));
  await p.write("one\n");
  await p.write((async function* () { yield "two\n"; yield Buffer.from("three\n"); })(), true);
  const r = await end;
  assert.equal(r.out, "one\ntwo\nthree\n");
  assert.deepEqual(Buffer.concat(pieces), r.stdout);
});

test("resumes where the connection is lost", async () => {
  const agent = session.agent;
  for (const follow of [false, true]) {
    let cut = 0;
    for (const name of ["execEvents", "execRun"]) {
      const real = agent[name].bind(agent);
      agent[name] = async function* (request, options) {
        let i = 0;
        for await (const event of real(request, options)) {
          if (i++ === 2 && cut < 3) {
            cut++;
            throw new Lost("pulled");
          }
          yield event;
        }
      };
    }
    try {
      const p = await session.start("seq 1 2000", { keep: true, follow });
      assert.equal((await p.wait()).out, Array.from({ length: 2000 }, (_, i) => `${i + 1}\n`).join(""));
      assert.ok(cut > 0);
    } finally {
      delete agent.execEvents;
      delete agent.execRun;
    }
  }
});

test("denied", async () => {
  await assert.rejects(session.run("touch no"), (e) => {
    assert.ok(e instanceof Denied);
    assert.match(e.message, /no means no/);
    assert.deepEqual([e.note, e.mode], ["no means no", "soft"]);
    return true;
  });
});

test("check", async () => {
  assert.equal((await session.check("ls")).decision, "auto");
  assert.equal((await session.check("touch x")).decision, "ask");
});

test("a function behind approval", async () => {
  const calls = [];
  const sendEmail = requiresApproval(
    function send_email({ to }) {
      calls.push(to);
      return to;
    },
    { session, description: (a) => `mail to ${a.to}`, excludeKeys: ["body"] },
  );
  assert.equal(await sendEmail({ to: "anna", body: "secret" }), "anna");
  await assert.rejects(sendEmail({ to: "no" }), Denied);
  assert.deepEqual(calls, ["anna"]);
  assert.ok(claims.includes("mail to anna"), JSON.stringify(claims));

  const alone = requiresApproval(async ({ x }) => x + 1, { tool: "other_name" });
  await assert.rejects(alone({ x: 1 }), SandboxdError); // no session
  const s = await new Agent().session({ agent: "test" });
  assert.equal(await s.use(() => alone({ x: 1 })), 2);
});

test("what was shown is what the function gets", async () => {
  const f = requiresApproval(async ({ to }) => to, { session, tool: "send_email" });
  const args = { to: "yes" };
  const answer = f(args);
  args.to = "other";
  assert.equal(await answer, "yes");
});

test("no daemon", async () => {
  await assert.rejects(new Agent("/nowhere/agent.sock").version(), NoDaemon);
});

test("unknown session", async () => {
  await assert.rejects(session.agent.sessionTurn({ id: "absent" }), (e) => e.code === "not_found" && e.status === 404);
});
