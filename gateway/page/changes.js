import { el, text, facts, when } from "./dom.js";
import { diff } from "./diff.js";

// What commands wrote: what did not land and what can be undone, each change set with its differences.

const most = 20; // files whose differences are shown at once

/** shortOf is a path within the project. */
const shortOf = (h, p) => (p.startsWith(h.project + "/") ? p.slice(h.project.length + 1) : p);

const counts = (h) => [["created", h.created], ["modified", h.modified], ["deleted", h.deleted]]
  .filter(([, list]) => list?.length).map(([what, list]) => `${list.length} ${what}`).join(" · ");

const kindOf = (h, f) => ["created", "modified", "deleted"].find((k) => h[k]?.includes(f.path)) ?? "";

/** difference is the difference of one file. */
function difference(f, side, label) {
  if (!f.content) return el("p", { class: "small" }, text(f.what));
  if (f.kind === "diff") return diff(f.content, side, label);
  return el("pre", { class: f.kind === "file_content" ? "new" : false, tabindex: "0", "aria-label": label }, text(f.content));
}

/** fileList shows files, each below its head, and the differences at once where they are few. */
function fileList(h, files, side, head) {
  return el("ul", { class: "files", "aria-label": "Files" }, files.map((f) => {
    const name = shortOf(h, f.path);
    const lines = [f.added && `+${f.added}`, f.removed && `−${f.removed}`].filter(Boolean).join(" ");
    return el("li", {}, head(f, name), el("span", { class: "small" }, " ", [kindOf(h, f), lines].filter(Boolean).join(" · ")),
      el("details", { open: files.length <= most }, el("summary", {}, "Difference", el("span", { class: "visually-hidden" }, " of ", text(name))),
        difference(f, side, `Difference of ${name}`)));
  }));
}

/**
 * changeViews returns the view of the change sets, and their part of a question's card. page is what app.js has for
 * them: link, main, say, fail, show, side, which says whether differences have two columns, and expect, which has the
 * question about a change set shown as soon as it is asked.
 */
export function changeViews({ link, main, say, fail, show, side, expect }) {
  let open; // id of the change set that is shown: a held one, or a run's
  let drawn; // what is on the page
  let asked; // the change set of the last question, so that a card that is drawn again shows its files at once
  let chosen = new Set();

  /** land lands a change set, the chosen paths of it, or drops it; the question is answered where all are. */
  async function land(h, more) {
    expect(h.id);
    try {
      const r = await link.call("change.land", { id: h.id, ...more });
      say([more.drop ? "Dropped." : r.undo_id ? "Landed. Below, it can be undone." : "Landed.", ...(r.warnings ?? []).map((w) => w.message)].join(" "));
      chosen = new Set();
    } catch (e) {
      fail(e);
    }
    again();
  }

  /** undo takes a run back, with an answer to a question where one is asked. */
  async function undo(c) {
    expect(c.id);
    try {
      const r = await link.call("file", { op: "undo", undo_id: c.id });
      open = undefined;
      say(["Undone.", ...(r.warnings ?? []).map((w) => w.message)].join(" "));
    } catch (e) {
      fail(e);
    }
    again();
  }

  /** again shows the view after something was done. */
  function again() {
    expect("");
    drawn = undefined;
    if (location.hash === "#changes") show();
    else location.hash = "#changes";
  }

  const leave = () => el("button", { type: "button", onclick: () => { open = drawn = undefined; show(); } }, "Back");

  /** run shows what undoing a run would do. */
  async function run(c) {
    const would = await link.call("file", { op: "undo", undo_id: c.id, dry_run: true }).catch((e) => ({ error: e }));
    if (location.hash !== "#changes") return;
    main.replaceChildren(el("h1", { "data-changes": "" }, "Undo a run"), el("article", { class: "card", "aria-labelledby": "wrote" },
      el("h2", { id: "wrote" }, "What undoing this command would do"), el("pre", { tabindex: "0", "aria-label": "Command" }, text(c.note)),
      facts(["Project", c.project], ["When", when(c.time)], ["Can't be undone now", would.error && [would.error.message, would.error.hint].filter(Boolean).join(": ")]),
      would.error ? "" : el("div", { class: "row" }, toggle(() => run(c).catch(fail))),
      fileList(c, would.files ?? [], side(), (f, name) => el("span", { class: "what" }, text(name))),
      el("div", { class: "row decide" }, would.error ? "" : el("button", { type: "button", class: "yes", onclick: () => undo(c) }, "Undo"), leave())));
  }

  function toggle(redraw) {
    return el("button", { type: "button", "data-keep": "side", onclick: () => { side(!side()); redraw(); } }, side() ? "In one column" : "Side by side");
  }

  async function one(id) {
    const h = await link.call("change.show", { id });
    if (location.hash !== "#changes") return;
    const files = h.files ?? [];
    const part = (kind, more) => el("button", { type: "button", class: kind, onclick: () => chosen.size && land(h, { paths: [...chosen], ...more }) });
    const [landing, dropping] = [part("yes", {}), part("no", { drop: true })];
    const count = () => {
      for (const [button, verb] of [[landing, "Land"], [dropping, "Drop"]]) {
        button.textContent = chosen.size === 1 ? `${verb} 1 file` : `${verb} ${chosen.size} files`;
        button.setAttribute("aria-disabled", String(!chosen.size));
      }
    };
    count();
    const pick = (f, name) => {
      const box = el("input", { type: "checkbox", checked: chosen.has(f.path), onchange: () => {
        if (box.checked) chosen.add(f.path);
        else chosen.delete(f.path);
        count();
      } });
      return el("label", {}, box, el("span", { class: "what" }, text(name)));
    };
    const left = h.count - (h.created?.length ?? 0) - (h.modified?.length ?? 0) - (h.deleted?.length ?? 0);
    main.replaceChildren(el("h1", { "data-changes": "" }, "Held changes"), el("article", { class: "card", "aria-labelledby": "wrote" },
      el("h2", { id: "wrote" }, "What this command wrote"), el("pre", { tabindex: "0", "aria-label": "Command" }, text(h.command)),
      facts(["Held because", h.why], ["Project", h.project], ["When", when(h.time)], ["Paths", counts(h)], ["Changed since by others", h.conflicts],
        ["Not listed", left > 0 ? `${left} more paths; they land with all, or in a terminal: sbx changes land ${h.id} PATH` : ""]),
      el("div", { class: "row" }, toggle(() => one(id).catch(fail))),
      fileList(h, files, side(), pick),
      el("div", { class: "row decide" },
        el("button", { type: "button", class: "yes", onclick: () => land(h, {}) }, "Land all"), landing,
        el("button", { type: "button", class: "no", onclick: () => land(h, { drop: true }) }, "Drop all"), dropping,
        leave())));
  }

  async function changes() {
    const [{ changes: list }, { changes: all }] = await Promise.all([link.call("change.list"), link.call("file", { op: "undo", dry_run: true })]);
    if (location.hash !== "#changes") return;
    const runs = (all ?? []).filter((c) => !c.undone_by);
    const known = [...list, ...runs].find((c) => c.id === open);
    if (!known) open = undefined;
    const now = JSON.stringify(known ?? [list, runs]);
    if (drawn === now && main.querySelector("[data-changes]")) return;
    drawn = now;
    if (open) return runs.includes(known) ? run(known) : one(open);
    const look = (c) => {
      open = c.id;
      chosen = new Set();
      changes().then(() => main.focus(), fail);
    };
    const entry = (c, line, ...more) => el("li", {}, el("button", { type: "button", onclick: () => look(c) }, el("span", { class: "what" }, text(line)),
      el("span", { class: "small" }, text(more.filter(Boolean).join(" · ")), " · ", when(c.time))));
    main.replaceChildren(el("h1", { "data-changes": "" }, "Held changes"),
      list.length ? el("ol", { class: "list", "aria-label": "Held changes" }, list.map((h) => entry(h, h.command, counts(h), h.project, h.why)))
        : el("p", { class: "notice" }, "Nothing is held. ", el("code", {}, "sbx run --hold"), " holds what a command writes."),
      el("h2", { class: "next" }, "Runs that can be undone"),
      runs.length ? el("ol", { class: "list", "aria-label": "Runs that can be undone" }, runs.map((c) => entry(c, c.note, (c.what ?? []).length === 1 ? c.what[0] : `${(c.what ?? []).length} steps`, c.project)))
        : el("p", { class: "notice" }, "Nothing to undo. What a command changes in a trusted project is listed here."));
  }

  /** landing is the part of a question's card about a change set: its files, of which paths land; other() if there are none. */
  function landing({ change, paths }, redraw, other) {
    const box = el("section", {}, other());
    const fill = (h) => {
      const within = (p, q) => p === q || p.startsWith(q + "/");
      const files = (h.files ?? []).filter((f) => !paths || paths.some((p) => within(f.path, p) || within(p, f.path)));
      if (!files.length) return;
      box.replaceChildren(el("h3", {}, files.length === 1 ? "One file" : `${files.length} files`), toggle(redraw),
        fileList(h, files, side(), (f, name) => el("span", { class: "what" }, text(name))));
    };
    const known = asked?.id === change && asked;
    if (known) fill(known);
    link.call("change.show", { id: change }).then((h) => {
      if (JSON.stringify(h) !== JSON.stringify(known)) fill(h);
      asked = h;
    }, () => {});
    return box;
  }

  return { changes, landing };
}
