// The npm package: packed, installed into an empty project and imported there, types and all.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

const npm = (args, cwd) => execFileSync("npm", [...args, "--silent", "--no-audit", "--no-fund"], { cwd, encoding: "utf8" });

function install() {
  const project = mkdtempSync(join(tmpdir(), "docent-package-"));
  const packed = npm(["pack", "--pack-destination", project], "pkg").trim().split("\n").at(-1);
  writeFileSync(join(project, "package.json"), '{"name":"empty","private":true,"type":"module"}');
  npm(["install", "--offline", join(project, packed)], project);
  return project;
}

const project = install();

test("the package holds the modules, the widget, the types and the licenses, and nothing else", () => {
  const files = execFileSync("find", [".", "-type", "f"], { cwd: join(project, "node_modules/docent"), encoding: "utf8" }).trim().split("\n");
  for (const name of [
    "./package.json", "./README.md", "./LICENSE-MIT", "./LICENSE-APACHE", "./index.js", "./index.d.ts", "./types.d.ts", "./direct.js", "./worker.js",
    "./wasm/docent_bg.wasm", "./wasm/docent.js", "./wasm/docent_embedder_bg.wasm", "./wasm/docent_embedder_relaxed_bg.wasm",
    "./widget/docent-chat.js",
    "./widget/vendor/marked.js", "./widget/vendor/marked.LICENSE",
  ]) assert.ok(files.includes(name), `${name} is missing`);
  const strange = files.filter((name) => !/\.(js|d\.ts|wasm|md|json)$|LICENSE/.test(name));
  assert.deepEqual(strange, []);
});

test("every export of package.json leads to a file", () => {
  const { exports } = JSON.parse(readFileSync(join(project, "node_modules/docent/package.json"), "utf8"));
  for (const target of Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [entry] : Object.values(entry)))) {
    readFileSync(join(project, "node_modules/docent", target));
  }
});

test("docent/wasm loads, answers and fails in Node", async () => {
  const site = await serveSite();
  writeFileSync(
    join(project, "use.mjs"),
    `import { readFile } from "node:fs/promises";
     import { createRequire } from "node:module";
     import init, { Agent } from "docent/wasm";
     const require = createRequire(import.meta.url);
     const bytes = await readFile(new URL("./wasm/docent_bg.wasm", import.meta.resolve("docent/wasm")));
     await init({ module_or_path: bytes });
     const index = process.argv[2] + "/docent-index/manifest.json";
     const events = [];
     const agent = await Agent.load({ index, model: null }, (event) => events.push(event));
     const ready = await agent.ready;
     const turn = await agent.chat("How do I put the agent on a page?");
     const refused = await Agent.load({ index: process.argv[2] + "/missing.json" }).then(() => null, ({ name, code }) => ({ name, code }));
     const saved = agent.export();
     agent.restore(saved);
     agent.free();
     console.log(JSON.stringify({ ready, url: turn.sources[0]?.url, mode: turn.mode, refused, loaded: events.at(-1) }));`,
  );
  const said = JSON.parse(execFileSync(process.execPath, ["use.mjs", site], { cwd: project, encoding: "utf8" }));
  assert.deepEqual(said.ready, { mode: "lexical", model: null });
  assert.match(said.url, /getting-started/);
  assert.equal(said.mode, "lexical");
  assert.deepEqual(said.refused, { name: "AgentError", code: "index_unreachable" });
  assert.equal(said.loaded.loaded, said.loaded.total);
});

test("the installed package serves the widget with one tag", async () => {
  const site = await serveSite();
  const shop = await serveSite({ folder: join(project, "node_modules") });
  // The page comes from one server and the package from it, too; only the index is read from the demo.
  const { page, context, errors } = await newPage();
  await context.route(`${shop}/docent-index/**`, async (route) => route.fulfill({ response: await route.fetch({ url: route.request().url().replace(shop, site) }) }));
  await context.route(`${shop}/page.html`, (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title><link rel="icon" href="data:,"><p>Our docs</p>
        <script type="module" src="/docent/widget/docent-chat.js" data-index="/docent-index/manifest.json" data-model="none"></script>`,
    }),
  );
  await page.goto(`${shop}/page.html`);
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  const turn = await widget.ask("How do I put the agent on a page?");
  assert.ok(turn.sources.length > 0);
  assert.deepEqual(errors, []);
});
