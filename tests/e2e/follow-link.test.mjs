// Sources are deep links: following one opens the page at a heading that is there, and the conversation comes along.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FOLDER, newPage, openWidget, serveSite } from "./support.mjs";

test("a source leads to its heading, and the conversation is still there", async () => {
  const site = await serveSite();
  const { page, widget } = await openWidget(site);
  const turn = await widget.ask("How do I preview a folder?");
  await widget.saved(2);
  const link = page.locator("docent-chat .sources a").first();
  await Promise.all([page.waitForURL(/\/docs\//), link.click()]);
  const address = new URL(page.url());
  assert.equal(address.pathname + address.hash, turn.sources[0].url.replace(site, ""));
  if (address.hash) {
    assert.equal(await page.evaluate((id) => Boolean(document.getElementById(id)), decodeURIComponent(address.hash.slice(1))), true, address.hash);
  }
  await widget.panel.waitFor();
  assert.equal(await widget.questions.first().innerText().then((text) => text.includes("preview a folder")), true);
  const next = await widget.ask("and what does --llm do?");
  assert.ok(next.historyLength >= 4, "the agent remembers the earlier turn");
});

test("every link of the index leads to a page and an anchor that are there", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/demo.css`);
  const manifest = JSON.parse(readFileSync(join(FOLDER, "site/docent-index/manifest.json"), "utf8"));
  assert.ok(manifest.documents >= 4);
  const urls = await page.evaluate(async (site) => {
    const { default: init, Agent } = await import(`${site}/docent/direct.js`);
    await init();
    const agent = await Agent.load({ index: `${site}/docent-index/manifest.json`, model: null });
    const found = new Set();
    for (const word of ["docent", "index", "page", "agent", "attribute", "command", "folder", "widget", "助手", "页面", "文档", "运行", "属性"]) {
      for (const { url } of (await agent.search(word, { topK: 50, mode: "lexical" })).passages) found.add(url);
    }
    return [...found];
  }, site);
  assert.ok(urls.length >= 8, `only ${urls.length} passages were found`);
  const pages = new Map();
  for (const url of urls) {
    const address = new URL(url, site);
    if (!pages.has(address.pathname)) {
      const response = await fetch(address);
      assert.equal(response.status, 200, url);
      pages.set(address.pathname, await response.text());
    }
    const anchor = decodeURIComponent(address.hash.slice(1));
    if (anchor) assert.ok(pages.get(address.pathname).includes(`id="${anchor}"`), `${url} leads to no anchor`);
  }
});
