// The shipped embedder module: golden vectors of onnxruntime, typed errors, memory.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import init, { Embedder } from "../../pkg/wasm/docent_embedder.js";

const file = (path) => new Uint8Array(readFileSync(new URL(`../../${path}`, import.meta.url)));
const network = file("models/all-MiniLM-L6-v2/model.onnx");
const tokenizer = file("models/all-MiniLM-L6-v2/tokenizer.json");
const golden = JSON.parse(readFileSync(new URL("../golden/all-MiniLM-L6-v2.json", import.meta.url), "utf8"));
const info = JSON.stringify({
  id: "all-MiniLM-L6-v2",
  license: "Apache-2.0",
  languages: ["en"],
  dimension: 384,
  max_tokens: 256,
  pooling: "mean",
  files: ["network", "tokenizer"].map((role) => ({ role, path: role, bytes: 1, sha256: "0".repeat(64) })),
});

const wasm = await init({ module_or_path: file("pkg/wasm/docent_embedder_bg.wasm") });

test("embeddings are those of onnxruntime, in no more memory than a phone has to spare", () => {
  const embedder = Embedder.load(network, tokenizer, info);
  assert.equal(embedder.modelId, "all-MiniLM-L6-v2");
  assert.equal(embedder.dimension, 384);
  assert.ok(golden.cases.length > 10);
  for (const { name, kind, text, vector } of golden.cases) {
    const found = kind === "query" ? embedder.embedQuery(text) : embedder.embedPassage(text);
    assert.equal(found.length, 384);
    const cosine = found.reduce((sum, x, i) => sum + x * vector[i], 0) / Math.hypot(...vector);
    assert.ok(cosine >= 0.999, `${name}: cosine ${cosine}`);
  }
  const megabytes = wasm.memory.buffer.byteLength / 1e6;
  assert.ok(megabytes <= 60, `the module's memory grew to ${megabytes} MB`);
  embedder.free();
});

test("tokens are counted without a limit", () => {
  const embedder = Embedder.load(network, tokenizer, info);
  assert.equal(embedder.countTokens("pip install"), 2);
  assert.equal(embedder.countTokens("word ".repeat(1000)), 1000);
  assert.equal(embedder.countTokens(""), 0);
  embedder.free();
});

test("files that are no model are refused with a code, and the module goes on working", () => {
  const page = new TextEncoder().encode("<!doctype html><title>Not found</title>");
  const refused = (...files) => assert.throws(() => Embedder.load(...files), { name: "AgentError", code: "model" });
  refused(page, tokenizer, info);
  refused(new Uint8Array(0), tokenizer, info);
  refused(network.subarray(0, 1_000_000), tokenizer, info);
  refused(network, page, info);
  refused(network, tokenizer, "{}");
  Embedder.load(network, tokenizer, info).free();
});
