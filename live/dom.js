// Elements. Text is only ever set as text: names of paths and classes come from outside.

const byId = (id) => document.getElementById(id);

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const setHidden = (node, hidden) => { if (node.hidden !== hidden) node.hidden = hidden; };

// The rows of a table by their keys: a row that stays is the same element, so that nothing flickers and
// what is focused or selected stays so. cells: [{ label, class, number }]; fill(row, item) sets their text.
class Rows {
  constructor(body, make, fill) {
    Object.assign(this, { body, make, fill, rows: new Map() });
  }

  show(items, keyOf) {
    const kept = new Map();
    let place = this.body.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      if (kept.has(key)) continue;
      const row = this.rows.get(key) || this.make(item, key);
      kept.set(key, row);
      this.fill(row, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
    for (const [key, row] of this.rows) if (!kept.has(key)) row.remove();
    this.rows = kept;
  }
}

// A maker of rows with these cells, and of what fills them with texts.
const plainRow = (cells) => ({
  make: () => element("tr", {}, ...cells.map(([label, number]) =>
    element("td", number ? { class: "number", "data-label": label } : { "data-label": label }))),
  fill: (row, texts) => texts.forEach((text, i) => setText(row.cells[i], text)),
});

// Terms with values: { name: [text, class] }.
const showTerms = (list, terms) => {
  for (const [name, [text, mood]] of Object.entries(terms)) {
    let pair = list.querySelector(`[data-name="${name}"]`);
    if (!pair) {
      pair = element("div", { "data-name": name }, element("dt", {}, name), element("dd"));
      list.append(pair);
    }
    pair.className = mood || "";
    setText(pair.lastElementChild, text);
  }
};
