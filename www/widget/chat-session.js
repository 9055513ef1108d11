// One reader's conversation, as the widget shows it.
//
// Input: a loaded agent (or a way to load one), a storage and the reader's words. Output: a state that the view draws.
// Invariant: no DOM; the agent, the storage and the clock are handed in, so that Node tests run it with fakes.

/** Version of what is kept in the storage; another version is thrown away. */
const SAVED_VERSION = 1;

/**
 * The state of a conversation.
 *
 * `status`: "idle" before anything is loaded, "loading", "ready", or "failed" with `error`.
 * `progress`: { loaded, total } in bytes while something loads, else null (`total` is 0 when it is not known); `dense`: "waiting", "ready" or "failed".
 * `messages`: { role, text, turn?, streaming?, feedback?, failure? } in order.
 */
export class ChatSession {
  #load;
  #storage;
  #key;
  #onChange;
  #agent = null;
  #loading = null;
  #controller = null;
  #files = new Map();

  /**
   * `load(onProgress)` gives an agent. `storage` has `getItem`, `setItem`, `removeItem`, or is null.
   * `onChange(state, what)` is called after each change; `what` is "token" while an answer streams.
   */
  constructor({ load, storage = null, key = "docent", onChange = () => {} }) {
    this.#load = load;
    this.#storage = storage;
    this.#key = key;
    this.#onChange = onChange;
    this.state = { status: "idle", error: null, progress: null, dense: "waiting", messages: [], running: false, info: null };
    const saved = this.#read();
    if (saved) this.state.messages = saved.messages;
  }

  /** Loads the agent, once; a failed load may be tried again. */
  start() {
    this.#loading ??= this.#start().catch((error) => {
      this.#loading = null;
      this.#change({ status: "failed", error, progress: null });
      throw error;
    });
    return this.#loading;
  }

  async #start() {
    this.#change({ status: "loading", error: null });
    const agent = await this.#load((event) => this.#change({ progress: this.#sum(event) }, "progress"));
    this.#files.clear();
    this.#agent = agent;
    const saved = this.#read();
    if (saved?.agent) {
      try {
        await agent.restore(saved.agent);
      } catch {
        // A conversation of another version cannot go on: the reader starts afresh instead of seeing an error.
        this.#storage?.removeItem(this.#key);
        this.state.messages = [];
      }
    }
    this.#change({ status: "ready", info: agent.info?.() ?? null });
    Promise.resolve(agent.ready).then(
      () => this.#change({ dense: "ready", progress: null }),
      () => this.#change({ dense: "failed", progress: null }),
    );
  }

  /** Asks. Resolves with the turn, or with null when there was nothing to ask or a turn is running. */
  async ask(text, options = {}) {
    const question = text.trim();
    if (!question || this.state.running) return null;
    const answer = { role: "assistant", text: "", streaming: true };
    this.state.messages.push({ role: "user", text: question }, answer);
    this.#controller = new AbortController();
    this.#change({ running: true }, "asked");
    let turn = null;
    try {
      await this.start();
      turn = await this.#agent.chat(question, {
        ...options,
        signal: this.#controller.signal,
        onToken: (token) => {
          answer.text += token;
          this.#change({}, "token");
        },
      });
      answer.text = turn.reply;
      answer.turn = turn;
    } catch (error) {
      answer.failure = { code: error.code ?? "default", message: error.message };
    }
    answer.streaming = false;
    this.#controller = null;
    this.#change({ running: false }, "answered");
    await this.#save();
    return turn;
  }

  /** Stops the running turn; what had arrived stays. */
  stop() {
    this.#controller?.abort();
  }

  /** Begins anew. */
  async clear() {
    this.stop();
    await this.#agent?.reset();
    this.#storage?.removeItem(this.#key);
    this.#change({ messages: [] }, "cleared");
  }

  /** Says whether the answer helped; `up` or `down`, once for each answer. */
  async rate(message, thumb) {
    if (message.feedback) return;
    message.feedback = thumb;
    this.#change({}, "rated");
    await this.record({ kind: thumb === "up" ? "thumbs_up" : "thumbs_down" });
    await this.#save();
  }

  /** Tells the agent what the reader did; the record of the last turn keeps it. */
  async record(event) {
    try {
      await this.#agent?.recordEvent(event);
    } catch {
      // A statistic that is lost must not disturb the reader.
    }
  }

  /** Pages that match what is being typed; nothing before the agent is there. */
  async suggest(text, topK = 3) {
    const words = text.trim();
    if (!this.#agent || this.state.running || words.length < 2) return [];
    try {
      const { passages } = await this.#agent.search(words, { topK: topK * 3, mode: "lexical" });
      const pages = new Map();
      for (const passage of passages) if (!pages.has(passage.document)) pages.set(passage.document, passage);
      return [...pages.values()].slice(0, topK);
    } catch {
      return [];
    }
  }

  /** The conversation as plain text, for a person who takes over. */
  transcript(labels) {
    return this.state.messages
      .map(({ role, text }) => `${role === "user" ? labels.you : labels.agent}: ${text}`)
      .join("\n\n");
  }

  /** Ends the agent. */
  free() {
    this.stop();
    this.#agent?.free();
    this.#agent = null;
    this.#loading = null;
  }

  /** What is loading now, all files together. */
  #sum({ file, loaded, total }) {
    this.#files.set(file, { loaded, total });
    const all = [...this.#files.values()];
    const add = (key) => all.reduce((sum, one) => sum + (one[key] ?? 0), 0);
    return { loaded: add("loaded"), total: all.every((one) => one.total) ? add("total") : 0 };
  }

  #change(part, what = "state") {
    Object.assign(this.state, part);
    this.#onChange(this.state, what);
  }

  #read() {
    try {
      const saved = JSON.parse(this.#storage?.getItem(this.#key) ?? "null");
      return saved?.version === SAVED_VERSION && Array.isArray(saved.messages) ? saved : null;
    } catch {
      return null;
    }
  }

  async #save() {
    if (!this.#storage || !this.#agent) return;
    try {
      const messages = this.state.messages.filter(({ streaming }) => !streaming);
      const agent = await this.#agent.export();
      this.#storage.setItem(this.#key, JSON.stringify({ version: SAVED_VERSION, agent, messages }));
    } catch {
      // A full or forbidden storage costs the conversation's survival of the next page, nothing more.
    }
  }
}
