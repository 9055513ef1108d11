// The guidance sessions through the agent in the browser: the worked example with the models, and one session that reaches
// every row of the table, with hand-over and what comes after it. tests/guidance/README.md has the format.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { emptyPage, FOLDER, serveSite } from "./support.mjs";

const session = (name) => JSON.parse(readFileSync(`tests/guidance/${name}.json`, "utf8"));

/** Builds the index of a session's pages below the served folder; gives its path in it, or null without the model. */
function index(name, pages, model) {
  const path = `guidance/${name}-${model}`;
  const docs = join(FOLDER, path, "docs");
  rmSync(join(FOLDER, path), { recursive: true, force: true });
  mkdirSync(docs, { recursive: true });
  for (const [file, text] of Object.entries(pages)) writeFileSync(join(docs, file), text);
  const choice = model === "none" ? ["--no-embeddings"] : ["--model", model];
  const built = spawnSync(process.env.DOCENT_BIN, ["index", docs, "--out", join(FOLDER, path, "index"), ...choice], { encoding: "utf8" });
  if (built.status === 0) return `${path}/index`;
  assert.equal(model, "multilingual-e5-small", built.stderr);
  return null;
}

/** Leads the conversation in the page's agent, once everything is loaded; gives the turns. */
async function lead(site, path, options, messages) {
  const { page, context, errors } = await emptyPage(site);
  const result = await page.evaluate(
    async ({ path, options, messages }) => {
      const { default: init, Agent } = await import("/site/docent/index.js");
      await init();
      const agent = await Agent.load({ index: `/${path}/manifest.json`, ...options });
      const ready = await agent.ready;
      const turns = [];
      for (const message of messages) turns.push(await agent.chat(message));
      const log = (await agent.exportLog()).trim().split("\n").map((line) => JSON.parse(line));
      const metrics = await agent.metrics();
      await agent.free();
      return { ready, turns, log, metrics };
    },
    { path, options, messages },
  );
  assert.deepEqual(errors, []);
  await context.close();
  return result;
}

function check(turn, expected, model) {
  const shown = turn.sources.map(({ document }) => document);
  const offered = [...turn.suggestions, ...turn.options].map(({ id }) => id);
  const decided = turn.trace.steps.find(({ step }) => step === "decide")?.detail;
  const told = `${model}: ${expected.say}: ${turn.action} (${turn.reason}) shows ${shown}, offers ${offered}; ${JSON.stringify(decided?.facts)}`;
  assert.ok(expected.action.includes(turn.action), told);
  if (expected.reason) assert.equal(turn.reason, expected.reason, told);
  if (expected.rule) assert.equal(decided.rule, expected.rule, told);
  if ("confusion" in expected) assert.equal(turn.trace.steps.at(-1).detail.confusion, expected.confusion, told);
  for (const page of expected.shows ?? []) assert.ok(shown.includes(page), told);
  for (const page of expected.offers ?? []) assert.ok(offered.includes(page), told);
  for (const page of expected.mentions ?? []) assert.ok(shown.includes(page) || offered.includes(page), told);
  for (const page of expected.never ?? []) assert.ok(!shown.includes(page) && !offered.includes(page), told);
  for (const words of expected.replies ?? []) assert.ok(turn.reply.includes(words), told);
  for (const { reason } of turn.suggestions) assert.ok(reason && turn.reply.includes(reason), told);
}

async function run(name, model, t) {
  const { pages, options, turns: expected } = session(name);
  if (model === "multilingual-e5-small" && process.env.DOCENT_SLOW && !process.env.DOCENT_NO_DOWNLOAD) {
    spawnSync("sh", ["models/multilingual.sh"], { stdio: "ignore" });
  }
  const path = index(name, pages, model);
  if (!path) {
    console.log(`skipped: ${name} with ${model} (it is not there; \`make models-multilingual\` makes it)`);
    t.skip(`${model} is not there`);
    return null;
  }
  const site = await serveSite({ folder: FOLDER });
  const result = await lead(site, path, model === "none" ? { ...options, model: null } : options, expected.map(({ say }) => say));
  assert.deepEqual(result.ready, model === "none" ? { mode: "lexical", model: null } : { mode: "hybrid", model });
  result.turns.forEach((turn, at) => check(turn, expected[at], model));
  return result;
}

for (const name of ["worked-zh", "worked-en"]) {
  for (const model of session(name).models) {
    test(`the worked example: ${name}, ${model}`, async (t) => {
      const result = await run(name, model, t);
      if (!result) return;
      // What was offered and chosen is recorded, and counted as taken up.
      const [, suggested, chosen] = result.log;
      assert.deepEqual(suggested.suggestions, ["venv"]);
      assert.equal(suggested.next, "selected");
      assert.equal(chosen.selected, "venv");
      assert.equal(result.metrics.suggestionTakeUp, 1);
    });
  }
}

for (const name of ["table-en", "table-zh"]) {
  test(`every row of the table in one session: ${name}`, async (t) => {
    const { turns, log } = await run(name, "none", t);
    const rules = new Set(log.map(({ rule }) => rule).filter(Boolean));
    assert.deepEqual([...rules].sort(), [
      "0_human_asked", "0_selected", "0_summary_asked", "1_confusion", "2_best_guess", "2_no_results", "2_not_in_docs",
      "3_ambiguous", "3_low_relevance", "4_new_topic", "5_related", "6_same_topic",
    ]);
    const offered = turns.findIndex(({ reason }) => reason === "high_confusion");
    assert.equal(turns[offered].handover.transcript, null, "nothing goes along before the reader agrees");
    assert.ok(turns[offered + 1].handover.transcript.includes(session(name).turns[0].say));
    assert.match(turns[offered + 1].handover.link, /^mailto:help@example\.org\?/);
    assert.equal(turns[offered + 2].action.replace("suggest_related", "answer_directly"), "answer_directly", "the conversation goes on");
  });
}

test("the same input and seed replay the same turns in the browser", async (t) => {
  const { pages, options, turns } = session("table-en");
  const path = index("table-en", pages, "none");
  const site = await serveSite({ folder: FOLDER });
  const messages = turns.map(({ say }) => say);
  const plain = async () => {
    const { turns } = await lead(site, path, { ...options, model: null }, messages);
    for (const { trace } of turns) for (const step of trace.steps) step.ms = 0;
    return turns;
  };
  assert.deepEqual(await plain(), await plain());
});
