// Registers `<docent-chat>`; for pages that place the element themselves.

import { DocentChatElement } from "./docent-chat-element.js";

DocentChatElement.define();
