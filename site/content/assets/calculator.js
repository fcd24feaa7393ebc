// The calculator of docs/guides/sizing.md.
"use strict";

const FIELDS = {
  rate: ["requests a second", 100], ruby_ms: ["ms of Ruby a request", 10], wait_ms: ["ms of waiting a request", 60],
  database_ms: ["ms with a database connection", 20], processors: ["processors", 4], connections: ["clients connected", 500],
  database_max: ["connections the database grants", 100], application_mb: ["MB of a worker at its start", 150],
  request_kb: ["KB of objects a request", 50],
};
const place = document.getElementById("calculator");
if (place) {
  const form = Object.assign(document.createElement("form"), { className: "calculator" });
  const fields = Object.entries(FIELDS).map(([name, [text, value]]) => {
    const field = Object.assign(document.createElement("input"), { type: "number", min: 0, name, value });
    const label = Object.assign(document.createElement("label"), { textContent: text });
    label.append(field);
    form.append(label);
    return field;
  });
  const output = document.createElement("output");
  form.append(output);
  const show = () => {
    const found = sizing(Object.fromEntries(fields.map((field) => [field.name, Number(field.value)])));
    output.textContent = `workers ${found.workers}\nfibers ${found.fibers}\nio_threads ${found.io_threads}\n` +
      `# pool of each worker: ${found.pool}${found.database_short ? " (the database grants no more)" : ""}\n` +
      `# memory: ${found.memory_mb} MB${found.machines > 1 ? `, on each of ${found.machines} such machines` : ""}`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  place.append(form);
  show();
}
