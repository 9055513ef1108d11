// What makes the agent's search hybrid: the vectors, and the embedding model with its module. All of it comes after the
// first lexical answers.

/**
 * Loads the vectors and the model for an agent. Resolves with `{ mode, model }`: "hybrid", or "lexical" where the index
 * has no vectors or the site wants no model.
 */
export async function loadDense(agent, onProgress) {
  const model = agent.model();
  if (!model) return { mode: "lexical", model: null };
  const [embedder] = await Promise.all([loadEmbedder(agent, model, onProgress), agent.loadVectors(onProgress)]);
  agent.attachEmbedder(embedder);
  return { mode: "hybrid", model: model.id };
}

async function loadEmbedder(agent, model, onProgress) {
  const [{ default: init, Embedder }, onnx, tokenizer] = await Promise.all([
    import("./wasm/docent_embedder.js"),
    agent.fetchModelFile("model", onProgress),
    agent.fetchModelFile("tokenizer", onProgress),
  ]);
  await init();
  return Embedder.load(onnx, tokenizer, JSON.stringify(model));
}
