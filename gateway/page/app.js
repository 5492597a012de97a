import { answerViews, scopeWords, settle } from "./answers.js";
import { el, text, command, facts, table, span, when } from "./dom.js";
import { changeViews } from "./changes.js";
import { diff } from "./diff.js";
import { Link, key, post } from "./rpc.js";
import { sessionViews } from "./sessions.js";
import { twoWords } from "./code.js";

const $ = (id) => document.getElementById(id);
const main = $("main");

const state = {
  queue: new Map(), // by id: {q, whole, shown}
  chosen: "",
  drafts: new Map(), // what a person typed and chose, by question
  again: new Map(), // the first yes of two
  sent: new Set(),
  seq: 0,
  side: matchMedia("(min-width: 90rem)").matches,
  view: "queue",
  expected: "", // the change set whose question is shown once it is asked
};

const link = new Link();

// ---- what is said to the person ----

/** leaving is set once the person signs out. */
let leaving = false;

let saying;
function say(s, alert) {
  $("said").replaceChildren(...text(s));
  if (alert) $("alert").replaceChildren(...text(s));
  clearTimeout(saying);
  saying = setTimeout(() => $("said").replaceChildren(), 8000);
}

function fail(e) {
  if (leaving) return; // what a signed-out page lacks is no failure
  say(e.hint ? `${e.message}: ${e.hint}` : e.message, true);
}

function notifyOf(q) {
  if (typeof Notification !== "undefined" && Notification.permission === "granted" && document.hidden) {
    new Notification("sandboxd asks", { body: subject(q).slice(0, 200), tag: q.id });
  }
}

function badge() {
  const n = state.queue.size;
  document.title = n ? `(${n}) sandboxd` : "sandboxd";
  $("count").textContent = n ? String(n) : "";
}

// ---- the queue ----

const subject = (q) => q.command || (q.argv ?? []).join(" ") || q.description || q.tool;

function put(q, fresh) {
  const old = state.queue.get(q.id);
  const changed = !old || old.q.rev !== q.rev || old.q.hash !== q.hash;
  state.queue.set(q.id, { q, whole: changed ? undefined : old.whole, shown: changed ? undefined : old.shown });
  if (changed) {
    state.again.delete(q.id);
    state.drafts.delete(q.id); // an answer is to what is on the page
  }
  const shown = document.querySelector(`.card[data-id="${CSS.escape(q.id)}"] [data-deadline]`);
  if (shown && q.deadline) shown.dataset.deadline = q.deadline;
  if (fresh && !old) notifyOf(q);
  if (!old && state.expected && q.input?.change === state.expected) {
    state.chosen = q.id;
    location.hash = "#queue";
  }
}

function drop(id, d) {
  if (!state.queue.delete(id)) return;
  state.again.delete(id);
  state.drafts.delete(id);
  if (!state.sent.delete(id) && d) say(`${d.allowed ? "Allowed" : d.reason === "timeout" ? "Timed out" : d.reason === "again" ? "Presets added" : "Denied"} by ${d.by || d.reason}`);
  if (state.chosen === id) state.chosen = "";
}

async function reload() {
  const { approvals } = await link.call("approval.list");
  const ids = new Set(approvals.map((q) => q.id));
  for (const id of [...state.queue.keys()]) if (!ids.has(id)) drop(id);
  for (const q of approvals) put(q, false);
  render();
}

let following;
function follow() {
  following?.abort();
  following = new AbortController();
  const params = state.seq ? { after: state.seq } : {};
  link.call("events", params, { signal: following.signal, value: news }).catch(() => {});
}

function news(n) {
  if (n.seq) state.seq = Math.max(state.seq, n.seq);
  if ((n.gap || n.change) && state.view === "changes") show();
  if (n.change) return;
  if (n.gap) return void reload().catch(fail);
  if (n.approval) put(n.approval, n.seq > 0);
  if (n.decision) drop(n.decision.id, n.decision);
  if (n.approval || n.decision) {
    badge();
    if (state.view === "queue") soon();
  } else if (state.view !== "queue" && state.view !== "history" && !reading) show();
}

let drawing;
function soon() {
  drawing ??= requestAnimationFrame(() => {
    drawing = undefined;
    render();
  });
}

function render() {
  badge();
  if (state.view !== "queue") return;
  const list = [...state.queue.values()];
  if (!list.length) {
    main.replaceChildren(el("h1", {}, "Questions"), el("p", { class: "notice" }, "Nothing waits for an answer."));
    return;
  }
  if (!state.queue.has(state.chosen)) state.chosen = list[0].q.id;
  const had = document.activeElement?.dataset?.keep;
  const items = el("ol", { class: "list", "aria-label": "Questions that wait" }, list.map(({ q }) => el("li", {},
    el("button", { type: "button", "aria-current": q.id === state.chosen ? "true" : false, "data-keep": "item " + q.id, "data-id": q.id, onclick: () => choose(q.id) },
      el("span", { class: "what" }, text(subject(q))),
      el("span", { class: "small" }, text([q.tool, q.risk + " risk", q.agent, ].filter(Boolean).join(" · ")), " · waits ", el("span", { "data-since": q.created }, span(Date.now() - new Date(q.created))))))));
  const old = main.querySelector(".card");
  const kept = old && old.dataset.id === state.chosen && old.dataset.state === cardState(state.chosen) ? old : card(state.queue.get(state.chosen));
  if (old && old !== kept && old.dataset.id === kept.dataset.id) unfold(old, kept);
  const scroll = main.querySelector("ol.list")?.scrollTop ?? 0;
  main.replaceChildren(el("h1", {}, list.length === 1 ? "One question" : `${list.length} questions`),
    el("div", { class: list.length > 1 ? "queue two" : "queue" }, list.length > 1 ? items : "", kept));
  items.scrollTop = scroll;
  if (had) [...main.querySelectorAll("[data-keep]")].find((x) => x.dataset.keep === had)?.focus({ preventScroll: true });
}

const answers = answerViews({ state, link, main, say, subject, answer, choose });

/** unfold gives a card that is drawn again the folds of the one before it, which a person may have opened or closed. */
function unfold(old, card) {
  const named = (d) => d.querySelector("summary").textContent;
  const open = new Map([...old.querySelectorAll("details")].map((d) => [named(d), d.open]));
  for (const d of card.querySelectorAll("details")) d.open = open.get(named(d)) ?? d.open;
}

/** cardState changes when the card must be redrawn. */
function cardState(id) {
  const e = state.queue.get(id);
  return [e.q.rev, e.q.hash, e.whole ? 1 : 0, state.again.has(id), state.sent.has(id), state.side].join(" ");
}

function choose(id) {
  state.chosen = id;
  render();
}

function card(entry) {
  const { q } = entry;
  const w = entry.whole ?? q;
  if (!entry.whole) {
    link.call("approval.show", { id: q.id }).then((whole) => {
      if (state.queue.get(q.id)?.q.hash !== whole.hash) return;
      state.queue.get(q.id).whole = whole;
      soon();
    }, () => {});
  }
  entry.shown ??= performance.now();
  const draft = state.drafts.get(q.id) ?? {};
  state.drafts.set(q.id, draft);
  const id = (s) => `${s}-${q.id}`;
  const tags = [q.risk === "high" && "HIGH RISK", q.dangerous && "DANGEROUS", q.outside && "OUTSIDE PROJECT", q.protected && "PROTECTED", q.delete && "DELETES"].filter(Boolean);
  const c = el("article", { class: "card" + (tags.length ? " high" : ""), "data-id": q.id, "data-state": cardState(q.id), "aria-labelledby": id("what") },
    el("h2", { id: id("what") }, titleOf(q)),
    tags.length ? el("ul", { class: "tags", "aria-label": "Warnings" }, tags.map((t) => el("li", { class: "bad" }, t))) : "",
    el("pre", { tabindex: "0", "aria-label": "What it would do" }, q.command ? command(q.command) : text(subject(q))),
    q.claim ? el("p", { class: "small" }, "The agent says: ", text(q.claim)) : "",
    landingOf(q) ? held.landing(q.input, render, () => presentation(w)) : presentation(w),
    facts(["Why it asks", [...new Set(q.reasons)]], ["Rule", q.rule], ["Directory", q.cwd], ["Path", q.blocked_path], ["Note", q.notes],
      ["Agent", q.agent ? q.agent : `process ${q.pid} ${q.exe ?? ""}`],
      ["Session", [q.label, q.session].filter(Boolean).join(" · ")],
      ["In the sandbox", q.sandbox], ["Not enforced", missing(q.enforcement)], ["Warning", (q.warnings ?? []).map((x) => x.message).filter((m) => !tags.includes(m))],
      ["So far", past(w.past)], ["Answer within", q.deadline ? el("span", { "data-deadline": q.deadline }, span(new Date(q.deadline) - Date.now())) : ""]),
    batch(q.batch), answers(q, w, draft));
  return c;
}

const landingOf = (q) => q.input?.change && ["land", "drop"].includes(q.input.op);

function titleOf(q) {
  if (q.tool === "bash") return "Run this command?";
  if (q.input?.change && q.input.op === "undo") return "Undo what the command wrote?";
  if (!landingOf(q)) return `Use ${q.tool}?`;
  return q.input.op === "land" ? "Land what the command wrote?" : "Drop what the command wrote?";
}

const past = (p) => (p?.of ? `${p.matched} of the last ${p.of} calls were like this, ${p.asked} of them asked` : "");

function missing(e) {
  return (e?.protections ?? []).filter((p) => p.level !== "enforced").map((p) => `${p.name}: ${p.missing || p.why || p.level}`);
}

function presentation(q) {
  const p = q.presentation;
  if (!p || p.kind === "command" || !p.content) return "";
  const lines = p.content.split("\n").length;
  const title = p.kind === "diff" ? "What changes" : p.kind === "file_content" ? "New content" : "Details";
  return el("section", {},
    el("h3", {}, `${title} (${lines} ${lines === 1 ? "line" : "lines"})`),
    p.kind === "diff" ? el("button", { type: "button", "data-keep": "side", onclick: () => { state.side = !state.side; render(); } }, state.side ? "In one column" : "Side by side") : "",
    p.kind === "diff" ? diff(p.content, state.side) : el("pre", { tabindex: "0", "aria-label": title }, text(p.content)));
}

function batch(b) {
  if (!b || b.total < 2) return "";
  return el("section", {}, el("h3", {}, `Call ${b.index + 1} of ${b.total}`),
    b.remaining?.length ? el("div", {}, el("p", { class: "small" }, "After it:"), el("ol", {}, b.remaining.map((r) => el("li", {}, text(`${r.tool}: ${r.command ?? ""}`))))) : "");
}

async function answer(q, a) {
  const e = state.queue.get(q.id);
  if (!e || state.sent.has(q.id)) return;
  if (performance.now() - e.shown < settle) return say("That was very quick: look, and press again.");
  if (!a.allow) { delete a.widening; delete a.trust; delete a.paths; }
  const params = { id: q.id, rev: q.rev, hash: q.hash, allow: a.allow };
  for (const k of ["key", "scope", "note", "mode", "suggestion", "widening", "trust"]) if (a[k]) params[k] = a[k];
  if (a.for_ms) params.for_ms = a.for_ms;
  if (a.paths?.length) params.paths = a.paths;
  if (a.confirm) params.confirm = true;
  if (a.presets) params.presets = true;
  if (params.scope === "once") delete params.scope;
  state.sent.add(q.id);
  render();
  try {
    const d = await link.call("approval.decide", params, { again: true });
    if (d.confirm_again) {
      state.sent.delete(q.id);
      state.again.set(q.id, { ...a, code: twoWords(), typed: "" });
      if (e) e.shown = performance.now();
      render();
      main.querySelector('[data-keep="code"]')?.focus();
      return say("This needs a second yes: two words to type.", true);
    }
    say(a.presets ? `${d.why}.` : d.allowed ? "Allowed." : "Denied.");
    drop(q.id);
  } catch (err) {
    state.sent.delete(q.id);
    fail(err);
    await reload().catch(() => {});
  }
  render();
  (main.querySelector("ol.list button") ?? main).focus();
}

setInterval(() => {
  for (const e of document.querySelectorAll("[data-since]")) e.textContent = span(Date.now() - new Date(e.dataset.since));
  for (const e of document.querySelectorAll("[data-deadline]")) e.textContent = span(new Date(e.dataset.deadline) - Date.now());
}, 1000);

// ---- the other views ----

/** live ends when another view is shown; reading is set while the view is one output or log. */
let live = new AbortController();
let reading = false;
function renew(one = true) {
  live.abort();
  live = new AbortController();
  reading = one;
  return live.signal;
}

const sessions = sessionViews({ link, main, say, fail, renew, back: () => show().then(() => main.focus()) });
const held = changeViews({ link, main, say, fail, show, side: (v) => (state.side = v ?? state.side), expect: (id) => (state.expected = id) });
const views = { queue: () => render(), changes: held.changes, history, sessions, grants, host };

async function show() {
  const signal = renew(false);
  const view = location.hash.slice(1) in views ? location.hash.slice(1) : "queue";
  const moved = view !== state.view;
  state.view = view;
  for (const a of document.querySelectorAll("nav a")) {
    if (a.dataset.view === view) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  try {
    await views[view](signal);
    if (moved) main.focus();
  } catch (e) {
    fail(e);
  }
}

/** whatOf says in words what a record of the log is about. */
function whatOf(r) {
  if (r.category === "decision") return (r.decision ?? r.operation ?? "").replaceAll("_", " ");
  if (r.category === "execution" && r.operation === "start") return "started";
  if (r.category === "execution" && r.operation === "end") return r.signal ? `ended by ${r.signal}` : r.exit !== undefined ? `ended, exit ${r.exit}` : "ended";
  return [r.category, r.operation].filter(Boolean).join(" ");
}

async function history() {
  const { records, bad } = await link.call("audit", { last: true, limit: 1000 });
  if (state.view !== "history") return;
  records.reverse();
  const row = (r) => [when(r.time), whatOf(r), r.subject || (r.argv ?? []).map((w) => (/[^\w@%+=:,./-]/.test(w) || !w ? JSON.stringify(w) : w)).join(" ") || r.session || "", r.by ?? "", [r.reason === "no_check" ? "needs no question" : r.reason, r.rule, r.note].filter(Boolean).join(" · ")];
  for (const r of records) r.hay = row(r).map((c) => c.textContent ?? c).join("\n").toLowerCase();
  let limit = 100;
  const body = el("div");
  const search = el("input", { type: "search", oninput: () => { limit = 100; draw(); } });
  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = records.filter((r) => words.every((w) => r.hay.includes(w)));
    body.replaceChildren(
      el("p", { class: "small", role: "status" }, `${hits.length} of ${records.length} records`),
      table("History", ["When", "What", "Command or file", "By", "Why"], hits.slice(0, limit).map(row)),
      hits.length > limit ? el("button", { type: "button", onclick: () => { limit += 400; draw(); } }, `Show ${Math.min(400, hits.length - limit)} more`) : "");
  }
  draw();
  main.replaceChildren(el("h1", {}, "History"),
    ...(bad ?? []).map((b) => el("p", { class: "bad" }, "One damaged record was skipped: ", text(b), ". Run ", el("code", {}, "sbx log verify"), ".")),
    el("div", { class: "row" }, el("label", { class: "wide" }, "Search", search)), body);
}

async function grants() {
  const { grants } = await link.call("grant.list");
  if (state.view !== "grants") return;
  main.replaceChildren(el("h1", {}, "Grants"), grants.length ? table("Grants", ["What", "Scope", "Until", "By", "Used", "Change"], grants.map((g) => [
    `${g.allow ? "allow" : "deny"} ${g.tool}: ${g.what}`, [g.project ? `always, in ${g.project}` : scopeWords[g.scope] ?? g.scope, g.agent].filter(Boolean).join(" · "), g.expires ? when(g.expires) : "", g.by, String(g.uses),
    el("button", { type: "button", class: "no", onclick: () => link.call("grant.revoke", { id: g.id }).then(() => { say("Withdrawn."); show(); }, fail) }, "Withdraw", el("span", { class: "visually-hidden" }, " ", g.what))])) : el("p", { class: "notice" }, "Nothing is allowed or refused beyond single calls."));
}

async function host() {
  const [s, stats] = await Promise.all([link.call("status"), link.call("stats")]);
  if (state.view !== "host") return;
  const cls = { enforced: "good", partial: "warn", absent: "bad" };
  const o = stats.overall;
  main.replaceChildren(el("h1", {}, "Host"),
    facts(["Version", s.version.version], ["Mode", s.mode], ["Since", when(s.started)], ["Warnings", (s.warnings ?? []).filter((w) => w.where !== "this host").map((w) => w.message)],
      ["Decisions", `${o.total}: ${o.approved} approved, ${o.denied} denied, ${o.auto_approved} unasked, ${o.timed_out} timed out`]),
    el("h2", {}, "What this host enforces"),
    table("Protections", ["Protection", "Level", "By", "What is missing"], s.enforcement.protections.map((p) => [p.name, el("span", { class: cls[p.level] }, p.level), p.by ?? "", [p.missing, p.why, p.remedy].filter(Boolean).join(" · ")])));
}

// ---- coming and going ----

function out(message) {
  key.set("");
  link.stop();
  renew(false);
  $("link").textContent = "not connected";
  main.replaceChildren(el("h1", {}, "Not signed in"), el("p", { class: "notice" }, message + " ", "Run ", el("code", {}, "sbx web"), " in a terminal: it opens this page."));
}

$("leave").addEventListener("click", () => {
  leaving = true;
  link.stop();
  post("/leave").catch(() => {}).finally(() => out("You are signed out."));
});
$("notify").addEventListener("click", async () => {
  await Notification.requestPermission();
  $("notify").hidden = true;
});
addEventListener("hashchange", show);

link.addEventListener("up", async () => {
  $("link").textContent = "connected";
  $("link").className = "";
  try {
    follow();
    await reload();
    await show();
  } catch (e) {
    fail(e);
  }
});
link.addEventListener("down", () => {
  $("link").textContent = "no connection; trying again";
  $("link").className = "down";
});
link.addEventListener("refused", () => leaving || out("This browser is not known, or no longer."));

async function begin() {
  const invitation = location.hash.slice(1);
  if (invitation.length > 30) {
    // The address must not stay in the bar.
    window.history.replaceState(null, "", location.pathname);
    try {
      key.set((await post("/enter", { invitation })).key);
    } catch (e) {
      return out(e.message + ".");
    }
  }
  if (!key.get()) return out("This page is for approvers.");
  $("leave").hidden = false;
  $("notify").hidden = typeof Notification === "undefined" || Notification.permission !== "default";
  link.start();
}
begin();
