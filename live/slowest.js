// The slowest requests of each route, each with its waits one after the other. They change seldom, so they are
// asked for every few seconds rather than streamed.

const SLOWEST_EVERY_MS = 5000;

const waitColour = (kind) => (WAITS.find(({ kinds }) => kinds.includes(kind)) || WAITS.at(-1)).colour;

// One line for each wait: where it lies in the request's run, and how long it took.
const waterfall = (request) => {
  const list = element("ol", { class: "waterfall" }), whole = Math.max(request.run_s, 1e-6);
  for (const wait of request.waterfall) {
    const bar = element("span", { class: "bar", "aria-hidden": "true" }), lane = element("span", { class: "lane" }, bar);
    bar.style.marginLeft = `${Math.min(99, (100 * wait.start_s) / whole)}%`;
    bar.style.width = `${Math.max(0.5, Math.min(100, (100 * wait.for_s) / whole))}%`;
    bar.style.background = `var(${waitColour(wait.kind)})`;
    const words = [wait.fiber === "helper" ? "(another fiber)" : "", wait.kind, wait.what, wait.line].filter(Boolean).join(" ");
    list.append(element("li", {}, element("span", { class: "what" }, words), lane,
      element("span", { class: "number" }, `${format.time(wait.for_s)} at ${format.time(wait.start_s)}`)));
  }
  if (!request.waterfall.length) list.append(element("li", {}, "It has not waited: it computed, or stood in a call."));
  if (request.waits_left_out) list.append(element("li", { class: "soft" }, `${format.count(request.waits_left_out)} more waits`));
  return list;
};

class Slowest {
  constructor() {
    this.open = new Set();
    this.requests = [];
    this.rows = new Rows(byId("slowest").tBodies[0], (item, key) => this.make(item, key), (row, item) => this.fill(row, item));
  }

  make(item, key) {
    if (item.waterfallOf) return element("tr", { class: "trace" }, element("td", { colspan: "6" }, waterfall(item.waterfallOf)));
    const name = element("button", { type: "button", class: "open", "aria-expanded": "false" });
    name.addEventListener("click", () => {
      if (!this.open.delete(key)) this.open.add(key);
      this.render();
    });
    const labels = [["Route"], ["Took", true], ["Ran", true], ["Waited for"], ["Ended"]];
    return element("tr", {}, element("td", {}, name),
      ...labels.map(([label, number]) => element("td", { "data-label": label, ...(number ? { class: "number" } : {}) })));
  }

  fill(row, item) {
    if (item.waterfallOf) return;
    const [name, route, took, ran, waited, ended] = row.cells;
    setText(name.firstElementChild, `${item.method} ${item.path}`);
    name.firstElementChild.setAttribute("aria-expanded", String(this.open.has(item.key)));
    setText(route, item.route || item.class || "");
    setText(took, format.time(item.duration_s));
    setText(ran, format.time(item.ran_s));
    const parts = [["queue", item.queue_s], ...Object.entries(item.wait_s)].filter(([, seconds]) => seconds > 1e-3);
    setText(waited, parts.sort((a, b) => b[1] - a[1]).slice(0, 3).map(([kind, seconds]) => `${kind} ${format.time(seconds)}`).join(", "));
    setText(ended, `${format.span(item.age_s)} ago`);
  }

  async ask() {
    try {
      const { requests } = await (await fetch("slowest.json?limit=16")).json();
      this.requests = requests.map((one) => ({ ...one, key: `${one.pid || one.worker}|${one.id}` }));
      this.render();
    } catch {
      // The event stream tells that the server does not answer.
    }
  }

  render() {
    const items = this.requests.flatMap((one) => (this.open.has(one.key) ? [one, { key: `${one.key}/waits`, waterfallOf: one }] : [one]));
    this.rows.show(items, (item) => item.key);
    setHidden(byId("slowest"), items.length === 0);
    setHidden(byId("slowest-empty"), items.length > 0);
  }
}
