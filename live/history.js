// The last ten minutes, a point a second, and what is computed from two readings.

const POINTS_MAX = 600;

// Kinds of waits that share a colour, from below upwards.
const WAITS = [
  { name: "database", colour: "--c0", kinds: ["database"] },
  { name: "HTTP", colour: "--c1", kinds: ["http"] },
  { name: "other sockets", colour: "--c5", kinds: ["io"] },
  { name: "files", colour: "--c2", kinds: ["file"] },
  { name: "DNS", colour: "--c9", kinds: ["dns"] },
  { name: "sleep", colour: "--c8", kinds: ["sleep"] },
  { name: "locks and queues", colour: "--c4", kinds: ["lock", "condition", "queue"] },
  { name: "a pool", colour: "--c10", kinds: ["pool"] },
  { name: "threads and fibers", colour: "--c3", kinds: ["thread", "offload", "fibers", "process"] },
  { name: "clients", colour: "--c7", kinds: ["client", "client_body", "connection"] },
  { name: "their turn", colour: "--c6", kinds: ["turn"] },
  { name: "other", colour: "--c12", kinds: ["other"] },
  { name: "in the queue", colour: "--c11", kinds: [] },
];

const PHASES = [
  { name: "idle", colour: "--c12" }, { name: "reading", colour: "--c2" }, { name: "answering", colour: "--c0" },
  { name: "handshake", colour: "--c3" }, { name: "closing", colour: "--c10" },
];

class History {
  constructor() {
    this.marks = [];
    this.clear();
  }

  clear() {
    this.times = [];
    this.columns = { rate: [], failed: [], p50: [], p90: [], p99: [], waits: WAITS.map(() => []), phases: PHASES.map(() => []) };
    this.previous = null;
  }

  // One reading of all three documents; latency: null with the first.
  add(status, fibers, latency) {
    const before = this.noteChanges(status), seconds = before ? status.uptime_s - before.uptime_s : 0;
    const perSecond = (read) => (seconds > 0 ? Math.max(0, read(status) - read(before)) / seconds : null);
    this.perSecond = perSecond;
    this.previous = status;
    const { columns } = this, total = latency?.total;
    this.push(this.times, Date.now() / 1000);
    this.push(columns.rate, perSecond((one) => one.requests.total));
    this.push(columns.failed, perSecond((one) => one.requests.by_class["5xx"]));
    for (const name of ["p50", "p90", "p99"]) this.push(columns[name], total?.count ? total[name] : null);
    WAITS.forEach(({ kinds }, i) => this.push(columns.waits[i],
      kinds.length ? kinds.reduce((sum, kind) => sum + (fibers.waits[kind] || 0), 0) : status.requests.queued));
    PHASES.forEach(({ name }, i) => this.push(columns.phases[i], status.connections[name]));
  }

  push(column, value) {
    column.push(value);
    if (column.length > POINTS_MAX) column.shift();
  }

  // Another server, or other workers, than in the last reading. Returns what rates are computed with.
  noteChanges(status) {
    const before = this.previous, pids = (one) => one.executors.map((executor) => executor.pid).filter(Boolean).join();
    if (!before) return null;
    if (before.pid !== status.pid || before.started_at !== status.started_at) {
      this.mark("restarted");
      return null;
    }
    if (pids(before) !== pids(status)) this.mark("workers changed");
    return before;
  }

  // What comes within 5 s of another of its kind is the same event: workers are replaced one by one.
  mark(words) {
    const at = Date.now() / 1000, last = this.marks.at(-1);
    if (last && last.words === words && at - last.seen < 5) last.seen = at;
    else this.marks.push({ at, words, seen: at });
    while (this.marks.length && this.marks[0].at < at - POINTS_MAX) this.marks.shift();
  }
}
