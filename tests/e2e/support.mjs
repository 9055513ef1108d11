// What the end-to-end tests share: the served site, the browser, a scripted endpoint.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";

const { chromium } = createRequire(join(process.env.DOCENT_NODE_TOOLS, "package.json"))("playwright-core");

/** What is to be ended when the tests of the file have run; a hook registered inside of a test would run with that test. */
const cleanups = [];
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

/** The folder that the tests build into; `site` in it is the demo site. */
export const FOLDER = process.env.DOCENT_E2E;
/** The shared test data, or null. */
export const TESTDATA = process.env.DOCENT_TESTDATA || null;

/** Serves a folder with `docent serve` until the tests of the file have run; gives the address without a slash at the end. */
export async function serveSite({ folder = join(FOLDER, "site"), args = [], env = {} } = {}) {
  const clean = { ...process.env };
  for (const name of ["DOCENT_LLM_ENDPOINT", "DOCENT_LLM_MODEL", "DOCENT_LLM_KEY"]) delete clean[name];
  const server = spawn(process.env.DOCENT_BIN, ["serve", folder, "--port", "0", "--template", "www/demo/page.html", ...args], {
    env: { ...clean, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  server.stderr.on("data", (data) => (said += data));
  cleanups.push(() => server.kill());
  return new Promise((resolve, reject) => {
    server.stdout.on("data", (data) => {
      const address = /http:\/\/\S+(?=\/\s)/.exec(String(data));
      if (address) resolve(address[0]);
    });
    server.on("exit", (code) => reject(new Error(`docent serve ended with ${code}: ${said}`)));
  });
}

let shared;

/** The browser of this test file. */
export async function browser() {
  if (!shared) {
    shared = await chromium.launch({
      executablePath: process.env.CHROME_PATH,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
    });
    cleanups.push(() => shared.close());
  }
  return shared;
}

/**
 * A fresh page. `errors` collects what the page throws or logs as an error, `requests` the addresses it asks for;
 * everything outside of this machine is refused.
 */
export async function newPage(options = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  context.on("request", (request) => requests.push(request.url()));
  await context.route(
    (address) => !["127.0.0.1", "localhost"].includes(address.hostname) && /^https?:$/.test(address.protocol),
    (route) => route.abort(),
  );
  // The page may still be fetching texts for later when its test is done; the test may also have closed it.
  cleanups.push(() => context.unrouteAll({ behavior: "ignoreErrors" }).catch(() => {}));
  return { page, context, errors, requests };
}

/** An empty page of the site, for tests that use the package's `Agent` themselves. */
export async function emptyPage(site) {
  const fresh = await newPage();
  await fresh.context.route(`${site}/empty.html`, (route) =>
    route.fulfill({ contentType: "text/html", body: '<!doctype html><html lang="en"><title>x</title><link rel="icon" href="data:,">' }),
  );
  await fresh.page.goto(`${site}/empty.html`);
  return fresh;
}

/** The widget on a page: what a reader sees and does. */
export class Widget {
  constructor(page) {
    this.page = page;
    this.host = page.locator("docent-chat");
    this.launcher = page.locator("docent-chat .launcher");
    this.panel = page.locator("docent-chat .panel");
    this.input = page.locator("docent-chat textarea");
    this.sendButton = page.locator("docent-chat .send");
    this.answers = page.locator("docent-chat .message.assistant");
    this.questions = page.locator("docent-chat .message.user");
  }

  async open() {
    await this.launcher.click();
    await this.panel.waitFor();
  }

  /** Waits until the agent can answer; with `dense` until the model is there or has failed. */
  async ready({ dense = false, timeout = 60_000 } = {}) {
    await this.page.waitForFunction(
      (dense) => {
        const state = document.querySelector("docent-chat")?.state;
        return state?.status === "failed" || (state?.status === "ready" && (!dense || state.dense !== "waiting"));
      },
      dense,
      { timeout },
    );
    return this.state();
  }

  state() {
    return this.page.evaluate(() => JSON.parse(JSON.stringify(document.querySelector("docent-chat").state)));
  }

  /** Waits until the conversation with this many messages is in the page's storage. */
  saved(messages) {
    return this.page.waitForFunction(
      (messages) =>
        Object.entries(sessionStorage).some(
          ([key, value]) => key.startsWith("docent:conversation:") && JSON.parse(value).messages.length === messages,
        ),
      messages,
    );
  }

  /** Types a question, sends it with Enter and waits for the whole answer; gives the turn. */
  async ask(text, { timeout = 60_000 } = {}) {
    await this.input.fill(text);
    await this.input.press("Enter");
    return this.answered({ timeout });
  }

  async answered({ timeout = 60_000 } = {}) {
    await this.page.waitForFunction(
      () => {
        const state = document.querySelector("docent-chat").state;
        return state.messages.length > 0 && !state.running;
      },
      undefined,
      { timeout },
    );
    const last = (await this.state()).messages.at(-1);
    if (last.failure) throw new Error(`the turn failed: ${last.failure.code} ${last.failure.message}`);
    return last.turn;
  }
}

/** The demo's first page with the widget open and the agent ready. */
export async function openWidget(site) {
  const fresh = await newPage();
  await fresh.page.goto(`${site}/`);
  const widget = new Widget(fresh.page);
  await widget.open();
  await widget.ready();
  return { ...fresh, widget };
}

/**
 * An OpenAI-compatible endpoint that says what it is told to. `script(request)` gives `{ status, pieces, pause, hang }`;
 * `requests` collects the bodies with their headers.
 */
export async function scriptedEndpoint(script) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const body = JSON.parse(text);
    requests.push({ headers: request.headers, body });
    const { status = 200, pieces = [], pause = 0, hang = false, headers = {} } = script(body, requests.length);
    if (status !== 200) {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message: "scripted" } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let closed = false;
    response.on("close", () => (closed = true));
    for (const [at, content] of pieces.entries()) {
      if (closed) break;
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`);
      if (pause && at < pieces.length - 1) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    requests.at(-1).closed = () => closed;
    if (hang || closed) return;
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests, server };
}

/** The lines of a JSON-lines file of the shared data, or null without it. */
export function sharedLines(path) {
  const file = TESTDATA && join(TESTDATA, path);
  if (!file || !existsSync(file)) return null;
  return readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
}
