// Medians, spreads and tables for the benchmarks.

/** The median of numbers. */
export function median(values) {
  return quantile(values, 0.5);
}

/** The `q` quantile of numbers, 0..=1, by linear interpolation. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

/** `{ median, low, high }`: the median and the quartiles. */
export function spread(values) {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

/** Prints rows of cells as a Markdown table. */
export function table(title, header, rows) {
  const all = [header, ...rows].map((row) => row.map(String));
  const widths = header.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  const line = (row) => `| ${row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(" | ")} |`;
  console.log(`\n${title}\n`);
  console.log(line(all[0]));
  console.log(`| ${widths.map((w, i) => (i ? `${"-".repeat(w - 1)}:` : "-".repeat(w))).join(" | ")} |`);
  for (const row of all.slice(1)) console.log(line(row));
}

/** Milliseconds as text. */
export const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(1));

/** Bytes as kilobytes of 1,000 bytes. */
export const kB = (value) => `${Math.round(value / 1000).toLocaleString("en")} kB`;
