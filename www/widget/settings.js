// The settings of the element: its attributes, the script tag's `data-` attributes, and a settings file, made one.
//
// Invariant: no DOM beyond reading attributes; what a site writes wrongly is reported, not guessed.

/** The attributes that the element knows; on the script tag each has the prefix `data-`. */
export const ATTRIBUTES = [
  "index", "model", "endpoint", "llm-model", "config", "lang", "theme", "heading", "greeting", "ask", "contact-url",
  "contact-email", "storage", "load", "worker", "filter", "open",
];

/** The settings that attributes give. `get(name)` reads one attribute; a missing one is null. */
export function readAttributes(get) {
  const text = (name) => get(name) ?? undefined;
  const settings = {
    config: text("config"),
    lang: text("lang"),
    theme: text("theme") ?? "auto",
    heading: text("heading"),
    greeting: text("greeting"),
    ask: (get("ask") ?? "").split("|").map((question) => question.trim()).filter(Boolean),
    storage: text("storage") ?? "session",
    load: text("load") ?? "open",
    worker: get("worker") !== "off",
    open: get("open") !== null,
    options: {},
  };
  const { options } = settings;
  if (get("index")) options.index = get("index");
  if (get("model")) options.model = get("model") === "none" ? null : get("model");
  if (get("endpoint")) options.llm = { endpoint: get("endpoint"), model: text("llm-model") };
  if (get("contact-url") || get("contact-email")) {
    options.contact = { url: text("contact-url"), email: text("contact-email") };
  }
  if (get("filter")) options.filter = JSON.parse(get("filter"));
  return settings;
}

/** `base` with the settings of a file over it where the attributes say nothing. */
export function withConfig(settings, file) {
  const options = { ...file.options, ...settings.options };
  if (file.endpoint && !options.llm) options.llm = { endpoint: file.endpoint, model: file.model ?? undefined };
  return { ...settings, options, contact: options.contact };
}

/** The language to speak: what is set, else the page's, else the browser's. */
export function pageLanguage(set, pageTag, browserTag) {
  return set || pageTag || browserTag || "en";
}
