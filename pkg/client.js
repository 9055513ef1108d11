// The page's half of the proxy: an `Agent` whose methods run in a worker.
//
// Input: a port to the worker. Output: promises, callbacks.
// Invariant: nothing here names `Worker`, so that tests join it to the runtime with two fake ports.

import { AgentError, errorToMessage, messageToError, splitOptions } from "./protocol.js";

/** An agent in a worker. Made by `Agent.load` of the package's root; has the methods of the agent in `docent/wasm`. */
export class RemoteAgent {
  #port;
  #close;
  #next = 1;
  #pending = new Map();
  #hooks = {};
  #dead = null;
  #ready;
  #settleReady;
  #info = null;

  /** `close` ends the worker. */
  constructor(port, close) {
    this.#port = port;
    this.#close = close;
    let settle;
    this.#ready = new Promise((resolve, reject) => (settle = { resolve, reject }));
    // A page that does not ask whether the model came must not see an unhandled rejection.
    this.#ready.catch(() => {});
    this.#settleReady = settle;
    port.onmessage = ({ data }) => this.#receive(data);
  }

  /** Loads the agent in the worker. */
  async load({ module, options, onProgress }) {
    const { plain, hooks } = splitOptions(options);
    this.#hooks = hooks;
    this.#info = await this.#call("load", [{ module, options: plain, hooks: Object.keys(hooks) }], { onProgress });
    return this;
  }

  /** Resolves when the embedding model and the vectors are there; rejects when they could not be had. */
  get ready() {
    return this.#ready;
  }

  /** What the index says of itself: pages, chunks, languages, model. */
  info() {
    return this.#info;
  }

  chat(text, { onToken, onProgress, signal, ...options } = {}) {
    return this.#call("chat", [text, options], { onToken, onProgress, signal });
  }

  search(text, options = {}) {
    return this.#call("search", [text, options]);
  }

  recordEvent(event) {
    return this.#call("recordEvent", [event]);
  }

  reset() {
    return this.#call("reset", []);
  }

  export() {
    return this.#call("export", []);
  }

  restore(saved) {
    return this.#call("restore", [saved]);
  }

  metrics() {
    return this.#call("metrics", []);
  }

  exportLog() {
    return this.#call("exportLog", []);
  }

  /** Ends the worker; calls that were running reject with the code `freed`. */
  free() {
    this.fail(new AgentError("freed", "the agent was freed"));
    this.#close();
  }

  /** Marks the worker as gone: what runs and what comes rejects with `error`. */
  fail(error) {
    this.#dead ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#dead);
    this.#pending.clear();
    this.#settleReady.reject(this.#dead);
  }

  #call(call, args, { onToken, onProgress, signal } = {}) {
    if (this.#dead) return Promise.reject(this.#dead);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const abort = () => this.#port.postMessage({ abort: id });
      const settle = (finish) => (value) => {
        signal?.removeEventListener("abort", abort);
        finish(value);
      };
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject), onToken, onProgress });
      this.#port.postMessage({ id, call, args });
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  #receive(message) {
    if ("hook" in message) return void this.#runHook(message);
    if ("ready" in message) {
      if (message.error) this.#settleReady.reject(messageToError(message.error));
      else this.#settleReady.resolve(message.ready);
      return;
    }
    const call = this.#pending.get(message.id);
    if (!call) return;
    if ("token" in message) call.onToken?.(message.token);
    else if ("progress" in message) call.onProgress?.(message.progress);
    else {
      this.#pending.delete(message.id);
      if (message.error) call.reject(messageToError(message.error));
      else call.resolve(message.value);
    }
  }

  async #runHook({ hook, number, args }) {
    try {
      this.#port.postMessage({ answer: number, value: await this.#hooks[hook](...args) });
    } catch (error) {
      this.#port.postMessage({ answer: number, error: errorToMessage(error) });
    }
  }
}
