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
    hasFastRelaxedProducts() ? import("./wasm/docent_embedder_relaxed.js") : import("./wasm/docent_embedder.js"),
    agent.fetchModelFile("model", onProgress),
    agent.fetchModelFile("tokenizer", onProgress),
  ]);
  await init();
  return Embedder.load(onnx, tokenizer, JSON.stringify(model));
}

/**
 * A module whose one function is the relaxed product of sixteen times 127 and sixteen times 255, of which it returns the first
 * lane: `(func (export "f") (result i32) (i32x4.extract_lane 0 (i32x4.relaxed_dot_i8x16_i7x16_add_s (i8x16.splat (i32.const
 * 127)) (i8x16.splat (i32.const -1)) (i32x4.splat (i32.const 0)))))`.
 */
const PROBE = "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKFwEVAEH/AP0PQX/9D0EA/RH9kwL9GwAL";

/**
 * Whether the build with relaxed SIMD is the faster one here. Both give the same bits. Where x86 has the product as one
 * instruction (VNNI), nothing saturates and 255 counts as 255; where the engine makes it of three older ones, their 16 bits
 * overflow, and the other build is faster. On ARM 255 counts as -1.
 */
export function hasFastRelaxedProducts() {
  try {
    const bytes = Uint8Array.from(atob(PROBE), (character) => character.charCodeAt(0));
    const lane = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f();
    return lane === 4 * 127 * 255 || lane === 4 * 127 * -1;
  } catch {
    // No relaxed SIMD, or a policy that allows no WebAssembly, which the agent's own module reports.
    return false;
  }
}
