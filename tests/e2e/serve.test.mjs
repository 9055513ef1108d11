// `docent serve`: MIME types, rendered Markdown, what it refuses, and the proxy that keeps the key.
import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { scriptedEndpoint, serveSite } from "./support.mjs";

function folder() {
  const made = mkdtempSync(join(tmpdir(), "docent-e2e-"));
  mkdirSync(join(made, "指南"));
  mkdirSync(join(made, ".git"));
  for (const [name, text] of [
    ["a.wasm", "\0asm"], ["b.mjs", "export {}"], ["c.json", "{}"], ["d.js", ""], ["e.css", ""], ["f.html", "<p>f"],
    ["page.md", "# A page\n\n## A part\n\n<script>1</script>"], ["指南/开始.md", "# 开始\n\n## 安装\n"], [".git/config", "secret"],
  ]) writeFileSync(join(made, name), text);
  return made;
}

/** A request with headers that `fetch` does not let one set. */
function raw(address, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(address, { method, headers }, async (response) => {
      let text = "";
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode, text });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

test("files come with their types, Markdown as pages", async () => {
  const site = await serveSite({ folder: folder() });
  const type = async (path) => (await fetch(site + path)).headers.get("content-type");
  assert.equal(await type("/a.wasm"), "application/wasm");
  assert.equal(await type("/b.mjs"), "text/javascript");
  assert.equal(await type("/d.js"), "text/javascript");
  assert.equal(await type("/c.json"), "application/json");
  assert.equal(await type("/e.css"), "text/css");
  assert.match(await type("/f.html"), /^text\/html/);
  for (const path of ["/page", "/page.md", "/page.html"]) {
    const text = await (await fetch(site + path)).text();
    assert.match(text, /id="a-part"/, path);
    assert.ok(!text.includes("<script>1"), "raw HTML of a page is left out");
  }
  assert.match(await (await fetch(`${site}/${encodeURIComponent("指南")}/${encodeURIComponent("开始")}`)).text(), /id="安装"/);
});

test("hidden files, paths that leave the folder and foreign names are refused", async () => {
  const site = await serveSite({ folder: folder() });
  for (const path of ["/.git/config", "/%2e%2e/x", "/..%2fx", "/missing"]) assert.equal((await raw(site + path)).status, 404, path);
  assert.equal((await raw(`${site}/c.json`, { headers: { host: "attacker.example" } })).status, 403);
  assert.equal((await raw(`${site}/c.json`, { headers: { host: "localhost" } })).status, 200);
});

test("without an endpoint the page is told so", async () => {
  const site = await serveSite({ folder: folder() });
  assert.deepEqual(await (await fetch(`${site}/docent/config.json`)).json(), { endpoint: null, model: null });
  const answer = await raw(`${site}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  assert.equal(answer.status, 404);
});

test("the proxy adds the key and the model, streams, and is for its own pages only", async () => {
  const endpoint = await scriptedEndpoint(() => ({ pieces: ["one", "two"], pause: 300 }));
  const site = await serveSite({ folder: folder(), args: ["--llm", endpoint.url, "--llm-model", "scripted"], env: { DOCENT_LLM_KEY: "secret-key" } });
  const config = await (await fetch(`${site}/docent/config.json`)).text();
  assert.deepEqual(JSON.parse(config), { endpoint: "/v1/chat/completions", model: "scripted" });
  const ask = (headers) => fetch(`${site}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: '{"messages":[],"model":"other"}' });
  const response = await ask();
  assert.match(response.headers.get("content-type"), /^text\/event-stream/);
  const reader = response.body.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  assert.ok(first.includes("one") && !first.includes("two"), "the first piece does not wait for the second");
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += new TextDecoder().decode(part.value);
  assert.match(rest, /two[^]*DONE/);
  assert.equal(endpoint.requests[0].headers.authorization, "Bearer secret-key");
  assert.equal(endpoint.requests[0].body.model, "scripted");
  assert.equal((await raw(`${site}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json", origin: "https://attacker.example" }, body: "{}" })).status, 403);
  assert.equal((await raw(`${site}/v1/chat/completions`, { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" })).status, 415);
  assert.equal(endpoint.requests.length, 1);
});

test("an error of the endpoint reaches the page as it is, without the key", async () => {
  const endpoint = await scriptedEndpoint(() => ({ status: 429, headers: { "retry-after": "7" } }));
  const site = await serveSite({ folder: folder(), args: ["--llm", endpoint.url], env: { DOCENT_LLM_KEY: "secret-key" } });
  const ask = () => fetch(`${site}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const limited = await ask();
  assert.equal(limited.status, 429);
  assert.equal(limited.headers.get("retry-after"), "7");
  endpoint.server.closeAllConnections();
  await new Promise((resolve) => endpoint.server.close(resolve));
  const down = await ask();
  assert.equal(down.status, 502);
  assert.ok(!(await down.text()).includes("secret-key"));
});
