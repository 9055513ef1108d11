// Vector search in the page, beside hnswlib-wasm, on the same 10,000 vectors and queries: time of a search for ten
// neighbors, how many of the true ten it finds, time until the index can be searched, memory of the module.
//
//   node tests/bench/vectors.mjs PACKAGE MADE
//
// MADE: the folder of 10,000 chunks that scale.mjs made. hnswlib-wasm as its README sets it up (48 links, width 128 at build
// time, 32 at search time), and once more with the width of a search at which it finds as many as we do.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBrowser, withPage } from "./browser.mjs";
import { record } from "./rows.mjs";
import { serve } from "./server.mjs";
import { ms, spread, table } from "./stats.mjs";

const [pkg, made] = process.argv.slice(2);
const modules = join(process.env.DOCENT_BENCH_MODULES ?? dirname(fileURLToPath(import.meta.url)), "node_modules");
const queries = JSON.parse(readFileSync(join(made, "queries.json"), "utf8"));
const ROUNDS = 5;
const WIDTHS = [32, 64, 128, 256];

const server = await serve({
  "/docent/": pkg,
  "/made/": made,
  "/hnswlib/": join(modules, "hnswlib-wasm/dist"),
  "/": () => "<!doctype html><title>bench</title>",
});
const browser = await startBrowser();

const ours = await withPage(browser, `${server.origin}/`, (page) =>
  page.evaluate(
    async ([queries, rounds]) => {
      const { default: init, Agent } = await import("/docent/direct.js");
      const wasm = await init();
      const agent = await Agent.load({ index: "/made/manifest.json", model: null });
      const start = performance.now();
      await agent.loadVectors();
      const ready = performance.now() - start;
      const times = [];
      for (let round = 0; round <= rounds; round++) {
        for (const { embedding } of queries) {
          const vector = new Float32Array(embedding);
          const start = performance.now();
          // No words, so that nothing but the vectors is searched.
          await agent.search("", { mode: "dense", embedding: vector, topK: 10 });
          if (round) times.push(performance.now() - start);
        }
      }
      return { ready, times, memory: wasm.memory.buffer.byteLength };
    },
    [queries, ROUNDS],
  ),
);

const peers = await withPage(browser, `${server.origin}/`, (page) =>
  page.evaluate(
    async ([queries, rounds, widths]) => {
      const memories = [];
      const instantiate = WebAssembly.instantiate;
      WebAssembly.instantiate = async (...args) => {
        const result = await instantiate(...args);
        const { exports } = result.instance ?? result;
        memories.push(...Object.values(exports).filter((value) => value instanceof WebAssembly.Memory));
        return result;
      };
      const { loadHnswlib } = await import("/hnswlib/hnswlib.js");
      const lib = await loadHnswlib();
      const raw = new Float32Array(await (await fetch("/made/vectors.f32")).arrayBuffer());
      const dimension = queries[0].embedding.length;
      const vectors = [];
      for (let at = 0; at < raw.length; at += dimension) vectors.push(raw.subarray(at, at + dimension));
      const start = performance.now();
      const index = new lib.HierarchicalNSW("cosine", dimension, "");
      index.initIndex(vectors.length, 48, 128, 100);
      const labels = index.addItems(vectors, false);
      const chunkOf = new Map(labels.map((label, chunk) => [label, chunk]));
      const ready = performance.now() - start;
      const found = {};
      for (const width of widths) {
        index.setEfSearch(width);
        const times = [];
        let hits = 0;
        for (let round = 0; round <= rounds; round++) {
          for (const { embedding, nearest } of queries) {
            const vector = new Float32Array(embedding);
            const start = performance.now();
            const { neighbors } = index.searchKnn(vector, 10, undefined);
            if (round) times.push(performance.now() - start);
            else hits += neighbors.filter((label) => nearest.includes(chunkOf.get(label))).length;
          }
        }
        found[width] = { times, recall: hits / (queries.length * 10) };
      }
      return { ready, found, memory: Math.max(...memories.map((memory) => memory.buffer.byteLength)) };
    },
    [queries, ROUNDS, WIDTHS],
  ),
);
await browser.close();
await server.close();

const { recallAt10 } = JSON.parse(readFileSync(join(made, "report.json"), "utf8"));
const equal = WIDTHS.find((width) => peers.found[width].recall >= recallAt10) ?? WIDTHS.at(-1);
const cell = (values) => {
  const { median, low, high } = spread(values);
  return `${ms(median)} ms [${ms(low)}, ${ms(high)}]`;
};
const name = (width) => `hnswlib-wasm, width ${width}`;
const shown = [...new Set([32, equal])];
table(
  `Vector search, 10,000 vectors of ${queries[0].embedding.length} numbers, ${queries.length} queries (medians; quartiles in brackets)`,
  ["engine", "search", "recall@10", "ready after", "memory"],
  [
    // The whole call of the agent: passages with their texts, not only their numbers.
    ["docent, whole search", cell(ours.times), recallAt10.toFixed(3), `${ms(ours.ready)} ms`, `${(ours.memory / 1e6).toFixed(1)} MB`],
    ...shown.map((width) => [
      name(width), cell(peers.found[width].times), peers.found[width].recall.toFixed(3), `${ms(peers.ready)} ms`,
      `${(peers.memory / 1e6).toFixed(1)} MB`,
    ]),
  ],
);
const of = (pick) => Object.fromEntries(shown.map((width) => [name(width), pick(peers.found[width])]));
record("vector search, 10,000 vectors, ms", ours.times, of((peer) => peer.times));
record("vector search, recall@10", recallAt10, of((peer) => peer.recall), "high");
record("vectors in memory to first search, ms", ours.ready, { "hnswlib-wasm": peers.ready });
record("vector search, wasm memory, MB", ours.memory / 1e6, { "hnswlib-wasm": peers.memory / 1e6 });
