// What a site can write on the tag, and what the widget makes of it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ATTRIBUTES, pageLanguage, readAttributes, withConfig } from "../../www/widget/settings.js";
import { STRINGS, stringsFor } from "../../www/widget/strings.js";

const read = (attributes) => readAttributes((name) => {
  assert.ok(ATTRIBUTES.includes(name), `${name} is not among the attributes that the script tag hands on`);
  return attributes[name] ?? null;
});

test("nothing but the index is needed", () => {
  const settings = read({ index: "/i/manifest.json" });
  assert.deepEqual(settings.options, { index: "/i/manifest.json" });
  assert.equal(settings.storage, "session");
  assert.equal(settings.load, "open");
  assert.equal(settings.worker, true);
  assert.deepEqual(settings.ask, []);
});

test("every attribute arrives where the agent expects it", () => {
  const settings = read({
    index: "/i.json", model: "none", endpoint: "/v1", "llm-model": "m", ask: "One? | Zwei?|", filter: '{"version":"3"}',
    "contact-url": "/contact", worker: "off", open: "",
  });
  assert.deepEqual(settings.options, {
    index: "/i.json", model: null, llm: { endpoint: "/v1", model: "m" }, contact: { url: "/contact", email: undefined },
    filter: { version: "3" },
  });
  assert.deepEqual(settings.ask, ["One?", "Zwei?"]);
  assert.equal(settings.worker, false);
  assert.equal(settings.open, true);
});

test("a settings file fills in what the tag leaves open", () => {
  const file = { endpoint: "/v1/chat/completions", model: null, options: { policy: { topK: 3 }, index: "/other.json" } };
  const filled = withConfig(read({ index: "/i.json" }), file);
  assert.deepEqual(filled.options, { policy: { topK: 3 }, index: "/i.json", llm: { endpoint: "/v1/chat/completions", model: undefined } });
  const set = withConfig(read({ index: "/i.json", endpoint: "/own" }), file);
  assert.equal(set.options.llm.endpoint, "/own");
  assert.equal(withConfig(read({ index: "/i.json" }), { endpoint: null }).options.llm, undefined);
});

test("the language is what is set, else the page's, else the browser's", () => {
  assert.equal(pageLanguage("zh", "en", "en"), "zh");
  assert.equal(pageLanguage(undefined, "zh-CN", "en"), "zh-CN");
  assert.equal(pageLanguage(undefined, "", "zh"), "zh");
  assert.equal(stringsFor("zh-Hant-TW"), STRINGS.zh);
  assert.equal(stringsFor("fr"), STRINGS.en);
  assert.equal(stringsFor("zhuang"), STRINGS.en);
});

test("both languages say the same things", () => {
  assert.deepEqual(Object.keys(STRINGS.zh), Object.keys(STRINGS.en));
  for (const [key, text] of Object.entries(STRINGS.zh)) assert.match(text, /[\u4e00-\u9fff]/, key);
});
