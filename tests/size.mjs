// The size budget. It fails when something has grown past it; a budget is raised by a reviewed commit, never by a build.
//
// `node tests/size.mjs` prints what each part weighs, raw and as it is transferred, beside what it may weigh.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/**
 * What is transferred before the first lexical answer, the index aside: bytes of gzip. The goal is 300 000; what stands in
 * the way is written in ARCHITECTURE.md.
 */
const START_BUDGET = 450_000;
/** Either build of the embedder's module, of which a page loads one: bytes of brotli. The goal was 2 000 000. */
const EMBEDDER_BUDGET = 860_000;
/** The widget's own scripts with the vendored lexer: bytes of gzip. */
const WIDGET_BUDGET = 34_500;

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;
const brotli = (bytes) =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length;

function files(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true })
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile());
}

/** The sum over the files of what each weighs; they are transferred one by one. */
const sum = (paths, measure) => paths.flatMap(files).reduce((total, file) => total + measure(readFileSync(file)), 0);

const scripts = readdirSync("pkg").filter((name) => name.endsWith(".js")).map((name) => join("pkg", name));
const widget = readdirSync("pkg/widget", { recursive: true }).filter((name) => name.endsWith(".js")).map((name) => join("pkg/widget", name));
const agent = ["pkg/wasm/docent.js", "pkg/wasm/docent_bg.wasm"];
const embedder = (name) => [`pkg/wasm/${name}.js`, `pkg/wasm/${name}_bg.wasm`];

const rows = [
  ["small module + scripts + widget", [...agent, ...scripts, ...widget], "gzip", gzip, START_BUDGET],
  ["  of it the widget", widget, "gzip", gzip, WIDGET_BUDGET],
  ["embedder module", embedder("docent_embedder"), "brotli", brotli, EMBEDDER_BUDGET],
  ["embedder module, relaxed SIMD", embedder("docent_embedder_relaxed"), "brotli", brotli, EMBEDDER_BUDGET],
];

let over = 0;
for (const [name, paths, how, measure, budget] of rows) {
  const raw = sum(paths, (bytes) => bytes.length);
  const weight = sum(paths, measure);
  const fits = weight <= budget;
  if (!fits) over += 1;
  console.log(`${fits ? "ok  " : "OVER"} ${name.padEnd(34)} raw ${String(raw).padStart(9)}  ${how.padEnd(6)} ${String(weight).padStart(8)} of ${budget}`);
}
process.exitCode = over ? 1 : 0;
