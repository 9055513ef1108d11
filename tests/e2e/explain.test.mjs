// The demo's panel explains each turn: what was understood, searched, scored, decided and why.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

test("the panel shows the steps of every turn with their findings", async () => {
  const site = await serveSite();
  const { page, errors } = await newPage();
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();
  const first = await widget.ask("How do I put the agent on a page?");
  const boxes = page.locator("#explain article.turn");
  await boxes.first().waitFor();
  const badges = await boxes.first().locator(".badge").allInnerTexts();
  assert.deepEqual(badges, [first.intent, first.action, first.reason, first.mode]);
  const steps = await boxes.first().locator("details > summary > span").allInnerTexts();
  assert.deepEqual(steps, first.trace.steps.map(({ step }) => step));
  for (const step of ["guard", "understand", "rewrite", "retrieve", "relevance", "decide", "act", "remember"]) assert.ok(steps.includes(step), step);

  // The decision stands open: the row of the table, and what it was decided on.
  const decide = boxes.first().locator("details[open]");
  assert.equal(await decide.count(), 1);
  const decided = first.trace.steps.find(({ step }) => step === "decide").detail;
  const told = await decide.innerText();
  for (const word of [decided.rule, decided.reason, "facts", "best", decided.facts.best.toFixed(3)]) assert.ok(told.includes(word), `${word}: ${told}`);

  // The hits with every score are one click away.
  const retrieve = boxes.first().locator("details", { hasText: "retrieve" });
  await retrieve.locator("summary").click();
  const [hit] = first.trace.steps.find(({ step }) => step === "retrieve").detail.hits;
  const table = await retrieve.innerText();
  for (const word of [hit.title, "evidence", hit.scores.evidence.toFixed(3)]) assert.ok(table.includes(word), `${word}: ${table}`);

  // A follow-up comes on top of it and tells the query that was searched.
  const second = await widget.ask("and in another language?");
  await page.waitForFunction(() => document.querySelectorAll("#explain article.turn").length === 2);
  assert.match(await boxes.first().innerText(), new RegExp(second.rewrittenQuery.slice(0, 12).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  assert.deepEqual(errors, []);
});
