// Search, the menu of narrow screens, and the calculator of sizes. Works from a folder, without a server.
"use strict";

const root = document.documentElement.dataset.root;

// --- the menu
const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = menu.getAttribute("aria-expanded") !== "true";
  menu.setAttribute("aria-expanded", String(open));
  document.getElementById("tasks").classList.toggle("open", open);
});
document.querySelector("#tasks [aria-current]")?.scrollIntoView({ block: "nearest" });

// --- search
const field = document.getElementById("search");
const found = document.getElementById("found");
const SHOWN = 12;
let index;

const script = (name) => new Promise((resolve, reject) => {
  const element = Object.assign(document.createElement("script"), { src: `${root}assets/${name}` });
  element.onload = resolve;
  element.onerror = reject;
  document.head.append(element);
});

const prepare = () => index ||= Promise.all([script("lunr.js"), script("search-index.js")]).then(() => lunr(function () {
  this.ref("at");
  this.field("title", { boost: 4 });
  this.field("heading", { boost: 8 });
  this.field("text");
  window.SEARCH_SECTIONS.forEach((section, at) => this.add({ at, ...section }));
}));

const look = async (words) => {
  const ready = await prepare();
  if (words !== field.value) return;
  const hits = ready.query((query) => {
    for (const word of lunr.tokenizer(words)) {
      query.term(word, { boost: 10 });
      query.term(word, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
      if (word.toString().length > 4) query.term(word, { editDistance: 1 });
    }
  }).slice(0, SHOWN);
  found.replaceChildren(...hits.map((hit) => {
    const section = window.SEARCH_SECTIONS[hit.ref];
    const link = Object.assign(document.createElement("a"), { href: root + section.url, textContent: section.heading });
    const page = Object.assign(document.createElement("small"), { textContent: section.title });
    const item = document.createElement("li");
    item.append(link, page);
    return item;
  }));
  if (hits.length === 0) found.append(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  found.dataset.words = words;
  found.hidden = false;
};

field.addEventListener("focus", prepare);
field.addEventListener("input", () => field.value.trim() === "" ? found.hidden = true : look(field.value));
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement.tagName !== "INPUT") {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    found.hidden = true;
  }
});
