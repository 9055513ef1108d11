import type {
  AgentOptions, ChatOptions, IndexInfo, Metrics, ProgressEvent, ReaderEvent, ReadyState, SearchOptions, SearchResult, Turn,
} from "./types.js";

export * from "./types.js";

type ModuleSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/** Loads the small module. */
export default function init(source?: { module_or_path: ModuleSource | Promise<ModuleSource> }): Promise<unknown>;

/** An embedding model: the class `Embedder` of the other module, or anything alike. */
export interface EmbedderLike {
  readonly modelId: string;
  embedQuery(text: string): Float32Array | Promise<Float32Array>;
  countTokens(text: string): number;
}

/** The agent without a worker. */
export class Agent {
  private constructor();
  static load(options: AgentOptions, onProgress?: (event: ProgressEvent) => void): Promise<Agent>;
  readonly ready: Promise<ReadyState>;
  chat(text: string, options?: ChatOptions): Promise<Turn>;
  search(text: string, options?: SearchOptions): Promise<SearchResult>;
  recordEvent(event: ReaderEvent): void;
  reset(): void;
  export(): string;
  restore(saved: string): void;
  metrics(): Metrics;
  exportLog(): string;
  info(): IndexInfo;
  /** Loads the vectors of the index. */
  loadVectors(onProgress?: (event: ProgressEvent) => void): Promise<void>;
  /** Gives the agent an embedding model; it must be the one that the index was built with. */
  attachEmbedder(embedder: EmbedderLike): void;
  free(): void;
}
