// A conversation can be exported, restored and begun anew; what cannot be restored is refused and loses nothing.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, openWidget, serveSite } from "./support.mjs";

test("export and restore carry a conversation to another agent", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/demo.css`);
  const result = await page.evaluate(async (site) => {
    const { Agent } = await import(`${site}/docent/index.js`);
    const load = () => Agent.load({ index: `${site}/docent-index/manifest.json`, model: null });
    const [first, second] = [await load(), await load()];
    await first.chat("How do I index my documentation?");
    const saved = await first.export();
    await second.restore(saved);
    const same = (await second.export()) === saved;
    const refused = await second.restore('{"version": 999}').then(() => null, (error) => ({ name: error.name, code: error.code }));
    const kept = (await second.export()) === saved;
    const turn = await second.chat("What does the agent do?");
    await second.reset();
    const fresh = await second.chat("How do I index my documentation?");
    first.free();
    second.free();
    return { same, refused, kept, history: turn.historyLength, fresh: fresh.historyLength };
  }, site);
  assert.deepEqual(result, { same: true, refused: { name: "AgentError", code: "storage" }, kept: true, history: 4, fresh: 2 });
});

test("the widget's conversation survives a reload, and a new one begins clean", async () => {
  const site = await serveSite();
  const { page, widget } = await openWidget(site);
  await widget.ask("How do I index my documentation?");
  await widget.saved(2);
  await page.reload();
  await widget.panel.waitFor();
  assert.equal(await widget.answers.count(), 1);
  await widget.ready();
  assert.equal((await widget.ask("What is Docent?")).historyLength, 4);
  await page.locator("docent-chat [aria-label='New conversation']").click();
  await page.locator("docent-chat .greeting").waitFor();
  assert.equal((await widget.ask("What is Docent?")).historyLength, 2);
});
