// One script tag: the page loads, a question is asked, an answer with a source comes, without any endpoint.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, openWidget, serveSite, Widget } from "./support.mjs";

test("a question gets an answer with a link to the page that says it", async () => {
  const site = await serveSite();
  const { page, errors, requests } = await newPage();
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  const turn = await widget.ask("How do I put the agent on a page?");
  assert.equal(turn.intent, "retrieval");
  assert.equal(turn.error, null);
  assert.ok(turn.sources.length > 0, "the answer has sources");
  assert.match(turn.sources[0].url, /getting-started/);
  await widget.page.locator("docent-chat .sources a").first().waitFor();
  assert.match(await widget.answers.last().innerText(), /tag/);
  assert.deepEqual(errors, []);
  for (const address of requests) assert.ok(address.startsWith(site) || /^(data|blob):/.test(address), `asked for ${address}`);
});

test("nothing of the agent is loaded before the reader opens the panel", async () => {
  const site = await serveSite();
  const { page, requests } = await newPage();
  await page.goto(`${site}/`, { waitUntil: "networkidle" });
  assert.ok(!requests.some((address) => /\.wasm|manifest\.json|\.onnx/.test(address)), requests.join("\n"));
});

test("answers come by keyword at once and turn hybrid when the model is there", async () => {
  const site = await serveSite();
  const { page, context } = await newPage();
  // The model waits until the first answer has been given.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await context.route(/model\.onnx$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  assert.equal((await widget.ask("How do I index my documentation?")).mode, "lexical");
  assert.ok(await page.locator("docent-chat .load").isVisible(), "the progress of the model is shown");
  release();
  const state = await widget.ready({ dense: true, timeout: 120_000 });
  assert.equal(state.dense, "ready");
  const turn = await widget.ask("Which attribute sets the colors of the panel?");
  assert.equal(turn.mode, "hybrid");
  assert.equal(turn.sources.length > 0, true);
});

test("pages that match are shown while the reader types and are gone when the question is sent", async () => {
  const site = await serveSite();
  const { page, widget } = await openWidget(site);
  const matches = page.locator("docent-chat .matches");
  await widget.input.fill("index");
  await matches.waitFor();
  // Sent before the pause in the typing is over, so that the matches of the whole text would come after it.
  await widget.ask("How do I index my documentation?");
  await page.waitForTimeout(500);
  assert.equal(await matches.isVisible(), false);
});
