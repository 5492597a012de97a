// Everything on the page is made here, from text: no HTML is ever parsed.

/** el makes an element: attributes, on… handlers, children (strings or nodes). */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === false || v === undefined || v === null) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false && c !== ""));
  return e;
}

// What the daemon wrote in place of what could not be shown.
const written = /\\x[0-9a-f]{2}|\\u\{?[0-9a-f]{4,6}\}?|\\[nrt]|\[\d+ (?:blanks|spaces|empty lines)\]/g;

/** text is a stranger's text, with what was written in its place set apart. */
export function text(s) {
  const out = [];
  let at = 0;
  for (const m of (s ?? "").matchAll(written)) {
    out.push(s.slice(at, m.index), el("span", { class: "mark" }, m[0]));
    at = m.index + m[0].length;
  }
  out.push((s ?? "").slice(at));
  return out;
}

const tokens = /(?<str>'[^']*'?|"(?:\\.|[^"\\])*"?)|(?<op>&&|\|\||[|;&<>(){}]+|`)|(?<var>\$(?:\w+|\{[^}]*\}?|[^\s\w]))|(?<space>\s+)|(?<word>(?:\\.|[^\s'"|;&<>(){}`$\\])+|.)/gs;

/** command colours a shell line: words that start a command, operators, strings, variables. */
export function command(s) {
  const out = [];
  let first = true;
  for (const m of (s ?? "").matchAll(tokens)) {
    const kind = Object.keys(m.groups).find((k) => m.groups[k] !== undefined);
    if (kind === "space") {
      out.push(m[0]);
      if (m[0].includes("\n")) first = true;
      continue;
    }
    const head = kind === "word" && first;
    first = kind === "op" ? !/[<>]/.test(m[0]) : first && kind === "word" && /^\w+=/.test(m[0]);
    out.push(head || kind !== "word" ? el("span", { class: "tok-" + kind }, text(m[0])) : el("span", {}, text(m[0])));
  }
  return out;
}

/** facts is a list of names and values; what is empty is left out. */
export function facts(...pairs) {
  const dl = el("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    const list = [value].flat().filter((v) => v !== undefined && v !== null && v !== "");
    if (list.length) dl.append(el("dt", {}, name), ...list.map((v) => el("dd", {}, typeof v === "string" ? text(v) : v)));
  }
  return dl;
}

/** table has a caption for those who can't see it, and scrolls by itself. */
export function table(caption, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { role: "table" }, el("caption", { class: "visually-hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((h) => el("th", { scope: "col", role: "columnheader" }, h)))),
      el("tbody", { role: "rowgroup" }, rows.map((r) => el("tr", { role: "row" }, r.map((c, i) => el("td", { role: "cell", "data-label": heads[i] }, typeof c === "string" ? (c ? text(c) : "") : c)))))));
}

/** when is a time as the browser's language writes it. */
export const when = (t) => el("time", { datetime: t, title: t }, new Date(t).toLocaleString());

/** ago and left say a time in words that don't move too fast. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}
