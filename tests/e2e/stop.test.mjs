// A streamed answer: pieces show while they arrive, Stop ends the stream and keeps them, the next question works.
import assert from "node:assert/strict";
import { test } from "node:test";

import { openWidget, scriptedEndpoint, serveSite } from "./support.mjs";

test("stop keeps what had arrived, ends the request, and the conversation goes on", async () => {
  const long = Array.from({ length: 200 }, (_, at) => `word${at} `);
  const endpoint = await scriptedEndpoint((body, number) => (number === 1 ? { pieces: long, pause: 100 } : { pieces: ["Use the tag [1]."] }));
  const site = await serveSite({ args: ["--llm", endpoint.url, "--llm-model", "scripted"] });
  const { page, widget } = await openWidget(site);
  await widget.input.fill("How do I put the agent on a page?");
  await widget.input.press("Enter");
  await page.waitForFunction(() => document.querySelector("docent-chat").state.messages.at(-1).text.includes("word3"));
  assert.match(await widget.answers.last().innerText(), /word2/);
  assert.equal(await widget.sendButton.getAttribute("aria-label"), "Stop");
  await widget.sendButton.click();
  const turn = await widget.answered({ timeout: 10_000 });
  assert.equal(turn.error.kind, "interrupted");
  assert.match(turn.reply, /word3/);
  assert.doesNotMatch(turn.reply, /word150/);
  await page.waitForTimeout(500);
  assert.equal(endpoint.requests[0].closed(), true, "the endpoint sees that nobody listens any more");
  const next = await widget.ask("Which tag puts the agent on a page?");
  assert.match(next.reply, /Use the tag/);
  assert.equal(next.error, null);
});
