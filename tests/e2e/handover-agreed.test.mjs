// A reader agrees in the conversation itself: the site's event gets it, and nothing is passed on before.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

test("agreeing in the conversation sends the site's event with the conversation, declining sends nothing", async () => {
  const site = await serveSite();
  for (const [answer, agreed] of [["Yes, pass it on", true], ["No, thanks", false]]) {
    const { page, context } = await newPage();
    await context.route("**/docent/config.json", (route) => route.fulfill({ json: { options: { contact: { label: "Support", event: "ask-support" } } } }));
    await page.goto(`${site}/`);
    await page.evaluate(() => {
      // The demo's tag names a mail address, which goes before the contact of the settings.
      const old = document.querySelector("docent-chat");
      const fresh = document.createElement("docent-chat");
      for (const name of ["index", "config"]) fresh.setAttribute(name, old.getAttribute(name));
      old.replaceWith(fresh);
      window.told = [];
      for (const name of ["docent-handover", "ask-support"]) document.addEventListener(name, ({ detail }) => window.told.push([name, detail.conversation]));
    });
    const widget = new Widget(page);
    await widget.open();
    await widget.ready();
    await widget.ask("How do I put the agent on a page?");
    const offer = await widget.ask("I want to talk to a human");
    assert.equal(offer.action, "escalate_to_human");
    assert.deepEqual(await page.evaluate(() => window.told), [], "nothing goes along before the reader agrees");
    await widget.answers.last().getByRole("button", { name: answer }).click();
    // Two questions, their answers, the choice and what comes of it.
    await page.waitForFunction(() => document.querySelector("docent-chat").state.messages.length === 6);
    const turn = await widget.answered();
    const told = await page.evaluate(() => window.told);
    if (!agreed) {
      assert.equal(turn.reason, "handover_declined");
      assert.deepEqual(told, []);
      continue;
    }
    assert.equal(turn.reason, "handover_agreed");
    assert.deepEqual(told.map(([name]) => name), ["docent-handover", "ask-support"]);
    for (const [, conversation] of told) assert.match(conversation, /How do I put the agent on a page\?/);
    assert.equal(await widget.answers.last().locator(".person").count(), 0, "nothing is asked again");
  }
});
