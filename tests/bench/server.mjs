// A static server on loopback for the benchmarks: several folders under one origin, every byte that leaves it counted.
//
// Text and wasm are sent with gzip, as static hosts send them; what is compressed already goes out as it is. The count is
// of response bodies, without headers, which differ from host to host.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".css": "text/css",
};
const COMPRESSED = /\.(pagefind|pf_\w+|gz|br|png|woff2)$/;

/**
 * Serves `mounts`, `{ "/path/": folder or (name) => body }`, the longest prefix first.
 * Returns `{ origin, bytes(), reset(), close() }`.
 */
export async function serve(mounts) {
  const prefixes = Object.keys(mounts).sort((a, b) => b.length - a.length);
  const cache = new Map();
  let bytes = 0;

  async function body(path) {
    if (cache.has(path)) return cache.get(path);
    const prefix = prefixes.find((p) => path.startsWith(p));
    if (!prefix) return null;
    const name = normalize(path.slice(prefix.length) || "index.html");
    if (name.startsWith("..")) return null;
    const mount = mounts[prefix];
    let raw;
    try {
      raw = typeof mount === "function" ? mount(name) : await readFile(join(mount, name));
    } catch {
      return null;
    }
    if (raw == null) return null;
    const entry = COMPRESSED.test(name) ? { data: Buffer.from(raw) } : { data: gzipSync(raw, { level: 6 }), encoding: "gzip" };
    entry.type = TYPES[extname(name)] ?? "application/octet-stream";
    cache.set(path, entry);
    return entry;
  }

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const entry = await body(path);
    if (!entry) {
      response.writeHead(404).end();
      return;
    }
    bytes += entry.data.length;
    const headers = { "content-type": entry.type, "content-length": entry.data.length, "cache-control": "no-store" };
    if (entry.encoding) headers["content-encoding"] = entry.encoding;
    response.writeHead(200, headers).end(entry.data);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    bytes: () => bytes,
    reset: () => {
      bytes = 0;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
}
