// The grammar of answers that the terminal has (cmd/sbx/internal/reply): a letter of an answer by itself, or yes or no,
// and Enter is that answer. Any other text and Enter is a no with that text as the reason. An arrow only highlights. A digit
// selects, and takes effect after a pause without another key; another key makes it the beginning of a reason.

/** pause is the time, in ms, without another key after which a digit takes effect. */
export const pause = 800;

export const empty = "empty", option = "option", notOffered = "not offered", reason = "reason";

const letters = "ynsaqvp";
const words = new Map([["yes", "y"], ["no", "n"]]);
const digit = /^[0-9]/;

/**
 * read returns what a typed line means. options has the letter of each answer, "" for one without; digits is how many of them
 * a digit selects.
 */
export function read(text, options, digits = options.length) {
  const typed = text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "").toLowerCase();
  const word = words.get(typed) ?? typed;
  if (word === "") return { kind: empty, at: -1 };
  if (word.length > 1) return { kind: reason, at: -1 };
  const at = options.indexOf(word);
  if (at >= 0) return { kind: option, at };
  const n = word.charCodeAt(0) - 0x31;
  if (n >= 0 && n < Math.min(digits, 9)) return { kind: option, at: n };
  return { kind: letters.includes(word) ? notOffered : reason, at: -1 };
}

/** Line is an answer in the making. */
export class Line {
  #text = "";
  #moved = -1;
  #spoiled = false; // the digit at the beginning belongs to a reason

  /** due is when, in ms, the digit takes effect; 0: none waits. */
  due = 0;

  constructor(options, { digits = options.length, slow = false } = {}) {
    Object.assign(this, { options, digits, slow });
  }

  clear() {
    this.#text = "";
    this.#moved = -1;
    this.#spoiled = false;
    this.due = 0;
  }

  /** set takes what the field holds after a key, or a paste, without blanks before it. */
  set(typed, now) {
    const before = this.#text;
    if (typed === before) return;
    if (typed === "") return this.clear();
    this.#text = typed;
    this.key();
    this.#spoiled ||= typed.length > 1 && digit.test(typed);
    if (before === "" && typed.length === 1 && digit.test(typed) && !this.slow && this.read().kind === option) this.due = now + pause;
  }

  /** key is a key without a character. */
  key() {
    this.#spoiled ||= this.due > 0;
    this.due = 0;
  }

  /** move highlights the next answer, or with -1 the one before. A reason stays. */
  move(step) {
    if (this.read().kind === reason) return;
    const at = this.at();
    this.clear();
    this.#moved = ((at < 0 && step < 0 ? this.digits : at) + step + this.digits) % this.digits;
  }

  read() {
    return this.#spoiled ? { kind: reason, at: -1 } : read(this.#text, this.options, this.digits);
  }

  /** at is the number of the highlighted answer, -1 for none. */
  at() {
    const { kind, at } = this.read();
    if (kind === option) return at;
    return kind === empty ? this.#moved : this.options.indexOf("n");
  }

  /** enter returns what Enter means now. */
  enter() {
    const { kind, at } = this.read();
    return kind === empty && this.#moved >= 0 ? { kind: option, at: this.#moved } : { kind, at };
  }

  /** text is what was typed, without blanks around it. */
  get text() {
    return this.#text.trim();
  }
}
