// Everything works from the keyboard and is named for a screen reader.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

const focused = (page) =>
  page.evaluate(() => {
    const root = document.querySelector("docent-chat").shadowRoot;
    const node = root.activeElement;
    return node && (node.getAttribute("aria-label") ?? node.className);
  });

test("open, ask, reach the source, close: without a mouse", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.launcher.focus();
  await page.keyboard.press("Enter");
  await widget.panel.waitFor();
  assert.equal(await focused(page), "Ask a question…");
  await widget.ready();
  await page.keyboard.type("How do I preview a folder?");
  await page.keyboard.press("Enter");
  await widget.answered();
  assert.equal(await focused(page), "Ask a question…", "the focus stays where the reader types");
  assert.equal(await widget.input.inputValue(), "");
  assert.equal(await page.locator("docent-chat [role=status]").first().innerText(), "The answer is ready.");
  await page.keyboard.press("Escape");
  assert.equal(await widget.panel.isVisible(), false);
  assert.equal(await focused(page), "launcher");
});

test("roles and names are there", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  assert.equal(await widget.launcher.getAttribute("aria-expanded"), "false");
  await widget.open();
  await page.getByRole("dialog", { name: "Ask the docs" }).waitFor();
  const log = page.getByRole("log");
  assert.equal(await log.getAttribute("aria-live"), "polite");
  await widget.ready();
  await widget.ask("How do I preview a folder?");
  assert.equal(await widget.answers.last().getAttribute("aria-busy"), null);
  const nameless = await page.evaluate(() =>
    [...document.querySelector("docent-chat").shadowRoot.querySelectorAll("button, a, textarea, input")]
      .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.closest("label")))
      .map((node) => node.outerHTML),
  );
  assert.deepEqual(nameless, []);
});

test("on a phone the panel covers the page and keeps the focus", async () => {
  const site = await serveSite();
  const { page } = await newPage({ viewport: { width: 360, height: 700 }, isMobile: true, hasTouch: true });
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.open();
  assert.equal(await widget.panel.getAttribute("aria-modal"), "true");
  await widget.ready();
  await widget.ask("How do I put the agent on a page?");
  for (let step = 0; step < 25; step++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement?.localName === "docent-chat"), "the focus left the panel");
  }
});
