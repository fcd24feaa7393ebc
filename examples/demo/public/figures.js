// The server's own figures, once a second, four times while a run is on. Where they come from is only said here.
import { ask } from "./api.js";
import { minuteChart, showColumns } from "./charts.js";
import { bytes, count, minutes, short } from "./format.js";

const PATH = "/api/figures";
const EVERY_MS = 1000;
const BUSY_MS = 250;

export class FiguresPanel {
  constructor() {
    this.panel = document.getElementById("figures");
    this.status = document.getElementById("figures-status");
    this.inFlight = minuteChart(document.getElementById("in-flight-chart"));
    this.served = minuteChart(document.getElementById("served-chart"));
    this.busy = false;
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.turn(); });
    this.turn();
  }

  watchClosely(busy) {
    this.busy = busy;
    this.turn();
  }

  async turn() {
    clearTimeout(this.timer);
    if (document.hidden || this.asking) return;
    this.asking = true;
    try {
      this.show(await ask(PATH));
    } catch (error) {
      this.panel.classList.add("stale");
      this.status.textContent = `${error.message} Trying again; the figures are the last ones seen.`;
    }
    this.asking = false;
    this.timer = setTimeout(() => this.turn(), this.busy ? BUSY_MS : EVERY_MS);
  }

  show(seen) {
    this.panel.classList.remove("stale");
    this.status.textContent = `Process ${seen.process}, up ${minutes(Math.round(seen.uptime_s))}`.replace(".0 s", " s");
    const figures = { cpu: this.cpuShare(seen), memory: bytes(seen.memory_bytes) };
    for (const name of ["in_flight", "in_flight_most", "served", "failed", "fibers", "collections"]) figures[name] = count(seen[name]);
    for (const place of this.panel.querySelectorAll("[data-figure]")) place.textContent = figures[place.dataset.figure];
    this.showServer(seen.server);
    this.plot(this.inFlight, "Requests in flight", seen.in_flight_by_second);
    this.plot(this.served, "Requests served", seen.served_by_second);
  }

  // Nothing is there when the server has no admin address.
  showServer(server) {
    const figures = {
      connections: count(server?.connections?.open), requests: count(server?.requests?.total), p50: short(server?.latency_s?.total?.p50),
      p99: short(server?.latency_s?.total?.p99), queue: short(server?.latency_s?.queue?.p99), lag: short(server?.loop?.lag_s?.p99),
    };
    for (const place of this.panel.querySelectorAll("[data-server]")) place.textContent = figures[place.dataset.server];
  }

  plot(chart, name, values) {
    showColumns(chart, values);
    chart.root.parentNode.setAttribute("aria-label", `${name} in each of the last 60 seconds: at most ${Math.max(...values)}`);
  }

  // Of one core, between two answers about a second apart.
  cpuShare(seen) {
    const before = this.before;
    if (before && seen.process === before.process && seen.uptime_s - before.uptime_s < 0.9) return before.share;
    const share = before && seen.process === before.process ? `${Math.round(100 * (seen.cpu_s - before.cpu_s) / (seen.uptime_s - before.uptime_s))} %` : "–";
    this.before = { ...seen, share };
    return share;
  }
}
