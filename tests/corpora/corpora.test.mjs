// Real documentation, indexed whole with the vectors of the right model and asked in the browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FOLDER, newPage, serveSite, TESTDATA, Widget } from "../e2e/support.mjs";

const PAGE = (index) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Corpus</title></head>
<body><script type="module" src="/docent/widget/docent-chat.js" data-index="${index}"></script></body>
</html>`;

const CORPORA = [
  {
    name: "vue-docs-en",
    model: "all-MiniLM-L6-v2",
    base: "https://vuejs.org/",
    questions: [
      ["How do I watch a ref?", /\/(api\/reactivity-core(\.html)?#watch\b|guide\/essentials\/watchers(\.html)?(#|$))/],
      ["What does v-model expand to?", /\/guide\/components\/v-model(\.html)?(#|$)/],
    ],
  },
  {
    name: "vue-docs-zh",
    model: "multilingual-e5-small",
    base: "https://cn.vuejs.org/",
    questions: [
      ["怎么侦听一个 ref？", /\/(api\/reactivity-core(\.html)?#watch\b|guide\/essentials\/watchers(\.html)?(#|$))/],
      ["v-model 会展开成什么？", /\/guide\/components\/v-model(\.html)?(#|$)/],
    ],
  },
  {
    name: "milvus-docs-en",
    model: "all-MiniLM-L6-v2",
    base: "https://milvus.io/docs/",
    questions: [["how to install milvus with docker compose", /\/install_standalone-docker-compose(\.html)?(#|$)/]],
  },
];

for (const { name, model, base, questions } of CORPORA) {
  const docs = TESTDATA && join(TESTDATA, "corpora", name);
  const skip = docs && existsSync(docs) ? false : `${name} is not there (DOCENT_TESTDATA is not set)`;
  test(`${name} is indexed whole and answers in the page`, { skip }, async (t) => {
    const site = FOLDER;
    const out = join(site, name);
    mkdirSync(join(site, "docent"), { recursive: true });
    // The package as a site author copies it.
    execFileSync("cp", ["-R", "pkg/.", join(site, "docent")]);
    const summary = execFileSync(process.env.DOCENT_BIN, ["index", docs, "--out", out, "--base-url", base, "--model", model], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.diagnostic(summary.trim().replaceAll("\n", " · "));
    writeFileSync(join(site, `${name}.html`), PAGE(`/${name}/manifest.json`));
    const address = await serveSite({ folder: site });
    const { page, errors } = await newPage();
    await page.goto(`${address}/${name}.html`);
    const widget = new Widget(page);
    await widget.open();
    assert.equal((await widget.ready({ dense: true, timeout: 240_000 })).dense, "ready");
    for (const [question, right] of questions) {
      const turn = await widget.ask(question);
      t.diagnostic(`${question} → ${turn.action}, ${turn.mode}: ${turn.sources.map(({ url }) => url).join(" ")}`);
      assert.equal(turn.mode, "hybrid");
      assert.match(turn.sources[0].url, right);
    }
    assert.deepEqual(errors, []);
  });
}
