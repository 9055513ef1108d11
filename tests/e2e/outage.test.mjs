// The endpoint fails: the reader gets a sentence and the local answer, and the next question works.
import assert from "node:assert/strict";
import { test } from "node:test";

import { openWidget, scriptedEndpoint, serveSite } from "./support.mjs";

test("a limited, a broken and a dead endpoint never cost the reader the answer", async () => {
  const endpoint = await scriptedEndpoint((body, number) => {
    if (number === 1) return { status: 401 };
    return { pieces: ["It is served [1]."] };
  });
  const site = await serveSite({ args: ["--llm", endpoint.url] });
  const { page, widget } = await openWidget(site);
  const refused = await widget.ask("How do I preview a folder?");
  assert.equal(refused.error.kind, "auth");
  assert.ok(refused.sources.length > 0, "the local answer is there");
  await page.locator("docent-chat .note").first().waitFor();
  const served = await widget.ask("How do I index my documentation?");
  assert.equal(served.error, null);
  assert.match(served.reply, /It is served/);
  endpoint.server.closeAllConnections();
  await new Promise((resolve) => endpoint.server.close(resolve));
  const dead = await widget.ask("How do I put the agent on a page?");
  assert.ok(dead.error, "the failure is told");
  assert.ok(dead.sources.length > 0);
});
