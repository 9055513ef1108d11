// The widget's conversation, without a page: the agent and the storage are fakes.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ChatSession } from "../../www/widget/chat-session.js";

class FakeStorage {
  items = new Map();
  getItem = (key) => this.items.get(key) ?? null;
  setItem = (key, value) => void this.items.set(key, value);
  removeItem = (key) => void this.items.delete(key);
}

function fakeAgent(overrides = {}) {
  const calls = [];
  return {
    calls,
    ready: Promise.resolve(),
    info: () => ({ documents: 3 }),
    async chat(text, { onToken, signal }) {
      calls.push(["chat", text]);
      for (const token of ["an", "swer"]) {
        await null;
        if (signal.aborted) return { reply: "an", error: { kind: "interrupted" } };
        onToken(token);
      }
      return { reply: "the answer", sources: [] };
    },
    async search() {
      const hit = (document, title) => ({ document, title, headingPath: [] });
      return { passages: [hit("a", "A"), hit("a", "A again"), hit("b", "B"), hit("c", "C"), hit("d", "D")] };
    },
    export: async () => "saved",
    restore: async (saved) => void calls.push(["restore", saved]),
    reset: async () => void calls.push(["reset"]),
    recordEvent: async (event) => void calls.push(["event", event]),
    free: () => calls.push(["free"]),
    ...overrides,
  };
}

function session({ agent = fakeAgent(), storage = null, load = async () => agent } = {}) {
  const changes = [];
  const made = new ChatSession({ load, storage, onChange: (state, what) => changes.push([what, structuredClone({ ...state, error: null })]) });
  return { session: made, agent, changes };
}

test("a question loads the agent, streams and ends with the turn's reply", async () => {
  const { session: made, changes } = session();
  const turn = await made.ask("  How?  ");
  assert.equal(turn.reply, "the answer");
  const [question, answer] = made.state.messages;
  assert.deepEqual(question, { role: "user", text: "How?" });
  assert.equal(answer.text, "the answer");
  assert.equal(answer.streaming, false);
  const streamed = changes.filter(([what]) => what === "token").map(([, state]) => state.messages[1].text);
  assert.deepEqual(streamed, ["an", "answer"]);
  assert.equal(made.state.status, "ready");
});

test("blank questions and questions during a turn are not asked", async () => {
  const { session: made, agent } = session();
  assert.equal(await made.ask("  \n "), null);
  const running = made.ask("one");
  assert.equal(await made.ask("two"), null);
  await running;
  assert.deepEqual(agent.calls, [["chat", "one"]]);
});

test("stop ends the running turn and keeps what had arrived", async () => {
  const { session: made } = session();
  const running = made.ask("one");
  made.stop();
  assert.equal((await running).reply, "an");
  assert.equal(made.state.running, false);
  assert.equal((await made.ask("two")).reply, "the answer");
});

test("a failed load is told, and may be tried again", async () => {
  let tries = 0;
  const agent = fakeAgent();
  const { session: made } = session({
    load: async () => {
      if (++tries === 1) throw Object.assign(new Error("no index"), { code: "index_unreachable" });
      return agent;
    },
  });
  assert.equal(await made.ask("one"), null);
  assert.equal(made.state.status, "failed");
  assert.equal(made.state.messages[1].failure.code, "index_unreachable");
  assert.equal((await made.ask("one")).reply, "the answer");
  assert.equal(made.state.status, "ready");
});

test("a turn that rejects leaves the conversation usable", async () => {
  let broken = true;
  const agent = fakeAgent();
  const chat = agent.chat;
  agent.chat = (...args) => (broken ? Promise.reject(Object.assign(new Error("x"), { code: "crashed" })) : chat(...args));
  const { session: made } = session({ agent });
  await made.ask("one");
  assert.equal(made.state.messages[1].failure.code, "crashed");
  broken = false;
  assert.equal((await made.ask("two")).reply, "the answer");
});

test("the conversation survives the next page: messages at once, the agent's memory when it is loaded", async () => {
  const storage = new FakeStorage();
  await session({ storage }).session.ask("one");
  const { session: next, agent } = session({ storage });
  assert.deepEqual(next.state.messages.map(({ text }) => text), ["one", "the answer"]);
  await next.ask("two");
  assert.deepEqual(agent.calls, [["restore", "saved"], ["chat", "two"]]);
});

test("a saved conversation that the agent refuses is dropped, not shown as an error", async () => {
  const storage = new FakeStorage();
  await session({ storage }).session.ask("one");
  const { session: next } = session({ storage, agent: fakeAgent({ restore: () => Promise.reject(new Error("version")) }) });
  await next.start();
  assert.equal(next.state.status, "ready");
  assert.deepEqual(next.state.messages, []);
});

test("damaged and foreign storage is ignored", () => {
  for (const saved of ["{", "null", '{"version":99,"messages":[]}', '{"version":1}', "[]"]) {
    const storage = new FakeStorage();
    storage.setItem("docent", saved);
    assert.deepEqual(session({ storage }).session.state.messages, [], saved);
  }
});

test("a storage that is full or forbidden costs nothing but the saving", async () => {
  const storage = { getItem: () => { throw new Error("forbidden"); }, setItem: () => { throw new Error("full"); }, removeItem() {} };
  assert.equal((await session({ storage }).session.ask("one")).reply, "the answer");
});

test("a new conversation resets the agent and the storage", async () => {
  const storage = new FakeStorage();
  const { session: made, agent } = session({ storage });
  await made.ask("one");
  await made.clear();
  assert.deepEqual(made.state.messages, []);
  assert.equal(storage.items.size, 0);
  assert.deepEqual(agent.calls.at(-1), ["reset"]);
});

test("an answer is rated once", async () => {
  const { session: made, agent } = session();
  await made.ask("one");
  await made.rate(made.state.messages[1], "up");
  await made.rate(made.state.messages[1], "down");
  assert.equal(agent.calls.filter(([name]) => name === "event").length, 1);
  assert.equal(made.state.messages[1].feedback, "up");
});

test("typing finds each page once, and nothing before the agent is there", async () => {
  const { session: made } = session();
  assert.deepEqual(await made.suggest("ven"), []);
  await made.start();
  assert.deepEqual(await made.suggest("v"), []);
  assert.deepEqual((await made.suggest("ven")).map(({ title }) => title), ["A", "B", "C"]);
});

test("the model's arrival and its failure are told", async () => {
  const { session: made } = session();
  await made.start();
  await null;
  await null;
  assert.equal(made.state.dense, "ready");
  const { session: poor } = session({ agent: fakeAgent({ ready: Promise.reject(new Error("404")) }) });
  await poor.start();
  await null;
  await null;
  assert.equal(poor.state.dense, "failed");
  assert.equal((await poor.ask("one")).reply, "the answer");
});

test("the transcript names who spoke", async () => {
  const { session: made } = session();
  await made.ask("one");
  assert.equal(made.transcript({ you: "您", agent: "文档" }), "您: one\n\n文档: the answer");
});
