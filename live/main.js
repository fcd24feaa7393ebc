// The event stream, and what is shown of each second.

const RETRY_MS = 3000, LATE_MS = 4000;
const history = new History(), actions = new Actions(), requests = new Requests(actions), slowest = new Slowest(), pools = new Pools(), slowClients = new SlowClients();
const charts = {
  throughput: new Chart(byId("throughput"), [{ name: "all", colour: "--c0" }, { name: "failed (5xx)", colour: "--c4" }], { text: format.count, marks: history.marks }),
  latency: new Chart(byId("latency"), [{ name: "p50", colour: "--c2" }, { name: "p90", colour: "--c1" }, { name: "p99", colour: "--c4" }], { text: format.time, marks: history.marks }),
  waits: new Chart(byId("waits"), WAITS, { stacked: true, text: format.count, marks: history.marks }),
  connections: new Chart(byId("connections"), PHASES, { stacked: true, text: format.count, marks: history.marks }),
};
const workers = plainRow([["Worker"], ["State"], ["Memory", true], ["Running", true], ["Parked", true], ["Ready", true], ["Requests/s", true], ["Lag p99", true]]);
const workerRows = new Rows(byId("workers").tBodies[0], workers.make, (row, [, texts]) => workers.fill(row, texts));
const stalls = plainRow([["Culprit"], ["Kind"], ["Times", true], ["Time lost", true]]);
const stallRows = new Rows(byId("stalls").tBodies[0], stalls.make, (row, [, texts]) => stalls.fill(row, texts));
const algorithms = plainRow([["Algorithm"], ["Complete", true], ["Bytes", true], ["Bytes/s", true], ["Bursts", true]]);
const algorithmRows = new Rows(byId("downloads").tBodies[0], algorithms.make, (row, [, texts]) => algorithms.fill(row, texts));

const BUSY_S = 0.1;
let paused = false, heardAt = 0, latest = null, source = null, taken = {};

const banner = (words) => {
  setText(byId("banner"), words || "");
  setHidden(byId("banner"), !words);
};

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

const setState = (name, words) => {
  document.body.dataset.state = name;
  setText(byId("state-words"), words);
};

const showFigures = ({ status, latency }) => {
  const total = latency?.total, requestsNow = status.requests, failed = history.columns.failed.at(-1);
  const slow = total?.count ? total : {};
  showTerms(byId("figures"), {
    "Requests/s": [history.columns.rate.at(-1) === null ? "–" : format.count(history.columns.rate.at(-1))],
    "Latency p50": [format.time(slow.p50)],
    "Latency p99": [format.time(slow.p99)],
    "In flight": [format.count(requestsNow.running)],
    "In the queue": [format.count(requestsNow.queued), requestsNow.queued > 0 ? "warn" : ""],
    "Failed/s": [failed === null ? "–" : format.count(failed), failed > 0 ? "bad" : ""],
    "Connections": [format.count(status.connections.open)],
    "Memory": [format.bytes(status.memory.rss_bytes + status.executors.reduce((sum, one) => sum + (one.rss_bytes || 0), 0))],
  });
};

/* While a reload's old workers end, two have one id. */
const nameOf = (executor) => `${executor.id}/${executor.pid || ""}`;

const showWorkers = ({ status, fibers }) => {
  const before = new Map((taken.executors || []).map((one) => [nameOf(one), one]));
  const lanes = fibers.executors.filter((one) => one.lane);
  const items = status.executors.map((one) => {
    const earlier = before.get(nameOf(one)), seconds = taken.uptime_s ? status.uptime_s - taken.uptime_s : 0;
    const rate = earlier && seconds > 0 ? Math.max(0, one.requests_total - earlier.requests_total) / seconds : null;
    const does = one.busy_for_s > BUSY_S ? `busy for ${format.time(one.busy_for_s)}` : one.running ? "works" : "idle";
    const state = one.retiring ? `${does}, ends with its last request` : does;
    return [nameOf(one), [`${one.id}${one.pid ? `, process ${one.pid}` : ""}`, state, one.rss_bytes ? format.bytes(one.rss_bytes) : "the server's",
      `${format.count(one.running)} of ${format.count(one.fibers_limit)}`, format.count(one.parked), format.count(one.ready),
      rate === null ? "–" : format.count(rate), format.time(one.lag_s.p99)]];
  });
  lanes.forEach((one, i) => items.push([`lane ${one.lane}/${one.worker}/${i}`,
    [`${one.worker}, lane ${one.lane}`, one.busy_for_s > BUSY_S ? `busy for ${format.time(one.busy_for_s)}` : one.running ? "works" : "idle", "", format.count(one.running), "", "", "", ""]]));
  workerRows.show(items, ([key]) => key);
  taken = { executors: status.executors, uptime_s: status.uptime_s };
  const processes = status.executors.filter((one) => one.pid).length;
  setText(byId("workers-count"), processes ? `${plural(processes, "process", "processes")} beside the server's` : "all in the server's process");
};

const showStalls = ({ status, fibers }) => {
  const now = fibers.fibers.filter((one) => one.stalls_in);
  byId("stalls-now").replaceChildren(...now.map((one) => element("p", {},
    element("span", { class: "stalled" }, `${one.method} ${one.path}`), ` ${does(one)} in worker ${one.worker}, for ${format.time(one.age_s)}: `, element("code", {}, one.line || "line not known yet"))));
  const by = status.stalls.by;
  stallRows.show(by.map((one) => [`${one.kind}|${one.culprit}`, [one.culprit, STALLS[one.kind] || one.kind, format.count(one.total), format.time(one.time_s)]]), ([key]) => key);
  setHidden(byId("stalls"), by.length === 0);
  setHidden(byId("stalls-empty"), by.length > 0 || now.length > 0);
  setText(byId("stalls-count"), status.stalls.total ? `${format.count(status.stalls.total)} since the start` : "");
};

const showDownloads = ({ status, latency }) => {
  const { downloads } = status, speed = downloads.bytes_per_second, write = latency?.write;
  showTerms(byId("downloads-figures"), {
    "under way": [format.count(downloads.active)],
    "wait for a file worker": [format.count(downloads.queued)],
    "file workers": [`${downloads.workers_busy} of ${downloads.workers_limit} busy`],
    "median speed": [speed.count ? `${format.bytes(speed.p50)}/s` : "–"],
    "broken off": [format.count(downloads.aborted_total)],
    "responses being read": [format.count(status.requests.writing)],
    "slowest reader": [write?.count ? format.time(write.max) : "–"],
  });
  algorithmRows.show(Object.entries(downloads.algorithms).map(([name, one]) => [name, [name, format.count(one.complete_total), format.bytes(one.bytes_total),
    `${format.bytes(history.perSecond((document) => document.downloads.algorithms[name]?.bytes_total || 0) || 0)}/s`, format.count(one.bursts_total)]]), ([key]) => key);
  slowClients.show(status);
  setText(byId("downloads-count"), "");
};

const render = () => {
  const reading = latest;
  if (!reading || paused) return;
  const { status } = reading;
  setText(byId("identity"), `${status.neverblock} on Ruby ${status.ruby}, process ${status.pid}, up for ${format.span(status.uptime_s)}, ${status.binds.join(", ")}`);
  document.title = `${format.count(history.columns.rate.at(-1) || 0)}/s – NeverBlock`;
  showFigures(reading);
  requests.show(reading.fibers);
  pools.show(status);
  showStalls(reading);
  showWorkers(reading);
  showDownloads(reading);
  const { times, columns } = history;
  charts.throughput.show(times, [columns.rate, columns.failed]);
  charts.latency.show(times, [columns.p50, columns.p90, columns.p99]);
  charts.waits.show(times, columns.waits);
  charts.connections.show(times, columns.phases);
};

const take = (reading) => {
  heardAt = Date.now();
  const { status } = reading, words = { running: "running", starting: "starting", draining: "draining", ended: "no worker runs" };
  if (["lost", "connecting"].includes(document.body.dataset.state)) banner("");
  setState(status.state, words[status.state] || status.state);
  actions.allow(status.actions);
  showAction(status);
  latest = reading;
  history.add(status, reading.fibers, reading.latency);
  if (!document.hidden) requestAnimationFrame(render);
};

// What the last command has come to, once it is new: a page that opens later does not show an old one.
let actionsSeen = null;
const showAction = ({ last_action: last }) => {
  const number = last?.number || 0;
  if (actionsSeen !== null && number !== actionsSeen) {
    setText(byId("last-action"), last.words);
    byId("last-action").className = last.ok ? "" : "stalled";
  }
  actionsSeen = number;
};

// An EventSource tries again by itself, but for an answer that is none: too many pages are open.
const connect = () => {
  let status = null, latency = null;
  source = new EventSource("events");
  source.addEventListener("latency", (event) => { latency = JSON.parse(event.data); });
  source.addEventListener("status", (event) => { status = JSON.parse(event.data); });
  source.addEventListener("fibers", (event) => {
    take({ status, latency, fibers: JSON.parse(event.data) });
    latency = null;
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
  });
};

setInterval(() => {
  if (heardAt && Date.now() - heardAt > LATE_MS) {
    setState("lost", "disconnected");
    banner(`The server has not answered for ${format.span((Date.now() - heardAt) / 1000)}. What is shown is old; the page tries again.`);
  } else if (!heardAt && performance.now() > LATE_MS) {
    banner("The server does not answer yet. It serves at most 32 pages like this one; the page tries again.");
  }
}, 1000);

slowest.ask();
new Advice().ask();
setInterval(() => { if (!paused && !document.hidden) slowest.ask(); }, SLOWEST_EVERY_MS);

byId("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.target.setAttribute("aria-pressed", String(paused));
  setText(event.target, paused ? "Go on" : "Pause");
  render();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) render(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Object.values(charts).forEach((chart) => chart.draw()));
connect();
