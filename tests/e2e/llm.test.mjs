// A real language model behind the served site: streamed, stopped, followed up, killed in the middle, restarted.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { after, test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

/** Milliseconds for one answer: a small model on a busy CPU. */
const PATIENCE = 240_000;

let server;
after(() => server?.kill("SIGKILL"));

/** The interpreter and the model file, or the reason why they cannot be had. */
function model() {
  if (process.env.DOCENT_NO_DOWNLOAD) return { reason: "DOCENT_NO_DOWNLOAD is set" };
  const setup = spawnSync("sh", ["tests/llm/setup.sh"], { encoding: "utf8" });
  if (setup.status === 3) return { reason: setup.stderr.trim().split("\n").at(-1) };
  assert.equal(setup.status, 0, setup.stderr);
  const [python, file] = setup.stdout.trim().split("\n");
  return { python, file };
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function serveModel({ python, file }, port) {
  server = spawn(python, ["tests/llm/serve.py", file, String(port)], { stdio: ["pipe", "pipe", "ignore"] });
  await new Promise((resolve, reject) => {
    server.stdout.on("data", (data) => String(data).includes("listening") && resolve());
    server.on("exit", (code) => reject(new Error(`the model's server ended with ${code}`)));
  });
}

async function killModel() {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGKILL");
  await ended;
}

/** Waits until some of the last reply has arrived; gives how much, and whether the turn still runs. */
async function someText(page, least) {
  const handle = await page.waitForFunction(
    (least) => {
      const state = document.querySelector("docent-chat").state;
      const text = state.messages.at(-1)?.text ?? "";
      return (state.messages.at(-1)?.role === "assistant" && text.length >= least) || (!state.running && state.messages.length > 1)
        ? { length: text.length, running: state.running }
        : null;
    },
    least,
    { timeout: PATIENCE, polling: 20 },
  );
  return handle.jsonValue();
}

test("a real model streams, is stopped, goes on, dies and comes back", { timeout: 10 * PATIENCE }, async (t) => {
  const found = model();
  if (found.reason) {
    t.skip(`the real language model: ${found.reason}`);
    return;
  }
  const port = await freePort();
  await serveModel(found, port);
  const site = await serveSite({ args: ["--llm", `http://127.0.0.1:${port}/v1`] });
  const { page, context } = await newPage();
  const patient = { firstByteMs: PATIENCE, idleMs: PATIENCE, totalMs: 2 * PATIENCE };
  // Small prompts: the model reads them on the CPU.
  const options = {
    llm: { endpoint: "/v1/chat/completions", timeouts: patient, maxRetries: 0 },
    budget: { contextTokens: 1536, historyTokens: 200, passagesTokens: 500, replyTokens: 160 },
  };
  await context.route("**/docent/config.json", (route) => route.fulfill({ json: { options } }));
  await page.goto(`${site}/`);
  const widget = new Widget(page);
  await widget.open();
  await widget.ready();

  await t.test("the reply streams into the page", async () => {
    await widget.input.fill("How do I put the agent on a page?");
    await widget.input.press("Enter");
    const early = await someText(page, 1);
    assert.equal(early.running, true, "text shows while the reply is written");
    const turn = await widget.answered({ timeout: PATIENCE });
    assert.equal(turn.error, null);
    assert.ok(turn.reply.length > early.length, `${turn.reply.length} characters after ${early.length}`);
    assert.ok(turn.usage.completionTokens > 0 && !turn.usage.estimated);
    assert.ok(turn.sources.length > 0);
  });

  await t.test("a stop keeps what had arrived", async () => {
    await widget.input.fill("How do I index my documentation?");
    await widget.input.press("Enter");
    await someText(page, 10);
    await widget.sendButton.click();
    const turn = await widget.answered({ timeout: 10_000 });
    assert.equal(turn.error.kind, "interrupted");
    assert.equal(turn.partial, true);
  });

  await t.test("a follow-up works on the stopped answer", async () => {
    const turn = await widget.ask("more detail please", { timeout: PATIENCE });
    assert.equal(turn.followUp, "detail");
    assert.equal(turn.error, null);
    assert.ok(turn.reply.length > 0);
  });

  await t.test("the server's death in the middle leaves the answer that needs none", async () => {
    await widget.input.fill("How do I preview a folder?");
    await widget.input.press("Enter");
    await someText(page, 10);
    await killModel();
    const turn = await widget.answered({ timeout: 30_000 });
    assert.equal(turn.error.kind, "interrupted");
    assert.ok(turn.sources.length > 0);
    const dead = await widget.ask("How do I index my documentation?", { timeout: 30_000 });
    assert.ok(dead.error, "while it is away, the failure is told");
    assert.ok(dead.sources.length > 0, "with the local answer");
  });

  await t.test("restarted, it answers again", async () => {
    await serveModel(found, port);
    const turn = await widget.ask("How do I put the agent on a page?", { timeout: PATIENCE });
    assert.equal(turn.error, null);
    assert.ok(turn.reply.length > 0);
  });
});
