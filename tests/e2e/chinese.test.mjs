// A Chinese page: the interface speaks Chinese, a Chinese question gets a Chinese answer, and Enter inside of an input
// method's composition chooses a word instead of sending.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, Widget } from "./support.mjs";

test("a Chinese question on a Chinese page", async () => {
  const site = await serveSite();
  const { page, errors } = await newPage();
  await page.goto(`${site}/docs/www/guide/zh/getting-started`);
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-Hans");
  const widget = new Widget(page);
  assert.equal((await widget.launcher.innerText()).trim(), "问文档");
  await widget.open();
  await widget.ready();
  const turn = await widget.ask("怎么在页面中加入助手？");
  assert.match(turn.sources[0].url, /\/zh\//);
  assert.match(turn.reply, /[\u4e00-\u9fff]/);
  assert.equal(turn.language, "zh");
  assert.deepEqual(errors, []);
});

test("the Enter of a composition does not send", async () => {
  const site = await serveSite();
  const { page } = await newPage();
  await page.goto(`${site}/docs/www/guide/zh/getting-started`);
  const widget = new Widget(page);
  await widget.open();
  await widget.input.fill("怎么yong");
  const press = (fields) =>
    widget.input.evaluate((input, fields) => {
      const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, composed: true, ...fields });
      input.dispatchEvent(event);
      return event.defaultPrevented;
    }, fields);
  assert.equal(await press({ isComposing: true }), false);
  assert.equal(await press({ keyCode: 229 }), false);
  assert.equal(await press({ shiftKey: true }), false);
  assert.equal(await widget.questions.count(), 0);
  assert.equal(await widget.input.inputValue(), "怎么yong");
  assert.equal(await press({}), true);
  await widget.questions.first().waitFor();
});
