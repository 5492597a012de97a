"""What the suite of requests does not reach: the parts that are written by hand.
Runs against the daemon at $SBX_SOCKET_DIR; a person answers for "yes" and "no"."""

import asyncio
import os
import threading
import unittest

from sandboxd import (
    Agent,
    Approver,
    AsyncSession,
    Denied,
    Lost,
    NoDaemon,
    Result,
    SandboxdError,
    Session,
    requires_approval,
)

PERSON = os.environ["SBX_TEST_PERSON"]  # a socket that leads to approver.sock as a person's


class Person(threading.Thread):
    """Answers questions: yes, unless the question says no; danger twice."""

    def __init__(self):
        super().__init__(daemon=True)
        self.approver = Approver(PERSON)
        self.claims = []

    def run(self):
        for news in self.approver.follow():
            if news["type"] != "requested":
                continue
            question = news["approval"]
            self.claims.append(question.get("claim", ""))
            text = question.get("command", "") + str(question.get("input", ""))
            try:
                if "no" in text.split() or "'no'" in text:
                    self.approver.deny(question, note="no means no", soft=True)
                else:
                    decided = self.approver.allow(question)
                    if decided.get("confirm_again"):
                        question["rev"] = decided["rev"]
                        self.approver.allow(question, confirm=True)
            except SandboxdError:
                pass  # withdrawn meanwhile


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.person = Person()
        cls.person.start()

    def setUp(self):
        self.session = Agent().session("test")
        self.session.__enter__()

    def tearDown(self):
        self.session.__exit__(None, None, None)

    def test_run(self):
        r = self.session.run(["echo", "a b"])
        self.assertEqual((r.code, r.out, r.err), (0, "a b\n", ""))
        self.assertIn(r.exit["enforcement"]["level"], ("enforced", "partial", "absent"))
        self.assertEqual(self.session.run("cat", stdin="in\n").out, "in\n")
        self.assertEqual(self.session.run("sleep 100", timeout=0.2).code, 124)

    def test_refused(self):
        found = {"kind": "path", "access": "read", "object": "/x", "rule": "hidden", "hint": "ask", "minor": False}
        r = Result(1, b"", b"", {"violations": [found, dict(found, minor=True), {"kind": "syscall", "object": "bpf"}]})
        self.assertEqual(r.refused, "the sandbox refused read /x: hidden; ask\nthe sandbox refused syscall bpf\n")
        self.assertEqual(Result(0, b"", b"", {}).refused, "")

    def test_streams(self):
        pieces = []
        p = self.session.start("cat", stream_stdin=True)
        got = []
        reader = threading.Thread(target=lambda: got.append(p.wait(lambda kind, piece: pieces.append((kind, piece)))))
        reader.start()
        p.write(b"one\n")
        p.write(iter([b"two\n", b"three\n"]), eof=True)
        reader.join(30)
        self.assertEqual(got[0].out, "one\ntwo\nthree\n")
        self.assertEqual(b"".join(b for _, b in pieces), got[0].stdout)

    def test_resumes(self):
        """Where the connection is lost, nothing is lost or doubled."""
        for follow in (False, True):
            agent, cut = Agent(self.session.agent.path, self.session.agent.secret), []

            def lossy(real):
                def events(**request):
                    for i, event in enumerate(real(**request)):
                        if i == 2 and len(cut) < 3:
                            cut.append(event["seq"])
                            raise Lost("pulled")
                        yield event

                return events

            agent.exec_events, agent.exec_run = lossy(agent.exec_events), lossy(agent.exec_run)
            session = Session(agent, self.session.opened)
            session.agent = agent
            p = session.start("seq 1 2000", keep=True, follow=follow)
            self.assertEqual(p.wait().out, "".join("%d\n" % i for i in range(1, 2001)))
            self.assertTrue(cut)

    def test_denied(self):
        with self.assertRaises(Denied) as e:
            self.session.run("touch no")
        self.assertIn("no means no", str(e.exception))
        self.assertEqual((e.exception.note, e.exception.mode), ("no means no", "soft"))
        self.assertIsInstance(e.exception, PermissionError)

    def test_check(self):
        self.assertEqual(self.session.check("ls")["decision"], "auto")
        self.assertEqual(self.session.check("touch x")["decision"], "ask")

    def test_requires_approval(self):
        calls = []

        @requires_approval(description=lambda a: "mail to " + a["to"], exclude_keys={"body"})
        def send_email(to, subject="hello", *, body="secret"):
            """Sends."""
            calls.append(to)
            return to

        self.assertEqual(send_email("anna"), "anna")
        self.assertEqual(send_email.__doc__, "Sends.")
        with self.assertRaises(Denied):
            send_email("no")
        self.assertEqual(calls, ["anna"])
        self.assertIn("mail to anna", self.person.claims)

        @requires_approval(payload=lambda a: {"only": "this"}, tool="other_name")
        async def later(x):
            return x + 1

        self.assertEqual(asyncio.run(later(1)), 2)

    def test_async(self):
        async def main():
            async with AsyncSession("test") as s:
                pieces = []
                runs = [s.run("echo %d" % i) for i in range(20)] + [s.run("cat", stdin="in", output=lambda k, b: pieces.append(b))]
                outs = [r.out for r in await asyncio.gather(*runs)]
                self.assertEqual(outs, ["%d\n" % i for i in range(20)] + ["in"])
                await s.write("aio.txt", "text")
                self.assertEqual((await s.read_text("aio.txt"), b"".join(pieces)), ("text", b"in"))
                with self.assertRaises(Denied):
                    await s.run("touch no")

                @requires_approval()
                async def later(x):
                    return x + 1

                # Many questions at once wait in threads of their own, and the loop turns.
                self.assertEqual(await asyncio.gather(*(later(i) for i in range(20))), list(range(1, 21)))

                task = asyncio.ensure_future(s.run("echo $$ > pid; sleep 97 & wait # yes"))
                while not os.path.exists("pid") or not open("pid").read():
                    await asyncio.sleep(0.05)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                while any(e.get("running") for e in s.session.agent.session_list().get("sessions", []) if e["id"] == s.session.id):
                    await asyncio.sleep(0.05)

        asyncio.run(asyncio.wait_for(main(), 120))

    def test_no_session(self):
        @requires_approval()
        def f():
            raise AssertionError("it ran")

        import contextvars

        with self.assertRaises(SandboxdError):
            contextvars.Context().run(f)

    def test_no_daemon(self):
        with self.assertRaises(NoDaemon):
            Agent("/nowhere/agent.sock").version()

    def test_unknown_session(self):
        with self.assertRaises(SandboxdError) as e:
            self.session.agent.session_turn(id="absent")
        self.assertEqual((e.exception.code, e.exception.status), ("not_found", 404))


if __name__ == "__main__":
    unittest.main()
