// The two builds of the embedder: exact products, the same bits, and the choice between them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { emptyPage, FOLDER, newPage, serveSite, Widget } from "./support.mjs";

const golden = JSON.parse(readFileSync(new URL("../golden/all-MiniLM-L6-v2.json", import.meta.url), "utf8"));

for (const build of ["plain", "relaxed"]) {
  test(`every product of the ${build} kernels is the exact one`, async (t) => {
    const { page } = await emptyPage(await serveSite());
    const kernels = readFileSync(`${FOLDER}/kernels/${build}.wasm`).toString("base64");
    const wrong = await page.evaluate(async (kernels) => {
      const bytes = Uint8Array.from(atob(kernels), (character) => character.charCodeAt(0));
      if (!WebAssembly.validate(bytes)) return null;
      const { instance } = await WebAssembly.instantiate(bytes);
      return [1, 2, 3, 4].map((seed) => instance.exports.first_wrong_product(seed, 500));
    }, kernels);
    if (wrong === null && build === "relaxed") {
      t.skip("this browser has no relaxed SIMD");
      return;
    }
    assert.deepEqual(wrong, [0, 0, 0, 0]);
  });
}

test("both builds of the embedder give the same bits", async (t) => {
  const site = await serveSite();
  const { page } = await emptyPage(site);
  const files = readFileSync(new URL("../../models/all-MiniLM-L6-v2/model.onnx", import.meta.url));
  const tokenizer = readFileSync(new URL("../../models/all-MiniLM-L6-v2/tokenizer.json", import.meta.url));
  const manifest = JSON.stringify({
    id: "all-MiniLM-L6-v2", license: "Apache-2.0", languages: ["en"], dimension: 384, max_tokens: 256, pooling: "mean",
    files: ["network", "tokenizer"].map((role) => ({ role, path: role, bytes: 1, sha256: "0".repeat(64) })),
  });
  await page.context().route(`${site}/test/model`, (route) => route.fulfill({ body: files }));
  await page.context().route(`${site}/test/tokenizer`, (route) => route.fulfill({ body: tokenizer }));
  // Lengths around the tiles of either build, long texts, and words in any order, which follow from a seed.
  let seed = 7;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const words = golden.cases.flatMap(({ text }) => text.split(" "));
  const shuffled = Array.from({ length: 60 }, () => Array.from({ length: 1 + random(90) }, () => words[random(words.length)]).join(" "));
  const texts = [...golden.cases.map(({ text }) => text), ...[1, 2, 3, 4, 5, 6, 7, 60, 200].map((n) => "word ".repeat(n)), ...shuffled];
  const builds = await page.evaluate(
    async ([manifest, texts]) => {
      const { hasFastRelaxedProducts } = await import("/docent/dense.js");
      const bytes = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
      const [network, tokenizer] = [await bytes("/test/model"), await bytes("/test/tokenizer")];
      const vectors = {};
      for (const build of ["docent_embedder", "docent_embedder_relaxed"]) {
        try {
          const { default: init, Embedder } = await import(`/docent/wasm/${build}.js`);
          await init();
          const embedder = Embedder.load(network, tokenizer, manifest);
          vectors[build] = texts.map((text) => Array.from(embedder.embedQuery(text)));
        } catch (error) {
          if (!(error instanceof WebAssembly.CompileError)) throw error;
          vectors[build] = null;
        }
      }
      return { vectors, chosen: hasFastRelaxedProducts() };
    },
    [manifest, texts],
  );
  const { docent_embedder: plain, docent_embedder_relaxed: relaxed } = builds.vectors;
  assert.equal(plain.length, texts.length);
  if (!relaxed) {
    assert.equal(builds.chosen, false, "a build that does not compile must not be chosen");
    t.skip("this browser has no relaxed SIMD");
    return;
  }
  assert.deepEqual(relaxed, plain);
});

test("a page loads one build of the embedder", async () => {
  const site = await serveSite();
  const { page, requests } = await newPage();
  await page.goto(`${site}/`);
  const fast = await page.evaluate(async () => (await import("/docent/dense.js")).hasFastRelaxedProducts());
  const widget = new Widget(page);
  await widget.open();
  await widget.ready({ dense: true, timeout: 120_000 });
  const loaded = requests.filter((address) => /docent_embedder.*\.wasm/.test(address)).map((address) => new URL(address).pathname.split("/").pop());
  assert.deepEqual(loaded, [fast ? "docent_embedder_relaxed_bg.wasm" : "docent_embedder_bg.wasm"]);
});
