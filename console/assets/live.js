// Brings the content of the page up to date, and says whether it is.
"use strict";
const content = document.getElementById("content");
const state = document.getElementById("live");
const source = new EventSource(content.dataset.live);
const say = (text) => { if (state.textContent !== text) state.textContent = text; };

// Replaces the content, and keeps what the reader opened, typed and focused.
const show = (html) => {
  const open = new Set([...content.querySelectorAll("details[open]")].map((it) => it.id));
  const form = content.querySelector("form");
  const typed = form ? [...form.elements].map((it) => it.value) : [];
  const focused = [...content.querySelectorAll("a, input, select, button, summary, [tabindex]")].indexOf(document.activeElement);
  const scrolled = [...content.querySelectorAll(".table")].map((it) => it.scrollLeft);
  content.innerHTML = html;
  content.querySelectorAll("details").forEach((it) => { it.open = open.has(it.id); });
  const fields = content.querySelector("form")?.elements ?? [];
  typed.forEach((value, index) => { if (fields[index]) fields[index].value = value; });
  content.querySelectorAll(".table").forEach((it, index) => { it.scrollLeft = scrolled[index] ?? 0; });
  if (focused >= 0) content.querySelectorAll("a, input, select, button, summary, [tabindex]")[focused]?.focus({ preventScroll: true });
};

// Whoever marks text wants to copy it; the next content comes in time.
source.addEventListener("content", (event) => {
  if (String(getSelection())) { say("Paused while text is marked"); return; }
  show(event.data);
  say("Live");
});
source.addEventListener("open", () => say("Live"));
source.addEventListener("error", () => say("Not live: the console does not answer. This is what it said last."));
