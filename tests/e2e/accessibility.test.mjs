// axe, the accessibility checker, finds nothing to object to in the widget: closed, loading, with an answer, handing over.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

/** What axe objects to inside of the widget; the demo page around it is checked along. */
async function objections(page) {
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.flat().join(" ")).join(", ")}`);
}

for (const colorScheme of ["light", "dark"]) {
  test(`no objections, ${colorScheme}`, async () => {
    const site = await serveSite();
    const { page } = await newPage({ colorScheme, reducedMotion: "reduce" });
    await page.goto(`${site}/`);
    await page.addScriptTag({ path: join(process.env.DOCENT_NODE_TOOLS, "node_modules/axe-core/axe.min.js") });
    assert.deepEqual(await objections(page), [], "closed");
    const widget = new Widget(page);
    await widget.open();
    assert.deepEqual(await objections(page), [], "opened");
    await widget.ready();
    await widget.ask("How do I put the agent on a page?");
    await widget.input.fill("attributes");
    assert.deepEqual(await objections(page), [], "answered");
    await page.locator("docent-chat .actions [aria-label='Ask a person']").last().click();
    assert.deepEqual(await objections(page), [], "handing over");
  });
}
