// How the search in the page grows: 1,000, 10,000 and 100,000 chunks made from a real documentation by `docent scale`.
//
//   node tests/bench/scale.mjs DOCENT PACKAGE INDEX WORK [CHUNKS …]
//
// INDEX: an index with vectors; WORK: a folder for what is made. Measured in headless Chromium, one thread: the bytes that
// leave the server before the first answer by words and before the first hybrid answer, without the program and the model,
// which do not grow; the time of a search, embedding not included; the memory of the wasm module. Measured natively: how
// long the graph takes, how many of the ten nearest it finds, what an edge weighs.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBrowser, withPage } from "./browser.mjs";
import { record } from "./rows.mjs";
import { serve } from "./server.mjs";
import { kB, median, ms, spread, table } from "./stats.mjs";

const [docent, pkg, index, work, ...counts] = process.argv.slice(2);
const SIZES = counts.length ? counts.map(Number) : [1_000, 10_000, 100_000];
/** Times that every query is searched in each mode. */
const REPEATS = 5;

/** Makes an index of `chunks` chunks, once, and gives what `docent scale` says of it. */
function make(chunks) {
  const folder = join(work, String(chunks));
  const report = join(folder, "report.json");
  if (!existsSync(report)) {
    console.error(`making an index of ${chunks.toLocaleString("en")} chunks …`);
    const raw = chunks === 10_000 ? ["--raw"] : [];
    const args = ["scale", index, "--chunks", String(chunks), "--out", folder, ...raw];
    writeFileSync(report, execFileSync(docent, args, { stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 24 }));
  }
  return { folder, ...JSON.parse(readFileSync(report, "utf8")) };
}

/** Loads an index in a fresh page; counts bytes, takes times. */
async function measure(browser, made) {
  const server = await serve({ "/docent/": pkg, "/index/": made.folder, "/": () => "<!doctype html><title>bench</title>" });
  const result = await withPage(browser, `${server.origin}/`, async (page) => {
    const queries = JSON.parse(readFileSync(join(made.folder, "queries.json"), "utf8")).map(({ text, embedding }) => ({ text, embedding }));
    await page.evaluate(async (queries) => {
      const { default: init, Agent } = await import("/docent/direct.js");
      globalThis.wasm = await init();
      globalThis.Agent = Agent;
      globalThis.queries = queries.map(({ text, embedding }) => ({ text, embedding: new Float32Array(embedding) }));
    }, queries);
    const program = server.bytes();
    const load = await page.evaluate(async () => {
      const start = performance.now();
      globalThis.agent = await Agent.load({ index: "/index/manifest.json", model: null });
      const loaded = performance.now() - start;
      await agent.search(queries[0].text, { mode: "lexical" });
      return { loaded, first: performance.now() - start, memory: wasm.memory.buffer.byteLength };
    });
    const lexicalBytes = server.bytes() - program;
    const vectors = await page.evaluate(async () => {
      const start = performance.now();
      await agent.loadVectors();
      await agent.search(queries[0].text, { mode: "hybrid", embedding: queries[0].embedding });
      return { first: performance.now() - start, memory: wasm.memory.buffer.byteLength };
    });
    const hybridBytes = server.bytes() - program;
    const times = await page.evaluate(async (repeats) => {
      const times = { lexical: [], dense: [], hybrid: [] };
      for (const mode of Object.keys(times)) {
        // Once for the texts and the postings of each query, which are fetched then, and to warm up.
        // Without words where the vectors alone are measured.
        const words = (text) => (mode === "dense" ? "" : text);
        for (const { text, embedding } of queries) await agent.search(words(text), { mode, embedding });
        for (let round = 0; round < repeats; round++) {
          for (const { text, embedding } of queries) {
            const start = performance.now();
            const found = await agent.search(words(text), { mode, embedding });
            times[mode].push(performance.now() - start);
            if (found.mode !== mode) throw new Error(`${found.mode} in the place of ${mode}`);
          }
        }
      }
      return times;
    }, REPEATS);
    const memory = await page.evaluate(() => wasm.memory.buffer.byteLength);
    return { lexicalBytes, hybridBytes, load, vectors, times, memory };
  });
  await server.close();
  return result;
}

const browser = await startBrowser();
const all = [];
for (const chunks of SIZES) {
  const made = make(chunks);
  all.push({ chunks, made, ...(await measure(browser, made)) });
}
await browser.close();

const time = (values) => {
  const { median, low, high } = spread(values);
  return `${ms(median)} (${ms(low)}–${ms(high)})`;
};
const MB = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const row = (title, of) => [title, ...all.map(of)];
const rows = [
  row("before the first answer by words", (one) => kB(one.lexicalBytes)),
  row("before the first hybrid answer, model aside", (one) => kB(one.hybridBytes)),
  row("index loaded, ms", (one) => ms(one.load.loaded)),
  row("vectors loaded and searched, ms", (one) => ms(one.vectors.first)),
  row("search by words, ms", (one) => time(one.times.lexical)),
  row("search by vectors, ms", (one) => time(one.times.dense)),
  row("hybrid search, ms", (one) => time(one.times.hybrid)),
  row("wasm memory, words only", (one) => MB(one.load.memory)),
  row("wasm memory, hybrid", (one) => MB(one.memory)),
  row("recall@10 of the vectors", (one) => one.made.recallAt10.toFixed(3)),
  row("bytes of the graph a chunk", (one) => one.made.edgeBytesPerChunk.toFixed(1)),
  row("graph built natively, s", (one) => one.made.graphSeconds.toFixed(1)),
  row("largest file", (one) => MB(one.made.largestFileBytes)),
  row("files", (one) => String(one.made.textShards + one.made.postingShards + 2)),
];
table("Growth (times: median (quartiles))", ["", ...all.map((one) => `${one.chunks.toLocaleString("en")} chunks`)], rows);
for (const one of all) {
  const size = `${one.chunks.toLocaleString("en")} chunks`;
  record(`bytes before the first answer by words, ${size}, kB`, one.lexicalBytes / 1000);
  record(`bytes before the first hybrid answer, ${size}, kB`, one.hybridBytes / 1000);
  for (const mode of ["lexical", "dense", "hybrid"]) record(`search, ${mode}, ${size}, ms`, one.times[mode]);
  record(`wasm memory, hybrid, ${size}, MB`, one.memory / 1e6);
  record(`recall@10, ${size}`, one.made.recallAt10);
}
const dense = (chunks) => all.find((one) => one.chunks === chunks);
if (dense(10_000) && dense(100_000)) {
  const growth = (mode) => median(dense(100_000).times[mode]) / median(dense(10_000).times[mode]);
  console.log(`\nfrom 10,000 to 100,000 chunks: vectors ${growth("dense").toFixed(2)} times the time, words ${growth("lexical").toFixed(2)} times`);
  record("growth of search by vectors, 10,000 → 100,000 chunks", growth("dense"));
  record("growth of search by words, 10,000 → 100,000 chunks", growth("lexical"));
}
