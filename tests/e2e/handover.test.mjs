// A reader who wants a person gets the site's contact; the conversation goes along only when the reader says so.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

async function conversation() {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  await page.evaluate(() => {
    window.handovers = [];
    document.addEventListener("docent-handover", (event) => {
      event.preventDefault();
      window.handovers.push(event.detail);
    });
  });
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  await widget.ask("How do I put the agent on a page?");
  await page.locator("docent-chat .actions [aria-label='Ask a person']").last().click();
  return { page, box: page.locator("docent-chat .person") };
}

test("without consent nothing of the conversation is passed on", async () => {
  const { page, box } = await conversation();
  await box.locator("button").click();
  await box.getByText("passed on").waitFor();
  const [handover] = await page.evaluate(() => window.handovers);
  assert.equal(handover.contact.email, "docs@example.org");
  assert.equal(handover.conversation, "");
});

test("with consent the conversation goes along", async () => {
  const { page, box } = await conversation();
  await box.locator("input").check();
  await box.locator("button").click();
  await box.getByText("passed on").waitFor();
  const [handover] = await page.evaluate(() => window.handovers);
  assert.match(handover.conversation, /^You: How do I put the agent on a page\?\n\nDocs: /);
});

test("thumbs are told and kept in the agent's record", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  await page.evaluate(() => document.addEventListener("docent-feedback", (event) => (window.thumb = event.detail.thumb)));
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  await widget.ask("How do I put the agent on a page?");
  await page.locator("docent-chat [aria-label='This helped']").click();
  await page.waitForFunction(() => window.thumb === "up");
  assert.equal(await page.locator("docent-chat [aria-label='This helped']").getAttribute("aria-pressed"), "true");
});
