// A second `chat` while one runs is refused with `busy`; the running turn is not harmed. In the worker and without one.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, scriptedEndpoint, serveSite } from "./support.mjs";

for (const [name, module] of [["in the worker", "index.js"], ["in the page", "direct.js"]]) {
  test(`two chats at once, ${name}`, async () => {
    const endpoint = await scriptedEndpoint(() => ({ pieces: ["a ", "b ", "c"], pause: 150 }));
    const site = await serveSite({ args: ["--llm", endpoint.url] });
    const { page } = await newPage();
    await page.goto(`${site}/demo.css`);
    const result = await page.evaluate(
      async ({ site, module }) => {
        const { default: init, Agent } = await import(`${site}/docent/${module}`);
        await init();
        const agent = await Agent.load({ index: `${site}/docent-index/manifest.json`, model: null, llm: { endpoint: `${site}/v1/chat/completions` } });
        const first = agent.chat("How do I index my documentation?");
        const second = await Promise.resolve()
          .then(() => agent.chat("and now?"))
          .then(() => null, (error) => ({ name: error.name, code: error.code, isError: error instanceof Error }));
        const during = { metrics: Boolean(await agent.metrics()), exported: typeof (await agent.export()) };
        const reset = await Promise.resolve().then(() => agent.reset()).then(() => null, (error) => error.code);
        const turn = await first;
        const third = await agent.chat("thanks, bye");
        return { second, during, reset, reply: turn.reply, error: turn.error, third: third.action };
      },
      { site, module },
    );
    assert.deepEqual(result.second, { name: "AgentError", code: "busy", isError: true });
    assert.deepEqual(result.during, { metrics: true, exported: "string" });
    assert.equal(result.reset, "busy");
    assert.match(result.reply, /a b c/);
    assert.equal(result.error, null);
    assert.equal(typeof result.third, "string");
  });
}
