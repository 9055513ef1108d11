// The widget's picture: what stands in the shadow root, and how a state of the session is drawn into it.
//
// Input: states of `ChatSession`. Output: DOM, and calls of the handlers for what the reader does.
// Invariant: text reaches the DOM only as text nodes or through markdown.js.

import { icon } from "./icons.js";
import { renderHighlights, renderMarkdown, safeUrl } from "./markdown.js";

/** Distance from the end of the log, in CSS pixels, within which new text keeps scrolling. */
const STICKY = 60;

/** Builds the parts once and redraws what changes. */
export class ChatView {
  #document;
  #strings;
  #handlers;
  #settings;
  #drawn = [];
  #frame = 0;
  #followed = -1;

  /** `handlers`: onOpen, onClose, onAsk, onStop, onFresh, onRate, onFollow, onOffer, onCopy, onRetry, onType, onHandOver. */
  constructor(root, { strings, settings, handlers, document = globalThis.document }) {
    this.#document = document;
    this.#strings = strings;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#build(root);
  }

  #make(name, attributes = {}, ...children) {
    const node = this.#document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === false || value === null) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  #button(name, title, onclick, className = "tool") {
    return this.#make("button", { type: "button", class: className, "aria-label": title, title, onclick }, icon(this.#document, name));
  }

  #build(root) {
    const words = this.#strings;
    const on = this.#handlers;
    const title = this.#settings.heading ?? words.title;
    this.launcher = this.#make(
      "button",
      { type: "button", class: "launcher", part: "launcher", "aria-haspopup": "dialog", "aria-expanded": "false", onclick: on.onOpen },
      icon(this.#document, "chat"),
      this.#make("span", {}, words.open),
    );
    this.loadLine = this.#make("div", { class: "load", hidden: true });
    this.log = this.#make("div", { class: "log", part: "log", role: "log", "aria-live": "polite", "aria-label": title, tabindex: "0" });
    this.status = this.#make("div", { class: "unseen", role: "status" });
    this.matches = this.#make("nav", { class: "matches", "aria-label": words.pages, hidden: true });
    this.input = this.#make("textarea", {
      rows: "1", placeholder: words.placeholder, "aria-label": words.placeholder, maxlength: "2000", autocomplete: "off", enterkeyhint: "send",
      oninput: () => {
        this.#grow();
        this.sendButton.disabled = !this.#running && !this.input.value.trim();
        on.onType(this.input.value);
      },
      onkeydown: (event) => {
        // The Enter that ends the composition of Chinese text chooses a word; 229 is what Safari reports for it.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
        event.preventDefault();
        this.#submit();
      },
    });
    this.sendButton = this.#make("button", { type: "submit", class: "send", "aria-label": words.send, title: words.send, disabled: true }, icon(this.#document, "send"));
    const form = this.#make(
      "form",
      { part: "composer", onsubmit: (event) => { event.preventDefault(); this.#submit(); } },
      this.input,
      this.sendButton,
    );
    this.panel = this.#make(
      "section",
      { class: "panel", part: "panel", role: "dialog", "aria-label": title, hidden: true, onkeydown: (event) => this.#onKey(event) },
      this.#make(
        // Not <header>: outside of an article that would be a second banner of the page.
        "div",
        { class: "header", part: "header" },
        this.#make("h2", {}, title),
        this.#button("fresh", words.fresh, on.onFresh),
        this.#button("close", words.close, on.onClose),
      ),
      this.loadLine,
      this.log,
      this.status,
      this.matches,
      form,
    );
    root.append(this.launcher, this.panel);
  }

  #running = false;

  #submit() {
    if (this.#running) return void this.#handlers.onStop();
    const text = this.input.value;
    if (!text.trim()) return;
    this.input.value = "";
    this.#grow();
    this.showMatches([]);
    this.#handlers.onAsk(text);
  }

  #grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight + 2}px`;
  }

  /** Esc closes; on a phone, where the panel covers the page, Tab stays inside. */
  #onKey(event) {
    if (event.key === "Escape" && !event.isComposing) {
      event.stopPropagation();
      this.#handlers.onClose();
    } else if (event.key === "Tab" && this.panel.getAttribute("aria-modal") === "true") {
      const places = [...this.panel.querySelectorAll("button, a[href], textarea, input, [tabindex='0']")].filter(
        (place) => !place.disabled && place.getClientRects().length > 0,
      );
      const at = places.indexOf(this.panel.getRootNode().activeElement);
      const edge = event.shiftKey ? 0 : places.length - 1;
      if (at === edge || at === -1) {
        event.preventDefault();
        places[event.shiftKey ? places.length - 1 : 0]?.focus();
      }
    }
  }

  /** Shows or hides the panel. `focus` moves the focus with it. */
  setOpen(open, { focus = true, modal = false } = {}) {
    this.panel.hidden = !open;
    this.launcher.hidden = open;
    this.launcher.setAttribute("aria-expanded", String(open));
    if (modal) this.panel.setAttribute("aria-modal", "true");
    else this.panel.removeAttribute("aria-modal");
    if (focus) (open ? this.input : this.launcher).focus({ preventScroll: true });
    if (open) this.#toEnd();
  }

  /** Says something to a screen reader. */
  announce(text) {
    this.status.textContent = text;
  }

  /** Draws the state. While tokens arrive it draws once a frame. */
  draw(state, what) {
    if (what === "token") {
      this.#frame ||= requestAnimationFrame(() => {
        this.#frame = 0;
        this.#drawMessages(state);
      });
      return;
    }
    this.#drawLoading(state);
    if (what === "progress") return;
    this.#running = state.running;
    const words = this.#strings;
    const title = state.running ? words.stop : words.send;
    this.sendButton.classList.toggle("stop", state.running);
    this.sendButton.setAttribute("aria-label", title);
    this.sendButton.title = title;
    this.sendButton.replaceChildren(icon(this.#document, state.running ? "stop" : "send"));
    this.sendButton.disabled = !state.running && !this.input.value.trim();
    this.#drawMessages(state, what === "asked");
    if (what === "asked") this.announce(words.thinking);
    if (what === "answered") this.announce(state.messages.at(-1)?.failure ? words.failed : words.answered);
    if (what === "cleared") this.announce(words.cleared);
  }

  #drawLoading({ status, error, progress, dense }) {
    const words = this.#strings;
    const line = this.loadLine;
    line.classList.toggle("failed", status === "failed");
    if (status === "failed") {
      line.hidden = false;
      line.replaceChildren(
        `${words.failed} ${error?.message ?? ""} `,
        this.#make("button", { type: "button", onclick: this.#handlers.onRetry }, words.retry),
      );
    } else if (progress && dense === "waiting") {
      line.hidden = false;
      const label = status === "ready" ? words.loadingModel : words.loading;
      const bar = this.#make("progress", { "aria-label": label, max: progress.total || 1 });
      if (progress.total) bar.value = progress.loaded;
      const size = progress.total ? `${megabytes(progress.loaded)} / ${megabytes(progress.total)}` : megabytes(progress.loaded);
      line.replaceChildren(
        this.#make("div", { class: "line" }, this.#make("span", {}, status === "ready" ? words.keywords : label), this.#make("span", {}, size)),
        bar,
      );
    } else if (dense === "failed" && status === "ready") {
      line.hidden = false;
      line.replaceChildren(words.noModel);
    } else {
      line.hidden = status !== "loading";
      if (status === "loading") line.replaceChildren(`${words.loading}…`);
    }
  }

  #drawMessages(state, toEnd = false) {
    const { messages } = state;
    const near = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < STICKY || this.#followed === this.log.scrollTop;
    if (messages.length === 0) {
      this.#drawn = [];
      this.log.replaceChildren(this.#greeting());
      return;
    }
    if (this.#drawn.length === 0 || this.#drawn.length > messages.length) {
      this.#drawn = [];
      this.log.replaceChildren();
    }
    messages.forEach((message, at) => {
      const last = at === messages.length - 1;
      const look = `${message.text.length}|${message.streaming}|${Boolean(message.turn)}|${message.feedback}|${message.failure?.code}|${last}`;
      const drawn = this.#drawn[at];
      if (drawn?.look === look && drawn.message === message) return;
      const node = message.role === "user" ? this.#question(message) : this.#answer(message, last && !state.running);
      if (drawn) drawn.node.replaceWith(node);
      else this.log.append(node);
      this.#drawn[at] = { look, message, node };
    });
    if (toEnd || near) this.#toEnd();
  }

  /** Scrolls to the end, but never so far that the last question leaves: a long answer is read from its beginning. */
  #toEnd() {
    const question = this.log.querySelectorAll(".user");
    const top = question.length ? question[question.length - 1].offsetTop - 12 : Infinity;
    this.log.scrollTop = Math.min(top, this.log.scrollHeight);
    this.#followed = this.log.scrollTop;
  }

  #greeting() {
    const box = this.#make("div", { class: "greeting" }, this.#make("p", {}, this.#settings.greeting ?? this.#strings.greeting));
    const chips = this.#settings.ask.map((question) =>
      this.#make("button", { type: "button", class: "chip", onclick: () => this.#handlers.onAsk(question) }, question),
    );
    if (chips.length) box.append(this.#make("div", { class: "chips" }, ...chips));
    return box;
  }

  #question({ text }) {
    return this.#make(
      "div",
      { class: "message user", part: "message question" },
      this.#make("span", { class: "unseen" }, `${this.#strings.you}: `),
      text,
    );
  }

  #answer(message, last) {
    const words = this.#strings;
    const { turn } = message;
    const node = this.#make("article", { class: "message assistant", part: "message answer", "aria-busy": message.streaming ? "true" : undefined });
    if (message.failure) {
      node.append(this.#make("p", { class: "note failure" }, message.failure.message));
      return node;
    }
    if (turn?.error) {
      const wait = turn.error.retryAfterMs ? ` ${words.wait.replace("{s}", Math.ceil(turn.error.retryAfterMs / 1000))}` : "";
      node.append(this.#make("p", { class: "note" }, turn.error.kind === "interrupted" ? words.stopped : words.local + wait));
    }
    if (message.streaming && !message.text) {
      const dots = this.#make("div", { class: "waiting" }, ...[1, 2, 3].map(() => this.#make("i")), this.#make("span", { class: "unseen" }, words.thinking));
      node.append(dots);
      return node;
    }
    const body = this.#make("div", { class: "body" });
    body.append(
      renderMarkdown(message.text, {
        sources: turn?.sources ?? [],
        unsupported: turn?.unsupported ?? [],
        onFollow: (source) => this.#handlers.onFollow(source),
        document: this.#document,
      }),
    );
    node.append(body);
    if (!turn) return node;
    if (turn.sources.length) node.append(this.#sources(turn.sources));
    if (turn.options.length) node.append(this.#offers(words.options, turn.options, last));
    if (turn.suggestions.length) node.append(this.#offers(words.suggestions, turn.suggestions, last));
    if (turn.unsupported?.length) node.append(this.#make("p", { class: "note" }, words.unsupported));
    // Once the reader has agreed in the conversation, there is nothing left to ask.
    if (turn.handover && !turn.handover.transcript && this.#contact(turn)) node.append(this.#handOver(turn));
    node.append(this.#actions(message));
    return node;
  }

  #part(className, title, content) {
    return this.#make("section", { class: `part ${className}`, "aria-label": title }, this.#make("h3", {}, title), content);
  }

  #sources(sources) {
    const list = this.#make("ol");
    for (const source of sources) {
      const address = safeUrl(source.url, this.#document.baseURI);
      if (!address) continue;
      const outside = address.origin !== new URL(this.#document.baseURI).origin;
      const link = this.#make(
        "a",
        { href: address.href, target: outside && "_blank", rel: outside && "noopener noreferrer", onclick: () => this.#handlers.onFollow(source) },
        this.#make("span", { class: "n" }, String(source.n)),
        this.#make("span", {}, source.title),
      );
      if (source.headingPath.length) link.append(this.#make("span", { class: "path" }, source.headingPath.join(" › ")));
      if (source.quote) {
        const quote = this.#make("span", { class: "quote" });
        quote.append(renderHighlights(source.quote, source.highlights, this.#document));
        link.append(quote);
      }
      list.append(this.#make("li", {}, link));
    }
    return this.#part("sources", this.#strings.sources, list);
  }

  #offers(title, offers, live) {
    const chips = offers.map((offer) =>
      this.#make(
        "button",
        { type: "button", class: "chip", disabled: !live, onclick: () => this.#handlers.onOffer(offer) },
        this.#make("b", {}, offer.title),
        offer.reason ? this.#make("span", {}, offer.reason) : null,
      ),
    );
    return this.#part("offers", title, this.#make("div", { class: "chips" }, ...chips));
  }

  #actions(message) {
    const words = this.#strings;
    const said = this.#make("output", {}, message.feedback ? words.thanks : "");
    const copy = this.#button("copy", words.copy, async () => {
      if (!(await this.#handlers.onCopy(message))) return;
      said.textContent = words.copied;
      copy.replaceChildren(icon(this.#document, "done"));
    }, "");
    const thumbs = ["up", "down"].map((thumb) => {
      const button = this.#button(thumb, words[thumb], () => this.#handlers.onRate(message, thumb), "");
      button.setAttribute("aria-pressed", String(message.feedback === thumb));
      button.disabled = Boolean(message.feedback);
      return button;
    });
    const person = this.#contact(message.turn) ? this.#button("person", words.handOver, () => this.#showHandOver(person, message.turn), "") : null;
    return this.#make("div", { class: "actions" }, copy, ...thumbs, ...(person ? [person] : []), said);
  }

  /** Whom the site names as a person to ask: in the turn, or in the element's own settings. */
  #contact(turn) {
    return turn?.handover?.contact ?? this.#settings.contact ?? null;
  }

  #showHandOver(button, turn) {
    const message = button.closest(".message");
    if (message.querySelector(".person")) return;
    const form = this.#handOver(turn);
    message.append(form);
    form.scrollIntoView({ block: "nearest" });
    form.querySelector("button").focus();
  }

  #handOver(turn) {
    const words = this.#strings;
    const contact = this.#contact(turn);
    const include = this.#make("input", { type: "checkbox" });
    const box = this.#make(
      "div",
      { class: "part person" },
      this.#make("p", {}, words.handOverText),
      this.#make("label", {}, include, words.include),
      this.#make(
        "button",
        {
          type: "button",
          onclick: () => {
            this.#handlers.onHandOver(contact, include.checked);
            box.replaceChildren(this.#make("p", { role: "status" }, words.handOverDone));
          },
        },
        contact.label ?? words.handOverSend,
      ),
    );
    return box;
  }

  /** Shows the pages that match what is typed. */
  showMatches(passages) {
    this.matches.hidden = passages.length === 0;
    const links = passages.flatMap((passage) => {
      const address = safeUrl(passage.url, this.#document.baseURI);
      if (!address) return [];
      const name = [passage.title, ...passage.headingPath.slice(-1)].join(" › ");
      return [
        this.#make("a", { href: address.href, title: name, onclick: () => this.#handlers.onFollow(passage) }, icon(this.#document, "page"), this.#make("span", {}, name)),
      ];
    });
    this.matches.replaceChildren(this.#make("h3", {}, this.#strings.pages), ...links);
  }
}

function megabytes(bytes) {
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
