// Numbers as people read them.

const scaled = (value, units, base) => {
  let at = 0;
  while (Math.abs(value) >= base && at < units.length - 1) { value /= base; at++; }
  const digits = value === 0 || Math.abs(value) >= 100 || (at === 0 && Number.isInteger(value)) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${units[at]}`;
};

const format = {
  count: (value) => (Number.isInteger(value) && Math.abs(value) < 10000 ? `${value}` : scaled(value, ["", "k", "M", "G"], 1000)),
  bytes: (value) => scaled(value, [" B", " KiB", " MiB", " GiB", " TiB"], 1024),

  // Seconds.
  time(value) {
    if (value === null || value === undefined) return "–";
    if (value < 1e-3) return `${Math.round(value * 1e6)} µs`;
    if (value < 1) return `${(value * 1e3).toPrecision(3)} ms`;
    if (value < 100) return `${value.toPrecision(3)} s`;
    return format.span(value);
  },

  // Seconds, of which nobody wants the fraction.
  span(value) {
    const days = Math.floor(value / 86400), hours = Math.floor(value / 3600) % 24, minutes = Math.floor(value / 60) % 60;
    if (days) return `${days} d ${hours} h`;
    if (hours) return `${hours} h ${minutes} min`;
    if (minutes) return `${minutes} min ${Math.floor(value % 60)} s`;
    return `${Math.floor(value)} s`;
  },
};

// What a fiber does, in the words of `neverblock fibers` (lib/neverblock/watch/fiber_row.rb).
const STALLS = {
  ruby: "Ruby code", gc: "garbage collection", c_call: "a C call", blocking_call: "a blocking call", other_thread: "another thread's Ruby code",
};
const WAIT_WORDS = {
  condition: "a condition variable", queue: "a queue", thread: "a thread", fibers: "fibers it has started",
  client_body: "the client: its request's body", client: "the client, which reads slowly", connection: "its connection, to take it over",
  offload: "a thread (NB.offload)", other: "something else",
};

const awaited = (wait) => {
  const address = wait.address;
  switch (wait.kind) {
    case "database": return [wait.driver || "a database", address].filter(Boolean).join(" ");
    case "http": return `HTTP ${address || "(it connects)"}`;
    case "io": return address || `descriptor ${wait.descriptor}`;
    case "file": return `a file (descriptor ${wait.descriptor})`;
    case "dns": return `the address of ${wait.name || "a host"}`;
    case "pool": return wait.name ? `a place in the pool ${wait.name}` : "its turn at a pool";
    case "process": return `process ${wait.process}`;
    case "lock": return wait.holder ? `a lock, which ${wait.holder.method} ${wait.holder.path} holds` : "a lock";
    case "sleep": return wait.left_s === undefined ? "the end of its sleep" : `the end of its sleep, in ${format.time(wait.left_s)}`;
    default: return WAIT_WORDS[wait.kind] || wait.kind;
  }
};

const does = (fiber) => {
  if (fiber.stalls_in) return `stalls in ${STALLS[fiber.stalls_in] || "a call that nobody can name"}`;
  if (fiber.state === "running") return "runs";
  if (fiber.state === "ready") return "ready to run";
  return fiber.waits_for ? `waits for ${awaited(fiber.waits_for)}` : fiber.state || "";
};
