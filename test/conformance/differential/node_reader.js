// node_reader.js - sends each input (hexadecimal, a JSON array on standard input) to node's own HTTP server over a socket, ends the sending side,
// and tells as JSON which requests the server took for whole and how it ended.
'use strict';

const http = require('http');
const net = require('net');

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');
const readings = new Map(); // client port => reading in progress

function readingOf(socket) {
  return readings.get(socket.remotePort) || { messages: [], ending: 'done' };
}

function collect(request, response) {
  const reading = readingOf(request.socket);
  const body = [];
  const slot = reading.slots++;
  reading.open++;
  request.on('data', (piece) => body.push(piece));
  request.on('end', () => {
    const fields = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2) fields.push([hex(request.rawHeaders[i]), hex(request.rawHeaders[i + 1])]);
    reading.messages[slot] = {
      method: hex(request.method), target: hex(request.url), fields: fields, body: Buffer.concat(body).toString('hex'),
    };
    reading.open--;
    if (response) response.end();
  });
  request.on('error', () => {});
}

const server = http.createServer({ maxHeaderSize: 65536, keepAliveTimeout: 1000, requestTimeout: 5000, headersTimeout: 5000 }, collect);
server.on('checkExpectation', (request, response) => {
  readingOf(request.socket).refusedByServer = '417';
  response.writeHead(417, { connection: 'close' });
  response.end();
});
server.on('connect', (request, socket) => {
  const reading = readingOf(socket);
  reading.messages[reading.slots++] = { method: hex(request.method), target: hex(request.url), fields: [], body: '' };
  socket.destroy();
});
server.on('clientError', (error, socket) => {
  const reading = readingOf(socket);
  reading.ending = error.code === 'HPE_INVALID_EOF_STATE' ? 'incomplete' : 'refused';
  reading.detail = error.code;
  socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
});

function read(input, port) {
  return new Promise((resolve) => {
    const reading = { messages: [], slots: 0, open: 0, ending: 'done' };
    const answer = [];
    const client = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('connect', () => {
      readings.set(client.localPort, reading);
      client.end(input);
    });
    client.on('data', (piece) => answer.push(piece));
    client.on('error', () => {});
    client.setTimeout(6000, () => { reading.ending = 'stuck'; client.destroy(); });
    client.on('close', () => {
      readings.delete(client.localPort);
      // What node refuses without an event is seen in its answer: a 400 where no request was handed out.
      const text = Buffer.concat(answer).toString('latin1');
      const refused = /HTTP\/1\.1 (4\d\d|5\d\d)/.exec(text);
      if (reading.ending === 'done' && refused) {
        reading.ending = 'refused';
        reading.detail = refused[1];
      }
      if (reading.ending === 'done' && reading.open > 0) reading.ending = 'incomplete';
      resolve({ messages: reading.messages.filter(Boolean), ending: reading.ending, detail: reading.detail });
    });
  });
}

async function main() {
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const inputs = JSON.parse(Buffer.concat(pieces).toString());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const results = [];
  for (const input of inputs) results.push(await read(Buffer.from(input, 'hex'), server.address().port));
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
}

main();
