// node's http2 as a client of a server under test, on one session. Does one task and prints what
// it saw as JSON.
//
//   node http2_client.js URL TASK
"use strict";

const http2 = require("http2");
const crypto = require("crypto");

const [url, task] = process.argv.slice(2);
const session = http2.connect(url, { rejectUnauthorized: false });
session.on("error", (error) => {
  console.error(error);
  process.exit(1);
});

const digest = (bytes) => crypto.createHash("sha256").update(bytes).digest("hex");

// Opens a stream. `answer` resolves to its status and body.
function open(path, headers = {}) {
  const stream = session.request({ ":path": path, ...headers });
  const answer = new Promise((resolve, reject) => {
    const parts = [];
    let status;
    stream.on("response", (fields) => (status = fields[":status"]));
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => resolve({ status, body: Buffer.concat(parts) }));
    stream.on("error", reject);
  });
  return { stream, answer };
}

function ask(path, body) {
  const { stream, answer } = open(path, body ? { ":method": "POST" } : {});
  stream.end(body);
  return answer;
}

const text = async (path, body) => (await ask(path, body)).body.toString();
const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

const tasks = {
  // Each is answered when all are inside.
  async parallel() {
    return Promise.all(Array.from({ length: 50 }, (_, n) => text(`/meet?of=50&n=${n}`)));
  },

  async uploads() {
    const bodies = Array.from({ length: 20 }, (_, n) => Buffer.alloc(300_000 + n, `${n},`));
    const seen = await Promise.all(bodies.map((body) => text("/digest", body)));
    return { seen, sent: bodies.map((body) => `${body.length} ${digest(body)}`) };
  },

  // Each part is sent when the one before has come back.
  async conversation() {
    const { stream, answer } = open("/echo", { ":method": "POST" });
    const heard = [];
    for (const word of ["one", "two", "three"]) {
      stream.write(word);
      heard.push(String(await event(stream, "data")));
    }
    stream.end();
    await answer;
    return heard;
  },

  // Each event is asked for when the one before has come. A PING is answered meanwhile.
  async events() {
    const { stream } = open("/events");
    const heard = [String(await event(stream, "data"))];
    for (const word of ["one", "two"]) {
      const next = event(stream, "data");
      await ask(`/say?${word}`);
      heard.push(String(await next));
    }
    await new Promise((resolve) => session.ping(() => resolve()));
    stream.close(http2.constants.NGHTTP2_CANCEL);
    return heard;
  },

  // Stands still twice. Others are answered on the same connection meanwhile.
  async pauses() {
    const { stream, answer } = open("/large.bin");
    await event(stream, "response");
    const others = [];
    for (let n = 0; n < 2; n++) {
      await event(stream, "data");
      stream.pause();
      others.push(await text("/digest", Buffer.from("small")));
      stream.resume();
    }
    const { body } = await answer;
    return { others, seen: `${body.length} ${digest(body)}` };
  },
};

process.exitCode = 1; // until there is a result
tasks[task]().then((result) => {
  process.exitCode = 0;
  console.log(JSON.stringify(result));
  session.close();
});
