// The table of requests in flight. A request's name opens its backtrace, which its executor makes when asked.

class Requests {
  // actions: Actions
  constructor(actions) {
    Object.assign(this, { actions, open: new Map() });
    this.rows = new Rows(byId("requests").tBodies[0], (item, key) => this.make(item, key), (row, item) => this.fill(row, item));
    byId("filter").addEventListener("input", () => this.render());
  }

  make(item, key) {
    if (item.traceOf !== undefined) return element("tr", { class: "trace" }, element("td", { colspan: "7" }, element("pre", { tabindex: "0" })));
    const name = element("button", { type: "button", class: "open", "aria-expanded": "false" });
    name.addEventListener("click", () => this.toggle(key));
    const labels = [["Age", true], ["Ran", true], ["Does"], ["Line"], ["Worker"]];
    const row = element("tr", {}, element("td", {}, name),
      ...labels.map(([label, number]) => element("td", { "data-label": label, ...(number ? { class: "number" } : {}) })), element("td", { class: "act" }));
    row.cells[4].append(element("code"));
    return row;
  }

  fill(row, item) {
    if (item.traceOf !== undefined) {
      setText(row.querySelector("pre"), item.traceOf);
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
    const opened = { text: "asking its executor …" };
    this.open.set(key, opened);
    this.render();
    // The first asks the executors; the others see what these have made since.
    for (const [wait, which] of [[0, "1"], [600, "kept"], [1200, "kept"]]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const text = this.open.get(key) === opened && await this.backtrace(key, which);
      if (this.open.get(key) !== opened) return;
      opened.text = text;
      this.render();
    }
  }

  async backtrace(key, which) {
    try {
      const answer = await (await fetch(`fibers.json?limit=1000&backtrace=${which}`)).json();
      const item = answer.fibers.find((one) => this.key(one) === key);
      if (!item) return "It has ended.";
      if (!item.backtrace?.length) return this.without(item, answer.executors);
      return [`as of ${format.time(item.backtrace_age_s)} ago`, ...item.backtrace].join("\n");
    } catch {
      return "The server does not answer.";
    }
  }

  // Why there is no backtrace.
  without(item, executors) {
    if (item.state === "running") return "It runs, and has not run for long enough to be asked where.";
    if (item.state === "ready") return "It is in the run queue.";
    const place = (one) => [one.worker, one.lane, one.spare].join("|");
    const own = executors.filter((one) => place(one) === place(item));
    if (own.length && own.every((one) => one.backtraces_complete)) return "256 backtraces are kept for each executor, and its own is not among them.";
    return "Its executor has not answered yet: it is busy.";
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
      return this.open.has(key) ? [{ ...item, key }, { key: `trace|${key}`, traceOf: this.open.get(key).text }] : [{ ...item, key }];
    });
    this.rows.show(items, (item) => item.key);
    const more = leftOut + unrecorded;
    setText(byId("requests-count"), `${format.count(fibers.length + more)}, the oldest first${more ? `; ${format.count(more)} more are not shown` : ""}`);
    setText(byId("requests-empty"), fibers.length ? "Nothing here has these letters." : "No request is in flight.");
    setHidden(byId("requests-empty"), found.length > 0);
    setHidden(byId("requests"), found.length === 0);
  }
}
