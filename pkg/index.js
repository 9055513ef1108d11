// The package's root: an `Agent` that runs in a Web Worker, so that the page never waits for it.
//
//   import init, { Agent } from "docent";
//   await init();
//   const agent = await Agent.load({ index: "/docent/manifest.json" }, (event) => …);
//   const turn = await agent.chat("How do I …?", { onToken, signal });

import { RemoteAgent } from "./client.js";
import { AgentError } from "./protocol.js";

export { AgentError };

const settings = { module: undefined, worker: true };

/**
 * Sets where the agent's module is and whether a worker may be used. May be left out: the defaults are the files beside
 * this one, and a worker.
 */
export default async function init({ module, worker = true } = {}) {
  settings.module = module === undefined ? undefined : String(new URL(module, globalThis.location?.href));
  settings.worker = worker;
}

/** The agent. See `RemoteAgent` in client.js for its methods. */
export class Agent {
  /**
   * Loads the agent. Resolves as soon as it can answer lexically; the vectors and the model come after, see `ready`.
   * `options` are described in index.d.ts.
   */
  static async load(options, onProgress) {
    // A worker resolves relative addresses against its own file; the reader means the page's.
    const base = globalThis.location?.href;
    const absolute = { ...options };
    for (const name of ["index", "model"]) {
      if (typeof options[name] === "string") absolute[name] = String(new URL(options[name], base));
    }
    if (typeof options.llm?.endpoint === "string") {
      absolute.llm = { ...options.llm, endpoint: String(new URL(options.llm.endpoint, base)) };
    }
    if (typeof options.vectors?.url === "string") {
      absolute.vectors = { ...options.vectors, url: String(new URL(options.vectors.url, base)) };
    }
    if (settings.worker && globalThis.Worker) {
      const agent = await inWorker();
      if (agent) return agent.load({ module: settings.module, options: absolute, onProgress });
    }
    const direct = await import("./direct.js");
    await direct.default(settings.module && { module_or_path: settings.module });
    return direct.Agent.load(absolute, onProgress);
  }
}

/** A remote agent whose worker has started, or null where the browser or the site's policy does not let it start. */
async function inWorker() {
  let worker;
  try {
    worker = start();
  } catch {
    return null;
  }
  const started = await new Promise((resolve) => {
    worker.onmessage = () => resolve(true);
    worker.onerror = (event) => {
      event.preventDefault?.();
      resolve(false);
    };
  });
  if (!started) {
    worker.terminate();
    return null;
  }
  const agent = new RemoteAgent(worker, () => worker.terminate());
  worker.onerror = (event) => {
    agent.fail(new AgentError("crashed", `the worker broke: ${event.message || "unknown cause"}`));
    worker.terminate();
  };
  return agent;
}

function start() {
  const address = new URL("./worker.js", import.meta.url);
  if (globalThis.location && address.origin !== globalThis.location.origin && address.protocol !== "file:") {
    // A worker must come from the page's origin; a module that imports the other one may be made here.
    const code = new Blob([`import ${JSON.stringify(String(address))};`], { type: "text/javascript" });
    return new Worker(URL.createObjectURL(code), { type: "module" });
  }
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}
