// The values that cross between a page and the agent. A native test compares them with the Rust types, field by field.

/** A question's language and a page's. */
export type Language = "en" | "zh";
export type Intent = "retrieval" | "chitchat" | "clarify" | "error";
export type FollowUpKind = "simplify" | "detail" | "example" | "summary" | "pronoun";
export type Action =
  | "answer_directly" | "ask_clarification" | "suggest_related" | "provide_summary" | "escalate_to_human"
  | "chitchat" | "follow_up" | "select" | "end";
/** Which legs of the search answered. */
export type Mode = "lexical" | "dense" | "hybrid";
export type FailureKind = "timeout" | "rate_limit" | "network" | "auth" | "content_filter" | "interrupted" | "default";

/** What a turn gives back. */
export interface Turn {
  /** Markdown with citations `[n]`. */
  reply: string;
  intent: Intent;
  followUp: FollowUpKind | null;
  action: Action;
  /** Why, a stable word such as `new_topic`. */
  reason: string;
  /** The stand-alone query; null when nothing was searched. */
  rewrittenQuery: string | null;
  sources: Source[];
  /** Related pages offered with the answer. */
  suggestions: Offer[];
  /** Choices of a clarifying question. */
  options: Offer[];
  /** Messages in the window after the turn. */
  historyLength: number;
  mode: Mode;
  /** Null when no endpoint was called. */
  usage: Usage | null;
  trace: Trace;
  /** Why the turn fell back to the local answer. */
  error: Failure | null;
  language: Language;
  /** True when the reply broke off or was stopped. */
  partial: boolean;
  /** Byte ranges (UTF-8) of the sentences of `reply` that no passage supports. */
  unsupported: [number, number][];
  handover: Handover | null;
}

/** A link of a reply. */
export interface Source {
  /** The number that the reply cites it by, from 1. */
  n: number;
  document: string;
  title: string;
  headingPath: string[];
  url: string;
  quote: string;
  /** Byte ranges (UTF-8) of `quote` to highlight. */
  highlights: [number, number][];
  /** Evidence, 0 to 1. */
  score: number;
}

/** Something the reader can choose. */
export interface Offer {
  id: string;
  title: string;
  url: string | null;
  reason: string;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
  calls: number;
  /** True when the endpoint did not count. */
  estimated: boolean;
}

export interface Failure {
  kind: FailureKind;
  code: string;
  cause: string;
  retryAfterMs: number | null;
}

export interface Contact {
  label: string | null;
  url: string | null;
  email: string | null;
  event: string | null;
}

export interface Handover {
  contact: Contact | null;
  link: string | null;
  transcript: string | null;
}

/** What was understood, searched, scored, decided and why. */
export interface Trace {
  steps: TraceStep[];
  warnings: string[];
}

export interface TraceStep {
  step: string;
  ms: number;
  detail: unknown;
}

/** A passage of the documentation. */
export interface Passage {
  id: string;
  document: string;
  title: string;
  headingPath: string[];
  url: string;
  text: string;
  /** The sentence or lines that answer best. */
  best: string;
  /** Byte ranges (UTF-8) of `best` to highlight. */
  highlights: [number, number][];
  tags: string[];
  version: string | null;
  section: string | null;
  language: Language;
  scores: Scores;
}

export interface Scores {
  lexical: number | null;
  dense: number | null;
  fused: number;
  /** 0 to 1; the same threshold means the same for every query. */
  evidence: number;
}

/** Figures over a session; null where there is nothing to count yet. */
export interface Metrics {
  sessions: number;
  turns: number;
  tasks: number;
  completed: number;
  failed: number;
  taskCompletionRate: number | null;
  meanTurnsToCompletion: number | null;
  clarificationRate: number | null;
  clarificationTakeUp: number | null;
  suggestionTakeUp: number | null;
  thumbsUp: number;
  thumbsDown: number;
  satisfaction: number | null;
  localShare: number | null;
  handovers: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  calls: number;
  cost: number | null;
  /** Questions without a good answer. */
  unanswered: Record<string, unknown>[];
}

/** Something the reader did after a turn. */
export type ReaderEvent =
  | { kind: "thumbs_up" } | { kind: "thumbs_down" } | { kind: "copied" } | { kind: "left" } | { kind: "contact_followed" }
  | { kind: "source_followed"; url: string }
  | { kind: "suggestion_followed"; id: string };

/** Bytes that have arrived; `total` is null when it is not known. */
export interface ProgressEvent {
  file: "manifest" | "core" | "vectors" | "model" | "tokenizer";
  loaded: number;
  total: number | null;
}

/** What the agent's own filter says of a text: passes, does not, or goes on with another text. */
export type Verdict = boolean | void | null | string | { block: string } | { replace: string };

/** The policy's parameters; what is left out has its default. */
export interface PolicyConfig {
  /** Evidence from which a passage counts as found, 0 to 1. */
  relevanceThreshold?: number;
  /** Relevance to the conversation from which a question stays on its topic, 0 to 1. */
  contextThreshold?: number;
  topK?: number;
  /** Misses in a row after which a person is offered. */
  confusionLimit?: number;
  maxSuggestions?: number;
  maxOptions?: number;
  /** Answered turns on one topic after which a summary is offered. */
  summaryAfter?: number;
  notInDocsThreshold?: number;
  ambiguityThreshold?: number;
  /** The weights of a learned policy; the rules stay as guard rails. */
  learned?: Record<string, unknown> | null;
}

/** Tokens of the model's window, and of each part of a prompt. */
export interface PromptBudget {
  contextTokens?: number;
  historyTokens?: number;
  passagesTokens?: number;
  replyTokens?: number;
}

/** The OpenAI-compatible endpoint. */
export interface LlmConfig {
  endpoint: string;
  model?: string;
  headers?: Record<string, string>;
  body?: Record<string, unknown>;
  apiKey?: string;
  allowKeyInPage?: boolean;
  apiVersion?: string;
  maxTokensField?: string;
  stream?: boolean;
  timeouts?: { firstByteMs?: number; idleMs?: number; totalMs?: number };
  maxRetries?: number;
}

/** A vector engine that is asked instead of loading the vectors; `docent push` fills its collection. */
export interface VectorEngine {
  engine: "qdrant";
  /** Address of Qdrant's REST interface, which must allow the page (CORS), or of a proxy in front of it. */
  url: string;
  collection: string;
  /** A key that may only read the collection; needs `allowKeyInPage`, since every reader can see it. */
  apiKey?: string;
  allowKeyInPage?: boolean;
  headers?: Record<string, string>;
  /** Time for one search, 100 to 60000; 4000 where nothing is said. */
  timeoutMs?: number;
}

/** What `Agent.load` takes. */
export interface AgentOptions {
  /** Address of the manifest that `docent index` wrote. */
  index: string;
  /** Address of the model's folder; left out: what the manifest says; null: keyword search only. */
  model?: string | null;
  /** Where the vectors are: left out: what the manifest says; null: in the files of the index; an object: in an engine. */
  vectors?: VectorEngine | null;
  llm?: LlmConfig | null;
  /** Which pages may answer, for calls that say nothing of it, for instance the version of the page the reader is on. */
  filter?: Filter;
  policy?: PolicyConfig;
  /** Arms of an A/B comparison. */
  variants?: { name: string; weight?: number; policy?: PolicyConfig }[];
  assist?: "local" | "llm";
  grounding?: "strict" | "open";
  memory?: { maxTurns?: number; maxTokens?: number; maxHistoryTurns?: number };
  /** Tokens of the model's window, and of each part of a prompt. */
  budget?: PromptBudget;
  stream?: boolean;
  language?: Language | null;
  contact?: Partial<Contact> | null;
  exitWords?: string[];
  contentFilter?: {
    blockedQuestions?: string[];
    blockedReplies?: string[];
    before?: (question: string) => Verdict | Promise<Verdict>;
    after?: (reply: string) => Verdict | Promise<Verdict>;
  };
  maxMessageChars?: number;
  seed?: number;
  sessionId?: string | null;
  pricePer1kTokens?: [number, number] | null;
  /** Called with the record of every turn; of a turn that comes twice the last record counts. */
  sink?: (record: Record<string, unknown>) => void;
}

export interface ChatOptions {
  /** Called with each piece of the reply as it arrives. */
  onToken?: (piece: string) => void;
  /** Stops the turn; what had arrived stays. */
  signal?: AbortSignal;
  /** Facets that the passages must have. */
  filter?: Filter;
}

export interface SearchOptions {
  topK?: number;
  mode?: Mode;
  filter?: Filter;
  /**
   * The query's embedding by the index's model, made elsewhere: a unit vector as long as the model's dimension, all
   * numbers finite. Left out: the agent's own model makes it.
   */
  embedding?: Float32Array | number[];
}

/** Facets: a passage passes when each named facet has one of the values. */
export interface Filter {
  version?: string | string[];
  language?: Language | Language[];
  section?: string | string[];
  /** A tag also stands for the tags below it. */
  tags?: string | string[];
}

export interface SearchResult {
  passages: Passage[];
  mode: Mode;
  warnings: string[];
}

/** What the index says of itself. */
export interface IndexInfo {
  documents: number;
  chunks: number;
  languages: Language[];
  model: string | null;
}

/** Where the search stands when everything is loaded. */
export interface ReadyState {
  mode: "lexical" | "hybrid";
  model: string | null;
}

/** What every method rejects with. */
export class AgentError extends Error {
  constructor(code: string, message: string);
  readonly name: "AgentError";
  /** A stable name for the kind of error, such as `busy` or `index_unreachable`. */
  readonly code: string;
}
