// Starts the headless browser of the benchmarks: the system's Chromium or Chrome, one fresh context a measurement.

import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

/** Starts the browser that `tests/need.sh` finds. */
export function startBrowser() {
  const executablePath = execFileSync("sh", ["tests/need.sh", "--chromium-path"], { encoding: "utf8" }).trim();
  return chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
  });
}

/** Opens `url` in a fresh context, runs `work(page)`, closes it. Errors of the page end the benchmark. */
export async function withPage(browser, url, work) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  await page.goto(url);
  const result = await work(page);
  await context.close();
  if (errors.length) throw errors[0];
  return result;
}
