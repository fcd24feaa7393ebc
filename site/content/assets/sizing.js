// How large a server has to be. docs/guides/sizing.md explains each line; test/slow/sizing_test.rb runs this file.
"use strict";

// Shares of a processor and of a database's connections that are planned with; the rest is for what comes in bursts.
const BUSY = 0.7;
const CONNECTIONS_USED = 0.9;
// One I/O loop's processor time a request, in ms: benchmark/results/hello.md, docs/guides/workers.md.
const LOOP_MS = 0.01;
// Bytes of an idle connection, and of a request in flight beside the application's objects: benchmark/results/memory.md.
const CONNECTION_BYTES = 500;
const REQUEST_BYTES = 18900;
// MB of the front, which has no application: docs/guides/sizing.md.
const FRONT_MB = 35;
const MB = 1e6;

// So many places that few have to wait, where `busy` are taken on average (square-root staffing).
const places = (busy, spread) => Math.max(1, Math.ceil(busy + spread * Math.sqrt(busy)));

// input: rate (requests a second), ruby_ms, wait_ms, database_ms (of the wait), processors, connections (idle ones too),
// database_max (connections that the database grants), application_mb, request_kb (the application's objects of one request).
const sizing = (input) => {
  const wanted = Math.max(1, Math.ceil(input.rate * input.ruby_ms / 1000 / BUSY));
  const workers = Math.min(wanted, Math.max(1, input.processors));
  const machines = Math.ceil(wanted / workers);
  const all = workers * machines;
  const fibers = places(input.rate * (input.ruby_ms + input.wait_ms) / 1000 / all, 4);
  const asked = places(input.rate * input.database_ms / 1000 / all, 2);
  const granted = Math.max(1, Math.floor(input.database_max * CONNECTIONS_USED / all));
  const io_threads = Math.max(1, Math.ceil(input.rate / machines * LOOP_MS / 1000 / BUSY));
  const each = input.application_mb + fibers * (REQUEST_BYTES + input.request_kb * 1000) / MB;
  const idle = input.connections / machines * CONNECTION_BYTES / MB;
  const memory_mb = Math.ceil(FRONT_MB + input.application_mb + workers * each + idle);
  return {
    workers, fibers, pool: Math.min(asked, granted), io_threads, memory_mb, machines,
    database_short: asked > granted,
  };
};

if (typeof module !== "undefined") module.exports = sizing;
