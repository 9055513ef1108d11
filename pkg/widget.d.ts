import type { AgentOptions, Turn } from "./types.js";

/** The element `<docent-chat>`. */
export class DocentChatElement extends HTMLElement {
  static define(tag?: string, registry?: CustomElementRegistry): void;
  /** Options that cannot stand in an attribute; set before the panel is opened first. */
  options: Partial<AgentOptions>;
  open(settings?: { focus?: boolean }): void;
  close(): void;
  /** Opens the panel and asks; null when there was nothing to ask or a turn is running. */
  ask(text: string): Promise<Turn | null>;
}
