// The page's own client of an endpoint: its time limits, its waits, what it makes of a JSON answer, and a key in the page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyPage, scriptedEndpoint, serveSite } from "./support.mjs";

const QUESTION = "How do I put the agent on a page?";

/** Asks these questions of an agent with this endpoint; gives the turns, or the error of the loading. */
function ask(page, llm, messages = [QUESTION]) {
  return page.evaluate(
    async ({ llm, messages }) => {
      const { default: init, Agent } = await import("/docent/direct.js");
      await init();
      try {
        const agent = await Agent.load({ index: "/docent-index/manifest.json", model: null, llm });
        const turns = [];
        for (const message of messages) turns.push(await agent.chat(message));
        agent.free();
        return { turns };
      } catch ({ name, code, message }) {
        return { refused: { name, code, message } };
      }
    },
    { llm, messages },
  );
}

async function withEndpoint(script) {
  const endpoint = await scriptedEndpoint(script);
  const site = await serveSite({ args: ["--llm", endpoint.url, "--llm-model", "scripted"] });
  return { endpoint, ...(await emptyPage(site)) };
}

test("each time limit ends the request, keeps what had arrived and gives the local answer", async () => {
  const long = Array.from({ length: 100 }, (_, at) => `word${at} `);
  for (const [name, reply, timeouts, arrived] of [
    ["first byte", { pieces: [], hang: true }, { firstByteMs: 400 }, ""],
    ["idle", { pieces: ["Hello"], hang: true }, { idleMs: 400 }, "Hello"],
    ["total", { pieces: long, pause: 50 }, { totalMs: 700 }, "word0 word1"],
  ]) {
    const { page } = await withEndpoint(() => reply);
    const { turns } = await ask(page, { endpoint: "/v1/chat/completions", timeouts, maxRetries: 0 });
    const [turn] = turns;
    assert.equal(turn.error?.kind, "timeout", `${name}: ${JSON.stringify(turn.error)}`);
    assert.equal(turn.partial, arrived !== "", name);
    assert.ok(turn.reply.startsWith(arrived) && turn.sources.length > 0, `${name}: ${turn.reply}`);
  }
});

test("a short wait is waited, a long one is told", async () => {
  const { page, endpoint } = await withEndpoint((body, number) => {
    if (number === 1) return { status: 429, headers: { "retry-after": "0.2" } };
    if (number === 3) return { status: 429, headers: { "retry-after": "90" } };
    return { pieces: ["Use the tag [1]."] };
  });
  const { turns } = await ask(page, { endpoint: "/v1/chat/completions" }, [QUESTION, "How do I index my documentation?"]);
  assert.equal(turns[0].error, null);
  assert.match(turns[0].reply, /Use the tag/);
  assert.deepEqual([turns[1].error.kind, turns[1].error.retryAfterMs], ["rate_limit", 90_000]);
  assert.match(turns[1].reply, /90 s/);
  assert.equal(endpoint.requests.length, 3);
});

test("a JSON answer to a streaming request is as good, and reasoning stays out of reply and memory", async () => {
  const { page, context } = await withEndpoint(() => ({ pieces: [] }));
  const message = { role: "assistant", content: "Use the tag [1].", reasoning_content: "Let me think of apples." };
  const answer = { choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } };
  const bodies = [];
  await context.route("**/v1/chat/completions", (route) => {
    bodies.push(route.request().postDataJSON());
    return route.fulfill({ json: answer });
  });
  const { turns } = await ask(page, { endpoint: "/v1/chat/completions" }, [QUESTION, "How do I index my documentation?"]);
  assert.equal(bodies[0].stream, true);
  assert.equal(turns[0].reply, "Use the tag [1].");
  assert.deepEqual(turns[0].usage, { promptTokens: 7, completionTokens: 5, calls: 1, estimated: false });
  assert.equal(turns[0].trace.steps.find(({ step }) => step === "generate").detail.finishReason, "stop");
  assert.match(JSON.stringify(bodies[1].messages), /Use the tag/, "the conversation goes along");
  assert.doesNotMatch(JSON.stringify([turns, bodies[1]]), /apples/);
});

test("a key in the page is refused without the flag and warned of with it", async () => {
  const { page } = await withEndpoint(() => ({ pieces: ["Use the tag [1]."] }));
  const warnings = [];
  page.on("console", (line) => line.type() === "warning" && warnings.push(line.text()));
  const { refused } = await ask(page, { endpoint: "/v1/chat/completions", apiKey: "secret-key" });
  assert.deepEqual([refused.name, refused.code], ["AgentError", "invalid_option"]);
  assert.match(refused.message, /allowKeyInPage/);
  assert.doesNotMatch(refused.message, /secret-key/);
  const { turns } = await ask(page, { endpoint: "/v1/chat/completions", apiKey: "secret-key", allowKeyInPage: true });
  assert.equal(turns[0].error, null);
  assert.ok(warnings.some((text) => /key/.test(text) && !/secret-key/.test(text)), warnings.join("\n"));
});
