// Nothing runs out of the panel or the page, on a phone or a desktop, light or dark, with long words and wide code.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, scriptedEndpoint, serveSite, Widget } from "./support.mjs";

const WIDE = "A " + "verylongword".repeat(20) + " and `" + "code".repeat(60) + "`\n\n```\n" + "x".repeat(300) + "\n```\n\n| a | b |\n|--|--|\n| " + "w".repeat(80) + " | " + "v".repeat(80) + " |\n\n中文".concat("很长的一句话没有空格".repeat(20));

for (const [name, options] of [
  ["phone", { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true }],
  ["phone, dark", { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, colorScheme: "dark" }],
  ["desktop", { viewport: { width: 1280, height: 800 } }],
  ["low window", { viewport: { width: 900, height: 380 } }],
]) {
  test(`no overflow: ${name}`, async () => {
    const endpoint = await scriptedEndpoint(() => ({ pieces: [WIDE] }));
    const site = await serveSite({ args: ["--llm", endpoint.url] });
    const { page } = await newPage(options);
    await page.goto(`${site}/`);
    const widget = new Widget(page);
    await widget.open();
    await widget.ready();
    await widget.ask("How do I put the agent on a page?");
    const faults = await page.evaluate(() => {
      const faults = [];
      const root = document.querySelector("docent-chat").shadowRoot;
      if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push("the page scrolls sideways");
      const panel = root.querySelector(".panel").getBoundingClientRect();
      if (panel.left < 0 || panel.right > innerWidth + 0.5 || panel.top < 0 || panel.bottom > innerHeight + 0.5) faults.push(`the panel leaves the window: ${JSON.stringify(panel)}`);
      const log = root.querySelector(".log");
      if (log.scrollWidth > log.clientWidth) faults.push("the log scrolls sideways");
      for (const node of root.querySelectorAll(".message, .sources a, .chip, .header, form, textarea")) {
        const box = node.getBoundingClientRect();
        if (box.width && (box.left < panel.left - 0.5 || box.right > panel.right + 0.5)) faults.push(`${node.className || node.localName} runs out`);
      }
      return faults;
    });
    assert.deepEqual(faults, []);
  });
}

test("text and its ground have a contrast of 4.5 and more, in both color schemes", async () => {
  const site = await serveSite();
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await newPage({ colorScheme });
    await page.goto(`${site}/`);
    await new Widget(page).open();
    const ratios = await page.evaluate(() => {
      const style = getComputedStyle(document.querySelector("docent-chat"));
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const luminance = (name) => {
        canvas.fillStyle = style.getPropertyValue(`--docent-${name}`).trim();
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {
          const share = part / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
      };
      return Object.fromEntries(
        [["text", "background"], ["muted", "background"], ["muted", "surface"], ["accent", "background"], ["on-accent", "accent"], ["danger", "background"], ["text", "mark"]].map(
          ([a, b]) => [`${a} on ${b}`, contrast(a, b)],
        ),
      );
    });
    for (const [pair, ratio] of Object.entries(ratios)) assert.ok(ratio >= 4.5, `${colorScheme}: ${pair} has ${ratio.toFixed(2)}`);
  }
});
