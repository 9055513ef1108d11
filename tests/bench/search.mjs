// Search in the page, beside Pagefind and Orama, on one documentation: bytes before the first five results, bytes of the whole
// index, time to those results, time of a search. Each peer as its documentation sets it up.
//
//   node tests/bench/search.mjs DOCENT PACKAGE DOCS WORK
//
// DOCENT: the command line; PACKAGE: the built pkg/; DOCS: a folder of Markdown; WORK: a folder for what is made.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { marked } from "marked";
import { startBrowser, withPage } from "./browser.mjs";
import { record } from "./rows.mjs";
import { serve } from "./server.mjs";
import { kB, median, ms, spread, table } from "./stats.mjs";

const [docent, pkg, docs, work] = process.argv.slice(2);
const modules = join(process.env.DOCENT_BENCH_MODULES ?? dirname(fileURLToPath(import.meta.url)), "node_modules");

/** What readers ask of the Vue documentation: words, not sentences, as they type them into a search box. */
const QUERIES = [
  "watch a ref", "v-model", "computed properties", "slots", "provide inject", "lifecycle hooks", "suspense", "teleport",
  "typescript props", "async components", "transition group", "server side rendering", "template refs", "event modifiers",
  "custom directives", "keep alive", "reactivity in depth", "composables", "render functions", "scoped css",
];
const REPEATS = 5;

function files(folder, ending) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(ending) && statSync(path).isFile())
    .sort();
}

function size(folder) {
  return files(folder, "").reduce((sum, path) => sum + statSync(path).size, 0);
}

/** The pages as a plain site generator would write them: one HTML file a Markdown file. */
function renderSite(folder, site) {
  const pages = [];
  for (const path of files(folder, ".md")) {
    const text = readFileSync(path, "utf8").replace(/^---\n[\s\S]*?\n---\n/, "");
    const name = relative(folder, path).replace(/\.md$/, ".html");
    const title = /^# (.+)$/m.exec(text)?.[1].replace(/\{#.*\}/, "").trim() ?? name;
    const html = marked.parse(text);
    const target = join(site, name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `<!doctype html><html lang="en"><head><title>${title}</title></head><body><main>${html}</main></body></html>`);
    pages.push({ title, url: `/${name}`, content: text });
  }
  return pages;
}

const ENGINES = {
  docent: `
    import init, { Agent } from "/docent/direct.js";
    let agent;
    export async function load() { await init(); agent = await Agent.load({ index: "/index/manifest.json", model: false }); }
    export async function search(text) {
      const { passages } = await agent.search(text, { mode: "lexical", topK: 5 });
      return passages[0]?.title ?? null;
    }`,
  Pagefind: `
    let pagefind;
    export async function load() { pagefind = await import("/site/pagefind/pagefind.js"); await pagefind.init(); }
    export async function search(text) {
      const found = await pagefind.search(text);
      const [first] = await Promise.all(found.results.slice(0, 5).map((result) => result.data()));
      return first?.meta.title ?? null;
    }`,
  Orama: `
    import { create, insertMultiple, search as find } from "/orama/index.js";
    let db;
    export async function load() {
      db = create({ schema: { title: "string", content: "string", url: "string" } });
      await insertMultiple(db, await (await fetch("/site/pages.json")).json());
    }
    export async function search(text) {
      const found = await find(db, { term: text, limit: 5 });
      return found.hits[0]?.document.title ?? null;
    }`,
};

const site = join(work, "site");
const index = join(work, "index");
rmSync(work, { recursive: true, force: true });
mkdirSync(site, { recursive: true });
const pages = renderSite(docs, site);
writeFileSync(join(site, "pages.json"), JSON.stringify(pages));
execFileSync(join(modules, ".bin", "pagefind"), ["--site", site, "--silent"], { stdio: "inherit" });
execFileSync(docent, ["index", docs, "--out", index, "--no-model"], { stdio: ["ignore", "ignore", "inherit"] });

const server = await serve({
  "/site/": site,
  "/index/": index,
  "/docent/": pkg,
  "/orama/": join(modules, "@orama/orama/dist/browser"),
  "/engine/": (name) => ENGINES[name.replace(/\.js$/, "")],
  "/": () => "<!doctype html><title>bench</title>",
});
const browser = await startBrowser();
const results = {};
for (const engine of Object.keys(ENGINES)) results[engine] = { bytes: 0, first: [], search: [], found: [] };
// The engines alternate, so that a busy moment of the machine does not fall on one of them alone.
for (let round = 0; round < REPEATS; round++) {
  for (const engine of Object.keys(ENGINES)) {
    const result = results[engine];
    server.reset();
    await withPage(browser, `${server.origin}/`, async (page) => {
      const before = server.bytes();
      const first = await page.evaluate(
        async ([name, query]) => {
          const start = performance.now();
          globalThis.engine = await import(`/engine/${name}.js`);
          await globalThis.engine.load();
          await globalThis.engine.search(query);
          return performance.now() - start;
        },
        [engine, QUERIES[0]],
      );
      result.bytes = server.bytes() - before;
      result.first.push(first);
      const { times, found } = await page.evaluate(async (queries) => {
        const times = [];
        const found = [];
        // Once to warm up what each engine loads on demand, once for the clock.
        for (const query of queries) found.push(await globalThis.engine.search(query));
        for (const query of queries) {
          const start = performance.now();
          await globalThis.engine.search(`${query} `);
          times.push(performance.now() - start);
        }
        return { times, found };
      }, QUERIES);
      result.search.push(...times);
      result.found = found;
    });
  }
}
await browser.close();
await server.close();

const indexBytes = {
  docent: size(index),
  Pagefind: size(join(site, "pagefind")),
  Orama: statSync(join(site, "pages.json")).size,
};
table(
  `Search on ${pages.length} pages, ${QUERIES.length} queries, ${REPEATS} rounds (medians; quartiles in brackets; bytes after gzip)`,
  ["engine", "before the first results", "of Pagefind's", "index on disk", "first results", "search", "queries with a result"],
  Object.entries(results).map(([engine, result]) => {
    const search = spread(result.search);
    return [
      engine,
      kB(result.bytes),
      (result.bytes / results.Pagefind.bytes).toFixed(2),
      kB(indexBytes[engine]),
      `${ms(median(result.first))} ms`,
      `${ms(search.median)} ms [${ms(search.low)}, ${ms(search.high)}]`,
      `${result.found.filter(Boolean).length}/${QUERIES.length}`,
    ];
  }),
);

const peers = ["Pagefind", "Orama"];
const of = (pick) => Object.fromEntries(peers.map((peer) => [peer, pick(peer)]));
record("bytes before the first five results, documentation, kB", results.docent.bytes / 1000, of((peer) => results[peer].bytes / 1000));
record("index on disk, documentation, kB", indexBytes.docent / 1000, of((peer) => indexBytes[peer] / 1000));
record("from nothing to the first five results, ms", results.docent.first, of((peer) => results[peer].first));
record("search by words, documentation, ms", results.docent.search, of((peer) => results[peer].search));
