// The one table of `make bench`: every script adds its rows to a file, the last step prints them together.
//
//   node tests/bench/rows.mjs    prints the rows of the file that DOCENT_BENCH_ROWS names

import { appendFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { median, quantile, spread, table } from "./stats.mjs";

/**
 * Adds a row: what was measured (with its unit), our values, and the peers' values by name; one number, or many whose
 * median and quartiles are shown. `best`: which peer's value is the best, "low" or "high".
 */
export function record(what, ours, peers = {}, best = "low") {
  const file = process.env.DOCENT_BENCH_ROWS;
  if (file) appendFileSync(file, `${JSON.stringify({ what, ours, peers, best })}\n`);
}

const list = (value) => (Array.isArray(value) ? value : [value]);
const number = (value) => (Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));

function cell(value) {
  const values = list(value);
  if (values.length === 1) return number(values[0]);
  const { median, low, high } = spread(values);
  return `${number(median)} (${number(low)}–${number(high)})`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = readFileSync(process.env.DOCENT_BENCH_ROWS, "utf8").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  table(
    "Docent beside its peers, one thread, headless Chromium, one run of one machine: medians (quartiles); ratio to the best peer",
    ["what", "docent", "peers", "ratio"],
    rows.map(({ what, ours, peers, best }) => {
      const entries = Object.entries(peers);
      const values = entries.map(([, value]) => median(list(value)));
      const reference = values.length ? quantile(values, best === "low" ? 0 : 1) : null;
      return [
        what,
        cell(ours),
        entries.map(([name, value]) => `${name} ${cell(value)}`).join("; ") || "–",
        reference ? (median(list(ours)) / reference).toFixed(2) : "–",
      ];
    }),
  );
}
