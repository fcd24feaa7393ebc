// The table of requests in flight. A request's name opens its backtrace, which its executor makes when asked.

class Requests {
  // actions: Actions
  constructor(actions) {
    Object.assign(this, { actions, open: new Map() });
    this.rows = new Rows(byId("requests").tBodies[0], (item, key) => this.make(key), (row, item) => this.fill(row, item));
    byId("filter").addEventListener("input", () => this.render());
  }

  make(key) {
    if (key.endsWith("/trace")) return element("tr", { class: "trace" }, element("td", { colspan: "7" }, element("pre", { tabindex: "0" })));
    const name = element("button", { type: "button", class: "open", "aria-expanded": "false" });
    name.addEventListener("click", () => this.toggle(key));
    const labels = [["Age", true], ["Ran", true], ["Does"], ["Line"], ["Worker"]];
    const row = element("tr", {}, element("td", {}, name),
      ...labels.map(([label, number]) => element("td", { "data-label": label, ...(number ? { class: "number" } : {}) })), element("td", { class: "act" }));
    row.cells[4].append(element("code"));
    return row;
  }

  fill(row, item) {
    if (item.trace) {
      setText(row.querySelector("pre"), item.trace);
      return;
    }
    const [name, age, ran, doing, line, worker, act] = row.cells, button = name.firstElementChild;
    const lane = item.lane ? `, lane ${item.lane}` : "", spare = item.spare ? ", spare" : "";
    setText(button, this.title(item));
    button.setAttribute("aria-expanded", String(this.open.has(this.key(item))));
    setText(age, format.time(item.age_s ?? item.waits_for?.for_s));
    setText(ran, item.ran_s === undefined ? "" : format.time(item.ran_s));
    setText(doing, does(item));
    doing.classList.toggle("stalled", Boolean(item.stalls_in));
    setText(line.firstElementChild, item.line || "");
    setText(worker, `${item.worker}${lane}${spare}`);
    this.actions.offerCancel(act, item);
  }

  title(item) {
    if (item.fiber === "background") return "a fiber of no request";
    return `${item.fiber === "helper" ? "for " : ""}${item.method} ${item.path}`;
  }

  key(item) {
    return [item.worker, item.lane, item.exchange || item.id, item.fiber === "request" ? "" : item.fiber + item.waits_for?.kind + item.waits_for?.address].join("|");
  }

  async toggle(key) {
    if (this.open.has(key)) {
      this.open.delete(key);
      this.render();
      return;
    }
    this.open.set(key, "asking its executor …");
    this.render();
    for (const wait of [0, 600, 1200]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (!this.open.has(key)) return;
      this.open.set(key, await this.backtrace(key));
      this.render();
    }
  }

  async backtrace(key) {
    try {
      const answer = await (await fetch("fibers.json?limit=1000&backtrace=1")).json();
      const item = answer.fibers.find((one) => this.key(one) === key);
      if (!item) return "It has ended.";
      if (!item.backtrace?.length) return "Its executor has not answered yet: it is busy.";
      return [`as of ${format.time(item.backtrace_age_s)} ago`, ...item.backtrace].join("\n");
    } catch {
      return "The server does not answer.";
    }
  }

  show(document) {
    this.document = document;
    this.render();
  }

  render() {
    if (!this.document) return;
    const wanted = byId("filter").value.trim().toLowerCase(), { fibers, left_out: leftOut, unrecorded } = this.document;
    const found = fibers.filter((item) => !wanted || [this.title(item), item.route, item.id, does(item), item.line].join(" ").toLowerCase().includes(wanted));
    const shown = new Set(fibers.map((item) => this.key(item)));
    for (const key of this.open.keys()) if (!shown.has(key)) this.open.delete(key);
    const items = found.flatMap((item) => {
      const key = this.key(item);
      return this.open.has(key) ? [{ ...item, key }, { key: `${key}/trace`, trace: this.open.get(key) }] : [{ ...item, key }];
    });
    this.rows.show(items, (item) => item.key);
    const more = leftOut + unrecorded;
    setText(byId("requests-count"), `${format.count(fibers.length + more)}, the oldest first${more ? `; ${format.count(more)} more are not shown` : ""}`);
    setText(byId("requests-empty"), fibers.length ? "Nothing here has these letters." : "No request is in flight.");
    setHidden(byId("requests-empty"), found.length > 0);
    setHidden(byId("requests"), found.length === 0);
  }
}
