import { el, text } from "./dom.js";
import { Line, option, notOffered, reason, empty, pause } from "./reply.js";

// The answers of a question's card: its buttons, and the line that keys are typed on.

const trustWords = { contained: "Trust, and stop asking about changes inside it", each: "Trust, ask for each" };
export const scopeWords = {
  once: "this once", turn: "until my next message", session: "for this session",
  project: "always, in this project", agent: "always, for this agent", global: "always, for every agent", batch: "all of this batch that is listed",
};
const lifetimes = [["", "no time limit"], [30 * 60e3, "for 30 minutes"], [8 * 3600e3, "for 8 hours"], [7 * 86400e3, "for 7 days"]];

/** settle is how long, in ms, a question must be shown, and no key come, before an answer counts. */
export const settle = 500;

/** addPresets names the presets that the answer p adds to the configuration, and why; the request is judged again with them. */
const addPresets = (list) => `Add preset${list.length > 1 ? "s" : ""} ${list.map((p) => p.name).join(", ")}${list.some((p) => p.why) ? ": " + list.map((p) => p.why).filter(Boolean).join(", ") : ""}`;

const fields = "input, select, textarea";

/** choice is a labelled list of options, of which one is remembered in draft. */
function choice(draft, name, label, options) {
  const s = el("select", { "data-keep": name, onchange: () => (draft[name] = s.value) }, options.map(([v, t]) => el("option", { value: v, selected: String(draft[name] ?? "") === String(v) }, text(t))));
  return el("label", {}, label, s);
}

/**
 * answerViews returns the part of a card that answers it. page is what app.js has for it: state, link, main, say, subject,
 * answer, which sends one, and choose, which shows another question.
 */
export function answerViews({ state, link, main, say, subject, answer, choose }) {
  /** current is the line of the question that is shown: its keys, and what they do. */
  let current;

  function second(q, draft) {
    const typed = el("input", { type: "text", autocomplete: "off", "data-keep": "code", value: state.again.get(q.id).typed, oninput: (e) => (state.again.get(q.id).typed = e.target.value), onkeydown: (e) => { if (e.key === "Enter") confirm(); } });
    const confirm = () => {
      const { code, typed: _, ...first } = state.again.get(q.id);
      if (typed.value.trim().toLowerCase().split(/\s+/).join(" ") !== code) return say("Those are not the two words; nothing is decided.", true);
      answer(q, { ...first, confirm: true });
    };
    current = { q, field: typed };
    return el("div", { class: "again decide", role: "group", "aria-label": "Second confirmation" },
      el("p", {}, el("strong", {}, q.delete ? "It deletes something. " : q.protected ? "It reaches something protected. " : "It is dangerous. "), "To really allow it, type these two words: ", el("strong", { class: "code" }, state.again.get(q.id).code)),
      el("pre", {}, text(subject(q))),
      el("div", { class: "row" },
        el("label", { class: "wide" }, "The two words", typed),
        el("button", { type: "button", class: "no", "data-keep": "no", onclick: () => answer(q, { key: "No", allow: false, mode: "soft", note: note(draft) }) }, "Deny"),
        el("button", { type: "button", class: "yes", "data-keep": "again", onclick: confirm }, "Allow")));
  }

  /** note is the text to the agent; a letter that is an answer is none. */
  const note = (draft) => (draft.line?.read().kind === reason ? draft.line.text : "");

  /** picked are the paths of a change set of which alone a yes is, in the order of the question; none: of all. */
  const picked = (q, draft) => (q.paths ?? []).filter((p) => draft.picked?.has(p));

  /** picks has a box for each of the paths, of which a yes may be for some; drawn is called after a change. */
  function picks(q, draft, drawn) {
    if (!(q.paths?.length > 1)) return "";
    draft.picked ??= new Set();
    const box = (p, i) => el("li", {}, el("label", {}, el("input", { type: "checkbox", "data-keep": `pick${i}`, checked: draft.picked.has(p), onchange: (e) => { draft.picked[e.target.checked ? "add" : "delete"](p); drawn(); } }), text(p)));
    return el("details", { class: "picks", "data-keep": "picks", open: draft.picked.size > 0 }, el("summary", {}, "Let only some of the files land"), el("ul", {}, q.paths.map(box)));
  }

  /** choices are the answers on offer: those with words are buttons, in this order, and a digit selects them. */
  function choices(q, draft, trusts) {
    const yes = () => ({
      allow: true, scope: draft.scope === "once" ? "" : draft.scope, note: note(draft),
      suggestion: draft.scope === "once" ? "" : draft.suggestion, widening: draft.widening, for_ms: draft.scope === "once" ? 0 : Number(draft.life || 0),
    });
    const no = (mode) => ({ allow: false, mode, note: note(draft) });
    const trust = q.trusts?.includes("once") ? "once" : "";
    const list = trusts.map(([t, words]) => ({ keep: t, letter: "", words, is: "yes", make: () => ({ ...yes(), trust: t }) }));
    list.push({
      keep: "yes", letter: "y", is: "yes",
      get words() { const n = picked(q, draft).length; return n ? `Allow ${n} of ${q.paths.length} files` : trust ? "Only this once" : "Allow"; },
      make: () => { const paths = picked(q, draft); return paths.length ? { allow: true, paths, note: note(draft) } : { ...yes(), trust }; },
    },
      { keep: "no", letter: "n", words: "Deny", is: "no", make: () => no("soft") },
      { keep: "remember", letter: "", words: "Deny and remember", is: "no", make: () => ({ ...yes(), ...no("soft"), widening: "" }) },
      { keep: "stop", letter: "q", words: "Deny and stop the agent", is: "no", make: () => no("hard") });
    if (q.batch?.remaining?.length && !q.only_widened) list.push({ keep: "all", letter: "a", words: "Allow this and what is listed", make: () => ({ allow: true, scope: "batch" }) });
    if (q.presets?.length) list.push({ keep: "presets", letter: "p", words: addPresets(q.presets), make: () => ({ allow: false, presets: true }) });
    const digits = list.length;
    if (q.scopes?.includes("session")) list.push({ letter: "s", does: "allow for this session", make: () => ({ allow: true, scope: "session", trust }) });
    list.push({ letter: "v", does: "show everything", shows: true });
    return [list, digits];
  }

  /** take gives an answer; key is what was pressed for it. */
  function take(q, c, key) {
    const a = { key, ...c.make?.() };
    if (a.presets) current?.clear(); // where they are not added, the question stays
    if (!c.shows) return answer(q, a);
    current?.clear();
    for (const d of main.querySelectorAll(".card details")) d.open = true;
    main.querySelector(".card pre")?.focus();
  }

  function answers(q, w, draft) {
    current = undefined;
    if (state.sent.has(q.id)) return el("p", { role: "status" }, "Answered; waiting for the daemon.");
    if (state.again.has(q.id)) return second(q, draft);
    const trusts = q.trusts?.includes("once") && !q.only_widened ? Object.entries(trustWords).filter(([t]) => q.trusts.includes(t)) : [];
    const scopes = (q.scopes?.length ? q.scopes : ["once"]).map((s) => [s, scopeWords[s] ?? s]);
    draft.widening ??= q.widenings?.[0]?.id; // without what it names the command would fail
    if (!draft.scope) draft.scope = scopes[0][0];
    const [list, digits] = choices(q, draft, trusts);
    draft.line ??= new Line(list.map((c) => c.letter), { digits, slow: trusts.length > 0 || q.risk === "high" });
    const buttons = list.slice(0, digits).map((c, i) => el("button", { type: "button", class: c.is ?? "", "data-keep": c.keep, "data-digit": i + 1, onclick: () => take(q, c, c.words) }, c.words));
    const field = el("input", { type: "text", maxlength: "500", autocomplete: "off", "data-keep": "note", value: draft.note ?? "" });
    const says = el("span", { role: "status", class: "does" });
    current = line(q, draft, list, field, says, buttons);
    const draw = current.draw;
    draw();
    return el("div", { class: "answer", role: "group", "aria-label": "Answer" },
      picks(q, draft, () => { buttons.forEach((b, i) => (b.textContent = list[i].words)); draw(); }),
      el("div", { class: "row" },
        choice(draft, "scope", "Scope", scopes),
        (q.suggestions ?? []).length ? choice(draft, "suggestion", "What is allowed", [["", "exactly this"], ...(w.suggestions ?? q.suggestions).map((s) => [s.id, s.label + (s.past ? ` (${s.past.matched} past calls)` : "")])]) : "",
        choice(draft, "life", "Expires", lifetimes),
        (q.widenings ?? []).length ? choice(draft, "widening", "Also give it", [...q.widenings.map((x) => [x.id, x.label || x.object]), ...(q.only_widened ? [] : [["", "nothing more"]])]) : "",
        el("label", { class: "wide" }, "Answer, or note to the agent", field)),
      el("div", { class: "row decide" }, buttons),
      el("p", { class: "small" }, says, `Keys: ${list.map((c) => c.letter).filter(Boolean).join(", ")} and Enter answer, 1 to ${digits} ${draft.line.slow ? "and Enter, too" : "at once"}; ↑ and ↓ highlight. `,
        "Any other text and Enter denies with it. Alt with ↑ or ↓ shows another question."));
  }

  /** line connects the field of an answer with its grammar. */
  function line(q, draft, list, field, says, buttons) {
    let timer;
    const draw = () => {
      clearTimeout(timer);
      const l = draft.line, at = l.at();
      buttons.forEach((b, i) => b.classList.toggle("at", i === at));
      if (l.due) timer = setTimeout(due, l.due - performance.now());
      const { kind } = l.read();
      const does = list[at]?.does ?? list[at]?.words;
      says.textContent = kind === reason ? "Enter denies, with this as the reason. " : kind === notOffered ? `“${l.text}” is not on offer here. `
        : at < 0 ? "" : l.due ? `${does}: at once, unless another key comes. ` : `Enter: ${does}. `;
    };
    const clear = () => {
      draft.line.clear();
      draft.note = field.value = "";
      draw();
    };
    const due = () => {
      const at = draft.line.due, read = draft.line.read();
      if (!at || current?.field !== field || !field.isConnected || read.kind !== option) return;
      if (performance.now() < at) return draw(); // a timer may come a part of a millisecond early
      draft.line.key();
      take(q, list[read.at], String(read.at + 1));
    };
    const enter = () => {
      const { kind, at } = draft.line.enter();
      if (kind === option) return take(q, list[at], draft.line.text ? draft.line.text + " Enter" : "Enter");
      if (kind === notOffered) {
        say(`“${draft.line.text}” is not on offer here; nothing is decided.`);
        return clear();
      }
      answer(q, { key: "Enter", allow: false, mode: "soft", note: kind === empty ? "" : draft.line.text });
    };
    field.addEventListener("input", () => {
      if (field.value.startsWith(" ")) field.value = field.value.trimStart(); // a blank begins nothing
      draft.note = field.value;
      draft.line.set(field.value, performance.now());
      draw();
      typing(q.id);
    });
    const press = (e) => {
      if (e.key === "Enter" && !e.isComposing) {
        e.preventDefault();
        if (!e.repeat) enter();
      } else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
        e.preventDefault();
        draft.line.move(e.key === "ArrowUp" ? -1 : 1);
        if (draft.line.read().kind !== reason) draft.note = field.value = "";
        draw();
      } else if (e.key === "Escape" || e.key === "Backspace" && !field.value) {
        clear();
      } else if (e.key.length > 1 && e.key !== "Backspace" && e.key !== "Shift") {
        draft.line.key();
        draw();
      }
    };
    return { q, field, clear, draw, press };
  }

  /**
   * A key goes to the line of the question that is shown, wherever the focus is, but for a key that works what has the focus.
   * What is typed before a question settles goes nowhere.
   */
  addEventListener("keydown", (e) => {
    if (state.view !== "queue" || e.ctrlKey || e.metaKey || !current?.field.isConnected) return;
    if (e.altKey && (e.key === "ArrowUp" || e.key === "ArrowDown") && !e.target.closest("select")) {
      e.preventDefault();
      const ids = [...state.queue.keys()];
      const next = ids[ids.indexOf(state.chosen) + (e.key === "ArrowDown" ? 1 : -1)];
      return next && choose(next);
    }
    const { q, field, press } = current, here = e.target === field;
    const types = [...e.key].length === 1 && e.key !== " " && !e.altKey;
    if (!here && (e.target.closest(fields) || !types)) return;
    const entry = state.queue.get(q.id);
    if (e.key !== "Tab" && entry && performance.now() - entry.shown < settle) {
      entry.shown = performance.now();
      return e.preventDefault();
    }
    if (!here) field.focus(); // which has the key typed there
    else press?.(e);
  });

  /** typing reports to the daemon, at most once a second, that a person types: the clock stops while keys come. */
  let typed = 0;
  function typing(id) {
    if (Date.now() - typed < 1000) return;
    typed = Date.now();
    link.call("approval.show", { id, typing: true }).catch(() => {});
  }

  return answers;
}
