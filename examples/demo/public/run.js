// The button: starts a run, follows it ten times a second, draws it.
import { ask, Unreachable } from "./api.js";
import { describe, Waterfall } from "./charts.js";
import { count, minutes, seconds } from "./format.js";

const EVERY_MS = 100;
const HINT = "Point at a line, or tap it, for its times.";
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const NONE = "–";
const NUMBERS = ["together", "one-by-one", "ratio"];
const element = (id) => document.getElementById(id);
const show = (id, text) => {
  element(id).textContent = text;
  element(id).classList.toggle("none", text === NONE);
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class RunPanel {
  constructor(onTurn) {
    const panel = element("run");
    this.requests = Number(panel.dataset.requests);
    this.button = element("fire");
    this.status = element("run-status");
    this.chartBox = element("waterfall");
    this.onTurn = onTurn;
    this.waterfall = new Waterfall(this.chartBox, this.requests, Number(panel.dataset.alone), (row) => { show("readout", describe(row) || HINT); });
    this.button.addEventListener("click", () => this.fire());
    this.button.disabled = false;
  }

  async fire() {
    this.begin();
    try {
      let run = await ask("/api/runs", { method: "POST" });
      while (run.state === "alone" || run.state === "together") {
        this.follow(run);
        await pause(EVERY_MS);
        run = await ask(`/api/runs/${run.id}`);
      }
      this.end(run);
    } catch (error) {
      for (const id of NUMBERS) show(id, NONE);
      this.fail(error instanceof Unreachable ? "The server stopped answering while the run was on. Is bin/demo still there?" : error.message);
    }
    this.button.disabled = false;
    this.onTurn(false);
  }

  begin() {
    this.button.disabled = true;
    this.run = null;
    element("run-error").hidden = true;
    show("waterfall-empty", "One request alone, as a measure…");
    element("waterfall-empty").hidden = false;
    for (const id of NUMBERS) show(id, NONE);
    this.say("First one alone, as a measure…");
    this.waterfall.show([], 0);
    this.onTurn(true);
  }

  // What the server said last; the clock runs on between two answers.
  follow(run) {
    this.run = run;
    this.heard = performance.now();
    if (run.state === "together") {
      this.say(`${this.requests} are on their way…`);
      this.showAlone(run.alone);
    }
    this.draw();
    if (!this.drawing && !calm.matches) this.animate();
  }

  animate() {
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (!this.run) return;
      this.draw();
      this.animate();
    });
  }

  draw() {
    const elapsed = this.run.elapsed_s + (performance.now() - this.heard) / 1000;
    if (this.run.state !== "together") return show("waterfall-empty", `One request alone, as a measure: ${seconds(elapsed, 1)}`);
    element("waterfall-empty").hidden = true;
    this.waterfall.show(this.run.rows, elapsed);
    show("together", seconds(elapsed, 1));
    show("together-note", `${this.run.rows.filter((row) => row.received != null).length} of ${this.requests} answered`);
  }

  showAlone(alone) {
    const took = alone.received - alone.sent;
    show("one-by-one", minutes(took * this.requests));
    show("one-by-one-note", `${this.requests} × ${seconds(took)}, what one took alone`);
  }

  end(run) {
    this.run = null;
    element("waterfall-empty").hidden = true;
    if (run.state === "failed") return this.fail(`The run ended early: ${run.error}.`);
    const { together_s: together, ratio, overlap, failed } = run.summary;
    this.showAlone(run.alone);
    this.waterfall.show(run.rows, run.elapsed_s);
    show("together", seconds(together));
    show("together-note", "first sent to last answered");
    show("ratio", `${ratio < 10 ? ratio : Math.round(ratio)}×`);
    show("ratio-note", `${overlap} ran at the same moment`);
    const answered = failed ? `${count(run.requests - failed)} of ${run.requests}` : `All ${run.requests}`;
    const said = `${answered} answered in ${seconds(together)}, ${overlap} of them at the same moment.`;
    this.say(said);
    if (failed) this.complain(`${failed} ${failed === 1 ? "request" : "requests"} got no right answer: ${run.rows.find((row) => row.error).error}.`);
    this.chartBox.setAttribute("aria-label", `Waterfall of the requests: ${said} The table below has each.`);
    this.fillTable(run.rows);
  }

  fillTable(rows) {
    const cell = (text) => Object.assign(document.createElement("td"), { textContent: text });
    element("rows").tBodies[0].replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const waits = ["price", "stock", "reviews"].map((name) => (row.waits ? seconds(row.waits[name][1] - row.waits[name][0]) : "–"));
      line.append(...[row.product, row.sent == null ? NONE : seconds(row.sent), ...waits, row.error ?? seconds(row.received)].map(cell));
      return line;
    }));
  }

  fail(text) {
    this.run = null;
    element("waterfall-empty").hidden = true;
    this.complain(text);
    this.say("The run did not come to its end.");
  }

  // With the button that tries again.
  complain(text) {
    const box = element("run-error");
    const again = Object.assign(document.createElement("button"), { type: "button", textContent: "Try again" });
    again.addEventListener("click", () => this.fire());
    box.replaceChildren(text, " ", again);
    box.hidden = false;
  }

  // Only when it is something new: a screen reader says each.
  say(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
  }
}
