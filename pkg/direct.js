// The agent without a worker: for tests, Node, and pages that have a worker of their own. The package exports it as
// `docent/wasm`.
//
//   import init, { Agent } from "docent/wasm";
//   await init();
//   const agent = await Agent.load({ index: "…/manifest.json" });

import init, { Agent } from "./wasm/docent.js";
import { loadDense } from "./dense.js";

const loadLexical = Agent.load;

/**
 * Loads the agent. Resolves as soon as it can answer lexically; `agent.ready` resolves when the vectors and the model are
 * there too, or rejects when they could not be had.
 */
Agent.load = async (options, onProgress) => {
  const agent = await loadLexical(options, onProgress);
  agent.ready = loadDense(agent, onProgress);
  // Who does not ask for it must not see an unhandled rejection: the agent goes on answering lexically.
  agent.ready.catch(() => {});
  return agent;
};

export default init;
export { Agent };
export { AgentError } from "./protocol.js";
