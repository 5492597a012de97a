import { el, text, table, when } from "./dom.js";

// Sessions with their commands and jobs, an output as it comes, and a job's log.

const refresh = 2000; // ms between two looks at what no event reports
const mostShown = 200_000; // characters of an output
const kinds = { cli: "terminal", api: "program", hook: "agent" };

const decode = (data) => new TextDecoder().decode(Uint8Array.from(atob(data ?? ""), (c) => c.charCodeAt(0)));
const short = (s) => (s.length > 120 ? s.slice(0, 120) + "…" : s);
const code = (s) => el("code", {}, text(short(s)));

/** label names a session: its agent, its label, or its kind, and its process. */
function label(s) {
  const names = [s.agent && s.agent + (s.claimed ? " (it says)" : ""), s.label].filter(Boolean);
  return [...(names.length ? names : [kinds[s.kind] ?? s.kind]), `process ${s.pid}`].join(" · ");
}

/**
 * sessionViews returns the view of the sessions. page is what app.js has for it: link, main, say, fail, back, and renew,
 * whose signal ends when another view is shown.
 */
export function sessionViews({ link, main, say, fail, back, renew }) {
  /** repeat calls f until it returns false or the view ends; a connection that is down is tried again. */
  async function repeat(signal, f) {
    for (let more = true; more !== false && !signal.aborted; ) {
      await new Promise((r) => setTimeout(r, refresh));
      if (document.hidden || signal.aborted) continue;
      more = await f().catch((e) => {
        if (e.code) fail(e); // else the line on the connection says it
        return e.code ? false : true;
      });
    }
  }

  async function sessions(signal) {
    let last;
    const draw = async () => {
      const [{ sessions }, { jobs }] = await Promise.all([link.call("session.list"), link.call("job.list")]);
      const now = JSON.stringify([sessions, jobs]);
      if (signal.aborted || now === last) return;
      last = now;
      const had = document.activeElement?.dataset?.keep;
      main.replaceChildren(el("h1", {}, "Sessions"), listOf(sessions), el("h2", {}, "Jobs"), jobsOf(jobs, sessions));
      if (had) [...main.querySelectorAll("[data-keep]")].find((x) => x.dataset.keep === had)?.focus({ preventScroll: true });
    };
    await draw();
    repeat(signal, draw);
  }

  /** button says words, and of which command to those who can't see where it is. */
  const button = (words, command, id, onclick, more = {}) =>
    el("button", { type: "button", "aria-label": `${words} of ${command}`, "data-keep": `${words} ${id}`, onclick, ...more }, words);

  function listOf(sessions) {
    if (!sessions.length) return el("p", { class: "notice" }, "No session is open.");
    return table("Sessions", ["Session", "Project", "State", "Last used", "Commands"], sessions.map((s) => [
      label(s), (s.root ?? "") + (s.trusted ? "" : " (read-only)"),
      s.stopped ? el("span", {}, el("span", { class: "bad" }, text("stopped: " + s.stopped)), " ", el("button", { type: "button", "data-keep": "resume " + s.id, onclick: () => link.call("session.turn", { id: s.id }).then(back, fail) }, "Resume")) : s.mode,
      when(s.last_used),
      s.commands?.length ? el("div", {}, s.commands.map((x) => el("p", {}, code(x.command), x.waiting ? " waits for an answer " : " runs ",
        x.waiting ? el("a", { href: "#queue" }, "Answer") : button("Watch output", x.command, x.id, () => output(x))))) : "none"]));
  }

  function jobsOf(jobs, sessions) {
    if (!jobs.length) return el("p", { class: "notice" }, "No command left anything running.");
    const of = (j) => sessions.find((s) => s.id === j.session);
    return table("Jobs", ["Command", "Session", "Started", "State", "Change"], jobs.map((j) => [
      code(j.command), of(j) ? label(of(j)) : j.session, when(j.started), stateOf(j),
      el("div", { class: "row" }, button("Show log", j.command, j.id, () => log(j)), j.ended ? "" : button("Stop job", j.command, j.id, () => stop(j).then(back), { class: "no" }))]));
  }

  const stateOf = (j) => (j.ended ? el("span", {}, "ended ", when(j.ended), ": ", text(j.why)) : "running");
  const stop = (j) => link.call("job.stop", { id: j.id }).then(() => say("The job has ended."), fail);

  /** one shows one command's text below a heading, and returns the view's signal. */
  function one(heading, line, ...rest) {
    const signal = renew();
    main.replaceChildren(el("h1", {}, heading, text(short(line))), ...rest);
    main.focus();
    return signal;
  }
  const leave = () => el("button", { type: "button", "data-keep": "back", onclick: back }, "Back");

  function output({ id, command: line }) {
    const pre = el("pre", { tabindex: "0", "aria-label": "Output" });
    const status = el("p", { role: "status" }, "running");
    let size = 0;
    const signal = one("Output of ", line, status, pre, el("div", { class: "row" }, leave(),
      el("button", { type: "button", class: "no", onclick: () => link.call("exec.cancel", { id }).catch(fail) }, "Stop command")));
    link.call("exec.events", { id, watch: true }, { signal, value: (v) => {
      if (v.data) {
        const s = decode(v.data);
        pre.append(el("span", { class: v.type === "stderr" ? "warn" : "" }, text(s)));
        for (size += s.length; size > mostShown && pre.childNodes.length > 1; ) {
          size -= pre.firstChild.textContent.length;
          pre.firstChild.remove();
        }
        pre.scrollTop = pre.scrollHeight;
      }
      if (v.exit) status.replaceChildren(...text(v.exit.denied ? v.exit.denied.message : `ended with ${v.exit.signal || v.exit.code}`));
    } }).catch(fail);
  }

  /** log shows the newest output of a job until it ends. */
  function log(job) {
    const pre = el("pre", { tabindex: "0", "aria-label": "Log" });
    const status = el("p", { role: "status" });
    const cut = el("p", { class: "small" });
    const end = el("button", { type: "button", class: "no", onclick: () => stop(job).then(draw).catch(fail) }, "Stop job");
    const signal = one("Log of ", job.command, status, cut, pre, el("div", { class: "row" }, leave(), end));
    let last;
    const draw = async () => {
      const j = await link.call("job.show", { id: job.id });
      const now = JSON.stringify(j);
      if (signal.aborted || now === last) return;
      const below = !last || pre.scrollHeight - pre.scrollTop - pre.clientHeight < 8;
      last = now;
      status.replaceChildren(stateOf(j));
      cut.replaceChildren(j.cut_bytes ? `${j.cut_bytes} bytes of earlier output are not kept.` : "");
      pre.replaceChildren(...text(decode(j.log)));
      if (below) pre.scrollTop = pre.scrollHeight;
      if (!j.ended) return;
      end.remove();
      return false;
    };
    draw().then((more) => more !== false && repeat(signal, draw), fail);
  }

  return sessions;
}
