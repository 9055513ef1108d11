// The proxy between the page and the worker, joined by two fake ports; the agent behind it is a fake, too.
import assert from "node:assert/strict";
import { test } from "node:test";

import { RemoteAgent } from "../../pkg/client.js";
import { AgentError } from "../../pkg/protocol.js";
import { serve } from "../../pkg/worker-runtime.js";

/** Two joined ports that clone what they carry, as a worker's do: a function that slips into a message throws. */
function ports() {
  const [page, worker] = [{}, {}];
  const join = (from, to) => {
    from.postMessage = (data) => {
      const copy = structuredClone(data);
      queueMicrotask(() => to.onmessage?.({ data: copy }));
    };
  };
  join(page, worker);
  join(worker, page);
  return [page, worker];
}

function fakeApi(overrides = {}) {
  const seen = {};
  const agent = {
    ready: Promise.resolve({ mode: "hybrid" }),
    info: () => ({ pages: 3 }),
    async chat(text, { onToken, signal, filter }) {
      for (const word of text.split(" ")) {
        await null;
        if (signal.aborted) return { reply: "stopped", error: { kind: "interrupted" } };
        onToken(word);
      }
      return { reply: text, filter };
    },
    export: () => '{"version":1}',
    ...overrides,
  };
  const Agent = {
    async load(options, onProgress) {
      seen.options = options;
      onProgress({ file: "core", loaded: 1, total: 2 });
      return agent;
    },
  };
  return { api: { init: async (at) => (seen.init = at), Agent }, seen };
}

async function remote(api, options = {}, onProgress) {
  const [page, worker] = ports();
  let closed = 0;
  const agent = new RemoteAgent(page, () => closed++);
  serve(worker, api);
  await agent.load({ module: undefined, options, onProgress });
  return { agent, closed: () => closed };
}

test("load hands on the options, reports progress and gives what the index says of itself", async () => {
  const { api, seen } = fakeApi();
  const events = [];
  const { agent } = await remote(api, { index: "/i.json", policy: { topK: 3 } }, (event) => events.push(event));
  assert.deepEqual(seen.options, { index: "/i.json", policy: { topK: 3 } });
  assert.deepEqual(events, [{ file: "core", loaded: 1, total: 2 }]);
  assert.deepEqual(agent.info(), { pages: 3 });
  assert.deepEqual(await agent.ready, { mode: "hybrid" });
});

test("chat streams its tokens in order before it resolves", async () => {
  const { agent } = await remote(fakeApi().api);
  const tokens = [];
  const turn = await agent.chat("one two three", { onToken: (token) => tokens.push(token), filter: { version: "2" } });
  assert.deepEqual(tokens, ["one", "two", "three"]);
  assert.deepEqual(turn, { reply: "one two three", filter: { version: "2" } });
});

test("an abort signal stops the call in the worker", async () => {
  const { agent } = await remote(fakeApi().api);
  const controller = new AbortController();
  const turn = await agent.chat("a b c d e f g h i j", {
    signal: controller.signal,
    onToken: (token) => token === "b" && controller.abort(),
  });
  assert.equal(turn.reply, "stopped");
});

test("a signal that was aborted before the call stops it at once", async () => {
  const { agent } = await remote(fakeApi().api);
  const tokens = [];
  const turn = await agent.chat("a b c", { signal: AbortSignal.abort(), onToken: (token) => tokens.push(token) });
  assert.equal(turn.reply, "stopped");
  assert.deepEqual(tokens.length <= 1, true);
});

test("an error keeps its name, code and message", async () => {
  const { api } = fakeApi({
    async chat() {
      throw Object.assign(new Error("a turn is running"), { name: "AgentError", code: "busy" });
    },
  });
  const { agent } = await remote(api);
  await assert.rejects(agent.chat("x"), (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.name, "AgentError");
    assert.equal(error.code, "busy");
    assert.equal(error.message, "a turn is running");
    return true;
  });
});

test("a failed load rejects with the agent's error", async () => {
  const { api } = fakeApi();
  api.Agent.load = async () => {
    throw Object.assign(new Error("the index cannot be used"), { code: "index_empty" });
  };
  await assert.rejects(remote(api), { code: "index_empty" });
});

test("a model that could not be had rejects `ready` and leaves the agent usable", async () => {
  const { api } = fakeApi({ ready: Promise.reject(Object.assign(new Error("404"), { code: "model" })) });
  const { agent } = await remote(api);
  await assert.rejects(agent.ready, { code: "model" });
  assert.equal((await agent.chat("still here")).reply, "still here");
});

test("filters and sinks run on the page's side and their results go back", async () => {
  const { api, seen } = fakeApi({
    async chat(text) {
      const verdict = await seen.options.contentFilter.before(text);
      await seen.options.sink({ query: text });
      return { reply: String(verdict) };
    },
  });
  const records = [];
  const { agent } = await remote(api, {
    contentFilter: { blockedQuestions: ["x"], before: (text) => (text === "bad" ? "not here" : true) },
    sink: (record) => records.push(record),
  });
  assert.deepEqual(seen.options.contentFilter.blockedQuestions, ["x"]);
  assert.equal((await agent.chat("bad")).reply, "not here");
  assert.equal((await agent.chat("good")).reply, "true");
  assert.deepEqual(records, [{ query: "bad" }, { query: "good" }]);
});

test("a filter that throws rejects in the worker, where the agent decides what that means", async () => {
  const { api, seen } = fakeApi({
    async chat(text) {
      return { reply: await seen.options.contentFilter.before(text).catch((error) => `caught ${error.message}`) };
    },
  });
  const { agent } = await remote(api, {
    contentFilter: {
      before() {
        throw new Error("the filter broke");
      },
    },
  });
  assert.equal((await agent.chat("x")).reply, "caught the filter broke");
});

test("two calls at once get their own answers", async () => {
  const { agent } = await remote(fakeApi().api);
  const [saved, turn] = await Promise.all([agent.export(), agent.chat("a b")]);
  assert.equal(saved, '{"version":1}');
  assert.equal(turn.reply, "a b");
});

test("free ends the worker; what runs and what comes after is refused", async () => {
  const { agent, closed } = await remote(fakeApi({ chat: () => new Promise(() => {}) }).api);
  const running = agent.chat("x");
  agent.free();
  await assert.rejects(running, { code: "freed" });
  await assert.rejects(agent.export(), { code: "freed" });
  assert.equal(closed(), 1);
});

test("a call before load is refused, not lost", async () => {
  const [page, worker] = ports();
  const agent = new RemoteAgent(page, () => {});
  serve(worker, fakeApi().api);
  await assert.rejects(agent.chat("x"), { code: "not_loaded" });
});
