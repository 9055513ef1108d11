// The demo's explain panel: each turn's trace, step by step, drawn from the event that the widget sends.

const panel = document.querySelector("#explain");

document.addEventListener("docent-turn", ({ detail: { turn } }) => {
  panel.querySelector(".hint")?.remove();
  panel.querySelector("h2").after(drawTurn(turn));
});

function make(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function drawTurn(turn) {
  const badges = [turn.intent, turn.followUp, turn.action, turn.reason, turn.mode].filter(Boolean);
  const box = make("article", "turn", make("p", "", ...badges.map((word) => make("span", "badge", word))));
  if (turn.rewrittenQuery) box.append(make("p", "hint", `searched: ${turn.rewrittenQuery}`));
  for (const { step, ms, detail } of turn.trace.steps) {
    const line = make("details", "", make("summary", "", make("span", "", step), make("time", "", `${ms.toFixed(1)} ms`)), draw(detail));
    line.open = step === "decide";
    box.append(line);
  }
  for (const warning of turn.trace.warnings) box.append(make("p", "hint", warning));
  return box;
}

/** A value as DOM: lists of objects as tables, objects as definition lists, the rest as text. */
function draw(value) {
  if (Array.isArray(value)) {
    if (value.length && value.every((row) => row && typeof row === "object" && !Array.isArray(row))) return drawTable(value);
    return make("span", "", value.map((part) => (typeof part === "object" ? JSON.stringify(part) : show(part))).join(", ") || "none");
  }
  if (value && typeof value === "object") {
    const list = make("dl", "");
    for (const [key, part] of Object.entries(value)) list.append(make("dt", "", key), make("dd", "", draw(part)));
    return list;
  }
  return make("span", "", show(value));
}

function drawTable(rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells, name) => make("tr", "", ...cells.map((cell) => make(name, "", cell)));
  const table = make("table", "", make("thead", "", line(columns, "th")));
  table.append(make("tbody", "", ...rows.map((row) => line(columns.map((column) => draw(row[column])), "td"))));
  return make("div", "wide", table);
}

function show(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return value.toFixed(3);
  return String(value);
}
