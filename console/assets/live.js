// Brings the content of the page up to date, and says whether it is.
"use strict";
const content = document.getElementById("content");
const state = document.getElementById("live");
let source, patience = 60_000, heard, failures = 0, marked = null;
const say = (text) => { if (state.textContent !== text) state.textContent = text; };

// Makes a node like another one that is alike, and leaves in place what they share: focus, what is typed, what a screen reader has read.
const update = (old, next) => {
  if (old.nodeType !== Node.ELEMENT_NODE) { if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue; return; }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...next.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const children = [...next.childNodes];
  let there = old.firstChild;
  children.forEach((child, index) => {
    let match = there;
    if (there && !alike(there, child)) {
      // What is there comes later: the child is new before it. Otherwise what is there may have gone.
      if (children.slice(index + 1).some((later) => alike(there, later))) match = null;
      else while (match && !alike(match, child)) match = match.nextSibling;
    }
    if (!match) { old.insertBefore(child, there); return; }
    while (there !== match) { const gone = there; there = there.nextSibling; gone.remove(); }
    there = match.nextSibling;
    update(match, child);
  });
  while (there) { const gone = there; there = there.nextSibling; gone.remove(); }
};
const alike = (one, other) => one.nodeName === other.nodeName && one.id === other.id && one.className?.toString() === other.className?.toString();

// Details stay open, and focus stays on its link, also if they have moved.
const show = (html) => {
  const open = new Set([...content.querySelectorAll("details[open]")].map((it) => it.id));
  const link = document.activeElement?.getAttribute("href");
  const next = content.cloneNode(false);
  next.innerHTML = html;
  next.querySelectorAll("details").forEach((it) => { it.open = open.has(it.id); });
  update(content, next);
  if (link && document.activeElement?.getAttribute("href") !== link) content.querySelector(`a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
};

// Whoever marks text wants to copy it: the page goes on when nothing is marked.
const take = (html) => {
  heard = Date.now();
  failures = 0;
  if (String(getSelection())) { marked = html ?? marked; return say("Paused while text is marked"); }
  if (html ?? marked) show(html ?? marked);
  marked = null;
  say("Live");
};

const connect = () => {
  if (source && source.readyState !== EventSource.CLOSED) return;
  source = new EventSource(content.dataset.live);
  heard = Date.now();
  source.addEventListener("patience", (event) => { patience = Number(event.data); });
  source.addEventListener("content", (event) => take(event.data));
  source.addEventListener("same", () => take(null));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) return say("Not live: the console refused to go on. Reload the page to log in again; if you have many pages open, close some or wait a little. This is what it said last.");
    // A stream ends from time to time, and the browser connects again.
    if (++failures > 1) say("Not live: the console does not answer. This is what it said last.");
  });
};

// A page that nobody sees asks nothing, so that it does not take one of the few connections of a browser.
document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else connect(); });
setInterval(() => {
  if (document.hidden) return;
  // A connection that a firewall forgot, or that slept with its laptop, does not end by itself.
  if (Date.now() - heard > patience) {
    source.close();
    say("Not live: nothing was heard for a while. This is what the console said last.");
  }
  connect();
}, 10_000);
connect();
