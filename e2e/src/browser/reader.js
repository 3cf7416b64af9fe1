// Keeps each text that a page has shown, and what went wrong in it.
"use strict";
(() => {
  const texts = [];
  const text = () => (document.body?.innerText ?? "").replace(/\s+/g, " ");
  const look = () => {
    const now = text();
    if (now !== texts.at(-1)) texts.push(now);
  };
  // The first of these texts that was not shown at the same time as the one before it, or later.
  const missing = (parts) => {
    let at = 0;
    for (const part of parts) {
      while (at < texts.length && !texts[at].includes(part)) at += 1;
      if (at === texts.length) return { missing: part, text: text(), isFirst: window.reader.isFirst };
    }
    return { isFirst: window.reader.isFirst };
  };
  const faults = [];
  // A reload makes another reader, which is not the first one.
  window.reader = { text, missing, faults, isFirst: false };
  addEventListener("securitypolicyviolation", (it) => faults.push(`${it.effectiveDirective} forbids ${it.blockedURI}`), true);
  addEventListener("error", (it) => faults.push(String(it.message)));
  addEventListener("DOMContentLoaded", () => {
    look();
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
})();
