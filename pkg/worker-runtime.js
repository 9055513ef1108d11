// The worker's half of the proxy: messages in, calls of the agent out.
//
// Input: a port (`postMessage`, `onmessage`) and the API to serve. Output: answers as messages, listed in protocol.js.
// Invariant: nothing here names a worker global or the wasm, so that tests run it with a fake port and a fake API.

import { errorToMessage, messageToError } from "./protocol.js";

/** Serves `api` (`{ init, Agent }`) on `port` until the port is closed. */
export function serve(port, api) {
  let agent = null;
  let nextHook = 1;
  /** Calls that can be aborted: id → AbortController. */
  const running = new Map();
  /** Hooks of the page that we wait for: number → { resolve, reject }. */
  const waiting = new Map();

  /** A function that runs on the page's side. */
  const remote = (hook) => (...args) =>
    new Promise((resolve, reject) => {
      const number = nextHook++;
      waiting.set(number, { resolve, reject });
      port.postMessage({ hook, number, args });
    });

  const progress = (id) => (event) => port.postMessage({ id, progress: event });

  const calls = {
    async load(id, [{ module, options, hooks }]) {
      await api.init(module ? { module_or_path: module } : undefined);
      agent = await api.Agent.load(withHooks(options, hooks, remote), progress(id));
      // The model arrives later: the page is told when it is there, and when it could not be had.
      Promise.resolve(agent.ready).then(
        (state) => port.postMessage({ ready: state ?? null }),
        (error) => port.postMessage({ ready: null, error: errorToMessage(error) }),
      );
      return agent.info();
    },
    async chat(id, [text, options]) {
      const controller = new AbortController();
      running.set(id, controller);
      try {
        return await agent.chat(text, {
          ...options,
          signal: controller.signal,
          onToken: (token) => port.postMessage({ id, token }),
        });
      } finally {
        running.delete(id);
      }
    },
  };

  port.onmessage = async ({ data }) => {
    if ("abort" in data) {
      running.get(data.abort)?.abort();
      return;
    }
    if ("answer" in data) {
      const hook = waiting.get(data.answer);
      waiting.delete(data.answer);
      if (data.error) hook?.reject(messageToError(data.error));
      else hook?.resolve(data.value);
      return;
    }
    const { id, call, args } = data;
    try {
      if (!agent && call !== "load") throw Object.assign(new Error("the agent is not loaded"), { code: "not_loaded" });
      const value = calls[call] ? await calls[call](id, args) : await agent[call](...args);
      port.postMessage({ id, value });
    } catch (error) {
      port.postMessage({ id, error: errorToMessage(error) });
    }
  };
  port.postMessage({ hello: true });
}

/** The options with a remote function in the place of each hook that the page has. */
function withHooks(options, hooks, remote) {
  const full = { ...options };
  for (const path of hooks) {
    const [group, name] = path.split(".");
    if (name) full[group] = { ...full[group], [name]: remote(path) };
    else full[group] = remote(path);
  }
  return full;
}
