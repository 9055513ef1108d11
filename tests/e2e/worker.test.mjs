// The agent runs in a worker; where a site's policy or setting forbids one, it runs in the page with the same answers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

test("the page stays responsive while the agent loads and answers", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  assert.equal(page.workers().length, 0);
  await page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    setInterval(() => {
      window.longest = Math.max(window.longest, performance.now() - last);
      last = performance.now();
    }, 10);
  });
  const widget = new Widget(page);
  await widget.open();
  await widget.ready({ dense: true, timeout: 120_000 });
  await widget.ask("How do I put the agent on a page?");
  assert.equal(page.workers().length, 1);
  const longest = await page.evaluate(() => window.longest);
  // The machine may be busy with other work; loading the model in the page would block it for over a second.
  assert.ok(longest < 700, `the page stood still for ${Math.round(longest)} ms`);
});

test("without a worker the same question gets the same answer", async () => {
  const site = await serveSite();
  const replies = [];
  for (const blocked of [false, true]) {
    const { page, context } = await newPage();
    if (blocked) {
      // A site whose policy forbids workers.
      await context.route(`${site}/`, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": "worker-src 'none'" } });
      });
    }
    await page.goto(`${site}/`);
    const widget = new Widget(page);
    await widget.open();
    // Until the model is there the words alone answer, which may order the sources in another way.
    await widget.ready({ dense: true, timeout: 120_000 });
    const turn = await widget.ask("How do I index my documentation?");
    assert.equal(page.workers().length, blocked ? 0 : 1);
    replies.push([turn.action, turn.sources.map(({ url }) => url)]);
  }
  assert.deepEqual(replies[0], replies[1]);
});

test("the setting worker=off keeps the agent in the page", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  await page.evaluate(() => {
    const old = document.querySelector("docent-chat");
    const off = document.createElement("docent-chat");
    off.setAttribute("index", old.getAttribute("index"));
    off.setAttribute("worker", "off");
    old.replaceWith(off);
  });
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  assert.ok((await widget.ask("How do I index my documentation?")).sources.length > 0);
  assert.equal(page.workers().length, 0);
});
