// The one script tag: registers the element and puts one on the page, with the tag's `data-` attributes as its own.
//
//   <script type="module" src="/docent/widget/docent-chat.js" data-index="/docent-index/manifest.json"></script>

import { ATTRIBUTES, DocentChatElement } from "./docent-chat-element.js";

DocentChatElement.define();

// A module has no `currentScript`; its tag is the one that names this file and has settings.
const here = new URL(import.meta.url);
for (const tag of document.querySelectorAll("script[type=module][data-index], script[type=module][data-config]")) {
  const address = new URL(tag.src, document.baseURI);
  if (address.origin + address.pathname !== here.origin + here.pathname) continue;
  const element = document.createElement("docent-chat");
  for (const name of ATTRIBUTES) {
    const value = tag.getAttribute(`data-${name}`);
    if (value !== null) element.setAttribute(name, value);
  }
  document.body.append(element);
}
