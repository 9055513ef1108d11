import type {
  AgentOptions, ChatOptions, IndexInfo, Metrics, ProgressEvent, ReaderEvent, ReadyState, SearchOptions, SearchResult, Turn,
} from "./types.js";

export * from "./types.js";

/** Sets where the small module is, and whether a worker may be used. */
export default function init(settings?: { module?: string | URL; worker?: boolean }): Promise<void>;

/** The agent, in a worker where one can be had. */
export class Agent {
  private constructor();
  /** Loads the agent; resolves as soon as it can answer by keyword. */
  static load(options: AgentOptions, onProgress?: (event: ProgressEvent) => void): Promise<Agent>;
  /** Resolves when the vectors and the model are there; rejects when they could not be had. */
  readonly ready: Promise<ReadyState>;
  /** One turn. Rejects with the code `busy` while another one runs. */
  chat(text: string, options?: ChatOptions): Promise<Turn>;
  search(text: string, options?: SearchOptions): Promise<SearchResult>;
  recordEvent(event: ReaderEvent): Promise<void>;
  reset(): Promise<void>;
  export(): Promise<string>;
  restore(saved: string): Promise<void>;
  metrics(): Promise<Metrics>;
  exportLog(): Promise<string>;
  info(): IndexInfo;
  free(): void;
}
