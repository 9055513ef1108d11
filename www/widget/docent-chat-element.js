// The custom element `<docent-chat>`: it joins settings, session and view.
//
// Events (bubbling, composed): `docent-open`, `docent-close`, `docent-turn` { turn }, `docent-feedback` { thumb },
// `docent-handover` { contact, conversation }, `docent-error` { error }.

import { ChatSession } from "./chat-session.js";
import { ChatView } from "./chat-view.js";
import { ATTRIBUTES, pageLanguage, readAttributes, withConfig } from "./settings.js";
import { stringsFor } from "./strings.js";
import { STYLES } from "./styles.js";

/** Pause in the typing after which matching pages are looked up, in milliseconds: shorter than a reader notices. */
const TYPING_PAUSE = 150;
/** Width up to which the panel covers the page, in CSS pixels; the same number stands in styles.js. */
const PHONE = "(max-width: 520px)";

/** The chat widget. */
export class DocentChatElement extends HTMLElement {
  static observedAttributes = ["theme"];

  /** Registers the element under `tag`, once. */
  static define(tag = "docent-chat", registry = customElements) {
    if (!registry.get(tag)) registry.define(tag, this);
  }

  #settings = null;
  #session = null;
  #view = null;
  #typing = 0;
  #extra = {};

  /** Options that cannot stand in an attribute (functions, nested settings); set before the panel is opened first. */
  set options(options) {
    this.#extra = options;
  }

  get options() {
    return this.#extra;
  }

  /** The conversation's state; see `ChatSession`. */
  get state() {
    return this.#session?.state ?? null;
  }

  connectedCallback() {
    if (this.#view) return;
    this.#settings = readAttributes((name) => this.getAttribute(name));
    const strings = stringsFor(pageLanguage(this.#settings.lang, this.ownerDocument.documentElement.lang, navigator.language));
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    this.#session = new ChatSession({
      load: (onProgress) => this.#load(onProgress),
      storage: storage(this.#settings.storage),
      key: this.#key("conversation"),
      onChange: (state, what) => this.#view?.draw(state, what),
    });
    this.#view = new ChatView(root, { strings, settings: this.#settings, handlers: this.#handlers(strings) });
    this.#view.draw(this.#session.state, "state");
    const wasOpen = storage(this.#settings.storage)?.getItem(this.#key("open")) === "yes";
    if (this.#settings.open || (wasOpen && !matchMedia(PHONE).matches)) this.open({ focus: false });
    if (this.#settings.load === "page") this.#start();
  }

  disconnectedCallback() {
    // Moving the element to another place disconnects it for a moment: only one that stays away is ended.
    queueMicrotask(() => {
      if (!this.isConnected) this.#session?.free();
    });
  }

  /** Opens the panel and begins to load. */
  open({ focus = true } = {}) {
    this.#view.setOpen(true, { focus, modal: matchMedia(PHONE).matches });
    this.toggleAttribute("open", true);
    this.#remember("yes");
    this.#start();
    this.#tell("docent-open");
  }

  /** Closes the panel; the conversation stays. */
  close() {
    this.toggleAttribute("open", false);
    this.#view.setOpen(false);
    this.#remember("no");
    this.#tell("docent-close");
  }

  /** Opens the panel and asks. Resolves with the turn. */
  async ask(text) {
    if (!this.hasAttribute("open")) this.open();
    const turn = await this.#session.ask(text);
    if (turn) this.#tell("docent-turn", { turn });
    // The reader has agreed in the conversation. The reply holds the link; an event has to be sent.
    const { contact, transcript } = turn?.handover ?? {};
    if (transcript && this.#tell("docent-handover", { contact, conversation: transcript }) && contact?.event) {
      this.#tell(contact.event, { conversation: transcript });
    }
    return turn;
  }

  #start() {
    this.#session.start().catch((error) => this.#tell("docent-error", { error }));
  }

  async #load(onProgress) {
    let settings = this.#settings;
    if (settings.config) {
      const response = await fetch(settings.config);
      if (response.ok) settings = withConfig(settings, await response.json());
    }
    const options = { ...settings.options, ...this.#extra };
    this.#settings.contact ??= options.contact;
    if (!options.index) throw new Error("the attribute `index` (`data-index` on the script tag) is missing");
    const { default: init, Agent } = await import("../index.js");
    await init({ worker: settings.worker });
    return Agent.load(options, onProgress);
  }

  #handlers(strings) {
    const session = this.#session;
    return {
      onOpen: () => this.open(),
      onClose: () => this.close(),
      onAsk: (text) => void this.ask(text),
      onStop: () => session.stop(),
      onFresh: async () => {
        await session.clear();
        this.#view.input.focus();
      },
      onRate: async (message, thumb) => {
        await session.rate(message, thumb);
        this.#tell("docent-feedback", { thumb });
      },
      onFollow: (source) => void session.record({ kind: "source_followed", url: source.url }),
      onOffer: (offer) => void this.ask(offer.title),
      onCopy: async ({ text }) => {
        try {
          await navigator.clipboard.writeText(text);
          void session.record({ kind: "copied" });
          return true;
        } catch {
          return false;
        }
      },
      onRetry: () => this.#start(),
      onType: (text) => {
        clearTimeout(this.#typing);
        this.#typing = setTimeout(async () => {
          const pages = await session.suggest(text);
          // Meanwhile the text may have been sent or changed.
          if (this.#view.input.value === text) this.#view.showMatches(pages);
        }, TYPING_PAUSE);
      },
      onHandOver: (contact, include) => this.#handOver(contact, include ? session.transcript(strings) : ""),
    };
  }

  /** Hands over to a person. A listener that prevents the event's default takes care of it itself. */
  #handOver(contact, conversation) {
    void this.#session.record({ kind: "contact_followed" });
    if (!this.#tell("docent-handover", { contact, conversation })) return;
    if (contact.event) this.#tell(contact.event, { conversation });
    else if (contact.email) {
      const body = encodeURIComponent(conversation.slice(0, 1500));
      location.href = `mailto:${contact.email}?subject=${encodeURIComponent(this.ownerDocument.title)}&body=${body}`;
    } else if (contact.url) {
      const url = contact.url.replace("{conversation}", encodeURIComponent(conversation.slice(0, 1500)));
      const address = new URL(url, this.ownerDocument.baseURI);
      if (/^https?:$/.test(address.protocol)) open(address.href, "_blank", "noopener");
    }
  }

  #tell(name, detail = {}) {
    return this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, cancelable: true, detail }));
  }

  #key(what) {
    return `docent:${what}:${this.getAttribute("index") ?? this.getAttribute("config") ?? ""}`;
  }

  #remember(value) {
    try {
      storage(this.#settings.storage)?.setItem(this.#key("open"), value);
    } catch {
      // Not remembered, then.
    }
  }
}

/** Where conversations are kept; null where they are not, or where the browser forbids it. */
function storage(kind) {
  try {
    if (kind === "local") return localStorage;
    if (kind === "session") return sessionStorage;
  } catch {
    // Third-party frames may not even name their storage.
  }
  return null;
}

export { ATTRIBUTES };
