// One WebSocket to the daemon: JSON-RPC 2.0, as docs/protocol.md describes it.

const keyName = "key";

/** key is what this page was given when its browser was let in. */
export const key = {
  get: () => localStorage.getItem(keyName) ?? "",
  set: (v) => (v ? localStorage.setItem(keyName, v) : localStorage.removeItem(keyName)),
};

/** post sends JSON to the gateway itself, and gives its answer or throws. */
export async function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  if (key.get()) headers.Authorization = "Bearer " + key.get();
  const r = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const v = await r.json().catch(() => ({}));
  if (!r.ok) throw Object.assign(new Error(v.error?.message ?? r.statusText), v.error, { status: r.status });
  return v;
}

/**
 * Link keeps a WebSocket open. What was called with {again: true} and not
 * answered is called again after a break: the daemon gives the same receipt.
 */
export class Link extends EventTarget {
  #socket;
  #calls = new Map();
  #next = 1;
  #wait = 250;
  #over = false;

  start() {
    this.#open();
  }

  stop() {
    this.#over = true;
    this.#socket?.close();
  }

  async #open() {
    let ticket;
    try {
      ({ ticket } = await post("/ticket"));
    } catch (e) {
      if (e.status === 401) return this.#tell("refused", e);
      return this.#later();
    }
    if (this.#over) return;
    const socket = new WebSocket(`ws://${location.host}/v1/ws?ticket=${encodeURIComponent(ticket)}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#wait = 250;
      this.#tell("up");
      for (const [id, c] of this.#calls) if (c.again) this.#send(id, c);
    };
    socket.onmessage = (m) => this.#take(JSON.parse(m.data));
    socket.onclose = () => {
      for (const [id, c] of this.#calls) {
        if (c.again) continue;
        this.#calls.delete(id);
        c.reject(new Error("the connection broke"));
      }
      if (this.#over) return;
      this.#tell("down");
      this.#later();
    };
  }

  #later() {
    if (this.#over) return;
    setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, 5000);
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #take(m) {
    if (m.method) return this.#calls.get(m.params.call)?.value?.(m.params.value);
    const c = this.#calls.get(m.id);
    if (!c) return;
    this.#calls.delete(m.id);
    if (m.error) c.reject(Object.assign(new Error(m.error.message), m.error.data));
    else c.resolve(m.result);
  }

  #send(id, c) {
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: c.method, params: c.params }));
  }

  /** call makes a call; {value} gets a stream's values, {signal} ends it. */
  call(method, params = {}, { value, again = false, signal } = {}) {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      const c = { method, params, value, again, resolve, reject };
      const open = this.#socket?.readyState === WebSocket.OPEN;
      if (!open && !again) return reject(new Error("not connected"));
      this.#calls.set(id, c);
      if (open) this.#send(id, c);
      signal?.addEventListener("abort", () => {
        if (this.#socket?.readyState === WebSocket.OPEN) this.#send(undefined, { method: "rpc.cancel", params: { call: id } });
        this.#calls.delete(id);
        resolve();
      });
    });
  }
}
