import { el, text } from "./dom.js";

/** parse splits a unified diff into lines of a kind each. */
function parse(content) {
  let head = true; // behind it, a line that begins with "---" is one that goes
  return content.replace(/\n$/, "").split("\n").map((line) => {
    if (/^(diff |index )/.test(line)) head = true;
    if (line.startsWith("@@")) head = false;
    if (head && /^(---|\+\+\+|diff |index )/.test(line)) return { kind: "file", line };
    if (line.startsWith("@@")) return { kind: "hunk", line };
    if (line.startsWith("+")) return { kind: "add", line: line.slice(1) };
    if (line.startsWith("-")) return { kind: "del", line: line.slice(1) };
    return { kind: "same", line: line.replace(/^ /, "") };
  });
}

/** blocks puts the removed and the added lines of one place together. */
function blocks(lines) {
  const out = [];
  for (let i = 0; i < lines.length; ) {
    const dels = [], adds = [];
    while (lines[i]?.kind === "del") dels.push(lines[i++].line);
    while (lines[i]?.kind === "add") adds.push(lines[i++].line);
    if (dels.length || adds.length) out.push({ dels, adds });
    else out.push(lines[i++]);
  }
  return out;
}

/** marked shows where a line differs from its other version. */
function marked(line, other, tag) {
  if (other === undefined || line === other) return text(line);
  let a = 0, z = 0;
  while (a < line.length && a < other.length && line[a] === other[a]) a++;
  while (z < line.length - a && z < other.length - a && line[line.length - 1 - z] === other[other.length - 1 - z]) z++;
  if (a + z < line.length * 0.3) return text(line);
  return [...text(line.slice(0, a)), el(tag, {}, text(line.slice(a, line.length - z))), ...text(line.slice(line.length - z))];
}

/** diff shows a unified diff, in one column or in two. */
export function diff(content, side, label = "what changes") {
  const box = el("div", { class: side ? "diff side" : "diff", tabindex: "0", role: "region", "aria-label": label });
  for (const b of blocks(parse(content))) {
    if (b.line !== undefined) {
      const row = () => el("div", { class: b.kind }, text((side ? "" : b.kind === "same" ? "  " : "") + b.line));
      box.append(row());
      if (side && b.kind === "same") box.append(row());
      continue;
    }
    const paired = b.dels.length === b.adds.length;
    const del = b.dels.map((l, i) => el("div", { class: "del" }, side ? "" : "- ", marked(l, paired ? b.adds[i] : undefined, "del")));
    const add = b.adds.map((l, i) => el("div", { class: "add" }, side ? "" : "+ ", marked(l, paired ? b.dels[i] : undefined, "ins")));
    if (!side) {
      box.append(...del, ...add);
      continue;
    }
    for (let i = 0; i < Math.max(del.length, add.length); i++) box.append(del[i] ?? el("div"), add[i] ?? el("div"));
  }
  return box;
}
