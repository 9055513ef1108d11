// A reply's Markdown as DOM nodes.
//
// Input: text that a model wrote, which may be hostile. Output: a fragment made node by node from the tokens of `marked`.
// Invariant: no text is ever parsed as HTML, nothing is loaded from anywhere, and a link leads only to a page that the
// reply's sources name. What is not in the list below is shown as the text that it is.

import { Lexer } from "./vendor/marked.js";

/** Nesting that is still followed, in levels; what lies deeper is shown as text. Twenty is more than prose needs. */
const MAX_DEPTH = 20;
/** Length that is read as Markdown, in UTF-16 units; a longer reply is shown as plain text, so that it cannot hang the page. */
const MAX_LENGTH = 20_000;

/** Characters that turn the direction of text or take no room: they can only make text look like another one. */
const UNSEEN = /[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\ue000\ue001]/g;
/** Private characters that stand around unsupported sentences while the text is read; none is left of the reply's own. */
const MARK_START = "\ue000";
const MARK_END = "\ue001";
const MARKS = /[\ue000\ue001]/g;

const INLINE = { strong: "strong", em: "em", del: "del" };
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", hellip: "…", mdash: "—", ndash: "–" };

/**
 * Renders `text`. `sources` are the reply's sources (`n`, `url`, `title`); `onFollow(source)` is called when the reader
 * follows one of them. `unsupported` are byte ranges (UTF-8, in order) of sentences that no passage supports: they are put
 * into `<span class="unsupported">`.
 */
export function renderMarkdown(text, { sources = [], unsupported = [], onFollow, document = globalThis.document } = {}) {
  text = withMarks(text, unsupported);
  const fragment = document.createDocumentFragment();
  const pages = sourcePages(sources, document.baseURI);
  const context = { document, pages, sources, onFollow, unsupported: false };
  if (text.length > MAX_LENGTH || nestsTooDeep(text)) {
    fragment.append(element(context, "p", text.replace(MARKS, "")));
    return fragment;
  }
  let tokens;
  try {
    tokens = Lexer.lex(text, { gfm: true });
  } catch {
    // The lexer gives up on some nonsense; the reader still gets the words.
    fragment.append(element(context, "p", text.replace(MARKS, "")));
    return fragment;
  }
  appendBlocks(context, fragment, tokens, 0);
  return fragment;
}

/** The text without unseen characters, and with marks around the ranges. A mark goes behind a list's or heading's sign. */
function withMarks(text, ranges) {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  let marked = "";
  let at = 0;
  for (const [start, end] of ranges) {
    if (start < at || end > bytes.length || start >= end) continue;
    const sentence = decoder.decode(bytes.subarray(start, end)).replace(UNSEEN, "");
    const [sign] = /^(?:\s|[-*+>#]+\s|\d+[.)]\s)*/.exec(sentence);
    marked += decoder.decode(bytes.subarray(at, start)).replace(UNSEEN, "") + sign + MARK_START + sentence.slice(sign.length) + MARK_END;
    at = end;
  }
  return marked + decoder.decode(bytes.subarray(at)).replace(UNSEEN, "");
}

/** Whether a line opens so many levels, or a paragraph holds so many brackets, that reading it takes more than linear time. */
function nestsTooDeep(text) {
  return /^[ \t]*(?:(?:>|[-*+]|\d+[.)])[ \t]*){30,}/m.test(text) || /[[(*_`~<]{200,}/.test(text) || (text.match(/[[*_]/g)?.length ?? 0) > 4000;
}

/** The address of each source's page without its anchor → the source. */
function sourcePages(sources, base) {
  const pages = new Map();
  for (const source of sources) {
    const address = safeUrl(source.url, base);
    if (address) pages.set(withoutAnchor(address), source);
  }
  return pages;
}

/** An absolute http(s) address, or null for anything else. */
export function safeUrl(href, base) {
  try {
    const address = new URL(href, base);
    return address.protocol === "http:" || address.protocol === "https:" ? address : null;
  } catch {
    return null;
  }
}

function withoutAnchor(address) {
  const page = new URL(address);
  page.hash = "";
  return page.href;
}

function element(context, name, text, className) {
  const node = context.document.createElement(name);
  if (text !== undefined) node.append(text.replace(MARKS, ""));
  if (className) node.className = className;
  return node;
}

function raw(token) {
  return (token.raw ?? "").replace(MARKS, "");
}

function appendBlocks(context, parent, tokens, depth) {
  for (const token of tokens) {
    const node = block(context, token, depth);
    if (node) parent.append(node);
  }
}

function block(context, token, depth) {
  if (depth > MAX_DEPTH) return context.document.createTextNode(raw(token));
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "html":
      return isComment(token.raw) ? null : element(context, "p", token.raw);
    case "heading": {
      // The page's own headings stay above those of a reply.
      const node = element(context, `h${Math.min(6, token.depth + 2)}`);
      appendInline(context, node, token.tokens, depth + 1);
      return node;
    }
    case "paragraph": {
      const node = element(context, "p");
      appendInline(context, node, token.tokens, depth + 1);
      return node;
    }
    case "code": {
      const node = element(context, "pre");
      node.tabIndex = 0;
      node.append(element(context, "code", token.text));
      return node;
    }
    case "blockquote": {
      const node = element(context, "blockquote");
      appendBlocks(context, node, token.tokens, depth + 1);
      return node;
    }
    case "list": {
      const node = element(context, token.ordered ? "ol" : "ul");
      if (token.ordered && Number.isInteger(token.start) && token.start !== 1) node.start = token.start;
      for (const item of token.items) {
        const line = element(context, "li");
        if (item.task) line.append(item.checked ? "☑ " : "☐ ");
        appendBlocks(context, line, item.tokens.filter((part) => part.type !== "checkbox"), depth + 1);
        node.append(line);
      }
      return node;
    }
    case "table":
      return table(context, token, depth);
    case "hr":
      return element(context, "hr");
    case "text": {
      // The text of a tight list item: a block that holds inline tokens.
      const node = context.document.createDocumentFragment();
      if (token.tokens) appendInline(context, node, token.tokens, depth + 1);
      else appendText(context, node, token.text);
      return node;
    }
    default:
      return element(context, "p", raw(token));
  }
}

function table(context, token, depth) {
  const box = element(context, "div", undefined, "table");
  box.tabIndex = 0;
  const node = element(context, "table");
  const row = (cells, name) => {
    const line = element(context, "tr");
    for (const cell of cells) {
      const place = element(context, name);
      appendInline(context, place, cell.tokens, depth + 1);
      line.append(place);
    }
    return line;
  };
  const head = element(context, "thead");
  head.append(row(token.header, "th"));
  const body = element(context, "tbody");
  for (const cells of token.rows) body.append(row(cells, "td"));
  node.append(head, body);
  box.append(node);
  return box;
}

function appendInline(context, parent, tokens = [], depth = 0) {
  for (const token of tokens) {
    if (depth > MAX_DEPTH) {
      parent.append(raw(token));
    } else if (INLINE[token.type]) {
      const node = element(context, INLINE[token.type]);
      appendInline(context, node, token.tokens, depth + 1);
      parent.append(node);
    } else if (token.type === "text" || token.type === "escape") {
      if (token.tokens) appendInline(context, parent, token.tokens, depth + 1);
      else appendText(context, parent, token.text);
    } else if (token.type === "codespan") {
      parent.append(element(context, "code", token.text));
    } else if (token.type === "br") {
      parent.append(element(context, "br"));
    } else if (token.type === "link") {
      appendLink(context, parent, token, depth);
    } else if (token.type === "image") {
      // An image would be fetched from where the text says; its description is all that is shown.
      appendText(context, parent, token.text);
    } else if (!(token.type === "html" && isComment(token.raw))) {
      parent.append(raw(token));
    }
  }
}

/** A comment is not for the reader, and shown as text it would only confuse. */
function isComment(raw) {
  return /^\s*<!--[^]*?-->\s*$/.test(raw);
}

function appendLink(context, parent, token, depth) {
  const address = safeUrl(token.href, context.document.baseURI);
  const source = address && context.pages.get(withoutAnchor(address));
  const node = source ? link(context, address, source) : context.document.createDocumentFragment();
  appendInline(context, node, token.tokens, depth + 1);
  // Where it would have led stays readable, as text.
  if (!source && address && token.text !== token.href) node.append(` (${address.href})`);
  parent.append(node);
}

/** A link to a page of the sources. A page elsewhere opens beside this one and does not learn where the reader came from. */
export function link(context, address, source) {
  const node = element(context, "a");
  node.href = address.href;
  if (address.origin !== new URL(context.document.baseURI).origin) {
    node.target = "_blank";
    node.rel = "noopener noreferrer";
  }
  if (context.onFollow) node.addEventListener("click", () => context.onFollow(source));
  return node;
}

/** Text with its entities decoded and its citations `[n]` made into links to source n. */
function appendText(context, parent, text) {
  for (const piece of text.split(/([\ue000\ue001])/)) {
    if (piece === MARK_START || piece === MARK_END) {
      context.unsupported = piece === MARK_START;
    } else if (piece && context.unsupported) {
      const span = element(context, "span", undefined, "unsupported");
      appendPlain(context, span, piece);
      parent.append(span);
    } else if (piece) {
      appendPlain(context, parent, piece);
    }
  }
}

function appendPlain(context, parent, text) {
  const decoded = decodeEntities(text);
  let at = 0;
  for (const found of decoded.matchAll(/\[(\d{1,2})\]/g)) {
    const source = context.sources.find((one) => one.n === Number(found[1]));
    const address = source && safeUrl(source.url, context.document.baseURI);
    if (!address) continue;
    parent.append(decoded.slice(at, found.index));
    const node = link(context, address, source);
    node.append(found[1]);
    node.className = "cite";
    node.title = [source.title, ...(source.headingPath ?? [])].join(" › ");
    node.setAttribute("aria-label", `[${found[1]}] ${node.title}`);
    parent.append(node);
    at = found.index + found[0].length;
  }
  parent.append(decoded.slice(at));
}

function decodeEntities(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** `text` as nodes in which the byte ranges `highlights` (UTF-8, in order) are marked. */
export function renderHighlights(text, highlights = [], document = globalThis.document) {
  const fragment = document.createDocumentFragment();
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  let at = 0;
  for (const [start, end] of highlights) {
    if (start < at || end > bytes.length || start >= end) continue;
    fragment.append(decoder.decode(bytes.subarray(at, start)));
    const mark = document.createElement("mark");
    mark.append(decoder.decode(bytes.subarray(start, end)));
    fragment.append(mark);
    at = end;
  }
  fragment.append(decoder.decode(bytes.subarray(at)));
  return fragment;
}
