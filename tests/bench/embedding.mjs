// The embedder beside onnxruntime-web and transformers.js: the same model, one thread, the same headless Chromium, in turns.
//
//   node tests/bench/embedding.mjs PACKAGE [PEER.onnx …]
//
// PACKAGE: the built pkg/. PEER.onnx: other formats of the model for onnxruntime-web, fp32.onnx and dynamic-int8.onnx of
// models/recipe/peer_formats.py; the best of its formats counts. transformers.js reads the two by its own names and
// tokenizes as we do; it loads its files itself, so that its loading is not compared. Measured: embedding texts of 5, 14, 24 and 128 tokens; the bytes of the model in memory to the first
// embedding; the memory of the wasm module; the size of the modules.

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { startBrowser, withPage } from "./browser.mjs";
import { record } from "./rows.mjs";
import { serve } from "./server.mjs";
import { kB, median, ms, spread, table } from "./stats.mjs";

const [pkg, ...peerFiles] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(process.env.DOCENT_BENCH_MODULES ?? here, "node_modules");
const models = join(here, "../../models");
const TOKENS = [5, 14, 24, 128];
const ROUNDS = Number(process.env.DOCENT_BENCH_ROUNDS ?? 5);
/** Embeddings of one length in one round: enough for a stable median, the engine warm. */
const REPEATS = { 5: 40, 14: 40, 24: 30, 128: 10 };

const network = readFileSync(join(models, "all-MiniLM-L6-v2/model.onnx"));
const formats = { "weight-only int8 (ours)": network };
for (const file of peerFiles) formats[basename(file, ".onnx")] = readFileSync(file);

/** Our engine, as one of its two builds or as the one that the package takes in this browser. */
const docent = (build) => `
    import { hasFastRelaxedProducts } from "/docent/dense.js";
    const build = ${build} ? "docent_embedder_relaxed" : "docent_embedder";
    const { default: init, Embedder } = await import("/docent/wasm/" + build + ".js");
    let embedder, wasm;
    export async function prepare() { wasm = await init(); }
    export function load(network, tokenizer, info) { embedder = Embedder.load(network, tokenizer, info); }
    // Each "word" is one token; two special ones stand around them.
    export function embed(tokens) { return embedder.embedPassage("word ".repeat(tokens - 2)); }
    export function memory() { return wasm.memory.buffer.byteLength; }`;

/** What stands in each page: `load()` once with the bytes in memory, then `embed(tokens)`. */
const ENGINES = {
  docent: docent("hasFastRelaxedProducts()"),
  plain: docent("false"),
  peer: `
    const memories = [];
    const Memory = WebAssembly.Memory;
    WebAssembly.Memory = function (options) { const memory = new Memory(options); memories.push(memory); return memory; };
    const ort = await import("/ort/ort.wasm.min.mjs");
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmPaths = "/ort/";
    let session;
    export async function prepare() {}
    export async function load(network) { session = await ort.InferenceSession.create(network, { executionProviders: ["wasm"] }); }
    export async function embed(tokens) {
      const ids = new BigInt64Array(tokens).fill(2773n);
      ids[0] = 101n;
      ids[tokens - 1] = 102n;
      const tensor = (data) => new ort.Tensor("int64", data, [1, tokens]);
      const output = await session.run({
        input_ids: tensor(ids),
        attention_mask: tensor(new BigInt64Array(tokens).fill(1n)),
        token_type_ids: tensor(new BigInt64Array(tokens)),
      });
      const { data } = output.last_hidden_state;
      const mean = new Float32Array(384);
      for (let i = 0; i < data.length; i++) mean[i % 384] += data[i];
      const norm = Math.hypot(...mean);
      return mean.map((x) => x / norm);
    }
    export function memory() { return Math.max(...memories.map((memory) => memory.buffer.byteLength)); }`,
  transformers: `
    const memories = [];
    const Memory = WebAssembly.Memory;
    WebAssembly.Memory = function (options) { const memory = new Memory(options); memories.push(memory); return memory; };
    const { env, pipeline } = await import("/transformers/dist/transformers.min.js");
    env.allowRemoteModels = false;
    env.allowLocalModels = true;
    env.useBrowserCache = false;
    env.localModelPath = "/hugging-face/";
    env.backends.onnx.wasm.numThreads = 1;
    env.backends.onnx.wasm.wasmPaths = "/transformers/node_modules/onnxruntime-web/dist/";
    let extract;
    export async function prepare() {}
    export async function load(network, tokenizer, info, format) {
      extract = await pipeline("feature-extraction", "model", { device: "wasm", dtype: format });
    }
    export async function embed(tokens) {
      return (await extract("word ".repeat(tokens - 2), { pooling: "mean", normalize: true })).data;
    }
    export function memory() { return Math.max(0, ...memories.map((memory) => memory.buffer.byteLength)); }`,
};

/** The files that transformers.js asks for, under the names of its formats. */
const HUGGING_FACE = {
  "model/config.json": () =>
    JSON.stringify({
      architectures: ["BertModel"], model_type: "bert", hidden_size: 384, num_hidden_layers: 6, num_attention_heads: 12,
      intermediate_size: 1536, max_position_embeddings: 512, type_vocab_size: 2, vocab_size: 30522,
    }),
  "model/tokenizer_config.json": () => JSON.stringify({ tokenizer_class: "BertTokenizer", model_max_length: 256, do_lower_case: true }),
  "model/tokenizer.json": () => readFileSync(join(models, "all-MiniLM-L6-v2/tokenizer.json")),
  "model/onnx/model.onnx": () => formats.fp32,
  "model/onnx/model_quantized.onnx": () => formats["dynamic-int8"],
};

const info = JSON.stringify({
  id: "all-MiniLM-L6-v2",
  license: "Apache-2.0",
  languages: ["en"],
  dimension: 384,
  max_tokens: 256,
  pooling: "mean",
  files: ["network", "tokenizer"].map((role) => ({ role, path: role, bytes: 1, sha256: "0".repeat(64) })),
});

const server = await serve({
  "/docent/": pkg,
  "/ort/": join(modules, "onnxruntime-web/dist"),
  "/models/": models,
  "/format/": (name) => formats[decodeURIComponent(name)],
  "/transformers/": join(modules, "@huggingface/transformers"),
  "/hugging-face/": (name) => HUGGING_FACE[name]?.(),
  "/engine/": (name) => ENGINES[name.replace(/\.js$/, "")],
  "/": () => "<!doctype html><title>bench</title>",
});

/** Runs one engine in a fresh page: load once, then each length. */
async function measure(browser, engine, format) {
  return withPage(browser, `${server.origin}/`, (page) =>
    page.evaluate(
      async ([name, format, info, lengths, repeats]) => {
        const bytes = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
        const network = name === "transformers" ? null : await bytes(`/format/${encodeURIComponent(format)}`);
        const tokenizer = await bytes("/models/all-MiniLM-L6-v2/tokenizer.json");
        const engine = await import(`/engine/${name}.js`);
        await engine.prepare();
        const start = performance.now();
        await engine.load(network, tokenizer, info, format);
        await engine.embed(14);
        const first = performance.now() - start;
        const times = {};
        const vectors = {};
        for (const tokens of lengths) {
          for (let i = 0; i < 5; i++) vectors[tokens] = Array.from(await engine.embed(tokens));
          times[tokens] = [];
          for (let i = 0; i < repeats[tokens]; i++) {
            const start = performance.now();
            await engine.embed(tokens);
            times[tokens].push(performance.now() - start);
          }
        }
        return { first, times, vectors, memory: engine.memory() };
      },
      [engine, format, info, TOKENS, REPEATS],
    ),
  );
}

const browser = await startBrowser();
const runs = [["docent", "weight-only int8 (ours)"], ["plain", "weight-only int8 (ours)"], ...Object.keys(formats).map((format) => ["peer", format])];
if (formats.fp32) runs.push(["transformers", "fp32"]);
if (formats["dynamic-int8"]) runs.push(["transformers", "q8"]);
const results = new Map(runs.map((run) => [run, { first: [], times: {}, memory: 0, vectors: null }]));
for (const result of results.values()) for (const tokens of TOKENS) result.times[tokens] = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const run of [...runs]) {
    let found;
    try {
      found = await measure(browser, ...run);
    } catch (error) {
      if (run[0] !== "transformers") throw error;
      // It looks for files in ways that change from version to version; onnxruntime-web, which it runs on, is measured anyway.
      console.log(`skipped: transformers.js, ${run[1]} (${String(error).split("\n")[0]})`);
      runs.splice(runs.indexOf(run), 1);
      results.delete(run);
      continue;
    }
    const result = results.get(run);
    result.first.push(found.first);
    result.memory = Math.max(result.memory, found.memory);
    result.vectors = found.vectors;
    for (const tokens of TOKENS) result.times[tokens].push(median(found.times[tokens]));
  }
}
await browser.close();
await server.close();

const [ours, plain] = [results.get(runs[0]), results.get(runs[1])];
const peerRuns = runs.slice(2);
const peers = peerRuns.map((run) => [`${run[0] === "peer" ? "onnxruntime-web" : "transformers.js"}, ${run[1]}`, results.get(run)]);
/** Those that are given the model's bytes, as we are. */
const loading = peers.filter((_, i) => peerRuns[i][0] === "peer");
for (const tokens of TOKENS) {
  if (String(ours.vectors[tokens]) !== String(plain.vectors[tokens])) throw new Error(`our builds disagree on ${tokens} tokens`);
  const [a, b] = [ours.vectors[tokens], peers[0][1].vectors[tokens]];
  const cosine = a.reduce((sum, x, i) => sum + x * b[i], 0);
  if (cosine < 0.999) throw new Error(`the engines disagree on ${tokens} tokens: cosine ${cosine}`);
}
const cell = (values) => {
  const { median, low, high } = spread(values);
  return `${ms(median)} (${ms(low)}–${ms(high)})`;
};
const row = (title, of, compared = peers) => {
  const best = Math.min(...compared.map(([, result]) => median(of(result))));
  const cells = peers.map((peer) => (compared.includes(peer) ? cell(of(peer[1])) : ""));
  return [title, cell(of(ours)), cell(of(plain)), ...cells, (median(of(ours)) / best).toFixed(2)];
};
table(
  "Embedding in headless Chromium, one thread; ms, median (quartiles) of the rounds",
  ["", "docent", "docent, plain SIMD", ...peers.map(([name]) => name), "ratio to the best"],
  [
    ...TOKENS.map((tokens) => row(`${tokens} tokens`, (result) => result.times[tokens])),
    row("model bytes in memory to first embedding", (result) => result.first, loading),
    [
      "wasm memory, MB",
      ...[ours, plain, ...peers.map(([, result]) => result)].map((result) => (result.memory / 1e6).toFixed(1)),
      (ours.memory / Math.min(...peers.map(([, result]) => result.memory))).toFixed(2),
    ],
  ],
);

const size = (title, path) => {
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  return [title, kB(bytes.length), kB(gzipSync(bytes, { level: 9 }).length), kB(brotli.length)];
};
table(
  "Modules",
  ["", "raw", "gzip", "brotli"],
  [
    size("docent embedder", join(pkg, "wasm/docent_embedder_bg.wasm")),
    size("docent embedder, relaxed SIMD", join(pkg, "wasm/docent_embedder_relaxed_bg.wasm")),
    size("onnxruntime-web", join(modules, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm")),
  ],
);

const of = (pick, compared = peers) => Object.fromEntries(compared.map(([name, result]) => [name, pick(result)]));
for (const tokens of TOKENS) record(`embedding, ${tokens} tokens, ms`, ours.times[tokens], of((result) => result.times[tokens]));
record("model bytes in memory to first embedding, ms", ours.first, of((result) => result.first, loading));
record("embedder, wasm memory, MB", ours.memory / 1e6, of((result) => result.memory / 1e6));
const brotliBytes = (path) => brotliCompressSync(readFileSync(path), { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length;
record("embedder module, brotli, kB", brotliBytes(join(pkg, "wasm/docent_embedder_relaxed_bg.wasm")) / 1000, {
  "onnxruntime-web": brotliBytes(join(modules, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm")) / 1000,
});
